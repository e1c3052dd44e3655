/* See sketch.h. */
#include "tests/hunt/sketch.h"

#include <stdarg.h>
#include <stdio.h>

/* The last operation of a segment hands its value on. */
static bool ends_segment(const Sketch *s, size_t k)
{
    return k + 1 == s->count || s->op[k + 1].segment != s->op[k].segment;
}

bool sketch_visible(const Sketch *s, size_t k, int segment)
{
    int own = s->op[k].segment;
    return own == 0 || own == segment || ends_segment(s, k);
}

bool sketch_smooth(const Sketch *s)
{
    for (size_t k = 0; k < s->count; k++) {
        const Op *op = &s->op[k];
        bool relu = (op->what == ACTIVATE || op->what == BLOCK) && op->function == ACTIVATION_RELU;
        bool chooses = op->weights.top || op->chosen < op->experts;
        if (op->relu || relu || chooses || (op->what == POOL && op->pooling == POOLING_MAX))
            return false;
    }
    return true;
}

bool sketch_has_two_streams(const Op *op) { return op->norm == NORM_RESIDUAL && !op->depth; }

static size_t normed_columns(const Op *op)
{
    const bool norms = op->what == NORM || op->what == ADD_NORM || op->what == BLOCK;
    return !norms ? 0 : op->what == BLOCK && sketch_has_two_streams(op) ? op->columns / 2 : op->columns;
}

bool sketch_magnifies(const Op *op)
{
    enum { FEW = 4 };
    return normed_columns(op) > 0 && normed_columns(op) < FEW;
}

bool sketch_jumps(const Op *op)
{
    return (op->norm_kind == NORM_SCALE && normed_columns(op) == 1) || (op->depth && sketch_magnifies(op));
}

bool sketch_narrow(const Sketch *s)
{
    for (size_t k = 0; k < s->count; k++)
        if (sketch_magnifies(&s->op[k]))
            return true;
    return false;
}

bool sketch_valid(const Sketch *s)
{
    bool loss = false;
    for (size_t k = 0; k < s->count; k++) {
        const Op *op = &s->op[k];
        loss |= op->what == LOSS;
        for (size_t i = 0; i < op->inputs; i++)
            if (!sketch_visible(s, op->input[i], op->segment))
                return false;
        if (op->segment && ends_segment(s, k) && op->what == LOSS)
            return false;
    }
    return loss;
}

/* ---- shapes */

bool sketch_may_share(const Sketch *s, const Op *op, const Op *with)
{
    if (op->what == EMBED)
        return with->what == EMBED && op->columns == with->columns && op->positions == with->positions &&
               op->rate == with->rate;
    size_t in = s->op[op->input[0]].columns;
    if (op->what == LOSS && with->what == EMBED)
        return in == with->columns && op->columns == VOCABULARY;
    bool same = op->what == with->what && with->inputs && in == s->op[with->input[0]].columns;
    switch (op->what) {
    case LINEAR:
    case SPLIT: return same && op->columns == with->columns && op->bias == with->bias;
    case NORM:
    case ADD_NORM: return same && op->norm_kind == with->norm_kind;
    case LOSS: return same && op->columns == with->columns;
    default: return false;
    }
}

/* What operation k makes of its inputs as they are now. */
static bool fit(const Sketch *s, Op *op)
{
    const Op *x[INPUTS] = {&s->op[op->input[0]], &s->op[op->input[1]], &s->op[op->input[2]]};
    for (size_t i = 0; i < op->inputs; i++)
        if (x[i]->what == LOSS)
            return false;
    if (op->inputs && op->what != GATHER && op->what != POOL)
        op->domain = x[0]->domain;
    switch (op->what) {
    case EMBED:
    case CONSTANT:
    case LINEAR:
    case LOSS: return true;
    case SPLIT: return op->columns >= 3;
    case ADD:
    case ADD_NORM:
    case MUL: op->columns = x[0]->columns; return x[1]->domain == op->domain && x[1]->columns == op->columns;
    case CONCAT:
        op->columns = 0;
        for (size_t i = 0; i < op->inputs; i++) {
            op->columns += x[i]->columns;
            if (x[i]->domain != op->domain)
                return false;
        }
        return true;
    case SLICE: return op->first + op->columns <= x[0]->columns;
    case PRODUCT:
        op->columns = x[2]->columns;
        return x[1]->columns == x[0]->columns && x[1]->domain == x[2]->domain && x[0]->columns % op->heads == 0 &&
               op->columns % op->heads == 0;
    case POOL: op->columns = x[0]->columns; return x[0]->domain != POOLED;
    case BLOCK: op->columns = x[0]->columns; return !sketch_has_two_streams(op) || op->columns % 2 == 0;
    case ATTENTION: op->columns = x[0]->columns; return op->inputs < 2 || x[1]->columns == op->columns;
    default: op->columns = x[0]->columns; return true;
    }
}

