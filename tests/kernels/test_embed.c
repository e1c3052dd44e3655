/* Embedding: looked-up vectors, positions, dropout. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { Y, IDS, SLOTS, POSITION, TABLE, POSITIONS, DTABLE, DPOSITIONS, DY };

typedef struct Embed {
    size_t n, d, vocabulary, places;
    double scale;
    Dropout drop;
} Embed;

static void embed(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Embed *e = c->shape;
    k->embed_forward(s, at[Y], at[IDS], at[POSITION], at[TABLE], at[POSITIONS], e->scale, e->drop, state, e->n, e->d);
    k->embed_backward(s, at[DTABLE], at[DPOSITIONS], at[DY], at[SLOTS], at[POSITION], e->scale, e->drop, state, e->n,
                      e->d);
}

/* Rows of up to `places` tokens; the last positions belong to no row, and for odd seeds some between others. */
static Case embed_sized(Embed *e, uint32_t seed, bool positions)
{
    Case c = case_new(embed, e, seed);
    snprintf(c.words, sizeof c.words, "n %d d %d V %d%s rate %g", (int)e->n, (int)e->d, (int)e->vocabulary,
             positions ? " positions" : "", e->drop.rate);
    Tensor *y = tensor(&c, Y, "y", NUMBERS, WRITTEN, e->n, e->d);
    Tensor *ids = tensor(&c, IDS, "ids", INTEGERS, READ, e->n, 1);
    Tensor *slots = tensor(&c, SLOTS, "slots", INTEGERS, READ, e->n, 1);
    Tensor *position = tensor(&c, POSITION, "position", INTEGERS, READ, e->n, 1);
    tensor(&c, TABLE, "table", REALS, READ, e->vocabulary, e->d);
    tensor(&c, POSITIONS, "positions", REALS, positions ? READ : ABSENT, e->places, e->d);
    Tensor *dtable = gradient(&c, DTABLE, "dtable", REALS, ADDED, TABLE);
    Tensor *dpositions = gradient(&c, DPOSITIONS, "dpositions", REALS, positions ? ADDED : ABSENT, POSITIONS);
    output(&c, Y, DY);
    size_t at = 0, spare = e->n ? below(&c.random, e->n / 4 + 1) : 0;
    for (size_t i = 0; i < e->n; i++) {
        at = at + 1 < e->places && chance(&c.random, 0.8) ? at + 1 : 0;
        *element(position, i, 0) = i + spare < e->n && (seed % 2 == 0 || i % 5 != 3) ? (double)at : -1;
        *element(ids, i, 0) = *element(slots, i, 0) = (double)below(&c.random, e->vocabulary);
    }
    dpositions->optional = true;
    dtable->terms = dpositions->terms = e->n;
    y->floor = dtable->floor = dpositions->floor = 1;
    return c;
}

static Case embed_case(Embed *e, uint32_t seed)
{
    static const size_t sizes[][4] = {{0, 3, 5, 4},     {1, 1, 1, 1},        {9, 1, 2, 3},      {40, 65, 7, 11},
                                      {3, 300, 256, 2}, {700, 3, 5000, 300}, {90, 2, 70000, 3}, {450, 37, 2, 3}};
    Random random = {.seed = seed + 1000};
    if (seed < sizeof sizes / sizeof *sizes)
        *e = (Embed){.n = sizes[seed][0], .d = sizes[seed][1], .vocabulary = sizes[seed][2], .places = sizes[seed][3]};
    else
        *e = (Embed){below(&random, 30), 1 + below(&random, 20), 1 + below(&random, 9), 1 + below(&random, 8), 0,
                     {0, 0, 0}};
    e->scale = chance(&random, 0.5) ? 1 : sqrt((double)e->d);
    e->drop = (Dropout){.rate = chance(&random, 0.5) ? 0 : 0.3, .site = 4, .side = seed % SIDES};
    return embed_sized(e, seed, chance(&random, 0.6));
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Embed e;
    case_ask(case_agrees, embed_case(&e, (uint32_t)_i));
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Embed e;
    case_ask(case_differentiates, embed_case(&e, (uint32_t)_i));
}

