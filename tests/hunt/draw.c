/* Networks by chance. Sizes 0 and 1 are frequent, because they are where loops go wrong; widths are few, so that values
 * meet that can be added. */
#include "tests/hunt/sketch.h"

typedef struct Draw {
    Sketch s;
    Random r;
    Taste taste;
    size_t width[2];
    int segment; /* that is being filled, or 0 */
    size_t left; /* operations until it ends */
    bool is_read[OPS];
    size_t degree[OPS]; /* of the polynomial in the inputs that a value is, where nothing bounds it */
} Draw;

static size_t one_of(Random *r, const size_t *from, size_t n) { return from[below(r, n)]; }
static size_t some_width(Draw *d) { return chance(&d->r, 0.85) ? d->width[below(&d->r, 2)] : 1 + below(&d->r, 9); }
static double some_rate(Draw *d) { return !d->taste.still && chance(&d->r, 0.3) ? 0.25 : 0; }

static Domain some_domain(Draw *d)
{
    static const Domain domains[] = {SIDE_0, SIDE_0, SIDE_0, SIDE_1, POOLED};
    return domains[below(&d->r, 5)];
}

static bool fits(const Draw *d, size_t k, int domain, size_t columns)
{
    const Op *op = &d->s.op[k];
    return op->what != LOSS && sketch_visible(&d->s, k, d->segment) && (domain < 0 || op->domain == (Domain)domain) &&
           (!columns || op->columns == columns) && !(d->taste.memory && op->domain == SIDE_1 && domain != SIDE_1);
}

/* An earlier value of that domain (-1: any) and width (0: any), preferably one that is not read yet; OPS: none. */
static size_t pick(Draw *d, int domain, size_t columns)
{
    size_t found[OPS], fresh[OPS], n = 0, m = 0;
    for (size_t k = 0; k < d->s.count; k++)
        if (fits(d, k, domain, columns)) {
            found[n++] = k;
            if (!d->is_read[k])
                fresh[m++] = k;
        }
    if (m && chance(&d->r, 0.6))
        return fresh[below(&d->r, m)];
    return n ? found[below(&d->r, n)] : OPS;
}

static bool draw_inputs(Draw *d, Op *op, size_t count)
{
    for (op->inputs = 0; op->inputs < count; op->inputs++) {
        const Op *first = &d->s.op[op->input[0]];
        op->input[op->inputs] = op->inputs ? pick(d, (int)first->domain, first->columns) : pick(d, -1, 0);
        if (op->input[op->inputs] == OPS)
            return false;
    }
    op->domain = d->s.op[op->input[0]].domain;
    op->columns = d->s.op[op->input[0]].columns;
    return true;
}

static size_t how_many_inputs(Draw *d, What what)
{
    switch (what) {
    case EMBED:
    case CONSTANT: return 0;
    case ADD:
    case ADD_NORM:
    case MUL: return 2;
    case CONCAT: return 1 + below(&d->r, INPUTS);
    default: return 1;
    }
}

static void draw_weights(Op *op, bool ordered, Random *own)
{
    op->weights.cap = chance(own, 0.2) ? 1.5 : 0;
    op->weights.talking = op->composed && chance(own, 0.3);
    op->weights.sigmoid = op->composed && chance(own, 0.25) ? 5 : 0;
    op->weights.memory = op->composed && chance(own, 0.25) ? 1 + below(own, 3) : 0;
    op->sink = !op->composed && chance(own, 0.25);
    op->value_gate = chance(own, 0.2);
    op->sinks = ordered && chance(own, 0.3) ? 1 + below(own, 3) : 0;
    op->pattern = op->block && chance(own, 0.5) ? (Pattern)(1 + below(own, PATTERN_FIXED)) : PATTERN_LISTS;
    op->stride = op->pattern ? 1 + below(own, 4) : 0;
}

/* How far heads look. Not with a cap, which lets no score become -infinity; and not where all must be smooth, because a ramp
 * has corners. */
static void draw_span(Draw *d, Op *op, bool ordered, const Random *own)
{
    Random r = {.seed = own->seed, .drawn = own->drawn + (1ull << 31)}; /* other draws stay as they were without it */
    if (!ordered || op->composed || d->taste.smooth || !chance(&r, 0.3))
        return;
    op->weights.cap = 0;
    op->distances.span_ramp = 2.25;
    op->distances.reach = op->distances.kind ? op->distances.reach : below(&r, 5);
}

