/* Words and the numbers that stand for them. A vocabulary is open while it counts: each word gets the next number when
 * it is first met. vocabulary_cut makes of it the one that a network reads: the most frequent words, by rank. */
#ifndef CORE_TEXT_VOCABULARY_H
#define CORE_TEXT_VOCABULARY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { UNKNOWN = 0 }; /* the id of `<unk>` in each vocabulary: what stands for all words that are not in it */

typedef struct Vocabulary {
    size_t count;      /* words, with <unk> */
    uint64_t *counts;  /* [count] how often each was met; of <unk>: all that were cut off */
    size_t *start;     /* [count] where in `letters` a word begins; each is closed by a zero byte */
    char *letters;     /* all words, one after the other */
    size_t size;       /* bytes of `letters` */
    uint32_t *slots;   /* [slot_count] a hash table: id + 1, or 0 */
    size_t slot_count; /* a power of two */
    size_t capacity, letters_capacity;
} Vocabulary;

/* A vocabulary that holds nothing but <unk>. What failed to open needs no closing. */
bool vocabulary_open(Vocabulary *v, Error *e);
void vocabulary_close(Vocabulary *v);

/* Counts a word `times` more and says its id. A word is not empty and has no line end or zero byte. */
bool vocabulary_add(Vocabulary *v, const char *word, size_t length, uint64_t times, int32_t *id, Error *e);

/* A list of words without <unk> begins as (Vocabulary){0}: its words are added and found as those of others, and -1 is
 * what is not there. */
int32_t vocabulary_search(const Vocabulary *v, const char *word, size_t length);

/* UNKNOWN when it is not there. */
int32_t vocabulary_find(const Vocabulary *v, const char *word, size_t length);

static inline const char *vocabulary_word(const Vocabulary *v, int32_t id) { return v->letters + v->start[id]; }

/* Of all words of `from` that were met at least once, the `most` - 1 most frequent ones after <unk>; words met equally
 * often are in order of their bytes. ids [from->count], which may be NULL, says what has become of each. */
bool vocabulary_cut(Vocabulary *v, const Vocabulary *from, size_t most, int32_t *ids, Error *e);

/* As a text, to be read with any editor: a line for each word in order of ids, "WORD<tab>COUNT". */
bool vocabulary_write(const Vocabulary *v, const char *path, Error *e);
bool vocabulary_read(Vocabulary *v, const char *path, Error *e);

#endif
