/* What a run shows of its model while it learns. */
#include "charlm/writer.h"

#include "base/utf8.h"

static void keep_byte(void *to, unsigned char byte) { buffer_add(to, &byte, 1); }

/* The end of its prompt, a bar, how it continues. */
bool charlm_show_sample(App *a, Trainer *trainer, uint64_t step, Error *e)
{
    Charlm *c = (Charlm *)a;
    Part valid = text_part(&c->text, SPLIT_VALID);
    size_t prompt = valid.size < c->model.context / 2 ? valid.size : c->model.context / 2;
    prompt -= utf8_tail((const char *)valid.bytes, prompt); /* whole characters: files are looked at, too */
    size_t shown = prompt < 40 ? prompt : 40;
    shown -= utf8_head((const char *)valid.bytes + prompt - shown, shown);
    Buffer text = {0};
    Writer *w = NULL;
    Sampling s = {.length = 200,
                  .temperature = 0.5,
                  .top_p = 1,
                  .seed = (uint32_t)c->options->shared.seed,
                  .number = (uint32_t)step,
                  .write = keep_byte,
                  .to = &text};
    buffer_add(&text, valid.bytes + prompt - shown, shown);
    buffer_add(&text, "|", 1);
    bool fine = writer_open(&w, &c->model, trainer, valid.bytes, prompt, false, e) && writer_write(w, &s, e);
    writer_close(w);
    text.size -= utf8_tail(text.text, text.size);
    buffer_add(&text, "\n", 1);
    fine = fine && (!text.failed || fail(e, "out of memory for a sample")) &&
           run_sample_write(a->run, step, text.text, text.size, e);
    buffer_free(&text);
    return fine;
}
