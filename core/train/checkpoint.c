/* See checkpoint.h. */
#include "core/train/checkpoint.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/run/json.h"
#include "core/train/update.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static SafeType real_type(const Kernels *k) { return k->real == sizeof(double) ? SAFE_F64 : SAFE_F32; }

/* --- blocks of parameters as lists of tensors --- */

typedef struct TensorList {
    SafeTensor *tensors;
    char (*names)[sizeof(((Parameter *)0)->name) + 16];
    size_t count;
    void *data; /* a copy of the blocks; NULL: the tensors point into the blocks themselves */
} TensorList;

static void list_free(TensorList *l)
{
    memory_free(l->tensors);
    memory_free(l->names);
    memory_free(l->data);
    *l = (TensorList){0};
}

/* The given blocks, each under its prefix; brought to the host where they are not there already. */
static bool list_blocks(TensorList *l, const Weights *w, Stream *s, void *const *blocks, const char *const *prefixes,
                        size_t count, Error *e)
{
    const Parameters *p = w->parameters;
    const Kernels *k = w->k;
    *l = (TensorList){.tensors = memory_get(count * p->count, sizeof *l->tensors),
                      .names = memory_get(count * p->count, sizeof *l->names),
                      .data = k->on_host ? NULL : memory_get(count * p->size, k->real)};
    if (!l->tensors || !l->names || (!k->on_host && !l->data)) {
        list_free(l);
        return memory_error(e, "a checkpoint", count * p->size, k->real);
    }
    for (size_t b = 0; b < count; b++) {
        const void *data = blocks[b];
        if (!k->on_host) {
            data = (char *)l->data + b * p->size * k->real;
            k->download(s, (char *)l->data + b * p->size * k->real, blocks[b], p->size * k->real);
        }
        for (size_t i = 0; i < p->count; i++) {
            const Parameter *one = p->list[i];
            if (one->role == ROLE_CONSTANT)
                continue;
            snprintf(l->names[l->count], sizeof *l->names, "%s%s", prefixes[b], one->name);
            l->tensors[l->count] = (SafeTensor){.name = l->names[l->count],
                                                .type = real_type(k),
                                                .rank = (size_t)one->rank,
                                                .shape = {one->shape[0], one->shape[1]},
                                                .data = parameter_in(one, data, k->real)};
            l->count++;
        }
    }
    return true;
}

bool weights_write(const Weights *w, Stream *s, const char *path, const ModelNote *note, Error *e)
{
    TensorList list;
    const SafeText texts[] = {{"program", note->program}, {"model", note->options}};
    bool fine = list_blocks(&list, w, s, &w->reals, (const char *const[]){""}, 1, e) &&
                safetensors_write(path, list.tensors, list.count, texts, sizeof texts / sizeof *texts, e);
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

static bool state_write(Trainer *c, const char *path, const Progression *at, bool with_time, Error *e)
{
    TensorList list;
    char numbers[6][40];
    update_flush(c);
    snprintf(numbers[0], sizeof *numbers, "%" PRIu64, at->step);
    snprintf(numbers[1], sizeof *numbers, "%.17g", at->best);
    snprintf(numbers[2], sizeof *numbers, "%" PRIu64, at->best_step);
    snprintf(numbers[3], sizeof *numbers, "%d", at->scored);
    snprintf(numbers[4], sizeof *numbers, "%" PRIu64, at->stalled);
    snprintf(numbers[5], sizeof *numbers, "%.17g", with_time ? at->seconds : 0);
    const SafeText texts[] = {{"step", numbers[0]},   {"best", numbers[1]},    {"best_step", numbers[2]},
                              {"scored", numbers[3]}, {"stalled", numbers[4]}, {"seconds", numbers[5]}};
    bool fine = list_blocks(&list, &c->weights, c->worker[0].stream, c->optimizer.block, c->optimizer.kind->saved,
                            saved_blocks(&c->optimizer), e) &&
                safetensors_write(path, list.tensors, list.count, texts, sizeof texts / sizeof *texts, e);
    list_free(&list);
    return fine;
}

bool checkpoint_save(Run *run, Trainer *c, const ModelNote *note, const Progression *at, bool with_time, Error *e)
{
    char *folder = NULL;
    if (!run_checkpoint_begin(run, at->step, &folder, e))
        return false;
    char *model = path_join(folder, "model.safetensors"), *state = path_join(folder, "state.safetensors");
    bool fine = (model && state) || fail(e, "out of memory while a checkpoint was saved");
    fine = fine && weights_write(&c->weights, c->worker[0].stream, model, note, e) &&
           state_write(c, state, at, with_time, e) && run_checkpoint_commit(run, at->step, e);
    if (!fine)
        folder_remove(folder, NULL); /* where the disk is full, half a checkpoint only takes room */
    memory_free(model);
    memory_free(state);
    memory_free(folder);
    return fine;
}

/* --- reading --- */

static const SafeTensor *find_parameter(const Safetensors *file, const char *name, const char *const (*aliases)[2])
{
    const SafeTensor *found = safetensors_find(file, name);
    for (size_t i = 0; !found && aliases && aliases[i][0]; i++)
        if (strcmp(aliases[i][0], name) == 0)
            found = safetensors_find(file, aliases[i][1]);
    return found;
}

static bool same_shape(const SafeTensor *t, const Parameter *p)
{
    return t->rank == (size_t)p->rank && t->shape[0] == p->shape[0] && (p->rank == 1 || t->shape[1] == p->shape[1]);
}

static void shape_text(char *text, size_t size, const size_t *shape, size_t rank)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i ? "," : "", shape[i]);
}

