/* See scene.h. */
#include "tests/hunt/scene.h"

#include "base/bf16.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/loss.h"
#include "core/tensor/operations.h"
#include "kernels/cost/cost.h"
#include "tests/hunt/ground.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void scene_stop(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

void *scene_memory(size_t count, size_t size)
{
    void *block = memory_get(count, size);
    if (!block)
        scene_stop("out of memory");
    return block;
}

/* ---- parameters */

typedef char Name[64];

static const char *named(Name name, const Op *op, const char *what)
{
    snprintf(name, sizeof(Name), "%zu.%s", op->name, what);
    return name;
}

/* Any numbers that bf16 holds. */
static double constant(const Parameter *p, size_t row, size_t column)
{
    return ((double)((row * 7 + column * 3 + p->shape[1]) % 11) - 5) / 8;
}

static bool is_tied(const Sketch *s, size_t k)
{
    for (size_t i = k + 1; i < s->count; i++)
        if (s->op[i].what == LOSS && s->op[i].shares == (int)k)
            return true;
    return false;
}

static void add_embedding(Scene *c, size_t k)
{
    const Op *op = &c->s->op[k];
    EmbeddingOptions o = {.vocabulary = VOCABULARY + REGISTERS,
                          .context = LENGTH + LONGER,
                          .dim = op->columns,
                          .positions = op->positions,
                          .tied = is_tied(c->s, k),
                          .scale = 1.4, /* so that a position's vector is not just the opposite of a word's */
                          .dropout = op->rate};
    Name table, positions;
    c->module[k].embedding = embedding_new(&c->parameters, &o, named(table, op, "table"),
                                           named(positions, op, "positions"));
}

static AttentionOptions attention_options(const Op *op, size_t dim)
{
    return (AttentionOptions){.dim = dim,
                              .heads = op->heads,
                              .kv_heads = op->kv_heads,
                              .key_size = op->key_size,
                              .value_size = op->value_size,
                              .bias = op->bias,
                              .cross = op->cross,
                              .composed = op->composed,
                              .score = op->score,
                              .weights = op->weights,
                              .sink = op->sink,
                              .gate = op->value_gate,
                              .value_residual = op->value_residual,
                              .dropout = op->rate,
                              .distances = op->distances};
}

static Parameter *constants_new(Parameters *p, const Op *op)
{
    Parameter *table = parameters_add(p, ROLE_CONSTANT, VOCABULARY + REGISTERS, op->columns, "%zu.constant", op->name);
    if (table)
        table->constant = constant;
    return table;
}

static void add_stack(Parameters *p, Module *m, const Op *op, const BlockOptions *block)
{
    Name blocks, norm;
    const KeyMask mask = {op->window, op->sinks, op->pattern, op->pattern ? op->block : 0, op->stride * op->block};
    if (op->recurrent)
        m->constant = constants_new(p, op);
    m->stack = stack_new(p, &(StackOptions){.block = *block,
                                            .depth = op->depth,
                                            .loops = op->loops,
                                            .key_mask = mask,
                                            .window_pattern = op->every_other ? "SL" : NULL,
                                            .residual_scores = op->again,
                                            .embedding_norm = op->embedding_norm,
                                            .skip = op->skip,
                                            .blocks = named(blocks, op, "block"),
                                            .norm = named(norm, op, "norm")});
}

/* Whether a loss depends on the value of operation k. */
static bool counts(const Sketch *s, size_t k)
{
    bool needed[OPS] = {0};
    for (size_t i = s->count; i-- > k;) {
        needed[i] |= s->op[i].what == LOSS;
        for (size_t n = 0; needed[i] && n < s->op[i].inputs; n++)
            needed[s->op[i].input[n]] = true;
    }
    return needed[k];
}

