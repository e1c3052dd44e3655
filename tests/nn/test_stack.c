/* Chains of blocks as encoder and decoder: logits against PyTorch's, gradients against central differences, caches, one
 * table for three uses, rows that do not know of each other. */
#include "base/memory.h"
#include "base/philox.h"
#include "tests/nn/encdec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 4, WORDS = 23, CONTEXT = 9, ROWS = 6, MEMORIES = 3 };

/* Kinds of networks; together they have each part of a block at least once. */
static EncDecOptions kind(int i)
{
    EncDecOptions o = {.block = {.attention = {12, 3, 4, 4, .bias = true, .dropout = 0.1},
                                 .ff = 17,
                                 .dropout = 0.2,
                                 .ff_dropout = 0.15},
                       .encoder = 2,
                       .decoder = 2,
                       .source = WORDS,
                       .target = WORDS,
                       .context = CONTEXT,
                       .positions = POSITIONS_SINUSOID,
                       .tie = true,
                       .scale = sqrt(12),
                       .smoothing = 0.1};
    o.block.activation = ACTIVATION_GELU;
    if (i % 2) {
        o.block.norm = NORM_PRE, o.block.attention.key_size = 5, o.block.attention.value_size = 3;
        o.positions = POSITIONS_LEARNED, o.tie = false, o.scale = 1, o.encoder = 1, o.target = WORDS - 4;
    }
    o.block.attention.composed = i >= 2;
    o.block.attention.kv_heads = (size_t)i % 2; /* of 3 */
    o.block.attention.score = i == 3 ? SCORE_ADDITIVE : SCORE_SCALED_DOT;
    return o;
}

/* Empty rows and rows of one token on either side. */
static const size_t sources[ROWS] = {5, 1, 9, 0, 3, 0}, targets[ROWS] = {4, 7, 1, 3, 0, 1};

static Batch batch_of(const EncDecOptions *o, const size_t *source, const size_t *target, size_t rows)
{
    Batch b;
    Error e;
    const size_t *lengths[] = {source, target}, words[] = {o->source, o->target};
    ck_done(batch_open(&b, &(BatchSize){2, rows, {rows * CONTEXT, rows * CONTEXT}, 0, 0}, &e), e);
    for (size_t side = 0; side < 2; side++)
        for (size_t r = 0; r < rows; r++) {
            size_t first = batch_row(&b, side, lengths[side][r]);
            for (size_t i = first; i < first + lengths[side][r]; i++) {
                b.side[side].ids[i] = (int32_t)philox_below(words[side], 5, (uint32_t)r, i - first, (uint32_t)side);
                b.side[side].targets[i] = (int32_t)philox_below(words[side], 6, (uint32_t)r, i - first, 1);
            }
        }
    for (size_t i = 0; i < b.side[0].positions; i++)
        b.side[0].targets[i] = -1;
    return b;
}

typedef struct ParityFixture {
    EncDec m;
    Batch batch;
    TrainerFixture t;
} ParityFixture;

static void parity_open(ParityFixture *s, const EncDecOptions *o, const Kernels *k, const Training *training)
{
    Error e;
    ck_done(encdec_open(&s->m, o, &e), e);
    s->batch = batch_of(o, sources, targets, ROWS);
    Network n = encdec_network(&s->m);
    trainer_fixture_open(&s->t, k, &n, &s->batch, 1, training);
    trainer_fixture_draw(&s->t, 5);
}

static void parity_close(ParityFixture *s)
{
    trainer_fixture_close(&s->t);
    batch_close(&s->batch);
    encdec_close(&s->m);
}

static const Kernels *backend(size_t i) { return i ? backend_of(NUMBER_F32, i - 1) : plain_of(NUMBER_F64); }
static double rounding_of(const Kernels *k) { return k->type == NUMBER_F64 ? 1e-12 : 1e-4; }

/* ---- forward passes that a test asks for itself */

/* The logits of a batch, or of some positions of its target. */
static double *logits_of(TrainerFixture *t, const EncDec *m, const Batch *b, const Queries *only)
{
    Pass p;
    Error e;
    DeviceRows rows;
    pass_open(&p, t);
    ck_done(device_rows_open(&rows, p.k, &b->size, &e), e);
    device_rows_upload(&rows, p.stream, b, 0, b->side[0].rows);
    const Rows *source = &rows.rows[0], *target = &rows.rows[1];
    AttentionContext context = context_across(target, source);
    context.query_subset = only;
    double *values = pass_reals(&p, encdec_logits(&p.tape, m, target, encdec_memory(&p.tape, m, source), &context));
    device_rows_close(&rows);
    tape_close(&p.tape);
    return values;
}

