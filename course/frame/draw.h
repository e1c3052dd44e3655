/* What lessons draw: always as text, and as a picture beside it where gnuplot is there.
 *
 * Pictures go to build/course/NAME.png; a line says so where one was made. */
#ifndef COURSE_FRAME_DRAW_H
#define COURSE_FRAME_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* FAST=1 in the environment: a lesson that takes its time does with less. */
bool lesson_is_fast(void);

/* The seed with which a lesson trains: SEED=2, 3, ... in the environment gives another one for each `usual`. */
uint32_t lesson_seed(uint32_t usual);

/* "---- 1. TITLE" */
void section(const char *title);

/* The numbers of a matrix [rows, columns], with names of rows and of columns where they are not NULL. */
void print_matrix(const char *title, const float *x, size_t rows, size_t columns, const char *const *row_names,
                  const char *const *column_names);

/* The same as shades: the darkest is the largest number, blank is 0 or less. */
void draw_matrix(const char *name, const char *title, const float *x, size_t rows, size_t columns,
                 const char *const *row_names, const char *const *column_names);

/* Curves. A value that is not finite, or not above 0 on an axis of logarithms, is left out. */
typedef struct Curve {
    const char *label; /* its first letter draws it in text */
    const float *x, *y;
    size_t n;
} Curve;

typedef struct Plot {
    const char *name, *title, *x, *y; /* of the picture's file, above it, of the axes */
    bool log_x, log_y;
} Plot;

void draw_curves(const Plot *plot, const Curve *curves, size_t count);

/* Points [n,2] with a name each. */
void draw_points(const Plot *plot, const float *points, const char *const *names, size_t n);

#endif