/* A load loss only where the result is needed: without its gradient a segment is not computed again. */
static void add_module(Scene *c, size_t k)
{
    const Op *op = &c->s->op[k];
    Parameters *p = &c->parameters;
    Module *m = &c->module[k];
    size_t in = op->inputs ? c->s->op[op->input[0]].columns : 0;
    AttentionOptions attention = attention_options(op, in);
    attention.rotary = (RotaryOptions){.context = op->rotary ? 2 * LENGTH + LONGER : 0,
                                       .share = op->name % 2 ? 0.5 : 0},
    attention.qk_norm = op->qk_norm, attention.qk_cosine = op->qk_cosine;
    attention.dim = sketch_has_two_streams(op) ? in / 2 : in;
    BlockOptions block = {.attention = attention,
                          .ff = 5,
                          .activation = op->function,
                          .norm = op->norm,
                          .norm_kind = op->norm_kind,
                          .gate = op->gate,
                          .experts = {op->experts, op->chosen, op->even_load && counts(c->s, k) ? 0.3 : 0},
                          .macaron = op->macaron,
                          .deep_alpha = op->norm == NORM_DEEP ? 1.5 : 0,
                          .dropout = op->rate,
                          .branch_dropout = op->branch_rate,
                          .ff_dropout = op->ff_rate};
    Name name;
    p->side = (uint32_t)op->domain;
    p->bias_free = op->bias_free;
    p->sites = 8 * (uint32_t)op->name; /* masks stay when other operations are dropped */
    switch (op->what) {
    case EMBED: add_embedding(c, k); break;
    case CONSTANT: m->constant = constants_new(p, op); break;
    case LINEAR:
    case SPLIT: m->linear = linear_new(p, in, op->columns, op->bias, named(name, op, "linear")); break;
    case LOSS: m->linear = linear_new(p, in, op->columns, true, named(name, op, "logits")); break;
    case NORM:
    case ADD_NORM: m->norm = norm_new(p, op->norm_kind, in, named(name, op, "norm")); break;
    case ATTENTION: m->attention = attention_new(p, &attention, named(name, op, "attention")); break;
    case BLOCK:
        if (op->depth)
            add_stack(p, m, op, &block);
        else
            m->block = block_new(p, &block, named(name, op, "block"));
        break;
    default: break;
    }
}

void scene_open(Scene *c, const Sketch *s)
{
    Error e;
    *c = (Scene){.s = s};
    for (size_t k = 0; k < s->count; k++) {
        int from = s->op[k].shares;
        if (from < 0)
            add_module(c, k);
        else if (s->op[k].what == LOSS && s->op[from].what == EMBED)
            c->module[k].linear = linear_last(&c->parameters, c->module[from].embedding.table, 0, VOCABULARY, "");
        else
            c->module[k] = c->module[from];
    }
    if (!parameters_finish(&c->parameters, &e))
        scene_stop(e.text);
}

void scene_close(Scene *c)
{
    for (size_t k = 0; k < c->s->count; k++)
        if (c->s->op[k].shares < 0 && c->s->op[k].depth)
            stack_close(&c->module[k].stack);
    parameters_close(&c->parameters);
}

/* ---- weights */

static uint32_t number_of(const char *name)
{
    uint32_t n = 5381;
    for (; *name; name++)
        n = n * 33 + (unsigned char)*name;
    return n;
}

double scene_direction(const Scene *c, const Parameter *p, size_t j)
{
    return philox_below(2, c->s->seed, number_of(p->name), j, 3) ? 1 : -1;
}

/* Such that values stay near 1, and attention is far from even. */
static double weight(const Scene *c, const Parameter *p, size_t j, const Way *way)
{
    uint32_t stream = number_of(p->name);
    double spread = p->role == ROLE_WEIGHT ? 1.6 / sqrt((double)p->shape[1]) : p->rank == 2 ? 1 : 0.3;
    double x = (p->role == ROLE_GAIN ? 1 : 0) + spread * (2 * philox_uniform(c->s->seed, stream, j, 1) - 1);
    if (p->unit) /* outside, a gradient is not the slope, but that of where it is put back */
        x = 0.02 + fabs(x);
    x = (double)bf16_to_float(bf16_from_float((float)x));
    if (way->noise > 0)
        x *= 1 + way->noise * (2 * philox_uniform(way->noise_seed, stream, j, 2) - 1);
    if (way->nudged && !strcmp(way->nudged, p->name))
        x += way->by * scene_direction(c, p, j);
    return x;
}

