/* The block of parameters: what is where, what a block holds, and what happens when memory runs out. */
#include "core/tensor/parameters.h"

#include "base/bf16.h"
#include "base/memory.h"
#include "core/tensor/arena.h"
#include "core/tensor/sites.h"
#include "tests/suite.h"

#include <string.h>

static double ten_times(size_t row, size_t column, size_t columns)
{
    return 10 * (double)row + (double)column + 0.1 * (double)columns;
}

static double ten_times_of(const Parameter *p, size_t row, size_t column)
{
    return ten_times(row, column, p->shape[1]);
}

/* In the order of adding: lookups and constants between dense ones, and two joined groups. */
static bool add_all(Parameters *p, Error *e)
{
    parameters_add(p, ROLE_LOOKUP, 7, 5, "words.weight");
    parameters_add(p, ROLE_TABLE, 3, 5, "tied.weight");
    Parameter *constant = parameters_add(p, ROLE_CONSTANT, 6, 5, "sinusoids");
    for (size_t i = 0; i < 3; i++) {
        Parameter *one = parameters_add(p, ROLE_WEIGHT, 3 + i, 5, "blocks.%zu.%s.weight", i, "query");
        if (one)
            one->joined = i > 0;
    }
    for (size_t i = 0; i < 3; i++) {
        Parameter *one = parameters_add(p, ROLE_BIAS, 3 + i, 0, "blocks.%zu.query.bias", i);
        if (one)
            one->joined = i > 0, one->fan_in = 5;
    }
    parameters_add(p, ROLE_LOOKUP, 2, 5, "segments.weight");
    parameters_add(p, ROLE_GAIN, 5, 0, "norm.weight");
    if (constant)
        constant->constant = ten_times_of;
    return parameters_finish(p, e);
}

static Parameters all(void)
{
    Parameters p = {0};
    Error e;
    ck_done(add_all(&p, &e), e);
    return p;
}

static const Parameter *named(const Parameters *p, const char *name)
{
    const Parameter *one = parameters_find(p, name);
    ck_assert_msg(one, "there is no %s", name);
    return one;
}

START_TEST(names_are_formatted_and_found)
{
    Parameters p = all();
    ck_assert_str_eq(named(&p, "blocks.2.query.weight")->name, "blocks.2.query.weight");
    ck_assert_ptr_null(parameters_find(&p, "blocks.3.query.weight"));
    ck_assert_ptr_null(parameters_find(&p, "blocks"));
    parameters_close(&p);
}

START_TEST(shapes_and_counts_are_those_asked_for)
{
    Parameters p = all();
    const Parameter *table = named(&p, "words.weight"), *bias = named(&p, "blocks.1.query.bias");
    ck_assert(table->rank == 2 && table->shape[0] == 7 && table->shape[1] == 5 && table->count == 35);
    ck_assert(bias->rank == 1 && bias->shape[0] == 4 && bias->count == 4 && table->fan_in == 5);
    ck_assert_uint_eq(p.numbers, 35 + 15 + (15 + 20 + 25) + (3 + 4 + 5) + 10 + 5); /* not the constant */
    ck_assert_uint_eq(parameters_largest(&p), 35);
    parameters_close(&p);
}

START_TEST(dense_parameters_come_first_then_lookups_then_constants)
{
    Parameters p = all();
    for (size_t i = 0; i < p.count; i++) {
        const Parameter *one = p.list[i];
        size_t from = one->role == ROLE_CONSTANT ? p.size : one->role == ROLE_LOOKUP ? p.dense : 0;
        size_t to = one->role == ROLE_CONSTANT ? p.whole : one->role == ROLE_LOOKUP ? p.size : p.dense;
        ck_assert_msg(one->offset >= from && one->offset + one->count <= to, "%s is in the wrong part", one->name);
        for (size_t j = 0; j < i; j++) {
            const Parameter *other = p.list[j];
            ck_assert_msg(one->offset >= other->offset + other->count || other->offset >= one->offset + one->count,
                          "%s and %s overlap", one->name, other->name);
            if ((one->role == ROLE_LOOKUP) == (other->role == ROLE_LOOKUP) && other->role != ROLE_CONSTANT)
                ck_assert_msg(other->offset < one->offset || one->role == ROLE_CONSTANT, "%s is before %s", one->name,
                              other->name);
        }
    }
    parameters_close(&p);
}

