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
static void rotate_numbers(Rotated *r)
{
    const Kernels *k = plain_of(NUMBER_F64);
    Parameters p = {0};
    Weights w;
    Stream *s;
    Tape t;
    Error e;
    Rotary rotary = rotary_new(&p, CONTEXT, SIZE, "attention");
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
    Rotated r;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < HEADS * SIZE; c++)
            r.x[i][c] = sin((double)(i * 31 + c * 7 + 1));
    rotate_numbers(&r);
    for (size_t i = 0; i < N; i++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t pair = 0; pair < SIZE / 2; pair++) {
                size_t first = h * SIZE + pair, second = first + SIZE / 2;
                double angle = position[i] / pow(10000, 2.0 * (double)pair / SIZE), there = position[i] >= 0;
                double a = there * (r.x[i][first] * cos(angle) - r.x[i][second] * sin(angle)),
                       b = there * (r.x[i][first] * sin(angle) + r.x[i][second] * cos(angle));
                ck_assert_double_eq_tol(r.y[i][first], a, 1e-14);
                ck_assert_double_eq_tol(r.y[i][second], b, 1e-14);
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
    rotate_numbers(&r);
    for (size_t c = 0; c < SIZE; c++)
        near += r.y[1][c] * r.y[2][c], far += r.y[5][c] * r.y[6][c];
    ck_assert_double_eq_tol(near, far, 1e-14);
    ck_assert_double_gt(fabs(r.y[1][0] - r.y[5][0]), 1e-3);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(pairs_of_a_head_are_rotated_by_their_angles),
                                 TEST(a_product_depends_on_the_distance_alone)};
    return suite_run("nn/rotary", tests, sizeof tests / sizeof *tests, argc, argv);
}
