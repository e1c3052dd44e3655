/* Scores of attention: each against its formula in double, in a network against slopes, and which backend refuses which. */
#include "base/bf16.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/stack.h"
#include "core/program/network.h"
#include "core/tensor/operations.h"
#include "tests/nn/networks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCORES = 4, HEADS = 3, DK = 5, DV = 4, ROWS = 4, MOST = 40 };

/* ---- the formula */

static const int32_t queries[ROWS + 1] = {0, 3, 3, 4, 9}, keys[ROWS + 1] = {0, 6, 8, 8, 13};

typedef struct Values {
    double q[MOST][HEADS * DK], k[MOST][HEADS * DK], v[MOST][HEADS * DV];
    double query[HEADS * DK][DK], key[HEADS * DK][DK], out[HEADS][DK];
} Values;

static void draw(double *to, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        to[i] = 2 * philox_uniform(seed, 0, i, 3) - 1;
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < DK; i++)
        sum += a[i] * b[i];
    return sum;
}

static double score_of(const Values *x, Score score, size_t h, size_t i, size_t j)
{
    const double *q = x->q[i] + h * DK, *k = x->k[j] + h * DK;
    double sum = 0;
    switch (score) {
    case SCORE_DOT: return dot(q, k);
    case SCORE_SCALED_DOT: return dot(q, k) / sqrt(DK);
    case SCORE_BILINEAR:
        for (size_t c = 0; c < DK; c++)
            sum += dot(x->query[h * DK + c], q) * k[c];
        return sum;
    case SCORE_ADDITIVE:
        for (size_t c = 0; c < DK; c++)
            sum += x->out[h][c] * tanh(dot(x->query[h * DK + c], q) + dot(x->key[h * DK + c], k));
        return sum;
    }
    return NAN;
}

/* y [queries, H*dv]; every query sees all keys of its row. */
static void attend_directly(const Values *x, Score score, double y[MOST][HEADS * DV])
{
    memset(y, 0, MOST * sizeof *y);
    for (size_t b = 0; b < ROWS; b++)
        for (int32_t i = queries[b]; i < queries[b + 1]; i++)
            for (size_t h = 0; h < HEADS; h++) {
                double sum = 0;
                for (int32_t j = keys[b]; j < keys[b + 1]; j++)
                    sum += exp(score_of(x, score, h, (size_t)i, (size_t)j));
                for (int32_t j = keys[b]; j < keys[b + 1]; j++)
                    for (size_t c = h * DV; c < (h + 1) * DV; c++)
                        y[i][c] += exp(score_of(x, score, h, (size_t)i, (size_t)j)) / sum * x->v[j][c];
            }
}

/* A tensor of the backend's numbers: those of `values`, which bf16 rounds. */
static Tensor *tensor_of(Tape *t, const double *values, size_t rows, size_t columns)
{
    Tensor *x = tape_tensor(t, rows, columns, false, false);
    float *floats = memory_get(rows * columns, sizeof *floats);
    void *real = t->k->allocate(rows * columns * sizeof *floats);
    ck_assert(floats && real);
    for (size_t i = 0; i < rows * columns; i++)
        floats[i] = (float)values[i];
    if (t->k->type == NUMBER_F64) {
        t->k->upload(t->stream, x->data, values, rows * columns * sizeof *values);
    } else {
        t->k->upload(t->stream, real, floats, rows * columns * sizeof *floats);
        t->k->convert(t->stream, x->data, real, rows * columns);
    }
    t->k->release(real);
    memory_free(floats);
    return x;
}

static void set(Weights *w, Stream *s, const Linear *l, const double *values)
{
    float floats[HEADS * DK * DK];
    if (!l->weight)
        return;
    for (size_t i = 0; i < l->weight->count; i++)
        floats[i] = (float)values[i];
    weights_set(w, s, l->weight, w->k->type == NUMBER_F64 ? (const void *)values : floats);
}

