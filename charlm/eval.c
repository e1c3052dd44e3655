/* charlm eval: bits per byte, with the protocol that the figure belongs to. */
#include "charlm/charlm.h"

#include "base/memory.h"
#include "core/run/json.h"
#include "core/run/npy.h"

#include <stdio.h>
#include <string.h>

static void print_result(const Charlm *c, const MeanLoss *score)
{
    const Windows *w = &c->windows;
    double bits = score->loss * c->task.per_nat;
    if (c->v->shared.json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        json_add_key(&b, "split");
        json_add_string(&b, split_name((Split)c->v->split));
        buffer_print(&b, ", \"bytes\": %.0f, \"context\": %zu, \"stride\": %zu, \"bits_per_byte\": ", score->targets,
                     w->context, w->stride);
        json_add_number(&b, bits);
        printf("%s}\n", b.failed ? "" : b.text);
        buffer_free(&b);
    } else {
        printf("%.4f bits/byte (%s, %.0f bytes scored, context %zu, stride %zu)\n", bits,
               split_name((Split)c->v->split), score->targets, w->context, w->stride);
    }
}

typedef struct Dump {
    NpyWriter logits, ids;
    float *row;
} Dump;

/* Writes the scored positions of one batch: their logits, and the bytes that came. */
static bool dump_batch(Dump *d, Worker *w, const Tensor *logits, const Batch *b, Error *e)
{
    const Kernels *k = w->tape.k;
    double wide[BYTES];
    for (size_t i = 0; i < b->side[0].positions; i++) {
        int32_t target = b->side[0].targets[i];
        if (target < 0)
            continue;
        const char *from = (const char *)logits->data + i * BYTES * k->real;
        bool doubles = k->real == sizeof(double);
        k->download(w->stream, doubles ? (void *)wide : (void *)d->row, from, BYTES * k->real);
        for (size_t j = 0; doubles && j < BYTES; j++)
            d->row[j] = (float)wide[j];
        if (!npy_rows(&d->logits, d->row, 1, e) || !npy_rows(&d->ids, &target, 1, e))
            return false;
    }
    return true;
}

/* FILE.npy gives FILE.ids.npy */
static void ids_path(char *path, size_t size, const char *file)
{
    size_t stem = strlen(file);
    stem -= stem > 4 && strcmp(file + stem - 4, ".npy") == 0 ? 4 : 0;
    snprintf(path, size, "%.*s.ids.npy", (int)stem, file);
}

static bool dump_logits(Charlm *c, Crew *crew, const char *file, Error *e)
{
    Worker *w = &crew->worker[0];
    float row[BYTES];
    Dump d = {.row = row};
    Batch b = {0};
    char path[4096];
    ids_path(path, sizeof path, file);
    if (!npy_open(&d.logits, file, NPY_F32, 2, (size_t[]){0, BYTES}, e))
        return false;
    if (!npy_open(&d.ids, path, NPY_I32, 1, (size_t[]){0}, e)) {
        npy_abandon(&d.logits);
        return false;
    }
    BatchSize size = {1, c->task.score_rows, {c->task.score_rows * c->model.context}};
    bool fine = batch_open(&b, &size, e);
    for (size_t i = 0; fine && i < c->task.score_batches; i++) {
        c->task.score_batch(c, i, &b);
        device_rows_upload(&w->rows, w->stream, &b, 0, b.side[0].rows);
        fine = dump_batch(&d, w, model_logits(&w->tape, &c->model, w->rows.rows, NULL, NULL, 0), &b, e);
        tape_reset(&w->tape);
    }
    batch_close(&b);
    if (!fine) {
        npy_abandon(&d.logits);
        npy_abandon(&d.ids);
        return false;
    }
    bool closed = npy_close(&d.logits, e);
    return npy_close(&d.ids, closed ? e : NULL) && closed;
}

bool charlm_eval(Charlm *c, Error *e)
{
    Crew crew = {0};
    MeanLoss score;
    size_t stride;
    Part part;
    if (!charlm_open_run(c, e) || !text_open(&c->text, c->v->shared.data, e))
        return false;
    if (!parse_stride(c->v->stride, c->model.context, &stride, e))
        return charlm_misused(c);
    if (!part_to_score(&part, &c->text, c->v, e))
        return false;
    charlm_task(c, part, stride);
    bool fine = charlm_open_crew(c, &crew, e) && crew_score(&crew, &score, e);
    if (fine)
        print_result(c, &score);
    if (fine && c->v->dump_logits)
        fine = dump_logits(c, &crew, c->v->dump_logits, e);
    crew_close(&crew);
    return fine;
}
