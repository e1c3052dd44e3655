/* A text as ids: see subwords.h. */
#include "encdec/subwords.h"

#include "base/memory.h"
#include "core/text/punctuation.h"
#include "core/text/shape.h"
#include "encdec/subwords_inner.h"

#include <string.h>

/* --- lists of ids --- */

static bool reserve(Ids *ids, size_t count, Error *e)
{
    return memory_grow(&ids->id, &ids->capacity, ids->count + count, sizeof *ids->id, "ids of a text", e);
}

bool ids_add(Ids *ids, int32_t id, Error *e)
{
    if (!reserve(ids, 1, e))
        return false;
    ids->id[ids->count++] = id;
    return true;
}

bool ids_add_all(Ids *ids, const int32_t *id, size_t count, Error *e)
{
    if (!reserve(ids, count, e))
        return false;
    if (count)
        memcpy(ids->id + ids->count, id, count * sizeof *id);
    ids->count += count;
    return true;
}

void ids_close(Ids *ids)
{
    memory_free(ids->id);
    *ids = (Ids){0};
}

/* --- a line --- */

static bool word_ids(const Vocabulary *v, Line line, Ids *ids, Error *e)
{
    size_t at = 0;
    for (Line word; line_word(line, &at, &word);) {
        if (!ids_add(ids, subwords_find(v, word.text, word.size), e))
            return false;
    }
    return true;
}

/* The same with shapes for words that are not there. */
static bool shape_ids(const Vocabulary *v, Line line, Ids *ids, Error *e)
{
    size_t at = 0, first = ids->count;
    for (Line word; line_word(line, &at, &word);) {
        int32_t id = subwords_find(v, word.text, word.size);
        if (id == UNKNOWN) {
            const Shape shape = shape_of(word.text, word.size, ids->count == first);
            id = subwords_find(v, shape.name, strlen(shape.name));
        }
        if (!ids_add(ids, id, e))
            return false;
    }
    return true;
}

static bool byte_ids(Line line, Ids *ids, Error *e)
{
    for (size_t i = 0; i < line.size; i++)
        if (!ids_add(ids, FIRST_SUBWORD + (unsigned char)line.text[i], e))
            return false;
    return true;
}

static bool bpe_ids(Cutter *c, Line line, Ids *ids, Error *e)
{
    const Subwords *p = c->subwords;
    size_t at = 0;
    for (Line word; line_word(line, &at, &word);) {
        if (!bpe_encode(&c->coder, word.text, word.size, e))
            return false;
        while (c->of_coder.count < c->coder.subwords.count) {
            const char *subword = vocabulary_word(&c->coder.subwords, (int32_t)c->of_coder.count);
            if (!ids_add(&c->of_coder, subwords_find(&p->vocabulary, subword, strlen(subword)), e))
                return false;
        }
        for (size_t i = 0; i < c->coder.count; i++)
            if (!ids_add(ids, c->of_coder.id[c->coder.line[i]], e))
                return false;
    }
    return true;
}

bool cutter_again(Cutter *c, const int32_t *id, size_t count, BpeDropout *dropout, size_t most, Ids *ids)
{
    const size_t first = ids->count;
    Error e;
    c->words.size = 0;
    subwords_words(c->subwords, id, count, &c->words);
    c->coder.dropout = *dropout;
    bool done = !c->words.failed && bpe_ids(c, (Line){c->words.text ? c->words.text : "", c->words.size}, ids, &e);
    *dropout = c->coder.dropout;
    c->coder.dropout.rate = 0;
    for (size_t i = first; done && i < ids->count; i++)
        done = ids->id[i] != UNKNOWN;
    return done && ids->count - first <= most;
}

