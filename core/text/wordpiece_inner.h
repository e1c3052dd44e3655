/* What reading and learning subwords share. */
#ifndef CORE_TEXT_WORDPIECE_INNER_H
#define CORE_TEXT_WORDPIECE_INNER_H

#include "core/text/wordpiece.h"

#define WORDPIECE_UNKNOWN "[UNK]"

/* Adds a subword where it is not there yet, and says its id. */
bool wordpiece_add(WordPiece *w, const char *subword, size_t length, int32_t *id, Error *e);

#endif