static void set_weights(const Scene *c, const Way *way, Weights *w, Stream *s)
{
    for (size_t i = 0; i < c->parameters.count; i++) {
        const Parameter *p = c->parameters.list[i];
        if (p->role == ROLE_CONSTANT)
            continue;
        void *reals = scene_memory(p->count, w->k->real);
        for (size_t j = 0; j < p->count; j++)
            real_put(w->k, reals, j, weight(c, p, j, way));
        weights_set(w, s, p, reals);
        memory_free(reals);
    }
}

/* ---- operations */

typedef struct Play {
    const Scene *c;
    const Ground *g;
    Outcome *outcome; /* NULL on a walk over shapes */
} Play;

static void keep_losses(Tape *t, const Play *p, size_t k, size_t which, const Tensor *losses)
{
    double values[GROUND_POSITIONS];
    if (!p->outcome)
        return;
    t->k->download(t->stream, values, losses->data, losses->rows * t->k->real);
    for (size_t n = 0; n < losses->rows; n++) {
        Origin at = p->g->origin[p->c->s->op[k].domain][n];
        if (at.row < SKETCH_ROWS && at.position < LENGTH)
            p->outcome->losses[((k * 2 + which) * SKETCH_ROWS + at.row) * LENGTH + at.position] = real_at(t->k, values,
                                                                                                          n);
    }
}

typedef struct Bent {
    const Linear *logits;
    Tensor *x;
} Bent;

static Tensor *bent_logits(const void *self, Tape *t, const Rows *rows)
{
    const Bent *b = self;
    return (void)rows, linear_logits(t, b->logits, activate(t, b->x, ACTIVATION_TANH));
}

static void lose(Tape *t, const Play *p, size_t k, Tensor *x)
{
    const Op *op = &p->c->s->op[k];
    Tensor *logits = linear_logits(t, &p->c->module[k].linear, x);
    keep_losses(t, p, k, 0, cross_entropy_z(t, logits, p->g->lists[k].targets[0], op->smoothing, op->z, op->which));
    if (op->again)
        keep_losses(t, p, k, 1, cross_entropy(t, logits, p->g->lists[k].targets[1], 0, 1 - op->which));
    if (op->agree)
        once_more(t, logits, bent_logits, &(Bent){&p->c->module[k].linear, x}, NULL, p->g->lists[k].targets[0],
                  op->smoothing, op->z, 0.5);
}

static Tensor *split(Tape *t, const Play *p, size_t k, Tensor *x)
{
    const Op *op = &p->c->s->op[k];
    const Rows *rows = &p->g->rows[op->domain];
    size_t columns[] = {1, (op->columns - 1) / 2, op->columns - 1 - (op->columns - 1) / 2};
    Tensor *view[3];
    tape_split(t, linear(t, &p->c->module[k].linear, x), view, columns, 3);
    Tensor *padded = pad_rows(t, view[2], rows->start, NULL, rows->rows, rows->longest);
    Tensor *parts[] = {unpad_rows(t, padded, rows->start, rows->rows, rows->positions, rows->longest),
                       transpose(t, transpose(t, view[0])), view[1]};
    if (op->again)
        parts[2] = mul(t, concat(t, &view[1], 1), transpose(t, transpose(t, view[1])));
    return concat(t, parts, 3);
}

