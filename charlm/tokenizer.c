/* See tokenizer.h. */
#include "charlm/tokenizer.h"

#include "base/file.h"
#include "base/memory.h"

#include <string.h>

enum { BYTES = 256, GPT2_IDS = 50257 /* of the published files */ };

bool tokenizer_suits(const TokenizerOptions *o, Error *e)
{
    if (o->kind != TOKEN_GPT2 && (o->vocabulary || o->codes))
        return fail(e, "--vocabulary and --codes are the files of --tokens gpt2");
    return !o->vocabulary == !o->codes ||
           fail(e, "--tokens gpt2 needs both files: --vocabulary encoder.json and --codes vocab.bpe");
}

static bool measure(Tokenizer *t, Error *e)
{
    Buffer text = {0};
    t->count = t->gpt2.subwords.count;
    t->separator = vocabulary_search(&t->gpt2.subwords, GPT2_SEPARATOR, strlen(GPT2_SEPARATOR));
    t->length = memory_get(t->count, sizeof *t->length);
    bool fine = t->length || memory_error(e, "lengths of tokens", t->count, sizeof *t->length);
    for (size_t i = 0; fine && i < t->count; i++) {
        text.size = 0;
        tokenizer_bytes(t, (int32_t)i, &text);
        fine = !text.failed || memory_error(e, "a token", text.size, 1);
        t->length[i] = (int32_t)i == t->separator ? 0 : (uint32_t)text.size;
    }
    buffer_free(&text);
    if (!fine)
        tokenizer_close(t);
    return fine;
}

bool tokenizer_learn(Tokenizer *t, const TokenizerOptions *o, const char *text, size_t size, Error *e)
{
    *t = (Tokenizer){.kind = o->kind, .count = BYTES, .separator = -1};
    if (o->kind == TOKEN_BYTES)
        return true;
    if (o->kind == TOKEN_GPT2 && !o->vocabulary)
        return fail(e, "--tokens gpt2 needs its files: --vocabulary encoder.json and --codes vocab.bpe");
    return (o->kind == TOKEN_GPT2 ? gpt2_read(&t->gpt2, o->vocabulary, o->codes, e)
                                  : gpt2_learn(&t->gpt2, text, size, o->merges, e)) &&
           measure(t, e);
}

typedef struct RunFiles {
    char *encoder, *merges;
} RunFiles;

static void files_free(RunFiles *f)
{
    memory_free(f->encoder);
    memory_free(f->merges);
}

const char *const tokenizer_files[] = {"encoder.json", "vocab.bpe", NULL};

static bool files_of(RunFiles *f, const char *folder, Error *e)
{
    *f = (RunFiles){path_join(folder, tokenizer_files[0]), path_join(folder, tokenizer_files[1])};
    return (f->encoder && f->merges) || memory_error(e, "a path", strlen(folder), 1);
}

bool tokenizer_read(Tokenizer *t, TokenKind kind, const char *folder, Error *e)
{
    RunFiles f;
    *t = (Tokenizer){.kind = kind, .count = BYTES, .separator = -1};
    if (kind == TOKEN_BYTES)
        return true;
    const bool fine = files_of(&f, folder, e) && gpt2_read(&t->gpt2, f.encoder, f.merges, e) && measure(t, e);
    files_free(&f);
    return fine;
}

bool tokenizer_write(const Tokenizer *t, const char *folder, Error *e)
{
    RunFiles f;
    if (t->kind == TOKEN_BYTES)
        return true;
    const bool fine = files_of(&f, folder, e) && gpt2_write(&t->gpt2, f.encoder, f.merges, e);
    files_free(&f);
    return fine;
}

void tokenizer_close(Tokenizer *t)
{
    gpt2_close(&t->gpt2);
    memory_free(t->length);
    *t = (Tokenizer){0};
}

bool tokenizer_planned(const TokenizerOptions *o, size_t *count, Error *e)
{
    *count = o->kind == TOKEN_BYTES ? BYTES : o->kind == TOKEN_BPE ? BYTES + o->merges + 1 : GPT2_IDS;
    if (!o->vocabulary)
        return true;
    Tokenizer t;
    if (!tokenizer_learn(&t, o, NULL, 0, e))
        return false;
    *count = t.count;
    tokenizer_close(&t);
    return true;
}

bool tokenizer_add(const Tokenizer *t, const char *text, size_t size, Buffer *ids, Error *e)
{
    if (t->kind != TOKEN_BYTES)
        return gpt2_encode(&t->gpt2, text, size, ids, e);
    for (size_t i = 0; i < size; i++)
        buffer_add(ids, &(int32_t){(unsigned char)text[i]}, sizeof(int32_t));
    return !ids->failed || memory_error(e, "ids of a text", size, sizeof(int32_t));
}

bool tokenizer_ids(const Tokenizer *t, const char *text, size_t size, int32_t **ids, size_t *count, Error *e)
{
    Buffer b = {0};
    bool fine = tokenizer_add(t, text, size, &b, e);
    *count = b.size / sizeof **ids;
    *ids = fine ? memory_get(*count, sizeof **ids) : NULL;
    fine = fine && (*ids || memory_error(e, "ids of a text", *count, sizeof **ids));
    if (fine && b.size)
        memcpy(*ids, b.text, b.size);
    buffer_free(&b);
    return fine;
}

void tokenizer_bytes(const Tokenizer *t, int32_t id, Buffer *text)
{
    const char byte = (char)(unsigned char)id;
    Error ignored;
    if (t->kind == TOKEN_BYTES)
        buffer_add(text, &byte, 1);
    else if (!gpt2_decode(&t->gpt2, &id, 1, text, &ignored))
        text->failed = true;
}
