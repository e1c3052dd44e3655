/* What a line is to the network: a list of ids, and back again. Two ids are the same for all kinds of pieces:
 *
 *     0  <unk>   what is not in the vocabulary
 *     1  </s>    the end of a sentence; it ends each source and each target, and the decoder begins with it
 *
 * Rows are packed, so there is no id for padding. After these two come
 *
 *     words       the most frequent words (see tokens.h) of both sides of the training part, as they stand
 *     bytes       the 256 bytes, by their values
 *     bpe         byte pairs (core/text/bpe.h): all pieces that the words of both sides are cut into
 *     wordpiece   BERT's pieces (core/text/wordpiece.h): id 2 + n is line n of vocab.txt, from 0, and [UNK] is 0
 *     gpt2        byte pairs of bytes (core/text/gpt2.h): id 2 + n is the piece that encoder.json calls n
 *
 * One vocabulary serves both sides. It is learned from the training part, or read from files that are given, as
 *
 *                 vocabulary                              codes
 *     words       WORD COUNT on each line
 *     bpe         PIECE COUNT: which pieces may be given  merges, as subword-nmt writes them
 *     wordpiece   vocab.txt
 *     gpt2        encoder.json                            vocab.bpe
 *
 * In the run are vocabulary.tsv (words, bpe), codes.bpe and kept.txt (bpe), vocab.txt (wordpiece), encoder.json and
 * vocab.bpe (gpt2), so that it stands on its own. */
#ifndef ENCDEC_PIECES_H
#define ENCDEC_PIECES_H

#include "base/buffer.h"
#include "base/thread.h"
#include "core/text/bpe.h"
#include "core/text/gpt2.h"
#include "core/text/wordpiece.h"
#include "encdec/tokens.h"

enum { END = 1, FIRST_PIECE = 2 };

typedef enum PieceType { PIECES_WORDS, PIECES_BYTES, PIECES_BPE, PIECES_WORDPIECE, PIECES_GPT2 } PieceType;

typedef struct PiecesOptions {
    PieceType type;
    size_t size;   /* ids of words or BERT's pieces that are learned, at most; 0: as many as there are */
    size_t merges; /* of byte pairs that are learned, at most */
    bool lower;    /* BERT's pieces are of words in lower case and without accents */
    Tokens tokens; /* of words and byte pairs; of BERT's pieces only how a text is made of them. Others are those of the
                      text as it stands */
    bool only_spaces; /* bpe learns from words as subword-nmt has them: a tab is a character like others */
    const char *codes, *vocabulary; /* files that are given; NULL: none */
    size_t threshold;               /* bpe: how often a piece is in `vocabulary` that may be given */
} PiecesOptions;

typedef struct Pieces {
    PieceType type;
    Tokens tokens;
    size_t count;          /* ids */
    Vocabulary vocabulary; /* of words, or of the pieces of words */
    Bpe bpe;
    Vocabulary kept; /* of byte pairs: the pieces that may be given; without any, all may */
    WordPiece wordpiece;
    Gpt2 gpt2;
} Pieces;

/* A text that is learned from, and which side's language it is in. */
typedef struct PiecesText {
    const Lines *lines;
    size_t side;
} PiecesText;

/* What was seen of the texts; words are those that pieces are made of. Nothing where nothing had to be learned. */
typedef struct PiecesSeen {
    size_t lines, different_words, different_characters;
    uint64_t words, characters;
    Vocabulary met; /* byte pairs: the pieces of the texts and how often, in the order in which they first come */
} PiecesSeen;

void pieces_seen_close(PiecesSeen *seen);

/* Only what is given, for lines of any text to be cut; the ids of byte pairs are not known without a text. */
bool pieces_given(Pieces *p, const PiecesOptions *o, Error *e);

/* Whether the files that are given are those that the type wants. */
bool pieces_suit(const PiecesOptions *o, Error *e);

/* Makes pieces of texts, or of what is given. pool: its threads count, NULL: the caller alone; the result does not depend on
 * it. seen may be NULL. */
bool pieces_learn(Pieces *p, const PiecesOptions *o, const PiecesText *texts, size_t count, Pool *pool,
                  PiecesSeen *seen, Error *e);
void pieces_close(Pieces *p);

/* The files of a run that belong to them. */
bool pieces_write(const Pieces *p, const char *folder, Error *e);
bool pieces_read(Pieces *p, const PiecesOptions *o, const char *folder, Error *e);

/* How many ids there will be, as far as options and given files say: to plan with. */
bool pieces_planned(const PiecesOptions *o, size_t *count, Error *e);

/* Adds the line of the target that ids are: up to the first </s>, if there is one. */
void pieces_line(const Pieces *p, const int32_t *ids, size_t count, Buffer *line);

/* How a piece is called where it is shown; bytes by their values: "0x41". */
void pieces_name(const Pieces *p, int32_t id, Buffer *name);

/* --- a text as ids: cutter.c --- */

/* A list of ids that grows. */
typedef struct Ids {
    int32_t *id;
    size_t count, capacity;
} Ids;

bool ids_add(Ids *ids, int32_t id, Error *e);
bool ids_add_all(Ids *ids, const int32_t *id, size_t count, Error *e);
void ids_close(Ids *ids);

/* It belongs to one thread; several may share the pieces. What it remembers of the text is bounded. */
typedef struct Cutter {
    const Pieces *pieces;
    BpeCoder coder;
    Ids of_coder; /* the id of each piece that the coder has given so far */
    Buffer words; /* of the line, where they are not as in the text */
    Buffer own;   /* its ids as the vocabulary numbers them, from 0 */
} Cutter;

bool cutter_open(Cutter *c, const Pieces *p, Error *e);
void cutter_close(Cutter *c);

/* Adds the ids of a line of one side, without </s>. */
bool cutter_ids(Cutter *c, size_t side, Line line, Ids *ids, Error *e);

#endif
