/* See dump.h. */
#include "core/program/dump.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/session/session.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* FILE.npy gives FILE.ids.npy */
static void ids_path(char *path, size_t size, const char *file)
{
    size_t stem = strlen(file);
    stem -= stem > 4 && strcmp(file + stem - 4, ".npy") == 0 ? 4 : 0;
    snprintf(path, size, "%.*s.ids.npy", (int)stem, file);
}

bool dump_open(Dump *d, const char *file, size_t columns, Error *e)
{
    char path[4096];
    ids_path(path, sizeof path, file);
    if (!npy_open(&d->logits, file, NPY_F32, 2, (size_t[]){0, columns}, e))
        return false;
    if (npy_open(&d->ids, path, NPY_I32, 1, (size_t[]){0}, e))
        return true;
    npy_abandon(&d->logits);
    return false;
}

bool dump_may_open(const char *file, Error *e)
{
    struct stat s;
    Dump d;
    if (!file ||
        (!stat(file, &s) && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))) /* a pipe would take it for the whole */
        return true;
    bool fine = dump_open(&d, file, 1, e);
    if (fine)
        dump_close(&d, false, NULL);
    return fine;
}

bool dump_rows(Dump *d, const float *logits, const int32_t *ids, size_t rows, Error *e)
{
    return npy_rows(&d->logits, logits, rows, e) && npy_rows(&d->ids, ids, rows, e);
}

bool dump_close(Dump *d, bool fine, Error *e)
{
    if (!fine) {
        npy_abandon(&d->logits);
        npy_abandon(&d->ids);
        return false;
    }
    bool closed = npy_close(&d->logits, e);
    return npy_close(&d->ids, closed ? e : NULL) && closed;
}

/* --- what a task scores --- */

typedef struct Scored {
    const DumpTask *d;
    Trainer *trainer;
    TakeLogits take;
    void *to;
    Batch batch;
    float *row; /* [columns] */
} Scored;

/* The scored positions of one batch. */
static bool take_batch(Scored *p, const Tensor *logits, Error *e)
{
    const Worker *w = &p->trainer->worker[0];
    const Side *side = &p->batch.side[p->d->side];
    const bool all = logits->rows >= side->positions;
    size_t row = 0;
    for (size_t i = 0; i < side->positions; i++) {
        int32_t target = side->targets[i];
        if (target >= 0) {
            if (!session_floats(w, logits, row * p->d->columns, p->d->columns, p->row, e) ||
                !p->take(p->to, p->row, target, e))
                return false;
        }
        row += target >= 0 || all; /* others have no logits */
    }
    assert(row <= logits->rows);
    return true;
}

static bool take_batches(Scored *p, Error *e)
{
    Trainer *trainer = p->trainer;
    Worker *w = &trainer->worker[0];
    const Task *task = trainer->task;
    const size_t all = task->score_batches;
    double began = clock_seconds();
    for (size_t i = 0; i < all; i++) {
        task->score_batch(task->self, i, &p->batch);
        if (!take_batch(p, session_run(w, &p->batch, p->d->logits, task->self), e))
            return false;
        session_end(w);
        double left = (clock_seconds() - began) / (double)(i + 1) * (double)(all - i - 1);
        Report report = {.counted = "written", .step = i + 1, .total = all, .seconds_left = left};
        report.norm = report.rate = report.tokens_per_second = -1;
        watch_report(trainer->watch, &report, false);
    }
    return true;
}

bool scored_logits(Trainer *trainer, const DumpTask *d, TakeLogits take, void *to, Error *e)
{
    Scored p = {.d = d, .trainer = trainer, .take = take, .to = to};
    BatchSize size = plan_size(trainer->task, trainer->task->score_rows, true);
    p.row = memory_get(d->columns, sizeof *p.row);
    bool fine = p.row || memory_error(e, "a row of logits", d->columns, sizeof *p.row);
    fine = fine && batch_open(&p.batch, &size, e) && take_batches(&p, e);
    batch_close(&p.batch);
    memory_free(p.row);
    return fine;
}

static bool write_row(void *dump, const float *logits, int32_t target, Error *e)
{
    return dump_rows(dump, logits, &target, 1, e);
}

bool dump_task(const char *file, Trainer *trainer, const DumpTask *d, Error *e)
{
    Dump dump;
    return dump_open(&dump, file, d->columns, e) &&
           dump_close(&dump, scored_logits(trainer, d, write_row, &dump, e), e);
}
