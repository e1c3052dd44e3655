/* Characters of white space beyond ASCII, and lines as Unicode parts them. Both are what Python's str.isspace, \s,
 * split and splitlines go by, so that what is counted here is what is counted there. */
#ifndef CORE_TEXT_SPACES_H
#define CORE_TEXT_SPACES_H

#include <stddef.h>

/* The bytes of the space (of any width, a tab or an end of line, too) that a text begins with; 0: it is none. */
size_t space_length(const char *text, size_t size);

/* The same of the space that a text ends with. */
size_t space_behind(const char *text, size_t size);

/* The bytes of what ends a line at the beginning of a text: \n, \r, \r\n, \v, \f, U+001C to U+001E, U+0085, U+2028,
 * U+2029; 0: nothing does. */
size_t line_end_length(const char *text, size_t size);

#endif