static void check_near(const double *found, const double *wanted, size_t n, double rounding, const char *what)
{
    double far = largest_difference(found, wanted, n);
    ck_assert_msg(far <= rounding, "%s: off by %g", what, far);
}

static const char *const fixtures[] = {"cross", "encdec-post", "encdec-pre"};

START_TEST(logits_are_those_of_pytorch)
{
    for (size_t i = 0; backend(i); i++)
        for (int composed = 0; composed < 2; composed++) {
            Reference f = reference_open(fixtures[_i], 2);
            EncDecOptions o = encdec_options(&f);
            EncDec m;
            TrainerFixture t;
            Error e;
            size_t count;
            o.block.attention.composed = composed;
            ck_done(encdec_open(&m, &o, &e), e);
            Network n = encdec_network(&m);
            trainer_fixture_open(&t, backend(i), &n, f.batch, 1, &(Training){0});
            reference_weights(&f, &t);
            double *wanted = reference_reals(&f, "logits", &count), *found = logits_of(&t, &m, f.batch, NULL);
            ck_assert_uint_eq(count, f.batch[0].side[1].positions * o.target);
            check_near(found, wanted, count, backend(i)->type == NUMBER_F64 ? 1e-9 : 1e-4, fixtures[_i]);
            memory_free(wanted);
            memory_free(found);
            trainer_fixture_close(&t);
            encdec_close(&m);
            reference_close(&f);
        }
}

/* ---- training */

START_TEST(the_gradient_is_that_of_central_differences)
{
    const double h = 1e-5;
    EncDecOptions o = kind(_i);
    ParityFixture s;
    parity_open(&s, &o, plain_of(NUMBER_F64), &(Training){.workers = 2, .micro_rows = 4});
    trainer_fixture_step(&s.t, 1, 0);
    double *gradient = trainer_fixture_gradient(&s.t);
    const Parameters *p = &s.m.parameters;
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (one->role == ROLE_CONSTANT)
            continue;
        double largest = largest_difference(gradient + one->offset, NULL, one->count);
        ck_assert_msg(largest > 0 || strstr(one->name, "key.bias"), "%s has no gradient", one->name);
        for (uint64_t draw = 0; draw < 2; draw++) {
            size_t j = (size_t)philox_below(one->count, 7, (uint32_t)_i, draw, (uint32_t)i);
            trainer_fixture_nudge(&s.t, one, j, h);
            double more = trainer_fixture_step(&s.t, 1, 0).loss;
            trainer_fixture_nudge(&s.t, one, j, -2 * h);
            double less = trainer_fixture_step(&s.t, 1, 0).loss;
            trainer_fixture_nudge(&s.t, one, j, h);
            double slope = (more - less) / (2 * h), found = gradient[one->offset + j];
            ck_assert_msg(fabs(slope - found) <= 1e-6 * largest + 2e-9, "%s[%zu]: the gradient is %.9g, the slope %.9g",
                          one->name, j, found, slope);
        }
    }
    memory_free(gradient);
    parity_close(&s);
}

/* One step's gradient of the drawn weights. */
static double *gradient_of(const EncDecOptions *o, const Kernels *k, const Training *training, size_t *size)
{
    ParityFixture s;
    parity_open(&s, o, k, training);
    trainer_fixture_step(&s.t, 1, 0);
    double *gradient = trainer_fixture_gradient(&s.t);
    *size = s.m.parameters.size;
    parity_close(&s);
    return gradient;
}

/* Sets key and value weights of all heads to those of the heads that stand for three each. */
static void copy_heads(TrainerFixture *to, TrainerFixture *from, size_t kv_heads)
{
    double *values = trainer_fixture_weights(from), *copied = trainer_fixture_weights(to);
    for (size_t i = 0; i < from->network.parameters->count; i++) {
        const Parameter *one = from->network.parameters->list[i];
        const Parameter *other = parameters_find(to->network.parameters, one->name);
        if (one->role == ROLE_CONSTANT) /* beside the block of weights */
            continue;
        size_t copies = other->count / one->count, size = one->count / kv_heads;
        ck_assert_uint_eq(copies, strstr(one->name, ".key.") || strstr(one->name, ".value.") ? 3 : 1);
        for (size_t j = 0; j < other->count; j++)
            copied[j] = values[one->offset + (copies == 1 ? j : j / size / copies * size + j % size)];
        weights_set(&to->trainer.weights, to->trainer.worker[0].stream, other, copied);
    }
    memory_free(values);
    memory_free(copied);
}