/* Later options, whose draws leave others as they were. Which scores are the largest may change with the last bit of one. */
static void draw_scores(const Draw *d, Op *op)
{
    Random own = {.seed = d->s.seed, .drawn = ((d->r.drawn + 1) << 32) + (1ull << 29)};
    const bool dot = !op->composed || op->weights.memory;
    op->score = chance(&own, 0.4) ? (Score)below(&own, dot ? SCORE_DOT + 1 : SCORE_ADDITIVE + 1) : SCORE_SCALED_DOT;
    op->weights.top = op->composed && !d->taste.smooth && chance(&own, 0.4) ? 1 + below(&own, 3) : 0;
}

static void draw_attention(Draw *d, Op *op)
{
    static const size_t keys[] = {1, 2, 3, 5, 8}, values[] = {1, 2, 4, 5};
    bool ordered = !d->taste.orderless;
    Random own = {.seed = d->s.seed, .drawn = (d->r.drawn + 1) << 32}; /* other draws stay as they were without it */
    op->heads = 1 + below(&d->r, 3);
    op->kv_heads = chance(&own, 0.3) ? op->heads : 0;
    op->heads *= op->kv_heads ? 2 : 1;
    op->key_size = one_of(&d->r, keys, 5);
    op->value_size = one_of(&d->r, values, 4);
    op->bias = chance(&d->r, 0.5);
    op->rate = some_rate(d);
    op->composed = chance(&d->r, 0.4);
    op->causal = ordered && chance(&d->r, 0.4);
    op->offsets = ordered && chance(&d->r, 0.3);
    op->window = ordered && chance(&d->r, 0.3) ? 1 + below(&d->r, 4) : 0;
    op->block = ordered && chance(&d->r, 0.25) ? 1 + below(&d->r, 5) : 0;
    op->lengths = ordered && chance(&d->r, 0.3);
    if (ordered && !op->composed && chance(&d->r, 0.5)) {
        op->distances.kind = (DistanceKind)(1 + below(&d->r, DISTANCE_XL));
        op->distances.reach = below(&d->r, 5);
        op->distances.ahead = op->distances.kind == DISTANCE_ALIBI ? 0 : below(&d->r, 3);
        if (op->distances.kind == DISTANCE_BIAS && chance(&own, 0.4))
            op->distances.kind = DISTANCE_BUCKETS;
        else if (op->distances.kind == DISTANCE_BIAS && chance(&own, 0.4))
            op->distances.kind = DISTANCE_MLP;
        else if (op->distances.kind == DISTANCE_ALIBI && chance(&own, 0.4))
            op->distances.heads = 1 + below(&own, op->heads);
    }
    draw_weights(op, ordered, &own);
    draw_span(d, op, ordered, &own);
    draw_scores(d, op);
    size_t memory = d->taste.memory      ? pick(d, SIDE_1, op->columns)
                    : chance(&d->r, 0.5) ? pick(d, -1, op->columns)
                                         : OPS;
    if (memory < OPS) {
        op->cross = chance(&d->r, 0.7);
        op->input[op->inputs++] = memory;
        op->lengths = op->lengths || d->taste.memory;
    }
    own.drawn += 1ull << 30;
    op->guided = ordered && !op->causal && !op->window && !op->block && !op->lengths && chance(&own, 0.3);
    op->which = op->guided ? below(&own, LOSSES) : 0;
}

/* A block of which two run after a memory: causal over both, and no key's place is chosen by anything but rules. */
static void draw_recurrence(const Draw *d, Op *op, Random *own)
{
    op->guided = false;
    op->recurrent = !d->taste.orderless && !d->taste.memory && op->domain == SIDE_0 && op->norm != NORM_RESIDUAL &&
                    !op->macaron && !op->again && !sketch_magnifies(op) && chance(own, 0.3);
    op->depth = op->recurrent ? 2 : 0;
    if (op->recurrent)
        op->offsets = op->lengths = false, op->block = op->pattern == PATTERN_LISTS ? 0 : op->block;
}

static void draw_experts(const Draw *d, Op *op, Random *own)
{
    op->chosen = d->taste.smooth ? op->experts : op->experts ? 1 + below(own, op->experts) : 0;
    op->even_load = op->experts && chance(own, 0.5);
}

