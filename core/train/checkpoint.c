/* See checkpoint.h. */
#include "core/train/checkpoint.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "core/run/json.h"
#include "core/run/run.h"
#include "core/train/gather.h"
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

/* A block of numbers, and the prefix of its tensors' names. */
typedef struct SavedBlock {
    const char *prefix;
    const Parameters *layout;
    void *reals;
    const Optimizer *divided; /* NULL, or whose block `number` that is, of which this process has a part */
    size_t number;
} SavedBlock;

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

bool weights_write(const Weights *w, Stream *s, const char *path, const ModelNote *note, Error *e)
{
    TensorList list;
    const SafeText texts[] = {{"program", note->program}, {"model", note->options}};
    bool fine = list_blocks(&list, w->k, NULL, s, &(SavedBlock){"", w->parameters, w->reals, NULL, 0}, 1, e) &&
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

static SavedBlock saved_block(const Optimizer *o, size_t i)
{
    return (SavedBlock){o->kind->saved[i], o->layout, o->block[i], o->options.parts > 1 ? o : NULL, i};
}

/* Where weights are averaged: those that training continues from. The model's are the average. */
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
    fine = fine && weights_write(&c->weights, c->worker[0].stream, model, note, e);
    trainer_exchange(c);
    fine = fine && state_write(c, state, at, with_time, e) && run_checkpoint_commit(run, at->step, e);
    if (!fine)
        folder_remove(folder, NULL); /* where the disk is full, half a checkpoint only takes space */
    memory_free(model);
    memory_free(state);
    memory_free(folder);
    return fine;
}

/* --- reading --- */

/* A file that is read, and under which names. */
typedef struct Source {
    Safetensors *file;
    const char *path;
    const char *const (*aliases)[2]; /* or NULL */
    WeightsPart *part;               /* NULL: all of it */
    const Optimizer *optimizer;      /* whose state that is; NULL: weights */
} Source;

static const SafeTensor *find_parameter(const Source *from, const char *name)
{
    const SafeTensor *found = safetensors_find(from->file, name);
    for (size_t i = 0; !found && from->aliases && from->aliases[i][0]; i++)
        if (strcmp(from->aliases[i][0], name) == 0)
            found = safetensors_find(from->file, from->aliases[i][1]);
    return found;
}

static bool same_shape(const SafeTensor *t, const Parameter *p)
{
    return t->rank == (size_t)p->rank && t->shape[0] == p->shape[0] && (p->rank == 1 || t->shape[1] == p->shape[1]);
}

/* A model may begin with the first positions of a table: those after them stand for longer texts than it reads. */
static bool is_longer_table(const Source *from, const SafeTensor *t, const Parameter *p)
{
    return from->part && t->rank == 2 && p->rank == 2 && t->shape[1] == p->shape[1] && t->shape[0] > p->shape[0] &&
           strstr(p->name, "position_embedding.weight");
}

static bool fits(const Source *from, const SafeTensor *t, const Parameter *p)
{
    return same_shape(t, p) || is_longer_table(from, t, p);
}

typedef struct ShapeText {
    char text[64];
} ShapeText;

static ShapeText shape_text(const size_t *shape, size_t rank)
{
    ShapeText shown = {""};
    for (size_t i = 0, used = 0; i < rank && used < sizeof shown.text; i++)
        used += (size_t)snprintf(shown.text + used, sizeof shown.text - used, "%s%zu", i ? "," : "", shape[i]);
    return shown;
}

static bool are_finite(const char *path, const char *name, SafeType type, const void *values, size_t count, Error *e)
{
    const size_t which = safe_nonfinite(type, values, count);
    return which == count ||
           fail(e, "%s: %s: its value %zu is not finite, so nothing can be computed with it; use other weights", path,
                name, which + 1);
}

static bool read_first_rows(const Source *from, const SafeTensor *t, SafeType type, void *values, size_t count,
                            Error *e)
{
    const size_t size = type == SAFE_F64 ? sizeof(double) : sizeof(float);
    void *all = memory_get(safe_elements(t), size);
    const bool fine = all ? safetensors_read(from->file, t, type, all, safe_elements(t), e)
                          : memory_error(e, "a table of positions", safe_elements(t), size);
    if (fine)
        memcpy(values, all, count * size);
    memory_free(all);
    return fine;
}

