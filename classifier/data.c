/* See data.h. */
#include "classifier/data.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"

#include <string.h>

enum { SITE_HELD_OUT = SITE_DATA + 0x100, SITE_EXAMPLES = SITE_DATA + 0x101 };

/* --- what is held out --- */

/* Puts the texts of a class into random order (Fisher and Yates) and marks the first ones. */
static void mark_some(size_t *texts, size_t count, size_t most, uint32_t seed, uint32_t class, uint32_t site,
                      bool *marked)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)philox_below(i, seed, class, i, site), text = texts[k];
        texts[k] = texts[i - 1];
        texts[i - 1] = text;
    }
    for (size_t i = 0; i < most; i++)
        marked[texts[i]] = true;
}

bool hold_out(const int32_t *labels, size_t count, size_t classes, uint32_t seed, bool *held_out, Error *e)
{
    size_t *texts = memory_get(count, sizeof *texts);
    if (!texts)
        return memory_error(e, "the texts of a class", count, sizeof *texts);
    memset(held_out, 0, count * sizeof *held_out);
    for (size_t class = 0; class < classes; class ++) {
        size_t found = 0;
        for (size_t i = 0; i < count; i++)
            if ((size_t)labels[i] == class)
                texts[found++] = i;
        mark_some(texts, found, (found + 2) / 5, seed, (uint32_t) class, SITE_HELD_OUT, held_out);
    }
    memory_free(texts);
    return true;
}

/* --- vocabulary --- */

/* Counts words in what is trained on only. */
static void count_words(Corpus *c, const Split *part)
{
    memset(c->words.counts, 0, c->words.count * sizeof *c->words.counts);
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = c->start[i]; part[i] == SPLIT_TRAIN && k < c->start[i + 1]; k++)
            c->words.counts[c->ids[k]]++;
}

/* What each word of the corpus is to the network: ids[start[word]] .. ids[start[word+1]-1]. */
typedef struct Spelling {
    size_t *start;
    Buffer ids;
} Spelling;

static const int32_t *ids_of(const Spelling *s, size_t word)
{
    return (const int32_t *)(const void *)s->ids.text + s->start[word];
}

static bool spell(Spelling *s, const Tokens *t, const Vocabulary *words, Error *e)
{
    s->start = memory_get(words->count + 1, sizeof *s->start);
    if (!s->start)
        return memory_error(e, "tokens of words", words->count, sizeof *s->start);
    for (size_t i = 0; i < words->count; i++) {
        const char *word = vocabulary_word(words, (int32_t)i);
        if (!tokens_of_word(t, word, strlen(word), &s->ids, e))
            return false;
        s->start[i + 1] = s->ids.size / sizeof(int32_t);
    }
    return true;
}

/* --- parts --- */

/* Where nothing has a label: a twentieth. */
static void hold_out_unlabelled(size_t *texts, size_t count, uint32_t seed, Split *part, bool *held_out)
{
    for (size_t i = 0; i < count; i++)
        texts[i] = i;
    mark_some(texts, count, (count + 10) / 20, seed, 0, SITE_HELD_OUT, held_out);
    for (size_t i = 0; i < count; i++)
        part[i] = held_out[i] ? SPLIT_VALID : SPLIT_TRAIN;
}

/* Leaves this many texts to train on, equally many of each class; the others belong to no part. */
static bool choose_examples(const Corpus *c, const ReviewsOptions *o, Split *part, size_t *texts, bool *chosen,
                            Error *e)
{
    memset(chosen, 0, c->count * sizeof *chosen);
    if (!c->training)
        return fail(e, "--examples %zu: the data have no texts with labels", o->examples);
    for (size_t class = 0; class < c->class_count; class ++) {
        const size_t share = o->examples * (class + 1) / c->class_count - o->examples * class / c->class_count;
        size_t found = 0;
        for (size_t i = 0; i < c->training; i++)
            if ((size_t)c->labels[i] == class && part[i] == SPLIT_TRAIN)
                texts[found++] = i;
        if (found < share)
            return fail(e, "--examples %zu: %zu of them would be of class %s, and the training part has %zu",
                        o->examples, share, c->classes[class], found);
        mark_some(texts, found, share, o->seed, (uint32_t) class, SITE_EXAMPLES, chosen);
    }
    for (size_t i = 0; i < c->training; i++)
        part[i] = part[i] == SPLIT_TRAIN && !chosen[i] ? SPLIT_ALL : part[i];
    return true;
}

