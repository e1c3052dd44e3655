/* charlm heads: what the model looks at while it reads a text. */
#include "charlm/charlm.h"

#include "base/memory.h"
#include "core/program/heads.h"

#include <stdio.h>
#include <string.h>

static Tensor *network(void *app, Tape *t, const Rows *rows)
{
    const Charlm *c = app;
    return model_logits(t, &c->model, rows, NULL, NULL);
}

/* Registers have their numbers as labels. */
static bool name_registers(const Charlm *c, Labels *labels, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && i < c->model.registers.count; i++) {
        char name[32];
        const int size = snprintf(name, sizeof name, "[%zu]", i);
        fine = labels_add(labels, name, (size_t)size, false, e);
    }
    return fine;
}

/* The rows of a text, of all sides. */
static bool read_row(Charlm *c, Inspection *l, const int32_t *ids, size_t count, Error *e)
{
    InspectRow row = {.sides = c->model.memory ? 1 : model_sides(&c->model), .network = network};
    Batch b;
    BatchSize size = {.sides = row.sides, .rows = 1};
    for (size_t side = 0; side < row.sides; side++)
        size.positions[side] = row.count[side] = count;
    if (!batch_open(&b, &size, e))
        return false;
    memcpy(b.side[WINDOW].ids + batch_row(&b, WINDOW, count), ids, count * sizeof *ids);
    ngrams_add(&c->model.ngrams, &b);
    for (size_t side = 0; side < row.sides; side++)
        row.ids[side] = b.side[side].ids;
    const bool fine = inspect_read(&c->app, l, &row, e);
    batch_close(&b);
    return fine;
}

/* The network's row: registers, and as many of a text's ids as it reads. */
static bool read_ids(Charlm *c, Inspection *l, const int32_t *ids, size_t all, Error *e)
{
    const Registers registers = c->model.registers;
    const size_t count = all < model_reads(&c->model) ? all : model_reads(&c->model);
    int32_t *of_row = memory_get(registers.count + count, sizeof *of_row);
    if (!of_row)
        return memory_error(e, "a text", registers.count + count, sizeof *of_row);
    inspect_cut(&c->app, "the text", all, count);
    for (size_t i = 0; i < registers.count; i++)
        of_row[i] = registers.first + (int32_t)i;
    memcpy(of_row + registers.count, ids, count * sizeof *ids);
    const bool fine = read_row(c, l, of_row, registers.count + count, e);
    memory_free(of_row);
    return fine;
}

static bool read_text(Charlm *c, Inspection *l, const Buffer *text, Error *e)
{
    size_t all;
    int32_t *ids;
    if (!tokenizer_ids(&c->tokenizer, text->text, text->size, &ids, &all, e))
        return false;
    const bool bytes = c->tokenizer.kind == TOKEN_BYTES; /* which are labelled as those of their characters */
    bool fine = name_registers(c, &l->tokens[0], e) &&
                (!bytes || labels_add_bytes(&l->tokens[0], text->text, text->size, e));
    for (size_t i = 0; fine && !bytes && i < all; i++)
        fine = charlm_name_token(&c->app, NULL, ids[i], &l->tokens[0], e);
    fine = fine && read_ids(c, l, ids, all, e);
    memory_free(ids);
    return fine;
}

bool charlm_inspect(App *a, Inspection *l, Error *e)
{
    Charlm *c = (Charlm *)a;
    Buffer text = {0};
    bool fine = inspect_text(a, a->inspect, &text, e) && charlm_open_run(c, e) && read_text(c, l, &text, e);
    buffer_free(&text);
    return fine;
}