/* Reads one parameter of a block from the file's tensor prefix + name. */
static bool read_parameter(const Source *from, const char *prefix, const Parameter *p, SafeType type, void *values,
                           Error *e)
{
    char name[sizeof p->name + 16];
    snprintf(name, sizeof name, "%s%s", prefix, p->name);
    const SafeTensor *t = find_parameter(from, name);
    if (!t)
        return fail(e, "%s: has no tensor %s, which the model needs", from->path, name);
    if (!fits(from, t, p))
        return fail(e, "%s: %s has shape [%s], the model's is [%s]%s", from->path, name,
                    shape_text(t->shape, t->rank).text, shape_text(p->shape, (size_t)p->rank).text,
                    p->words ? ": it has a row for each word, so the vocabulary is damaged or a different one" : "");
    return (same_shape(t, p) ? safetensors_read(from->file, t, type, values, p->count, e)
                             : read_first_rows(from, t, type, values, p->count, e)) &&
           are_finite(from->path, name, type, values, p->count, e);
}

/* Whose tensor that is. */
static const Parameter *owner(const Source *from, const Parameters *p, const char *name)
{
    const Parameter *ours = parameters_find(p, name);
    for (size_t i = 0; !ours && from->aliases && from->aliases[i][0]; i++)
        if (strcmp(from->aliases[i][1], name) == 0)
            ours = parameters_find(p, from->aliases[i][0]);
    return ours;
}

static bool no_strangers(const Source *from, const Parameters *p, Error *e)
{
    for (size_t i = 0; i < safetensors_count(from->file); i++) {
        const char *name = safetensors_at(from->file, i)->name;
        if (!owner(from, p, name))
            return fail(e, "%s: has a tensor %s, which the model does not have", from->path, name);
    }
    return true;
}

/* Where a part is enough: whether this belongs to it. */
static bool matches(const Source *from, const Parameter *p)
{
    const SafeTensor *t = p->role == ROLE_CONSTANT ? NULL : find_parameter(from, p->name);
    return t && fits(from, t, p);
}

/* What this process has of it. */
static void put_parameter(const SavedBlock *to, const Parameter *p, const Kernels *k, Stream *s, const void *values)
{
    size_t from = 0, end = p->count;
    if (to->divided)
        optimizer_own(to->divided, p, &from, &end);
    if (from < end)
        k->upload(s,
                  to->divided ? optimizer_at(to->divided, to->number, p->offset + from)
                              : parameter_in(p, to->reals, k->real),
                  (const char *)values + from * k->real, (end - from) * k->real);
}

/* One block, each tensor under prefix + name, read by several workers: each reads every so many parameters straight into
 * the block. Alone, a worker may also read each into a place of its own, from where it goes to the device. */
enum { READERS = 2, READ_TOGETHER = 4 << 20 /* bytes: below, threads take longer to start than they save */ };

typedef struct Reading {
    const Source *from;
    const SavedBlock *to;
    const Kernels *k;
    Stream *s;
    size_t readers;
    void *values;           /* [the largest parameter]; NULL: straight */
    size_t failed[READERS]; /* which parameter each worker could not read; all read: their number */
    Error error[READERS];
} Reading;

static bool is_read(const Reading *r, size_t i)
{
    const Optimizer *o = r->from->optimizer;
    const Parameter *p = r->to->layout->list[i];
    return p->role != ROLE_CONSTANT && (!r->from->part || matches(r->from, p)) &&
           (!o || optimizer_keeps(o, r->to->reals == o->block[1], i));
}

static void read_some(void *argument, size_t worker)
{
    Reading *r = argument;
    const Parameters *p = r->to->layout;
    bool fine = true;
    for (size_t i = worker; fine && i < p->count; i += r->readers) {
        const Parameter *one = p->list[i];
        if (!is_read(r, i))
            continue;
        fine = read_parameter(r->from, r->to->prefix, one, real_type(r->k),
                              r->values ? r->values : parameter_in(one, r->to->reals, r->k->real), &r->error[worker]);
        if (!fine)
            r->failed[worker] = i;
        else if (r->values)
            put_parameter(r->to, one, r->k, r->s, r->values);
    }
}

/* What fails is the first parameter that cannot be read, however many workers there are. */
static bool read_block(void *reading, Error *e)
{
    Reading *r = reading;
    const Parameters *p = r->to->layout;
    const size_t largest = parameters_largest(p), real = r->k->real;
    const bool straight = r->k->on_host && !r->to->divided;
    Pool *pool = NULL;
    r->readers = straight && p->size * real >= READ_TOGETHER ? READERS : 1;
    if (!straight && !(r->values = memory_get(largest, real)))
        return memory_error(e, "weights from a file", largest, real);
    for (size_t i = 0; i < r->readers; i++)
        r->failed[i] = p->count;
    const bool fine = pool_open(&pool, r->readers, false, e);
    if (fine)
        pool_run(pool, read_some, r);
    pool_close(pool);
    memory_free(r->values);
    size_t first = p->count;
    for (size_t i = 0; i < r->readers; i++)
        if (r->failed[i] < first) {
            first = r->failed[i];
            *e = r->error[i];
        }
    return fine && first == p->count;
}

