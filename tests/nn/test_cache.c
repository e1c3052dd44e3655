/* A cache of keys and values: what is read piece by piece gives the logits of the whole row. */
#include "base/memory.h"
#include "base/philox.h"
#include "tests/nn/networks.h"

#include <math.h>
#include <string.h>

enum { LAYOUTS = 18, CONTEXT = 13, MOST = 3 * CONTEXT };

/* A network, and what it takes to run it forward on rows that the test chooses. */
typedef struct Reader {
    Model model;
    TrainerFixture t; /* its trainer's worker 0 computes */
    Batch none;
    Cache cache;
    DeviceRows rows;
    Batch batch;
} Reader;

static SharedOptions layout(int i)
{
    SharedOptions o = small_options();
    o.activation = ACTIVATION_GELU;
    o.attention = i % 2;
    o.score = i == 1 ? SCORE_BILINEAR : i == 3 ? SCORE_ADDITIVE : SCORE_SCALED_DOT;
    o.norm = i < 2 ? NORM_POST : NORM_PRE;
    if (i == 2)
        o.heads = 6, o.kv_heads = 2;
    if (i == 3)
        o.kv_heads = 1;
    if (i == 4)
        o.positions = POSITIONS_ROTARY, o.norm = NORM_PARALLEL, o.bias_free = o.value_residual = true, o.skip = SKIP_X0,
        o.distances = DISTANCE_BUCKETS;
    else if (i == 5)
        o.positions = POSITIONS_ROTARY, o.qk_norm = o.gate = o.embedding_norm = true, o.norm = NORM_SANDWICH,
        o.loops = 2, o.window = 4, o.window_pattern = "SSL", o.skip = SKIP_UNET;
    else if (i == 6)
        o.norm = NORM_RESIDUAL, o.norm_kind = NORM_SCALE, o.macaron = o.value_residual = true, o.skip = SKIP_UNET,
        o.qk_norm = true, o.qk_norm_kind = 1, o.kv_heads = 1;
    else if (i == 7)
        o.norm = NORM_DEEP, o.norm_kind = NORM_TANH, o.macaron = true;
    else if (i == 9)
        o.residual_scores = true, o.loops = 2, o.window = 4, o.window_pattern = "SL", o.score = SCORE_BILINEAR;
    else if (i == 10)
        o.distances = DISTANCE_ALIBI, o.alibi_heads = 2, o.score_cap = 1, o.logit_cap = 2, o.kv_heads = 1,
        o.sink_score = o.value_gate = true, o.window = 3, o.sinks = 2;
    else if (i == 11)
        o.talking_heads = true, o.top_keys = 3, o.memory_keys = 2, o.kv_heads = 1, o.score_cap = 2, o.sinks = 1,
        o.sparse = PATTERN_FIXED, o.stride = 4, o.sparse_block = 2;
    else if (i == 12)
        o.distances = DISTANCE_MLP, o.sparse = PATTERN_STRIDED, o.stride = 3;
    else if (i == 13)
        o.sigmoid_attention = true, o.memory_keys = 1, o.sparse = PATTERN_LOCAL, o.stride = 4, o.sparse_block = 2,
        o.sinks = 3;
    else if (i == 14)
        o.experts = 4, o.chosen_experts = 2, o.gate = o.macaron = true;
    else if (i == 15)
        o.distances = DISTANCE_KEYS, o.adaptive_span = 2.5, o.kv_heads = 1, o.attention = ATTENTION_FUSED;
    else if (i == 16)
        o.ngrams = 3, o.ngram_rows = 50;
    else if (i == 17)
        o.distances = DISTANCE_XL, o.positions = POSITIONS_NONE, o.attention = ATTENTION_FUSED;
    else if (i >= 2)
        o.positions = POSITIONS_SINUSOID, o.head_size = 5, o.value_size = 7, o.window = 4, o.bias = false;
    return o;
}

static void reader_open(Reader *r, const SharedOptions *o, const Kernels *k, size_t rows)
{
    Error e;
    const size_t longest[] = {CONTEXT, CONTEXT, CONTEXT};
    ck_done(model_open(&r->model, o, BYTES, &e), e);
    const BatchSize size = {model_sides(&r->model), rows, {MOST, MOST, MOST}, 0, 0};
    r->none = ngram_batch(&r->model.ngrams, longest, 3, 1);
    Network n = charlm_network(&r->model, 0);
    trainer_fixture_open(&r->t, k, &n, &r->none, 1, &(Training){0});
    trainer_fixture_draw(&r->t, 9);
    Stream *s = r->t.trainer.worker[0].stream;
    ck_done(stack_cache(&r->cache, &r->model.stack, k, s, rows, CONTEXT, &e) &&
                device_rows_open(&r->rows, k, &size, &e) && batch_open(&r->batch, &size, &e),
            e);
}