static bool are_finite(const char *path, const char *name, SafeType type, const void *values, size_t count, Error *e)
{
    for (size_t i = 0; i < count; i++) {
        double x = type == SAFE_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
        if (!isfinite(x))
            return fail(
                e, "%s: %s: number %zu of it is not finite, so nothing can be computed with it; take other weights",
                path, name, i + 1);
    }
    return true;
}

/* Reads one parameter of a block from the file's tensor prefix + name. */
static bool read_parameter(const Safetensors *file, const char *path, const char *prefix, const Parameter *p,
                           const char *const (*aliases)[2], SafeType type, void *values, Error *e)
{
    char name[sizeof p->name + 16], expected[64], found[64];
    snprintf(name, sizeof name, "%s%s", prefix, p->name);
    const SafeTensor *t = find_parameter(file, name, aliases);
    if (!t)
        return fail(e, "%s: has no tensor %s, which the model needs", path, name);
    if (!same_shape(t, p)) {
        shape_text(expected, sizeof expected, p->shape, (size_t)p->rank);
        shape_text(found, sizeof found, t->shape, t->rank);
        return fail(e, "%s: %s has shape [%s], the model's is [%s]%s", path, name, found, expected,
                    p->words ? ": a row for each word, so the vocabulary that was read is damaged or another" : "");
    }
    return safetensors_read(file, t, type, values, p->count, e) && are_finite(path, name, type, values, p->count, e);
}

static bool no_strangers(const Safetensors *file, const char *path, const Parameters *p,
                         const char *const (*aliases)[2], Error *e)
{
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const char *name = safetensors_at(file, i)->name;
        bool ours = parameters_find(p, name) != NULL;
        for (size_t a = 0; !ours && aliases && aliases[a][0]; a++)
            ours = strcmp(aliases[a][1], name) == 0 && parameters_find(p, aliases[a][0]);
        if (!ours)
            return fail(e, "%s: has a tensor %s, which the model does not have", path, name);
    }
    return true;
}

/* Reads one block, each tensor under prefix + name, into the device's memory. */
static bool read_block(const Safetensors *file, const char *path, const char *prefix, const char *const (*aliases)[2],
                       const Weights *w, Stream *s, void *block, Error *e)
{
    const Parameters *p = w->parameters;
    size_t largest = parameters_largest(p);
    void *values = memory_get(largest, w->k->real);
    bool fine = values || memory_error(e, "weights from a file", largest, w->k->real);
    for (size_t i = 0; fine && i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (one->role == ROLE_CONSTANT)
            continue;
        fine = read_parameter(file, path, prefix, one, aliases, real_type(w->k), values, e);
        if (fine)
            w->k->upload(s, parameter_in(one, block, w->k->real), values, one->count * w->k->real);
    }
    memory_free(values);
    return fine;
}