static void check_formula(Score score, const Kernels *k, double rounding)
{
    static Values x;
    static double wanted[MOST][HEADS * DV];
    const Rows of_queries = {.positions = 9, .rows = ROWS, .longest = 5, .start = queries};
    const Rows of_keys = {.positions = 13, .rows = ROWS, .longest = 6, .start = keys};
    Attend how = attend_across(&of_queries, &of_keys);
    Parameters p = {0};
    Weights w;
    Stream *s;
    Tape t;
    Error e;
    how.heads = HEADS, how.key_size = DK, how.value_size = DV, how.scale = score_scale(score, DK);
    draw(&x.q[0][0], sizeof x / sizeof(double), 4);
    attend_directly(&x, score, wanted);

    ck_assert(k->on_host); /* starts are where they are */
    Scoring scoring = scoring_new(
        &p, &(ScoringOptions){.score = score, .heads = HEADS, .kv_heads = HEADS, .key_size = DK, .value_size = DV},
        "attention");
    ck_done(parameters_finish(&p, &e) && k->open(&s, 1, &e) && weights_open(&w, k, s, &p, &e) &&
                tape_open(&t, k, s, &w, &(TapePlan){1 << 20, 0, 1 << 16}, &e),
            e);
    set(&w, s, &scoring.query, &x.query[0][0]);
    set(&w, s, &scoring.key, &x.key[0][0]);
    set(&w, s, &scoring.out, &x.out[0][0]);
    Tensor *y = attend_composed(&t, &scoring, tensor_of(&t, &x.q[0][0], 9, HEADS * DK),
                                tensor_of(&t, &x.k[0][0], 13, HEADS * DK), tensor_of(&t, &x.v[0][0], 13, HEADS * DV),
                                &how, NULL);
    void *found = t.k->allocate(y->rows * y->columns * sizeof(double));
    const float *floats = found;
    const double *doubles = found;
    const Bf16 *halves = found;
    k->download(s, found, y->data, y->rows * y->columns * k->number);
    for (size_t i = 0; i < y->rows * y->columns; i++) {
        double one = k->type == NUMBER_F64   ? doubles[i]
                     : k->type == NUMBER_F32 ? (double)floats[i]
                                             : (double)bf16_to_float(halves[i]);
        ck_assert_msg(fabs(one - wanted[i / y->columns][i % y->columns]) <= rounding, "%s %s %s: %g, not %g",
                      k->backend, number_type_name(k->type), score_name(score), one,
                      wanted[i / y->columns][i % y->columns]);
    }
    k->release(found);
    tape_close(&t);
    weights_close(&w);
    k->close(s);
    parameters_close(&p);
}

START_TEST(attention_is_that_of_the_formula)
{
    static const double rounding[] = {[NUMBER_F32] = 1e-5, [NUMBER_BF16] = 0.03, [NUMBER_F64] = 1e-14};
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++)
            check_formula((Score)_i, backend_of((NumberType)type, i), rounding[type]);
}

/* ---- in a network */

static const size_t lengths[] = {5, 0, 1, 12, 3};

typedef struct Whole {
    Model model;
    Batch batch;
    TrainerFixture t;
} Whole;

static void whole_open(Whole *w, int score, bool composed, const Kernels *k)
{
    Error e;
    SharedOptions o = small_options();
    o.kv_heads = 1; /* of 3 */
    o.score = score, o.attention = composed, o.activation = ACTIVATION_GELU, o.attention_dropout = 0.1;
    ck_done(model_open(&w->model, &o, BYTES, &e), e);
    w->batch = random_batch(lengths, 5, 11);
    Network n = charlm_network(&w->model, 0);
    trainer_fixture_open(&w->t, k, &n, &w->batch, 1, &(Training){.micro_rows = 3});
    trainer_fixture_draw(&w->t, 5);
}

static void whole_close(Whole *w)
{
    trainer_fixture_close(&w->t);
    batch_close(&w->batch);
    model_close(&w->model);
}

static double *gradient_of(int score, bool composed, const Kernels *k, size_t *size)
{
    Whole w;
    whole_open(&w, score, composed, k);
    trainer_fixture_step(&w.t, 1, 0);
    double *gradient = trainer_fixture_gradient(&w.t);
    *size = w.model.parameters.size;
    whole_close(&w);
    return gradient;
}