/* --- a part --- */

/* One more name of a kind; the first few are told. A file's names may be anything. */
static void count_name(WeightsPart *part, Buffer *names, PartKind kind, const char *name, const char *more)
{
    enum { TOLD = 5 };
    const size_t before = names[kind].size;
    if (part->count[kind]++ >= TOLD)
        return;
    buffer_print(&names[kind], "%s%s%s", before ? ", " : "", name, more);
    if (!names[kind].failed)
        utf8_hide_controls(names[kind].text + before, names[kind].size - before);
    if (part->count[kind] == TOLD)
        buffer_print(&names[kind], ", ..");
}

/* Sorts the parameters, and the tensors that none of them wants. */
static void sort_names(const Source *from, const Parameters *p, Buffer *names)
{
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        const SafeTensor *t = find_parameter(from, one->name);
        char shapes[160] = "";
        if (one->role == ROLE_CONSTANT)
            continue;
        if (t && !fits(from, t, one))
            snprintf(shapes, sizeof shapes, " [%s] instead of [%s]", shape_text(t->shape, t->rank).text,
                     shape_text(one->shape, (size_t)one->rank).text);
        count_name(from->part, names, !t ? PART_MISSING : *shapes ? PART_RESHAPED : PART_MATCHED, one->name, shapes);
    }
    for (size_t i = 0; i < safetensors_count(from->file); i++) {
        const SafeTensor *t = safetensors_at(from->file, i);
        const Parameter *of = owner(from, p, t->name);
        if (!of || of->role == ROLE_CONSTANT || find_parameter(from, of->name) != t)
            count_name(from->part, names, PART_LEFT_OVER, t->name, "");
    }
}

static bool compare_names(const Source *from, const Parameters *p, Error *e)
{
    static const char *const kinds[PART_KINDS] = {"read", "of another shape, not read", "not in the file", "left over"};
    WeightsPart *part = from->part;
    Buffer names[PART_KINDS] = {{0}};
    sort_names(from, p, names);
    bool failed = false;
    for (size_t i = 0; i < PART_KINDS; i++) {
        if (part->count[i])
            buffer_print(&part->report, "  %4zu %s: %s\n", part->count[i], kinds[i],
                         names[i].text ? names[i].text : "");
        failed = failed || names[i].failed;
        buffer_free(&names[i]);
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->words && matches(from, p->list[i]))
            buffer_print(&part->report,
                         "  a row of %s stands for a word, so it is right only if both vocabularies are the same\n",
                         p->list[i]->name);
    if (failed || part->report.failed)
        return fail(e, "out of memory for the tensors of %s", from->path);
    return part->count[PART_MATCHED] ||
           fail(e,
                "%s: none of its %zu tensors matches the model by name and shape; it has %.80s, and the model %s: "
                "--map OLD=NEW renames them",
                from->path, safetensors_count(from->file),
                safetensors_count(from->file) ? safetensors_at(from->file, 0)->name : "nothing",
                p->count ? p->list[0]->name : "nothing");
}

/* --- options --- */

/* What no shape shows: the same numbers mean something else. Those of which tensors: pieces of their names. */
typedef struct Meaning {
    const char *option, *of[4];
} Meaning;

static const Meaning meanings[] = {{"heads", {".attention.", ".cross."}},
                                   {"window", {NULL}},
                                   {"window-pattern", {NULL}},
                                   {"sinks", {NULL}},
                                   {"sparse", {NULL}},
                                   {"stride", {NULL}},
                                   {"sparse-block", {NULL}},
                                   {"top-keys", {NULL}},
                                   {"score-cap", {NULL}},
                                   {"logit-cap", {NULL}},
                                   {"sigmoid-attention", {".attention.", ".cross."}},
                                   {"residual-scores", {".attention.", ".cross."}},
                                   {"loops", {NULL}},
                                   {"skip", {NULL}},
                                   {"activation", {".ff."}},
                                   {"norm", {".attention.", ".cross.", ".ff.", ".norm"}},
                                   {"norm-kind", {"norm"}},
                                   {"norm-epsilon", {NULL}},
                                   {"parametrization", {".attention.", ".cross.", "logits.", "embedding."}},
                                   {"base-width", {".attention.", ".cross.", "logits.", "embedding."}},
                                   {"positions", {NULL}},
                                   {"rotary-base", {NULL}},
                                   {"rotary-share", {NULL}},
                                   {"rotary-stretch", {NULL}},
                                   {"rotary-scaling", {NULL}},
                                   {"alibi-heads", {NULL}},
                                   {"adaptive-span", {NULL}},
                                   {"word-positions", {NULL}},
                                   {"plain-embeddings", {"embedding."}},
                                   {"ngrams", {"ngram_embedding."}},
                                   {"marks", {NULL}},
                                   {"score", {".attention.", ".cross."}},
                                   {"distances", {".relative."}},
                                   {"pool", {"logits."}}};

