/* What a network begins with: how many parameters, how they are laid out, and how their first values are drawn. */
#include "base/memory.h"
#include "charlm/options.h"
#include "core/nn/embedding.h"
#include "tests/nn/networks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- how many */

static size_t preset_numbers(const char *preset)
{
    CharlmOptions v;
    Options o;
    Model m;
    Error e;
    char *line[] = {"charlm", "info", "--preset", (char *)preset};
    const OptionTable tables[] = {{shared_options, shared_option_count, &v.shared},
                                  {charlm_options, charlm_option_count, &v}};
    static const Command info = {"info", COMMAND_INFO, NULL, "", NULL};
    Program program = charlm_program;
    program.commands = &info, program.command_count = 1;
    ck_done(options_open(&o, &program, tables, 2, &e) && options_parse(&o, 4, line, &e), e);
    ck_done(model_open(&m, &v.shared, BYTES, &e), e);
    size_t numbers = m.parameters.numbers;
    model_close(&m);
    options_close(&o);
    return numbers;
}

START_TEST(preset_former_has_9664768_parameters) { ck_assert_uint_eq(preset_numbers("former"), 9664768); }
START_TEST(preset_former_wide_has_31684864_parameters) { ck_assert_uint_eq(preset_numbers("former-wide"), 31684864); }

START_TEST(a_width_that_heads_cannot_share_is_refused)
{
    SharedOptions o = small_options();
    Model m;
    Error e;
    o.dim = 25;
    ck_assert(!model_open(&m, &o, BYTES, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "--head-size"));
}

static bool build(void *argument, Error *e)
{
    Model m;
    if (!model_open(&m, argument, BYTES, e))
        return false;
    model_close(&m);
    return true;
}

START_TEST(a_model_without_memory_is_an_error_and_leaves_nothing)
{
    SharedOptions o = small_options();
    fail_each_allocation(build, &o);
}

/* ---- what two embeddings share */

/* Positions of its own, unless both want sinusoids and the first one's go as far. */
START_TEST(an_embedding_shares_a_table_and_only_equal_sinusoids)
{
    static const struct {
        Positions first, second;
        size_t context; /* of the second; the first has 8 */
        bool shared;
    } cases[] = {{POSITIONS_SINUSOID, POSITIONS_SINUSOID, 8, true},  {POSITIONS_SINUSOID, POSITIONS_SINUSOID, 5, true},
                 {POSITIONS_SINUSOID, POSITIONS_SINUSOID, 9, false}, {POSITIONS_LEARNED, POSITIONS_SINUSOID, 8, false},
                 {POSITIONS_SINUSOID, POSITIONS_LEARNED, 8, false},  {POSITIONS_LEARNED, POSITIONS_LEARNED, 8, false},
                 {POSITIONS_SINUSOID, POSITIONS_NONE, 8, false},     {POSITIONS_NONE, POSITIONS_SINUSOID, 8, false}};
    Parameters p = {0};
    EmbeddingOptions o = {.vocabulary = 3, .context = 8, .dim = 4, .positions = cases[_i].first, .scale = 1};
    Embedding first = embedding_new(&p, &o, "first", "first_positions");
    o.positions = cases[_i].second, o.context = cases[_i].context, o.shared = &first;
    Embedding second = embedding_new(&p, &o, "second", "second_positions");
    ck_assert_ptr_eq(second.table, first.table);
    ck_assert(!second.positions == (cases[_i].second == POSITIONS_NONE));
    if (second.positions) {
        ck_assert(second.positions->role == (cases[_i].second == POSITIONS_LEARNED ? ROLE_TABLE : ROLE_CONSTANT));
        ck_assert((second.positions == first.positions) == cases[_i].shared);
    }
    parameters_close(&p);
}

/* ---- how they are drawn */

enum { DEPTH = 3 };

typedef struct Fresh {
    Model model;
    Stream *stream;
    Weights weights;
} Fresh;

static void fresh_open(Fresh *f, const SharedOptions *o, const Kernels *k, Init init, uint32_t seed)
{
    Error e;
    ck_done(model_open(&f->model, o, BYTES, &e) && k->open(&f->stream, 1, &e) &&
                weights_open(&f->weights, k, f->stream, &f->model.parameters, &e) &&
                weights_init(&f->weights, f->stream, init, o->depth, seed, &e),
            e);
}

