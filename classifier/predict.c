/* classifier predict: the class of texts, or their vectors (vectors.h): of those on the command line, or one a line of a file or standard input. */
#include "classifier/vectors.h"

#include "base/memory.h"
#include "base/ranks.h"
#include "base/utf8.h"
#include "core/run/json.h"

#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 256 }; /* texts that are classified together */

typedef struct Predict {
    Classifier *c;
    Trainer trainer;
    size_t number; /* of the next text, from 1 */
    size_t cut;    /* texts that are longer than the model reads */
    size_t count;  /* of those that wait */
    char *text[AT_ONCE];
    int32_t *ids; /* of all that wait, one after the other */
    size_t capacity, start[AT_ONCE + 1];
    float *logits; /* or vectors */
    double *shares;
    NpyWriter vectors; /* where --vectors asks for them */
} Predict;

static bool print_one(const Predict *p, size_t i, Error *e)
{
    const Classifier *c = p->c;
    size_t said = classifier_shares(p->shares, p->logits + i * c->class_count, c->class_count);
    if (!c->options->shared.json) {
        printf("%s\t%.4f\t%s\n", c->classes[said], p->shares[said], p->text[i]);
        return true;
    }
    Buffer b = {0};
    json_add_text(&b, "class", c->classes[said]);
    json_open(&b, "probabilities", '{');
    for (size_t j = 0; j < c->class_count; j++)
        json_add_member(&b, c->classes[j], p->shares[j]);
    buffer_print(&b, "}");
    json_add_key(&b, "text");
    json_add_bytes(&b, p->text[i], strlen(p->text[i]));
    return json_print_members(&b, e);
}

/* Process 0 reads and prints. What it has read it tells the others, which compute their parts of it. */
static bool share_texts(Predict *p, Error *e)
{
    if (ranks_count() == 1)
        return true;
    ranks_share(&p->count, sizeof p->count);
    ranks_share(p->start, (p->count + 1) * sizeof *p->start);
    if (!memory_grow(&p->ids, &p->capacity, p->start[p->count], sizeof *p->ids, "texts", e))
        return false;
    ranks_share(p->ids, p->start[p->count] * sizeof *p->ids);
    return true;
}

/* What a process does that does not read, until there is nothing more. */
static bool help(Predict *p, Error *e)
{
    while (share_texts(p, e)) {
        const Texts texts = {.count = p->count, .ids = p->ids, .start = p->start};
        if (!p->count)
            return true;
        if (!(p->c->options->vectors ? vectors_compute : classifier_logits)(p->c, &p->trainer, &texts, p->logits, e))
            return false;
    }
    return false;
}

/* Classifies and prints what waits. */
static bool flush(Predict *p, Error *e)
{
    const Texts texts = {.count = p->count, .ids = p->ids, .start = p->start};
    const bool vectors = p->c->options->vectors;
    bool fine = !p->count || share_texts(p, e);
    if (p->count && fine)
        fine = vectors ? vectors_write(&p->vectors, p->c, &p->trainer, &texts, p->logits, e)
                       : classifier_logits(p->c, &p->trainer, &texts, p->logits, e);
    for (size_t i = 0; i < p->count; i++) {
        fine = fine && (vectors || print_one(p, i, e));
        memory_free(p->text[i]);
    }
    fflush(stdout);
    p->count = 0;
    return fine;
}

