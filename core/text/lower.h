/* A text in lower case, as Python's str.lower makes it: character by character (core/text/unicode.h), except that a
 * capital i with a dot becomes i and the dot, U+0307, and that a capital sigma that ends a word becomes the small one
 * for that place. A byte that is no UTF-8 stays. */
#ifndef CORE_TEXT_LOWER_H
#define CORE_TEXT_LOWER_H

#include "base/buffer.h"

void lower_add(Buffer *out, const char *text, size_t size);

#endif
