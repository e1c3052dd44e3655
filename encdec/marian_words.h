/* Tokens of a Marian model: names and ids of a vocabulary, put in our order. */
#ifndef ENCDEC_MARIAN_WORDS_H
#define ENCDEC_MARIAN_WORDS_H

#include "core/run/json.h"
#include "encdec/subwords.h"

typedef struct MarianWords {
    Vocabulary words; /* <unk>, </s>, and all others in their order */
    int32_t *theirs;  /* [words.count] the id that each has there */
    int32_t pad;      /* the id of <pad> there; -1: it has none */
} MarianWords;

/* Of an object of names and ids, which have to be 0, 1, 2 and so on. What failed needs no closing. */
bool marian_words_read(MarianWords *w, const Json *ids, const char *path, Error *e);
void marian_words_close(MarianWords *w);

/* Rows [count, columns] in our order, of theirs; values are freed, and new ones returned. NULL: an Error. */
float *marian_words_order(const MarianWords *w, float *values, size_t columns, Error *e);

#endif
