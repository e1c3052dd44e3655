/* What a run shows of its model while it learns. */
#include "charlm/writer.h"

#include "base/memory.h"
#include "base/utf8.h"

typedef struct Shown {
    const Tokenizer *tokenizer;
    Buffer text;
} Shown;

static void keep_token(void *to, size_t text, int32_t id)
{
    (void)text;
    Shown *s = to;
    tokenizer_bytes(s->tokenizer, id, &s->text);
}

/* The end of its prompt, a bar, how it continues. */
bool charlm_show_sample(App *a, Trainer *trainer, uint64_t step, Error *e)
{
    Charlm *c = (Charlm *)a;
    const Part valid = text_part(&c->text, SPLIT_VALID);
    const size_t most = valid.size < model_window(&c->model) / 2 ? valid.size : model_window(&c->model) / 2;
    size_t prompt = part_bytes(&valid, &c->tokenizer, 0, most), count;
    prompt -= utf8_tail((const char *)valid.bytes, prompt); /* whole characters: files are looked at, too */
    size_t shown = prompt < 40 ? prompt : 40;
    shown -= utf8_head((const char *)valid.bytes + prompt - shown, shown);
    Shown all = {.tokenizer = &c->tokenizer};
    Buffer *text = &all.text;
    int32_t *ids;
    Writer *w = NULL;
    Sampling s = {.texts = 1,
                  .length = 200,
                  .how = {.temperature = 0.5, .top_p = 1},
                  .seed = (uint32_t)c->options->shared.seed,
                  .number = (uint32_t)step,
                  .write = keep_token,
                  .to = &all};
    if (!tokenizer_ids(&c->tokenizer, (const char *)valid.bytes, prompt, &ids, &count, e))
        return false;
    buffer_add(text, valid.bytes + prompt - shown, shown);
    buffer_add(text, "|", 1);
    bool fine = writer_open(&w, c, trainer, 1, ids, count, false, e) && writer_write(w, &s, e);
    writer_close(w);
    memory_free(ids);
    text->size -= utf8_tail(text->text, text->size);
    buffer_add(text, "\n", 1);
    fine = fine && (!text->failed || fail(e, "out of memory for a sample")) &&
           run_sample_write(a->run, step, text->text, text->size, e);
    buffer_free(text);
    return fine;
}
