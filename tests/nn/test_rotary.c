/* Rotary positions: each pair of numbers of a head is rotated by its angle, so that products know distances alone. */
#include "core/nn/rotary.h"
#include "tests/trainer_fixture.h"

#include <math.h>
#include <string.h>

enum { HEADS = 3, SIZE = 6, CONTEXT = 9, N = 7 };

static const int32_t position[N] = {0, 1, 5, -1, 8, 2, 6};

typedef struct Rotated {
    double x[N][HEADS * SIZE], y[N][HEADS * SIZE];
} Rotated;

/* Numbers of a wider tensor, as queries are. */
static void rotate_numbers(Rotated *r, const RotaryOptions *o)
{
    const Kernels *k = plain_of(NUMBER_F64);
    Parameters p = {0};
    Weights w;
    Stream *s;
    Tape t;
    Error e;
    Rotary rotary = rotary_new(&p, o, SIZE, "attention");
    ck_done(parameters_finish(&p, &e) && k->open(&s, 1, &e) && weights_open(&w, k, s, &p, &e) &&
                tape_open(&t, k, s, &w, &(TapePlan){1 << 20, 0, 1 << 16}, &e),
            e);
    Tensor *both = tape_tensor(&t, N, HEADS * SIZE + 2, false, false), *parts[2];
    tape_split(&t, both, parts, (size_t[]){2, HEADS * SIZE}, 2);
    for (size_t i = 0; i < N; i++)
        memcpy((double *)parts[1]->data + i * parts[1]->stride, r->x[i], sizeof r->x[i]);
    memcpy(r->y, rotate(&t, &rotary, parts[1], (RowPositions){position, N, NULL})->data, sizeof r->y);
    tape_close(&t);
    weights_close(&w);
    k->close(s);
    parameters_close(&p);
}

START_TEST(pairs_of_a_head_are_rotated_by_their_angles)
{
    /* NTK: the slowest pair, of number 2 of 3, turns as slowly as with linear stretching, the fastest as without any. */
    static const struct {
        RotaryOptions o;
        size_t rotated;
        double base, stretch;
    } cases[] = {{{.context = CONTEXT}, SIZE, 10000, 1},
                 {{.context = CONTEXT, .base = 500, .share = 0.7, .stretch = 3}, 4, 500, 3},
                 {{.context = CONTEXT, .stretch = 8, .ntk = true}, SIZE, 10000 * 22.627416997969522, 1},
                 {{.context = CONTEXT, .share = 0.1}, 2, 10000, 1},
                 {{.context = CONTEXT, .base = 1}, SIZE, 1, 1}};
    Rotated r;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < HEADS * SIZE; c++)
            r.x[i][c] = sin((double)(i * 31 + c * 7 + 1));
    rotate_numbers(&r, &cases[_i].o);
    const size_t rotated = cases[_i].rotated;
    for (size_t i = 0; i < N; i++)
        for (size_t h = 0; h < HEADS; h++) {
            const double *x = r.x[i] + h * SIZE, *y = r.y[i] + h * SIZE, there = position[i] >= 0;
            for (size_t pair = 0; pair < rotated / 2; pair++) {
                size_t second = pair + rotated / 2;
                double angle = position[i] / cases[_i].stretch /
                               pow(cases[_i].base, 2.0 * (double)pair / (double)rotated);
                ck_assert_double_eq_tol(y[pair], there * (x[pair] * cos(angle) - x[second] * sin(angle)), 1e-14);
                ck_assert_double_eq_tol(y[second], there * (x[pair] * sin(angle) + x[second] * cos(angle)), 1e-14);
            }
            for (size_t c = rotated; c < SIZE; c++)
                ck_assert_double_eq_tol(y[c], there * x[c], 1e-14);
        }
}

/* Positions 1 and 5 are as far apart as 2 and 6. */
START_TEST(a_product_depends_on_the_distance_alone)
{
    Rotated r;
    double near = 0, far = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < HEADS * SIZE; c++)
            r.x[i][c] = i == 1 || i == 5 ? sin((double)(c + 1)) : cos((double)(c * c));
    rotate_numbers(&r, &(RotaryOptions){.context = CONTEXT});
    for (size_t c = 0; c < SIZE; c++)
        near += r.y[1][c] * r.y[2][c], far += r.y[5][c] * r.y[6][c];
    ck_assert_double_eq_tol(near, far, 1e-14);
    ck_assert_double_gt(fabs(r.y[1][0] - r.y[5][0]), 1e-3);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(pairs_of_a_head_are_rotated_by_their_angles, 5),
                                 TEST(a_product_depends_on_the_distance_alone)};
    return suite_run("nn/rotary", tests, sizeof tests / sizeof *tests, argc, argv);
}
