/* WordPiece, as BERT has it: a word is split into the longest subwords of a vocabulary, from the left; a subword that goes
 * on with a word begins with ##.
 *
 *     "unaffable"   ->   un  ##aff  ##able
 *
 * A word that cannot be split, or has more than BERT_WORD_MOST characters, is [UNK]. Words are those of bert_words.h.
 * Names of special subwords ([CLS], [MASK]) in a text are text; the caller that builds rows adds their ids.
 *
 * Its file is vocab.txt: a subword a line, whose id is the number of the line, from 0. */
#ifndef CORE_TEXT_WORDPIECE_H
#define CORE_TEXT_WORDPIECE_H

#include "base/buffer.h"
#include "core/text/vocabulary.h"

typedef struct WordPiece {
    Vocabulary subwords; /* counts are 0: they are not known */
    size_t longest;      /* bytes of the longest subword, with its ## */
    int32_t unknown;     /* the id of [UNK] */
    bool lower;          /* words in lower case and without accents ("uncased") */
} WordPiece;

/* What failed needs no closing. */
bool wordpiece_read(WordPiece *w, const char *path, bool lower, Error *e);
bool wordpiece_write(const WordPiece *w, const char *path, Error *e);
void wordpiece_close(WordPiece *w);

/* Adds the ids of a text's subwords, int32_t one after the other, to `ids`. */
bool wordpiece_encode(const WordPiece *w, const char *text, size_t size, Buffer *ids, Error *e);

/* The same of one word of bert_words.h, or of a mark's name, which is not split any further. */
bool wordpiece_encode_word(const WordPiece *w, const char *word, size_t length, Buffer *ids, Error *e);

/* Adds the words that ids are the subwords of, with a space between two; where spaces were is not known. */
bool wordpiece_decode(const WordPiece *w, const int32_t *ids, size_t count, Buffer *text, Error *e);

/* Counts a text's words, as learning needs them. */
bool wordpiece_count(Vocabulary *words, const char *text, size_t size, bool lower, Error *e);

/* Learns a vocabulary of at most `size` subwords from counted words (fewer, where words offer no more): [PAD] [UNK] [CLS]
 * [SEP] [MASK]; each character, in order of code points; each character with ## that continues with a word; then, one
 * after another, the joining of the two subwords that stand side by side most often, where all words are split as far as
 * they were joined. That is how Hugging Face's WordPieceTrainer learns (byte pairs, written as subwords), not by
 * likelihood as the first publication did. Of pairs met equally often, the one whose left subword, then right subword, has
 * the lower id is joined. A `size` that the characters exceed is an error that names how many there are. */
bool wordpiece_learn(WordPiece *w, const Vocabulary *words, size_t size, bool lower, Error *e);

#endif
