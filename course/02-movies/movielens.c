/* See movielens.h. */
#include "course/02-movies/movielens.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/text/archive.h"
#include "core/text/csv.h"
#include "course/frame/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void features_begin(float *x, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 0.1f * (float)philox_normal(seed, 0, i, 1);
}

static float dot(const float *a, const float *b, size_t d)
{
    float sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += a[j] * b[j];
    return sum;
}

/* One step downhill for one rating: e = u . m - rating, du = e m + lambda u, dm = e u + lambda m */
static void learn(float *u, float *m, float rating, size_t d, float rate, float lambda)
{
    float e = dot(u, m, d) - rating;
    for (size_t j = 0; j < d; j++) {
        float du = e * m[j] + lambda * u[j], dm = e * u[j] + lambda * m[j];
        u[j] -= rate * du;
        m[j] -= rate * dm;
    }
}

void factorise_epoch(float *u, float *m, const Rating *ratings, size_t n, size_t d, float rate, float lambda)
{
    for (const Rating *r = ratings; r < ratings + n; r++)
        learn(u + r->viewer * d, m + r->film * d, r->value, d, rate, lambda);
}

float typical_error(const float *u, const float *m, const Rating *ratings, size_t n, size_t d)
{
    double sum = 0;
    for (const Rating *r = ratings; r < ratings + n; r++)
        sum += pow((double)(dot(u + r->viewer * d, m + r->film * d, d) - r->value), 2);
    return (float)sqrt(sum / (double)n);
}

/* ---- MovieLens */

enum { VIEWERS = 2000, FILMS = 20000, RATINGS = 200000, SHOWN = 16, TITLE = 24 };

typedef struct Library {
    Rating *ratings;
    size_t n;
    long *film_id; /* [FILMS] MovieLens' numbers, in the order of movies.csv */
    char (*title)[TITLE];
    size_t films, viewers;
    char *csv[2]; /* movies.csv and ratings.csv */
    size_t size[2];
} Library;

static bool is_wanted(void *context, const char *name)
{
    (void)context;
    return strstr(name, "movies.csv") || strstr(name, "ratings.csv");
}

static bool take(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    Library *l = context;
    int which = strstr(name, "ratings.csv") != NULL;
    memory_free(l->csv[which]);
    l->csv[which] = memory_get(size + 1, 1);
    l->size[which] = size;
    if (!l->csv[which])
        return memory_error(e, name, size, 1);
    memcpy(l->csv[which], bytes, size);
    return true;
}

static bool read_films(Library *l, Error *e)
{
    static const char *const names[] = {"movieId", "title"};
    Csv c;
    CsvField field[2];
    bool row = true;
    if (!csv_open(&c, "movies.csv", l->csv[0], l->size[0], names, 2, e))
        return false;
    while (csv_next(&c, field, &row, e) && row) {
        if (l->films == FILMS)
            return fail(e, "movies.csv has more than %d films; this lesson is for ml-latest-small", FILMS);
        l->film_id[l->films] = strtol(field[0].text, NULL, 10);
        size_t size = 0; /* up to the year, or a comma */
        while (size < field[1].size && size + 1 < TITLE && !strchr("(,:", field[1].text[size]))
            size++;
        size -= size > 0 && field[1].text[size - 1] == ' ';
        snprintf(l->title[l->films++], TITLE, "%.*s", (int)size, field[1].text);
    }
    return !row;
}