static void reader_close(Reader *r)
{
    cache_close(&r->cache);
    device_rows_close(&r->rows);
    batch_close(&r->batch);
    batch_close(&r->none);
    trainer_fixture_close(&r->t);
    model_close(&r->model);
}

/* A row of ids, from..to-1 of which are read now. */
typedef struct Piece {
    const int32_t *ids;
    size_t from, to;
} Piece;

/* logits [positions, 256] of pieces, one a row of the cache; without a cache rows are read from their beginning. */
static double *read_pieces(Reader *r, const Piece *pieces, size_t rows, bool cached)
{
    Worker *w = &r->t.trainer.worker[0];
    const Kernels *k = r->t.trainer.options.k;
    Error e;
    Tape tape;
    /* composed attention over a whole cache needs more than a training pass over rows: so a tape of its own */
    TapePlan plan = {.memory = 1 << 22, .host = 1 << 20};
    ck_done(tape_open(&tape, k, w->stream, &r->t.trainer.weights, &plan, &e), e);
    tape.state = w->state;
    batch_clear(&r->batch);
    for (size_t b = 0; b < rows; b++) {
        size_t first = batch_row(&r->batch, 0, pieces[b].to - pieces[b].from);
        for (size_t i = pieces[b].from; i < pieces[b].to; i++) {
            r->batch.side[0].ids[first + i - pieces[b].from] = pieces[b].ids[i];
            r->batch.side[0].position[first + i - pieces[b].from] = (int32_t)i;
        }
        ngrams_continue(&r->model.ngrams, &r->batch, pieces[b].ids, pieces[b].from);
    }
    device_rows_upload(&r->rows, w->stream, &r->batch, 0, rows);
    const Rows *now = &r->rows.rows[0];
    if (cached)
        cache_begin(&r->cache, w->stream, now->start, rows);
    Tensor *logits = model_logits(&tape, &r->model, now, cached ? &r->cache : NULL, NULL);
    if (cached)
        cache_end(&r->cache, w->stream, rows);
    size_t count = logits->rows * logits->columns;
    double *values = memory_get(count, sizeof *values);
    ck_assert_ptr_nonnull(values);
    download_doubles(k, w->stream, values, logits->data, count);
    tape_close(&tape);
    return values;
}

static void random_ids(int32_t *ids, uint32_t seed)
{
    for (size_t i = 0; i < CONTEXT; i++)
        ids[i] = (int32_t)philox_below(BYTES, seed, 0, i, 1);
}

/* The logits of position `at` of a whole row, against those found. */
static void check_position(Reader *r, const int32_t *ids, size_t length, size_t at, const double *found,
                           double rounding, const char *what)
{
    double *wanted = read_pieces(r, &(Piece){ids, 0, length}, 1, false);
    double far = largest_difference(wanted + at * BYTES, found, BYTES);
    ck_assert_msg(far <= rounding, "%s: the logits of position %zu of %zu are off by %g", what, at, length, far);
    memory_free(wanted);
}

static double rounding_of(const Kernels *k) { return k->type == NUMBER_F64 ? 1e-12 : 1e-4; }

static void check_chunks(int i, const Kernels *k, const size_t *chunks)
{
    SharedOptions o = layout(i);
    Reader r;
    int32_t ids[CONTEXT];
    reader_open(&r, &o, k, 1);
    random_ids(ids, 3);
    double *wanted = read_pieces(&r, &(Piece){ids, 0, CONTEXT}, 1, false);
    for (size_t from = 0, c = 0; from < CONTEXT; c++) {
        size_t to = from + chunks[c];
        double *found = read_pieces(&r, &(Piece){ids, from, to}, 1, true);
        double far = largest_difference(wanted + from * BYTES, found, (to - from) * BYTES);
        ck_assert_msg(far <= rounding_of(k), "%s: logits of positions %zu to %zu are off by %g", k->backend, from,
                      to - 1, far);
        memory_free(found);
        from = to;
    }
    memory_free(wanted);
    reader_close(&r);
}

static const Kernels *backend(size_t i) { return i ? backend_of(NUMBER_F32, i - 1) : plain_of(NUMBER_F64); }

START_TEST(tokens_one_by_one_give_the_logits_of_the_whole_row)
{
    static const size_t ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t i = 0; backend(i); i++)
        check_chunks(_i, backend(i), ones);
}

