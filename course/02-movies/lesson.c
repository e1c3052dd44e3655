/* Lesson 2: why dot products. See README.md beside this file; `make lesson-02` runs it.
 *
 *     rating of film f by viewer v  =  u[v] . m[f]        u [V,d] what viewers like, m [F,d] what films have
 *
 * First both are made by hand, then learned from ratings. With MOVIELENS=FILE (ml-latest-small, packed or as the folder
 * that it unpacks to) real ratings are learned, too: movielens.c. */
#include "course/02-movies/movielens.h"
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/plain/plain.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const Kernels *const k = &plain_f32;

enum { VIEWERS = 8, FILMS = 8, HAND = 2 };

static const char *const films[FILMS] = {"Casablanca", "Titanic",    "Notting Hill", "Amelie",
                                         "Die Hard",   "Terminator", "Alien",        "Mr & Mrs Smith"};
static const char *const viewers[VIEWERS] = {"Ann", "Ben", "Cem", "Dai", "Eva", "Fay", "Gus", "Hao"};
static const char *const features[HAND] = {"romance", "action"};

/* How much of each a film has, and how much each viewer likes it */
static const float film[FILMS][HAND] = {{0.9f, 0.2f},  {1.0f, 0.5f},  {0.9f, -0.6f}, {0.7f, -0.3f},
                                        {-0.4f, 1.0f}, {-0.3f, 0.9f}, {-0.8f, 0.7f}, {0.6f, 0.8f}};
static const float viewer[VIEWERS][HAND] = {{2.0f, -1.0f}, {-1.0f, 2.0f}, {1.2f, 1.2f},   {-1.5f, -0.3f},
                                            {1.8f, 0.2f},  {0.3f, 1.7f},  {-0.4f, -1.6f}, {1.0f, -1.4f}};

/* y [V,F] = u m^T */
static void predict(float *y, const float *u, const float *m, size_t v, size_t f, size_t d)
{
    k->product(NULL, matrix(y, f), false, matrix(u, d), transposed(matrix(m, d)), 1, 1, 1, v, f, d);
}

/* ---- 1. by hand */

static void by_hand(float *ratings)
{
    float across[FILMS * VIEWERS]; /* films down, viewers across: it fits a page better */
    section("1. Features made by hand");
    print_matrix("m: what films have", film[0], FILMS, HAND, films, features);
    print_matrix("u: what viewers like", viewer[0], VIEWERS, HAND, viewers, features);
    predict(ratings, viewer[0], film[0], VIEWERS, FILMS, HAND);
    predict(across, film[0], viewer[0], FILMS, VIEWERS, HAND);
    print_matrix("m u^T: above 0 they like it, below they do not", across, FILMS, VIEWERS, films, viewers);
}

/* ---- 2. learned */

/* The ratings that are known: what was made by hand, with a little noise; one in four is kept back. */
static size_t table_of(Rating *known, size_t *kept_back, const float *ratings)
{
    size_t n = 0, hidden = 0;
    Rating rest[VIEWERS * FILMS] = {{0}};
    for (size_t i = 0; i < VIEWERS * FILMS; i++) {
        Rating r = {i / FILMS, i % FILMS, ratings[i] + 0.2f * (float)philox_normal(1, 0, i, 0)};
        if ((i / FILMS + 3 * (i % FILMS)) % 4)
            known[n++] = r;
        else
            rest[hidden++] = r;
    }
    for (size_t i = 0; i < hidden; i++)
        known[n + i] = rest[i];
    *kept_back = hidden;
    return n;
}

/* The features of films in a plane. Any turn of the plane is as good, so it is turned until the first axis is the one
 * along which viewers' likes agree best with romance: for the eye alone. */
static void draw_films(const float *u, const float *m)
{
    float turned_m[FILMS][2], axis[2] = {0, 0};
    for (size_t v = 0; v < VIEWERS; v++)
        for (size_t j = 0; j < 2; j++)
            axis[j] += viewer[v][0] * u[v * 2 + j];
    float length = sqrtf(axis[0] * axis[0] + axis[1] * axis[1]);
    for (size_t f = 0; f < FILMS; f++) {
        turned_m[f][0] = (axis[0] * m[f * 2] + axis[1] * m[f * 2 + 1]) / length;
        turned_m[f][1] = (-axis[1] * m[f * 2] + axis[0] * m[f * 2 + 1]) / length;
    }
    if (turned_m[4][1] < 0) /* and a mirror is as good, too */
        for (size_t f = 0; f < FILMS; f++)
            turned_m[f][1] = -turned_m[f][1];
    draw_points(
        &(Plot){
            .name = "02-films", .title = "films by two features that nobody named", .x = "feature 1", .y = "feature 2"},
        turned_m[0], films, FILMS);
}

