/* See points.h. */
#include "core/plot/points.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "core/plot/pca.h"
#include "core/plot/picture.h"

#include <stdlib.h>
#include <string.h>

/* Of the picture's width and height: a letter, a name and its dot below it, and how many names there can be. */
static const double letter = 0.0125, line = 0.042;
enum { NAMES = 400 };

typedef struct Point {
    size_t token;
    double x, y; /* 0 to 1 */
    double far;  /* from the middle, squared */
} Point;

static int farther(const void *a, const void *b)
{
    const Point *x = a, *y = b;
    if (x->far > y->far || x->far < y->far)
        return x->far > y->far ? -1 : 1;
    return x->token < y->token ? -1 : 1;
}

/* Where points are in the picture, the farthest first. */
static void spread(Point *p, const double *coordinates, size_t count)
{
    for (size_t k = 0; k < 2; k++) {
        double low = coordinates[k], high = coordinates[k];
        for (size_t i = 0; i < count; i++) {
            low = coordinates[2 * i + k] < low ? coordinates[2 * i + k] : low;
            high = coordinates[2 * i + k] > high ? coordinates[2 * i + k] : high;
        }
        for (size_t i = 0; i < count; i++) {
            double at = high > low ? (coordinates[2 * i + k] - low) / (high - low) : 0.5;
            double middle = high > low ? (0 - low) / (high - low) : 0.5;
            *(k ? &p[i].y : &p[i].x) = at;
            p[i].far += (at - middle) * (at - middle);
        }
    }
    qsort(p, count, sizeof *p, farther);
}

static double width_of(const char *name)
{
    size_t size = strlen(name), letters = 0;
    for (size_t at = 0; at < size; at += utf8_step(name + at, size - at))
        letters += name[at] & 0x80 ? 2 : 1;
    return letter * (double)(letters + 1);
}

/* shown [count]: whether a point's name has room beside those of points before it. */
static void choose_names(const Point *p, size_t count, const Labels *names, bool *shown)
{
    size_t chosen[NAMES], so_far = 0;
    for (size_t i = 0; i < count && so_far < NAMES; i++) {
        double width = width_of(label_shown(names, p[i].token));
        bool free_place = true;
        for (size_t j = 0; free_place && j < so_far; j++) {
            const Point *q = &p[chosen[j]];
            double x = p[i].x > q->x ? p[i].x - q->x : q->x - p[i].x, y = p[i].y > q->y ? p[i].y - q->y : q->y - p[i].y;
            free_place = y > line || 2 * x > width + width_of(label_shown(names, q->token));
        }
        if (free_place)
            chosen[so_far++] = i;
        shown[p[i].token] = free_place;
    }
}

static void add_points(Buffer *b, const double *coordinates, const bool *shown, const Labels *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buffer_print(b, "%.9g\t%.9g\t%d\t", coordinates[2 * i], coordinates[2 * i + 1], shown[i]);
        picture_label(b, label_shown(names, i));
        buffer_print(b, "\n");
    }
}

bool points_add(Buffer *b, const char *title, double *table, size_t rows, size_t columns, const Labels *names, Error *e)
{
    double *coordinates = memory_get(rows, 2 * sizeof *coordinates), share[2];
    Point *p = memory_get(rows, sizeof *p);
    bool *shown = memory_get(rows, sizeof *shown);
    bool fine = (coordinates && p && shown) || memory_error(e, "points of a picture", rows, sizeof *p);
    fine = fine && pca(table, rows, columns, coordinates, share, e);
    if (fine) {
        for (size_t i = 0; i < rows; i++)
            p[i].token = i;
        spread(p, coordinates, rows);
        choose_names(p, rows, names, shown);
        buffer_print(b, "%s%s\t%.4g\t%.4g\n", b->size ? "\n\n" : "", title, 100 * share[0], 100 * share[1]);
        add_points(b, coordinates, shown, names, rows);
        fine = !b->failed || fail(e, "out of memory for the data of a picture");
    }
    memory_free(shown);
    memory_free(p);
    memory_free(coordinates);
    return fine;
}