static void fresh_close(Fresh *f)
{
    const Kernels *k = f->weights.k;
    weights_close(&f->weights);
    k->close(f->stream);
    model_close(&f->model);
}

static const Parameter *named(const Fresh *f, const char *name)
{
    const Parameter *p = parameters_find(&f->model.parameters, name);
    ck_assert_msg(p, "there is no parameter %s", name);
    return p;
}

static double *values_of(const Fresh *f, const Parameter *p)
{
    double *values = memory_get(p->count, sizeof *values);
    ck_assert_ptr_nonnull(values);
    weights_get(&f->weights, f->stream, p, values); /* f64 */
    return values;
}

/* Mean and variance within five deviations of what a sample of that size has; the fourth moment tells a uniform
 * distribution (1.8) from a normal one (3); and a uniform one keeps to its bounds and comes near them. */
static void check_drawn(const Fresh *f, const Parameter *p, bool normal, double deviation)
{
    double *x = values_of(f, p), n = (double)p->count, mean = 0, square = 0, fourth = 0, largest = 0;
    double kurtosis = normal ? 3 : 1.8;
    for (size_t i = 0; i < p->count; i++) {
        double one = x[i] / deviation;
        mean += one / n, square += one * one / n, fourth += one * one * one * one / n;
        largest = fabs(one) > largest ? fabs(one) : largest;
    }
    ck_assert_msg(fabs(mean) < 5 / sqrt(n), "%s: the mean is %g deviations of %g", p->name, mean, deviation);
    ck_assert_msg(fabs(square - 1) < 5 * sqrt((kurtosis - 1) / n), "%s: the variance is %g times that of %g", p->name,
                  square, deviation);
    if (p->count > 500)
        ck_assert_msg(fabs(fourth - kurtosis) < 0.6, "%s: the fourth moment is %g, not %g", p->name, fourth, kurtosis);
    if (!normal)
        ck_assert_msg(largest < sqrt(3) && largest > sqrt(3) * (1 - 12 / n), "%s: the largest is %g deviations",
                      p->name, largest);
    memory_free(x);
}

static void check_all(const Fresh *f, const Parameter *p, double value)
{
    double *x = values_of(f, p);
    for (size_t i = 0; i < p->count; i++)
        ck_assert_msg(x[i] == value, "%s[%zu] is %g, not %g", p->name, i, x[i], value);
    memory_free(x);
}

static SharedOptions drawn_options(void)
{
    SharedOptions o = small_options();
    o.dim = 48, o.ff = 100, o.depth = DEPTH, o.context = 40, o.norm = NORM_PRE;
    return o;
}

static double uniform_deviation(double bound) { return bound / sqrt(3); }

START_TEST(init_pytorch_draws_as_pytorch_does)
{
    SharedOptions o = drawn_options();
    Fresh f;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    check_drawn(&f, named(&f, "token_embedding.weight"), true, 1);
    check_drawn(&f, named(&f, "position_embedding.weight"), true, 1);
    check_drawn(&f, named(&f, "blocks.0.attention.query.weight"), false, uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.0.attention.value.bias"), false, uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.1.attention.out.weight"), false, uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.1.ff.in.bias"), false, uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.2.ff.out.weight"), false, uniform_deviation(1 / sqrt(100)));
    check_drawn(&f, named(&f, "blocks.2.ff.out.bias"), false, uniform_deviation(1 / sqrt(100)));
    check_drawn(&f, named(&f, "logits.weight"), false, uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "logits.bias"), false, uniform_deviation(1 / sqrt(48)));
    check_all(&f, named(&f, "blocks.0.norm1.weight"), 1);
    check_all(&f, named(&f, "norm.bias"), 0);
    fresh_close(&f);
}