/* Blocks in a chain, which lists of keys are not handed on to. */
static void draw_stack(const Draw *d, Op *op)
{
    Random own = {.seed = d->s.seed, .drawn = ((d->r.drawn + 1) << 32) + (1ull << 28)};
    op->branch_rate = !d->taste.still && chance(&own, 0.15) ? 0.25 : 0;
    op->ff_rate = !d->taste.still && chance(&own, 0.15) ? 0.25 : 0;
    draw_experts(d, op, &own);
    op->every_other = chance(&own, 0.3);
    if (op->recurrent || sketch_magnifies(op) || !chance(&own, 0.5))
        return;
    op->block = op->pattern == PATTERN_LISTS ? 0 : op->block;
    op->depth = 1 + below(&own, 3);
    op->loops = op->depth < 3 ? 1 + below(&own, 2) : 1;
    op->skip = (Skip)below(&own, SKIP_UNET + 1);
    op->value_residual = chance(&own, 0.4);
    op->embedding_norm = chance(&own, 0.3);
    if (op->distances.kind == DISTANCE_BUCKETS)
        op->distances.kind = DISTANCE_T5;
}

static NormKind some_norm(Draw *d)
{
    NormKind kind = (NormKind)below(&d->r, 2);
    Random own = {.seed = d->s.seed, .drawn = (d->r.drawn + 1) << 32};
    return chance(&own, 0.3) ? NORM_SCALE + (NormKind)below(&own, 2) : kind;
}

/* What is particular to each operation; its inputs are chosen. */
static void draw_fields(Draw *d, Op *op)
{
    Random *r = &d->r, own;
    switch (op->what) {
    case EMBED:
        op->positions = d->taste.orderless ? POSITIONS_NONE : (Positions)below(r, 3);
        op->domain = some_domain(d);
        op->rate = some_rate(d);
        op->columns = d->width[0];
        break;
    case CONSTANT: op->domain = some_domain(d), op->columns = some_width(d); break;
    case LINEAR:
        op->columns = some_width(d);
        op->relu = !d->taste.smooth && chance(r, 0.3);
        op->bias = chance(r, 0.6);
        break;
    case NORM: op->norm_kind = some_norm(d); break;
    case ADD: op->rate = some_rate(d); break;
    case ADD_NORM:
        op->rate = some_rate(d);
        op->norm_kind = some_norm(d);
        break;
    case DROP: op->rate = 0.25; break;
    case ACTIVATE:
        op->function = (Activation)below(r, ACTIVATIONS);
        op->function = d->taste.smooth && op->function == ACTIVATION_RELU ? ACTIVATION_GELU : op->function;
        break;
    case GATHER:
        op->domain = some_domain(d);
        op->across = !d->taste.rowwise && chance(r, 0.5);
        break;
    case POOL:
        op->pooling = d->taste.orderless ? POOLING_MEAN : (Pooling)below(r, POOLINGS);
        op->pooling = d->taste.smooth && op->pooling == POOLING_MAX ? POOLING_MEAN : op->pooling;
        break;
    case CONCAT:
        for (size_t i = 1; i < op->inputs; i++)
            op->columns += d->s.op[op->input[i]].columns;
        break;
    case SLICE: op->first = below(r, op->columns), op->columns = 1 + below(r, op->columns - op->first); break;
    case SPLIT:
        op->columns = 3 + below(r, 6);
        op->again = chance(r, 0.5);
        break;
    case ATTENTION: draw_attention(d, op); break;
    case BLOCK:
        draw_attention(d, op);
        own = (Random){.seed = d->s.seed, .drawn = (r->drawn + 1) << 32};
        op->gate = chance(&own, 0.3);
        op->rotary = !d->taste.orderless && op->key_size % 2 == 0 && chance(&own, 0.5);
        op->qk_norm = op->key_size > 1 && chance(&own, 0.3); /* of one number only its sign is left */
        op->inputs = 1, op->cross = false;
        op->norm = (NormPlacement)below(r, 2), op->norm_kind = (NormKind)below(r, 2);
        op->norm = chance(&own, 0.3) ? NORM_SANDWICH : op->norm;
        op->bias_free = chance(&own, 0.2);
        op->norm = chance(&own, 0.2) ? NORM_PARALLEL : op->norm;
        op->norm_kind = chance(&own, 0.15) ? NORM_RMS_PLAIN : op->norm_kind;
        op->macaron = op->norm != NORM_PARALLEL && chance(&own, 0.2);
        op->norm = chance(&own, 0.2) ? NORM_DEEP : op->norm;
        op->norm = op->columns % 2 == 0 && chance(&own, 0.2) ? NORM_RESIDUAL : op->norm;
        op->norm_kind = chance(&own, 0.2) ? NORM_SCALE + (NormKind)below(&own, 2) : op->norm_kind;
        op->again = op->composed && chance(&own, 0.5);
        op->qk_cosine = op->qk_norm && chance(&own, 0.5);
        op->experts = chance(&own, 0.3) ? 2 + below(&own, 2) : 0;
        op->function = d->taste.smooth ? ACTIVATION_GELU : ACTIVATION_RELU;
        draw_recurrence(d, op, &own);
        draw_stack(d, op);
        break;
    case LOSS:
        op->columns = 1 + below(r, 9);
        op->smoothing = chance(r, 0.4) ? 0.1 : 0;
        op->which = below(r, LOSSES);
        op->again = chance(r, 0.2);
        own = (Random){.seed = d->s.seed, .drawn = (r->drawn + 1) << 32};
        op->agree = chance(&own, 0.3);
        op->z = chance(&own, 0.2) ? 0.02 : 0;
        break;
    default: break;
    }
}

