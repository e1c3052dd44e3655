/* See data.h. */
#include "classifier/data.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"
#include "core/text/words.h"

#include <string.h>

enum { SITE_HELD_OUT = SITE_DATA + 0x100 };

/* --- what is held out --- */

/* Puts the texts of a class into random order (Fisher and Yates) and marks the first fifth. */
static void hold_out_class(size_t *texts, size_t count, uint32_t seed, uint32_t class, bool *held_out)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)philox_below(i, seed, class, i, SITE_HELD_OUT), text = texts[k];
        texts[k] = texts[i - 1];
        texts[i - 1] = text;
    }
    for (size_t i = 0; i < (count + 2) / 5; i++)
        held_out[texts[i]] = true;
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
        hold_out_class(texts, found, seed, (uint32_t) class, held_out);
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

static bool copy_vocabulary(Vocabulary *v, const Vocabulary *from, Error *e)
{
    if (!vocabulary_open(v, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < from->count; i++) {
        const char *word = vocabulary_word(from, (int32_t)i);
        done = vocabulary_add(v, word, strlen(word), from->counts[i], NULL, e);
    }
    if (!done)
        vocabulary_close(v);
    return done;
}

/* ids: for each word of the corpus what it is to the network. */
static bool make_vocabulary(Reviews *r, const ReviewsOptions *o, int32_t *ids, Error *e)
{
    const Vocabulary *words = &r->corpus.words;
    if (!o->vocabulary)
        return vocabulary_cut(&r->vocabulary, words, o->vocabulary_size ? o->vocabulary_size : SIZE_MAX, ids, e);
    if (!copy_vocabulary(&r->vocabulary, o->vocabulary, e))
        return false;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = vocabulary_word(words, (int32_t)i);
        ids[i] = vocabulary_find(&r->vocabulary, word, strlen(word));
    }
    return true;
}

/* --- parts --- */

static bool assign_parts(const Corpus *c, const ReviewsOptions *o, Split *part, Error *e)
{
    bool *held_out = memory_get(c->training, sizeof *held_out);
    if (!held_out)
        return memory_error(e, "parts of the texts", c->training, sizeof *held_out);
    bool done = o->final || hold_out(c->labels, c->training, c->class_count, o->seed, held_out, e);
    for (size_t i = 0; i < c->count; i++)
        part[i] = i >= c->training ? SPLIT_TEST : held_out[i] ? SPLIT_VALID : SPLIT_TRAIN;
    memory_free(held_out);
    return done;
}

static size_t text_length(const Corpus *c, size_t i, size_t most)
{
    size_t length = c->start[i + 1] - c->start[i];
    return length == 0 ? 1 : most && length > most ? most : length;
}

static bool make_room(Reviews *r, size_t most, Error *e)
{
    const Corpus *c = &r->corpus;
    size_t ids = 0;
    for (size_t i = 0; i < c->count; i++)
        ids += text_length(c, i, most);
    r->ids = memory_get(ids, sizeof *r->ids);
    r->labels = memory_get(c->count, sizeof *r->labels);
    r->source = memory_get(c->count, sizeof *r->source);
    r->start = memory_get(c->count + SPLITS, sizeof *r->start); /* each part has an end of its own */
    return (r->ids && r->labels && r->source && r->start) || memory_error(e, "ids of texts", ids, sizeof *r->ids);
}

/* Writes all texts of a part after those before it. */
static void fill_part(Reviews *r, Split wanted, const Split *part, const int32_t *known, size_t most, size_t *row,
                      size_t *at)
{
    const Corpus *c = &r->corpus;
    Texts *t = &r->parts[wanted];
    size_t *start = r->start + *row + (size_t)wanted;
    *t = (Texts){.ids = r->ids, .start = start, .labels = r->labels + *row, .source = r->source + *row};
    start[0] = *at;
    for (size_t i = 0; i < c->count; i++) {
        if (part[i] != wanted)
            continue;
        size_t length = text_length(c, i, most), whole = c->start[i + 1] - c->start[i];
        for (size_t k = 0; k < length; k++)
            r->ids[(*at)++] = k < whole ? known[c->ids[c->start[i] + k]] : UNKNOWN;
        t->cut += length < whole;
        r->labels[*row] = c->labels[i];
        r->source[(*row)++] = i;
        start[++t->count] = *at;
    }
}

static bool make_parts(Reviews *r, const ReviewsOptions *o, Split *part, int32_t *known, Error *e)
{
    size_t row = 0, at = 0;
    if (!assign_parts(&r->corpus, o, part, e))
        return false;
    count_words(&r->corpus, part);
    if (!make_vocabulary(r, o, known, e) || !make_room(r, o->length, e))
        return false;
    for (int p = 0; p < SPLITS; p++)
        fill_part(r, (Split)p, part, known, o->length, &row, &at);
    return true;
}

bool reviews_open(Reviews *r, const ReviewsOptions *o, Error *e)
{
    *r = (Reviews){0};
    CorpusOptions wanted = {o->path, o->text_column, o->label_column, o->classes, o->class_count};
    if (!corpus_open(&r->corpus, &wanted, o->no_cache, &r->cached, e))
        return false;
    const Corpus *c = &r->corpus;
    r->classes = c->classes;
    r->class_count = c->class_count;
    memcpy(r->sha256, c->sha256, sizeof r->sha256);
    Split *part = memory_get(c->count, sizeof *part);
    int32_t *known = memory_get(c->words.count, sizeof *known);
    bool done = part && known ? make_parts(r, o, part, known, e)
                              : memory_error(e, "parts of the texts", c->count, sizeof *part);
    memory_free(part);
    memory_free(known);
    if (!done)
        reviews_close(r);
    return done;
}

void reviews_close(Reviews *r)
{
    corpus_close(&r->corpus);
    vocabulary_close(&r->vocabulary);
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
        return fail(e, "the data's valid part has no texts: it is a fifth of the training part, unless --final trains "
                       "on all of it, and a fifth of so few is less than one text");
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
        counts[t->labels[i]]++;
}

/* --- one text --- */

bool text_to_ids(const Vocabulary *v, const char *text, size_t size, size_t length, int32_t **ids, size_t *count,
                 size_t *cut, Error *e)
{
    size_t most = size + 1; /* a word has a byte at least */
    if (length && length < most)
        most = length;
    *count = *cut = 0;
    *ids = memory_get(most, sizeof **ids);
    if (!*ids)
        return memory_error(e, "a text", most, sizeof **ids);
    for (Words w = words_of(text, size); words_next(&w);) {
        if (*count < most)
            (*ids)[(*count)++] = vocabulary_find(v, w.word, w.length);
        else
            ++*cut;
    }
    if (!*count)
        (*ids)[(*count)++] = UNKNOWN;
    return true;
}
