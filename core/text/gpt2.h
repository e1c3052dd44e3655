/* GPT-2's byte pairs. A text is split by the rule below; the bytes of each part are joined, pair by pair, as a list of
 * merges says, those that stand first in it first. Nothing is lost: ids become the same bytes again, whatever they are.
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 *     "Hello  world's"   ->   Hello  ' '  ' world'  's
 *
 * \p{L} are letters, \p{N} numbers, \s the white space of Unicode (unicode_is_space), of the version that our tables
 * have; a byte that is no UTF-8 is a character that is none of these.
 *
 * The separator's name in a text, <|endoftext|>, is the separator where a vocabulary has it, as in transformers; what
 * stands between two is split as a text of its own. Names of other special subwords in a text are text.
 *
 * Two files: encoder.json, an object of subwords and their ids, and vocab.bpe, a merge on each line after a line
 * "#version"; lines may end in CR LF. In both a byte is written as a character that can be seen: those of ASCII and
 * Latin-1 that can (33-126, 161-172, 174-255) stand for themselves, the other 68 for U+0100 and following; so a space
 * is U+0120. */
#ifndef CORE_TEXT_GPT2_H
#define CORE_TEXT_GPT2_H

#include "base/buffer.h"
#include "core/text/pairs.h"
#include "core/text/vocabulary.h"

typedef struct Gpt2 {
    Vocabulary subwords; /* as the files write them; counts are 0 */
    Pairs merges;        /* in the order of the file */
    int32_t *merged;     /* [merges.count] the subword that a merge makes */
    int32_t byte[256];   /* the subword that is one byte */
} Gpt2;

/* A subword that no merge makes: documents begin with it. It is the last of those that are learned. */
#define GPT2_SEPARATOR "<|endoftext|>"

/* Learns merges, up to `merges` of them, from pairs that a text has at least twice, separators left out: gpt2_learn.c.
 * Subwords are the bytes, what each merge makes, and the separator. Where pairs are equally frequent, the one merged first
 * is that of subword-nmt (bpe.h), not that of GPT-2's authors. What failed needs no closing. */
bool gpt2_learn(Gpt2 *g, const char *text, size_t size, size_t merges, Error *e);

/* The bytes alone, by their values, and no merges: the ids of a text are its bytes. */
bool gpt2_bytes(Gpt2 *g, Error *e);

/* What failed needs no closing. */
bool gpt2_read(Gpt2 *g, const char *encoder, const char *merges, Error *e);
void gpt2_close(Gpt2 *g);

/* Two files that are read as the same. */
bool gpt2_write(const Gpt2 *g, const char *encoder, const char *merges, Error *e);

/* Adds the ids of a text's subwords, int32_t one after the other, to `ids`. */
bool gpt2_encode(const Gpt2 *g, const char *text, size_t size, Buffer *ids, Error *e);

/* Adds the bytes that ids stand for. A special subword is its name. */
bool gpt2_decode(const Gpt2 *g, const int32_t *ids, size_t count, Buffer *text, Error *e);

/* A byte as the files write it: up to 4 bytes of UTF-8, and how many. */
size_t gpt2_seen(unsigned char byte, char seen[4]);

/* The length of the part that a text begins with, by the rule above, which knows no separator; 0 for an empty text. */
size_t gpt2_part(const char *text, size_t size);

/* The length of a text up to the first name of the separator, or all of it. */
size_t gpt2_document(const char *text, size_t size);

#endif