START_TEST(chunks_give_the_logits_of_the_whole_row)
{
    static const size_t chunks[][7] = {{13}, {5, 1, 7}, {1, 12}, {2, 3, 1, 1, 6}, {0, 12, 0, 1}};
    for (size_t i = 0; backend(i); i++)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
            check_chunks(_i, backend(i), chunks[c]);
}

START_TEST(rows_of_different_lengths_do_not_see_each_other)
{
    enum { B = 4, TURNS = 4 };
    static const size_t turn[TURNS][B] = {{3, 1, 0, 5}, {1, 1, 2, 1}, {0, 4, 1, 2}, {6, 1, 0, 1}};
    SharedOptions o = layout(_i);
    for (size_t t = 0; backend(t); t++) {
        Reader r;
        int32_t ids[B][CONTEXT];
        size_t length[B] = {0};
        reader_open(&r, &o, backend(t), B);
        for (uint32_t b = 0; b < B; b++)
            random_ids(ids[b], 20 + b);
        for (size_t n = 0; n < TURNS; n++) {
            Piece pieces[B];
            for (size_t b = 0; b < B; b++)
                pieces[b] = (Piece){ids[b], length[b], length[b] + turn[n][b]};
            double *found = read_pieces(&r, pieces, B, true), *at = found;
            for (size_t b = 0; b < B; b++)
                for (; length[b] < pieces[b].to; length[b]++, at += BYTES)
                    check_position(&r, ids[b], pieces[b].to, length[b], at, rounding_of(backend(t)),
                                   backend(t)->backend);
            memory_free(found);
        }
        reader_close(&r);
    }
}

/* Beams that stay where they are: row 0 continues in row 2, too, and row 3 is as it was. */
START_TEST(a_row_can_be_copied_to_another)
{
    enum { B = 4 };
    static const int32_t length[B] = {5, 2, 5, 3};
    SharedOptions o = layout(_i);
    for (size_t t = 0; backend(t); t++) {
        Reader r;
        int32_t ids[B][CONTEXT];
        Piece pieces[B];
        reader_open(&r, &o, backend(t), B);
        Stream *s = r.t.trainer.worker[0].stream;
        int32_t *device = backend(t)->allocate(sizeof length);
        for (uint32_t b = 0; b < B; b++) {
            random_ids(ids[b], 40 + b);
            pieces[b] = (Piece){ids[b], 0, b == 2 ? 1 : (size_t)length[b]};
        }
        memory_free(read_pieces(&r, pieces, B, true));
        backend(t)->upload(s, device, length, sizeof length);
        cache_copy_row(&r.cache, s, 2, 0, 5);
        cache_rewind(&r.cache, s, device);
        memcpy(ids[2], ids[0], 5 * sizeof *ids[0]); /* after that each goes its own way */
        for (uint32_t b = 0; b < B; b++)
            pieces[b] = (Piece){ids[b], (size_t)length[b], (size_t)length[b] + 1};
        double *found = read_pieces(&r, pieces, B, true);
        for (size_t b = 0; b < B; b++)
            check_position(&r, ids[b], pieces[b].to, pieces[b].from, found + b * BYTES, rounding_of(backend(t)),
                           backend(t)->backend);
        memory_free(found);
        backend(t)->release(device);
        reader_close(&r);
    }
}

/* Two long rows, then four short ones, then two again: each time nothing is left from before. */
START_TEST(the_same_memory_can_be_other_rows)
{
    static const size_t rows[] = {2, 4, 2, 1}, capacities[] = {CONTEXT, CONTEXT / 2, CONTEXT, 3};
    SharedOptions o = layout(_i);
    for (size_t t = 0; backend(t); t++) {
        Reader r;
        reader_open(&r, &o, backend(t), 4);
        for (size_t n = 0; n < 4; n++) {
            int32_t ids[4][CONTEXT];
            Piece pieces[4] = {{ids[0], 0, 0}};
            cache_lay(&r.cache, r.t.trainer.worker[0].stream, rows[n], capacities[n]);
            for (uint32_t b = 0; b < rows[n]; b++) {
                random_ids(ids[b], 50 + 4 * (uint32_t)n + b);
                pieces[b] = (Piece){ids[b], 0, capacities[n] - 1};
            }
            memory_free(read_pieces(&r, pieces, rows[n], true));
            for (size_t b = 0; b < rows[n]; b++)
                pieces[b] = (Piece){ids[b], capacities[n] - 1, capacities[n]};
            double *found = read_pieces(&r, pieces, rows[n], true);
            for (size_t b = 0; b < rows[n]; b++)
                check_position(&r, ids[b], capacities[n], capacities[n] - 1, found + b * BYTES, rounding_of(backend(t)),
                               backend(t)->backend);
            memory_free(found);
        }
        reader_close(&r);
    }
}

