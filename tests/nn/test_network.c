/* Whole networks as a trainer trains them: gradients against central differences, batches split in any way, empty rows,
 * nothing to score, dropout, the same bits twice. */
#include "base/memory.h"
#include "base/philox.h"
#include "tests/nn/networks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Kinds of networks; all together they have each part of core/nn at least once. */
static SharedOptions kind(int i)
{
    SharedOptions o = small_options();
    switch (i) {
    case 0: break;
    case 1:
        o.norm = NORM_PRE, o.norm_kind = NORM_RMS, o.positions = POSITIONS_SINUSOID, o.activation = ACTIVATION_GELU;
        o.bias_free = true, o.parametrization = PARAMETRIZATION_MUP, o.base_width = 18;
        break;
    case 2:
        o.norm = NORM_PRE, o.tie = true, o.head_size = 5, o.value_size = 7, o.activation = ACTIVATION_GELU_TANH;
        o.kv_heads = 1;
        break;
    case 4:
        o.positions = POSITIONS_ROTARY, o.kv_heads = 1, o.activation = ACTIVATION_SILU, o.norm = NORM_SANDWICH;
        o.gate = o.qk_norm = true;
        break;
    case 5:
        o.norm = NORM_PARALLEL, o.bias_free = true, o.activation = ACTIVATION_SILU, o.kv_heads = 1;
        o.positions = POSITIONS_ROTARY, o.rotary_share = 0.5, o.rotary_stretch = 2;
        o.value_residual = true, o.skip = SKIP_X0, o.norm_kind = NORM_RMS_PLAIN;
        break;
    case 6:
        o.norm = NORM_PRE, o.skip = SKIP_UNET, o.loops = 2, o.activation = ACTIVATION_GELU, o.embedding_norm = true;
        o.window = 3, o.window_pattern = "SL", o.distances = DISTANCE_T5;
        break;
    case 7:
        o.norm = NORM_RESIDUAL, o.norm_kind = NORM_SCALE, o.macaron = o.value_residual = true, o.skip = SKIP_UNET;
        o.qk_norm = true, o.qk_norm_kind = 1, o.activation = ACTIVATION_GELU;
        break;
    case 8:
        o.norm = NORM_DEEP, o.norm_kind = NORM_TANH, o.macaron = o.gate = true, o.activation = ACTIVATION_SILU;
        break;
    case 9:
        o.residual_scores = true, o.attention = ATTENTION_COMPOSED, o.loops = 2, o.window = 4, o.window_pattern = "SL";
        o.norm = NORM_RESIDUAL;
        break;
    case 10:
        o.norm = NORM_PRE, o.activation = ACTIVATION_GELU, o.distances = DISTANCE_MLP, o.kv_heads = 1;
        o.score_cap = 1, o.logit_cap = 2, o.sink_score = o.value_gate = true, o.sinks = 2;
        o.sparse = PATTERN_STRIDED, o.stride = 3, o.window_pattern = "SL";
        break;
    case 11:
        o.norm = NORM_PRE, o.activation = ACTIVATION_GELU, o.heads = 4, o.kv_heads = 2,
        o.attention = ATTENTION_COMPOSED;
        o.talking_heads = o.sigmoid_attention = true, o.memory_keys = 2, o.score_cap = 2;
        o.window = 3, o.sinks = 1;
        break;
    case 12:
        o.norm = NORM_PRE, o.activation = ACTIVATION_GELU, o.experts = 3, o.chosen_experts = 1, o.load_loss = 0.1;
        break;
    case 13: o.activation = ACTIVATION_SILU, o.experts = 4, o.load_loss = 0.1, o.gate = o.macaron = true; break;
    case 3:
        o.norm_kind = NORM_RMS, o.heads = 4, o.kv_heads = 2;
        o.attention = 1, o.score = SCORE_ADDITIVE, o.window = 4, o.activation = ACTIVATION_GELU;
        o.positions = POSITIONS_NONE;
        break;
    }
    o.dropout = 0.2, o.attention_dropout = 0.1, o.ff_dropout = o.experts ? 0 : 0.15, o.smoothing = 0.1;
    return o;
}

enum { KINDS = 14 };

static const size_t lengths[] = {5, 1, 9, 0, 13, 3, 2};

enum { ROWS = sizeof lengths / sizeof *lengths };

/* A fixture of a network of its own, on a batch of its own. */
typedef struct Whole {
    SharedOptions options;
    Model model;
    Batch batch;
    TrainerFixture t;
} Whole;

