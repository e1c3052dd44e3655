/* Rates of layers, for fine-tuning: the lower a layer, the less it has to learn (Howard and Ruder 2018). Both options
 * become patterns of --groups, after those that were given, which go before them. */
#include "classifier/classifier.h"

#include "base/buffer.h"

#include <math.h>
#include <stdio.h>

/* What is below the first block. */
static const char *const embeddings[] = {"token_embedding", "position_embedding", "segment_embedding",
                                         "ngram_embedding", "embedding_norm"};

static void add_group(Buffer *b, const char *name, double rate)
{
    buffer_print(b, "%s%s.*:lr=%.9g", b->size ? ";" : "", name, rate);
}

static bool is_there(const Parameters *p, const char *name)
{
    char whole[80];
    snprintf(whole, sizeof whole, "%s.weight", name);
    return parameters_find(p, whole);
}

bool classifier_layer_rates(Classifier *c, Error *e)
{
    const ClassifierOptions *v = c->options;
    const size_t depth = v->shared.depth, frozen = v->freeze;
    const double below = v->layer_rate > 0 ? v->layer_rate : 1;
    Buffer b = {0};
    if (!frozen && !(v->layer_rate > 0))
        return true;
    if (frozen > depth + 1)
        return fail(e, "--freeze %zu: the embeddings and %zu blocks make %zu layers", frozen, depth, depth + 1) ||
               app_misused(&c->app);
    if (v->shared.groups)
        buffer_print(&b, "%s", v->shared.groups);
    for (size_t i = 0; i < sizeof embeddings / sizeof *embeddings; i++)
        if (is_there(&c->model.parameters, embeddings[i]))
            add_group(&b, embeddings[i], frozen ? 0 : pow(below, (double)depth));
    for (size_t i = 0; i < depth; i++) {
        char name[40];
        snprintf(name, sizeof name, "blocks.%zu", i);
        add_group(&b, name, i + 1 < frozen ? 0 : pow(below, (double)(depth - 1 - i)));
    }
    bool fine = !b.failed || fail(e, "out of memory for the rates of layers");
    fine = fine && options_set(c->app.command_line, "groups", b.text, FROM_COMMAND_LINE, e);
    buffer_free(&b);
    return fine;
}
