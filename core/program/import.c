/* See import.h. */
#include "core/program/import.h"

#include "base/units.h"
#include "core/nn/norm.h"

#include <stdio.h>
#include <string.h>

/* ---- options, as if they had been typed */

bool import_set(const Import *m, const char *option, const char *text, Error *e)
{
    return options_set(m->a->command_line, option, text, FROM_COMMAND_LINE, e) ||
           fail(e, "%s cannot be a run here: %s", m->path, e->text);
}

bool import_size(const Import *m, const char *option, size_t value, Error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return import_set(m, option, text, e);
}

bool import_number(const Import *m, const char *option, double value, Error *e)
{
    return import_set(m, option, real_text(value).text, e);
}

bool import_flag(const Import *m, const char *option, bool value, Error *e)
{
    return import_set(m, option, value ? "yes" : "no", e);
}

bool import_activation(const Import *m, const char *key, const char *otherwise, Error *e)
{
    static const char *const names[][2] = {{"gelu_new", "gelu-tanh"}, {"gelu_pytorch_tanh", "gelu-tanh"},
                                           {"gelu", "gelu"},          {"relu", "relu"},
                                           {"silu", "silu"},          {"swish", "silu"},
                                           {"relu2", "relu2"}};
    const char *asked = json_get(m->hf.config, key) ? hf_said(&m->hf, key) : otherwise;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(asked, names[i][0]))
            return import_set(m, "activation", names[i][1], e);
    return fail(e, "%s/config.json: '%s' is %.40s; gelu, gelu_new, relu, relu2 and silu are supported", m->path, key,
                asked);
}

bool import_epsilon(const Import *m, const char *key, double otherwise, Error *e)
{
    double epsilon;
    if (!hf_number(&m->hf, key, otherwise, &epsilon, e))
        return false;
    if (!(epsilon > 0 && epsilon < 1))
        return fail(e, "%s/config.json: '%s' is not a number between 0 and 1", m->path, key);
    const bool usual = !(epsilon < NORM_EPSILON || epsilon > NORM_EPSILON);
    return import_number(m, "norm-epsilon", usual ? 0 : epsilon, e);
}

/* ---- weights, and the run */

/* In our names, and forgotten before the run needs the memory. */
bool import_weights(const Import *m, const NamingTable *table, Source *theirs, const Parameters *ours, Error *e)
{
    Tensors t = {0};
    const bool fine = naming_read(table, theirs, ours, &t, e) && safetensors_write(m->to, t.list, t.count, NULL, 0, e);
    tensors_close(&t);
    return fine;
}

static bool train_opened_by(App *a, bool (*open)(App *a, Error *e), Error *e)
{
    const AppKind *kind = a->kind;
    AppKind own = *kind;
    if (open)
        own.open = open;
    a->kind = &own;
    const bool fine = app_train(a, e);
    a->kind = kind;
    return fine;
}

bool import_run(Import *m, App *a, const char *asks, bool (*read)(Import *m, Error *e), bool (*open)(App *a, Error *e),
                Error *e)
{
    m->a = a;
    m->path = a->command_line->argument_count == 1 ? a->command_line->arguments[0] : NULL;
    if (!m->path)
        return fail(e, "which model? %s", asks) || app_misused(a);
    if (!a->options->out)
        return fail(e, "where to? Give --out RUN") || app_misused(a);
    if (!run_may_begin(a->options->out, a->kind->files, e))
        return false;
    if ((size_t)snprintf(m->beside, sizeof m->beside, "%s.import", a->options->out) >= sizeof m->beside)
        return fail(e, "--out %s: too long", a->options->out);
    snprintf(m->to, sizeof m->to, "%s.safetensors", m->beside);
    a->options->run = a->options->out;
    a->options->out = NULL; /* which in training is a picture's */
    bool fine = read(m, e) && import_set(m, "weights", m->to, e);
    hf_close(&m->hf);
    fine = fine && train_opened_by(a, open, e) && run_mark(a->run, "best", 0, e);
    remove(m->to);
    return fine;
}
