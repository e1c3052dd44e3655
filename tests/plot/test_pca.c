/* The two directions in which points differ most, against points whose directions are known. */
#include "core/plot/pca.h"
#include "core/plot/points.h"

#include "base/memory.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, COLUMNS = 3 };

/* Along (0, 0.6, 0.8) they are at 3 and -3, along (1, 0, 0) at 2 and -2, along (0, -0.8, 0.6) at 1 and -1: variances 9,
 * 4 and 1 of 14; all of it moved by (5, 6, 7). */
static void points_of(double *x)
{
    static const double along[COLUMNS][COLUMNS] = {{0, 0.6, 0.8}, {1, 0, 0}, {0, -0.8, 0.6}};
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            x[i * COLUMNS + j] = 5 + (double)j + (i % 2 ? -1 : 1) * (3 - (double)(i / 2)) * along[i / 2][j];
}

START_TEST(directions_and_shares_are_those_that_were_put_in)
{
    double x[ROWS * COLUMNS], place[ROWS * 2], share[2];
    static const double expected[ROWS][2] = {{3, 0}, {-3, 0}, {0, 2}, {0, -2}, {0, 0}, {0, 0}};
    Error e;
    points_of(x);
    ck_done(pca(x, ROWS, COLUMNS, place, share, &e), e);
    ck_assert_double_eq_tol(share[0], 9 / 14., 1e-12);
    ck_assert_double_eq_tol(share[1], 4 / 14., 1e-12);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < 2; k++)
            ck_assert_double_eq_tol(place[2 * i + k], expected[i][k], 1e-9);
}

START_TEST(few_points_have_few_directions)
{
    double one[] = {7, 8}, place[8], share[2], line[] = {1, 1, 2, 2, 3, 3}, column[] = {1, 2, 6};
    Error e;
    ck_done(pca(one, 1, 2, place, share, &e), e);
    ck_assert(share[0] == 0 && share[1] == 0 && place[0] == 0 && place[1] == 0);
    ck_done(pca(line, 3, 2, place, share, &e), e);
    ck_assert(fabs(share[0] - 1) < 1e-12 && fabs(share[1]) < 1e-12);
    ck_assert(fabs(place[0] + sqrt(2)) < 1e-12 && fabs(place[4] - sqrt(2)) < 1e-12 && fabs(place[1]) < 1e-12);
    ck_done(pca(column, 3, 1, place, share, &e), e);
    ck_assert(fabs(share[0] - 1) < 1e-12 && share[1] == 0 && place[0] == -2 && place[4] == 3);
}

static const char *const words[] = {"#", "a b", "\"", "\\", "_^{}@", "\xff", "\xe6\xb3\xa8", "8", "8", "8"};
enum { WORDS = sizeof words / sizeof *words };

static bool add_points(void *result, Error *e)
{
    Buffer b = {0};
    Labels names = {0};
    double table[WORDS * 2];
    bool fine = true;
    for (size_t i = 0; fine && i < WORDS; i++) {
        table[2 * i] = i < 7 ? (double)i : 3.5; /* the last three are on one another */
        table[2 * i + 1] = i < 7 ? (double)(i % 2) : 0.2;
        fine = labels_add(&names, words[i], strlen(words[i]), false, e);
    }
    fine = fine && points_add(&b, "a table", table, WORDS, 2, &names, e);
    if (fine && result)
        *(char **)result = memory_string(b.text);
    labels_close(&names);
    buffer_free(&b);
    return fine;
}

START_TEST(each_token_is_a_line_and_names_do_not_overlap)
{
    char *data = NULL;
    Error e;
    ck_done(add_points(&data, &e), e);
    size_t lines = 0, eights = 0;
    ck_assert(strncmp(data, "a table\t", 8) == 0);
    for (char *at = strchr(data, '\n') + 1; *at; at = strchr(at, '\n') + 1, lines++) {
        char name[64];
        double x, y;
        int shown;
        ck_assert_int_eq(sscanf(at, "%lf\t%lf\t%d\t%63[^\n]", &x, &y, &shown, name), 4);
        eights += shown && strcmp(name, "8") == 0;
        ck_assert_msg(lines != 1 || strcmp(name, "a\u2423b") == 0, "%s", name);
        ck_assert_msg(lines != 5 || strcmp(name, "xFF") == 0, "%s", name);
    }
    ck_assert_uint_eq(lines, WORDS);
    ck_assert_uint_eq(eights, 1);
    memory_free(data);
}

START_TEST(each_failed_allocation_is_an_error) { fail_each_allocation(add_points, NULL); }

static const Test tests[] = {TEST(directions_and_shares_are_those_that_were_put_in),
                             TEST(few_points_have_few_directions), TEST(each_token_is_a_line_and_names_do_not_overlap),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv) { return suite_run("plot/pca", tests, sizeof tests / sizeof *tests, argc, argv); }
