/* More than 2^31 elements in one tensor: where an index was an int somewhere, the far end would show it. Each operation
 * that goes by rows or columns reads and writes there, with few rows; the passes over flat blocks run over all. */
#include "kernels/kernels.h"
#include "tests/huge/room.h"

#include <stdio.h>
#include <string.h>

static const size_t FAR = ((size_t)1 << 31) + 24; /* elements, and more than an int can count */

enum { D = 256 };

static const Kernels *k;
static Stream *s;

/* Every backend of this machine's memory in f32; false after the last. */
static bool open_backend(int i)
{
    static const char *const devices[] = {"cpu", "plain"};
    Error e;
    if (i == 2)
        return false;
    k = kernels_find(devices[i], NUMBER_F32, &e);
    ck_assert_msg(k != NULL, "%s", e.text);
    ck_done(k->open(&s, 1, &e), e);
    return true;
}

static void close_backend(void)
{
    Error e;
    ck_done(k->finish(s, &e), e);
    k->close(s);
}

static float *zeros(size_t n)
{
    float *x = k->allocate(n * sizeof *x);
    ck_assert_msg(x != NULL, "there is no memory for %zu numbers", n);
    return x;
}

static void expect(const float *x, float first, float step, size_t n, const char *what)
{
    for (size_t j = 0; j < n; j++)
        ck_assert_msg(x[j] == first + step * (float)j, "%s, %s: element %d is %g", k->backend, what, (int)j,
                      (double)x[j]);
}

static void fill(float *x, float first, float step, size_t n)
{
    for (size_t j = 0; j < n; j++)
        x[j] = first + step * (float)j;
}

START_TEST(the_last_rows_of_a_table)
{
    const size_t rows = FAR / D + 1;
    const int32_t last = (int32_t)rows - 1, ids[3] = {last, 0, last}, position[3] = {0, 1, 2};
    const StepState state = {0};
    float y[3 * D], dy[3 * D];
    if (!huge_has_room("huge/elements: the_last_rows_of_a_table"))
        return;
    for (int i = 0; open_backend(i); i++) {
        float *table = zeros(rows * D), *far = table + (size_t)last * D;
        fill(far, 1, 2, D);
        k->embed_forward(s, y, ids, position, table, NULL, 1, (Dropout){0}, &state, 3, D);
        expect(y, 1, 2, D, "embed");
        expect(y + D, 0, 0, D, "embed");
        k->gather_forward(s, y, table, ids, 3, D);
        expect(y + (size_t)2 * D, 1, 2, D, "gather");
        fill(dy, 3, 1, D);
        fill(dy + D, 0, 0, D);
        fill(dy + (size_t)2 * D, 1, 1, D);
        k->embed_backward(s, table, NULL, dy, ids, position, 1, (Dropout){0}, &state, 3, D);
        expect(far, 5, 4, D, "embed backward");
        k->release(table);
        close_backend();
    }
}

START_TEST(rows_far_apart)
{
    enum { ROWS = 3, COLUMNS = 40 };
    if (!huge_has_room("huge/elements: rows_far_apart"))
        return;
    for (int i = 0; open_backend(i); i++) {
        float *wide = zeros(FAR + COLUMNS), near[ROWS * COLUMNS];
        const size_t stride = FAR / (ROWS - 1);
        for (size_t r = 0; r < ROWS; r++)
            fill(near + r * COLUMNS, (float)(100 * r), 1, COLUMNS);
        k->move(s, (Strided){wide, stride}, false, (Strided){near, COLUMNS}, ROWS, COLUMNS);
        expect(wide + 2 * stride, 200, 1, COLUMNS, "move there");
        k->move(s, (Strided){near, COLUMNS}, true, (Strided){wide, stride}, ROWS, COLUMNS);
        expect(near + (size_t)2 * COLUMNS, 400, 2, COLUMNS, "move back");
        float turned[COLUMNS * ROWS];
        k->transpose(s, (Strided){turned, ROWS}, false, (Strided){wide, stride}, ROWS, COLUMNS);
        for (size_t j = 0; j < COLUMNS; j++)
            expect(turned + j * ROWS, (float)j, 100, ROWS, "transpose");
        /* c [3,3] = wide wide^T, of which the last element is that of the last row with itself */
        float c[ROWS * ROWS], sum = 0;
        const Operand a = {wide, 0, 0, stride, 1}, b = {wide, 0, 0, 1, stride}, to = {c, 0, 0, ROWS, 1};
        k->product(s, to, false, a, b, 1, 1, 1, ROWS, ROWS, COLUMNS);
        for (size_t j = 0; j < COLUMNS; j++)
            sum += (200 + (float)j) * (200 + (float)j);
        ck_assert_float_eq_tol(c[ROWS * ROWS - 1], sum, 1e-6F * sum);
        k->release(wide);
        close_backend();
    }
}

