/* charlm heads: what the model looks at while it reads a text. */
#include "charlm/charlm.h"

#include "base/memory.h"
#include "core/program/heads.h"

static Tensor *network(void *app, Tape *t, const Rows *rows)
{
    const Charlm *c = app;
    return model_logits(t, &c->model, rows, NULL, NULL);
}

static bool read_text(Charlm *c, Inspection *l, const Buffer *text, Error *e)
{
    size_t all;
    int32_t *ids;
    if (!tokenizer_ids(&c->tokenizer, text->text, text->size, &ids, &all, e))
        return false;
    const size_t count = all < c->model.context ? all : c->model.context;
    inspect_cut(&c->app, "the text", all, count);
    const InspectRow row = {.sides = 1, .ids = {ids}, .count = {count}, .network = network};
    const bool bytes = c->tokenizer.kind == TOKEN_BYTES; /* which are labelled as those of their characters */
    bool fine = !bytes || labels_add_bytes(&l->tokens[0], text->text, text->size, e);
    for (size_t i = 0; fine && !bytes && i < all; i++)
        fine = charlm_name_token(&c->app, ids[i], &l->tokens[0], e);
    fine = fine && inspect_read(&c->app, l, &row, e);
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