static void whole_open(Whole *w, const SharedOptions *o, const Kernels *k, const Training *training)
{
    Error e;
    w->options = *o;
    ck_done(model_open(&w->model, o, BYTES, &e), e);
    w->batch = random_batch(lengths, ROWS, 11);
    Network n = charlm_network(&w->model, o->smoothing);
    trainer_fixture_open(&w->t, k, &n, &w->batch, 1, training);
    trainer_fixture_draw(&w->t, 5);
}

static void whole_close(Whole *w)
{
    trainer_fixture_close(&w->t);
    batch_close(&w->batch);
    model_close(&w->model);
}

START_TEST(the_gradient_is_that_of_central_differences)
{
    const double h = 1e-5;
    SharedOptions o = kind(_i);
    Whole w;
    o.activation = o.activation == ACTIVATION_RELU ? ACTIVATION_GELU : o.activation; /* a kink has no derivative */
    whole_open(&w, &o, plain_of(NUMBER_F64), &(Training){.workers = 2, .micro_rows = 3});
    trainer_fixture_step(&w.t, 1, 0);
    double *gradient = trainer_fixture_gradient(&w.t);
    const Parameters *p = &w.model.parameters;
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (one->role == ROLE_CONSTANT)
            continue;
        double largest = largest_difference(gradient + one->offset, NULL, one->count);
        for (uint64_t draw = 0; draw < 3; draw++) {
            size_t j = (size_t)philox_below(one->count, 7, (uint32_t)_i, draw, (uint32_t)i);
            if (one->role == ROLE_LOOKUP) /* the row of some id of the batch */
                j = (size_t)w.batch.side[0].ids[draw] * one->shape[1] + j % one->shape[1];
            trainer_fixture_nudge(&w.t, one, j, h);
            double more = trainer_fixture_step(&w.t, 1, 0).loss;
            trainer_fixture_nudge(&w.t, one, j, -2 * h);
            double less = trainer_fixture_step(&w.t, 1, 0).loss;
            trainer_fixture_nudge(&w.t, one, j, h);
            double slope = (more - less) / (2 * h), found = gradient[one->offset + j];
            ck_assert_msg(fabs(slope - found) <= 1e-6 * largest + 2e-9, "%s[%zu]: the gradient is %.9g, the slope %.9g",
                          one->name, j, found, slope);
        }
    }
    memory_free(gradient);
    whole_close(&w);
}

/* What a way to split the batch led to. */
typedef struct Outcome {
    double loss, *losses, *gradient, *weights;
} Outcome;

static Outcome outcome_of(const SharedOptions *o, const Kernels *k, Training split)
{
    Whole w;
    Outcome r;
    size_t positions = 0;
    for (size_t i = 0; i < ROWS; i++)
        positions += lengths[i];

    whole_open(&w, o, k, &split);
    r.loss = trainer_fixture_step(&w.t, 1, 0).loss;
    r.losses = memory_get(positions, sizeof *r.losses);
    ck_assert_ptr_nonnull(r.losses);
    memcpy(r.losses, w.t.losses, positions * sizeof *r.losses);
    r.gradient = trainer_fixture_gradient(&w.t);
    whole_close(&w);

    split.moving = true, split.clip = 1;
    whole_open(&w, o, k, &split);
    for (uint64_t step = 1; step <= 3; step++)
        trainer_fixture_step(&w.t, step, 1e-3);
    r.weights = trainer_fixture_weights(&w.t);
    whole_close(&w);
    return r;
}

static void outcome_free(Outcome *r)
{
    memory_free(r->losses);
    memory_free(r->gradient);
    memory_free(r->weights);
}

/* steps: the root mean square of how far weights may be apart after three steps of 1e-3; in f32 Adam turns rounding in
 * gradients near 0 (the key's bias) into whole steps of a few weights. */
