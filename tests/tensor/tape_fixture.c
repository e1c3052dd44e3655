/* See tape_fixture.h. */
#include "tests/tensor/tape_fixture.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/loss.h"
#include "kernels/cost/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void tape_fixture_rows(TapeFixture *l, const size_t *lengths)
{
    size_t n = 0, longest = 0;
    for (size_t r = 0; r < FIXTURE_ROWS; r++) {
        l->start[r] = (int32_t)n;
        longest = lengths[r] > longest ? lengths[r] : longest;
        for (size_t i = 0; i < lengths[r]; i++, n++) {
            ck_assert_uint_lt(n, FIXTURE_POSITIONS);
            l->ids[n] = (int32_t)philox_below(FIXTURE_WORDS, 1, 0, n, 1);
            l->targets[n] = n % 4 == 3 ? -1 : (int32_t)philox_below(FIXTURE_WORDS, 1, 0, n, 2);
            l->position[n] = (int32_t)i;
        }
    }
    l->start[FIXTURE_ROWS] = (int32_t)n;
    l->rows = (Rows){.positions = n,
                     .rows = FIXTURE_ROWS,
                     .longest = longest,
                     .ids = l->ids,
                     .targets = l->targets,
                     .position = l->position,
                     .start = l->start};
}

void tape_fixture_open(TapeFixture *l, const Kernels *k, const TapeFixtureOptions *o)
{
    Error e;
    *l = (TapeFixture){.k = k};
    Parameters *p = &l->parameters;
    BlockOptions block = {
        .attention = {FIXTURE_DIM, 3, 4, 4, .bias = true, .composed = o->composed, .dropout = o->dropout},
        .ff = 20,
        .activation = o->activation,
        .norm = o->norm,
        .dropout = o->dropout};
    EmbeddingOptions embedding = {.vocabulary = FIXTURE_WORDS,
                                  .context = 6,
                                  .dim = FIXTURE_DIM,
                                  .positions = POSITIONS_SINUSOID,
                                  .scale = 1,
                                  .dropout = o->dropout};
    l->embedding = embedding_new(p, &embedding, "embedding.weight", "positions.weight");
    l->narrow = linear_new(p, FIXTURE_DIM, FIXTURE_DIM, true, "narrow");
    l->wide = linear_new(p, FIXTURE_DIM, FIXTURE_WIDE, true, "wide");
    l->norm = norm_new(p, NORM_LAYER, FIXTURE_DIM, "norm");
    for (size_t i = 0; i < FIXTURE_BLOCKS; i++) {
        char name[16];
        snprintf(name, sizeof name, "blocks.%zu", i);
        l->block[i] = block_new(p, &block, name);
    }
    l->logits = linear_new(p, FIXTURE_DIM, FIXTURE_WORDS, true, "logits");
    ck_done(parameters_finish(p, &e) && k->open(&l->stream, 1, &e) && weights_open(&l->weights, k, l->stream, p, &e) &&
                weights_init(&l->weights, l->stream, INIT_PYTORCH, FIXTURE_BLOCKS, 5, &e),
            e);
    ck_assert(k->on_host);
    tape_fixture_rows(l, (const size_t[]){4, 1, 0, 6, 3});
}

void tape_fixture_close(TapeFixture *l)
{
    weights_close(&l->weights);
    l->k->close(l->stream);
    parameters_close(&l->parameters);
}

static size_t count_nodes(const Tape *t)
{
    size_t n = 0;
    for (const Node *node = t->last; node; node = node->before)
        n++;
    return n;
}

typedef struct Follower {
    Tape *t;
    Pass *pass;
} Follower;

static void follow(void *argument)
{
    const Follower *f = argument;
    if (!f->pass->left && tape_finished_from(f->t) <= f->t->weights->parameters->dense / 2)
        f->pass->left = f->t->nodes;
}

/* Forward and backward on an open tape. */
static void run(Tape *t, const TapeFixture *l, Program *program, const PassOptions *o, StepState *state, Pass *pass)
{
    t->keep = o->keep;
    t->training = t->recording = !o->evaluation;
    t->gradient = pass->gradient;
    t->state = state;
    t->nonfinite = o->nonfinite;
    t->follower = &(Follower){t, pass};
    t->went_back = t->first_read ? follow : NULL;
    cross_entropy(t, program(t, l), l->rows.targets, 0, 0);
    pass->nodes = count_nodes(t);
    tape_backward(t);
    tape_reset(t);
}

