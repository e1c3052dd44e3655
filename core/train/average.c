/* See average.h. */
#include "core/train/average.h"

#include "base/file.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

char *average_path(const Run *run) { return run_file(run, "average.safetensors"); }

/* A parameter's numbers through memory of the host, real by real: added to sums, or (which: back) set to sums / count.
 */
static void move(Weights *w, Stream *s, const Parameter *p, void *reals, double *sums, size_t count, bool back)
{
    if (!back)
        weights_get(w, s, p, reals);
    for (size_t i = 0; i < p->count; i++)
        if (back)
            real_put(w->k, reals, i, sums[p->offset + i] / (double)count);
        else
            sums[p->offset + i] += real_at(w->k, reals, i);
    if (back)
        weights_set(w, s, p, reals);
}

static void move_all(Weights *w, Stream *s, void *reals, double *sums, size_t count, bool back)
{
    for (size_t i = 0; i < w->parameters->count; i++)
        if (w->parameters->list[i]->role != ROLE_CONSTANT)
            move(w, s, w->parameters->list[i], reals, sums, count, back);
}

static bool average(Weights *w, Stream *s, const Run *run, const uint64_t *steps, size_t count, const ModelNote *note,
                    Error *e)
{
    const Parameters *p = w->parameters;
    double *sums = memory_get(p->size, sizeof *sums);
    void *reals = memory_get(parameters_largest(p), w->k->real);
    bool fine = (sums && reals) || memory_error(e, "the mean of weights", p->size, sizeof *sums);
    for (size_t i = 0; fine && i < count; i++) {
        fine = weights_read_step(w, s, run, steps[i], NULL, note, NULL, e);
        if (fine)
            move_all(w, s, reals, sums, count, false);
    }
    if (fine)
        move_all(w, s, reals, sums, count, true);
    memory_free(sums);
    memory_free(reals);
    return fine;
}

static bool write_average(const Weights *w, Stream *s, const Run *run, const ModelNote *note, uint64_t newest, Error *e)
{
    char *path = average_path(run), step[24];
    snprintf(step, sizeof step, "%" PRIu64, newest);
    bool fine = (path || fail(e, "out of memory for a path")) && weights_write(w, s, path, note, step, e);
    memory_free(path);
    return fine;
}

bool average_checkpoints(Weights *w, Stream *s, const Run *run, size_t last, const ModelNote *note, uint64_t *first,
                         uint64_t *newest, Error *e)
{
    uint64_t *steps = NULL;
    size_t count = 0, none = 0;
    if (!run_checkpoint_list(run, &steps, &count, e))
        return false;
    while (none < count && steps[none] == 0)
        none++;
    bool fine = count - none >= last;
    if (count == none)
        fail(e, "the run %s has no checkpoint after step 0: train it first", run->path);
    else if (!fine)
        fail(e,
             "the run %s has %zu checkpoints after step 0, not %zu: give --last %zu, or train with a larger --keep "
             "and a smaller --save-every",
             run->path, count - none, last, count - none);
    if (fine) {
        *first = steps[count - last];
        *newest = steps[count - 1];
        fine = average(w, s, run, steps + count - last, last, note, e) && write_average(w, s, run, note, *newest, e);
    }
    memory_free(steps);
    return fine;
}

bool average_is_new(const Run *run, Error *e)
{
    Safetensors *file = NULL;
    char *path = average_path(run);
    uint64_t latest = 0;
    bool found = false;
    bool fine = (path || fail(e, "out of memory for a path")) && safetensors_open(&file, path, e) &&
                run_checkpoint_latest(run, &latest, &found, NULL, e);
    const char *newest = fine ? safetensors_text(file, "newest") : NULL; /* older versions did not write it */
    if (newest && found && strtoull(newest, NULL, 10) != latest)
        fine = fail(
            e,
            "%s is of checkpoints up to step %s, and the run's newest is of step %" PRIu64
            ": encdec average --run %s makes it anew (with --last N, where the run has fewer than 5 checkpoints); to "
            "read it as it is, give it by name (--weights %s)",
            path, newest, latest, run->path, path);
    safetensors_close(file);
    memory_free(path);
    return fine;
}