START_TEST(joined_parameters_have_no_gap_and_all_others_are_aligned)
{
    Parameters p = all();
    for (size_t i = 0; i < p.count; i++) {
        const Parameter *one = p.list[i];
        if (one->joined)
            ck_assert_uint_eq(one->offset, p.list[i - 1]->offset + p.list[i - 1]->count);
        else
            ck_assert_msg(one->offset * sizeof(float) % ALIGNMENT == 0, "%s is not aligned", one->name);
    }
    ck_assert(p.dense * sizeof(float) % ALIGNMENT == 0 && p.size * sizeof(float) % ALIGNMENT == 0);
    parameters_close(&p);
}

START_TEST(each_dropout_has_a_site_of_its_own_and_the_side_it_was_built_on)
{
    Parameters p = {0};
    Dropout a = parameters_dropout(&p, 0.1), b = parameters_dropout(&p, 0);
    p.side = 1;
    Dropout c = parameters_dropout(&p, 0.3);
    ck_assert(a.site != b.site && b.site != c.site && a.site != c.site && c.site < SITE_INIT);
    ck_assert(a.rate == 0.1 && b.rate == 0 && c.rate == 0.3 && a.side == 0 && b.side == 0 && c.side == 1);
}

/* ---- blocks of numbers */

static const Kernels *table_of(NumberType type)
{
    Error e;
    const Kernels *k = kernels_find("plain", type, &e);
    ck_done(k, e);
    return k;
}

START_TEST(new_weights_are_zero_but_for_the_constants)
{
    Parameters p = all();
    const Kernels *k = table_of((NumberType)_i);
    Stream *s;
    Weights w;
    Error e;
    ck_done(k->open(&s, 1, &e) && weights_open(&w, k, s, &p, &e), e);
    const Parameter *constant = named(&p, "sinusoids");
    for (size_t i = 0; i < p.whole; i++) {
        bool inside = i >= constant->offset && i < constant->offset + constant->count;
        size_t j = i - constant->offset;
        double wanted = inside ? ten_times(j / 5, j % 5, 5) : 0, found = real_at(k, w.reals, i);
        ck_assert_msg(found == (k->real == sizeof(double) ? wanted : (double)(float)wanted), "number %zu is %g", i,
                      found);
    }
    weights_close(&w);
    k->close(s);
    parameters_close(&p);
}

START_TEST(weights_that_are_set_come_back_and_move_no_others)
{
    Parameters p = all();
    const Kernels *k = table_of((NumberType)_i);
    Stream *s;
    Weights w;
    Error e;
    double values[32], back[32];
    ck_done(k->open(&s, 1, &e) && weights_open(&w, k, s, &p, &e), e);
    const Parameter *one = named(&p, "blocks.1.query.weight");
    for (size_t i = 0; i < one->count; i++)
        if (k->real == sizeof(double))
            values[i] = 1.0 / (double)(i + 3);
        else
            ((float *)values)[i] = 1.0f / (float)(i + 3);
    weights_set(&w, s, one, values);
    weights_get(&w, s, one, back);
    ck_assert(memcmp(values, back, one->count * k->real) == 0);
    ck_assert((k->type == NUMBER_BF16) == (w.numbers != w.reals));
    for (size_t i = 0; i < p.size; i++) {
        bool inside = i >= one->offset && i < one->offset + one->count;
        ck_assert(inside == (real_at(k, w.reals, i) != 0));
        if (k->type == NUMBER_BF16) /* the copy that products read */
            ck_assert(((Bf16 *)w.numbers)[i].bits == bf16_from_float((float)real_at(k, w.reals, i)).bits);
    }
    weights_close(&w);
    k->close(s);
    parameters_close(&p);
}

