/* Lesson 8: where am I. See README.md beside this file; `make lesson-08` runs it.
 *
 *     y[i] = table[id of word i] + positions[i]        positions [n,d]: learned, or sines and cosines of i */
#include "base/philox.h"
#include "core/nn/positions.h"
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

/* positions [n,d], as the programs compute them */
static void sinusoids(float *positions, size_t n, size_t d)
{
    for (size_t i = 0; i < n * d; i++)
        positions[i] = (float)sinusoid((double)(i / d), i % d, d);
}

static float largest_difference(const float *a, const float *b, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

/* ---- 1. dog bites man */

enum { WORDS = 3, D = 8 };

/* result [D]: the words' vectors attend to one another, and are averaged; positions may be NULL */
static void read_sentence(float *result, const int32_t *ids, const float *table, const float *positions)
{
    static const int32_t position[WORDS] = {0, 1, 2}, start[2] = {0, WORDS};
    float x[WORDS * D], weights[WORDS * WORDS], y[WORDS * D];
    k->embed_forward(NULL, x, ids, position, table, positions, 1, (Dropout){0}, NULL, WORDS, D);
    k->product(NULL, matrix(weights, WORDS), false, matrix(x, D), transposed(matrix(x, D)), 1, 1, 1, WORDS, WORDS, D);
    k->softmax_forward(NULL, weights, weights, WORDS, WORDS);
    k->product(NULL, matrix(y, D), false, matrix(weights, WORDS), matrix(x, D), 1, 1, 1, WORDS, D, WORDS);
    k->pool_forward(NULL, result, NULL, y, POOLING_MEAN, start, 1, D);
}

static void dog_bites_man(void)
{
    static const int32_t dog_first[WORDS] = {0, 1, 2}, man_first[WORDS] = {2, 1, 0};
    float table[WORDS * D], positions[WORDS * D], dog[D], man[D];
    section("1. Dog bites man");
    for (size_t i = 0; i < WORDS * D; i++)
        table[i] = (float)(2 * philox_uniform(1, 0, i, 0) - 1);
    sinusoids(positions, WORDS, D);
    for (int with = 0; with < 2; with++) {
        read_sentence(dog, dog_first, table, with ? positions : NULL);
        read_sentence(man, man_first, table, with ? positions : NULL);
        float difference = largest_difference(dog, man, D);
        printf("  %-18s \"dog bites man\" and \"man bites dog\" differ by ",
               with ? "with positions:" : "without positions:");
        difference < 1e-6f ? printf("less than 1e-6\n") : printf("%.2f\n", (double)difference);
    }
}

/* ---- 2. sines and cosines */

enum { LONG = 64, WIDE = 32 };

static void clocks(void)
{
    float few[6 * D], many[LONG * WIDE];
    static const char *const places[6] = {"0", "1", "2", "3", "4", "5"};
    static const char *const columns[D] = {"sin", "cos", "sin/10", "cos/10", "/100", "/100", "/1000", "/1000"};
    section("2. Sines and cosines");
    sinusoids(few, 6, D);
    print_matrix("positions 0 to 5, d = 8", few, 6, D, places, columns);
    sinusoids(many, LONG, WIDE);
    for (size_t i = 0; i < LONG * WIDE; i++)
        many[i] = (1 + many[i]) / 2;
    draw_matrix("08-sinusoids", "64 positions (down), 32 columns: (1 + number) / 2", many, LONG, WIDE, NULL, NULL);
}

/* ---- 3. the linear shift */

/* m [d,d] with m positions[p] = positions[p + r]: each pair of columns is turned by r times its angle */
static void shift(float *m, double r, size_t d)
{
    memset(m, 0, d * d * sizeof *m);
    for (size_t j = 0; j < d; j += 2) {
        double angle = r / pow(10000, (double)j / (double)d);
        m[j * d + j] = m[(j + 1) * d + j + 1] = (float)cos(angle);
        m[j * d + j + 1] = (float)sin(angle);
        m[(j + 1) * d + j] = -(float)sin(angle);
    }
}

static void one_matrix_for_all(void)
{
    enum { FAR = 200 };
    static const int steps[] = {1, 7, 100, -1};
    static float positions[FAR * WIDE], moved[FAR * WIDE];
    float m[WIDE * WIDE], distance[FAR], alike[FAR];
    section("3. The linear shift");
    sinusoids(positions, FAR, WIDE);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        size_t forward = steps[i] > 0 ? (size_t)steps[i] : 0, back = steps[i] < 0 ? (size_t)-steps[i] : 0;
        size_t n = FAR - forward - back;
        shift(m, steps[i], WIDE);
        k->linear_forward(NULL, moved, false, positions + back * WIDE, m, NULL, false, n, WIDE, WIDE);
        printf("  one matrix moves %3zu positions by %3d: differences below 1e-4: %s\n", n, steps[i],
               largest_difference(moved, positions + forward * WIDE, n * WIDE) < 1e-4f ? "yes" : "no");
    }
    printf("\n  dot products of positions, d = %d:\n  distance    of 0 and it   of 90 and it farther\n", WIDE);
    for (size_t r = 0; r < 100; r++) {
        float from[2] = {0, 0};
        for (size_t j = 0; j < WIDE; j++) {
            from[0] += positions[j] * positions[r * WIDE + j];
            from[1] += positions[90 * WIDE + j] * positions[(90 + r) * WIDE + j];
        }
        distance[r] = (float)r, alike[r] = from[0];
        if (r < 3 || r == 10 || r == 50)
            printf("  %8zu  %12.2f  %14.2f\n", r, (double)from[0], (double)from[1]);
    }
    printf("\n");
    draw_curves(&(Plot){"08-distance", "the dot product of two positions", "distance", "dot product", false, false},
                &(Curve){"dot product", distance, alike, 100}, 1);
}

