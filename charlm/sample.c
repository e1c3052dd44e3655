/* charlm sample: text, token by token, as it is chosen. How it is written: writer.h. */
#include "charlm/writer.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/utf8.h"
#include "core/run/json.h"
#include "core/text/archive.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Output {
    const Tokenizer *tokenizer;
    Buffer all;   /* the prompt and the text so far */
    size_t shown; /* of it, on standard output */
    bool stream, terminal;
} Output;

/* A character that moves the cursor, or worse. */
static bool is_control(const char *at, size_t length)
{
    unsigned char c = (unsigned char)*at;
    return length == 1 ? (c < 0x20 && !strchr("\t\n\r", c)) || c == 0x7f
                       : length == 2 && c == 0xc2 && (unsigned char)at[1] < 0xa0;
}

/* A terminal gets whole characters only, and U+FFFD for what is none or would steer it. */
static void show(Output *o, bool end)
{
    while (o->shown < o->all.size) {
        const char *at = o->all.text + o->shown;
        size_t rest = o->all.size - o->shown, length = o->terminal ? utf8_length(at, rest) : rest;
        if (!length && !end && utf8_tail(at, rest) == rest)
            break; /* the next bytes will say */
        if (length && !(o->terminal && is_control(at, length)))
            fwrite(at, 1, length, stdout);
        else
            fputs("\xef\xbf\xbd", stdout);
        o->shown += length ? length : 1;
    }
    fflush(stdout);
}

/* Of texts that are written at once the first one is shown as it grows, and the others when all are done. */
static void take_token(void *to, size_t text, int32_t id)
{
    Output *o = (Output *)to + text;
    tokenizer_bytes(o->tokenizer, id, &o->all);
    if (o->stream && !text && !o->all.failed)
        show(o, false);
}

/* The prompt: given, from a file, or the beginning of the run's validation text. */
static bool find_prompt(Charlm *c, Buffer *prompt, Error *e)
{
    if (c->options->prompt_file) {
        char *bytes;
        size_t size;
        if (!text_is_plain(c->options->prompt_file, e) || !file_read_any(c->options->prompt_file, &bytes, &size, e))
            return false;
        buffer_add(prompt, bytes, size);
        memory_free(bytes);
    } else if (c->options->prompt) {
        buffer_add(prompt, c->options->prompt, strlen(c->options->prompt));
    } else {
        if (!app_open_data(&c->app, false, e))
            return false;
        Part valid = text_bytes(&c->text, SPLIT_VALID);
        const char *text = (const char *)valid.bytes;
        size_t size = valid.size < 100 ? valid.size : 100, head = utf8_head(text, size);
        buffer_add(prompt, text + head, size - head - utf8_tail(text, size));
    }
    return !prompt->failed || fail(e, "out of memory for the prompt");
}

static double rate(size_t count, double seconds) { return seconds > 0 ? (double)count / seconds : 0; }

/* all: the characters of the texts that were written together. */
static bool print_text_json(const char *text, size_t size, size_t all, const Sampling *s, Error *e)
{
    Buffer b = {0};
    json_add_key(&b, "text");
    json_add_bytes(&b, text, size);
    json_add_member(&b, "characters", (double)size);
    json_add_member(&b, "characters_per_s", rate(all, s->seconds));
    json_add_member(&b, "tokens", (double)s->length);
    json_add_member(&b, "tokens_per_s", rate(s->length * s->texts, s->seconds));
    json_add_member(&b, "prompt_tokens", (double)s->prompt);
    json_add_member(&b, "prompt_tokens_per_s", rate(s->prompt, s->prompt_seconds));
    return json_print_members(&b, e);
}

static void begin_text(const Charlm *c, Output *o, const Buffer *prompt)
{
    *o = (Output){.tokenizer = &c->tokenizer, .stream = !c->options->shared.json, .terminal = isatty(STDOUT_FILENO)};
    buffer_add(&o->all, prompt->text, prompt->size);
    if (o->terminal)
        o->shown = utf8_head(o->all.text, o->all.size); /* of a character that nobody has */
}

static bool end_text(Output *o, size_t prompt, size_t all, const Sampling *s, Error *e)
{
    if (o->all.failed)
        return fail(e, "out of memory for a sample");
    if (!o->stream)
        return print_text_json(o->all.text + prompt, o->all.size - prompt, all, s, e);
    show(o, true);
    printf("\n");
    fflush(stdout); /* before what is said of it, where both go to one file */
    return true;
}

static bool sample_some(const Charlm *c, Writer *w, const Buffer *prompt, size_t first, size_t count, Error *e)
{
    const CharlmOptions *v = c->options;
    Output text[WRITER_TEXTS] = {0};
    Sampling s = {.texts = count,
                  .length = v->length,
                  .how = {.temperature = v->temperature, .top_k = v->top_k, .top_p = v->top_p},
                  .seed = (uint32_t)v->shared.seed,
                  .number = (uint32_t)first,
                  .write = take_token,
                  .to = text};
    for (size_t i = 0; i < count; i++)
        begin_text(c, &text[i], prompt);
    if (text[0].stream && !text[0].all.failed)
        show(&text[0], false);
    bool fine = writer_write(w, &s, e);
    size_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += text[i].all.size - prompt->size;
    for (size_t i = 0; i < count; i++) {
        fine = fine && end_text(&text[i], prompt->size, all, &s, e);
        buffer_free(&text[i].all);
    }
    if (fine && !v->shared.quiet)
        fprintf(stderr, "%.0f %s/s, after a prompt of %zu at %.0f\n", rate(s.length * count, s.seconds),
                tokenizer_unit(c->tokenizer.kind), s.prompt, rate(s.prompt, s.prompt_seconds));
    return fine;
}

bool charlm_sample(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    Trainer trainer = {0};
    Buffer prompt = {0};
    int32_t *ids = NULL;
    size_t count;
    Writer *w = NULL;
    const CharlmOptions *v = c->options;
    const size_t most = smaller(v->count, v->together);
    if (v->prompt && v->prompt_file)
        return fail(e, "--prompt and --prompt-file exclude each other: give only one") || app_misused(&c->app);
    bool fine = charlm_open_run(c, e) && find_prompt(c, &prompt, e) &&
                writer_trainer(c, &trainer, most, app_open_trainer, e) &&
                tokenizer_ids(&c->tokenizer, prompt.text, prompt.size, &ids, &count, e) &&
                writer_open(&w, c, &trainer, most, ids, count, v->exact, e);
    for (size_t i = 0; fine && i < v->count; i += most)
        fine = sample_some(c, w, &prompt, i, smaller(v->count - i, most), e);
    writer_close(w);
    trainer_close(&trainer);
    buffer_free(&prompt);
    memory_free(ids);
    return fine;
}
