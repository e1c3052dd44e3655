/* What a line is to the network: a list of ids, and back again. Two ids are the same for all kinds of pieces:
 *
 *     0  <unk>   what is not in the vocabulary
 *     1  </s>    the end of a sentence; it ends each source and each target, and the decoder begins with it
 *
 * Rows are packed, so there is no id for padding. Behind these two come
 *
 *     words   the most frequent words (see tokens.h) of both sides of the training part, as they stand
 *     bytes   the 256 bytes, by their values
 *     bpe     byte pairs (core/text/bpe.h), learnt from the words of both sides: all pieces that these are cut into
 *
 * One vocabulary serves both sides. It lies in the run as vocabulary.tsv, and byte pairs as codes.bpe. */
#ifndef ENCDEC_PIECES_H
#define ENCDEC_PIECES_H

#include "base/buffer.h"
#include "core/text/bpe.h"
#include "encdec/tokens.h"

enum { END = 1, FIRST_PIECE = 2 };

typedef enum PieceType { PIECES_WORDS, PIECES_BYTES, PIECES_BPE } PieceType;

typedef struct PiecesOptions {
    PieceType type;
    size_t size;   /* ids of words at most; 0: as many as there are */
    size_t merges; /* of byte pairs at most */
    Tokens tokens; /* of words and byte pairs; bytes are those of the text as it stands */
} PiecesOptions;

typedef struct Pieces {
    PieceType type;
    Tokens tokens;
    size_t count;          /* ids */
    Vocabulary vocabulary; /* of words, or of the pieces of words */
    Bpe bpe;
} Pieces;

/* A list of ids that grows. */
typedef struct Ids {
    int32_t *id;
    size_t count, room;
} Ids;

bool ids_add(Ids *ids, int32_t id, Error *e);
void ids_close(Ids *ids);

/* Makes pieces of what is trained on: a text a side. */
bool pieces_learn(Pieces *p, const PiecesOptions *o, const Lines *const texts[SIDES_USED], Error *e);
void pieces_close(Pieces *p);

/* The files of a run that belong to them. */
bool pieces_write(const Pieces *p, const char *folder, Error *e);
bool pieces_read(Pieces *p, const PiecesOptions *o, const char *folder, Error *e);

/* How many ids there will be, as far as the options say: to plan with. */
size_t pieces_planned(const PiecesOptions *o);

/* Cuts lines into pieces. It belongs to one thread; several may share the pieces. */
typedef struct Cutter {
    const Pieces *pieces;
    BpeCoder coder;
    Ids known;    /* of the pieces that the coder has given so far */
    Buffer words; /* of the line, where they are not as in the text */
} Cutter;

bool cutter_open(Cutter *c, const Pieces *p, Error *e);
void cutter_close(Cutter *c);

/* Adds the ids of a line of one side, without </s>. */
bool cutter_ids(Cutter *c, size_t side, Line line, Ids *ids, Error *e);

/* Adds the line of the target that ids are: up to the first </s>, if there is one. */
void pieces_line(const Pieces *p, const int32_t *ids, size_t count, Buffer *line);

/* How a piece is called where it is shown; bytes by their values: "0x41". */
void pieces_name(const Pieces *p, int32_t id, Buffer *name);

#endif
