/* encdec average: the mean of the weights of a run's newest checkpoints ("Attention Is All You Need", 6.1: of the last
 * 5, or 20), which as a rule scores better than any of them. */
#include "encdec/encdec.h"

#include "core/run/json.h"
#include "core/train/average.h"

#include <inttypes.h>
#include <stdio.h>

static bool print_result(const EncDec *c, uint64_t first, uint64_t newest, Error *e)
{
    if (c->options->shared.json) {
        Buffer b = {0};
        json_add_text(&b, "run", c->app.run->path);
        json_add_member(&b, "checkpoints", (double)c->options->last);
        json_add_member(&b, "first", (double)first);
        json_add_member(&b, "newest", (double)newest);
        return json_print_members(&b, e);
    }
    printf("%s: the mean of %zu checkpoints, steps %" PRIu64 " to %" PRIu64 "; --weights average reads it\n",
           c->app.run->path, c->options->last, first, newest);
    return true;
}

bool encdec_average(App *a, Error *e)
{
    EncDec *c = (EncDec *)a;
    TrainerOptions o;
    Stream *s = NULL;
    Weights w = {0};
    Buffer options = {0};
    uint64_t first, newest;
    if (!encdec_open_run(c, e) || !encdec_task(c, e) || !app_trainer_options(&c->app, &o, false, e))
        return false;
    bool fine = o.k->open(&s, 1, e) && weights_open(&w, o.k, s, c->app.parameters, e) &&
                settings_json(c->app.command_line, OPTION_MODEL, &options, e);
    const ModelNote note = {c->app.kind->name, options.text};
    fine = fine && average_checkpoints(&w, s, c->app.run, c->options->last, &note, &first, &newest, e) &&
           print_result(c, first, newest, e);
    buffer_free(&options);
    weights_close(&w);
    if (s)
        o.k->close(s);
    return fine;
}
