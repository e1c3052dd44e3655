/* Lesson 18: one way to do exercises 1 to 3; 18-kernel.cu has the others. */
#include "course/18-kernel/exercise.h"
#include "kernels/cpu/vector.h"

#include <math.h>

/* Lanes after the end of a row hold `other`. */
static Vec load(const float *x, size_t left, float other)
{
    return left < WIDTH ? vec_select(vec_first(left), vec_load_some(x, left), vec_set(other)) : vec_load(x);
}

static void store(float *y, Vec v, size_t left)
{
    if (left < WIDTH)
        vec_store_some(y, v, left);
    else
        vec_store(y, v);
}

/* A row whose largest number is -infinity: zeros if all are, else there is NaN in it. */
static void hidden_row(float *y, const float *x, size_t columns)
{
    float all = 0;
    for (size_t j = 0; j < columns; j++)
        all += x[j];
    for (size_t j = 0; j < columns; j++)
        y[j] = isnan(all) ? NAN : 0;
}

static void softmax(float *y, const float *x, size_t columns)
{
    Vec best = vec_set(-INFINITY), sum = vec_set(0);
    for (size_t j = 0; j < columns; j += WIDTH)
        best = vec_max(load(x + j, columns - j, -INFINITY), best);
    float largest = vec_largest(best);
    if (largest == -INFINITY) {
        hidden_row(y, x, columns);
        return;
    }
    for (size_t j = 0; j < columns; j += WIDTH) { /* exp(-infinity) is 0, so what is after the end adds nothing */
        Vec power = vec_exp(load(x + j, columns - j, -INFINITY) - largest);
        store(y + j, power, columns - j);
        sum += power;
    }
    float total = vec_sum(sum);
    for (size_t j = 0; j < columns; j += WIDTH)
        store(y + j, load(y + j, columns - j, 0) / total, columns - j);
}

void mine_softmax_forward(Stream *s, void *y, const void *x, size_t n, size_t columns)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        softmax((float *)y + i * columns, (const float *)x + i * columns, columns);
}

void merge_parts(Part *all, const Part *other, size_t d)
{
    if (other->largest == -INFINITY)
        return;
    float largest = fmaxf(all->largest, other->largest);
    float mine = expf(all->largest - largest), its = expf(other->largest - largest);
    all->largest = largest;
    all->sum = mine * all->sum + its * other->sum;
    for (size_t c = 0; c < d; c++)
        all->y[c] = mine * all->y[c] + its * other->y[c];
}

static float dot(const float *a, const float *b, size_t d)
{
    float sum = 0;
    for (size_t c = 0; c < d; c++)
        sum += a[c] * b[c];
    return sum;
}

/* The part of a query with up to TILE keys: TILE is a multiple of WIDTH, and keys that are not there have score
 * -infinity. */
static void take_tile(Part *part, const float *q, const float *k, const float *v, float scale, size_t keys, size_t d)
{
    float weights[TILE];
    Vec sum = vec_set(0);
    part->largest = -INFINITY;
    for (size_t j = 0; j < TILE; j++) {
        weights[j] = j < keys ? scale * dot(q, k + j * d, d) : -INFINITY;
        part->largest = fmaxf(part->largest, weights[j]);
    }
    for (size_t j = 0; j < TILE; j += WIDTH) {
        Vec power = vec_exp(vec_load(weights + j) - part->largest);
        vec_store(weights + j, power);
        sum += power;
    }
    part->sum = vec_sum(sum);
    for (size_t c = 0; c < d; c++)
        part->y[c] = 0;
    for (size_t j = 0; j < keys; j++)
        for (size_t c = 0; c < d; c++)
            part->y[c] += weights[j] * v[j * d + c];
}

void attend_in_tiles(float *y, const float *q, const float *k, const float *v, float scale, size_t n, size_t m,
                     size_t d)
{
    float tile[MOST];
    for (size_t i = 0; i < n; i++) {
        Part all = {-INFINITY, 0, y + i * d}, part = {-INFINITY, 0, tile};
        for (size_t c = 0; c < d; c++)
            all.y[c] = 0;
        for (size_t first = 0; first < m; first += TILE) {
            size_t keys = m - first < TILE ? m - first : TILE;
            take_tile(&part, q + i * d, k + first * d, v + first * d, scale, keys, d);
            merge_parts(&all, &part, d);
        }
        for (size_t c = 0; c < d && all.sum > 0; c++)
            all.y[c] /= all.sum;
    }
}