static Tensor *products(Tape *t, const Op *op, Tensor *a, Tensor *b, Tensor *c)
{
    size_t n = a->rows, m = b->rows, h = op->heads, dk = a->columns / h, dv = c->columns / h;
    ProductShape fit = {{0, n * m, m, 1}, {0, dk, a->columns, 1}, {0, dk, 1, b->columns}, 1, h, n, m, dk, 0.5};
    ProductShape mean = {{0, dv, c->columns, 1}, {0, n * m, m, 1}, {0, dv, c->columns, 1}, 1, h, n, dv, m,
                         1.0 / (1 + (double)m)};
    Tensor *u = activate(t, a, ACTIVATION_TANH), *v = b == a ? u : activate(t, b, ACTIVATION_TANH);
    Tensor *w = c == a ? u : c == b ? v : activate(t, c, ACTIVATION_TANH);
    return product(t, product(t, u, v, &fit, h * n, m), w, &mean, n, c->columns);
}

static Tensor *constants(Tape *t, const Play *p, size_t k, Domain domain)
{
    const Parameter *table = p->c->module[k].constant;
    const Rows *rows = &p->g->rows[domain];
    void *numbers = (void *)(uintptr_t)tape_numbers_of(t, table); /* only read */
    return gather(t, tape_outside(t, numbers, VOCABULARY + REGISTERS, table->shape[1]), rows->ids, rows->positions);
}

/* A stack; or a block alone and (again) once more over what it has made, with the scores that it has left. */
static Tensor *run_block(Tape *t, const Play *p, size_t k, Tensor *x, Attend how)
{
    const Op *op = &p->c->s->op[k];
    const Module *m = &p->c->module[k];
    const Rows *rows = &p->g->rows[op->domain];
    AttentionContext context = {.self_mask = how, .position = rows->position};
    if (op->recurrent)
        return stack_recurrent(t, &m->stack, x, constants(t, p, k, SIDE_1), rows, &p->g->rows[SIDE_1]);
    if (op->depth)
        return stack(t, &m->stack, x, NULL, &context);
    context.residual_scores = op->again;
    Tensor *y = block(t, &m->block, x, NULL, &context);
    context.self_scores = y->beside;
    return op->again ? block(t, &m->block, y, NULL, &context) : y;
}

/* Guided only where its result is needed: a part of its queries alone would have a gradient. */
static Tensor *attention(Tape *t, const Play *p, size_t k, Tensor *x, Tensor *memory, const Attend *how)
{
    const Op *op = &p->c->s->op[k];
    const Guide guide = {.head = op->heads - 1, .key = p->g->lists[k].targets[0], .which = op->which};
    return multihead_after(t, &p->c->module[k].attention, x, memory, how, NULL, (RowPositions){0}, NULL, NULL,
                           op->guided && counts(p->c->s, k) ? &guide : NULL);
}

static Tensor *run_op(Tape *t, const Play *p, size_t k, Tensor *const *value)
{
    const Op *op = &p->c->s->op[k];
    const Module *m = &p->c->module[k];
    const Rows *rows = &p->g->rows[op->domain];
    Tensor *x[INPUTS] = {0};
    Attend how = op->what == ATTENTION || op->what == BLOCK ? ground_attend(p->g, k) : (Attend){0};
    Dropout drop = {op->rate, 8 * (uint32_t)op->name, (uint32_t)op->domain};
    for (size_t i = 0; i < op->inputs; i++)
        x[i] = value[op->input[i]];
    switch (op->what) {
    case EMBED: return embed(t, &m->embedding, rows);
    case CONSTANT: return constants(t, p, k, op->domain);
    case LINEAR: return op->relu ? linear_relu(t, &m->linear, x[0]) : linear(t, &m->linear, x[0]);
    case NORM: return norm(t, &m->norm, x[0]);
    case ADD: return add(t, x[0], x[1], drop);
    case DROP: return add(t, NULL, x[0], drop);
    case ADD_NORM: return add_norm(t, &m->norm, x[0], x[1], drop);
    case ACTIVATE: return activate(t, x[0], op->function);
    case MUL: return mul(t, x[0], x[1]);
    case GATHER: return gather(t, x[0], p->g->lists[k].index, rows->positions);
    case POOL: return pool_rows(t, x[0], op->pooling, &p->g->rows[p->c->s->op[op->input[0]].domain]);
    case CONCAT: return concat(t, x, op->inputs);
    case SLICE: return slice(t, x[0], op->first, op->columns);
    case SPLIT: return split(t, p, k, x[0]);
    case TURN: return transpose(t, activate(t, transpose(t, x[0]), ACTIVATION_TANH));
    case PRODUCT: return products(t, op, x[0], x[1], x[2]);
    case ATTENTION: return attention(t, p, k, x[0], x[1], &how);
    case BLOCK: return run_block(t, p, k, x[0], how);
    case LOSS: lose(t, p, k, x[0]); break;
    case WHATS: break;
    }
    return NULL;
}