static bool assign_parts(const Corpus *c, const ReviewsOptions *o, Split *part, Error *e)
{
    bool *marked = memory_get(c->count, sizeof *marked);
    size_t *texts = memory_get(c->count, sizeof *texts), labelled = c->count - c->unlabelled;
    bool done = (marked && texts) || memory_error(e, "parts of the texts", c->count, sizeof *texts);
    done = done && (o->final || hold_out(c->labels, c->training, c->class_count, o->seed, marked, e));
    for (size_t i = 0; done && i < c->count; i++)
        part[i] = i >= labelled      ? (o->pretrain ? SPLIT_TRAIN : SPLIT_ALL)
                  : i >= c->training ? SPLIT_TEST
                  : marked[i]        ? SPLIT_VALID
                                     : SPLIT_TRAIN;
    if (done && o->pretrain && !o->final && !c->training)
        hold_out_unlabelled(texts, c->unlabelled, o->seed, part + labelled, marked);
    done = done && (!o->examples || choose_examples(c, o, part, texts, marked, e));
    memory_free(marked);
    memory_free(texts);
    return done;
}

static size_t text_length(const Corpus *c, size_t i, const Spelling *s)
{
    size_t length = 0;
    for (size_t k = c->start[i]; k < c->start[i + 1]; k++)
        length += s->start[c->ids[k] + 1] - s->start[c->ids[k]];
    return length;
}

/* How many texts a network makes of one, and of how many ids all together. */
static size_t pieces_of(size_t length, const ReviewsOptions *o, size_t *ids)
{
    const bool longer = o->length && length > o->length;
    *ids = length == 0 ? 1 : longer && !o->pretrain ? o->length : length;
    return longer && o->pretrain ? (length + o->length - 1) / o->length : 1;
}

static bool reserve(Reviews *r, const ReviewsOptions *o, const Spelling *s, Error *e)
{
    const Corpus *c = &r->corpus;
    size_t ids = 0, texts = 0, own;
    for (size_t i = 0; i < c->count; i++, ids += own)
        texts += pieces_of(text_length(c, i, s), o, &own);
    r->ids = memory_get(ids, sizeof *r->ids);
    r->labels = memory_get(texts, sizeof *r->labels);
    r->source = memory_get(texts, sizeof *r->source);
    r->start = memory_get(texts + SPLITS, sizeof *r->start); /* each part has an end of its own */
    return (r->ids && r->labels && r->source && r->start) || memory_error(e, "ids of texts", ids, sizeof *r->ids);
}

/* Writes the first ids of a text of the corpus. */
static void write_ids(const Reviews *r, size_t text, const Spelling *s, int32_t *ids, size_t count)
{
    const Corpus *c = &r->corpus;
    size_t at = 0;
    for (size_t k = c->start[text]; k < c->start[text + 1] && at < count; k++) {
        const int32_t *of = ids_of(s, (size_t)c->ids[k]);
        const size_t own = s->start[c->ids[k] + 1] - s->start[c->ids[k]], left = count - at;
        memcpy(ids + at, of, (own < left ? own : left) * sizeof *ids);
        at += own < left ? own : left;
    }
    if (!at)
        ids[0] = r->tokens.unknown;
}

/* Writes all texts of a part after those before it. Parts of a long text are about equally long. */
static void fill_part(Reviews *r, Split wanted, const Split *part, const ReviewsOptions *o, const Spelling *s,
                      size_t *row, size_t *at)
{
    const Corpus *c = &r->corpus;
    Texts *t = &r->parts[wanted];
    size_t *start = r->start + *row + (size_t)wanted;
    *t = (Texts){.ids = r->ids, .start = start, .labels = r->labels + *row, .source = r->source + *row};
    start[0] = *at;
    for (size_t i = 0; i < c->count; i++) {
        if (part[i] != wanted)
            continue;
        size_t whole = text_length(c, i, s), length, pieces = pieces_of(whole, o, &length);
        write_ids(r, i, s, r->ids + *at, length);
        t->cut += length < whole;
        for (size_t piece = 1; piece <= pieces; piece++) {
            r->labels[*row] = c->labels[i];
            r->source[(*row)++] = i;
            start[++t->count] = *at + length * piece / pieces;
        }
        *at += length;
    }
}