/* Where heads share keys and values, the gradient of these is the sum of what copies of them would get. */
START_TEST(heads_that_share_keys_are_heads_with_equal_keys)
{
    const size_t kv_heads = 2;
    EncDecOptions o = kind(_i);
    ParityFixture shared, apart;
    o.block.attention.heads = 3 * kv_heads, o.block.attention.kv_heads = kv_heads;
    parity_open(&shared, &o, plain_of(NUMBER_F64), &(Training){0});
    o.block.attention.kv_heads = 0;
    parity_open(&apart, &o, plain_of(NUMBER_F64), &(Training){0});
    copy_heads(&apart.t, &shared.t, kv_heads);
    double loss = trainer_fixture_step(&apart.t, 1, 0).loss;
    ck_assert_double_eq_tol(trainer_fixture_step(&shared.t, 1, 0).loss, loss, 1e-13);
    double *found = trainer_fixture_gradient(&shared.t), *copies = trainer_fixture_gradient(&apart.t);
    for (size_t i = 0; i < shared.m.parameters.count; i++) {
        const Parameter *one = shared.m.parameters.list[i];
        const Parameter *other = parameters_find(&apart.m.parameters, one->name);
        size_t count = other->count / one->count, size = one->count / kv_heads;
        for (size_t j = 0; one->role != ROLE_CONSTANT && j < one->count; j++) {
            double sum = 0;
            for (size_t copy = 0; copy < count; copy++)
                sum += copies[other->offset + (count == 1 ? j : (j / size * count + copy) * size + j % size)];
            ck_assert_msg(fabs(found[one->offset + j] - sum) <= 1e-13, "%s[%zu]: %.9g, not %.9g", one->name, j,
                          found[one->offset + j], sum);
        }
    }
    memory_free(found);
    memory_free(copies);
    parity_close(&shared);
    parity_close(&apart);
}

START_TEST(blocks_kept_and_computed_again_give_the_same_bits)
{
    EncDecOptions o = kind(_i);
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            const Kernels *k = backend_of((NumberType)type, i);
            size_t size;
            double *kept = gradient_of(&o, k, &(Training){.keep = KEEP_ALL}, &size);
            double *again = gradient_of(&o, k, &(Training){.keep = KEEP_INPUTS}, &size);
            ck_assert_double_gt(distance(kept, NULL, size), 0);
            ck_assert_msg(memcmp(kept, again, size * sizeof *kept) == 0, "%s %s", k->backend,
                          number_type_name(k->type));
            memory_free(kept);
            memory_free(again);
        }
}

/* Dropout included: masks of the target count its own positions. */
START_TEST(any_split_over_micro_batches_and_workers_gives_the_same_gradient)
{
    static const Training ways[] = {{.micro_rows = 1}, {.micro_rows = 4}, {.workers = 3, .micro_rows = 1}};
    EncDecOptions o = kind(_i);
    for (size_t i = 0; backend(i); i++) {
        size_t size;
        double *whole = gradient_of(&o, backend(i), &(Training){0}, &size), most = distance(whole, NULL, size);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            double *split = gradient_of(&o, backend(i), &ways[w], &size);
            double far = distance(split, whole, size);
            ck_assert_msg(far <= (i ? 1e-5 : 1e-13) * most, "%s, way %zu: off by %g of %g", backend(i)->backend, w, far,
                          most);
            memory_free(split);
        }
        memory_free(whole);
    }
}