static void check_splits(const SharedOptions *o, const Kernels *k, double rounding, double steps)
{
    static const size_t micro[] = {1, 2, 3, ROWS};
    Model m;
    Error e;
    ck_done(model_open(&m, o, BYTES, &e), e);
    size_t size = m.parameters.size, positions = 0;
    for (size_t i = 0; i < ROWS; i++)
        positions += lengths[i];
    Outcome whole = outcome_of(o, k, (Training){0});
    double norm = distance(whole.gradient, NULL, size);
    for (size_t i = 0; i < 4; i++)
        for (size_t workers = 1; workers <= 4; workers++) {
            Outcome r = outcome_of(o, k, (Training){.workers = workers, .micro_rows = micro[i]});
            double far = distance(r.gradient, whole.gradient, size);
            double position = largest_difference(r.losses, whole.losses, positions);
            double step = distance(r.weights, whole.weights, size) / sqrt((double)size);
            ck_assert_msg(fabs(r.loss - whole.loss) <= rounding * whole.loss && position <= 10 * rounding,
                          "%zu workers, %zu rows: loss %.12g, not %.12g; of a position %g off", workers, micro[i],
                          r.loss, whole.loss, position);
            ck_assert_msg(far <= rounding * norm, "%zu workers, %zu rows: the gradient is off by %g of %g", workers,
                          micro[i], far, norm);
            ck_assert_msg(step <= steps, "%zu workers, %zu rows: weights are off by %g", workers, micro[i], step);
            outcome_free(&r);
        }
    outcome_free(&whole);
    model_close(&m);
}

START_TEST(any_split_over_micro_batches_and_workers_gives_the_same_gradient_and_step)
{
    SharedOptions o = kind(_i);
    check_splits(&o, plain_of(NUMBER_F64), 1e-13, 1e-12);
    for (size_t i = 0; backend_of(NUMBER_F32, i); i++)
        check_splits(&o, backend_of(NUMBER_F32, i), 1e-5, 1e-4);
}

static void check_same_bits(const SharedOptions *o, const Kernels *k, Training one, Training other)
{
    Model m;
    Error e;
    ck_done(model_open(&m, o, BYTES, &e), e);
    Outcome a = outcome_of(o, k, one), b = outcome_of(o, k, other);
    size_t bytes = m.parameters.size * sizeof(double);
    ck_assert(memcmp(&a.loss, &b.loss, sizeof a.loss) == 0);
    ck_assert_msg(memcmp(a.gradient, b.gradient, bytes) == 0, "%s %s: gradients differ", k->backend,
                  number_type_name(k->type));
    ck_assert_msg(memcmp(a.weights, b.weights, bytes) == 0, "%s %s: weights differ", k->backend,
                  number_type_name(k->type));
    outcome_free(&a);
    outcome_free(&b);
    model_close(&m);
}

START_TEST(the_same_run_twice_gives_the_same_bits)
{
    SharedOptions o = kind(_i);
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++)
            for (size_t workers = 1; workers <= 3; workers++) {
                Training t = {.workers = workers, .micro_rows = 2};
                check_same_bits(&o, backend_of((NumberType)type, i), t, t);
            }
}

START_TEST(blocks_kept_and_computed_again_give_the_same_bits)
{
    SharedOptions o = kind(_i);
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++)
            check_same_bits(&o, backend_of((NumberType)type, i), (Training){.keep = KEEP_ALL, .micro_rows = 3},
                            (Training){.keep = KEEP_INPUTS, .micro_rows = 3});
}

/* A batch that is not the usual one. */
static void open_on(Whole *w, const SharedOptions *o, const Kernels *k, const Training *training, const size_t *rows,
                    size_t count)
{
    Error e;
    w->options = *o;
    ck_done(model_open(&w->model, o, BYTES, &e), e);
    w->batch = random_batch(rows, count, 11);
    Network n = charlm_network(&w->model, o->smoothing);
    trainer_fixture_open(&w->t, k, &n, &w->batch, 1, training);
    trainer_fixture_draw(&w->t, 5);
}

START_TEST(rows_of_length_0_change_nothing)
{
    static const size_t without[] = {4, 1, 7}, with[] = {0, 4, 0, 0, 1, 7, 0};
    SharedOptions o = kind(_i);
    for (size_t micro = 1; micro <= 7; micro += 3) {
        Whole a, b;
        open_on(&a, &o, plain_of(NUMBER_F64), &(Training){0}, without, 3);
        open_on(&b, &o, plain_of(NUMBER_F64), &(Training){.micro_rows = micro}, with, 7);
        double loss[] = {trainer_fixture_step(&a.t, 1, 0).loss, trainer_fixture_step(&b.t, 1, 0).loss};
        double *gradient[] = {trainer_fixture_gradient(&a.t), trainer_fixture_gradient(&b.t)};
        size_t size = a.model.parameters.size;
        ck_assert_double_eq_tol(loss[0], loss[1], 1e-13);
        ck_assert_double_eq_tol(trainer_fixture_score(&a.t), trainer_fixture_score(&b.t), 1e-13);
        ck_assert_double_le(largest_difference(gradient[0], gradient[1], size), 1e-14);
        memory_free(gradient[0]);
        memory_free(gradient[1]);
        whole_close(&a);
        whole_close(&b);
    }
}

