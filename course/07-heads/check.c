/* Lesson 7: what is graded. */
#include "course/07-heads/exercise.h"
#include "course/frame/grade.h"
#include "course/frame/matrix.h"

#include <math.h>

/* ---- what should come out, in doubles */

/* to (+)= alpha a b at the places of c in `to` */
static void multiply(double *to, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                     size_t m, size_t n, size_t k)
{
    const float *x = a.data, *y = b.data;
    for (size_t e = 0; e < outer * inner * m * n; e++) {
        size_t j = e % n, i = e / n % m, p = e / n / m % inner, o = e / n / m / inner;
        double sum = 0;
        for (size_t l = 0; l < k; l++)
            sum += (double)x[o * a.outer + p * a.inner + i * a.row + l * a.column] *
                   (double)y[o * b.outer + p * b.inner + l * b.row + j * b.column];
        double *at = &to[o * c.outer + p * c.inner + i * c.row + j * c.column];
        *at = (add ? *at : 0) + alpha * sum;
    }
}

/* Of one head, whose vectors i are at i * row of q, k, v and y: weights [n,n] and y */
static void attend(double *y, size_t y_row, double *weights, const float *q, const float *k, size_t row, const float *v,
                   size_t v_row, double scale, size_t n, size_t dk, size_t dv)
{
    for (size_t i = 0; i < n; i++, weights += n) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            double score = 0;
            for (size_t l = 0; l < dk; l++)
                score += scale * (double)q[i * row + l] * (double)k[j * row + l];
            sum += weights[j] = exp(score);
        }
        for (size_t j = 0; j < n; j++)
            weights[j] /= sum;
        for (size_t l = 0; l < dv; l++) {
            y[i * y_row + l] = 0;
            for (size_t j = 0; j < n; j++)
                y[i * y_row + l] += weights[j] * (double)v[j * v_row + l];
        }
    }
}

/* ---- 1. layer_numbers */

static void counts_narrow(Grade *g)
{
    size_t found = layer_numbers(512, 8, 64, 64);
    expect(g, found != 3 * 512 * 512, "there is an output matrix, too: k^2 more",
           "D = 512, 8 heads of 64: %zu, and should be 1048576", found);
    expect(g, found == 1048576, "query, key, value and output are D x D each, all heads together",
           "D = 512, 8 heads of 64: %zu, and should be 1048576", found);
}

static void counts_any(Grade *g)
{
    size_t found = layer_numbers(10, 3, 4, 7), wide = layer_numbers(256, 4, 256, 256);
    expect(g, found == 660, "query and key have H dk rows, value and output H dv",
           "D = 10, 3 heads of dk = 4 and dv = 7: %zu, and should be 660", found);
    expect(g, wide == 1048576, "a wide head has D numbers, and there are H of them",
           "D = 256, 4 heads of 256: %zu, and should be 1048576", wide);
}

/* ---- 2. product */

static void of_two_matrices(Grade *g)
{
    enum { M = 3, N = 5, K = 4 };
    float *a = grade_input(g, "a", M * K, 1), *b = grade_input(g, "b", K * N, 2), *c = grade_output(g, "c", M * N);
    double expected[M * N], unscaled[M * N];
    multiply(expected, matrix(c, N), false, matrix(a, K), matrix(b, N), 0.5, 1, 1, M, N, K);
    multiply(unscaled, matrix(c, N), false, matrix(a, K), matrix(b, N), 1, 1, 1, M, N, K);
    mine_product(NULL, matrix(c, N), false, matrix(a, K), matrix(b, N), 0.5, 1, 1, M, N, K);
    const Suspect suspects[] = {{unscaled, "alpha multiplies each sum"}, {NULL, NULL}};
    expect_numbers(g, "c", c, expected, M * N, N, 1e-5, suspects, "c[i,j] is the sum over l of a[i,l] b[l,j]");
}

/* a transposed, b a part of a wider matrix, c with gaps that must stay */
static void of_strides(Grade *g)
{
    enum { M = 4, N = 3, K = 5, GAP = 2, WIDE = N + GAP };
    float *a = grade_input(g, "a", K * M, 3), *b = grade_input(g, "b", K * WIDE, 4),
          *c = grade_output(g, "c", M * WIDE);
    Operand at = transposed(matrix(a, M)), bt = matrix(b, WIDE), ct = matrix(c, WIDE);
    double expected[M * WIDE], close[M * WIDE];
    for (size_t i = 0; i < M * WIDE; i++)
        close[i] = expected[i] = (double)(c[i] = 100);
    multiply(expected, ct, false, at, bt, 1, 1, 1, M, N, K);
    multiply(close, matrix(c, N), false, matrix(a, K), matrix(b, N), 1, 1, 1, M, N, K);
    mine_product(NULL, ct, false, at, bt, 1, 1, 1, M, N, K);
    const Suspect suspects[] = {
        {close, "the operand says how far it is to the next row and to the next column: i * row + j * column"},
        {NULL, NULL}};
    expect_numbers(g, "c", c, expected, M * WIDE, WIDE, 1e-6, suspects,
                   "element (i, j) is at data[i * row + j * column], and nothing else is written");
}