static StepState first_state(void)
{
    StepState state = {.seed = 4, .step = 2, .first_position = {5, 9}};
    state.loss[0].scale = 1;
    return state;
}

static TapePlan walk(TapeFixture *l, Program *program, const PassOptions *o, Takes *takes)
{
    const Kernels *k = cost_kernels(l->k->type);
    PassOptions quiet = *o;
    Stream *s;
    Tape t;
    Error e;
    StepState state = first_state();
    Pass unused = {.gradient = &unused}; /* any address that is not NULL: nothing is written */
    quiet.nonfinite = NULL;
    ck_done(k->open(&s, 1, &e) && tape_open(&t, k, s, &l->weights, NULL, &e), e);
    t.gradients.record = takes;
    run(&t, l, program, &quiet, &state, &unused);
    TapePlan plan = tape_plan(&t);
    tape_close(&t);
    k->close(s);
    ck_assert(!takes->failed);
    return plan;
}

Pass tape_fixture_pass(TapeFixture *l, Program *program, const PassOptions *o)
{
    Pass pass = {0};
    const Pass *plan = o->plan ? o->plan : &pass;
    Tape t;
    Error e;
    StepState state = first_state();
    pass.planned = walk(l, program, o, &pass.takes);
    pass.gradient = o->evaluation ? NULL : memory_get(l->parameters.size, l->k->real);
    ck_done(tape_open(&t, l->k, l->stream, &l->weights, &plan->planned, &e), e);
    t.gradients.plan = &plan->takes;
    t.first_read = memory_get(l->parameters.count, sizeof *t.first_read);
    ck_assert_ptr_nonnull(t.first_read);
    tape_reset(&t);
    run(&t, l, program, o, &state, &pass);
    ck_done(l->k->finish(l->stream, &e), e);
    pass.used = tape_plan(&t);
    pass.loss = state.loss[0].sum;
    memory_free(t.first_read);
    tape_close(&t);
    return pass;
}

void pass_free(Pass *p)
{
    memory_free(p->gradient);
    takes_close(&p->takes);
}

void tape_fixture_set(TapeFixture *l, const Parameter *p, size_t i, double value)
{
    double values[FIXTURE_WIDE * FIXTURE_DIM];
    ck_assert(p && p->count <= sizeof values / sizeof *values && i < p->count);
    weights_get(&l->weights, l->stream, p, values);
    real_put(l->k, values, i, value);
    weights_set(&l->weights, l->stream, p, values);
}

void tape_fixture_differentiate(TapeFixture *l, Program *program)
{
    const double h = 1e-5;
    const PassOptions training = {.keep = KEEP_ALL};
    const uint64_t draws = test_is_fast() ? 1 : 4; /* numbers of each parameter */
    Pass whole = tape_fixture_pass(l, program, &training);
    for (size_t i = 0; i < l->parameters.count; i++) {
        const Parameter *p = l->parameters.list[i];
        for (uint64_t draw = 0; draw < draws && p->role != ROLE_CONSTANT; draw++) {
            size_t j = (size_t)philox_below(p->count, 2, 0, draw, (uint32_t)i);
            double at = real_at(l->k, l->weights.reals, p->offset + j), loss[2];
            for (int side = 0; side < 2; side++) {
                tape_fixture_set(l, p, j, side ? at - h : at + h);
                Pass moved = tape_fixture_pass(l, program, &training);
                loss[side] = moved.loss;
                pass_free(&moved);
            }
            tape_fixture_set(l, p, j, at);
            double slope = (loss[0] - loss[1]) / (2 * h), found = real_at(l->k, whole.gradient, p->offset + j);
            ck_assert_msg(fabs(slope - found) < 1e-7 + 1e-6 * fabs(slope), "%s[%zu]: the gradient is %.9g, not %.9g",
                          p->name, j, found, slope);
        }
    }
    pass_free(&whole);
}
