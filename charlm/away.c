/* See away.h. */
#include "charlm/away.h"

#include "core/program/network.h"

#include <math.h>

static void measure(Away *w)
{
    const Json *m = w->x->model;
    const double stretch = model_number(m, "rotary-stretch"), base = model_number(m, "rotary-base");
    w->dim = model_size(m, "dim");
    w->heads = model_size(m, "heads");
    w->kv_heads = model_size(m, "kv-heads") ? model_size(m, "kv-heads") : w->heads;
    w->head_size = model_size(m, "head-size") ? model_size(m, "head-size") : w->dim / w->heads;
    w->ff = network_ff(model_size(m, "ff"), w->dim, model_is(m, "gate", "yes"));
    w->depth = model_size(m, "depth");
    w->context = model_size(m, "context");
    w->epsilon = model_epsilon(m);
    w->rotary_base = base > 0 ? base : 10000;
    w->rotary_stretch = stretch > 0 ? stretch : 1;
    if (model_is(m, "rotary-scaling", "ntk") && w->head_size > 2) { /* which is another base */
        const double n = (double)w->head_size;
        w->rotary_base *= pow(w->rotary_stretch, n / (n - 2));
        w->rotary_stretch = 1;
    }
}

/* What depends on more than one option. */
static bool fits(const Away *w, const char *format, Error *e)
{
    const size_t value = model_size(w->x->model, "value-size");
    if (value && value != w->head_size)
        return fail(e, "--format %s cannot express --value-size %zu, only the size of a head", format, value);
    if (!w->llama && w->head_size * w->heads != w->dim)
        return fail(e, "--format %s cannot express --head-size %zu: a GPT-2 has heads of dim / heads = %zu numbers",
                    format, w->head_size, w->dim / w->heads);
    return !tensors_find(&w->x->weights, "logits.bias") ||
           fail(e, "--format %s cannot express --tie no, whose logits have a bias; only --tie yes, or --bias-free yes",
                format);
}

static bool open_tokens(Away *w, Error *e)
{
    w->tokens = w->c->tokenizer.kind == TOKEN_BYTES ? &w->own : &w->c->tokenizer.gpt2;
    w->separator = w->c->tokenizer.separator;
    return w->c->tokenizer.kind != TOKEN_BYTES || gpt2_bytes(&w->own, e);
}

/* A GPT-2 has a table of positions; where the model has none, of zeros. */
static bool add_positions(Away *w, Error *e)
{
    static const char name[] = "position_embedding.weight";
    return w->llama || tensors_find(&w->x->weights, name) ||
           tensors_add(&w->x->weights, name, tensor_values(name, w->context, w->dim, e), w->context, w->dim, e);
}

bool away_tensors(const Away *w, Names gpt2, Names llama, Tensors *t, Error *e)
{
    NamingTable names = names_table(w->llama ? llama : gpt2, w->depth, w->dim);
    names.head_size = names.rotated = w->head_size;
    names.biases = !model_is(w->x->model, "bias-free", "yes");
    return naming_write(&names, &w->x->weights, t, e);
}

bool away_open(Away *w, Charlm *c, Export *x, const char *format, Error *e)
{
    *w = (Away){.c = c, .x = x, .llama = model_is(x->model, "positions", "rotary")};
    measure(w);
    return open_tokens(w, e) && (!format || (fits(w, format, e) && add_positions(w, e)));
}

void away_close(Away *w) { gpt2_close(&w->own); }
