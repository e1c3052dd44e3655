/* Linear maps in whole numbers of 8 bits, on each backend that has them. */
#include "kernels/cpu/level.h"
#include "kernels/plain/plain.h"
#include "tests/chance.h"
#include "tests/suite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 17 };

typedef struct Map {
    size_t n, in, out, team;
    bool relu, bias, held;
} Map;

static float x[MOST], w[MOST], bias[1024], y[MOST], want[MOST];

static Map map_of(uint32_t seed)
{
    static const size_t sizes[][3] = {{0, 3, 5},     {1, 1, 1},     {3, 5, 0},    {1, 64, 64},
                                      {12, 128, 32}, {13, 129, 33}, {7, 2, 100},  {40, 3, 31},
                                      {100, 512, 7}, {2, 1000, 65}, {29, 63, 200}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    Random r = {.seed = seed};
    Map m = {.n = below(&r, 40), .in = 1 + below(&r, 200), .out = 1 + below(&r, 130)};
    if (seed < SIZES)
        m.n = sizes[seed][0], m.in = sizes[seed][1], m.out = sizes[seed][2];
    m.relu = chance(&r, 0.4), m.bias = chance(&r, 0.6), m.held = chance(&r, 0.5);
    m.team = 1 + below(&r, 3);
    for (size_t i = 0; i < m.n * m.in; i++)
        x[i] = (float)(uniform(&r) * (i / m.in % 3 == 1 ? 1e3 : 1));
    for (size_t i = 0; i < m.out * m.in; i++)
        w[i] = (float)(uniform(&r) * (i / m.in % 5 == 2 ? 1e-4 : 1));
    for (size_t i = 0; i < m.out; i++)
        bias[i] = (float)uniform(&r);
    return m;
}

static void run(const Kernels *k, const Map *m, float *to)
{
    Stream *s;
    Error e;
    ck_assert_msg(k->open(&s, m->team, &e), "%s", e.text);
    memset(to, 0x55, (m->n * m->out + 8) * sizeof *to);
    if (m->held && k->hold) { /* what was kept serves again, for other rows too */
        k->hold(s, w, m->in * m->out * sizeof *w);
        k->linear_int8(s, to, false, x, w, m->bias ? bias : NULL, m->relu, m->n / 2, m->in, m->out);
    }
    k->linear_int8(s, to, false, x, w, m->bias ? bias : NULL, m->relu, m->n, m->in, m->out);
    ck_assert_msg(k->finish(s, &e), "%s", e.text);
    k->close(s);
}

static double largest(const float *row, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)row[i]));
    return most;
}

/* Each number is off by half a step at most, so a product by half a step of one times the other, and a little. */
START_TEST(the_formula_is_as_near_to_the_product_as_rounding_allows)
{
    const Map m = map_of((uint32_t)_i);
    run(&plain_f32, &m, y);
    for (size_t i = 0; i < m.n; i++)
        for (size_t o = 0; o < m.out; o++) {
            double sum = m.bias ? (double)bias[o] : 0, sizes = 0;
            const double step_x = largest(x + i * m.in, m.in) / 127, step_w = largest(w + o * m.in, m.in) / 127;
            for (size_t j = 0; j < m.in; j++) {
                sum += (double)x[i * m.in + j] * (double)w[o * m.in + j];
                sizes += step_w * fabs((double)x[i * m.in + j]) + step_x * fabs((double)w[o * m.in + j]);
            }
            const double bound = sizes / 2 + (double)m.in * step_x * step_w / 4 + 1e-4 * fabs(sum) + 1e-6;
            sum = m.relu && sum < 0 ? 0 : sum;
            ck_assert_msg(fabs((double)y[i * m.out + o] - sum) <= bound, "row %zu, column %zu: %g, not %g", i, o,
                          (double)y[i * m.out + o], sum);
        }
}

static void expect(const char *name, const Map *m)
{
    for (size_t at = 0; at < m->n * m->out; at++) {
        const double a = (double)y[at], b = (double)want[at];
        const double size = fabs(b) +
                            (m->bias ? fabs((double)bias[at % m->out]) + fabs(b - (double)bias[at % m->out]) : 0);
        ck_assert_msg(isnan(b) ? isnan(a) : fabs(a - b) <= 4e-7 * size,
                      "%s, %zu x %zu x %zu%s: row %zu, column %zu: %.9g, not %.9g", name, m->n, m->in, m->out,
                      m->held ? ", held" : "", at / m->out, at % m->out, a, b);
    }
    for (size_t at = m->n * m->out; at < m->n * m->out + 8; at++)
        ck_assert_msg(!memcmp(&y[at], "\x55\x55\x55\x55", 4), "%s writes behind its result", name);
}