bool sketch_fit(Sketch *s)
{
    for (size_t k = 0; k < s->count; k++) {
        Op *op = &s->op[k];
        if (!fit(s, op) || sketch_jumps(op))
            return false;
        if (op->shares >= 0 && !sketch_may_share(s, op, &s->op[op->shares]))
            op->shares = -1;
    }
    return true;
}

/* ---- dropping */

/* Who shares parameters with i shares with the first of them from now on. */
static void inherit(Sketch *s, size_t i)
{
    int heir = -1;
    for (size_t k = i + 1; k < s->count; k++) {
        if (s->op[k].shares != (int)i)
            continue;
        s->op[k].shares = s->op[k].what == s->op[i].what ? heir : -1;
        if (heir < 0 && s->op[k].what == s->op[i].what)
            heir = (int)k;
    }
}

bool sketch_drop(Sketch *s, size_t i, size_t other)
{
    inherit(s, i);
    for (size_t k = i + 1; k < s->count; k++) {
        Op *op = &s->op[k];
        for (size_t n = 0; n < op->inputs; n++) {
            if (op->input[n] == i && other == OPS)
                return false;
            op->input[n] = op->input[n] == i ? other : op->input[n];
            op->input[n] -= op->input[n] > i;
        }
        op->shares -= op->shares > (int)i;
        s->op[k - 1] = *op;
    }
    s->count--;
    return sketch_fit(s) && sketch_valid(s);
}

/* ---- words */

static const char *const names[WHATS] = {"embed",    "constant", "linear",    "norm",  "add",    "drop",  "add_norm",
                                         "activate", "mul",      "gather",    "pool",  "concat", "slice", "split",
                                         "turn",     "product",  "attention", "block", "loss"};

typedef struct Text {
    char *at;
    size_t left;
} Text;

__attribute__((format(printf, 2, 3))) static void say(Text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(t->at, t->left, format, arguments);
    va_end(arguments);
    size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - 1;
    t->at += used, t->left -= used;
}

static void say_attention(Text *t, const Op *op)
{
    static const char *const distances[] = {"", "bias", "alibi", "keys", "xl", "buckets", "t5", "mlp"};
    say(t, " H %zu dk %zu dv %zu%s%s%s%s%s%s", op->heads, op->key_size, op->value_size, op->composed ? " composed" : "",
        op->cross ? " cross" : "", op->bias ? " bias" : "", op->causal ? " causal" : "", op->lengths ? " lengths" : "",
        op->offsets ? " offsets" : "");
    if (op->kv_heads)
        say(t, " kv heads %zu", op->kv_heads);
    if (op->window)
        say(t, " window %zu", op->window);
    if (op->block)
        say(t, " block %zu rule %d stride %zu", op->block, (int)op->pattern, op->stride);
    if (op->sinks)
        say(t, " sinks %zu", op->sinks);
    if (op->weights.cap > 0)
        say(t, " cap %g", op->weights.cap);
    if (op->weights.memory)
        say(t, " memory %zu", op->weights.memory);
    if (op->weights.top)
        say(t, " top %zu", op->weights.top);
    if (op->score)
        say(t, " %s", score_name(op->score));
    say(t, "%s%s%s%s", op->weights.talking ? " talking" : "", op->weights.sigmoid ? " sigmoid" : "",
        op->sink ? " sink" : "", op->value_gate ? " value gate" : "");
    if (op->guided)
        say(t, " guided by loss %zu", op->which);
    if (op->distances.span_ramp > 0)
        say(t, " spans");
    if (op->distances.kind || op->distances.span_ramp > 0)
        say(t, " distances %s %zu+%zu of %zu", distances[op->distances.kind], op->distances.reach, op->distances.ahead,
            op->distances.heads);
}