START_TEST(init_gpt2_scales_what_ends_a_branch)
{
    SharedOptions o = drawn_options();
    Fresh f;
    o.norm_kind = NORM_RMS;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_GPT2, 1);
    check_drawn(&f, named(&f, "token_embedding.weight"), true, 0.02);
    check_drawn(&f, named(&f, "position_embedding.weight"), true, 0.02);
    check_drawn(&f, named(&f, "blocks.0.attention.key.weight"), true, 0.02);
    check_drawn(&f, named(&f, "blocks.0.attention.out.weight"), true, 0.02 / sqrt(2 * DEPTH));
    check_drawn(&f, named(&f, "blocks.2.ff.in.weight"), true, 0.02);
    check_drawn(&f, named(&f, "blocks.2.ff.out.weight"), true, 0.02 / sqrt(2 * DEPTH));
    check_drawn(&f, named(&f, "logits.weight"), true, 0.02);
    check_all(&f, named(&f, "blocks.0.attention.query.bias"), 0);
    check_all(&f, named(&f, "blocks.0.ff.in.bias"), 0);
    check_all(&f, named(&f, "blocks.0.norm2.weight"), 1);
    ck_assert_ptr_null(parameters_find(&f.model.parameters, "blocks.0.norm2.bias")); /* which RMSNorm has not */
    fresh_close(&f);
}

/* Wang et al. 2022, Table 1, for one stack: of 3 blocks. */
START_TEST(deepnorm_draws_all_but_queries_and_keys_smaller)
{
    SharedOptions o = drawn_options();
    const double beta = pow(8 * DEPTH, -0.25);
    Fresh f;
    o.norm = NORM_DEEP, o.norm_kind = NORM_TANH, o.gate = o.qk_norm = true, o.qk_norm_kind = 1;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    check_drawn(&f, named(&f, "blocks.0.attention.query.weight"), false, uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.1.attention.key.weight"), false, uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.0.attention.value.weight"), false, beta * uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.1.attention.out.weight"), false, beta * uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.0.ff.in.weight"), false, beta * uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.2.ff.gate.weight"), false, beta * uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.2.ff.out.weight"), false, beta * uniform_deviation(1 / sqrt(100)));
    check_drawn(&f, named(&f, "blocks.2.ff.out.bias"), false, uniform_deviation(1 / sqrt(100)));
    check_all(&f, named(&f, "blocks.0.norm1.alpha"), 0.5);
    check_all(&f, named(&f, "blocks.0.attention.cosine_scale"), 10);
    check_all(&f, named(&f, "blocks.0.norm1.weight"), 1);
    ck_assert_ptr_null(parameters_find(&f.model.parameters, "norm.weight")); /* which ends as post-norm does */
    fresh_close(&f);
    o.experts = 2, o.chosen_experts = 1;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    check_drawn(&f, named(&f, "blocks.0.ff.experts.1.in.weight"), false, beta * uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.2.ff.experts.0.gate.weight"), false, beta * uniform_deviation(1 / sqrt(48)));
    check_drawn(&f, named(&f, "blocks.1.ff.experts.1.out.weight"), false, beta * uniform_deviation(1 / sqrt(100)));
    fresh_close(&f);
}

static bool same_values(const Fresh *f, const Fresh *g, const char *name)
{
    const Parameter *p = named(f, name);
    ck_assert_uint_eq(p->count, named(g, name)->count);
    double *a = values_of(f, p), *b = values_of(g, named(g, name));
    bool same = memcmp(a, b, p->count * sizeof *a) == 0;
    memory_free(a);
    memory_free(b);
    return same;
}

START_TEST(branches_begin_smaller_or_at_zero)
{
    static const char *const ends[] = {"blocks.2.attention.out.weight", "blocks.0.ff.out.bias"};
    SharedOptions o = drawn_options(), as_drawn = o;
    o.branch_init = _i ? BRANCH_ZERO : BRANCH_SCALED;
    Fresh f, same;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    fresh_open(&same, &as_drawn, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    ck_assert(same_values(&f, &same, "blocks.2.attention.value.weight"));
    ck_assert(same_values(&f, &same, "blocks.0.ff.in.bias"));
    for (size_t i = 0; i < 2; i++) {
        double *found = values_of(&f, named(&f, ends[i])), *drawn = values_of(&same, named(&same, ends[i]));
        for (size_t j = 0; j < named(&f, ends[i])->count; j++)
            ck_assert_double_eq_tol(found[j], _i ? 0 : drawn[j] / sqrt(2 * DEPTH), 1e-15);
        memory_free(found);
        memory_free(drawn);
    }
    fresh_close(&f);
    fresh_close(&same);
    o.branch_init = BRANCH_SCALED;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_GPT2, 1);
    check_drawn(&f, named(&f, ends[0]), true, 0.02 / sqrt(2 * DEPTH)); /* once */
    fresh_close(&f);
    o.experts = 2, o.chosen_experts = 1;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_GPT2, 1);
    check_drawn(&f, named(&f, "blocks.0.ff.experts.1.in.weight"), true, 0.02);
    check_drawn(&f, named(&f, "blocks.0.ff.experts.1.out.weight"), true, 0.02 / sqrt(2 * DEPTH));
    fresh_close(&f);
}