/* x [2,IN] w [OUT,IN]^T with so many weights that only a last row of them is beyond; and its gradient there. */
START_TEST(weights_of_a_linear_map)
{
    enum { IN = 1 << 12 };
    const size_t out = FAR / IN + 1;
    if (!huge_has_room("huge/elements: weights_of_a_linear_map"))
        return;
    for (int i = 0; open_backend(i); i++) {
        float *w = zeros(out * IN), *x = zeros(2 * IN), *y = zeros(2 * out);
        fill(x + IN, 1, 0, IN);
        fill(w + (out - 1) * IN, 2, 0, IN);
        k->linear_forward(s, y, false, x, w, NULL, false, 2, IN, out);
        expect(y, 0, 0, out, "linear");
        expect(y + out, 0, 0, out - 1, "linear");
        expect(y + 2 * out - 1, 2.0F * IN, 0, 1, "linear");
        k->release(w);
        k->release(x);
        k->release(y);
        close_backend();
    }
}

/* Adam and Lion have a part at its end; and over the whole of it, which takes a second, goes one pass of each backend. */
START_TEST(a_block_of_parameters)
{
    const StepState state = {.finite = 1, .learning_rate = 0.5, .correction1 = 1, .correction2 = 1, .clip = 1};
    const Span far = {FAR - 6, FAR - 4, 0.5};
    const size_t chunks = (FAR + SQUARES_CHUNK - 1) / SQUARES_CHUNK;
    if (!huge_has_room("huge/elements: a_block_of_parameters"))
        return;
    for (int i = 0; open_backend(i); i++) {
        float *g = zeros(FAR), *w = zeros(FAR), *m = zeros(FAR), *v = zeros(FAR);
        double *parts = k->allocate(chunks * sizeof *parts);
        ck_assert_ptr_nonnull(parts);
        fill(g + FAR - 8, 3, 0, 8);
        fill(w + FAR - 8, 4, 0, 8);
        if (i == 0) {
            k->squares(s, parts, g, FAR);
            ck_assert_double_eq(parts[chunks - 1], 8 * 9);
            ck_assert_double_eq(parts[chunks - 2], 0);
        }
        k->adam(s, w, NULL, m, v, g, &state, (Adam){0, 0, 0}, &far, 1, FAR - 8, 8);
        expect(w + FAR - 8, 3.5F, 0, 2, "adam"); /* one learning rate against the gradient's sign */
        expect(w + FAR - 6, 2.5F, 0, 2, "adam"); /* and a quarter of the weight */
        expect(w + FAR - 4, 3.5F, 0, 4, "adam");
        expect(m + FAR - 9, 0, 0, 1, "adam");
        expect(m + FAR - 8, 3, 0, 8, "adam");
        k->lion(s, w, NULL, m, g, NULL, &state, (Adam){0, 0, 0}, 0, FAR - 8, 8, 1);
        expect(w + FAR - 8, 3, 0, 2, "lion");
        k->release(m);
        k->release(v);
        k->release(parts);
        if (i == 1) {
            k->accumulate(s, w, g, FAR);
            expect(w + FAR - 4, 6, 0, 4, "accumulate");
            expect(w + FAR - 9, 0, 0, 1, "accumulate");
        }
        k->release(g);
        k->release(w);
        close_backend();
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(the_last_rows_of_a_table), TEST(rows_far_apart),
                                 TEST_SLOW(weights_of_a_linear_map, 300), TEST_SLOW(a_block_of_parameters, 300)};
    return suite_run("huge/elements", tests, sizeof tests / sizeof *tests, argc, argv);
}
