/* Lesson 4: other scores. See README.md beside this file; `make lesson-04` runs it.
 *
 *     dot q . k        bilinear (W q) . k        additive v . tanh(Wq q + Wk k + b)
 *
 * A query has to find the right one of several keys, and what "right" means is different in three tasks. Each score
 * learns each task. */
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/plain/plain.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

enum { B = 16, S = 8, D = 6, F = 48, STEPS = 1500, SHOWN = 15, TESTED = 40, MOST = 2 * F * D + 2 * F };

typedef enum Score { DOT, BILINEAR, ODD, ADDITIVE, SCORES } Score;
typedef enum Task { ALIKE, TURNED, NEAREST, TASKS } Task;

static const char *const score_names[SCORES] = {"dot", "bilinear", "additive, no b", "additive"};
static const char *const task_names[TASKS] = {"largest q.k", "largest Aq.k", "nearest k"};
static const size_t parameters[SCORES] = {0, (size_t)D *D, MOST - F, MOST};

typedef struct Batch {
    float q[B * D], keys[B * S * D];
    size_t right[B]; /* which key is to be found */
} Batch;

typedef struct Model {
    Score score;
    float w[MOST], m[MOST], v[MOST], g[MOST];    /* bilinear: W [D,D]; additive: Wq [F,D], Wk [F,D], v, b [F] */
    float aq[B * F], a[B * S * F], t[B * S * F]; /* Wq q, the sums, and tanh of them */
    float s[B * S];
} Model;

static float normal(uint32_t step, uint64_t i, uint32_t site) { return (float)philox_normal(1, step, i, site); }

/* How right key j is for a query: what a task means by that, and no score is told */
static float rightness(Task task, const float *q, const float *key)
{
    float sum = 0;
    for (size_t i = 0; i < D; i++)
        switch (task) {
        case TURNED: sum += q[(i + 1) % D] * (i % 2 ? -1.0f : 1.0f) * key[i]; break; /* a matrix A without a name */
        case NEAREST: sum -= (q[i] - key[i]) * (q[i] - key[i]); break;
        default: sum += q[i] * key[i];
        }
    return sum;
}

static void batch_of(Batch *batch, Task task, uint32_t step)
{
    for (size_t i = 0; i < B * D; i++)
        batch->q[i] = normal(step, i, 1);
    for (size_t i = 0; i < B * S * D; i++)
        batch->keys[i] = normal(step, i, 2);
    for (size_t b = 0; b < B; b++) {
        const float *keys = batch->keys + b * S * D, *q = batch->q + b * D;
        batch->right[b] = 0;
        for (size_t j = 1; j < S; j++)
            if (rightness(task, q, keys + j * D) > rightness(task, q, keys + batch->right[b] * D))
                batch->right[b] = j;
    }
}

/* s [B,S]: of each query and each of its keys q . k; q and keys as the score has changed them */
static void dots(float *s, const float *q, const float *keys)
{
    k->product(NULL, (Operand){s, S, 0, S, 1}, false, (Operand){(void *)(uintptr_t)q, D, 0, D, 1},
               (Operand){(void *)(uintptr_t)keys, S * D, 0, 1, D}, 1, B, 1, 1, S, D);
}

static void score(Model *m, const Batch *x)
{
    const float *wq = m->w, *wk = m->w + F * D, *v = m->w + 2 * F * D, *bias = m->score == ODD ? NULL : v + F;
    switch (m->score) {
    case BILINEAR:
        k->linear_forward(NULL, m->aq, false, x->q, m->w, NULL, false, B, D, D);
        dots(m->s, m->aq, x->keys);
        break;
    case ODD:
    case ADDITIVE:
        k->linear_forward(NULL, m->aq, false, x->q, wq, bias, false, B, D, F);
        k->linear_forward(NULL, m->a, false, x->keys, wk, NULL, false, B * S, D, F);
        for (size_t i = 0; i < B * S * F; i++)
            m->a[i] += m->aq[i / (S * F) * F + i % F];
        k->activation_forward(NULL, m->t, m->a, ACTIVATION_TANH, B * S * F);
        k->linear_forward(NULL, m->s, false, m->t, v, NULL, false, B * S, F, 1);
        break;
    default: dots(m->s, x->q, x->keys);
    }
}