static size_t film_of(const Library *l, long id)
{
    size_t low = 0, high = l->films;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->film_id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool read_ratings(Library *l, Error *e)
{
    static const char *const names[] = {"userId", "movieId", "rating"};
    Csv c;
    CsvField field[3];
    bool row = true;
    if (!csv_open(&c, "ratings.csv", l->csv[1], l->size[1], names, 3, e))
        return false;
    while (csv_next(&c, field, &row, e) && row) {
        size_t v = (size_t)strtol(field[0].text, NULL, 10), f = film_of(l, strtol(field[1].text, NULL, 10));
        if (l->n == RATINGS || v >= VIEWERS || f >= l->films)
            return fail(e, "ratings.csv:%zu: a rating too many, or of no film in movies.csv", c.line);
        l->ratings[l->n++] = (Rating){v, f, strtof(field[2].text, NULL)};
        l->viewers = v + 1 > l->viewers ? v + 1 : l->viewers;
    }
    return !row;
}

/* Every tenth rating, by chance, goes after the others; how many do not. */
static size_t keep_back(Library *l)
{
    size_t n = l->n;
    for (size_t i = l->n; i-- > 1;) { /* a shuffle */
        size_t j = (size_t)philox_below(i + 1, 3, 0, i, 2);
        Rating one = l->ratings[i];
        l->ratings[i] = l->ratings[j];
        l->ratings[j] = one;
    }
    return n - n / 10;
}

/* Takes off what needs no features: the mean of all, of the viewer and of the film, drawn towards 0 where few ratings
 * stand after it. Prints what each leaves. */
static void take_off_means(Library *l, size_t known)
{
    static const char *const names[] = {"the mean of all", "and each viewer's", "and each film's"};
    double *sum = memory_get(FILMS, sizeof *sum), *count = memory_get(FILMS, sizeof *count);
    for (int turn = 0; turn < 3 && sum && count; turn++) {
        double squares = 0;
        memset(sum, 0, FILMS * sizeof *sum), memset(count, 0, FILMS * sizeof *count);
        for (const Rating *r = l->ratings; r < l->ratings + known; r++) {
            size_t at = turn == 0 ? 0 : turn == 1 ? r->viewer : r->film;
            sum[at] += (double)r->value, count[at]++;
        }
        for (Rating *r = l->ratings; r < l->ratings + l->n; r++) {
            size_t at = turn == 0 ? 0 : turn == 1 ? r->viewer : r->film;
            r->value -= (float)(sum[at] / (count[at] + (turn ? 5 : 0)));
            squares += r >= l->ratings + known ? (double)r->value * (double)r->value : 0;
        }
        printf("  %-28s %.3f\n", names[turn], sqrt(squares / (double)(l->n - known)));
    }
    memory_free(sum);
    memory_free(count);
}

/* The films with the most ratings, by two features */
static void draw_known_films(const Library *l, const float *m)
{
    static size_t count[FILMS];
    const char *names[SHOWN];
    float points[SHOWN][2];
    memset(count, 0, sizeof count);
    for (size_t i = 0; i < l->n; i++)
        count[l->ratings[i].film]++;
    for (size_t i = 0; i < SHOWN; i++) {
        size_t best = 0;
        for (size_t f = 0; f < l->films; f++)
            best = count[f] > count[best] ? f : best;
        count[best] = 0;
        names[i] = l->title[best];
        points[i][0] = m[best * 2], points[i][1] = m[best * 2 + 1];
    }
    draw_points(&(Plot){.name = "02-movielens",
                        .title = "MovieLens: films with the most ratings",
                        .x = "feature 1",
                        .y = "feature 2"},
                points[0], names, SHOWN);
}

static void learn_features(Library *l, float *u, float *m)
{
    static const size_t widths[] = {0, 2, 8, 32};
    size_t known = keep_back(l);
    printf("  %zu ratings of %zu films; typical error on %zu that were kept back:\n\n", l->n, l->films, l->n - known);
    take_off_means(l, known);
    for (size_t w = 1; w < 4; w++) {
        size_t d = widths[w];
        features_begin(u, VIEWERS * d, 1), features_begin(m, FILMS * d, 2);
        for (int e = 0; e < (lesson_is_fast() ? 5 : 30); e++)
            factorise_epoch(u, m, l->ratings, known, d, 0.02f, 0.08f);
        printf("  and %2zu features, learned      %.3f   (on the known ones %.3f)\n", d,
               (double)typical_error(u, m, l->ratings + known, l->n - known, d),
               (double)typical_error(u, m, l->ratings, known, d));
        if (d == 2)
            draw_known_films(l, m);
    }
}

bool movielens(const char *path, Error *e)
{
    Library l = {.ratings = memory_get(RATINGS, sizeof *l.ratings),
                 .film_id = memory_get(FILMS, sizeof *l.film_id),
                 .title = memory_get(FILMS, sizeof *l.title)};
    float *u = memory_get(VIEWERS * 32, sizeof *u), *m = memory_get(FILMS * 32, sizeof *m);
    const Entries entries = {is_wanted, take, &l};
    bool done = (l.ratings && l.film_id && l.title && u && m) ||
                memory_error(e, "MovieLens", RATINGS, sizeof *l.ratings);
    section("4. MovieLens");
    done = done && entries_read(path, &entries, e);
    if (done && (!l.csv[0] || !l.csv[1]))
        done = fail(e, "%s holds no movies.csv and ratings.csv", path);
    done = done && read_films(&l, e) && read_ratings(&l, e);
    if (done)
        learn_features(&l, u, m);
    memory_free(l.ratings);
    memory_free(l.film_id);
    memory_free(l.title);
    memory_free(l.csv[0]);
    memory_free(l.csv[1]);
    memory_free(u);
    memory_free(m);
    return done;
}
