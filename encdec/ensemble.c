/* See ensemble.h. */
#include "encdec/ensemble.h"

#include "base/memory.h"

#include <string.h>

typedef struct EnsembleRun {
    EncDec c;
    EncdecOptions values;
    Options options;
    Weights weights;
    char *path;
} EnsembleRun;

/* Whether each id is the same subword in both. */
static bool same_subwords(const EnsembleRun *r, const EncDec *first, Error *e)
{
    const Subwords *a = &first->subwords, *b = &r->c.subwords;
    bool same = a->type == b->type && a->apart == b->apart;
    for (size_t side = 0; same && side < SIDES_USED; side++)
        if (subwords_count(a, side) != subwords_count(b, side))
            same = false;
        else if (!subwords_same(a, b, side, subwords_count(a, side), &same, e))
            return false;
    if (same && a->registers != b->registers)
        return fail(e, "--ensemble %s: it has %zu registers, and %s has %zu", r->path, b->registers,
                    first->app.run->path, a->registers);
    return same || fail(e, "--ensemble %s: its vocabulary is not that of %s", r->path, first->app.run->path);
}

static bool open_run(EnsembleRun *r, const EncDec *first, const Kernels *k, Error *e)
{
    const OptionTable tables[] = {{shared_options, shared_option_count, &r->values.shared},
                                  {encdec_options, encdec_option_count, &r->values}};
    r->c = (EncDec){.app = {.kind = &encdec_kind, .options = &r->values.shared, .command_line = &r->options},
                    .options = &r->values};
    if (!options_open(&r->options, &encdec_program, tables, sizeof tables / sizeof *tables, e))
        return false;
    r->values.shared.run = r->path;
    r->values.shared.weights = first->options->shared.weights;
    return encdec_open_run(&r->c, e) && same_subwords(r, first, e) && app_open_weights(&r->c.app, k, &r->weights, e);
}

bool ensemble_open(Ensemble *n, const EncDec *first, const char *runs, const Kernels *k, Error *e)
{
    *n = (Ensemble){.count = runs && *runs ? 1 : 0};
    for (const char *at = runs; at && *at; at++)
        n->count += *at == ',';
    n->run = memory_get(n->count, sizeof *n->run);
    n->other = memory_get(n->count, sizeof *n->other);
    if (!n->run || !n->other) {
        n->count = 0;
        return memory_error(e, "the runs of an ensemble", n->count, sizeof *n->run);
    }
    for (size_t i = 0; i < n->count; i++) {
        EnsembleRun *r = &n->run[i];
        const size_t size = strcspn(runs, ",");
        r->path = memory_get(size + 1, 1);
        if (!r->path)
            return memory_error(e, "a path", size + 1, 1);
        memcpy(r->path, runs, size);
        runs += size + 1;
        if (!open_run(r, first, k, e))
            return false;
        n->other[i] = (TranslatingModel){&r->c.model, &r->weights};
    }
    return true;
}

void ensemble_close(Ensemble *n)
{
    for (size_t i = 0; i < n->count; i++) {
        EnsembleRun *r = &n->run[i];
        weights_close(&r->weights);
        if (r->c.app.kind)
            app_close(&r->c.app);
        options_close(&r->options);
        memory_free(r->path);
    }
    memory_free(n->run);
    memory_free(n->other);
    *n = (Ensemble){0};
}