START_TEST(each_level_computes_the_formula)
{
    const Map m = map_of((uint32_t)_i);
    run(&plain_f32, &m, want);
    for (const CpuLevel *l = cpu_levels; l->name && !cpu_lacks(l); l++) {
        run(l->f32, &m, y);
        expect(l->name, &m);
    }
}

/* NaN and infinity show in their row or column, and nowhere else; rows of zeros and of nearly nothing are zeros, huge
 * ones are no different from others. */
START_TEST(what_is_not_finite_shows_where_it_is)
{
    Map m = map_of(5);
    m.relu = _i, m.held = !_i;
    x[2 * m.in + 5] = NAN;
    x[3 * m.in + 6] = -INFINITY;
    w[4 * m.in] = INFINITY;
    for (size_t j = 0; j < m.in; j++) {
        x[5 * m.in + j] = 0;
        x[6 * m.in + j] = 1e-38f;
        x[7 * m.in + j] *= 3e37f / (float)largest(x + 7 * m.in, m.in);
        w[6 * m.in + j] = -0.0f;
    }
    run(&plain_f32, &m, want);
    for (size_t at = 0; at < m.n * m.out; at++) {
        const size_t i = at / m.out, o = at % m.out;
        ck_assert_int_eq(isnan(want[at]), i == 2 || i == 3 || o == 4);
        if ((i == 5 || i == 6) && o != 4)
            ck_assert(want[at] == (m.bias ? (m.relu && bias[o] < 0 ? 0 : bias[o]) : 0));
    }
    for (const CpuLevel *l = cpu_levels; l->name && !cpu_lacks(l); l++) {
        run(l->f32, &m, y);
        expect(l->name, &m);
    }
}

/* To the bit, because sums are exact. */
START_TEST(neither_the_team_nor_other_rows_change_a_row)
{
    Map m = map_of(9), one = m;
    m.team = 1, one.team = 3;
    const Kernels *k = cpu_level(NULL)->f32;
    run(k, &m, want);
    run(k, &one, y);
    ck_assert(!memcmp(y, want, m.n * m.out * sizeof *y));
    one.n = 1;
    run(k, &one, y);
    ck_assert(!memcmp(y, want, m.out * sizeof *y));
}

START_TEST(rows_that_are_too_long_for_whole_sums_are_not_rounded)
{
    const Map m = {.n = 1, .in = INT8_MOST + 1, .out = 1, .team = 1};
    for (size_t j = 0; j < m.in; j++)
        x[j] = w[j] = 1 / 3.f;
    run(&plain_f32, &m, want);
    run(cpu_level(NULL)->f32, &m, y);
    ck_assert(fabsf(want[0] - (float)m.in / 9) < 0.2f && fabsf(y[0] - want[0]) < 0.2f);
    for (size_t j = 0; j < m.in; j++)
        x[j] = w[j] = j % 2 ? 0.5f : 0.501f; /* which rounding would change */
    run(&plain_f32, &m, want);
    ck_assert(fabsf(want[0] - (float)m.in * 0.2505005f) < 0.5f);
}

START_TEST(int8_is_f32_with_another_linear_map_where_there_is_one)
{
    Error e;
    const Kernels *cpu = kernels_find("cpu", NUMBER_INT8, &e), *plain = kernels_find("plain", NUMBER_INT8, &e);
    ck_assert(cpu && plain && cpu != plain);
    ck_assert(cpu->type == NUMBER_INT8 && cpu->number == 4 && cpu->linear_forward == cpu->linear_int8);
    ck_assert(kernels_find("cpu", NUMBER_F32, &e)->linear_forward != cpu->linear_forward);
    ck_assert_str_eq(number_type_name(NUMBER_INT8), "int8");
    static const char *const others[] = {"emulated", "mine", "cuda", "nothing"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(!kernels_find(others[i], NUMBER_INT8, &e));
        ck_assert_msg(strstr(e.text, others[i]), "%s", e.text);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(the_formula_is_as_near_to_the_product_as_rounding_allows, 30),
        TEST_LOOP(each_level_computes_the_formula, 60),
        TEST_LOOP(what_is_not_finite_shows_where_it_is, 2),
        TEST(neither_the_team_nor_other_rows_change_a_row),
        TEST(rows_that_are_too_long_for_whole_sums_are_not_rounded),
        TEST(int8_is_f32_with_another_linear_map_where_there_is_one),
    };
    return suite_run("kernels/int8", tests, sizeof tests / sizeof *tests, argc, argv);
}
