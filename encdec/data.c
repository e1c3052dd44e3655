/* See data.h. */
#include "encdec/data.h"

#include "base/memory.h"
#include "core/tensor/sites.h"
#include "encdec/cutting.h"

#include <string.h>

static void close_pairs(SentencePairs *p)
{
    for (size_t side = 0; side < SIDES_USED; side++) {
        memory_free(p->ids[side]);
        memory_free(p->start[side]);
    }
    memory_free(p->line);
    memory_free(p->length);
    *p = (SentencePairs){0};
}

size_t pairs_ids(const SentencePairs *p, size_t side) { return p->count ? p->start[side][p->count] : 0; }

void pairs_positions(const bool *moves, const int32_t *targets, size_t count, int32_t *position)
{
    int32_t moved = 0;
    for (size_t i = 0; i < count; i++) {
        moved += i && (!moves || moves[targets[i - 1]]);
        position[i] = moved;
    }
}

/* The ids of both sides of a pair. */
typedef struct PairIds {
    const int32_t *id[SIDES_USED];
    size_t count[SIDES_USED];
} PairIds;

static PairIds pair_of(const SentencePairs *p, size_t i)
{
    PairIds pair;
    for (size_t s = 0; s < SIDES_USED; s++) {
        pair.id[s] = p->ids[s] + p->start[s][i];
        pair.count[s] = p->start[s][i + 1] - p->start[s][i];
    }
    return pair;
}

static void add_row(const PairIds *pair, int32_t begin, const bool *moves, Batch *b)
{
    const int32_t *source = pair->id[SOURCE], *target = pair->id[TARGET];
    size_t read = pair->count[SOURCE], said = pair->count[TARGET];
    size_t at = batch_row(b, SOURCE, read);
    for (size_t k = 0; k < read; k++) {
        b->side[SOURCE].ids[at + k] = source[k];
        b->side[SOURCE].targets[at + k] = -1;
    }
    at = batch_row(b, TARGET, said);
    for (size_t k = 0; k < said; k++) {
        b->side[TARGET].ids[at + k] = k ? target[k - 1] : begin;
        b->side[TARGET].targets[at + k] = target[k];
    }
    pairs_positions(moves, target, said, b->side[TARGET].position + at);
}

void pairs_row(const SentencePairs *p, size_t i, Batch *b)
{
    const PairIds pair = pair_of(p, i);
    add_row(&pair, p->begin, p->moves, b);
}

/* --- BPE-dropout --- */

bool recut_open(Recut *r, const Subwords *p, double rate, uint32_t seed, size_t most, Error *e)
{
    *r = (Recut){.rate = rate, .times = 1 + 10 * rate, .seed = seed, .most = most};
    return !(rate > 0) || cutter_open(&r->cutter, p, e);
}

void recut_close(Recut *r)
{
    cutter_close(&r->cutter);
    for (size_t s = 0; s < SIDES_USED; s++)
        ids_close(&r->ids[s]);
    *r = (Recut){.rate = 0};
}

size_t recut_most(const Recut *r, size_t count)
{
    const size_t most = (size_t)(r->times * (double)count);
    return most < r->most ? most : r->most;
}

/* A side of a row, into r->ids: between registers and </s> there are words. */
static bool recut_side(Recut *r, size_t side, const int32_t *id, size_t count, BpeDropout *dropout)
{
    enum { TRIES = 4 };
    const size_t most = recut_most(r, count);
    const size_t first = side == SOURCE ? r->cutter.subwords->registers : 0;
    Ids *ids = &r->ids[side];
    Error e;
    bool unknown = false, done = false;
    for (size_t i = first; i < count; i++)
        unknown = unknown || id[i] == UNKNOWN;
    for (int tries = 0; tries < TRIES && !done && !unknown; tries++) {
        ids->count = 0;
        done = ids_add_all(ids, id, first, &e) &&
               cutter_again(&r->cutter, id + first, count - first - 1, dropout, most - first - 1, ids) &&
               ids_add(ids, END, &e);
    }
    return done;
}