/* Inputs from elsewhere: a gather's from any domain, what a pooling makes is pooled, three operands of a product. */
static bool draw_places(Draw *d, Op *op)
{
    size_t from = op->inputs ? op->input[0] : 0;
    if (op->what == POOL) {
        bool packed = d->s.op[from].domain != POOLED;
        op->domain = POOLED;
        return packed;
    }
    if (op->what == PRODUCT) { /* b of any domain; c of b's */
        size_t b = pick(d, -1, op->columns), c = b < OPS ? pick(d, (int)d->s.op[b].domain, 0) : OPS;
        if (c == OPS)
            return false;
        op->inputs = 3, op->input[1] = b, op->input[2] = c;
        size_t columns = op->columns;
        op->columns = d->s.op[c].columns;
        op->heads = columns % 2 == 0 && op->columns % 2 == 0 && chance(&d->r, 0.7) ? 2 : 1;
    }
    return true;
}

static What some_kind(Draw *d)
{
    static const int weights[WHATS] = {
        [EMBED] = 4,    [CONSTANT] = 2, [LINEAR] = 10,    [NORM] = 5,  [ADD] = 8,    [DROP] = 2,  [ADD_NORM] = 5,
        [ACTIVATE] = 7, [MUL] = 6,      [GATHER] = 6,     [POOL] = 5,  [CONCAT] = 5, [SLICE] = 5, [SPLIT] = 5,
        [TURN] = 3,     [PRODUCT] = 4,  [ATTENTION] = 16, [BLOCK] = 5, [LOSS] = 3};
    size_t all = 0;
    for (size_t i = 0; i < WHATS; i++)
        all += (size_t)weights[i];
    size_t at = below(&d->r, all), kind = 0;
    while (at >= (size_t)weights[kind])
        at -= (size_t)weights[kind++];
    return (What)kind;
}

/* Does the taste have it, and the place in a segment? */
static bool suits(const Draw *d, What what)
{
    if (what == DROP && d->taste.still)
        return false;
    if ((what == PRODUCT && d->taste.rowwise) || (what == GATHER && d->taste.orderless))
        return false;
    return !d->segment || what != LOSS;
}

static void share(Draw *d, Op *op)
{
    for (size_t k = 0; k < d->s.count; k++) {
        const Op *other = &d->s.op[k];
        bool tied = op->what == LOSS && other->what == EMBED && d->s.op[op->input[0]].columns == other->columns;
        if (other->shares >= 0 || !(tied || sketch_may_share(&d->s, op, other)) || !chance(&d->r, 0.5))
            continue;
        op->shares = (int)k;
        if (tied)
            op->columns = VOCABULARY;
        return;
    }
}

/* Values grow with their degree, and rounding with them: it is kept small (a sum counts as a product does). Attention
 * gets none of either, because where one weight is nearly 1 its gradient of keys is a difference of numbers as large as
 * the values. */
