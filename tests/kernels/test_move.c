/* Numbers that go to another place: columns of a matrix, and rows that become columns. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { Y, X, DX, DY };

typedef struct Move {
    size_t n, d;
    bool turned;
} Move;

static Strided at_stride(const Case *c, void *const *at, size_t index)
{
    return (Strided){at[index], c->tensor[index].stride};
}

static void move(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Move *m = c->shape;
    Strided y = at_stride(c, at, Y), x = at_stride(c, at, X), dx = at_stride(c, at, DX), dy = at_stride(c, at, DY);
    if (m->turned) {
        k->transpose(s, y, false, x, m->n, m->d);
        k->transpose(s, dx, c->add, dy, m->d, m->n);
    } else {
        k->move(s, y, false, x, m->n, m->d);
        k->move(s, dx, c->add, dy, m->n, m->d);
    }
}

/* Each matrix is a part of the columns of a wider one. */
static Case move_sized(const Move *m, uint32_t seed)
{
    Case c = case_new(move, m, seed);
    size_t rows = m->turned ? m->d : m->n, columns = m->turned ? m->n : m->d;
    snprintf(c.words, sizeof c.words, "%s of %d by %d", m->turned ? "transpose" : "move", (int)m->n, (int)m->d);
    tensor_strided(&c, Y, "y", NUMBERS, WRITTEN, rows, columns, columns + below(&c.random, 9))->weight = DY;
    tensor_strided(&c, X, "x", NUMBERS, READ, m->n, m->d, m->d + below(&c.random, 9));
    gradient(&c, DX, "dx", NUMBERS, GRADIENT, X)->floor = 1;
    tensor_strided(&c, DY, "dy", NUMBERS, READ, rows, columns, columns + below(&c.random, 9));
    return c;
}

static Case move_case(Move *m, uint32_t seed)
{
    static const size_t sizes[][2] = {{0, 3}, {3, 0},  {1, 1},   {1, 40},  {40, 1}, {16, 16}, {17, 15}, {15, 33},
                                      {8, 8}, {32, 7}, {33, 64}, {3, 200}, {5, 9},  {200, 3}, {16, 48}, {70, 70}};
    size_t which = seed / 4 % (sizeof sizes / sizeof *sizes);
    *m = (Move){sizes[which][0], sizes[which][1], seed / 2 % 2};
    return move_sized(m, seed);
}

enum { CASES = 64 };

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Move m;
    case_ask(case_agrees, move_case(&m, (uint32_t)_i));
}

START_TEST(gradients_are_slopes_and_are_added_where_asked)
{
    SKIP_IF_FAST(_i);
    Move m;
    Case c = move_case(&m, (uint32_t)_i);
    case_differentiates(&c);
    case_ask(case_adds, c);
}

/* What is moved is not computed with: all numbers arrive, whatever they are. */
START_TEST(each_number_arrives_where_it_belongs_to_the_bit)
{
    static const double special[] = {NAN, -0.0, INFINITY, -INFINITY, 0x1p-130, 3e38, 1.0};
    Move m;
    Case c = move_case(&m, (uint32_t)_i);
    Random r = {.seed = (uint32_t)_i};
    for (size_t i = 0; i < m.n; i++)
        for (size_t j = 0; j < m.d; j++)
            if (chance(&r, 0.3))
                *element(&c.tensor[X], i, j) = special[below(&r, sizeof special / sizeof *special)];
    EACH_BACKEND(result, &c) {
        int wrong = 0;
        for (size_t i = 0; i < m.n; i++)
            for (size_t j = 0; j < m.d; j++) {
                double x = result_at(&c, &result, X, i, j);
                double y = m.turned ? result_at(&c, &result, Y, j, i) : result_at(&c, &result, Y, i, j);
                wrong += !(isnan(x) ? isnan(y) : x == y && !signbit(x) == !signbit(y));
            }
        ck_assert_msg(wrong == 0, "%s %s, %s: %d numbers are wrong", result.k->backend,
                      number_type_name(result.k->type), c.words, wrong);
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, CASES),
                                 TEST_LOOP(gradients_are_slopes_and_are_added_where_asked, CASES),
                                 TEST_LOOP(each_number_arrives_where_it_belongs_to_the_bit, CASES)};
    return suite_run("kernels/move", tests, sizeof tests / sizeof *tests, argc, argv);
}
