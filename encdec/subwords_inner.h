/* What the files that make and use subwords share; see subwords.h. */
#ifndef ENCDEC_SUBWORDS_INNER_H
#define ENCDEC_SUBWORDS_INNER_H

#include "encdec/subwords.h"

/* Makes p->vocabulary: <unk>, </s>, which ends this many lines, and then the most frequent of all that were counted,
 * `size` ids at most (0: all). What is written in the text as one of those two is not among them. */
bool subwords_choose(Subwords *p, const Vocabulary *counted, size_t size, uint64_t lines, Error *e);

/* Which tokens of the target are words, where that is asked for. */
bool subwords_find_words(Subwords *p, const SubwordsOptions *o, Error *e);

/* The same as p->target, of all that were counted. */
bool subwords_choose_target(Subwords *p, const Vocabulary *counted, uint64_t lines, Error *e);

/* The id that a vocabulary has for a word or a subword of the text, which is never that of </s>. */
int32_t subwords_find(const Vocabulary *v, const char *word, size_t size);

/* Reads what is given: all there is of words, wordpiece and gpt2; of bpe merges and subwords that are kept. */
bool subwords_read_given(Subwords *p, const SubwordsOptions *o, Error *e);

#endif
