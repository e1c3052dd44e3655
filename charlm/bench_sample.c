/* charlm bench --sample: characters a second, beside how often a second the weights could be read.
 *
 * Each character needs every weight of every product once, so reading them is what a character costs at least. How fast
 * that goes is measured in turn with sampling, on a buffer of the same size, by the same team, as many times in a row
 * as a text has characters: both from caches as far as they fit. Figures are medians. */
#include "charlm/writer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/units.h"
#include "core/cli/version.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"
#include "core/train/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAKES = 11, EXACT_TAKES = 3 };

typedef struct Bench {
    Trainer trainer;
    Sampling s;
    int32_t *prompt;
    size_t prompt_size;
    void *buffer; /* as large as the weights; NULL: what reading costs is not known */
    size_t bytes;
    double cached, exact, together; /* characters/s: of one text, and of WRITER_TEXTS at once */
    double read;                    /* bytes/s; 0: not known for this device */
    Parts parts;
} Bench;

static void drop_token(void *to, size_t text, int32_t id) { (void)to, (void)text, (void)id; }

static bool open_trainer(App *a, Trainer *trainer, Error *e)
{
    TrainerOptions options;
    if (!app_trainer_options(a, &options, false, e) || !app_profile(a, &options, e))
        return false;
    return trainer_open(trainer, &options, a->parameters, &a->task, e) &&
           setup_weights(trainer, a->options, NULL, NULL, e);
}

/* Weights that products read, as numbers. */
static size_t bytes_of_weights(const Model *m, const Kernels *k)
{
    size_t numbers = m->logits.weight->role == ROLE_WEIGHT ? 0 : m->logits.weight->count; /* a tied table */
    for (size_t i = 0; i < m->parameters.count; i++)
        numbers += m->parameters.list[i]->role == ROLE_WEIGHT ? m->parameters.list[i]->count : 0;
    return numbers * k->number;
}

/* Random tokens, and a text after them that just fits into the context. */
static bool open_bench(Charlm *c, Bench *b, Error *e)
{
    if (!charlm_build(c, e) || !writer_trainer(c, &b->trainer, WRITER_TEXTS, open_trainer, e))
        return false;
    const Kernels *k = b->trainer.options.k;
    size_t context = model_reads(&c->model), length = context < 16 ? 2 : context * 7 / 32;
    b->prompt_size = context > length ? context - length : 1;
    b->s = (Sampling){.texts = 1, .length = length, .how = {.temperature = 1, .top_p = 1}, .write = drop_token};
    b->bytes = bytes_of_weights(&c->model, k);
    b->prompt = memory_get(b->prompt_size, sizeof *b->prompt);
    b->buffer = k->read_speed ? memory_get(b->bytes, 1) : NULL;
    if (!b->prompt || (k->read_speed && !b->buffer))
        return memory_error(e, "a buffer to read", b->bytes, 1);
    if (b->buffer)
        memset(b->buffer, 1, b->bytes); /* so that each page has a place of its own */
    for (size_t i = 0; i < b->prompt_size; i++)
        b->prompt[i] = (int32_t)philox_below(c->model.vocabulary, 1, 0, i, SITE_DATA);
    return true;
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The middle one of some takes of `texts` at once; of one text with a cache, each beside as many passes over memory. */
static bool take(const Charlm *c, Bench *b, size_t texts, bool exact, size_t takes, double *rate, Error *e)
{
    Writer *w = NULL;
    bool fine = writer_open(&w, c, &b->trainer, texts, b->prompt, b->prompt_size, exact, e);
    const Kernels *k = b->trainer.options.k;
    bool reads = k->read_speed && !exact && texts == 1;
    double all = 0, rates[TAKES] = {0}, read[TAKES] = {0};
    size_t count = b->s.length - 1; /* one character costs the prompt */
    b->s.texts = texts;
    if (c->options->shared.profile)
        parts_begin(&b->trainer);
    for (size_t i = 0; fine && i < takes; i++) {
        fine = writer_write(w, &b->s, e);
        rates[i] = b->s.seconds > 0 ? (double)(texts * count) / b->s.seconds : 0;
        read[i] = reads ? k->read_speed(b->trainer.worker[0].stream, b->buffer, b->bytes, count) : 0;
        all += b->s.seconds;
    }
    *rate = median(rates, takes);
    if (reads)
        b->read = median(read, takes);
    if (fine && c->options->shared.profile)
        fine = parts_of(&b->parts, &b->trainer, all, takes * count, e);
    writer_close(w);
    return fine;
}

static bool print_json(const Charlm *c, const Bench *b, Error *e)
{
    const TrainerOptions *o = &b->trainer.options;
    Buffer out = {0};
    char peer[128];
    snprintf(peer, sizeof peer, "attend %s", attend_version());
    json_add_text(&out, "peer", peer);
    json_add_text(&out, "program", "charlm");
    json_add_text(&out, "device", o->k->backend);
    json_add_text(&out, "precision", number_type_name(o->k->type));
    json_add_member(&out, "threads", (double)o->team);
    json_add_member(&out, "prompt", (double)b->prompt_size);
    json_add_text(&out, "unit", tokenizer_unit((TokenKind)c->options->tokens)); /* of what `characters` names */
    json_add_member(&out, "characters", (double)b->s.length);
    json_add_member(&out, "characters_per_s", b->cached);
    json_add_member(&out, "weight_bytes", (double)b->bytes);
    json_add_member(&out, "read_bytes_per_s", b->read);
    json_add_member(&out, "share", b->read > 0 ? b->cached * (double)b->bytes / b->read : 0);
    if (c->options->shared.profile) {
        parts_json(&b->parts, &out);
    } else {
        json_add_member(&out, "together_characters_per_s", b->together);
        json_add_member(&out, "exact_characters_per_s", b->exact);
    }
    return json_print_members(&out, e);
}

static bool print_result(const Charlm *c, const Bench *b, Error *e)
{
    const TrainerOptions *o = &b->trainer.options;
    if (c->options->shared.json)
        return print_json(c, b, e);
    const char *unit = tokenizer_unit((TokenKind)c->options->tokens);
    printf("%.0f %s/s: %zu after a prompt of %zu, %s, %zu cores\n", b->cached, unit, b->s.length, b->prompt_size,
           number_type_name(o->k->type), o->team);
    if (b->read > 0)
        printf("%.2f MB of weights each; a buffer of that size is read %.0f times/s (%.1f GB/s): %.0f %%\n",
               1e-6 * (double)b->bytes, b->read / (double)b->bytes, 1e-9 * b->read,
               100 * b->cached * (double)b->bytes / b->read);
    if (c->options->shared.profile)
        parts_print(&b->parts, stdout);
    else
        printf("%.0f %s/s of %d texts at once: %.1f times as many\n"
               "%.1f %s/s with --exact: the cache is %.1f times as fast\n",
               b->together, unit, WRITER_TEXTS, b->together / b->cached, b->exact, unit, b->cached / b->exact);
    return true;
}

bool charlm_bench(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    if (!c->options->sample)
        return app_bench(a, e);
    Bench b = {0};
    bool fine = open_bench(c, &b, e) && take(c, &b, 1, false, TAKES, &b.cached, e) &&
                (c->options->shared.profile || (take(c, &b, WRITER_TEXTS, false, TAKES, &b.together, e) &&
                                                take(c, &b, 1, true, EXACT_TAKES, &b.exact, e)));
    fine = fine && print_result(c, &b, e);
    parts_close(&b.parts);
    memory_free(b.buffer);
    memory_free(b.prompt);
    trainer_close(&b.trainer);
    return fine;
}