/* Of a vocabulary that numbers its subwords from 0. */
static bool given_ids(Cutter *c, Line line, Ids *ids, Error *e)
{
    const Subwords *p = c->subwords;
    const bool bert = p->type == SUBWORDS_WORDPIECE;
    c->own.size = 0;
    if (bert ? !wordpiece_encode(&p->wordpiece, line.text, line.size, &c->own, e)
             : !gpt2_encode(&p->gpt2, line.text, line.size, &c->own, e))
        return false;
    for (size_t at = 0; at < c->own.size; at += sizeof(int32_t)) {
        int32_t id;
        memcpy(&id, c->own.text + at, sizeof id);
        if (!ids_add(ids, bert && id == p->wordpiece.unknown ? UNKNOWN : FIRST_SUBWORD + id, e))
            return false;
    }
    return true;
}

/* The code of a language that a line begins with, >>de<<; 0: none. */
static size_t language_code(const Subwords *p, Line line)
{
    if (!p->pad || line.size < 4 || memcmp(line.text, ">>", 2) != 0)
        return 0;
    for (size_t i = 2; i + 2 <= line.size; i++)
        if (!memcmp(line.text + i, "<<", 2))
            return i + 2;
    return 0;
}

static int32_t find_piece(const Vocabulary *v, const char *piece, size_t size)
{
    return memchr(piece, 0, size) ? UNKNOWN : subwords_find(v, piece, size);
}

/* Each piece by its name: the vocabulary may have others than the model that cuts. */
static bool piece_ids(Cutter *c, size_t side, Line line, Ids *ids, Error *e)
{
    const Subwords *p = c->subwords;
    const Vocabulary *v = p->apart && side == TARGET ? &p->target : &p->vocabulary;
    const size_t code = language_code(p, line);
    const char *language = p->tokens.punctuation[side];
    Line text = {line.text + code, line.size - code};
    if (language) {
        c->words.size = 0;
        punctuation_normalize(language, text.text, text.size, &c->words);
        text = (Line){c->words.text ? c->words.text : "", c->words.size};
    }
    if (c->words.failed)
        return memory_error(e, "a text", line.size, 1);
    if ((code && !ids_add(ids, find_piece(v, line.text, code), e)) ||
        !sentencepiece_cut(&p->pieces[side], text.text, text.size, &c->cuts, e))
        return false;
    for (size_t i = 0; i < c->cuts.count; i++)
        if (!ids_add(ids, find_piece(v, c->cuts.list[i].text.at, c->cuts.list[i].text.size), e))
            return false;
    return true;
}

bool cutter_open(Cutter *c, const Subwords *p, Error *e)
{
    *c = (Cutter){.subwords = p};
    return p->type != SUBWORDS_BPE || bpe_coder_open(&c->coder, &p->bpe, &p->kept, 0, e);
}

void cutter_close(Cutter *c)
{
    if (c->subwords && c->subwords->type == SUBWORDS_BPE)
        bpe_coder_close(&c->coder);
    ids_close(&c->of_coder);
    buffer_free(&c->words);
    buffer_free(&c->own);
    cuts_close(&c->cuts);
    *c = (Cutter){0};
}

bool cutter_ids(Cutter *c, size_t side, Line line, Ids *ids, Error *e)
{
    const Subwords *p = c->subwords;
    Line words;
    if (p->apart && side == TARGET && p->type != SUBWORDS_SENTENCEPIECE)
        return word_ids(&p->target, line, ids, e);
    for (size_t i = 0; side == SOURCE && i < p->registers; i++)
        if (!ids_add(ids, (int32_t)(p->count + i), e))
            return false;
    switch (p->type) {
    case SUBWORDS_BYTES: return byte_ids(line, ids, e);
    case SUBWORDS_WORDPIECE:
    case SUBWORDS_GPT2: return given_ids(c, line, ids, e);
    case SUBWORDS_SENTENCEPIECE: return piece_ids(c, side, line, ids, e);
    default: break;
    }
    return tokens_of_line(&p->tokens, side, line, &c->words, &words, e) &&
           (p->type == SUBWORDS_WORDS    ? word_ids(&p->vocabulary, words, ids, e)
            : p->type == SUBWORDS_SHAPES ? shape_ids(&p->vocabulary, words, ids, e)
                                         : bpe_ids(c, words, ids, e));
}
