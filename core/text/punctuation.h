/* Punctuation as Moses' normalize-punctuation.perl has it, which the texts of OPUS-MT went through: quotation marks become " and
 * ', dashes -, an ellipsis three dots; spaces before and after marks are those of English, and numbers are parted by the
 * language's mark instead of a space that does not break.
 *
 * Results are those of MosesPunctNormalizer of sacremoses 0.2.0 as it is by default. What is not UTF-8 stays. */
#ifndef CORE_TEXT_PUNCTUATION_H
#define CORE_TEXT_PUNCTUATION_H

#include "base/buffer.h"

/* Adds the text to `out`. language: "en", "de" ... */
void punctuation_normalize(const char *language, const char *text, size_t size, Buffer *out);

#endif