/* Adds to g what ds [B,S] says; ds is spoiled. */
static void score_backward(Model *m, const Batch *x, float *ds)
{
    static float da[B * S * F], daq[B * F];
    float *gq = m->g, *gk = m->g + F * D, *gv = m->g + 2 * F * D, *gbias = gv + F;
    if (m->score == BILINEAR) { /* d(Wq) = ds k */
        k->product(NULL, (Operand){daq, D, 0, D, 1}, false, (Operand){ds, S, 0, S, 1},
                   (Operand){(void *)(uintptr_t)x->keys, S * D, 0, D, 1}, 1, B, 1, 1, D, S);
        k->linear_backward(NULL, NULL, false, m->g, NULL, daq, NULL, x->q, m->w, false, B, D, D);
    } else if (m->score != DOT) {
        k->linear_backward(NULL, da, false, gv, NULL, ds, NULL, m->t, m->w + 2 * F * D, false, B * S, F, 1);
        k->activation_backward(NULL, da, false, da, m->a, ACTIVATION_TANH, B * S * F);
        memset(daq, 0, sizeof daq);
        for (size_t i = 0; i < B * S * F; i++) /* a query is in all of its sums */
            daq[i / (S * F) * F + i % F] += da[i];
        k->linear_backward(NULL, NULL, false, gq, m->score == ODD ? NULL : gbias, daq, NULL, x->q, m->w, false, B, D,
                           F);
        k->linear_backward(NULL, NULL, false, gk, NULL, da, NULL, x->keys, m->w, false, B * S, D, F);
    }
}

/* One step of Adam for the mean of -log softmax(s)[right], whose gradient by s is softmax(s) - 1 at the right one */
static void learn(Model *m, const Batch *x, int step)
{
    float ds[B * S];
    StepState state = {.learning_rate = 0.01, .clip = 1, .finite = 1};
    score(m, x);
    k->softmax_forward(NULL, ds, m->s, B, S);
    for (size_t b = 0; b < B; b++)
        ds[b * S + x->right[b]] -= 1;
    for (size_t i = 0; i < B * S; i++)
        ds[i] /= B;
    memset(m->g, 0, sizeof m->g);
    score_backward(m, x, ds);
    state.correction1 = 1 - pow(0.9, step), state.correction2 = 1 - pow(0.999, step);
    k->adam(NULL, m->w, NULL, m->m, m->v, m->g, &state, (Adam){0.9, 0.999, 1e-8}, NULL, 0, 0, parameters[m->score]);
}

/* The share of queries whose best score is the right key's, on batches that were not learned from */
static float found(Model *m, Task task)
{
    static Batch x;
    size_t hits = 0;
    for (uint32_t step = 0; step < TESTED; step++) {
        batch_of(&x, task, 1000000 + step);
        score(m, &x);
        for (size_t b = 0; b < B; b++) {
            int32_t best;
            k->argmax(NULL, &best, m->s + b * S, 1, S);
            hits += (size_t)best == x.right[b];
        }
    }
    return (float)hits / (TESTED * B);
}

static void try_all(void)
{
    static Model m;
    static Batch x;
    static float result[SCORES][TASKS], step[SHOWN], curve[SCORES][SHOWN];
    section("1. Three scores learn three tasks");
    printf("  %d keys of %d numbers; found by chance: %.2f\n\n", S, D, 1.0 / S);
    for (Score s = 0; s < SCORES; s++)
        for (Task task = 0; task < TASKS; task++) {
            memset(&m, 0, sizeof m);
            m.score = s;
            for (size_t i = 0; i < MOST; i++)
                m.w[i] = normal(0, i, 3) / sqrtf(D);
            for (int i = 0; i < STEPS; i++) {
                batch_of(&x, task, (uint32_t)i + 1);
                learn(&m, &x, i + 1);
                if (task == NEAREST && (i + 1) % (STEPS / SHOWN) == 0) {
                    step[(i + 1) / (STEPS / SHOWN) - 1] = (float)(i + 1);
                    curve[s][(i + 1) / (STEPS / SHOWN) - 1] = found(&m, task);
                }
            }
            result[s][task] = found(&m, task);
        }
    print_matrix("share of right keys found, after 1500 steps", result[0], SCORES, TASKS, score_names, task_names);
    const Curve curves[] = {{score_names[0], step, curve[0], SHOWN},
                            {score_names[1], step, curve[1], SHOWN},
                            {score_names[3], step, curve[3], SHOWN}};
    draw_curves(&(Plot){"04-nearest", "finding the nearest key", "step", "share found", false, false}, curves, 3);
}

/* ---- 2. what they cost */

static void costs(void)
{
    section("2. What they cost in a block: one row, 8 heads of 32");
    printf("  %8s  %10s  %14s  %14s  %12s\n", "T = S", "score", "multiplications", "tanh", "floats held");
    for (size_t t = 64; t <= 1024; t *= 4)
        for (Score s = 0; s < SCORES; s += s == BILINEAR ? 2 : 1) {
            double heads = 8, dk = 32, pairs = (double)(t * t) * heads, maps = (double)t * heads * dk * dk;
            double multiplied = pairs * dk + (s == BILINEAR ? maps : s == ADDITIVE ? 2 * maps : 0);
            double held = pairs + (s == ADDITIVE ? 2 * pairs * dk : 0); /* sums, and tanh of them */
            printf("  %8zu  %10s  %12.1f M  %12.1f M  %10.1f M\n", t, score_names[s], multiplied / 1e6,
                   s == ADDITIVE ? pairs * dk / 1e6 : 0, held / 1e6);
        }
}

int main(void)
{
    try_all();
    costs();
    return 0;
}