/* What no shape shows: the same numbers mean something else. */
static bool options_agree(const Json *model, const Json *file, const char *path, Error *e)
{
    static const char *const names[] = {"heads",     "window", "activation", "norm",
                                        "positions", "score",  "distances",  "pool"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const Json *ours = json_get(model, names[i]), *theirs = json_get(file, names[i]);
        if (ours && ours->text && theirs && theirs->text && strcmp(ours->text, theirs->text))
            return fail(e, "%s: these are weights of a model with %s %s, and this one has %s", path, names[i],
                        theirs->text, ours->text);
    }
    return true;
}

static bool note_agrees(const Safetensors *file, const char *path, const ModelNote *note, Error *e)
{
    Json *model = NULL, *theirs = NULL;
    const char *options = safetensors_text(file, "model");
    if (!note || !options) /* a file that others made */
        return true;
    bool fine = json_read(&model, note->options, strlen(note->options), "the model's options", e) &&
                json_read(&theirs, options, strlen(options), path, e) && options_agree(model, theirs, path, e);
    json_free(model);
    json_free(theirs);
    return fine;
}

bool weights_read(Weights *w, Stream *s, const char *path, const char *const (*aliases)[2], const ModelNote *note,
                  Error *e)
{
    Safetensors *file = NULL;
    bool fine = safetensors_open(&file, path, e) && no_strangers(file, path, w->parameters, aliases, e) &&
                read_block(file, path, "", aliases, w, s, w->reals, e) && note_agrees(file, path, note, e) &&
                sums_match(path, e);
    if (fine && w->numbers != w->reals)
        w->k->convert(s, w->numbers, w->reals, w->parameters->whole);
    safetensors_close(file);
    return fine;
}

bool weights_read_step(Weights *w, Stream *s, const Run *run, uint64_t step, const char *const (*aliases)[2],
                       const ModelNote *note, bool *gone, Error *e)
{
    char *folder = run_checkpoint_path(run, step), *path = folder ? path_join(folder, "model.safetensors") : NULL;
    bool fine = path ? weights_read(w, s, path, aliases, note, e) : fail(e, "out of memory for a path");
    if (gone)
        *gone = !fine && path && !file_exists(path);
    memory_free(folder);
    memory_free(path);
    return fine;
}

static bool text_number(const Safetensors *file, const char *path, const char *key, double *value, Error *e)
{
    const char *text = safetensors_text(file, key);
    char *end = NULL;
    *value = text ? strtod(text, &end) : 0;
    if (!text)
        return fail(e, "%s: says nothing about '%s'", path, key);
    return (*text && !*end && isfinite(*value) && *value >= 0) ||
           fail(e, "%s: '%s' is %s, which no run has", path, key, text);
}

/* The state that another optimizer left cannot be gone on with. */
static bool state_is_of(const Safetensors *file, const char *path, const OptimizerKind *kind, Error *e)
{
    const char *name = safetensors_count(file) ? safetensors_at(file, 0)->name : NULL;
    const size_t length = name ? strcspn(name, ".") : 0;
    if (!name || (strlen(kind->name) == length && strncmp(name, kind->name, length) == 0))
        return true;
    return fail(e, "%s: holds the state of the optimizer %.*s, and this run trains by %s: give --optimizer %.*s", path,
                (int)length, name, kind->name, (int)length, name);
}

static bool state_read(Trainer *c, const char *path, uint64_t wanted, Progression *at, Error *e)
{
    Safetensors *file = NULL;
    double step, best, best_step, scored, stalled, seconds;
    Stream *s = c->worker[0].stream;
    bool fine = safetensors_open(&file, path, e) && text_number(file, path, "step", &step, e) &&
                text_number(file, path, "best", &best, e) && text_number(file, path, "best_step", &best_step, e) &&
                text_number(file, path, "scored", &scored, e) && text_number(file, path, "stalled", &stalled, e) &&
                text_number(file, path, "seconds", &seconds, e) &&
                (step == (double)wanted || fail(e, "%s: is of step %.0f, unlike its folder", path, step)) &&
                state_is_of(file, path, c->optimizer.kind, e);
    for (size_t i = 0; fine && i < saved_blocks(&c->optimizer); i++)
        fine = read_block(file, path, c->optimizer.kind->saved[i], NULL, &c->weights, s, c->optimizer.block[i], e);
    c->optimizer.kind->after_load(&c->optimizer);
    if (fine)
        *at = (Progression){(uint64_t)step, best, (uint64_t)best_step, scored > 0, (uint64_t)stalled, seconds};
    safetensors_close(file);
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