START_TEST(each_dropout_acts_on_its_own_and_counts_positions_of_its_side)
{
    EncDecOptions o = kind(_i);
    const double never = 1e-300; /* 0 would be another network than the one that was planned */
    ParityFixture s;
    Dropout *drops[2 + 4 * 2 + 6 * 2] = {&s.m.source.drop, &s.m.target.drop};
    size_t sides[2 + 4 * 2 + 6 * 2] = {0, 1}, count = 2;
    parity_open(&s, &o, plain_of(NUMBER_F64), &(Training){0});
    for (size_t side = 0; side < 2; side++) {
        Stack *stack = side ? &s.m.decoder : &s.m.encoder;
        for (size_t i = 0; i < stack->depth; i++) {
            Block *b = &stack->block[i];
            Dropout *of[] = {&b->attention.drop, &b->branch1.drop, &b->ff.drop,
                             &b->branch2.drop,   &b->cross.drop,   &b->branch_cross.drop};
            for (size_t d = 0; d < (side ? 6 : 4); d++, count++)
                drops[count] = of[d], sides[count] = side;
        }
    }
    for (size_t i = 0; i < count; i++)
        drops[i]->rate = never;
    double none = trainer_fixture_step(&s.t, 1, 0).loss;
    for (size_t i = 0; i < count; i++) {
        drops[i]->rate = 0.5;
        ck_assert_msg(trainer_fixture_step(&s.t, 1, 0).loss != none, "dropout %zu does nothing", i);
        drops[i]->rate = never;
        ck_assert_uint_eq(drops[i]->side, sides[i]);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(drops[i]->site != drops[j]->site, "dropouts %zu and %zu draw the same numbers", i, j);
    }
    parity_close(&s);
}

/* ---- one table for three uses */

/* A parameter's numbers from another fixture's of the same shape. */
static void copy_parameter(TrainerFixture *to, const char *name, TrainerFixture *from, const char *other)
{
    const Weights *w = &from->trainer.weights;
    const Parameter *p = parameters_find(to->network.parameters, name);
    const Parameter *q = parameters_find(from->network.parameters, other);
    ck_assert(p && q && p->count == q->count);
    void *reals = memory_get(p->count, w->k->real);
    ck_assert_ptr_nonnull(reals);
    weights_get(w, from->trainer.worker[0].stream, q, reals);
    weights_set(&to->trainer.weights, to->trainer.worker[0].stream, p, reals);
    memory_free(reals);
}

/* A network with three tables of the same numbers and no bias of logits is the network with one, whose gradient is the
 * sum of those of the three. */
static void check_tied(const Kernels *k, double rounding)
{
    static const char *const tables[] = {"source_embedding.weight", "target_embedding.weight", "logits.weight"};
    EncDecOptions o = kind(0), apart = o;
    ParityFixture one, three;
    apart.tie = false;
    parity_open(&one, &o, k, &(Training){0});
    parity_open(&three, &apart, k, &(Training){0});
    const Parameters *p = &one.m.parameters, *q = &three.m.parameters;
    const Parameter *table = parameters_find(p, "embedding.weight"), *bias = parameters_find(q, "logits.bias");
    ck_assert(one.m.source.table == table && one.m.target.table == table && one.m.logits.weight == table);
    ck_assert(one.m.source.positions == one.m.target.positions);
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->role != ROLE_CONSTANT && p->list[i] != table)
            copy_parameter(&three.t, p->list[i]->name, &one.t, p->list[i]->name);
    for (size_t i = 0; i < 3; i++)
        copy_parameter(&three.t, tables[i], &one.t, "embedding.weight");
    void *zeros = memory_get(bias->count, k->real);
    ck_assert_ptr_nonnull(zeros);
    weights_set(&three.t.trainer.weights, three.t.trainer.worker[0].stream, bias, zeros);
    memory_free(zeros);

    double losses[] = {trainer_fixture_step(&one.t, 1, 0).loss, trainer_fixture_step(&three.t, 1, 0).loss};
    double *together = trainer_fixture_gradient(&one.t), *each = trainer_fixture_gradient(&three.t),
           sum[WORDS * 12] = {0};
    for (size_t i = 0; i < 3; i++) {
        const double *part = each + parameters_find(q, tables[i])->offset;
        ck_assert_double_gt(distance(part, NULL, table->count), 0);
        for (size_t j = 0; j < table->count; j++)
            sum[j] += part[j];
    }
    ck_assert_double_eq(losses[0], losses[1]);
    check_near(together + table->offset, sum, table->count, rounding * largest_difference(sum, NULL, table->count),
               k->backend);
    memory_free(together);
    memory_free(each);
    parity_close(&one);
    parity_close(&three);
}

START_TEST(one_table_for_source_target_and_logits_sums_three_gradients)
{
    static const double rounding[] = {[NUMBER_F32] = 1e-6, [NUMBER_BF16] = 1e-6, [NUMBER_F64] = 1e-14};
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++)
            check_tied(backend_of((NumberType)type, i), rounding[type]);
}