static size_t degree_of(const Draw *d, const Op *op)
{
    size_t sum = 0, most = 1;
    for (size_t i = 0; i < op->inputs; i++) {
        size_t one = d->degree[op->input[i]];
        sum += one;
        most = one > most ? one : most;
    }
    bool bounded = op->what == NORM || op->what == ADD_NORM || op->what == TURN || op->what == PRODUCT ||
                   (op->what == ACTIVATE && (op->function == ACTIVATION_TANH || op->function == ACTIVATION_SIGMOID));
    if ((op->what == ATTENTION || op->what == BLOCK) && most > 1)
        return OPS;
    if (bounded)
        return 1;
    if (op->what == MUL || op->what == ADD)
        return sum;
    return op->what == SPLIT && op->again ? sum + most : most;
}

static bool draw_op(Draw *d, What what)
{
    enum { DEGREE = 3 };
    Op op = {.what = what, .name = d->s.count, .shares = -1, .segment = d->segment};
    if (!suits(d, what) || !draw_inputs(d, &op, how_many_inputs(d, what)))
        return false;
    draw_fields(d, &op);
    op.norm_kind = sketch_jumps(&op) ? NORM_RMS : op.norm_kind;
    if (!draw_places(d, &op))
        return false;
    if (d->taste.memory && op.domain == SIDE_1 && (op.what == GATHER || op.what == LOSS))
        return false;
    d->degree[d->s.count] = degree_of(d, &op);
    if (d->degree[d->s.count] > DEGREE)
        return false;
    share(d, &op);
    for (size_t i = 0; i < op.inputs; i++)
        d->is_read[op.input[i]] = true;
    d->s.op[d->s.count++] = op;
    if (d->segment && !--d->left)
        d->segment = 0;
    return true;
}

/* The loss of a value. */
static void draw_loss(Draw *d, size_t k)
{
    Op op = {.what = LOSS, .name = d->s.count, .inputs = 1, .input = {k}, .shares = -1, .domain = d->s.op[k].domain};
    draw_fields(d, &op);
    share(d, &op);
    d->is_read[k] = true;
    d->s.op[d->s.count++] = op;
}

static void draw_rows(Draw *d)
{
    static const size_t few[] = {0, 1, 2, 3, 5, 6};
    Sketch *s = &d->s;
    s->rows = 1 + below(&d->r, SKETCH_ROWS);
    for (size_t side = 0; side < 2; side++) {
        for (size_t b = 0; b < SKETCH_ROWS; b++)
            s->length[side][b] = one_of(&d->r, few, 6);
        if (chance(&d->r, 0.06))
            s->length[side][0] = below(&d->r, LENGTH + 1);
        s->spare[side] = !d->taste.rowwise && chance(&d->r, 0.25) ? below(&d->r, SPARE + 1) : 0;
    }
}

Taste sketch_taste(uint32_t seed) { return (Taste){.smooth = seed % 2 == 0}; }

Sketch sketch_draw(uint32_t seed, const Taste *taste)
{
    Draw d = {.s = {.seed = seed}, .r = {.seed = seed}, .taste = *taste};
    enum { LAST_LOSSES = 3 };
    size_t most = 3 + below(&d.r, OPS - 8);
    int segments = 0;
    draw_rows(&d);
    d.s.registers = chance(&(Random){seed, 1ull << 33}, 0.2) ? 1 + seed % REGISTERS : 0;
    d.width[0] = 1 + below(&d.r, 8);
    d.width[1] = 1 + below(&d.r, 12);
    draw_op(&d, EMBED);
    if (taste->memory) {
        draw_op(&d, EMBED);
        d.s.op[0].domain = SIDE_0, d.s.op[1].domain = SIDE_1;
    }
    while (d.s.count < most || d.segment) {
        if (!d.segment && chance(&d.r, 0.15))
            d.segment = ++segments, d.left = 1 + below(&d.r, 4);
        draw_op(&d, some_kind(&d));
    }
    for (size_t k = d.s.count, losses = 0; k-- > 0 && losses < LAST_LOSSES;)
        if (!d.is_read[k] && fits(&d, k, -1, 0)) {
            draw_loss(&d, k);
            losses++;
        }
    if (!sketch_valid(&d.s)) /* all were read: by one another */
        draw_loss(&d, 0);
    return d.s;
}