/* Loss 0 and gradient 0, and Adam leaves weights as they are while its moments are 0, and finite ones at all times. */
static void check_nothing_scored(Whole *w, const char *what)
{
    const Parameters *p = &w->model.parameters;
    double *before = trainer_fixture_weights(&w->t);
    StepResult r = trainer_fixture_step(&w->t, 1, 1e-2);
    double *gradient = trainer_fixture_gradient(&w->t), *after = trainer_fixture_weights(&w->t);
    ck_assert_msg(r.loss == 0 && r.targets == 0 && r.norm == 0 && r.finite, "%s: loss %g, norm %g", what, r.loss,
                  r.norm);
    ck_assert_msg(distance(gradient, NULL, p->size) == 0, "%s: the gradient is not 0", what);
    ck_assert_msg(memcmp(before, after, p->size * sizeof *before) == 0, "%s: the weights moved", what);
    ck_assert_double_eq(trainer_fixture_score(&w->t), 0);
    memory_free(before);
    memory_free(gradient);
    memory_free(after);
}

START_TEST(a_batch_with_nothing_to_score_has_loss_0_and_gradient_0)
{
    static const size_t empty[] = {0, 0};
    SharedOptions o = kind(_i);
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            const Kernels *k = backend_of((NumberType)type, i);
            Whole w;
            whole_open(&w, &o, k, &(Training){.workers = 2, .micro_rows = 3, .clip = 1});
            for (size_t n = 0; n < w.batch.side[0].positions; n++)
                w.batch.side[0].targets[n] = -1;
            check_nothing_scored(&w, "all targets ignored");
            whole_close(&w);
            open_on(&w, &o, k, &(Training){.clip = 1}, empty, 2);
            check_nothing_scored(&w, "empty rows alone");
            whole_close(&w);
        }
}

START_TEST(adam_with_moments_stays_finite_where_nothing_is_scored)
{
    SharedOptions o = kind(_i);
    Whole w;
    whole_open(&w, &o, plain_of(NUMBER_F32), &(Training){.moving = true, .clip = 1});
    trainer_fixture_step(&w.t, 1, 1e-2);
    for (size_t n = 0; n < w.batch.side[0].positions; n++)
        w.batch.side[0].targets[n] = -1;
    for (uint64_t step = 2; step < 50; step++)
        ck_assert(trainer_fixture_step(&w.t, step, 1e-2).finite);
    double *weights = trainer_fixture_weights(&w.t);
    ck_assert(isfinite(distance(weights, NULL, w.model.parameters.size)));
    memory_free(weights);
    whole_close(&w);
}

START_TEST(dropout_acts_in_training_and_not_in_evaluation)
{
    SharedOptions wet = kind(_i), dry = wet;
    dry.dropout = dry.attention_dropout = dry.ff_dropout = dry.smoothing = wet.smoothing = 0;
    dry.load_loss = wet.load_loss = 0; /* which scoring leaves out */
    Whole a, b;
    whole_open(&a, &wet, plain_of(NUMBER_F64), &(Training){0});
    whole_open(&b, &dry, plain_of(NUMBER_F64), &(Training){0});
    double trained = trainer_fixture_step(&a.t, 1, 0).loss, same = trainer_fixture_step(&a.t, 1, 0).loss,
           next = trainer_fixture_step(&a.t, 2, 0).loss;
    double plain = trainer_fixture_step(&b.t, 1, 0).loss, later = trainer_fixture_step(&b.t, 2, 0).loss;
    ck_assert(trained == same && plain == later); /* a step is a pure function */
    ck_assert(trained != next && trained != plain);
    ck_assert(trainer_fixture_score(&a.t) == trainer_fixture_score(&b.t)); /* to the bit */
    ck_assert_double_eq_tol(trainer_fixture_score(&b.t), plain, 1e-13);
    whole_close(&a);
    whole_close(&b);
}