/* A skip changes nothing at first; values are the mean of two blocks'. */
START_TEST(sums_of_blocks_begin_with_their_weights)
{
    static const struct {
        const char *name;
        double value;
    } cases[] = {{"blocks.1.skip.own", 1},
                 {"blocks.1.skip.other", 0},
                 {"blocks.2.attention.value_blend.own", 0.5},
                 {"blocks.2.attention.value_blend.other", 0.5}};
    SharedOptions o = drawn_options();
    Fresh f;
    o.skip = SKIP_X0, o.value_residual = true;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_all(&f, named(&f, cases[i].name), cases[i].value);
    fresh_close(&f);
}

START_TEST(init_xavier_balances_inputs_and_outputs)
{
    SharedOptions o = drawn_options();
    Fresh f;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_XAVIER, 1);
    check_drawn(&f, named(&f, "token_embedding.weight"), true, 1 / sqrt(48));
    check_drawn(&f, named(&f, "blocks.0.attention.value.weight"), false, sqrt(2.0 / (48 + 48)));
    check_drawn(&f, named(&f, "blocks.0.ff.in.weight"), false, sqrt(2.0 / (48 + 100)));
    check_drawn(&f, named(&f, "blocks.0.ff.out.weight"), false, sqrt(2.0 / (48 + 100)));
    check_drawn(&f, named(&f, "logits.weight"), false, sqrt(2.0 / (48 + 256)));
    check_all(&f, named(&f, "logits.bias"), 0);
    check_all(&f, named(&f, "blocks.0.norm2.bias"), 0);
    fresh_close(&f);
}

/* Five deviations of the correlation of two samples that have nothing to do with each other. */
START_TEST(no_two_parameters_begin_alike)
{
    SharedOptions o = drawn_options();
    Fresh f;
    fresh_open(&f, &o, plain_of(NUMBER_F64), (Init)_i, 1);
    const Parameters *p = &f.model.parameters;
    for (size_t i = 0; i < p->count; i++)
        for (size_t j = 0; j < i; j++) {
            if (p->list[i]->rank != 2 || p->list[j]->rank != 2)
                continue;
            double *a = values_of(&f, p->list[i]), *b = values_of(&f, p->list[j]), both = 0, aa = 0, bb = 0;
            size_t n = p->list[i]->count < p->list[j]->count ? p->list[i]->count : p->list[j]->count;
            for (size_t m = 0; m < n; m++)
                both += a[m] * b[m], aa += a[m] * a[m], bb += b[m] * b[m];
            ck_assert_msg(fabs(both) < 5 * sqrt(aa * bb / (double)n), "%s and %s begin alike", p->list[i]->name,
                          p->list[j]->name);
            memory_free(a);
            memory_free(b);
        }
    fresh_close(&f);
}

START_TEST(what_a_parameter_begins_with_does_not_depend_on_the_sizes_of_others)
{
    SharedOptions o = drawn_options(), other = o;
    Fresh f, g, h;
    other.ff = 37, other.context = 11, other.depth = DEPTH + 1, other.heads = 5, other.head_size = 9;
    fresh_open(&f, &o, plain_of(NUMBER_F64), (Init)_i, 1);
    fresh_open(&g, &other, plain_of(NUMBER_F64), (Init)_i, 1);
    fresh_open(&h, &o, plain_of(NUMBER_F64), (Init)_i, 2);
    ck_assert(same_values(&f, &g, "token_embedding.weight"));
    ck_assert(same_values(&f, &g, "blocks.0.norm1.bias"));
    if (_i != INIT_GPT2)
        ck_assert(same_values(&f, &g, "blocks.1.ff.out.bias") == (_i == INIT_XAVIER)); /* its bound is that of ff */
    ck_assert(!same_values(&f, &h, "token_embedding.weight"));                         /* but on the seed */
    ck_assert(!same_values(&f, &h, "blocks.2.attention.query.weight"));
    fresh_close(&f);
    fresh_close(&g);
    fresh_close(&h);
}

