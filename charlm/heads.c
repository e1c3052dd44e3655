/* charlm heads: what the model looks at while it reads a text. Its tokens are bytes. */
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
    size_t count = text->size < c->model.context ? text->size : c->model.context;
    int32_t *ids = memory_get(count, sizeof *ids);
    if (!ids)
        return memory_error(e, "a text", count, sizeof *ids);
    for (size_t i = 0; i < count; i++)
        ids[i] = (unsigned char)text->text[i];
    inspect_cut(&c->app, "the text", text->size, count);
    const InspectRow row = {.sides = 1, .ids = {ids}, .count = {count}, .network = network};
    bool fine = labels_add_bytes(&l->tokens[0], text->text, text->size, e) && inspect_read(&c->app, l, &row, e);
    memory_free(ids);
    return fine;
}

bool charlm_inspect(App *a, Inspection *l, Error *e)
{
    Charlm *c = (Charlm *)a;
    Buffer text = {0};
    bool fine = inspect_text(a, a->inspect, &text, e) && charlm_open_run(c, e) && read_text(c, l, &text, e);
    buffer_free(&text);
    if (fine && l->recorder.count) {
        l->shown = &l->recorder.maps[0];
        l->shown->query = l->shown->key = &l->tokens[0];
    }
    return fine;
}
