/* Cross-attention over a memory that is computed once and remembered, and that several rows of queries may share. */
#include "base/memory.h"
#include "base/philox.h"
#include "tests/nn/networks.h"

#include <string.h>

enum { D = 12, WORDS = 20, MEMORIES = 3, CAPACITY = 7, BEAMS = 5, MOST = BEAMS * CAPACITY };

/* The parts, and rows that are on the host (which is the device here). */
typedef struct Stage {
    const Kernels *k;
    Stream *stream;
    Parameters parameters;
    Embedding words;
    Attention cross;
    Weights weights;
    Tape tape;
    Cache cache;
} Stage;

typedef struct RowsHere {
    int32_t ids[MOST], position[MOST], start[BEAMS + 1];
    Rows rows;
} RowsHere;

/* Row b is ids of row which[b] (NULL: b): equal numbers give equal rows. */
static void fill(RowsHere *r, const size_t *lengths, const int32_t *which, size_t count, uint32_t seed)
{
    size_t n = 0, longest = 0;
    for (size_t b = 0; b < count; b++) {
        size_t row = which ? (size_t)which[b] : b, length = lengths[row];
        r->start[b] = (int32_t)n;
        for (size_t i = 0; i < length; i++, n++) {
            r->ids[n] = (int32_t)philox_below(WORDS, seed, (uint32_t)row, i, 1);
            r->position[n] = (int32_t)i;
        }
        longest = length > longest ? length : longest;
    }
    r->start[count] = (int32_t)n;
    r->rows = (Rows){
        .positions = n, .rows = count, .longest = longest, .ids = r->ids, .position = r->position, .start = r->start};
}

static void stage_open(Stage *s, const Kernels *k, bool composed)
{
    Error e;
    const TapePlan plan = {1 << 20, 0, 1 << 16};
    const EmbeddingOptions words = {.vocabulary = WORDS, .dim = D, .scale = 1};
    const AttentionOptions cross = {D, 6, 5, 2, .kv_heads = 3, .bias = true, .cross = true, .composed = composed};
    *s = (Stage){.k = k};
    s->words = embedding_new(&s->parameters, &words, "words", "");
    s->cross = attention_new(&s->parameters, &cross, "cross");
    ck_done(parameters_finish(&s->parameters, &e) && k->open(&s->stream, 1, &e) &&
                weights_open(&s->weights, k, s->stream, &s->parameters, &e) &&
                weights_init(&s->weights, s->stream, INIT_PYTORCH, 1, 3, &e) &&
                tape_open(&s->tape, k, s->stream, &s->weights, &plan, &e) &&
                cache_open(&s->cache, k, s->stream, 1, k->by_head && !composed ? 3 : 1, MEMORIES, CAPACITY, 3 * 5,
                           3 * 2, &e),
            e);
    ck_assert(k->on_host);
}

static void stage_close(Stage *s)
{
    cache_close(&s->cache);
    tape_close(&s->tape);
    weights_close(&s->weights);
    s->k->close(s->stream);
    parameters_close(&s->parameters);
}

static void check_same(const Tensor *found, const Tensor *wanted, const Kernels *k)
{
    double most = k->real == sizeof(double) ? 1e-14 : 1e-6;
    ck_assert(found->rows == wanted->rows && found->columns == wanted->columns);
    for (size_t i = 0; i < found->rows * found->columns; i++) {
        double a = real_at(k, found->data, i), b = real_at(k, wanted->data, i);
        ck_assert_msg(a - b <= most && b - a <= most, "%s: number %zu is %g, not %g", k->backend, i, a, b);
    }
}

/* Queries over what was remembered, against queries over memory written out for each of them. */
static void check_remembered(const Kernels *k, bool composed, const size_t *lengths, const int32_t *key_row,
                             size_t rows)
{
    static const size_t query_lengths[BEAMS] = {2, 1, 4, 0, 3};
    Stage s;
    RowsHere memory, copies, queries;
    stage_open(&s, k, composed);
    fill(&memory, lengths, NULL, MEMORIES, 1);
    fill(&copies, lengths, key_row, rows, 1);
    fill(&queries, query_lengths, NULL, rows, 2);

    cache_begin(&s.cache, s.stream, memory.rows.start, MEMORIES);
    attention_remember(&s.tape, &s.cross, embed(&s.tape, &s.words, &memory.rows), &memory.rows,
                       cache_layer(&s.cache, 0));
    cache_end(&s.cache, s.stream, MEMORIES);
    tape_reset(&s.tape);

    Tensor *x = embed(&s.tape, &s.words, &queries.rows), *written = embed(&s.tape, &s.words, &copies.rows);
    ck_assert(!x->real && !written->real);
    Attend across = attend_across(&queries.rows, &copies.rows);
    Attend remembered = attend_remembered(&queries.rows, &s.cache, key_row);
    Tensor *wanted = multihead(&s.tape, &s.cross, x, written, &across, NULL, (RowPositions){0});
    for (size_t twice = 0; twice < 2; twice++) /* reading changes nothing */
        check_same(multihead(&s.tape, &s.cross, x, NULL, &remembered, cache_layer(&s.cache, 0), (RowPositions){0}),
                   wanted, k);
    stage_close(&s);
}

static const Kernels *backend(size_t i) { return i ? backend_of(NUMBER_F32, i - 1) : plain_of(NUMBER_F64); }

START_TEST(a_memory_that_is_remembered_gives_what_the_memory_gives)
{
    static const size_t lengths[][MEMORIES] = {{4, 7, 2}, {1, 0, 7}};
    for (size_t i = 0; backend(i); i++)
        for (size_t n = 0; n < 2; n++)
            check_remembered(backend(i), _i, lengths[n], NULL, MEMORIES);
}

START_TEST(rows_of_queries_share_a_row_of_memory)
{
    static const size_t lengths[MEMORIES] = {4, 7, 2};
    static const int32_t rows[][BEAMS] = {{0, 0, 1, 2, 2}, {2, 2, 2, 2, 2}, {2, 1, 0, 1, 2}};
    for (size_t i = 0; backend(i); i++)
        for (size_t n = 0; n < 3; n++)
            check_remembered(backend(i), _i, lengths, rows[n], BEAMS);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(a_memory_that_is_remembered_gives_what_the_memory_gives, 2),
        TEST_LOOP(rows_of_queries_share_a_row_of_memory, 2),
    };
    return suite_run("nn/cross", tests, sizeof tests / sizeof *tests, argc, argv);
}
