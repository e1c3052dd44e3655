/* See checkpoint.h. */
#include "core/train/checkpoint.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/run/run.h"
#include "core/train/gather.h"
#include "core/train/reading.h"
#include "core/train/update.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- blocks of parameters as lists of tensors --- */

typedef struct TensorList {
    SafeTensor *tensors;
    char (*names)[sizeof(((Parameter *)0)->name) + 16];
    GatheredTensor *places; /* of all tensors */
    size_t count;
    void *data; /* a copy of the blocks; NULL: the tensors point into the blocks themselves */
} TensorList;

static void list_free(TensorList *l)
{
    memory_free(l->tensors);
    memory_free(l->names);
    memory_free(l->places);
    memory_free(l->data);
    *l = (TensorList){0};
}

/* The given blocks of an optimizer (or of none: o NULL); brought to the host where they are not there already. */
static bool list_blocks(TensorList *l, const Kernels *k, const Optimizer *o, Stream *s, const SavedBlock *blocks,
                        size_t count, Error *e)
{
    size_t tensors = 0, size = 0;
    for (size_t b = 0; b < count; b++)
        tensors += blocks[b].layout->count, size += blocks[b].layout->size;
    *l = (TensorList){.tensors = memory_get(tensors, sizeof *l->tensors),
                      .names = memory_get(tensors, sizeof *l->names),
                      .places = memory_get(tensors, sizeof *l->places),
                      .data = k->on_host ? NULL : memory_get(size, k->real)};
    if (!l->tensors || !l->names || !l->places || (!k->on_host && !l->data)) {
        list_free(l);
        return memory_error(e, "a checkpoint", size, k->real);
    }
    char *next = l->data;
    for (size_t b = 0; b < count; b++) {
        const Parameters *p = blocks[b].layout;
        const void *data = k->on_host ? blocks[b].reals : next;
        if (!k->on_host && !blocks[b].divided) {
            k->download(s, next, blocks[b].reals, p->size * k->real);
            next += p->size * k->real;
        }
        for (size_t i = 0; i < p->count; i++) {
            const Parameter *one = p->list[i];
            if (one->role == ROLE_CONSTANT || (o && !optimizer_keeps(o, b, i)))
                continue;
            snprintf(l->names[l->count], sizeof *l->names, "%s%s", blocks[b].prefix, one->name);
            const void *whole = blocks[b].divided ? NULL : parameter_in(one, data, k->real);
            l->places[l->count] = (GatheredTensor){whole, b, one->offset};
            l->tensors[l->count] = (SafeTensor){.name = l->names[l->count],
                                                .type = real_type(k),
                                                .rank = (size_t)one->rank,
                                                .shape = {one->shape[0], one->shape[1]},
                                                .data = whole};
            l->count++;
        }
    }
    return true;
}

bool weights_write(const Weights *w, Stream *s, const char *path, const ModelNote *note, const char *newest, Error *e)
{
    TensorList list;
    const SafeText texts[] = {{"program", note->program}, {"model", note->options}, {"newest", newest}};
    bool fine = list_blocks(&list, w->k, NULL, s, &(SavedBlock){"", w->parameters, w->reals, NULL, 0}, 1, e) &&
                safetensors_write(path, list.tensors, list.count, texts, sizeof texts / sizeof *texts - !newest, e);
    list_free(&list);
    return fine;
}

/* Those of an optimizer's state that a checkpoint holds come first. */
static size_t saved_blocks(const Optimizer *o)
{
    size_t count = 0;
    while (count < o->kind->blocks && o->kind->saved[count])
        count++;
    return count;
}

static SavedBlock saved_block(const Optimizer *o, size_t i)
{
    return (SavedBlock){o->kind->saved[i], o->layout, o->block[i], o->options.parts > 1 ? o : NULL, i};
}

/* Where weights are averaged: those that training continues from, with an average or without. The model's are the
 * average. */
static const char trained[] = "trained.";

static bool state_write(Trainer *c, const char *path, const Progression *at, bool with_time, Error *e)
{
    TensorList list;
    char numbers[7][40];
    update_flush(c);
    snprintf(numbers[0], sizeof *numbers, "%" PRIu64, at->step);
    snprintf(numbers[1], sizeof *numbers, "%.17g", at->best);
    snprintf(numbers[2], sizeof *numbers, "%" PRIu64, at->best_step);
    snprintf(numbers[3], sizeof *numbers, "%d", at->scored);
    snprintf(numbers[4], sizeof *numbers, "%" PRIu64, at->stalled);
    snprintf(numbers[5], sizeof *numbers, "%.17g", with_time ? at->seconds : 0);
    snprintf(numbers[6], sizeof *numbers, "%" PRIu64, at->halved);
    const SafeText texts[] = {{"step", numbers[0]},   {"best", numbers[1]},    {"best_step", numbers[2]},
                              {"scored", numbers[3]}, {"stalled", numbers[4]}, {"seconds", numbers[5]},
                              {"halved", numbers[6]}}; /* the last only where there is something to be said */
    SavedBlock blocks[OPTIMIZER_BLOCKS + 1];
    const size_t saved = saved_blocks(&c->optimizer);
    for (size_t i = 0; i < saved; i++)
        blocks[i] = saved_block(&c->optimizer, i);
    blocks[saved] = (SavedBlock){trained, c->parameters, c->weights.reals, NULL, 0};
    const bool divided = c->optimizer.options.parts > 1;
    const SafeSource source = gather_source(c);
    bool fine = list_blocks(&list, c->options.k, &c->optimizer, c->worker[0].stream, blocks,
                            saved + (c->average != NULL), e);
    for (size_t i = 0; divided && i < list.count; i++)
        list.tensors[i].data = &list.places[i];
    fine = fine && safetensors_write_from(path, list.tensors, list.count, texts,
                                          sizeof texts / sizeof *texts - !at->halved, divided ? &source : NULL, e);
    list_free(&list);
    return fine;
}