static void learned(const float *ratings)
{
    enum { EPOCHS = 400, WIDTHS = 4 };
    static const size_t widths[WIDTHS] = {1, 2, 4, 8};
    Rating known[VIEWERS * FILMS];
    float u[VIEWERS * 8], m[FILMS * 8], epoch[EPOCHS], error[2][EPOCHS];
    size_t hidden, n = table_of(known, &hidden, ratings);
    section("2. Features that were learned");
    printf("  %zu ratings are known, %zu were kept back; typical error (root of the mean square):\n\n", n, hidden);
    printf("  features  known  kept back\n");
    for (size_t w = 0; w < WIDTHS; w++) {
        size_t d = widths[w];
        features_begin(u, VIEWERS * d, 1), features_begin(m, FILMS * d, 2);
        for (size_t e = 0; e < EPOCHS; e++) {
            factorise_epoch(u, m, known, n, d, 0.05f, 0.01f);
            epoch[e] = (float)(e + 1);
            for (int side = 0; side < 2 && d == 2; side++)
                error[side][e] = typical_error(u, m, side ? known + n : known, side ? hidden : n, d);
        }
        printf("  %8zu  %5.2f  %9.2f\n", d, (double)typical_error(u, m, known, n, d),
               (double)typical_error(u, m, known + n, hidden, d));
    }
    printf("\n");
    const Curve curves[] = {{"known", epoch, error[0], EPOCHS}, {"held back", epoch, error[1], EPOCHS}};
    draw_curves(&(Plot){"02-learning", "two features are learned", "epoch", "typical error", true, false}, curves, 2);
    features_begin(u, VIEWERS * 2, 1), features_begin(m, FILMS * 2, 2);
    for (size_t e = 0; e < EPOCHS; e++)
        factorise_epoch(u, m, known, n, 2, 0.05f, 0.01f);
    print_matrix("m: what was learned of films", m, FILMS, 2, films, NULL);
    draw_films(u, m);
}

/* ---- 3. what goes wrong: features have no names, and steps can be too long */

static void no_names(void)
{
    static const float turn[2][2] = {{0.6f, -0.8f}, {0.8f, 0.6f}};
    float u[VIEWERS * HAND], m[FILMS * HAND], before[VIEWERS * FILMS], after[VIEWERS * FILMS], difference = 0;
    section("3. What goes wrong");
    predict(before, viewer[0], film[0], VIEWERS, FILMS, HAND);
    k->product(NULL, matrix(u, HAND), false, matrix(viewer[0], HAND), matrix(turn[0], HAND), 1, 1, 1, VIEWERS, HAND,
               HAND);
    k->product(NULL, matrix(m, HAND), false, matrix(film[0], HAND), matrix(turn[0], HAND), 1, 1, 1, FILMS, HAND, HAND);
    predict(after, u, m, VIEWERS, FILMS, HAND);
    for (size_t i = 0; i < VIEWERS * FILMS; i++)
        difference = fmaxf(difference, fabsf(after[i] - before[i]));
    printf("  Casablanca is %.2f, %.2f; turned by 53 degrees %.2f, %.2f\n", (double)film[0][0], (double)film[0][1],
           (double)m[0], (double)m[1]);
    printf("  with viewers turned, too, no rating changes by more than 1e-6: %s\n\n",
           difference < 1e-6f ? "yes" : "no");
}

static void too_fast(const float *ratings)
{
    static const float rates[] = {0.001f, 0.05f, 0.3f, 1.0f};
    Rating known[VIEWERS * FILMS];
    float u[VIEWERS * 2], m[FILMS * 2];
    size_t hidden, n = table_of(known, &hidden, ratings);
    for (size_t i = 0; i < 4; i++) {
        features_begin(u, VIEWERS * 2, 1), features_begin(m, FILMS * 2, 2);
        for (int e = 0; e < 100; e++)
            factorise_epoch(u, m, known, n, 2, rates[i], 0.01f);
        float error = typical_error(u, m, known, n, 2);
        printf("  learning rate %-5g, 100 epochs: typical error ", (double)rates[i]);
        isfinite(error) ? printf("%.2f\n", (double)error) : printf("NaN\n");
    }
    for (size_t i = 0; i < VIEWERS * 2; i++)
        u[i] = m[i] = 0;
    for (int e = 0; e < 100; e++)
        factorise_epoch(u, m, known, n, 2, 0.05f, 0.01f);
    printf("  all features begin as 0, 100 epochs: typical error %.2f\n", (double)typical_error(u, m, known, n, 2));
}

int main(void)
{
    float ratings[VIEWERS * FILMS];
    const char *path = getenv("MOVIELENS");
    Error e = {{0}};
    by_hand(ratings);
    learned(ratings);
    no_names();
    too_fast(ratings);
    if (path && *path && !movielens(path, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    return 0;
}