START_TEST(gradients_are_added)
{
    Embed e;
    case_ask(case_adds, embed_case(&e, (uint32_t)_i));
}

START_TEST(the_gradient_of_positions_need_not_be_wanted)
{
    Embed e = {.n = 8, .d = 5, .vocabulary = 3, .places = 4, .scale = 2};
    case_ask(case_spares, embed_sized(&e, 2, true));
}

START_TEST(y_is_the_scaled_vector_plus_its_position)
{
    Embed e = {.n = 30, .d = 5, .vocabulary = 7, .places = 6, .scale = 3};
    Case c = embed_sized(&e, 5, true);
    *element(&c.tensor[POSITION], 29, 0) = -1;
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < e.n; i++)
        for (size_t j = 0; j < e.d; j++) {
            double at = *element(&c.tensor[POSITION], i, 0), id = *element(&c.tensor[IDS], i, 0);
            double y = at < 0 ? 0
                              : 3 * *element(&c.tensor[TABLE], (size_t)id, j) +
                                    *element(&c.tensor[POSITIONS], (size_t)at, j);
            ck_assert_double_eq_tol(result_at(&c, &r, Y, i, j), y, 1e-15);
        }
    result_free(&r);
    case_free(&c);
}

START_TEST(positions_of_no_row_give_zeros_and_no_gradient)
{
    Embed e = {.n = 12, .d = 6, .vocabulary = 4, .places = 5, .scale = 1, .drop = {.rate = _i ? 0.5 : 0, .site = 1}};
    Case c = embed_sized(&e, 3, true);
    for (size_t i = 0; i < e.n; i++)
        *element(&c.tensor[POSITION], i, 0) = -1;
    c.tensor[DTABLE].use = c.tensor[DPOSITIONS].use = READ;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < e.n; i++)
            for (size_t j = 0; j < e.d; j++)
                ck_assert(result_at(&c, &r, Y, i, j) == 0);
    }
    case_free(&c);
}

/* A gradient that holds only the rows of a table that were used: slots are ranks among the ids. */
START_TEST(slots_choose_where_the_gradient_of_a_token_goes)
{
    Embed e = {.n = 20, .d = 5, .vocabulary = 50, .places = 4, .scale = 1.5, .drop = {.rate = 0.25, .site = 1}};
    Case c = embed_sized(&e, 8, false), sparse = embed_sized(&e, 8, false);
    for (size_t i = 0; i < e.n; i++) {
        double id = *element(&c.tensor[IDS], i, 0) / 2; /* ranks among all ids, even ones and odd ones together */
        *element(&sparse.tensor[SLOTS], i, 0) = *element(&c.tensor[SLOTS], i, 0) = floor(id);
        *element(&c.tensor[IDS], i, 0) = *element(&sparse.tensor[IDS], i, 0) = floor(id);
    }
    for (size_t i = 0; i < e.n; i++)
        *element(&sparse.tensor[SLOTS], i, 0) = 24 - *element(&c.tensor[SLOTS], i, 0);
    tensor_fill(&c.tensor[DTABLE], 0);
    tensor_fill(&sparse.tensor[DTABLE], 0);
    for (size_t k = 0; backend(k); k++) {
        Result a = case_run(&c, backend(k), backend(k)->type), b = case_run(&sparse, backend(k), backend(k)->type);
        for (size_t slot = 0; slot < 25; slot++)
            for (size_t j = 0; j < e.d; j++)
                ck_assert(result_at(&c, &a, DTABLE, slot, j) == result_at(&sparse, &b, DTABLE, 24 - slot, j));
        same_bits(&c, Y, &a, &b);
        result_free(&a);
        result_free(&b);
    }
    case_free(&c);
    case_free(&sparse);
}

