/* What a text is to the model: a list of ids, and back again, to the byte.
 *
 *     bytes   the 256 bytes, by their values
 *     bpe     GPT-2's byte pairs (core/text/gpt2.h), learned from the training part
 *     gpt2    the same, of files that are given: id n is the subword that encoder.json calls n
 *
 * Byte pairs are in the run, as encoder.json and vocab.bpe, so that it stands on its own. */
#ifndef CHARLM_TOKENIZER_H
#define CHARLM_TOKENIZER_H

#include "core/text/gpt2.h"

typedef enum TokenKind { TOKEN_BYTES, TOKEN_BPE, TOKEN_GPT2 } TokenKind;

typedef struct TokenizerOptions {
    TokenKind kind;
    size_t merges;                  /* that are learned, at most */
    const char *vocabulary, *codes; /* files that are given; NULL: none */
} TokenizerOptions;

typedef struct Tokenizer {
    TokenKind kind;
    size_t count;      /* ids */
    int32_t separator; /* the id that a document begins with; -1: there is none */
    Gpt2 gpt2;
    uint32_t *length; /* [count] bytes of a text that each id stands for: of the separator none; NULL: one each */
} Tokenizer;

/* Whether the files that are given are those that the kind wants. */
bool tokenizer_suits(const TokenizerOptions *o, Error *e);

extern const char *const tokenizer_files[]; /* up to a NULL: what may be in a run */

/* Learned from a text, or from the files that are given; then those of a run. What failed needs no closing. */
bool tokenizer_learn(Tokenizer *t, const TokenizerOptions *o, const char *text, size_t size, Error *e);
bool tokenizer_read(Tokenizer *t, TokenKind kind, const char *folder, Error *e);
bool tokenizer_write(const Tokenizer *t, const char *folder, Error *e);
void tokenizer_close(Tokenizer *t);

/* How many ids there will be, as far as options and given files say: to plan with. */
bool tokenizer_planned(const TokenizerOptions *o, size_t *count, Error *e);

/* Adds the ids of a text, int32_t one after the other; or gives them, to be freed with memory_free. */
bool tokenizer_add(const Tokenizer *t, const char *text, size_t size, Buffer *ids, Error *e);
bool tokenizer_ids(const Tokenizer *t, const char *text, size_t size, int32_t **ids, size_t *count, Error *e);

/* Adds the bytes that an id stands for. */
void tokenizer_bytes(const Tokenizer *t, int32_t id, Buffer *text);

static inline size_t tokenizer_length(const Tokenizer *t, int32_t id) { return t->length ? t->length[id] : 1; }

/* What a token is for people who read. */
static inline const char *tokenizer_unit(TokenKind kind) { return kind == TOKEN_BYTES ? "characters" : "tokens"; }

#endif