/* The first tensor that is read and would mean something else; NULL: there is none. */
static const char *misread(const Source *from, const Parameters *p, const Meaning *m)
{
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < sizeof m->of / sizeof *m->of && m->of[k]; k++)
            if (strstr(p->list[i]->name, m->of[k]) && matches(from, p->list[i]))
                return p->list[i]->name;
    return NULL;
}

/* NULL: it is missing. */
static const char *value_of(const Json *options, const Meaning *m)
{
    const Json *value = json_get(options, m->option);
    if (value && value->kind == JSON_BOOL)
        return value->truth ? "yes" : "no";
    return value && value->text ? value->text : run_unless_given(m->option);
}

static bool options_agree(const Source *from, const Parameters *p, const Json *model, const Json *file, Error *e)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        const Meaning *m = &meanings[i];
        const char *ours = value_of(model, m), *theirs = value_of(file, m);
        if (!ours || !theirs || !strcmp(ours, theirs))
            continue;
        if (!from->part)
            return fail(e, "%s: these are weights of a model with %s %s, and this one has %s", from->path, m->option,
                        theirs, ours);
        const char *name = misread(from, p, m);
        if (name)
            return fail(e,
                        "%s: these are weights of a model with %s %s, and this one has %s, where %s means something "
                        "else: give --%s %s, or use --map to rename such tensors away",
                        from->path, m->option, theirs, ours, name, m->option, theirs);
        buffer_print(&from->part->report, "  the file's model has %s %s, and this one %s\n", m->option, theirs, ours);
    }
    return true;
}

static bool note_agrees(const Source *from, const Parameters *p, const ModelNote *note, Error *e)
{
    Json *model = NULL, *theirs = NULL;
    const char *options = safetensors_text(from->file, "model");
    if (!note || !options) /* a file that others made */
        return true;
    bool fine = json_read(&model, note->options, strlen(note->options), "the model's options", e) &&
                json_read(&theirs, options, strlen(options), from->path, e) && options_agree(from, p, model, theirs, e);
    json_free(model);
    json_free(theirs);
    return fine;
}

bool weights_read(Weights *w, Stream *s, const char *path, const char *const (*aliases)[2], const ModelNote *note,
                  WeightsPart *part, Error *e)
{
    Source from = {.path = path, .aliases = aliases, .part = part};
    const Parameters *p = w->parameters;
    Reading r = {.from = &from, .to = &(SavedBlock){"", p, w->reals, NULL, 0}, .k = w->k, .s = s};
    bool fine = safetensors_open(&from.file, path, e) &&
                (!part || !part->map || safetensors_rename(from.file, part->map, e)) &&
                (part ? compare_names(&from, p, e) : no_strangers(&from, p, e)) &&
                sums_match_while(path, read_block, &r, e) && note_agrees(&from, p, note, e);
    if (fine && w->numbers != w->reals)
        w->k->convert(s, w->numbers, w->reals, p->whole);
    safetensors_close(from.file);
    return fine;
}

bool weights_read_step(Weights *w, Stream *s, const Run *run, uint64_t step, const char *const (*aliases)[2],
                       const ModelNote *note, bool *gone, Error *e)
{
    char *folder = run_checkpoint_path(run, step), *path = folder ? path_join(folder, "model.safetensors") : NULL;
    bool fine = path ? weights_read(w, s, path, aliases, note, NULL, e) : fail(e, "out of memory for a path");
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
        return fail(e, "%s: '%s' is missing", path, key);
    return (*text && !*end && isfinite(*value) && *value >= 0) ||
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
    if (fine && c->average) {
        char name[sizeof c->parameters->list[0]->name + sizeof trained];
        snprintf(name, sizeof name, "%s%s", trained, c->parameters->list[0]->name);
        trainer_average_begins(c);
        if (safetensors_find(from.file, name)) /* else it was trained without an average so far */
            fine = read_block(&(Reading){.from = &from,
                                         .to = &(SavedBlock){trained, c->parameters, c->weights.reals, NULL, 0},
                                         .k = c->options.k,
                                         .s = s},
                              e);
        if (fine && c->weights.numbers != c->weights.reals)
            c->options.k->convert(s, c->weights.numbers, c->weights.reals, c->parameters->whole);
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
