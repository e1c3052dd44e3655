/* Lesson 18: write a kernel. See README.md beside this file; `make lesson-18` runs it.
 *
 *     y = softmax(scale q k^T) v        q [n,d], k, v [m,d]: from loops to vectors to thousands of threads */
#include "base/clock.h"
#include "base/philox.h"
#include "course/18-kernel/gpu.h"
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/cost/cost.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *numbers(size_t n, uint32_t seed, double spread)
{
    float *x = malloc((n + 1) * sizeof *x);
    if (!x)
        abort();
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(spread * philox_normal(seed, 0, i, 0));
    return x;
}

static float largest_difference(const float *a, const float *b, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, isnan(a[i]) || isnan(b[i]) ? INFINITY : fabsf(a[i] - b[i]));
    return most;
}

/* ---- 1. the same sum in three orders */

enum { SUMMANDS = 4096, LANES = 8 };

static float one_by_one(const float *x, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Eight sums side by side, as a vector of eight lanes has them; they are added at the end */
static float by_lanes(const float *x, size_t n)
{
    float sum[LANES] = {0};
    for (size_t i = 0; i < n; i++)
        sum[i % LANES] += x[i];
    return one_by_one(sum, LANES);
}

/* The lower half adds what the upper half has, again and again; n is a power of two */
static float by_tree(const float *x, size_t n)
{
    float part[SUMMANDS];
    memcpy(part, x, n * sizeof *x);
    for (size_t half = n / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            part[i] += part[i + half];
    return part[0];
}

static void draw_tree(void)
{
    enum { THREADS = 32, STEPS = 5 };
    static const char *const steps[STEPS] = {"step 1", "step 2", "step 3", "step 4", "step 5"};
    float works[STEPS * THREADS];
    for (size_t i = 0; i < STEPS * THREADS; i++)
        works[i] = i % THREADS < (size_t)THREADS / 2 >> i / THREADS;
    draw_matrix("18-tree", "32 threads: who adds, and who waits at the barrier", works, STEPS, THREADS, steps, NULL);
}

static void three_orders(void)
{
    float x[SUMMANDS];
    section("1. The same sum in three orders");
    for (size_t i = 0; i < SUMMANDS; i++)
        x[i] = 0.1f;
    printf("  %d times 0.1f, as float: exactly %.6f\n", SUMMANDS, SUMMANDS * (double)0.1f);
    printf("    one after another %.6f, %d additions deep\n", (double)one_by_one(x, SUMMANDS), SUMMANDS);
    printf("    in 8 lanes        %.6f, %d deep\n", (double)by_lanes(x, SUMMANDS), SUMMANDS / LANES + LANES);
    printf("    as a tree         %.6f, 12 deep\n\n", (double)by_tree(x, SUMMANDS));
    draw_tree();
}

/* ---- 2. an average under way */

/* largest, sum of exp(s - largest), sum of exp(s - largest) v */
typedef struct Part {
    float largest, sum, y;
} Part;

static Part merged(Part a, Part b)
{
    float largest = fmaxf(a.largest, b.largest), of_a = expf(a.largest - largest), of_b = expf(b.largest - largest);
    return (Part){largest, a.sum * of_a + b.sum * of_b, a.y * of_a + b.y * of_b};
}

static void under_way(void)
{
    static const float scores[] = {1, 3, 2, 5}, values[] = {10, 20, 30, 40};
    Part all = {scores[0], 1, values[0]}, right = {scores[3], 1, values[3]};
    section("2. An average under way");
    printf("  score  value  largest     sum       y   y/sum\n");
    for (size_t i = 0; i < 4; i++) {
        if (i > 0)
            all = merged(all, (Part){scores[i], 1, values[i]});
        printf("  %5g  %5g  %7g  %6.3f  %6.2f  %6.2f\n", (double)scores[i], (double)values[i], (double)all.largest,
               (double)all.sum, (double)all.y, (double)(all.y / all.sum));
    }
    Part left = merged((Part){scores[0], 1, values[0]}, (Part){scores[1], 1, values[1]});
    right = merged((Part){scores[2], 1, values[2]}, right);
    Part both = merged(left, right);
    printf("\n  two and two, and then both: y/sum %.2f and %.2f make %.2f\n", (double)(left.y / left.sum),
           (double)(right.y / right.sum), (double)(both.y / both.sum));
}

/* ---- 3. what is moved */

/* A self-attention of one head */
static Attend one_head(size_t n, size_t d, const int32_t *start)
{
    return (Attend){.rows = 1,
                    .queries = n,
                    .longest_query = n,
                    .keys = n,
                    .longest_key = n,
                    .heads = 1,
                    .key_size = d,
                    .value_size = d,
                    .query_start = start,
                    .key_start = start,
                    .scale = 1 / sqrt((double)d)};
}

/* By matrices: scores and weights [n,n] are in memory */
static void composed(const Kernels *k, Stream *s, float *y, float *weights, const float *q, const float *key,
                     const float *v, size_t n, size_t d)
{
    k->product(s, matrix(weights, n), false, matrix(q, d), transposed(matrix(key, d)), 1 / sqrt((double)d), 1, 1, n, n,
               d);
    k->softmax_forward(s, weights, weights, n, n);
    k->product(s, matrix(y, d), false, matrix(weights, n), matrix(v, d), 1, 1, 1, n, d, n);
}

/* Bytes that operations move, each operand counted once: the backend that touches no number adds them up. Its memory is
 * invented. */
static double bytes_moved(size_t n, size_t d, bool fused)
{
    const Kernels *k = cost_kernels(NUMBER_F32);
    const int32_t start[2] = {0, (int32_t)n};
    float here;
    double bytes = 0;
    size_t count;
    Stream *s = NULL;
    Error e;
    Attend how = one_head(n, d, start);
    Strided x = {&here, d};
    if (!k->open(&s, 1, &e))
        return NAN;
    if (fused)
        k->attention_forward(s, &here, &here, x, x, x, &how, NULL);
    else
        composed(k, s, &here, &here, &here, &here, &here, n, d);
    const Cost *cost = cost_counted(s, &count);
    for (size_t i = 0; i < count; i++)
        bytes += cost[i].bytes;
    k->close(s);
    return bytes;
}

enum { HEAD = 64, TILES = 9, LONG = 4096 };

static void what_is_moved(void)
{
    float width[TILES], reads[TILES], matrices[TILES];
    const double mb = 1 << 20;
    section("3. What is moved");
    printf("  one head of %d, f32, MB moved    by matrices   each operand once\n", HEAD);
    for (size_t n = 256; n <= LONG; n *= 4)
        printf("  n = %4zu                        %11.2f  %18.2f\n", n, bytes_moved(n, HEAD, false) / mb,
               bytes_moved(n, HEAD, true) / mb);
    printf("\n  n = %d: keys and values are read once for each tile of queries\n", LONG);
    printf("  queries in a tile    MB read   kB of shared memory\n");
    for (size_t i = 0; i < TILES; i++) {
        size_t queries = (size_t)1 << i, keys = 32;
        width[i] = (float)queries;
        reads[i] = (float)((double)LONG / (double)queries * LONG * 2 * HEAD * 4 / mb);
        matrices[i] = (float)(bytes_moved(LONG, HEAD, false) / mb);
        size_t room = 4 * ((queries + keys) * (HEAD + 1) + keys * (HEAD + 1) + queries * (keys + 1));
        printf("  %17zu  %9.0f  %20.1f%s\n", queries, (double)reads[i], (double)room / 1024,
               room > 48 << 10 ? "  more than 48" : "");
    }
    printf("\n");
    const Curve curves[] = {{"tiles: keys and values read", width, reads, TILES},
                            {"matrices: all that is moved", width, matrices, TILES}};
    draw_curves(
        &(Plot){"18-tiles", "one head of 64, n = 4096: what a tile saves", "queries in a tile", "MB", true, true},
        curves, 2);
}

/* ---- 4. the ladder: each rung against the one below */

typedef struct Rung {
    const char *name, *device;
    bool composed, naive; /* of matrices; the first version of a GPU's kernel */
    bool softmax;         /* a rung of softmax's ladder, too */
} Rung;

static const Rung rungs[] = {{"loops, matrices of n x n", "plain", true, false, true},
                             {"loops, no matrix", "plain", false, false, false},
                             {"vectors, tiles", "cpu", false, false, true},
                             {"CUDA, a thread for each query", "emulated", false, true, true},
                             {"CUDA, tiles in shared memory", "emulated", false, false, false},
                             {"the same, looked at", "checked", false, false, true}};
enum { RUNGS = sizeof rungs / sizeof *rungs, N = 70, D = 24 };

/* A device with the operands of a rung in its memory */
typedef struct Machine {
    const Kernels *k;
    Stream *s;
    float *x[5]; /* q, k, v, y, and weights [n,n] */
    void *lse, *start;
} Machine;

static bool machine_open(Machine *m, const Rung *r, float *const in[3], Error *e)
{
    const int32_t start[2] = {0, N};
    setenv("ATTEND_KERNELS", r->naive ? "naive" : "", 1);
    *m = (Machine){.k = kernels_find(r->device, NUMBER_F32, e)};
    if (!m->k || !m->k->open(&m->s, 1, e))
        return false;
    for (size_t i = 0; i < 5; i++)
        m->x[i] = m->k->allocate((i < 4 ? N * D : N * N) * sizeof(float));
    m->lse = m->k->allocate(N * sizeof(float)), m->start = m->k->allocate(sizeof start);
    for (size_t i = 0; i < 3; i++)
        m->k->upload(m->s, m->x[i], in[i], N * D * sizeof(float));
    m->k->upload(m->s, m->start, start, sizeof start);
    return m->k->finish(m->s, e);
}

static void machine_close(Machine *m)
{
    for (size_t i = 0; i < 5; i++)
        m->k->release(m->x[i]);
    m->k->release(m->lse), m->k->release(m->start);
    m->k->close(m->s);
}

/* y [N,D] = attention of a rung, or (softmax) the softmax of each row of q; false: there is no such device, or it says
 * what is wrong */
static bool climb(float *y, const Rung *r, float *const in[3], bool softmax, Error *e)
{
    Machine m;
    if (!machine_open(&m, r, in, e))
        return false;
    Attend how = one_head(N, D, m.start);
    if (softmax)
        m.k->softmax_forward(m.s, m.x[3], m.x[0], N, D);
    else if (r->composed)
        composed(m.k, m.s, m.x[3], m.x[4], m.x[0], m.x[1], m.x[2], N, D);
    else
        m.k->attention_forward(m.s, m.x[3], m.lse, (Strided){m.x[0], D}, (Strided){m.x[1], D}, (Strided){m.x[2], D},
                               &how, NULL);
    m.k->download(m.s, y, m.x[3], N * D * sizeof *y);
    bool fine = m.k->finish(m.s, e);
    machine_close(&m);
    return fine;
}

static void ladder(bool softmax)
{
    float *in[3], y[2][N * D];
    size_t climbed = 0;
    Error e;
    for (uint32_t i = 0; i < 3; i++)
        in[i] = numbers(N * D, 18 + i, 2);
    printf("  %s\n", softmax ? "softmax of 70 rows of 24" : "attention, 70 queries, 70 keys, 24 wide");
    for (const Rung *r = rungs; r < rungs + RUNGS; r++) {
        if (softmax && !r->softmax)
            continue;
        if (!climb(y[climbed % 2], r, in, softmax, &e)) {
            printf("left out: %s: %s\n", r->name, e.text);
            continue;
        }
        float difference = climbed ? largest_difference(y[0], y[1], N * D) : 0;
        const char *name = !softmax      ? r->name
                           : r->naive    ? "CUDA, a warp for each row"
                           : r->composed ? "loops"
                                         : r->name;
        if (softmax && !strcmp(r->device, "cpu"))
            name = "vectors";
        printf("    %-32s %-10s", name, r->device);
        printf(climbed ? "the rung below to 1e-5: %s\n" : "\n", difference < 1e-5f ? "yes" : "no");
        climbed++;
    }
    for (size_t i = 0; i < 3; i++)
        free(in[i]);
}

/* ---- 5. a kernel, and what is forgotten in it */

#ifdef HAVE_EMULATOR

enum { ROWS = 3, COLUMNS = 100 };

/* sums [ROWS] of rows of ones, with threads in this order; false: the device says what is wrong */
static bool add_up(float *sums, SumRows *sum_rows, Mistake mistake, const char *order, Error *e)
{
    float ones[ROWS * COLUMNS];
    void *x, *y;
    cudaStream_t queue;
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        ones[i] = 1;
    setenv("ATTEND_ORDER", order, 1);
    if (cudaStreamCreate(&queue) || cudaMalloc(&x, sizeof ones) || cudaMalloc(&y, ROWS * sizeof *sums))
        return fail(e, "no memory");
    cudaMemcpyAsync(x, ones, sizeof ones, cudaMemcpyHostToDevice, queue);
    cudaMemset(y, 0, ROWS * sizeof *sums);
    sum_rows(queue, y, x, ROWS, COLUMNS, mistake);
    cudaError_t error = cudaStreamSynchronize(queue);
    if (error != cudaSuccess)
        fail(e, "%s", cudaGetErrorString(error));
    cudaMemcpyAsync(sums, y, ROWS * sizeof *sums, cudaMemcpyDeviceToHost, queue);
    cudaFree(x), cudaFree(y), cudaStreamDestroy(queue);
    return error == cudaSuccess;
}

/* An error without the addresses in it, which differ from build to build */
static void print_error(const Error *e)
{
    const char *end = strstr(e->text, "addr2line");
    int size = end ? (int)(end - e->text) - 2 : (int)strlen(e->text);
    printf("%.*s%s\n", size, e->text, end && end[-1] == ' ' && end[-2] == ';' ? ")" : "");
}

static void forgotten(void)
{
    static const char *const names[] = {"all as it should be", "no barrier", "a barrier in a branch",
                                        "a plus for an atomicAdd", "no guard at the end"};
    static const char *const orders[] = {"forward", "backward", "random:1", "greedy:1"};
    float sums[ROWS];
    Error e;
    section("5. A kernel, and what is forgotten in it");
    printf("  sums of three rows of %d ones\n", COLUMNS);
    for (Mistake m = NO_MISTAKE; m <= NO_GUARD; m++) {
        printf("\n  %s\n", names[m]);
        for (size_t o = 0; m != NO_GUARD && o < 4; o++) { /* (without a guard it would crash) */
            printf("    %-9s ", orders[o]);
            if (add_up(sums, sum_rows_emulated, m, orders[o], &e))
                printf("%g %g %g\n", (double)sums[0], (double)sums[1], (double)sums[2]);
            else
                print_error(&e);
        }
#ifdef HAVE_CHECKED
        printf("    looked at ");
        if (add_up(sums, sum_rows_checked, m, "forward", &e))
            printf("nothing was found\n");
        else
            print_error(&e);
#endif
    }
#ifndef HAVE_CHECKED
    printf("left out: the checker, which this build does not have\n");
#endif
}

#else
static void forgotten(void) { printf("left out: kernels for a GPU, because no C++17 compiler was found\n"); }
#endif

/* ---- 6. how long it takes here */

static void time_rung(const char *name, const Kernels *k, const float *x, float *y, size_t n)
{
    Stream *s = NULL;
    Error e;
    double best = INFINITY;
    if (!k || !k->open(&s, 1, &e))
        return;
    for (int i = 0; i < 5; i++) {
        double began = clock_seconds();
        k->softmax_forward(s, y, x, n, n);
        best = fmin(best, clock_seconds() - began);
    }
    printf("  softmax of %zu rows of %zu, %-8s %8.2f ms\n", n, n, name, 1e3 * best);
    k->close(s);
}

static void how_long(void)
{
    enum { SIZE = 512 };
    float *x = numbers(SIZE * SIZE, 7, 1), *y = numbers(SIZE * SIZE, 8, 1);
    section("6. How long it takes here (other numbers each time)");
    time_rung("loops", &plain_f32, x, y, SIZE);
    time_rung("vectors", kernels_find("cpu", NUMBER_F32, NULL), x, y, SIZE);
    free(x), free(y);
}

int main(void)
{
    three_orders();
    under_way();
    what_is_moved();
    section("4. The ladder: each rung against the one below");
    ladder(true);
    printf("\n");
    ladder(false);
    forgotten();
    how_long();
    return 0;
}