void recut_row(Recut *r, const SentencePairs *p, size_t i, uint64_t step, Batch *b)
{
    PairIds pair = pair_of(p, i);
    for (size_t s = 0; s < SIDES_USED; s++) {
        BpeDropout dropout = {.rate = r->rate,
                              .seed = r->seed,
                              .step = (uint32_t)step,
                              .site = SITE_CUTS + (uint32_t)s,
                              .drawn = (uint64_t)b->side[s].rows << 32};
        const bool apart = s == TARGET && r->cutter.subwords->apart;
        if (!apart && recut_side(r, s, pair.id[s], pair.count[s], &dropout)) {
            pair.id[s] = r->ids[s].id;
            pair.count[s] = r->ids[s].count;
        }
    }
    add_row(&pair, p->begin, p->moves, b);
}

/* --- pairs of a text --- */

static bool reserve(SentencePairs *p, size_t most, Error *e)
{
    for (size_t side = 0; side < SIDES_USED; side++)
        p->start[side] = memory_get(most + 1, sizeof *p->start[side]);
    p->line = memory_get(most, sizeof *p->line);
    p->length = memory_get(most + 1, sizeof *p->length);
    return (p->start[SOURCE] && p->start[TARGET] && p->line && p->length) ||
           memory_error(e, "pairs of sentences", most, 4 * sizeof *p->line);
}

/* What bounds a part: subwords of a side without </s>, and whether a side may be empty. */
typedef struct Bounds {
    size_t most;
    bool empty_too;
} Bounds;

/* Adds the pair that line i is, without </s>, or counts why not; ids: what both sides have so far. */
static bool add_pair(SentencePairs *p, const Lines side[SIDES_USED], size_t i, const Bounds *bounds,
                     const PairIds *pair, Ids ids[SIDES_USED], Error *e)
{
    const size_t longest = pair->count[SOURCE] > pair->count[TARGET] ? pair->count[SOURCE] : pair->count[TARGET];
    const bool empty = line_is_empty(lines_at(&side[SOURCE], i)) || line_is_empty(lines_at(&side[TARGET], i)),
               too_long = longest > bounds->most;
    p->empty += empty;
    p->too_long += too_long && (bounds->empty_too || !empty);
    if (too_long || (empty && !bounds->empty_too))
        return true;
    p->words += line_words(lines_at(&side[TARGET], i)) + 1;
    p->line[p->count++] = i;
    p->length[p->count] = p->length[p->count - 1] + longest + 1;
    for (size_t s = 0; s < SIDES_USED; s++) {
        for (size_t k = 0; k < pair->count[s]; k++)
            p->unknown += pair->id[s][k] == UNKNOWN;
        if (!ids_add_all(&ids[s], pair->id[s], pair->count[s], e) || !ids_add(&ids[s], END, e))
            return false;
        p->start[s][p->count] = ids[s].count;
    }
    return true;
}

/* Adds lines first .. first + count - 1. */
static bool add_pairs(SentencePairs *p, const Lines side[SIDES_USED], size_t first, size_t count, const Bounds *bounds,
                      Cutting *cutting, Ids ids[SIDES_USED], Error *e)
{
    for (size_t s = 0; s < SIDES_USED; s++)
        if (!cutting_run(cutting, s, &side[s], first, count, e))
            return false;
    for (size_t i = 0; i < count; i++) {
        PairIds pair;
        for (size_t s = 0; s < SIDES_USED; s++)
            pair.id[s] = cutting_ids(cutting, s, i, &pair.count[s]);
        if (!add_pair(p, side, first + i, bounds, &pair, ids, e))
            return false;
    }
    return true;
}

static bool make_pairs(SentencePairs *p, const Lines side[SIDES_USED], const Bounds *bounds, Cutting *cutting, Error *e)
{
    const size_t lines = side[SOURCE].count, most = cutting_most(cutting);
    Ids ids[SIDES_USED] = {{0}, {0}};
    bool done = reserve(p, lines, e);
    for (size_t i = 0; done && i < lines; i += most)
        done = add_pairs(p, side, i, lines - i < most ? lines - i : most, bounds, cutting, ids, e);
    for (size_t s = 0; s < SIDES_USED; s++)
        p->ids[s] = ids[s].id; /* its list from now on */
    return done;
}