START_TEST(a_cache_that_was_reset_remembers_nothing)
{
    SharedOptions o = layout(_i);
    Reader r;
    int32_t ids[2][CONTEXT];
    reader_open(&r, &o, plain_of(NUMBER_F64), 1);
    random_ids(ids[0], 1);
    random_ids(ids[1], 2);
    memory_free(read_pieces(&r, &(Piece){ids[0], 0, 9}, 1, true));
    cache_reset(&r.cache, r.t.trainer.worker[0].stream);
    double *found = read_pieces(&r, &(Piece){ids[1], 0, 4}, 1, true);
    check_position(&r, ids[1], 4, 3, found + 3 * BYTES, 1e-12, "after a reset");
    memory_free(found);
    reader_close(&r);
}

/* Two ways to continue from where the cache once was. */
START_TEST(a_cache_that_was_rewound_goes_on_from_there)
{
    SharedOptions o = layout(_i);
    for (size_t t = 0; backend(t); t++) {
        Reader r;
        int32_t ids[2][CONTEXT];
        reader_open(&r, &o, backend(t), 2);
        Stream *s = r.t.trainer.worker[0].stream;
        int32_t *length = backend(t)->allocate(2 * sizeof *length);
        random_ids(ids[0], 1);
        random_ids(ids[1], 2);
        memory_free(read_pieces(&r, (Piece[]){{ids[0], 0, 6}, {ids[1], 0, 3}}, 2, true));
        backend(t)->copy(s, length, r.cache.length, 2 * sizeof *length);
        memory_free(read_pieces(&r, (Piece[]){{ids[0], 6, 13}, {ids[1], 3, 4}}, 2, true));
        cache_rewind(&r.cache, s, length);
        for (size_t i = 6; i < CONTEXT; i++)
            ids[0][i] = ids[1][i];
        double *found = read_pieces(&r, (Piece[]){{ids[0], 6, 9}, {ids[1], 3, 5}}, 2, true);
        check_position(&r, ids[0], 9, 8, found + 2 * BYTES, rounding_of(backend(t)), "the first row");
        check_position(&r, ids[1], 5, 4, found + 4 * BYTES, rounding_of(backend(t)), "the second row");
        memory_free(found);
        backend(t)->release(length);
        reader_close(&r);
    }
}

START_TEST(fused_and_composed_attention_remember_the_same)
{
    SharedOptions o = layout(_i & ~1);
    double *found[2];
    int32_t ids[CONTEXT];
    o.distances = DISTANCE_NONE, o.alibi_heads = 0, o.sink_score = false; /* composed attention has none of these */
    random_ids(ids, 8);
    for (int composed = 0; composed < 2; composed++) {
        Reader r;
        o.attention = composed;
        reader_open(&r, &o, plain_of(NUMBER_F64), 1);
        memory_free(read_pieces(&r, &(Piece){ids, 0, 6}, 1, true));
        found[composed] = read_pieces(&r, &(Piece){ids, 6, 9}, 1, true);
        reader_close(&r);
    }
    ck_assert_double_le(largest_difference(found[0], found[1], 3 * BYTES), 1e-12);
    memory_free(found[0]);
    memory_free(found[1]);
}

static bool open_cache(void *argument, Error *e)
{
    const Kernels *k = argument;
    Stream *s = NULL;
    Cache c;
    bool fine = k->open(&s, 1, e) && cache_open(&c, k, s, 2, 1, 3, 5, 6, 7, e);
    if (fine) /* what could not be opened needs no closing */
        cache_close(&c);
    if (s)
        k->close(s);
    return fine;
}

START_TEST(a_cache_without_memory_is_an_error_and_leaves_nothing)
{
    fail_each_allocation(open_cache, (void *)plain_of(NUMBER_F32));
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(tokens_one_by_one_give_the_logits_of_the_whole_row, LAYOUTS),
        TEST_LOOP(chunks_give_the_logits_of_the_whole_row, LAYOUTS),
        TEST_LOOP(rows_of_different_lengths_do_not_see_each_other, LAYOUTS),
        TEST_LOOP(a_row_can_be_copied_to_another, LAYOUTS),
        TEST_LOOP(the_same_memory_can_be_other_rows, LAYOUTS),
        TEST_LOOP(a_cache_that_was_reset_remembers_nothing, LAYOUTS),
        TEST_LOOP(a_cache_that_was_rewound_goes_on_from_there, LAYOUTS),
        TEST_LOOP(fused_and_composed_attention_remember_the_same, LAYOUTS),
        TEST(a_cache_without_memory_is_an_error_and_leaves_nothing),
    };
    return suite_run("nn/cache", tests, sizeof tests / sizeof *tests, argc, argv);
}