static bool add(Predict *p, const char *text, size_t size, Error *e)
{
    const Classifier *c = p->c;
    const size_t room = c->model.context - classifier_marks(c);
    int32_t *ids = NULL;
    size_t count, cut, used = p->start[p->count];
    if (c->model.masked && !c->options->vectors)
        return masked_predict(p->c, &p->trainer, text, size, p->number++, e);
    if (!text_to_ids(c->reading, text, size, room, &ids, &count, &cut, e))
        return false;
    if (cut && ++p->cut == 1) /* the first says what happens, the end how often it did */
        fprintf(stderr, "classifier: text %zu: its last %zu %s are ignored: the model reads %zu\n", p->number, cut,
                classifier_unit(c), room);
    bool fine = memory_grow(&p->ids, &p->capacity, used + count, sizeof *p->ids, "texts", e);
    if (fine)
        memcpy(p->ids + used, ids, count * sizeof *ids);
    memory_free(ids);
    if (!fine)
        return false;
    char *copy = memory_get(size + 1, 1);
    if (!copy)
        return memory_error(e, "a text", size, 1);
    memcpy(copy, text, size);
    p->text[p->count++] = copy;
    p->start[p->count] = used + count;
    p->number++;
    return p->count < AT_ONCE || flush(p, e);
}

/* One text a line; the last line may do without an end. */
static bool add_lines(void *self, FILE *file, Error *e)
{
    Predict *p = self;
    Buffer line = {0};
    bool fine = true, first = true;
    int byte;
    do {
        byte = getc(file);
        if (byte != EOF && byte != '\n') {
            char letter = (char)byte;
            buffer_add(&line, &letter, 1);
        } else if (byte == '\n' || line.size) {
            if (line.size && line.text[line.size - 1] == '\r')
                line.size--;
            const size_t mark = first && line.size ? utf8_mark(line.text, line.size) : 0;
            fine = (!line.failed || memory_error(e, "a line", line.size, 1)) &&
                   add(p, line.text ? line.text + mark : "", line.size - mark, e);
            line.size = 0;
            first = false;
        }
    } while (fine && byte != EOF);
    buffer_free(&line);
    return fine;
}

static bool add_all(Predict *p, Error *e)
{
    const Options *o = p->c->app.command_line;
    const char *name = p->c->options->file;
    for (size_t i = 0; i < o->argument_count; i++)
        if (!add(p, o->arguments[i], strlen(o->arguments[i]), e))
            return false;
    /* that nothing is left is the last that others hear */
    return ((o->argument_count && !name) || app_input(name, add_lines, p, e)) && flush(p, e) && share_texts(p, e);
}

/* The file has its name when all vectors are in it. */
static bool write_vectors(Predict *p, Error *e)
{
    if (!vectors_open(&p->vectors, p->c, e))
        return false;
    if (add_all(p, e))
        return npy_close(&p->vectors, e);
    npy_abandon(&p->vectors);
    return false;
}

static bool predict_suits(const Classifier *c, Error *e)
{
    return !c->model.headless || c->options->vectors ||
           fail(e, "the run %s has no logits to predict with: --vectors FILE.npy writes the vectors of texts",
                c->app.run->path);
}

bool classifier_predict(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    Predict p = {.c = c, .number = 1};
    const bool vectors = c->options->vectors;
    if (!classifier_open_run(c, e))
        return false;
    if (!vectors_suit(c, e) || !predict_suits(c, e))
        return app_misused(a);
    app_own_workers(&c->app);
    (vectors ? vectors_task : classifier_task)(c);
    p.logits = memory_get(AT_ONCE * (vectors ? c->options->shared.dim : c->class_count), sizeof *p.logits);
    p.shares = memory_get(c->class_count, sizeof *p.shares);
    bool fine = (p.logits && p.shares) || memory_error(e, "logits", AT_ONCE * c->class_count, sizeof *p.logits);
    fine = fine && app_open_trainer(&c->app, &p.trainer, e) &&
           (ranks_own() ? help
            : vectors   ? write_vectors
                        : add_all)(&p, e);
    if (p.cut > 1)
        fprintf(stderr, "classifier: %zu of %zu texts were cut in this way\n", p.cut, p.number - 1);
    for (size_t i = 0; i < p.count; i++)
        memory_free(p.text[i]);
    trainer_close(&p.trainer);
    memory_free(p.ids);
    memory_free(p.logits);
    memory_free(p.shares);
    return fine;
}