START_TEST(drawing_weights_fills_no_gap_and_no_constant)
{
    Parameters p = all();
    const Kernels *k = table_of((NumberType)_i);
    Stream *s;
    Weights w;
    Error e;
    bool owned[1024] = {0};
    ck_done(k->open(&s, 1, &e) && weights_open(&w, k, s, &p, &e) && weights_init(&w, s, INIT_PYTORCH, 3, 1, &e), e);
    ck_assert(p.whole <= sizeof owned);
    for (size_t i = 0; i < p.count; i++) {
        for (size_t j = 0; j < p.list[i]->count; j++)
            owned[p.list[i]->offset + j] = true;
        if (p.list[i]->role != ROLE_CONSTANT)
            ck_assert_msg(real_at(k, w.reals, p.list[i]->offset) != 0, "%s was not drawn", p.list[i]->name);
    }
    for (size_t i = 0; i < p.whole; i++)
        ck_assert_msg(owned[i] || real_at(k, w.reals, i) == 0, "the gap at %zu holds something", i);
    const Parameter *constant = named(&p, "sinusoids");
    ck_assert_double_eq_tol(real_at(k, w.reals, constant->offset + 7), ten_times(1, 2, 5), 1e-6);
    weights_close(&w);
    k->close(s);
    parameters_close(&p);
}

/* The first number of a parameter that is drawn alone, or with others before it. */
static double drawn(const char *name, size_t others, uint32_t seed)
{
    const Kernels *k = table_of(NUMBER_F64);
    Parameters p = {0};
    Stream *s;
    Weights w;
    Error e;
    for (size_t i = 0; i < others; i++)
        parameters_add(&p, ROLE_WEIGHT, 3, 5, "other.%zu", i);
    const Parameter *one = parameters_add(&p, ROLE_WEIGHT, 3, 5, "%s", name);
    ck_done(parameters_finish(&p, &e) && k->open(&s, 1, &e) && weights_open(&w, k, s, &p, &e) &&
                weights_init(&w, s, INIT_PYTORCH, 3, seed, &e),
            e);
    double first = real_at(k, w.reals, one->offset);
    weights_close(&w);
    k->close(s);
    parameters_close(&p);
    return first;
}

START_TEST(what_is_drawn_depends_on_name_and_seed_alone)
{
    double x = drawn("blocks.1.ff.in.weight", 0, 1);
    for (size_t others = 1; others < 4; others++)
        ck_assert_double_eq(drawn("blocks.1.ff.in.weight", others, 1), x);
    ck_assert(drawn("blocks.1.ff.in.weight", 0, 2) != x);
    ck_assert(drawn("blocks.2.ff.in.weight", 0, 1) != x && drawn("blocks.1.ff.in.weigh", 0, 1) != x);
    ck_assert(drawn("blocks.1.ff.in.weight2", 0, 1) != x && drawn("blocks.1.ff.ni.weight", 0, 1) != x);
}

static bool build(void *argument, Error *e)
{
    const Kernels *k = argument;
    Parameters p = {0};
    Weights w;
    Stream *s = NULL;
    bool fine = k->open(&s, 1, e) && add_all(&p, e) && weights_open(&w, k, s, &p, e);
    if (fine) { /* what could not be opened needs no closing */
        fine = weights_init(&w, s, INIT_XAVIER, 3, 1, e);
        weights_close(&w);
    }
    parameters_close(&p);
    if (s)
        k->close(s);
    return fine;
}

START_TEST(parameters_without_memory_are_an_error_and_leave_nothing)
{
    fail_each_allocation(build, (void *)table_of((NumberType)_i));
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(names_are_formatted_and_found),
        TEST(shapes_and_counts_are_those_asked_for),
        TEST(dense_parameters_come_first_then_lookups_then_constants),
        TEST(joined_parameters_have_no_gap_and_all_others_are_aligned),
        TEST(each_dropout_has_a_site_of_its_own_and_the_side_it_was_built_on),
        TEST_LOOP(new_weights_are_zero_but_for_the_constants, NUMBER_TYPES),
        TEST_LOOP(weights_that_are_set_come_back_and_move_no_others, NUMBER_TYPES),
        TEST_LOOP(drawing_weights_fills_no_gap_and_no_constant, NUMBER_TYPES),
        TEST(what_is_drawn_depends_on_name_and_seed_alone),
        TEST_LOOP(parameters_without_memory_are_an_error_and_leave_nothing, NUMBER_TYPES),
    };
    return suite_run("tensor/parameters", tests, sizeof tests / sizeof *tests, argc, argv);
}