void checkpoint_take_part(Trainer *c)
{
    if (c->optimizer.options.parts < 2)
        return;
    update_flush(c);
    gather_send(c, saved_blocks(&c->optimizer));
}

bool checkpoint_save(Run *run, Trainer *c, const ModelNote *note, const Progression *at, bool with_time, Error *e)
{
    char *folder = NULL;
    if (!run_checkpoint_begin(run, at->step, &folder, e))
        return false;
    char *model = path_join(folder, "model.safetensors"), *state = path_join(folder, "state.safetensors");
    bool fine = (model && state) || fail(e, "out of memory while a checkpoint was saved");
    trainer_exchange(c);
    fine = fine && weights_write(&c->weights, c->worker[0].stream, model, note, NULL, e);
    trainer_exchange(c);
    fine = fine && state_write(c, state, at, with_time, e) && run_checkpoint_commit(run, at->step, e);
    if (!fine)
        folder_remove(folder, NULL); /* where the disk is full, half a checkpoint only takes space */
    memory_free(model);
    memory_free(state);
    memory_free(folder);
    return fine;
}

static bool text_number(const Safetensors *file, const char *path, const char *key, double *value, Error *e)
{
    const char *text = safetensors_text(file, key);
    char *end = NULL;
    *value = text ? strtod(text, &end) : 0;
    if (!text)
        return fail(e, "%s: '%s' is missing", path, key);
    return (*text && !*end && *value >= 0 && *value < 0x1p53) || /* NaN is neither */
           fail(e, "%s: '%s' is %s, which is impossible", path, key, text);
}

/* The state that another optimizer left cannot be gone on with. */
static bool state_is_of(const Safetensors *file, const char *path, const OptimizerKind *kind, Error *e)
{
    const char *name = safetensors_count(file) ? safetensors_at(file, 0)->name : NULL;
    const size_t length = name ? strcspn(name, ".") : 0;
    if (!name || (strlen(kind->name) == length && strncmp(name, kind->name, length) == 0))
        return true;
    return fail(e, "%s: holds the state of optimizer %.*s, and this run uses %s: give --optimizer %.*s", path,
                (int)length, name, kind->name, (int)length, name);
}

static bool state_read(Trainer *c, const char *path, uint64_t wanted, Progression *at, Error *e)
{
    Source from = {.path = path, .optimizer = &c->optimizer};
    double step, best, best_step, scored, stalled, seconds, halved = 0;
    Stream *s = c->worker[0].stream;
    bool fine = safetensors_open(&from.file, path, e) && text_number(from.file, path, "step", &step, e) &&
                text_number(from.file, path, "best", &best, e) &&
                text_number(from.file, path, "best_step", &best_step, e) &&
                text_number(from.file, path, "scored", &scored, e) &&
                text_number(from.file, path, "stalled", &stalled, e) &&
                text_number(from.file, path, "seconds", &seconds, e) &&
                (!safetensors_text(from.file, "halved") || text_number(from.file, path, "halved", &halved, e)) &&
                (step == (double)wanted ||
                 fail(e, "%s: belongs to step %.0f, but its folder has another name", path, step)) &&
                state_is_of(from.file, path, c->optimizer.kind, e);
    for (size_t i = 0; fine && i < saved_blocks(&c->optimizer); i++) {
        const SavedBlock block = saved_block(&c->optimizer, i);
        fine = read_block(&(Reading){.from = &from, .to = &block, .k = c->options.k, .s = s}, e);
    }
    if (fine) {
        char name[sizeof c->parameters->list[0]->name + sizeof trained];
        snprintf(name, sizeof name, "%s%s", trained, c->parameters->list[0]->name);
        trainer_average_begins(c);
        if (safetensors_find(from.file, name)) { /* else it was trained without an average so far */
            fine = read_block(&(Reading){.from = &from,
                                         .to = &(SavedBlock){trained, c->parameters, c->weights.reals, NULL, 0},
                                         .k = c->options.k,
                                         .s = s},
                              e);
            if (fine && c->weights.numbers != c->weights.reals)
                c->options.k->convert(s, c->weights.numbers, c->weights.reals, c->parameters->whole);
        }
    }
    optimizer_after_load(&c->optimizer);
    if (fine)
        *at = (Progression){(uint64_t)step,    best,    (uint64_t)best_step, scored > 0,
                            (uint64_t)stalled, seconds, (uint64_t)halved};
    safetensors_close(from.file);
    return fine;
}

bool checkpoint_load(const Run *run, Trainer *c, uint64_t step, const ModelNote *note, Progression *at, Error *e)
{
    char *folder = run_checkpoint_path(run, step);
    char *state = folder ? path_join(folder, "state.safetensors") : NULL;
    bool fine = state || fail(e, "out of memory while a checkpoint was read");
    fine = fine && weights_read_step(&c->weights, c->worker[0].stream, run, step, NULL, note, NULL, e) &&
           state_read(c, state, step, at, e) && sums_match(state, e);
    memory_free(state);
    memory_free(folder);
    return fine;
}
