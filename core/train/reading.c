/* See reading.h; and weights_read of checkpoint.h: all of a file, or what of it matches. */
#include "core/train/reading.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "core/run/json.h"

#include <stdio.h>
#include <string.h>

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

static bool is_read(const Reading *r, size_t i)
{
    const Optimizer *o = r->from->optimizer;
    const Parameter *p = r->to->layout->list[i];
    return p->role != ROLE_CONSTANT && (!r->from->part || matches(r->from, p)) &&
           (!o || optimizer_keeps(o, r->to->reals == o->block[1], i));
}

bool read_block(void *reading, Error *e)
{
    const Reading *r = reading;
    const Parameters *p = r->to->layout;
    const size_t largest = parameters_largest(p), real = r->k->real;
    const bool straight = r->k->on_host && !r->to->divided;
    void *values = straight ? NULL : memory_get(largest, real);
    if (!straight && !values)
        return memory_error(e, "weights from a file", largest, real);
    bool fine = true;
    for (size_t i = 0; fine && i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (!is_read(r, i))
            continue;
        fine = read_parameter(r->from, r->to->prefix, one, real_type(r->k),
                              straight ? parameter_in(one, r->to->reals, real) : values, e);
        if (fine && !straight)
            put_parameter(r->to, one, r->k, r->s, values);
    }
    memory_free(values);
    return fine;
}

/* --- a part --- */

/* One more name of a kind; the first few are told. A file's names may be anything. */
static void count_name(WeightsPart *part, Buffer *names, PartKind kind, const char *name, const char *more)
{
    enum { TOLD = 5 };
    const size_t before = names[kind].size, count = part->count[kind]++;
    if (count == TOLD)
        buffer_print(&names[kind], ", ..");
    if (count >= TOLD)
        return;
    buffer_print(&names[kind], "%s%s%s", before ? ", " : "", name, more);
    if (!names[kind].failed)
        utf8_hide_controls(names[kind].text + before, names[kind].size - before);
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

/* Nothing fits: because of a shape, if the file has a tensor of a parameter's name, or else because of the names. */
static bool none_matches(const Source *from, const Parameters *p, Error *e)
{
    const size_t count = safetensors_count(from->file);
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        const SafeTensor *t = one->role == ROLE_CONSTANT ? NULL : find_parameter(from, one->name);
        if (t)
            return fail(e,
                        "%s: none of its %zu tensors matches the model by name and shape; its %s has shape [%s], the "
                        "model's [%s]: give the model the sizes of that one, such as --dim",
                        from->path, count, one->name, shape_text(t->shape, t->rank).text,
                        shape_text(one->shape, (size_t)one->rank).text);
    }
    return fail(e,
                "%s: none of its %zu tensors matches the model by name and shape; it has %.80s, and the model %s: "
                "--map OLD=NEW renames them",
                from->path, count, count ? safetensors_at(from->file, 0)->name : "nothing",
                p->count ? p->list[0]->name : "nothing");
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
    return part->count[PART_MATCHED] || none_matches(from, p, e);
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
                                   {"gate", {".ff."}},
                                   {"macaron", {".ff."}},
                                   {"chosen-experts", {".ff."}},
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
                                   {"pool", {"logits."}},
                                   {"pooler", {"pooler.", "logits."}}};

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
    static const char *const zero[][2] = {{"norm-epsilon", "1e-05"}, {"rotary-base", "10000"}}; /* what 0 stands for */
    const Json *value = json_get(options, m->option);
    if (value && value->kind == JSON_BOOL)
        return value->truth ? "yes" : "no";
    const char *text = value && value->text ? value->text : run_unless_given(m->option);
    for (size_t i = 0; text && i < sizeof zero / sizeof *zero; i++)
        if (!strcmp(m->option, zero[i][0]) && !strcmp(text, "0"))
            text = zero[i][1];
    return text;
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
