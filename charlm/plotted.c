/* What plot draws of charlm's data and model: its lines, and its tokens. */
#include "charlm/charlm.h"

#include "base/memory.h"

/* Where the lines of a part begin, with their ends; to be freed with memory_free. */
static bool find_lines(TextList *l, Part part, void **owned, Error *e)
{
    size_t lines = 0, *start;
    for (size_t i = 0; i < part.size; i++)
        lines += part.bytes[i] == '\n' || i + 1 == part.size;
    start = memory_get(lines + 1, sizeof *start);
    if (!start)
        return memory_error(e, "where lines begin", lines + 1, sizeof *start);
    for (size_t i = 0; i < part.size; i++)
        if (part.bytes[i] == '\n' || i + 1 == part.size)
            start[++l->count] = i + 1;
    l->bytes = part.bytes;
    l->start = *owned = start;
    return true;
}

bool charlm_texts(App *a, TextSet *t, Error *e)
{
    Charlm *c = (Charlm *)a;
    if ((a->options->run && !app_open_run(a, a->options->run, false, e)) || !app_open_data(a, false, e))
        return false;
    t->count = 2;
    t->kinds = BYTES;
    t->unknown = NOT_KNOWN;
    t->reads = c->options->tokens == TOKEN_BYTES ? a->options->context : 0;
    t->text = "line";
    t->measured = "bytes";
    t->list[0] = (TextList){.name = "train", .learnt = true};
    t->list[1] = (TextList){.name = "valid"};
    return find_lines(&t->list[0], text_bytes(&c->text, SPLIT_TRAIN), &t->owned[0], e) &&
           find_lines(&t->list[1], text_bytes(&c->text, SPLIT_VALID), &t->owned[1], e);
}

bool charlm_name_token(const App *a, const char *table, int32_t id, Labels *names, Error *e)
{
    const Charlm *c = (const Charlm *)a;
    Buffer text = {0};
    (void)table;
    if ((size_t)id < c->model.vocabulary)
        tokenizer_bytes(&c->tokenizer, id, &text);
    else
        buffer_print(&text, "[%zu]", (size_t)id - c->model.vocabulary); /* a register */
    const bool fine = text.failed ? memory_error(e, "a token", text.size, 1)
                                  : labels_add(names, text.text, text.size, false, e);
    buffer_free(&text);
    return fine;
}
