/* See ensemble.h. */
#include "classifier/ensemble.h"

#include "base/memory.h"
#include "classifier/baseline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char regression[] = "regression";

/* Takes its mean from each row; returns the root mean square of what is left. */
static double centre(float *logits, size_t rows, size_t classes)
{
    double squares = 0;
    for (size_t i = 0; i < rows; i++) {
        float *row = logits + i * classes;
        double mean = 0;
        for (size_t k = 0; k < classes; k++)
            mean += (double)row[k] / (double)classes;
        for (size_t k = 0; k < classes; k++) {
            row[k] -= (float)mean;
            squares += (double)row[k] * (double)row[k];
        }
    }
    return sqrt(squares / (double)(rows * classes));
}

/* Adds those of one member in units of their root mean square, which is returned. */
static double join(float *sum, float *logits, size_t rows, size_t classes)
{
    const double spread = centre(logits, rows, classes);
    for (size_t i = 0; spread > 0 && i < rows * classes; i++)
        sum[i] += (float)((double)logits[i] / spread);
    return spread;
}

static bool logits_of_words(const Classifier *c, float *logits, Error *e)
{
    return c->app.data.scored != SPLIT_TRAIN
               ? baseline_logits(&c->reviews, c->app.data.scored, logits, e)
               : fail(e,
                      "--ensemble %s would be scored on the texts that it learns from: give --split valid, or --final",
                      regression);
}

static bool logits_of_run(const Classifier *c, const Each *own, const char *run, float *logits, size_t classes,
                          Error *e)
{
    Each other;
    if (!each_of_run(&other, own, &c->app, run, e))
        return false;
    for (size_t i = 0; i < other.count; i++)
        for (size_t k = 0; k < classes; k++)
            logits[i * classes + k] = (float)other.value[(i + 1) * other.columns - classes + k];
    each_free(&other);
    return true;
}

bool ensemble_join(const Classifier *c, const Each *own, float *logits, size_t classes, Error *e)
{
    const size_t rows = own->count;
    float *sum = memory_get(rows * classes, sizeof *sum), *others = memory_get(rows * classes, sizeof *others);
    double spreads = 0;
    size_t members = 1;
    bool fine = (sum && others) || memory_error(e, "logits of an ensemble", rows, 2 * classes * sizeof *sum);
    if (fine)
        spreads = join(sum, logits, rows, classes);
    for (const char *at = c->options->ensemble; fine && at && *at; members++) {
        char name[4096];
        const size_t size = strcspn(at, ",");
        fine = size < sizeof name || fail(e, "--ensemble: a name has %zu letters", size);
        if (!fine)
            break;
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        at += size + (at[size] == ',');
        fine = !strcmp(name, regression) ? logits_of_words(c, others, e)
                                         : logits_of_run(c, own, name, others, classes, e);
        if (fine)
            spreads += join(sum, others, rows, classes);
    }
    for (size_t i = 0; fine && i < rows * classes; i++)
        logits[i] = (float)((double)sum[i] * spreads / (double)(members * members));
    memory_free(sum);
    memory_free(others);
    return fine;
}