/* The tokens `from` .. `from + n - 1` of a case, as a micro-batch of their own. */
static Case micro_batch(const Case *all, Embed *part, size_t from, size_t n)
{
    *part = *(const Embed *)all->shape;
    part->n = n;
    Case c = embed_sized(part, all->random.seed, true);
    static const int sliced[] = {IDS, SLOTS, POSITION, DY}, whole[] = {TABLE, POSITIONS};
    for (size_t k = 0; k < sizeof sliced / sizeof *sliced; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < c.tensor[sliced[k]].columns; j++)
                *element(&c.tensor[sliced[k]], i, j) = *element(&all->tensor[sliced[k]], from + i, j);
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        for (size_t i = 0; i < c.tensor[whole[k]].rows; i++)
            for (size_t j = 0; j < part->d; j++)
                *element(&c.tensor[whole[k]], i, j) = *element(&all->tensor[whole[k]], i, j);
    tensor_fill(&c.tensor[DTABLE], 0);
    c.state.first_position[part->drop.side] += (uint32_t)from;
    return c;
}

START_TEST(a_split_batch_gives_the_same_bits)
{
    Embed e = {.n = 24, .d = 7, .vocabulary = 9, .places = 5, .scale = 2, .drop = {.rate = 0.4, .site = 2, .side = 1}},
          part[2];
    const size_t cut = 1 + 5 * (size_t)_i;
    Case c = embed_sized(&e, 7, true);
    tensor_fill(&c.tensor[DTABLE], 0);
    Case split[] = {micro_batch(&c, &part[0], 0, cut), micro_batch(&c, &part[1], cut, e.n - cut)};
    for (size_t k = 0; backend(k); k++) {
        NumberType type = backend(k)->type;
        Result r = case_run(&c, backend(k), type);
        Result parts[] = {case_run(&split[0], backend(k), type), case_run(&split[1], backend(k), type)};
        for (size_t i = 0; i < e.n; i++)
            for (size_t j = 0; j < e.d; j++)
                ck_assert(result_at(&c, &r, Y, i, j) == (i < cut ? result_at(&split[0], &parts[0], Y, i, j)
                                                                 : result_at(&split[1], &parts[1], Y, i - cut, j)));
        for (size_t i = 0; i < e.vocabulary; i++)
            for (size_t j = 0; j < e.d; j++)
                ck_assert_double_eq_tol(result_at(&c, &r, DTABLE, i, j),
                                        result_at(&split[0], &parts[0], DTABLE, i, j) +
                                            result_at(&split[1], &parts[1], DTABLE, i, j),
                                        1e-5);
        result_free(&r);
        result_free(&parts[0]);
        result_free(&parts[1]);
    }
    case_free(&c);
    case_free(&split[0]);
    case_free(&split[1]);
}

START_TEST(a_vector_that_is_not_a_number_shows_where_it_is_used_only)
{
    Embed e = {.n = 24, .d = 7, .vocabulary = 3, .places = 5, .scale = 1};
    Case c = embed_sized(&e, 6, true);
    *element(&c.tensor[TABLE], 1, 4) = NAN;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < e.n; i++)
            for (size_t j = 0; j < e.d; j++)
                ck_assert_int_eq(isnan(result_at(&c, &r, Y, i, j)), j == 4 && *element(&c.tensor[IDS], i, 0) == 1 &&
                                                                        *element(&c.tensor[POSITION], i, 0) >= 0);
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 40),
                                 TEST_LOOP(gradients_are_slopes, 16),
                                 TEST_LOOP(gradients_are_added, 8),
                                 TEST(the_gradient_of_positions_need_not_be_wanted),
                                 TEST(y_is_the_scaled_vector_plus_its_position),
                                 TEST_LOOP(positions_of_no_row_give_zeros_and_no_gradient, 2),
                                 TEST(slots_choose_where_the_gradient_of_a_token_goes),
                                 TEST_LOOP(a_split_batch_gives_the_same_bits, 4),
                                 TEST(a_vector_that_is_not_a_number_shows_where_it_is_used_only)};
    return suite_run("kernels/embed", tests, sizeof tests / sizeof *tests, argc, argv);
}