static bool make_parts(Reviews *r, const ReviewsOptions *o, Split *part, Spelling *s, Error *e)
{
    const Vocabulary *words = &r->corpus.words;
    size_t row = 0, at = 0;
    if (!assign_parts(&r->corpus, o, part, e))
        return false;
    count_words(&r->corpus, part);
    if (!(o->tokens ? tokens_copy(&r->tokens, o->tokens, e) : tokens_learn(&r->tokens, &o->vocabulary, words, e)) ||
        !spell(s, &r->tokens, words, e) || !reserve(r, o, s, e))
        return false;
    for (int p = 0; p < SPLITS; p++)
        fill_part(r, (Split)p, part, o, s, &row, &at);
    return true;
}

bool reviews_open(Reviews *r, const ReviewsOptions *o, Error *e)
{
    *r = (Reviews){0};
    CorpusOptions wanted = {.path = o->path,
                            .text_column = o->text_column,
                            .label_column = o->label_column,
                            .classes = o->classes,
                            .class_count = o->class_count,
                            .rule = token_words(o->tokens ? o->tokens->kind : o->vocabulary.kind),
                            .unlabelled = o->pretrain,
                            .more = o->unlabelled};
    if (!corpus_open(&r->corpus, &wanted, o->no_cache, &r->cached, e))
        return false;
    const Corpus *c = &r->corpus;
    Spelling spelling = {0};
    r->classes = c->classes;
    r->class_count = c->class_count;
    memcpy(r->sha256, c->sha256, sizeof r->sha256);
    Split *part = memory_get(c->count, sizeof *part);
    bool done = part ? make_parts(r, o, part, &spelling, e)
                     : memory_error(e, "parts of the texts", c->count, sizeof *part);
    memory_free(part);
    memory_free(spelling.start);
    buffer_free(&spelling.ids);
    if (!done)
        reviews_close(r);
    return done;
}

void reviews_close(Reviews *r)
{
    corpus_close(&r->corpus);
    tokens_close(&r->tokens);
    memory_free(r->ids);
    memory_free(r->labels);
    memory_free(r->start);
    memory_free(r->source);
    *r = (Reviews){0};
}

bool reviews_suits(const Reviews *r, Split part, Error *e)
{
    if (r->parts[part].count)
        return true;
    switch (part) {
    case SPLIT_VALID:
        return fail(e, "the data's valid part has no texts: it is a fifth of the training part (of texts without "
                       "labels a twentieth), unless --final trains on all of it, and so few texts leave none for it");
    case SPLIT_TEST:
        return fail(e,
                    "the data's test part has no texts: they belong in test/CLASS/, or in test.csv beside train.csv");
    default: return fail(e, "the data's train part has no texts");
    }
}

void reviews_balance(const Reviews *r, Split part, size_t *counts)
{
    const Texts *t = &r->parts[part];
    memset(counts, 0, r->class_count * sizeof *counts);
    for (size_t i = 0; i < t->count; i++)
        if (t->labels[i] >= 0)
            counts[t->labels[i]]++;
}

/* --- one text --- */

bool text_to_ids(const Tokens *t, const char *text, size_t size, size_t length, int32_t **ids, size_t *count,
                 size_t *cut, Error *e)
{
    Buffer all = {0};
    bool done = true;
    *ids = NULL;
    for (TextWords w = text_words_of(token_words(t->kind), text, size); done && text_words_next(&w);)
        done = tokens_of_word(t, w.word, w.length, &all, e);
    if (done && !all.size)
        buffer_add(&all, &t->unknown, sizeof t->unknown);
    const size_t found = all.size / sizeof **ids;
    *count = length && length < found ? length : found;
    *cut = found - *count;
    *ids = done && !all.failed ? memory_get(*count, sizeof **ids) : NULL;
    if (*ids)
        memcpy(*ids, all.text, *count * sizeof **ids);
    else if (done)
        done = memory_error(e, "a text", found, sizeof **ids);
    buffer_free(&all);
    return done;
}