/* Of what a score reads: its own parameters, and what queries and keys are made of. */
START_TEST(the_gradient_is_that_of_central_differences)
{
    const double h = 1e-5;
    Whole w;
    whole_open(&w, _i, true, plain_of(NUMBER_F64));
    trainer_fixture_step(&w.t, 1, 0);
    double *gradient = trainer_fixture_gradient(&w.t);
    size_t own = 0;
    for (size_t i = 0; i < w.model.parameters.count; i++) {
        const Parameter *one = w.model.parameters.list[i];
        bool scores = strstr(one->name, ".score.") != NULL;
        if (one->role == ROLE_CONSTANT || !(scores || strstr(one->name, "query") || strstr(one->name, "key.weight")))
            continue;
        double largest = largest_difference(gradient + one->offset, NULL, one->count);
        ck_assert_msg(largest > 0, "%s has no gradient", one->name);
        own += scores;
        for (uint64_t n = 0; n < 6; n++) {
            size_t j = (size_t)philox_below(one->count, 7, (uint32_t)_i, n, (uint32_t)i);
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
    ck_assert_uint_eq(own, _i == SCORE_ADDITIVE ? 6 : _i == SCORE_BILINEAR ? 2 : 0); /* two blocks */
    memory_free(gradient);
    whole_close(&w);
}

START_TEST(backends_and_types_agree)
{
    size_t size;
    double *f64 = gradient_of(_i, true, plain_of(NUMBER_F64), &size);
    for (int type = NUMBER_F32; type <= NUMBER_BF16; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            double *one = gradient_of(_i, true, backend_of((NumberType)type, i), &size);
            double far = distance(one, f64, size) / distance(f64, NULL, size);
            ck_assert_msg(far <= (type == NUMBER_BF16 ? 0.05 : 1e-5), "%s %s: off by %g",
                          backend_of((NumberType)type, i)->backend, number_type_name((NumberType)type), far);
            memory_free(one);
        }
    memory_free(f64);
}

START_TEST(fused_attention_knows_both_dot_products)
{
    size_t size;
    double *fused = gradient_of(_i, false, plain_of(NUMBER_F64), &size);
    double *composed = gradient_of(_i, true, plain_of(NUMBER_F64), &size);
    ck_assert_double_gt(distance(fused, NULL, size), 0);
    ck_assert_double_le(largest_difference(fused, composed, size), 1e-13);
    memory_free(fused);
    memory_free(composed);
}

/* ---- from block to block */

START_TEST(a_stack_begins_without_the_scores_that_another_has_left)
{
    enum { POSITIONS = 9, DIM = 6 };
    static const int32_t start[] = {0, 4, POSITIONS}, position[POSITIONS] = {0, 1, 2, 3, 0, 1, 2, 3, 4};
    const Rows rows = {.positions = POSITIONS, .rows = 2, .longest = 5, .start = start, .position = position};
    const AttentionContext context = context_rows(&rows, true);
    const Kernels *k = plain_of(NUMBER_F64);
    StackOptions o = {.block = {.attention = {DIM, 2, 3, 3, .composed = true}, .ff = 8},
                      .depth = 2,
                      .residual_scores = true,
                      .blocks = "first",
                      .norm = "first.norm"};
    double values[POSITIONS * DIM];
    Parameters p = {0};
    Stack first = stack_new(&p, &o), second = (o.blocks = "second", stack_new(&p, &o));
    Weights w;
    Stream *s;
    Tape t;
    Error e;
    draw(values, POSITIONS * DIM, 4);
    ck_done(parameters_finish(&p, &e) && k->open(&s, 1, &e) && weights_open(&w, k, s, &p, &e) &&
                weights_init(&w, s, INIT_PYTORCH, 2, 1, &e) &&
                tape_open(&t, k, s, &w, &(TapePlan){1 << 20, 0, 1 << 16}, &e),
            e);
    Tensor *x = stack(&t, &first, tensor_of(&t, values, POSITIONS, DIM), NULL, &context);
    ck_assert_ptr_nonnull(x->beside);
    const Tensor *y = stack(&t, &second, x, NULL, &context), *z = stack(&t, &second, concat(&t, &x, 1), NULL, &context);
    ck_assert_mem_eq(y->data, z->data, sizeof values);
    tape_close(&t);
    weights_close(&w);
    k->close(s);
    stack_close(&first);
    stack_close(&second);
    parameters_close(&p);
}

/* ---- which go together, and what they begin with */

START_TEST(only_a_dot_product_goes_with_fused_attention)
{
    SharedOptions o = small_options();
    Error e;
    for (o.score = 0; o.score < SCORES; o.score++) {
        o.attention = 0;
        ck_assert(network_suits(&o, &e) == score_is_dot((Score)o.score));
        ck_assert(score_is_dot((Score)o.score) ||
                  (strstr(e.text, score_name((Score)o.score)) && strstr(e.text, "--attention composed")));
        o.attention = 1;
        ck_done(network_suits(&o, &e), e);
    }
}

START_TEST(what_does_not_go_together_is_refused)
{
    static const struct {
        SharedOptions o;
        const char *words;
    } cases[] = {{{.dim = 8, .heads = 3}, "--heads 3"},
                 {{.dim = 8, .heads = 4, .kv_heads = 3}, "--kv-heads 3"},
                 {{.dim = 8, .heads = 4, .kv_heads = 8}, "--kv-heads 8"},
                 {{.dim = 8, .heads = 4, .kv_heads = 2, .device = DEVICE_MINE}, "--device mine"},
                 {{.dim = 8, .heads = 4, .norm_kind = NORM_RMS, .device = DEVICE_MINE}, NULL},
                 {{.dim = 9, .heads = 3, .positions = POSITIONS_ROTARY}, "--positions rotary"},
                 {{.dim = 8, .heads = 4, .rotary_share = 0.5}, "--positions rotary"},
                 {{.dim = 8, .heads = 4, .positions = POSITIONS_ROTARY}, NULL},
                 {{.dim = 8, .heads = 4, .window_pattern = "SSL"}, "--window-pattern"},
                 {{.dim = 8, .heads = 4, .window = 3, .window_pattern = "SML"}, "--window-pattern"},
                 {{.dim = 8, .heads = 4, .window = 3, .window_pattern = ""}, "--window-pattern"},
                 {{.dim = 8, .heads = 4, .window = 3, .window_pattern = "SSL"}, NULL},
                 {{.dim = 8, .heads = 4, .qk_norm_kind = 1}, "--qk-norm"},
                 {{.dim = 8, .heads = 4, .residual_scores = true}, "--residual-scores"},
                 {{.dim = 8, .heads = 4, .depth = 1000, .skip = SKIP_UNET}, "--skip unet"},
                 {{.dim = 8, .heads = 4, .depth = 300, .loops = 4, .skip = SKIP_UNET}, "--skip unet"},
                 {{.dim = 8, .heads = 4, .depth = 300, .loops = 3, .skip = SKIP_UNET}, NULL},
                 {{.dim = 8, .heads = 4, .qk_norm_kind = 1, .qk_norm = true}, NULL},
                 {{.dim = 8, .heads = 4, .norm = NORM_PARALLEL, .macaron = true}, "--macaron"},
                 {{.dim = 8, .heads = 4, .device = DEVICE_MINE}, NULL},
                 {{.dim = 8, .heads = 4, .score_cap = 5, .device = DEVICE_MINE}, "--device mine"},
                 {{.dim = 8, .heads = 4, .sinks = 2}, "--sinks 2"},
                 {{.dim = 8, .heads = 4, .sinks = 2, .window = 3}, NULL},
                 {{.dim = 8, .heads = 4, .stride = 2}, "--sparse"},
                 {{.dim = 8, .heads = 4, .sparse = PATTERN_FIXED, .stride = 6, .sparse_block = 4}, "--stride 6"},
                 {{.dim = 8, .heads = 4, .sparse = PATTERN_FIXED, .sparse_block = 4, .window_pattern = "SL"}, NULL},
                 {{.dim = 8, .heads = 4, .talking_heads = true}, "--talking-heads"},
                 {{.dim = 8, .heads = 4, .top_keys = 2}, "--top-keys"},
                 {{.dim = 8, .heads = 4, .sigmoid_attention = true}, "--sigmoid-attention"},
                 {{.dim = 8, .heads = 4, .memory_keys = 2}, "--memory-keys"},
                 {{.dim = 8, .heads = 4, .memory_keys = 2, .attention = 1, .score = SCORE_ADDITIVE}, "dot products"},
                 {{.dim = 8, .heads = 4, .top_keys = 2, .attention = ATTENTION_COMPOSED}, NULL},
                 {{.dim = 8, .heads = 4, .sink_score = true, .attention = ATTENTION_COMPOSED}, "--sink-score"},
                 {{.dim = 8, .heads = 4, .alibi_heads = 2}, "--distances alibi"},
                 {{.dim = 8, .heads = 4, .distances = DISTANCE_ALIBI, .alibi_heads = 5}, "--alibi-heads 5"},
                 {{.dim = 8, .heads = 4, .distances = DISTANCE_ALIBI, .alibi_heads = 2}, NULL},
                 {{.dim = 8, .heads = 4, .ngram_rows = 9}, "--ngrams"},
                 {{.dim = 8, .heads = 4, .ngram_dropout = 0.1}, "--ngrams"},
                 {{.dim = 8, .heads = 4, .ngrams = 3, .context = 8, .memory = 2}, "--memory does not support --ngrams"},
                 {{.dim = 8, .heads = 4, .span_loss = 1}, "--adaptive-span"},
                 {{.dim = 8, .heads = 4, .adaptive_span = 9, .score_cap = 5}, "--score-cap"},
                 {{.dim = 8, .heads = 4, .adaptive_span = 9, .attention = ATTENTION_COMPOSED}, "--adaptive-span"},
                 {{.dim = 8, .heads = 4, .adaptive_span = 9, .attention = ATTENTION_COMPOSED, .memory_keys = 2},
                  "give --adaptive-span 0 or leave out --memory-keys"},
                 {{.dim = 8, .heads = 4, .distances = DISTANCE_T5, .attention = ATTENTION_COMPOSED, .top_keys = 2},
                  "give --distances none or leave out --top-keys"},
                 {{.dim = 8, .heads = 4, .sink_score = true, .attention = ATTENTION_COMPOSED, .residual_scores = true},
                  "leave out --sink-score or leave out --residual-scores"},
                 {{.dim = 8, .heads = 4, .sink_score = true, .attention = ATTENTION_COMPOSED, .score = SCORE_ADDITIVE},
                  "leave out --sink-score or leave out --score additive"},
                 {{.dim = 8, .heads = 4, .kv_heads = 4, .norm_kind = NORM_RMS, .bias_free = true}, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error e = {.text = ""};
        bool suits = network_suits(&cases[i].o, &e);
        ck_assert_msg(cases[i].words ? !suits && strstr(e.text, cases[i].words) : suits, "%zu: %s", i, e.text);
    }
}

START_TEST(parameters_of_a_score_are_named_and_drawn_as_linear_maps)
{
    static const char *const names[] = {"query", "key", "out"};
    SharedOptions o = small_options();
    Model m;
    Error e;
    o.attention = 1, o.score = SCORE_ADDITIVE;
    ck_done(model_open(&m, &o, BYTES, &e), e);
    const Kernels *k = plain_of(NUMBER_F64);
    Stream *s;
    Weights w;
    ck_done(k->open(&s, 1, &e) && weights_open(&w, k, s, &m.parameters, &e) &&
                weights_init(&w, s, INIT_PYTORCH, 2, 1, &e),
            e);
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "blocks.1.attention.score.%s.weight", names[i]);
        const Parameter *p = parameters_find(&m.parameters, name);
        double values[24 * 8], largest;
        ck_assert_msg(p && p->role == ROLE_WEIGHT && p->rank == 2, "%s", name);
        ck_assert(p->shape[0] == (i < 2 ? 24 : 3) && p->shape[1] == 8);
        weights_get(&w, s, p, values);
        largest = largest_difference(values, NULL, p->count);
        ck_assert_msg(largest > 0.8 / sqrt(8) && largest <= 1 / sqrt(8), "%s: %g", name, largest);
    }
    weights_close(&w);
    k->close(s);
    model_close(&m);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(attention_is_that_of_the_formula, SCORES),
        TEST_LOOP(the_gradient_is_that_of_central_differences, SCORES),
        TEST_LOOP(backends_and_types_agree, SCORES),
        TEST_LOOP(fused_attention_knows_both_dot_products, 2),
        TEST(a_stack_begins_without_the_scores_that_another_has_left),
        TEST(only_a_dot_product_goes_with_fused_attention),
        TEST(what_does_not_go_together_is_refused),
        TEST(parameters_of_a_score_are_named_and_drawn_as_linear_maps),
    };
    return suite_run("nn/scores", tests, sizeof tests / sizeof *tests, argc, argv);
}
