/* See ensemble.h. */
#include "classifier/ensemble.h"

#include "base/memory.h"
#include "classifier/baseline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char regression[] = "regression";

/* Adds the members' probabilities. shares [classes] */
static void add(double *sum, double *shares, const float *logits, size_t rows, size_t classes)
{
    for (size_t i = 0; i < rows; i++) {
        classifier_shares(shares, logits + i * classes, classes);
        for (size_t k = 0; k < classes; k++)
            sum[i * classes + k] += shares[k];
    }
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

/* The name that a list begins with, which is moved past it. */
static bool next_name(char *name, size_t capacity, const char **list, Error *e)
{
    const size_t size = strcspn(*list, ",");
    if (size >= capacity)
        return fail(e, "--ensemble: a name has %zu letters", size);
    snprintf(name, capacity, "%.*s", (int)size, *list);
    *list += size + ((*list)[size] == ',');
    return true;
}

bool ensemble_join(const Classifier *c, const Each *own, float *logits, size_t classes, Error *e)
{
    const size_t rows = own->count;
    const char *list = c->options->ensemble;
    double *sum = memory_get(rows * classes, sizeof *sum), *shares = memory_get(classes, sizeof *shares);
    size_t members = 1;
    bool fine = (sum && shares) || memory_error(e, "probabilities", rows, classes * sizeof *sum);
    if (fine)
        add(sum, shares, logits, rows, classes);
    for (char name[4096]; fine && *list; members++) {
        fine = next_name(name, sizeof name, &list, e) &&
               (!strcmp(name, regression) ? logits_of_words(c, logits, e)
                                          : logits_of_run(c, own, name, logits, classes, e));
        if (fine)
            add(sum, shares, logits, rows, classes);
    }
    for (size_t i = 0; fine && i < rows * classes; i++)
        logits[i] = (float)log(fmax(sum[i] / (double)members, 1e-300));
    memory_free(sum);
    memory_free(shares);
    return fine;
}
