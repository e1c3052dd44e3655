/* What the files that make and use pieces share; see pieces.h. */
#ifndef ENCDEC_PIECES_INNER_H
#define ENCDEC_PIECES_INNER_H

#include "encdec/pieces.h"

/* Makes p->vocabulary: <unk>, </s>, which ends so many lines, and then the most frequent of all that were counted,
 * `size` ids at most (0: all). What is written in the text as one of those two is not among them. */
bool pieces_choose(Pieces *p, const Vocabulary *counted, size_t size, uint64_t lines, Error *e);

/* The id of a word or a piece of the text, which is never that of </s>. */
int32_t pieces_find(const Pieces *p, const char *word, size_t size);

/* Reads what is given: all there is of words, wordpiece and gpt2; of bpe merges and pieces that are kept. */
bool pieces_read_given(Pieces *p, const PiecesOptions *o, Error *e);

#endif
