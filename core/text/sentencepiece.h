/* SentencePiece (Kudo and Richardson 2018): a text as pieces, by a model file that others made. White space is a character
 * of pieces, U+2581, so that pieces become the text again:
 *
 *     "Hello  world."   ->   U+2581 Hello   U+2581 world   .
 *
 * What the file says is done in three steps:
 *
 *     rule     characters become others (such as NFKC); spaces at both ends and repeated ones go; a space comes first
 *     cut      unigram: of all ways to cut, the one whose pieces have the largest sum of scores; a character that is no
 *              piece is <unk>, and scores 10 less than the worst piece. bpe: neighbours are joined as long as they
 *              are a piece, the pair whose piece scores best first, of equal ones the first in the text
 *     bytes    with byte fallback, <unk> becomes the pieces of its bytes, <0x00> to <0xFF>; without, all <unk> that
 *              follow one another are one
 *
 * Pieces of users (such as <url>) are cut out before the rule changes them. The same ids, pieces and texts come out as from
 * the package sentencepiece 0.2.3; models of types word and char, and unused pieces in bpe, are refused.
 *
 * The file is a message of protocol buffers, ModelProto. */
#ifndef CORE_TEXT_SENTENCEPIECE_H
#define CORE_TEXT_SENTENCEPIECE_H

#include "base/buffer.h"
#include "core/text/heap.h"
#include "core/text/prefixes.h"
#include "core/text/protobuf.h"

/* By the numbers that the file has for them. */
typedef enum PieceKind {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN, /* one of all */
    PIECE_CONTROL, /* such as </s>; no text is cut into them, and none comes of them */
    PIECE_USER,    /* wherever a text has it, it is this piece */
    PIECE_UNUSED,
    PIECE_BYTE
} PieceKind;

typedef struct Piece {
    Bytes text;
    float score;
    PieceKind kind;
} Piece;

/* How characters become others: a double array, a trie, of what is replaced, and what it is replaced by. */
typedef struct TextRule {
    Bytes trie, texts; /* empty: nothing is replaced. trie: numbers of 4 bytes */
    bool first_space, fewer_spaces, marked_spaces, space_last;
} TextRule;

typedef struct SentencePiece {
    char *file; /* [size] all of it, which everything else points into */
    size_t size;
    Piece *pieces; /* [count] by id */
    size_t count, capacity;
    SortedTexts parts;  /* that a text may be cut into */
    SortedTexts users;  /* those of users */
    SortedTexts others; /* no part: unknown, control, bytes */
    int32_t unknown;
    int32_t byte[256];
    bool bpe, byte_fallback;
    float least; /* score of normal pieces */
    TextRule rule, back;
    Bytes unknown_text; /* what <unk> is in a text */
} SentencePiece;

/* What failed needs no closing. */
bool sentencepiece_read(SentencePiece *s, const char *path, Error *e);
void sentencepiece_close(SentencePiece *s);

/* The same file. */
bool sentencepiece_write(const SentencePiece *s, const char *path, Error *e);

/* --- a text as pieces: sentencepiece_cut.c --- */

/* text: of the piece, or of what is unknown; good until the next text is cut, as long as the model is open. */
typedef struct Cut {
    int32_t id;
    Bytes text;
} Cut;

/* Begins as (Cuts){0}. It belongs to one thread, and keeps its memory from text to text. */
typedef struct Cuts {
    Cut *list; /* [count] */
    size_t count, capacity;
    Buffer text; /* by the rule */
    struct CutNode *nodes;
    struct CutSymbol *symbols;
    size_t node_capacity, symbol_capacity;
    Heap heap;
} Cuts;

bool sentencepiece_cut(const SentencePiece *s, const char *text, size_t size, Cuts *c, Error *e);
void cuts_close(Cuts *c);

/* Adds the text that pieces are. */
bool sentencepiece_join(const SentencePiece *s, const Bytes *pieces, size_t count, Buffer *text, Error *e);

/* --- rules: sentencepiece_rule.c --- */

/* Reads a NormalizerSpec. */
bool rule_read(TextRule *r, Bytes spec, const char *path, Error *e);

/* Adds what a text is by the rule. users: texts that stay as they are; NULL: none. */
bool rule_apply(const TextRule *r, const SortedTexts *users, const char *text, size_t size, Buffer *to, Error *e);

/* U+2581 */
#define SPACE_MARK "\xE2\x96\x81"
enum { SPACE_MARK_SIZE = 3 };

#endif
