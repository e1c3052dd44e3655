/* Byte pair encoding of words (Sennrich, Haddow, Birch 2016): frequent words stay whole, rare ones are split.
 *
 *     "the lowest"   ->   the  low@@  est          @@ stands after every subword but the last of a word
 *
 * A word begins as its characters, the last one with </w> after it; a merge joins a pair of neighbours everywhere.
 * Learning makes a list of merges, each time of the pair that is most frequent then; applying does them again in that
 * order. Merges are not subwords: n merges of a text with c characters (counted twice where they also end words) can
 * give up to n + c different subwords, of which many occur in no text any more: BpeCoder.subwords says which do.
 *
 * Files and results are those of subword-nmt 0.3.8, to the byte, even where it counts oddly (see bpe_learn.c):
 *
 *   - Codes begin with the line "#version: 0.2"; each other line is a merge, "LEFT RIGHT", and the first is done first.
 *     Version 0.1, where </w> is a symbol of its own, is read, too.
 *   - Words are separated by spaces (of ASCII) and ends of lines. A tab, a no-break space and other blanks are characters
 *     of a word; \v, \f, U+0085, U+2028 and their like end the word that they belong to.
 *   - A word of one character is never split or looked up.
 *
 * Where subword-nmt refuses a text, this is what happens instead:
 *
 *   - A byte that is not UTF-8 is a character of its own, and comes back as it was. Words with one are not learned
 *     from. Files of subwords may have such bytes, too.
 *   - A zero byte separates words as a space does.
 *   - It is not an error if there is nothing to learn: the list of merges is short or empty. */
#ifndef CORE_TEXT_BPE_H
#define CORE_TEXT_BPE_H

#include "base/buffer.h"
#include "core/text/heap.h"
#include "core/text/known.h"
#include "core/text/pairs.h"
#include "core/text/vocabulary.h"

enum { BPE_LEAST = 2 }; /* how often a pair must occur to be merged, by default */

/* What becomes of a pair of symbols. */
typedef struct BpeMerge {
    uint32_t rank; /* its line, from 0: lower ones are done first */
    int32_t whole;
} BpeMerge;

/* A list of merges. Many threads may read it. */
typedef struct Bpe {
    size_t count;       /* merges */
    uint32_t *order;    /* [count] the pair of each; one that comes twice counts where it comes first */
    Vocabulary symbols; /* of all merges, as codes spell them: "lo", "w</w>"; without <unk> */
    Pairs pairs;        /* of symbols */
    BpeMerge *merges;   /* [pairs.count] */
    size_t *made_of;    /* [symbols.count] the pair that a symbol is split into again, or PAIR_NONE */
    bool separate_end;  /* version 0.1 */
    size_t order_capacity;
} Bpe;

/* A list begins as (Bpe){0}: merges for it in the order of their lines, and its end, after which it can be used. */
bool bpe_add(Bpe *b, const char *left, size_t left_size, const char *right, size_t right_size, Error *e);
bool bpe_finish(Bpe *b, Error *e);
void bpe_close(Bpe *b);

/* The next word of a text from *at on, which is moved past it; false: there is none. */
typedef struct BpeWord {
    const char *text;
    size_t size;
} BpeWord;
bool bpe_next_word(const char *text, size_t size, size_t *at, BpeWord *word);

/* --- codes as a text --- */

bool bpe_read(Bpe *b, const char *path, Error *e);
bool bpe_write(const Bpe *b, const char *path, Error *e);

/* --- learning: bpe_learn.c --- */

/* Counts the words of a text, on top of what is counted already; left_out, which may be NULL: those that are no UTF-8.
 */
bool bpe_count_words(Vocabulary *words, const char *text, size_t size, size_t *left_out, Error *e);

/* Up to `merges` merges of pairs that occur at least `least` times; b->count says how many there were. What failed
 * needs no closing. */
bool bpe_learn(Bpe *b, const Vocabulary *words, size_t merges, uint64_t least, Error *e);

/* The same with another mark than </w> after a word's last character; "": none. */
bool bpe_learn_ending(Bpe *b, const Vocabulary *words, const char *end, size_t merges, uint64_t least, Error *e);

/* --- applying --- */

/* BPE-dropout (Provilkov et al. 2020): each time that a merge of a word is chosen, each pair that there is one for is left out
 * with this probability; so a word comes in several subwords, and 1 leaves its characters. What is drawn are numbers
 * `drawn` and following of a stream (base/philox.h). */
typedef struct BpeDropout {
    double rate; /* 0: none */
    uint32_t seed, step, site;
    uint64_t drawn;
} BpeDropout;

/* Encodes lines. It belongs to one thread; several may share the merges and the vocabulary. */
typedef struct BpeCoder {
    size_t count;        /* subwords of the line that was encoded last */
    int32_t *line;       /* [count] their numbers in `subwords` */
    Vocabulary subwords; /* all that were given so far, "low@@", and how often: numbered as they came */
    const Bpe *bpe;
    const Vocabulary *kept;
    uint64_t threshold;
    BpeDropout dropout;    /* of what is encoded from now on */
    Known known;           /* words that were seen, as their subwords without dropout */
    struct BpeNode *nodes; /* the word that is being merged */
    Heap turns;            /* its pairs: by rank, then from left to right */
    Buffer spelling;
    size_t line_capacity, node_capacity;
} BpeCoder;

/* kept, which may be NULL: only subwords that are there at least `threshold` times are given; others are split again, as
 * they were merged, as far as that goes. (If none is that frequent, all subwords are given.) */
bool bpe_coder_open(BpeCoder *c, const Bpe *b, const Vocabulary *kept, uint64_t threshold, Error *e);
void bpe_coder_close(BpeCoder *c);

/* The subwords of all words of a line. */
bool bpe_encode(BpeCoder *c, const char *line, size_t size, Error *e);

/* Subword i of the line, with its @@. */
static inline const char *bpe_subword(const BpeCoder *c, size_t i) { return vocabulary_word(&c->subwords, c->line[i]); }

/* A whole text as a text of subwords, spaces between them. Ends of lines, and spaces at both ends of a line, stay as they
 * are; several spaces between words become one. */
bool bpe_apply(BpeCoder *c, const char *text, size_t size, Buffer *out, Error *e);

/* Words again: a line of subwords without "@@ " and "@@" at its end. (A word that ends in @@ is lost in this.) */
void bpe_join(const char *line, size_t size, Buffer *out);

/* --- subwords and their counts as a text: "SUBWORD COUNT", the most frequent first, those met first before others --- */

bool bpe_subwords_read(Vocabulary *subwords, const char *path, Error *e);
bool bpe_subwords_write(const Vocabulary *subwords, const char *path, Error *e);

#endif