/* ---- the network */

typedef struct SegmentArgs {
    const Play *p;
    size_t from, to;
} SegmentArgs;

/* Which earlier values are read by operations from .. to-1. */
static size_t inputs_of(const Sketch *s, size_t from, size_t to, size_t *which)
{
    size_t n = 0;
    for (size_t v = 0; v < from; v++) {
        bool is_read = false;
        for (size_t k = from; k < to; k++)
            for (size_t i = 0; i < s->op[k].inputs; i++)
                is_read |= s->op[k].input[i] == v;
        if (is_read)
            which[n++] = v;
    }
    return n;
}

static Tensor *run_segment(Tape *t, const void *args, Tensor *const *inputs)
{
    const SegmentArgs *a = args;
    Tensor *value[OPS] = {0};
    size_t which[OPS], n = inputs_of(a->p->c->s, a->from, a->to, which);
    for (size_t i = 0; i < n; i++)
        value[which[i]] = inputs[i];
    for (size_t k = a->from; k < a->to; k++)
        value[k] = run_op(t, a->p, k, value);
    return value[a->to - 1];
}

static void run_all(Tape *t, const Play *p)
{
    const Sketch *s = p->c->s;
    Tensor *value[OPS] = {0}, *inputs[OPS];
    for (size_t from = 0, to; from < s->count; from = to) {
        to = from + 1;
        while (s->op[from].segment && to < s->count && s->op[to].segment == s->op[from].segment)
            to++;
        if (!s->op[from].segment) {
            value[from] = run_op(t, p, from, value);
            continue;
        }
        size_t which[OPS], n = inputs_of(s, from, to, which);
        for (size_t i = 0; i < n; i++)
            inputs[i] = value[which[i]];
        value[to - 1] = tape_segment(t, run_segment, &(SegmentArgs){p, from, to}, sizeof(SegmentArgs), inputs, n);
    }
}

/* ---- a pass */

static const double scales[LOSSES] = {0.7, 0.3};

static StepState first_state(const Part *part)
{
    StepState state = {.seed = 4, .step = 2};
    memcpy(state.first_position, part->first, sizeof part->first);
    for (size_t i = 0; i < LOSSES; i++)
        state.loss[i].scale = scales[i];
    return state;
}

static void run_tape(Tape *t, const Play *p, Keep keep, StepState *state, void *gradient)
{
    t->keep = keep;
    t->training = t->recording = true;
    t->gradient = gradient;
    t->state = state;
    run_all(t, p);
    tape_backward(t);
    tape_reset(t);
}

static void done(bool fine, const Error *e)
{
    if (!fine)
        scene_stop(e->text);
}

/* Every row longer, as far as rows may be. */
static Sketch larger(const Sketch *sketch, size_t longer)
{
    Sketch s = *sketch;
    for (size_t side = 0; side < 2; side++)
        for (size_t b = 0; b < s.rows; b++)
            s.length[side][b] += s.length[side][b] + longer <= LENGTH ? longer : 0;
    return s;
}