/* ---- 4. longer than trained: a head that shall look at the word before */

enum { TRAINED = 32, TRIED = 128, STEPS = 3000 };

/* Row p of weights [n,n] = softmax(P[p] W P^T) over the positions 0 .. p, zeros after them; scrap [n,WIDE] */
static void look(float *weights, float *scrap, const float *positions, const float *w, size_t n)
{
    k->product(NULL, matrix(scrap, WIDE), false, matrix(positions, WIDE), matrix(w, WIDE), 1, 1, 1, n, WIDE, WIDE);
    k->product(NULL, matrix(weights, n), false, matrix(scrap, WIDE), transposed(matrix(positions, WIDE)), 1, 1, 1, n, n,
               WIDE);
    for (size_t p = 0; p < n; p++) {
        k->softmax_forward(NULL, weights + p * n, weights + p * n, 1, p + 1);
        for (size_t j = p + 1; j < n; j++)
            weights[p * n + j] = 0;
    }
}

/* Gradient descent on -log weights[p,p-1] over the positions that there are in training: of w, and where `learned` of
 * the positions, too. ds = weights - (1 where it should look), dW = P^T ds P, dP = ds P W^T + ds^T P W. */
static void train(float *w, float *positions, bool learned, int steps, double rate)
{
    enum { N = TRAINED };
    float ds[N * N], scrap[N * WIDE], gradient[N * WIDE];
    Operand P = matrix(positions, WIDE), W = matrix(w, WIDE), S = matrix(ds, N), T = matrix(scrap, WIDE);
    for (int step = 0; step < steps; step++) {
        look(ds, scrap, positions, w, N);
        ds[0] = 0; /* nothing is before the first */
        for (size_t p = 1; p < N; p++)
            ds[p * N + p - 1] -= 1;
        memset(gradient, 0, sizeof gradient);
        for (int turn = 0; learned && turn < 2; turn++) {
            k->product(NULL, T, false, P, turn ? W : transposed(W), 1, 1, 1, N, WIDE, WIDE);
            k->product(NULL, matrix(gradient, WIDE), true, turn ? transposed(S) : S, T, 1, 1, 1, N, WIDE, N);
        }
        k->product(NULL, T, false, S, P, 1, 1, 1, N, WIDE, N);
        k->product(NULL, W, true, transposed(P), T, -rate / N, 1, 1, WIDE, WIDE, N);
        for (size_t i = 0; learned && i < N * WIDE; i++)
            positions[i] -= (float)rate / N * gradient[i];
    }
}

/* w with P[p] w = sharp * P[p-1]: w^T turns back by one, so w turns on by one */
static void by_hand(float *w, float sharp)
{
    shift(w, 1, WIDE);
    for (size_t i = 0; i < WIDE * WIDE; i++)
        w[i] *= sharp;
}

static float mean_found(const float *found, size_t from, size_t to)
{
    float sum = 0;
    for (size_t p = from; p < to; p++)
        sum += found[p] / (float)(to - from);
    return sum;
}

static void longer_than_trained(void)
{
    static float positions[TRIED * WIDE], weights[TRIED * TRIED], scrap[TRIED * WIDE];
    static const char *const kinds[] = {"learned", "sinusoids", "by hand"};
    float w[WIDE * WIDE], place[TRIED], found[3][TRIED];
    section("4. Longer than trained");
    printf("  a head learns to look one back, in texts of %d; its weight there at positions\n", TRAINED);
    printf("  %-10s %8s %8s %8s\n", "", "1-31", "32-63", "64-127");
    for (int kind = 0; kind < 3; kind++) {
        sinusoids(positions, TRIED, WIDE);
        for (size_t i = 0; kind == 0 && i < TRIED * WIDE; i++)
            positions[i] = (float)philox_normal(2, 0, i, 0) / 2;
        memset(w, 0, sizeof w);
        if (kind == 2)
            by_hand(w, 10);
        else
            train(w, positions, kind == 0, STEPS, 0.1);
        look(weights, scrap, positions, w, TRIED);
        for (size_t p = 0; p < TRIED; p++) {
            place[p] = (float)p;
            found[kind][p] = p ? weights[p * TRIED + p - 1] : NAN;
        }
        printf("  %-10s %8.2f %8.2f %8.2f\n", kinds[kind], (double)mean_found(found[kind], 1, 32),
               (double)mean_found(found[kind], 32, 64), (double)mean_found(found[kind], 64, TRIED));
    }
    printf("\n");
    const Curve curves[] = {{"learned", place, found[0], TRIED},
                            {"sinusoids", place, found[1], TRIED},
                            {"by hand", place, found[2], TRIED}};
    draw_curves(&(Plot){"08-longer", "a head that looks one back, trained on 32 positions", "position",
                        "weight on the one before", false, false},
                curves, 3);
}

int main(void)
{
    dog_bites_man();
    clocks();
    one_matrix_for_all();
    longer_than_trained();
    return 0;
}