/* ---- evaluation */

START_TEST(a_row_has_the_logits_that_it_has_among_others)
{
    EncDecOptions o = kind(_i);
    for (size_t i = 0; backend(i); i++) {
        ParityFixture s;
        parity_open(&s, &o, backend(i), &(Training){0});
        double *among = logits_of(&s.t, &s.m, &s.batch, NULL), *at = among;
        for (size_t r = 0; r < ROWS; at += targets[r++] * o.target) {
            Batch alone = batch_of(&o, sources + r, targets + r, 1);
            for (size_t side = 0; side < 2; side++)
                memcpy(alone.side[side].ids, s.batch.side[side].ids + s.batch.side[side].start[r],
                       alone.side[side].positions * sizeof(int32_t));
            double *found = logits_of(&s.t, &s.m, &alone, NULL);
            check_near(found, at, targets[r] * o.target, rounding_of(backend(i)), backend(i)->backend);
            memory_free(found);
            batch_close(&alone);
        }
        memory_free(among);
        parity_close(&s);
    }
}

START_TEST(wanted_positions_alone_have_the_logits_that_they_have_among_all)
{
    static const size_t from[ROWS] = {1, 6, 0, 3, 0, 0};
    EncDecOptions o = kind(_i);
    ParityFixture s;
    int32_t index[ROWS * CONTEXT], start[ROWS + 1] = {0}, offset[ROWS];
    size_t n = 0, longest = 0;
    parity_open(&s, &o, plain_of(NUMBER_F64), &(Training){0});
    for (size_t r = 0; r < ROWS; r++) {
        offset[r] = (int32_t)from[r];
        for (size_t i = from[r]; i < targets[r]; i++)
            index[n++] = s.batch.side[1].start[r] + (int32_t)i;
        start[r + 1] = (int32_t)n;
        longest = targets[r] - from[r] > longest ? targets[r] - from[r] : longest;
    }
    Queries only = {n, longest, index, NULL, start, offset}; /* plain's memory is the host's */
    double *all = logits_of(&s.t, &s.m, &s.batch, NULL), *some = logits_of(&s.t, &s.m, &s.batch, &only);
    for (size_t i = 0; i < n; i++)
        check_near(some + i * o.target, all + (size_t)index[i] * o.target, o.target, 1e-12, "a wanted position");
    memory_free(all);
    memory_free(some);
    parity_close(&s);
}

/* ---- writing: a memory that is remembered, and read by several rows of the target */

static const size_t memories[MEMORIES] = {4, 0, 6}, written[ROWS] = {9, 4, 6, 1, 9, 3};
static const int32_t read_by[ROWS] = {0, 2, 2, 1, 0, 0};

typedef struct Writing {
    Pass p;
    Cache past, memory;
    DeviceRows rows;
    Batch piece;
    int32_t *key_row;
} Writing;

/* Remembers the sources 0 .. MEMORIES-1 of `b`. */
static void writing_open(Writing *w, ParityFixture *s, const Batch *b)
{
    Error e;
    BatchSize one = {1, ROWS, {ROWS * CONTEXT}, 0, 0};
    DeviceRows source;
    *w = (Writing){0};
    pass_open(&w->p, &s->t);
    const Kernels *k = w->p.k;
    ck_done(stack_cache(&w->past, &s->m.decoder, k, w->p.stream, ROWS, CONTEXT, &e) &&
                stack_cache(&w->memory, &s->m.decoder, k, w->p.stream, MEMORIES, CONTEXT, &e) &&
                device_rows_open(&w->rows, k, &one, &e) && batch_open(&w->piece, &one, &e) &&
                device_rows_open(&source, k, &b->size, &e),
            e);
    w->key_row = k->allocate(sizeof read_by);
    k->upload(w->p.stream, w->key_row, read_by, sizeof read_by);
    device_rows_upload(&source, w->p.stream, b, 0, MEMORIES);
    Tape *t = &w->p.tape;
    stack_remember(t, &s->m.decoder, encdec_memory(t, &s->m, &source.rows[0]), &source.rows[0], &w->memory);
    tape_reset(t);
    device_rows_close(&source);
}

static void writing_close(Writing *w)
{
    w->p.k->release(w->key_row);
    cache_close(&w->past);
    cache_close(&w->memory);
    device_rows_close(&w->rows);
    batch_close(&w->piece);
    tape_close(&w->p.tape);
}