static TapePlan walk(const Scene *c, const Part *part, const Way *way, const Weights *w, StepState *state, Takes *takes)
{
    Sketch large = larger(c->s, way->longer);
    Ground *g = ground_new(&large, part);
    const Kernels *k = cost_kernels(way->k->type);
    Play p = {c, g, NULL};
    Stream *s;
    Tape t;
    Error e;
    done(k->open(&s, 1, &e) && tape_open(&t, k, s, w, NULL, &e), &e);
    t.gradients.record = takes;
    run_tape(&t, &p, way->keep, state, state); /* any gradient that is not NULL: nothing is written */
    TapePlan plan = tape_plan(&t);
    tape_close(&t);
    k->close(s);
    memory_free(g);
    return plan;
}

Part part_whole(const Sketch *s)
{
    Part part = {.rows = s->rows, .first = {5, 9, 2}};
    for (size_t b = 0; b < s->rows; b++)
        part.row[b] = b;
    return part;
}

/* Of a backward pass: what the tape has said of gradients so far. */
typedef struct Follower {
    Tape *t;
    size_t from;    /* dense numbers from here on are finished, */
    char *finished; /* [dense] and were these when they were finished */
} Follower;

static void follow(void *argument)
{
    Follower *f = argument;
    const size_t from = tape_finished_from(f->t), real = f->t->k->real;
    memcpy(f->finished + from * real, (char *)f->t->gradient + from * real, (f->from - from) * real);
    f->from = from;
}

Outcome scene_run(const Scene *c, const Way *way)
{
    const Kernels *k = way->k;
    Part whole = part_whole(c->s);
    const Part *part = way->part ? way->part : &whole;
    size_t size = c->parameters.size;
    Outcome o = {.losses = scene_memory(LOSSES_ALL, sizeof *o.losses),
                 .gradient = scene_memory(size, sizeof *o.gradient)};
    Ground *g = ground_new(c->s, part);
    StepState state = first_state(part);
    void *gradient = scene_memory(size, k->real);
    Stream *s;
    Weights w;
    Takes takes = {0};
    Tape t;
    Error e;
    if (!k->on_host)
        scene_stop("lists of integers are in the host's memory, which this device does not read");
    done(k->open(&s, way->team ? way->team : 1, &e) && weights_open(&w, k, s, &c->parameters, &e), &e);
    set_weights(c, way, &w, s);
    TapePlan plan = walk(c, part, way, &w, &state, &takes), used;
    done(tape_open(&t, k, s, &w, &plan, &e), &e);
    t.gradients.plan = &takes;
    Follower f = {&t, c->parameters.dense, scene_memory(c->parameters.dense, k->real)};
    t.first_read = scene_memory(c->parameters.count, sizeof *t.first_read);
    t.went_back = k->exchange ? NULL : follow; /* a device exchanges when a pass is over */
    t.follower = &f;
    tape_reset(&t);
    run_tape(&t, &(Play){c, g, &o}, way->keep, &state, gradient);
    used = tape_plan(&t);
    o.planned = way->longer ||
                (plan.memory == used.memory && plan.gradients == used.gradients && plan.host == used.host);
    done(k->finish(s, &e), &e);
    o.stayed = k->exchange || (!f.from && !memcmp(f.finished, gradient, c->parameters.dense * k->real));
    for (size_t i = 0; i < LOSSES; i++)
        o.loss += scales[i] * state.loss[i].sum;
    for (size_t i = 0; i < size; i++)
        o.gradient[i] = real_at(k, gradient, i);
    takes_close(&takes);
    memory_free(f.finished);
    memory_free(t.first_read);
    tape_close(&t);
    weights_close(&w);
    k->close(s);
    memory_free(gradient);
    memory_free(g);
    return o;
}

void outcome_free(Outcome *o)
{
    memory_free(o->gradient);
    memory_free(o->losses);
}