static void say_fields(Text *t, const Op *op)
{
    static const char *const functions[] = {"relu", "gelu", "gelu-tanh", "tanh", "sigmoid", "silu", "relu2"};
    static const char *const places[] = {"post", "pre", "sandwich", "parallel", "deep", "residual"};
    static const char *const kinds[] = {"", " rms", " rms without gain", " scale", " tanh"};
    static const char *const poolings[] = {"first", "mean", "max"};
    static const char *const positions[] = {"", " learned positions", " sinusoids"};
    static const char *const skips[] = {"", " x0", " unet"};
    switch (op->what) {
    case EMBED: say(t, "%s", positions[op->positions]); break;
    case LINEAR: say(t, "%s%s", op->bias ? " bias" : "", op->relu ? " relu" : ""); break;
    case ACTIVATE: say(t, " %s", functions[op->function]); break;
    case GATHER: say(t, "%s", op->across ? " across rows" : ""); break;
    case POOL: say(t, " %s", poolings[op->pooling]); break;
    case SLICE: say(t, " from %zu", op->first); break;
    case SPLIT: say(t, "%s", op->again ? " again" : ""); break;
    case PRODUCT: say(t, " H %zu", op->heads); break;
    case ATTENTION: say_attention(t, op); break;
    case NORM:
    case ADD_NORM: say(t, "%s", kinds[op->norm_kind]); break;
    case BLOCK:
        say(t, " %s-norm%s %s%s%s%s%s%s%s%s", places[op->norm], kinds[op->norm_kind], functions[op->function],
            op->gate ? " gate" : "", op->rotary ? " rotary" : "", op->qk_norm ? " qk-norm" : "",
            op->qk_cosine ? " cosine" : "", op->macaron ? " macaron" : "", op->again ? " residual scores" : "",
            op->bias_free ? " no biases" : "");
        if (op->depth)
            say(t, " %zu times %zu%s%s%s%s%s", op->loops, op->depth, skips[op->skip],
                op->value_residual ? " value residual" : "", op->embedding_norm ? " embedding norm" : "",
                op->every_other ? " every other masked" : "", op->recurrent ? " recurrent" : "");
        if (op->experts)
            say(t, " %zu of %zu experts%s", op->chosen, op->experts, op->even_load ? " evenly" : "");
        if (op->branch_rate > 0 || op->ff_rate > 0)
            say(t, " drops branches %g, inside %g", op->branch_rate, op->ff_rate);
        say_attention(t, op);
        break;
    case LOSS:
        say(t, " %zu smoothing %g z %g%s%s", op->which, op->smoothing, op->z, op->again ? " twice" : "",
            op->agree ? " and agreement" : "");
        break;
    default: break;
    }
    if (op->rate > 0)
        say(t, " dropout %g", op->rate);
}

void sketch_print(const Sketch *s, char text[SKETCH_TEXT])
{
    static const char *const domains[] = {"side 0", "side 1", "pooled"};
    Text t = {text, SKETCH_TEXT};
    for (size_t side = 0; side < 2; side++) {
        say(&t, "  side %zu: rows of", side);
        for (size_t b = 0; b < s->rows; b++)
            say(&t, " %zu", s->length[side][b]);
        say(&t, s->spare[side] ? ", and %zu of no row\n" : "\n", s->spare[side]);
    }
    for (size_t k = 0; k < s->count; k++) {
        const Op *op = &s->op[k];
        say(&t, "  %2zu %s%-9s", k, op->segment ? "| " : "", names[op->what]);
        for (size_t i = 0; i < op->inputs; i++)
            say(&t, " %zu", op->input[i]);
        say(&t, " -> %s x %zu", domains[op->domain], op->columns);
        say_fields(&t, op);
        if (op->shares >= 0)
            say(&t, ", weights of %d", op->shares);
        say(&t, "\n");
    }
}