/* Two rows of three heads, with b the same for all rows */
static void of_heads(Grade *g)
{
    enum { B = 2, H = 3, M = 2, N = 5, K = 4 };
    float *a = grade_input(g, "a", B * M * H * K, 5), *b = grade_input(g, "b", H * K * N, 6);
    float *c = grade_output(g, "c", B * H * M * N);
    Operand ao = {a, M * H * K, K, H * K, 1}, bo = {b, 0, K * N, N, 1}, co = {c, H * M * N, M * N, N, 1};
    double *expected = grade_doubles(B * H * M * N), *exchanged = grade_doubles(B * H * M * N);
    multiply(expected, co, false, ao, bo, 1, B, H, M, N, K);
    mine_product(NULL, co, false, ao, bo, 1, B, H, M, N, K);
    Operand wrong = {b, K * N, 0, N, 1};
    multiply(exchanged, co, false, ao, wrong, 1, B, H, M, N, K);
    const Suspect suspects[] = {{exchanged, "o * outer + p * inner: these two were exchanged"}, {NULL, NULL}};
    expect_numbers(g, "c", c, expected, B * H * M * N, N, 1e-5, suspects,
                   "matrix (o, p) begins at o * outer + p * inner; an outer of 0 means one matrix for all");
}

static void adds(Grade *g)
{
    enum { M = 2, N = 3, K = 4 };
    float *a = grade_input(g, "a", M * K, 7), *b = grade_input(g, "b", K * N, 8), *c = grade_output(g, "c", M * N);
    double expected[M * N], over[M * N], scaled[M * N], product[M * N] = {0};
    multiply(product, matrix(c, N), false, matrix(a, K), matrix(b, N), 3, 1, 1, M, N, K);
    for (size_t i = 0; i < M * N; i++) {
        c[i] = (float)i - 2;
        expected[i] = (double)c[i] + product[i];
        over[i] = product[i];
        scaled[i] = 3 * (double)c[i] + product[i];
    }
    mine_product(NULL, matrix(c, N), true, matrix(a, K), matrix(b, N), 3, 1, 1, M, N, K);
    const Suspect suspects[] = {{over, "with add, the result is added to what is in c"},
                                {scaled, "alpha multiplies the product alone, not what was in c"},
                                {NULL, NULL}};
    expect_numbers(g, "c", c, expected, M * N, N, 1e-5, suspects, "c += alpha a b");
}

static void of_nothing(Grade *g)
{
    float *a = grade_input(g, "a", 4, 9), *b = grade_input(g, "b", 4, 10), *c = grade_output(g, "c", 4);
    static const double zeros[4];
    mine_product(NULL, matrix(c, 2), false, matrix(a, 0), matrix(b, 2), 1, 1, 1, 2, 2, 0);
    expect_numbers(g, "c", c, zeros, 4, 2, 0, NULL, "a sum of no terms is 0, and it is written");
    mine_product(NULL, matrix(c, 2), true, matrix(a, 2), matrix(b, 2), 1, 1, 1, 0, 2, 2);
    mine_product(NULL, matrix(c, 2), true, matrix(a, 2), matrix(b, 2), 1, 0, 1, 2, 2, 2);
    expect_numbers(g, "c", c, zeros, 4, 2, 0, NULL, "no rows, or no matrices: nothing is written");
}

/* ---- 3. many_heads */

