/* UTF-8, as little of it as reading and writing characters needs. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the character that a text of `size` bytes begins with; 0 when it is no valid UTF-8 (overlong forms,
 * surrogates and half characters are not). */
size_t utf8_length(const char *text, size_t size);

/* The same, and which code point it is (left alone where it is none). */
size_t utf8_decode(uint32_t *code, const char *text, size_t size);

/* The length, where a byte that is none is taken for a character of its own. Not of an empty text. */
static inline size_t utf8_step(const char *text, size_t size)
{
    size_t length = utf8_length(text, size);
    return length ? length : 1;
}

/* Whether all of a text is valid UTF-8. */
bool utf8_valid(const char *text, size_t size);

/* Where the first control character begins: one below U+0020 or of U+007F to U+009F, or a byte that is none of a character
 * and one of these in Latin-1, which some terminals obey. `size` where there is none. */
size_t utf8_control(const char *text, size_t size);

/* Each becomes '?': a message is one line, and what a file holds gives a terminal no orders. */
void utf8_hide_controls(char *text, size_t size);

/* Bytes at the beginning of a text that end a character which began before it; and bytes at its end that begin one
 * which ends after it: 0 to 3 of each. */
size_t utf8_head(const char *text, size_t size);
size_t utf8_tail(const char *text, size_t size);

/* The length of the byte order mark that a text begins with: 3, or 0 where it has none. */
size_t utf8_mark(const char *text, size_t size);

/* Writes a code point, 1 to 4 bytes, and returns how many. */
size_t utf8_encode(char *out, uint32_t code);

#endif
