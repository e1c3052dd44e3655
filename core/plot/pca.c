/* See pca.h. Eigenvectors come from multiplying a vector by C again and again, which turns it towards the largest one;
 * the second is kept at a right angle to the first. Where two eigenvalues are nearly the same that takes long, but then
 * what is found shows nearly as much. */
#include "core/plot/pca.h"

#include "base/memory.h"

#include <math.h>

enum { ROUNDS = 2000 };

static void centre(double *x, size_t rows, size_t columns)
{
    for (size_t j = 0; j < columns; j++) {
        double mean = 0;
        for (size_t i = 0; i < rows; i++)
            mean += x[i * columns + j] / (double)rows;
        for (size_t i = 0; i < rows; i++)
            x[i * columns + j] -= mean;
    }
}

/* c [columns, columns] */
static void covariance(double *c, const double *x, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            for (size_t k = 0; k < columns; k++)
                c[j * columns + k] += x[i * columns + j] * x[i * columns + k];
}

static double product(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Makes v as long as 1 and orthogonal to `other` (which may be NULL); zeros and false where it is no longer than
 * `least` then: rounding alone. */
static bool normalise(double *v, const double *other, size_t n, double least)
{
    double along = other ? product(v, other, n) : 0;
    for (size_t i = 0; other && i < n; i++)
        v[i] -= along * other[i];
    double length = sqrt(product(v, v, n));
    for (size_t i = 0; i < n; i++)
        v[i] = length > least ? v[i] / length : 0;
    return length > least;
}

/* v [n] becomes an eigenvector of c, whose trace is `all`; next: room for one. Its eigenvalue. */
static double largest(double *v, double *next, const double *c, const double *other, size_t n, double all)
{
    double value = 0, moved = 1;
    for (size_t i = 0; i < n; i++)
        v[i] = sin((double)i + 1); /* no direction that anything else here would know of */
    bool left = normalise(v, other, n, 1e-12);
    for (size_t round = 0; left && round < ROUNDS && moved > 1e-12; round++) {
        for (size_t i = 0; i < n; i++)
            next[i] = product(c + i * n, v, n);
        value = product(next, v, n);
        left = normalise(next, other, n, 1e-12 * all);
        moved = 0;
        for (size_t i = 0; i < n; i++) {
            moved = fmax(moved, fabs(next[i] - v[i]));
            v[i] = next[i];
        }
    }
    return left ? value : 0;
}

/* Its largest coordinate becomes positive. */
static void point_up(double *v, size_t n)
{
    size_t most = 0;
    for (size_t i = 1; i < n; i++)
        most = fabs(v[i]) > fabs(v[most]) ? i : most;
    double sign = v[most] < 0 ? -1 : 1;
    for (size_t i = 0; i < n; i++)
        v[i] *= sign;
}

bool pca(double *points, size_t rows, size_t columns, double *coordinates, double share[2], Error *e)
{
    double *c = memory_get(columns * columns, sizeof *c), *v = memory_get(3 * columns, sizeof *v), all = 0;
    bool fine = (c && v) || memory_error(e, "a covariance", columns * columns, sizeof *c);
    if (fine) {
        centre(points, rows, columns);
        covariance(c, points, rows, columns);
        for (size_t i = 0; i < columns; i++)
            all += c[i * columns + i];
        for (size_t k = 0; k < 2; k++) {
            double value = largest(v + k * columns, v + 2 * columns, c, k ? v : NULL, columns, all);
            point_up(v + k * columns, columns);
            share[k] = all > 0 ? value / all : 0;
            for (size_t i = 0; i < rows; i++)
                coordinates[2 * i + k] = product(points + i * columns, v + k * columns, columns);
        }
    }
    memory_free(c);
    memory_free(v);
    return fine;
}