static void heads(Grade *g, size_t n, size_t count, size_t dk, size_t dv)
{
    float *q = grade_input(g, "q", n * count * dk, 11), *k = grade_input(g, "k", n * count * dk, 12);
    float *v = grade_input(g, "v", n * count * dv, 13), *y = grade_output(g, "y", n * count * dv);
    float *weights = grade_output(g, "weights", count * n * n);
    double *expected = grade_doubles(n * count * dv), *shares = grade_doubles(count * n * n);
    double *full = grade_doubles(count * n * n), *none = grade_doubles(count * n * n);
    double *cut = grade_doubles(count * n * n), *scrap = grade_doubles(n * count * dv);
    size_t row = count * dk, v_row = count * dv;
    for (size_t i = 0; i < n * row; i++)
        q[i] *= 4;
    grade_seal(g);
    for (size_t h = 0; h < count; h++) {
        double scale = 1 / sqrt((double)dk);
        size_t at = h * n * n;
        attend(scrap, v_row, full + at, q + h * dk, k + h * dk, row, v, v_row, 1 / sqrt((double)row), n, dk, dv);
        attend(scrap, v_row, none + at, q + h * dk, k + h * dk, row, v, v_row, 1, n, dk, dv);
        attend(scrap, dv, cut + at, q + h * n * dk, k + h * n * dk, dk, v, dv, scale, n, dk, dv);
        attend(expected + h * dv, v_row, shares + at, q + h * dk, k + h * dk, row, v + h * dv, v_row, scale, n, dk, dv);
    }
    many_heads(y, weights, q, k, v, n, count, dk, dv);
    const Suspect suspects[] = {
        {count > 1 ? full : NULL, "sqrt(dk), not sqrt(H dk): the length of one head's vectors decides"},
        {none, "scores are divided by sqrt(dk)"},
        {cut, "q is stored [n,H*dk], not [H,n,dk]: a head is a stripe of columns, H*dk from row to row"},
        {NULL, NULL}};
    expect_numbers(g, "weights", weights, shares, count * n * n, n, 1e-5, count > 1 ? suspects : suspects + 1,
                   "head h compares columns h*dk .. of q and k alone; its weights begin at h*n*n");
    expect_numbers(
        g, "y", y, expected, n * count * dv, v_row, 1e-5, NULL,
        "row i, columns h*dv .. of y are the average of the same columns of v, by row i of head h's weights");
}

static void one_head(Grade *g) { heads(g, 5, 1, 3, 3); }
static void three_heads(Grade *g) { heads(g, 4, 3, 5, 5); }
static void unequal_heads(Grade *g) { heads(g, 7, 2, 3, 6); }

/* ---- 4. merge_output */

static void merges(Grade *g)
{
    enum { D = 6, H = 2, DV = 3 };
    float *value = grade_input(g, "value", H * DV * D, 14), *out = grade_input(g, "out", D * H * DV, 15);
    float *merged = grade_output(g, "merged", H * D * D);
    double *expected = grade_doubles(H * D * D), *transposed = grade_doubles(H * D * D);
    for (size_t h = 0; h < H; h++)
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < D; j++)
                for (size_t l = 0; l < DV; l++) {
                    double term = (double)out[i * H * DV + h * DV + l] * (double)value[(h * DV + l) * D + j];
                    expected[(h * D + i) * D + j] += term;
                    transposed[(h * D + j) * D + i] += term;
                }
    merge_output(merged, value, out, D, H, DV);
    const Suspect suspects[] = {{transposed, "this is merged transposed: a row of it makes one number of the result"},
                                {NULL, NULL}};
    expect_numbers(g, "merged", merged, expected, H * D * D, D, 1e-5, suspects,
                   "merged_h = out_h value_h: columns h*dv .. of out times rows h*dv .. of value");
}

static void mine(Kernels *k) { k->product = mine_product; }

static void time_product(Grade *g, const Kernels *k, Stream *s)
{
    float *a = grade_input(g, "a", 96 * 96, 1), *b = grade_input(g, "b", 96 * 96, 2),
          *c = grade_output(g, "c", 96 * 96);
    while (grade_again(g))
        k->product(s, matrix(c, 96), false, matrix(a, 96), matrix(b, 96), 1, 1, 1, 96, 96, 96);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"layer_numbers", "narrow heads, output and all", 1, counts_narrow, 0},
        {"layer_numbers", "heads of any size", 1, counts_any, 0},
        {"product", "a matrix times a matrix, times alpha", 1, of_two_matrices, 0},
        {"product", "elements are where the operands say", 2, of_strides, 0},
        {"product", "many matrices in one call", 1, of_heads, 0},
        {"product", "with add it goes on top", 1, adds, 0},
        {"product", "sizes of 0", 1, of_nothing, 0},
        {"many_heads", "one head is the attention you know", 1, one_head, 0},
        {"many_heads", "three heads side by side", 2, three_heads, 0},
        {"many_heads", "values of another size than keys", 1, unequal_heads, 0},
        {"merge_output", "value and output of a head in one matrix", 2, merges, 0},
    };
    static const Timed timed[] = {{"product", time_product}};
    const Lesson lesson = {"Lesson 07: many heads", checks, sizeof checks / sizeof *checks, mine, timed, 1};
    return grade_main(&lesson, argc, argv);
}