/* Logits of tokens from..to-1 of each row's target, as far as it has them. */
static double *write_on(Writing *w, const ParityFixture *s, const Side *target, size_t from, size_t to)
{
    batch_clear(&w->piece);
    for (size_t r = 0; r < ROWS; r++) {
        size_t end = to < written[r] ? to : written[r], first = batch_row(&w->piece, 0, end > from ? end - from : 0);
        for (size_t i = from; i < end; i++) {
            w->piece.side[0].ids[first + i - from] = target->ids[(size_t)target->start[r] + i];
            w->piece.side[0].position[first + i - from] = (int32_t)i;
        }
    }
    device_rows_upload(&w->rows, w->p.stream, &w->piece, 0, ROWS);
    const Rows *now = &w->rows.rows[0];
    AttentionContext context = context_remembered(now, &w->past, &w->memory, w->key_row);
    cache_begin(&w->past, w->p.stream, now->start, ROWS);
    Tensor *logits = encdec_logits(&w->p.tape, &s->m, now, NULL, &context);
    cache_end(&w->past, w->p.stream, ROWS);
    double *values = pass_reals(&w->p, logits);
    tape_reset(&w->p.tape);
    return values;
}

/* Rows in pieces of this length against whole rows, each with a source of its own. */
static void check_written(const EncDecOptions *o, const Kernels *k, size_t step)
{
    ParityFixture s;
    Writing w;
    size_t copies[ROWS];
    parity_open(&s, o, k, &(Training){0});
    for (size_t r = 0; r < ROWS; r++)
        copies[r] = memories[read_by[r]];
    Batch whole = batch_of(o, copies, written, ROWS), shared = batch_of(o, memories, memories, MEMORIES);
    for (size_t r = 0; r < ROWS; r++)
        memcpy(whole.side[0].ids + whole.side[0].start[r], shared.side[0].ids + shared.side[0].start[read_by[r]],
               copies[r] * sizeof(int32_t));
    double *wanted = logits_of(&s.t, &s.m, &whole, NULL);
    writing_open(&w, &s, &shared);
    for (size_t from = 0; from < CONTEXT; from += step) {
        double *found = write_on(&w, &s, &whole.side[1], from, from + step), *at = found;
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = from; i < from + step && i < written[r]; i++, at += o->target)
                check_near(at, wanted + ((size_t)whole.side[1].start[r] + i) * o->target, o->target, rounding_of(k),
                           k->backend);
        memory_free(found);
    }
    memory_free(wanted);
    writing_close(&w);
    batch_close(&whole);
    batch_close(&shared);
    parity_close(&s);
}

START_TEST(what_is_written_over_a_memory_has_the_logits_of_the_whole_row)
{
    EncDecOptions o = kind(_i);
    for (size_t i = 0; backend(i); i++)
        for (size_t step = 1; step <= 4; step += 3)
            check_written(&o, backend(i), step);
}

/* ---- */

static bool build(void *argument, Error *e)
{
    EncDec m;
    if (!encdec_open(&m, argument, e))
        return false;
    encdec_close(&m);
    return true;
}

START_TEST(stacks_without_memory_are_an_error_and_leave_nothing)
{
    EncDecOptions o = kind(_i);
    fail_each_allocation(build, &o);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(logits_are_those_of_pytorch, 3),
        TEST_LOOP(the_gradient_is_that_of_central_differences, KINDS),
        TEST_LOOP(heads_that_share_keys_are_heads_with_equal_keys, 3),
        TEST_LOOP(blocks_kept_and_computed_again_give_the_same_bits, KINDS),
        TEST_LOOP(any_split_over_micro_batches_and_workers_gives_the_same_gradient, KINDS),
        TEST_LOOP(each_dropout_acts_on_its_own_and_counts_positions_of_its_side, KINDS),
        TEST(one_table_for_source_target_and_logits_sums_three_gradients),
        TEST_LOOP(a_row_has_the_logits_that_it_has_among_others, KINDS),
        TEST_LOOP(wanted_positions_alone_have_the_logits_that_they_have_among_all, KINDS),
        TEST_LOOP(what_is_written_over_a_memory_has_the_logits_of_the_whole_row, KINDS),
        TEST_LOOP(stacks_without_memory_are_an_error_and_leave_nothing, 2),
    };
    return suite_run("nn/stack", tests, sizeof tests / sizeof *tests, argc, argv);
}