START_TEST(each_dropout_of_a_network_acts)
{
    SharedOptions o = kind(_i);
    const double never = 1e-300; /* 0 would be another network than the one that was planned */
    Whole w;
    whole_open(&w, &o, plain_of(NUMBER_F64), &(Training){0});
    Dropout *drops[1 + 4 * 2] = {&w.model.embedding.drop};
    size_t count = 1;
    for (size_t i = 0; i < 2; i++) {
        drops[count++] = &w.model.stack.block[i].attention.drop;
        drops[count++] = &w.model.stack.block[i].branch1.drop;
        drops[count++] = &w.model.stack.block[i].branch2.drop;
        if (!o.experts) /* which have none inside */
            drops[count++] = &w.model.stack.block[i].ff.drop;
    }
    for (size_t i = 0; i < count; i++)
        drops[i]->rate = never;
    double none = trainer_fixture_step(&w.t, 1, 0).loss, seen[9];
    for (size_t i = 0; i < count; i++) {
        drops[i]->rate = 0.5;
        seen[i] = trainer_fixture_step(&w.t, 1, 0).loss;
        drops[i]->rate = never;
        ck_assert_msg(seen[i] != none, "dropout %zu does nothing", i);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(drops[i]->site != drops[j]->site, "dropouts %zu and %zu draw the same numbers", i, j);
    }
    whole_close(&w);
}

/* Norms after branches, too, get a bias; in `none` they get neither that nor a gain. */
static void give_norm_out(Whole *w, const double *gain, const double *bias)
{
    for (size_t i = 0; i < w->model.parameters.count; i++) {
        const Parameter *p = w->model.parameters.list[i];
        if (strstr(p->name, "_out.bias"))
            weights_set(&w->t.trainer.weights, w->t.trainer.worker[0].stream, p, bias);
        else if (gain && strstr(p->name, "_out.weight"))
            weights_set(&w->t.trainer.weights, w->t.trainer.worker[0].stream, p, gain);
    }
}

/* Each of two branches is there or not, for all micro-batches of a step alike: four losses, one of them that of a network
 * whose branches are zero. */
START_TEST(branches_are_dropped_as_a_whole_for_a_step)
{
    enum { STEPS = 30, MOST = 8 };
    SharedOptions o = small_options();
    o.norm = _i ? NORM_SANDWICH : NORM_PRE, o.depth = 1, o.branch_dropout = 0.5;
    double seen[MOST];
    size_t count = 0;
    Whole whole, parts, none;
    whole_open(&whole, &o, plain_of(NUMBER_F64), &(Training){0});
    whole_open(&parts, &o, plain_of(NUMBER_F64), &(Training){.workers = 2, .micro_rows = 2});
    o.branch_dropout = 1e-300; /* none; with 0 other numbers would be drawn */
    whole_open(&none, &o, plain_of(NUMBER_F64), &(Training){0});
    static double zeros[24 * 31], bias[24];
    for (size_t i = 0; i < 24; i++)
        bias[i] = (double)i / 24;
    for (size_t i = 0; i < none.model.parameters.count; i++) {
        const Parameter *p = none.model.parameters.list[i];
        if (p->residual)
            weights_set(&none.t.trainer.weights, none.t.trainer.worker[0].stream, p, zeros);
    }
    if (o.norm == NORM_SANDWICH)
        give_norm_out(&none, zeros, zeros), give_norm_out(&whole, NULL, bias), give_norm_out(&parts, NULL, bias);
    const double without = trainer_fixture_step(&none.t, 1, 0).loss;
    bool found = false;
    for (uint64_t step = 1; step <= STEPS; step++) {
        double loss = trainer_fixture_step(&whole.t, step, 0).loss;
        ck_assert_double_eq_tol(loss, trainer_fixture_step(&parts.t, step, 0).loss, 1e-13);
        size_t i = 0;
        while (i < count && fabs(seen[i] - loss) > 1e-12)
            i++;
        ck_assert_uint_lt(i, MOST);
        seen[i] = loss, count += i == count;
        found = found || fabs(loss - without) < 1e-12;
    }
    ck_assert_uint_eq(count, 4);
    ck_assert(found);
    whole_close(&whole);
    whole_close(&parts);
    whole_close(&none);
    Error e;
    Model m;
    o.depth = 2, o.branch_dropout = 0.5;
    ck_done(model_open(&m, &o, BYTES, &e), e);
    ck_assert(m.stack.block[0].branch1.drop_all.rate == 0.25); /* an early branch is dropped less */
    ck_assert(m.stack.block[1].branch2.drop_all.rate == 0.5);
    model_close(&m);
}