START_TEST(a_deeper_model_begins_with_all_that_the_shallower_one_has)
{
    SharedOptions o = drawn_options(), deeper = o;
    Fresh f, g;
    deeper.depth = DEPTH + 2;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    fresh_open(&g, &deeper, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    for (size_t i = 0; i < f.model.parameters.count; i++)
        ck_assert_msg(same_values(&f, &g, f.model.parameters.list[i]->name), "%s differs",
                      f.model.parameters.list[i]->name);
    fresh_close(&f);
    fresh_close(&g);
}

/* f32 and bf16 have the values of f64, rounded; and the numbers that products read are the reals. */
START_TEST(each_precision_begins_with_the_same_values)
{
    SharedOptions o = drawn_options();
    Fresh f, g;
    fresh_open(&f, &o, plain_of(NUMBER_F64), INIT_PYTORCH, 1);
    for (int type = 0; type < NUMBER_F64; type++) {
        fresh_open(&g, &o, plain_of((NumberType)type), INIT_PYTORCH, 1);
        for (size_t i = 0; i < f.model.parameters.count; i++) {
            const Parameter *p = f.model.parameters.list[i], *q = g.model.parameters.list[i];
            double *wanted = values_of(&f, p);
            float *found = memory_get(p->count, sizeof *found);
            weights_get(&g.weights, g.stream, q, found);
            for (size_t j = 0; j < p->count; j++)
                ck_assert_msg(found[j] == (float)wanted[j], "%s[%zu]", p->name, j);
            memory_free(wanted);
            memory_free(found);
        }
        fresh_close(&g);
    }
    fresh_close(&f);
}

/* A chain that runs twice looks its parameters up by name. */
START_TEST(no_two_parameters_of_a_block_have_one_name)
{
    for (int norm = NORM_POST; norm <= NORM_RESIDUAL; norm++)
        for (int kind = NORM_LAYER; kind <= NORM_TANH; kind++) {
            Parameters p = {0};
            Error e;
            BlockOptions o = {
                .attention = {8, 2, 4, 4, .bias = true, .gate = true, .qk_norm = true, .qk_cosine = kind % 2},
                .ff = 8,
                .gate = true,
                .norm = (NormPlacement)norm,
                .norm_kind = (NormKind)kind,
                .deep_alpha = 2,
                .macaron = norm != NORM_PARALLEL,
                .branch_dropout = 0.1,
                .cross = true};
            o.attention.composed = true, o.attention.value_residual = true, o.attention.score = SCORE_ADDITIVE;
            o.attention.weights = (WeightOptions){.cap = 2, .talking = true, .sigmoid = 4};
            block_new(&p, &o, "blocks.0");
            ck_done(parameters_finish(&p, &e), e);
            for (size_t i = 0; i < p.count; i++)
                ck_assert_msg(parameters_find(&p, p.list[i]->name) == p.list[i], "norm %d of kind %d: %s", norm, kind,
                              p.list[i]->name);
            parameters_close(&p);
        }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(preset_former_has_9664768_parameters),
        TEST(preset_former_wide_has_31684864_parameters),
        TEST(a_width_that_heads_cannot_share_is_refused),
        TEST(a_model_without_memory_is_an_error_and_leaves_nothing),
        TEST_LOOP(an_embedding_shares_a_table_and_only_equal_sinusoids, 8),
        TEST(init_pytorch_draws_as_pytorch_does),
        TEST(init_gpt2_scales_what_ends_a_branch),
        TEST(deepnorm_draws_all_but_queries_and_keys_smaller),
        TEST_LOOP(branches_begin_smaller_or_at_zero, 2),
        TEST(sums_of_blocks_begin_with_their_weights),
        TEST(init_xavier_balances_inputs_and_outputs),
        TEST_LOOP(no_two_parameters_begin_alike, 3),
        TEST(no_two_parameters_of_a_block_have_one_name),
        TEST_LOOP(what_a_parameter_begins_with_does_not_depend_on_the_sizes_of_others, 3),
        TEST(a_deeper_model_begins_with_all_that_the_shallower_one_has),
        TEST(each_precision_begins_with_the_same_values),
    };
    return suite_run("nn/init", tests, sizeof tests / sizeof *tests, argc, argv);
}
