/* What the files of BLEU share: see bleu.h. */
#ifndef CORE_TEXT_BLEU_INNER_H
#define CORE_TEXT_BLEU_INNER_H

#include "core/text/bleu.h"

/* Makes b->line of a text: in lower case if that is wanted, with spaces between tokens. */
bool bleu_prepare(Bleu *b, BleuText text, Error *e);

/* The next token of b->line from *at on, which goes after it; false: there is none. */
bool bleu_next_token(const Bleu *b, size_t *at, BleuText *token);

#endif