static void note_longest(Bitext *b, const SentencePairs *p)
{
    for (size_t i = 0; i < p->count; i++) {
        size_t length = p->length[i + 1] - p->length[i];
        b->longest = length > b->longest ? length : b->longest;
    }
}

static bool make_parts(Bitext *b, const BitextOptions *o, Cutting *cutting, Error *e)
{
    for (size_t part = 0; part < SPLITS; part++) {
        const Bounds bounds = {part == SPLIT_TRAIN ? o->longest : o->context - 1, part != SPLIT_TRAIN};
        if (!make_pairs(&b->parts[part], b->sentences.side[part], &bounds, cutting, e))
            return false;
        note_longest(b, &b->parts[part]);
    }
    return true;
}

static bool make(Bitext *b, const BitextOptions *o, Pool *pool, Error *e)
{
    Lines *train = b->sentences.side[SPLIT_TRAIN];
    Lines learned[SIDES_USED] = {train[SOURCE], train[TARGET]};
    const SubwordsText texts[] = {{&learned[SOURCE], SOURCE}, {&learned[TARGET], TARGET}};
    learned[SOURCE].count = learned[TARGET].count -= b->sentences.made;
    b->lines = train[SOURCE].count;
    Cutting *cutting = NULL;
    if (!o->known && !subwords_learn(&b->own, &o->subwords, texts, SIDES_USED, pool, NULL, e))
        return false;
    b->subwords = o->known ? o->known : &b->own;
    for (size_t part = 0; part < SPLITS; part++) {
        b->parts[part].moves = b->subwords->moves;
        b->parts[part].begin = subwords_begin(b->subwords);
    }
    bool done = cutting_open(&cutting, b->subwords, pool, e) && make_parts(b, o, cutting, e);
    cutting_close(cutting);
    for (size_t side = 0; side < SIDES_USED && !o->keep_training; side++)
        lines_close(&train[side]);
    return done;
}

bool bitext_open(Bitext *b, const BitextOptions *o, Error *e)
{
    Pool *pool = NULL;
    *b = (Bitext){0};
    bool done = sentences_read(&b->sentences, &o->source, e) &&
                (o->threads < 2 || pool_open(&pool, o->threads, false, e)) && make(b, o, pool, e);
    pool_close(pool);
    if (!done)
        bitext_close(b);
    return done;
}

void bitext_close(Bitext *b)
{
    for (size_t part = 0; part < SPLITS; part++)
        close_pairs(&b->parts[part]);
    subwords_close(&b->own);
    sentences_close(&b->sentences);
    *b = (Bitext){0};
}

bool bitext_suits(const Bitext *b, Split part, Error *e)
{
    const SentencePairs *p = &b->parts[part];
    if (p->count)
        return true;
    if (part == SPLIT_TRAIN && !b->lines)
        return fail(e,
                    "there are no pairs to train on: the training part has no lines; give another with --data, or with "
                    "--train-source and --train-target");
    if (part == SPLIT_TRAIN)
        return fail(e,
                    "there are no pairs to train on: %zu have an empty side, %zu have more subwords than --longest or "
                    "--context allow",
                    p->empty, p->too_long);
    if (p->too_long)
        return fail(e, "all %zu pairs of %s are longer than --context", p->too_long, split_name(part));
    if (part == SPLIT_VALID)
        return fail(e, "there are no validation pairs: they are held out from a training part of at least 20 pairs, or "
                       "give --valid-source and --valid-target");
    return fail(e, "there are no test pairs: a folder or archive holds them as test*.LANG, or give --test-source and "
                   "--test-target");
}

bool bitext_spread(const Bitext *b, size_t count, Lines side[SIDES_USED], Error *e)
{
    const SentencePairs *p = &b->parts[SPLIT_VALID];
    const size_t chosen = p->count < count ? p->count : count;
    for (size_t i = 0; i < chosen; i++)
        for (size_t s = 0; s < SIDES_USED; s++) {
            const Line line = lines_at(&b->sentences.side[SPLIT_VALID][s], p->line[i * p->count / chosen]);
            if (!lines_add(&side[s], line.text, line.size, e))
                return false;
        }
    return true;
}