/* A weight or what a weight leads to is not finite: the step says so, changes nothing, and finds the culprit. */
static void check_nonfinite(const Kernels *k, const char *weight, double by, const char *culprit)
{
    SharedOptions o = kind(0);
    Whole w;
    Error e;
    whole_open(&w, &o, k, &(Training){.moving = true, .clip = 1, .workers = 2, .micro_rows = 2});
    trainer_fixture_step(&w.t, 1, 1e-3);
    const Parameter *p = parameters_find(&w.model.parameters, weight);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < p->count; i++)
        trainer_fixture_nudge(&w.t, p, i, by);
    size_t bytes = w.model.parameters.size * sizeof(double);
    const void *blocks[] = {w.t.trainer.weights.reals, w.t.trainer.optimizer.block[0], w.t.trainer.optimizer.block[1]};
    double *before[3];
    for (size_t i = 0; i < 3; i++)
        before[i] = trainer_fixture_reals(&w.t, blocks[i]);
    StepResult r = trainer_fixture_step(&w.t, 2, 1e-3);
    ck_assert(!r.finite);
    trainer_find_nonfinite(&w.t.trainer, 2, &e);
    ck_assert_msg(strstr(e.text, "step 2: not finite") && strstr(e.text, culprit), "%s %s: %s", k->backend,
                  number_type_name(k->type), e.text);
    for (size_t i = 0; i < 3; i++) {
        double *after = trainer_fixture_reals(&w.t, blocks[i]);
        ck_assert_msg(memcmp(before[i], after, bytes) == 0, "a step that was not finite changed block %zu", i);
        memory_free(before[i]);
        memory_free(after);
    }
    whole_close(&w);
}

START_TEST(a_step_that_is_not_finite_changes_nothing_and_names_the_culprit)
{
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++)
            check_nonfinite(backend_of((NumberType)type, i), "blocks.1.ff.in.weight", NAN,
                            "the weights blocks.1.ff.in.weight");
    for (int type = 0; type < NUMBER_F64; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++)
            check_nonfinite(backend_of((NumberType)type, i), "blocks.0.ff.in.weight", 3e38,
                            "the product with blocks.0.ff.in.weight");
}

/* What a walk over the longest rows planned must do for rows of any lengths. (Outgrowing it stops the process.) */
START_TEST(ragged_rows_never_need_more_than_the_longest_ones)
{
    enum { BATCHES = 40, MOST = 7 };
    SharedOptions o = kind(_i);
    for (int keep = 0; keep < 2; keep++) {
        Batch batches[BATCHES];
        Model m;
        Error e;
        TrainerFixture t;
        for (size_t i = 0; i < BATCHES; i++) {
            size_t of[MOST], rows = i ? 1 + (size_t)philox_below(MOST, 3, 0, i, 1) : MOST;
            for (size_t r = 0; r < MOST; r++)
                of[r] = i ? (size_t)philox_below(14, 3, 0, i * MOST + r, 2) : 13;
            of[0] = i % 2 ? 13 : of[0];
            batches[i] = random_batch(of, rows, (uint32_t)i);
        }
        ck_done(model_open(&m, &o, BYTES, &e), e);
        Network n = charlm_network(&m, 0);
        trainer_fixture_open(&t, plain_of(NUMBER_F32), &n, batches, BATCHES, &(Training){.keep = (Keep)keep});
        for (uint64_t step = 1; step <= BATCHES; step++)
            ck_assert(trainer_fixture_step(&t, step, 0).finite);
        trainer_fixture_close(&t);
        model_close(&m);
        for (size_t i = 0; i < BATCHES; i++)
            batch_close(&batches[i]);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(the_gradient_is_that_of_central_differences, KINDS),
        TEST_LOOP(any_split_over_micro_batches_and_workers_gives_the_same_gradient_and_step, KINDS),
        TEST_LOOP(the_same_run_twice_gives_the_same_bits, KINDS),
        TEST_LOOP(blocks_kept_and_computed_again_give_the_same_bits, KINDS),
        TEST_LOOP(rows_of_length_0_change_nothing, KINDS),
        TEST_LOOP(a_batch_with_nothing_to_score_has_loss_0_and_gradient_0, KINDS),
        TEST_LOOP(adam_with_moments_stays_finite_where_nothing_is_scored, KINDS),
        TEST_LOOP(dropout_acts_in_training_and_not_in_evaluation, KINDS),
        TEST_LOOP(each_dropout_of_a_network_acts, KINDS),
        TEST_LOOP(branches_are_dropped_as_a_whole_for_a_step, 2),
        TEST(a_step_that_is_not_finite_changes_nothing_and_names_the_culprit),
        TEST_LOOP(ragged_rows_never_need_more_than_the_longest_ones, KINDS),
    };
    return suite_run("nn/network", tests, sizeof tests / sizeof *tests, argc, argv);
}
