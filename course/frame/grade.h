/* What grades an exercise: a list of properties, each worth points, each tried in a process of its own.
 *
 * A check calls the student's function and says what it expects. The first thing that is not so ends the check, with
 * what was found, in numbers, and a hint. Whatever the function does, the grader survives: it may crash, run for ever,
 * write beyond its memory, end the program or return NaN; each has its own line. A check is run twice, the second time
 * with other numbers beside its blocks and in fresh memory: reading there costs the point, even if nothing shows.
 *
 *     static void sums_to_one(Grade *g)
 *     {
 *         float *x = grade_input(g, "x", 4 * 7, 1), *y = grade_output(g, "y", 4 * 7);
 *         mine_softmax_forward(NULL, y, x, 4, 7);
 *         for (size_t i = 0; i < 4; i++)
 *             expect(g, ..., "a hint", "row %zu sums to %g, not to 1", i, sum);
 *     }
 *
 * Nothing has to be freed: the process of a check ends with it. */
#ifndef COURSE_FRAME_GRADE_H
#define COURSE_FRAME_GRADE_H

#include "kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Grade Grade;

typedef struct Check {
    const char *function; /* of the exercise, without mine_: "softmax_forward" */
    const char *property; /* a sentence that must hold */
    int points;
    void (*run)(Grade *g);
    int seconds; /* that it may take; 0: 5 */
} Check;

/* An operation that is timed beside plain's and cpu's: sets up its arguments, then calls k's operation while
 * grade_again says so. */
typedef struct Timed {
    const char *operation;
    void (*call)(Grade *g, const Kernels *k, Stream *s);
} Timed;

typedef struct Lesson {
    const char *title; /* "01 A weighted average" */
    const Check *checks;
    size_t count;
    void (*mine)(Kernels *k); /* puts the exercise's operations into a table; NULL: it has none */
    const Timed *timed;
    size_t timed_count;
} Lesson;

/* The main function of a grader. Arguments: none: grades, in words; `operations`: the names of operations in the table
 * that passed all their checks, one a line; `table`: points and speed, one line each, for make course. Exit status: 0
 * all points, 1 not all, 2 wrong arguments. */
int grade_main(const Lesson *lesson, int argc, char **argv);

/* Memory for a call, with a guard on both sides. An input holds uniform numbers in (-1,1) and must not change; an
 * output holds something that shows if it was not written. Sizes in numbers. */
float *grade_input(Grade *g, const char *name, size_t n, unsigned seed);
float *grade_output(Grade *g, const char *name, size_t n);

/* An input that the check fills itself must be sealed before the call: from then on it must not change. */
void grade_seal(Grade *g);

/* Whether to call the operation once more for its time. */
bool grade_again(Grade *g);

/* Ends the check unless `holds`. A hint may be NULL. */
void expect(Grade *g, bool holds, const char *hint, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The result of a certain mistake, and what to say about it. The last has value NULL. */
typedef struct Suspect {
    const double *value;
    const char *hint;
} Suspect;

/* Expects numbers, within tolerance * the largest expected one (but at least 1). Where they are not, but are those of a
 * suspect, or were not written, or were added to what was there, the hint says so. columns: of a row, to name a place;
 * 0: one list. suspects and hint may be NULL. */
void expect_numbers(Grade *g, const char *name, const float *found, const double *expected, size_t n, size_t columns,
                    double tolerance, const Suspect *suspects, const char *hint);

/* Zeroed memory for what a check computes itself. */
double *grade_doubles(size_t n);

#endif
