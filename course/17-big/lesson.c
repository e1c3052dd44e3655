/* Lesson 17: going big. See README.md beside this file; `make lesson-17` runs it.
 *
 * One small language model, trained for a few steps in several ways: what each keeps in memory, estimated, then walked
 * through over shapes, then really taken; and what each computes. */
#include "base/bf16.h"
#include "base/clock.h"
#include "core/nn/embedding.h"
#include "core/nn/loss.h"
#include "core/nn/stack.h"
#include "core/train/trainer.h"
#include "course/frame/draw.h"
#include "kernels/cost/cost.h"
#include "kernels/plain/plain.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- 1. digits */

static float as_bf16(float x) { return bf16_to_float(bf16_from_float(x)); }

static void digits(void)
{
    enum { SUMMANDS = 4096, STEPS = 1000 };
    float sum = 0, narrow = 0, weight = 1, narrow_weight = 1;
    section("1. Digits");
    printf("  from 1 to the next number: f32 %.1e, bf16 %.1e; the largest: f32 %.1e, bf16 %.1e\n", (double)FLT_EPSILON,
           ldexp(1, -7), (double)FLT_MAX, (double)bf16_to_float((Bf16){0x7f7f}));
    for (int i = 0; i < SUMMANDS; i++) {
        sum += 0.1f;
        narrow = as_bf16(narrow + as_bf16(0.1f));
    }
    printf("  %d times 0.1, summed in f32 %.1f, in bf16 %.1f, bf16 numbers summed in f32 %.1f\n", SUMMANDS, (double)sum,
           (double)narrow, (double)as_bf16(SUMMANDS * as_bf16(0.1f)));
    for (int i = 0; i < STEPS; i++) {
        weight -= 0.001f;
        narrow_weight = as_bf16(narrow_weight - as_bf16(0.001f));
    }
    printf("  a weight of 1 after %d steps of -0.001: f32 %.3f, bf16 %.3f\n", STEPS, fabs((double)weight),
           (double)narrow_weight);
}

/* ---- the model, and ways to train it */

enum { D = 64, HEADS = 4, DEPTH = 6, LENGTH = 64, ROWS = 8, LETTERS = 128, STEPS = 3 };

static const char text[] =
    "this is the house that jack built. this is the malt that lay in the house that jack built. this is the rat that "
    "ate the malt that lay in the house that jack built. this is the cat that killed the rat that ate the malt that "
    "lay "
    "in the house that jack built. this is the dog that worried the cat that killed the rat that ate the malt. ";

typedef struct Model {
    Parameters parameters;
    Embedding embedding;
    Stack stack;
    Linear logits;
    Task task;
} Model;

static void make_batch(void *self, uint64_t step, Batch *b)
{
    (void)self;
    batch_clear(b);
    for (size_t r = 0; r < ROWS; r++) {
        size_t at = batch_row(b, 0, LENGTH), from = ((size_t)step * 131 + r * 29) % (sizeof text - LENGTH - 2);
        for (size_t i = 0; i < LENGTH; i++) {
            b->side[0].ids[at + i] = text[from + i];
            b->side[0].targets[at + i] = text[from + i + 1];
        }
    }
}

static Tensor *loss_of(void *self, Tape *t, const Rows *rows)
{
    const Model *m = self;
    AttentionContext context = context_rows(rows, true);
    Tensor *x = stack(t, &m->stack, embed(t, &m->embedding, rows), NULL, &context);
    return cross_entropy(t, linear_logits(t, &m->logits, x), rows->targets, 0, 0);
}

static bool model_open(Model *m, Error *e)
{
    const AttentionOptions attention = {.dim = D, .heads = HEADS, .key_size = D / HEADS, .value_size = D / HEADS};
    const StackOptions blocks = {
        .block = {.attention = attention, .ff = 4 * D}, .depth = DEPTH, .blocks = "blocks", .norm = "norm"};
    const EmbeddingOptions embedding = {
        .vocabulary = LETTERS, .context = LENGTH, .dim = D, .positions = POSITIONS_SINUSOID, .tied = true, .scale = 1};
    *m = (Model){0};
    m->embedding = embedding_new(&m->parameters, &embedding, "embedding.weight", "positions");
    m->stack = stack_new(&m->parameters, &blocks);
    m->logits = linear_tied(m->embedding.table);
    m->task = (Task){.self = m,
                     .sides = 1,
                     .longest = {LENGTH},
                     .most_rows = ROWS,
                     .batch = make_batch,
                     .loss = loss_of,
                     .unit = "nats",
                     .per_nat = 1};
    return parameters_finish(&m->parameters, e);
}

/* A way to train */
typedef struct Way {
    const char *name;
    NumberType type;
    size_t workers, micro_rows;
    Keep keep;
} Way;

static TrainerOptions options(const Way *w)
{
    return (TrainerOptions){.k = kernels_find("cpu", w->type, NULL),
                            .workers = w->workers,
                            .team = 1,
                            .micro_rows = w->micro_rows,
                            .shares = w->workers,
                            .training = true,
                            .keep = w->keep,
                            .optimizer = {.adam = {0.9, 0.98, 1e-9}},
                            .clip = 1,
                            .seed = 1};
}

static TrainerPlan planned(Model *m, const Way *w)
{
    TrainerPlan plan = {0};
    Error e;
    TrainerOptions o = options(w);
    if (!trainer_plan(&plan, &o, &m->parameters, &m->task, &e))
        printf("%s\n", e.text);
    return plan;
}

static double kb(double bytes) { return bytes / 1024; }

/* ---- 2. what is there once, and what each worker has */

static void state(Model *m)
{
    const Way ways[] = {{"f32", NUMBER_F32, 1, 2, KEEP_ALL},
                        {"f32", NUMBER_F32, 2, 2, KEEP_ALL},
                        {"f32", NUMBER_F32, 4, 2, KEEP_ALL},
                        {"bf16", NUMBER_BF16, 1, 2, KEEP_ALL},
                        {"bf16", NUMBER_BF16, 4, 2, KEEP_ALL}};
    size_t p = m->parameters.numbers;
    section("2. What is kept from step to step");
    printf("  %d blocks %d wide, %d letters: 12 D^2 a block and D for each letter make %d\n", DEPTH, D, LETTERS,
           DEPTH * 12 * D * D + LETTERS * D);
    printf("  parameters, biases and norms with them: %zu\n\n", p);
    printf("  kB                weights  gradients  moments      all  bytes a parameter\n");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        TrainerPlan plan = planned(m, &ways[i]);
        double all = (double)(plan.weights + plan.gradients + plan.moments);
        printf("  %-4s %zu worker%s %10.0f %10.0f %8.0f %8.0f %18.1f\n", ways[i].name, ways[i].workers,
               ways[i].workers > 1 ? "s" : " ", kb((double)plan.weights), kb((double)plan.gradients),
               kb((double)plan.moments), kb(all), all / (double)p);
    }
}

/* ---- 3. activations */

/* What a step must keep for its backward pass, in bytes: per position 14 D numbers in a block (query, key, value 3, the
 * average 1, the output 1, sum and norm 2, feed-forward 4 + 1, sum and norm 2) and 8 reals; recomputed, a block's D and
 * the inside of one block. Embeddings D, logits and losses after the last block. */
static double estimate(const Way *w)
{
    double number = w->type == NUMBER_BF16 ? 2 : 4, inside = 14 * D * number + 8 * 4;
    double blocks = w->keep == KEEP_INPUTS ? DEPTH * D * number + inside : DEPTH * inside;
    return (double)w->micro_rows * LENGTH * (blocks + D * number + (LETTERS + 2) * 4);
}

static void activations(Model *m)
{
    const char *const labels[] = {"f32, everything kept", "bf16, everything kept", "recomputed, f32",
                                  "narrow and recomputed"};
    float rows[4], memory[4][4];
    size_t way = 0;
    section("3. What is kept for the backward pass");
    printf("  activations of one worker, kB    rows   estimated   walked\n");
    for (Keep keep = KEEP_ALL; keep <= KEEP_INPUTS; keep++)
        for (NumberType type = NUMBER_F32; type <= NUMBER_BF16; type++, way++)
            for (size_t i = 0; i < 4; i++) {
                Way w = {"", type, 1, (size_t)1 << i, keep};
                TrainerPlan plan = planned(m, &w);
                rows[i] = (float)w.micro_rows;
                memory[way][i] = (float)kb((double)plan.tape.memory);
                printf("  %-28s %8zu %11.0f %8.0f\n", i ? "" : labels[way], w.micro_rows, kb(estimate(&w)),
                       (double)memory[way][i]);
            }
    printf("\n");
    Curve curves[4];
    for (size_t i = 0; i < 4; i++)
        curves[i] = (Curve){labels[i], rows, memory[i], 4};
    draw_curves(&(Plot){"17-memory", "activations of a micro-batch", "rows of 64 at once", "kB", true, true}, curves,
                4);
}

/* ---- 4. all of them learn the same */

typedef struct Trained {
    double loss, norm; /* of the last step */
    double seconds;    /* of the fastest step */
    bool as_planned;   /* each worker took what was walked, to the byte */
} Trained;

static bool train(Trained *r, Model *m, const Way *w, size_t steps, Error *e)
{
    Trainer trainer;
    StepResult step = {0};
    TrainerOptions o = options(w);
    bool fine = trainer_open(&trainer, &o, &m->parameters, &m->task, e) &&
                weights_init(&trainer.weights, trainer.worker[0].stream, INIT_XAVIER, DEPTH, 1, e);
    r->seconds = INFINITY, r->as_planned = true;
    for (size_t i = 1; fine && i <= steps; i++) {
        double began = clock_seconds();
        fine = trainer_step(&trainer, i, 1e-3, &step, e);
        r->seconds = fmin(r->seconds, clock_seconds() - began);
    }
    for (size_t i = 0; fine && i < w->workers; i++)
        r->as_planned &= tape_plan(&trainer.worker[i].tape).memory == trainer.plan.tape.memory;
    r->loss = step.loss, r->norm = step.norm;
    trainer_close(&trainer);
    return fine;
}

static const Way ways[] = {{"all 8 rows at once", NUMBER_F32, 1, 8, KEEP_ALL},
                           {"accumulated, 4 and 4", NUMBER_F32, 1, 4, KEEP_ALL},
                           {"accumulated, 8 times 1", NUMBER_F32, 1, 1, KEEP_ALL},
                           {"accumulated, 3, 3 and 2", NUMBER_F32, 1, 3, KEEP_ALL},
                           {"recomputed", NUMBER_F32, 1, 8, KEEP_INPUTS},
                           {"two workers, 4 rows each", NUMBER_F32, 2, 4, KEEP_ALL},
                           {"bf16", NUMBER_BF16, 1, 8, KEEP_ALL}};
enum { WAYS = sizeof ways / sizeof *ways };

static void the_same(Model *m, double seconds[WAYS])
{
    Trained first = {0}, r;
    Error e;
    section("4. All of them learn the same");
    printf("  after %d steps               loss  gradient  as the first way  memory as walked\n", STEPS);
    for (size_t i = 0; i < WAYS; i++) {
        if (!train(&r, m, &ways[i], STEPS, &e)) {
            printf("left out: %s: %s\n", ways[i].name, e.text);
            continue;
        }
        if (i == 0)
            first = r;
        seconds[i] = r.seconds;
        double off = fmax(fabs(r.loss - first.loss) / first.loss, fabs(r.norm - first.norm) / first.norm);
        printf("  %-26s %6.3f %9.3f  %-16s  %s\n", ways[i].name, r.loss, r.norm,
               r.loss == first.loss && r.norm == first.norm ? "to the last bit"
               : off < 1e-4                                 ? "to 1e-4"
               : off < 0.05                                 ? "to 5 %"
                                                            : "no",
               r.as_planned ? "yes" : "no");
    }
}

/* ---- 5. what is computed */

/* What one step of a way asks for: calls of an operation, from a walk over shapes */
static uint64_t calls(Model *m, const Way *w, const char *operation)
{
    const Kernels *k = cost_kernels(w->type);
    Stream *s = NULL;
    Tape t = {0};
    Batch batch = {0};
    DeviceRows device = {0};
    StepState begins = {0};
    Error e;
    Weights weights = {.k = k, .parameters = &m->parameters, .reals = &begins, .numbers = &begins};
    BatchSize whole = {.sides = 1, .rows = ROWS, .positions = {ROWS * LENGTH}};
    uint64_t found = 0;
    if (k->open(&s, 1, &e) && tape_open(&t, k, s, &weights, NULL, &e) && batch_open(&batch, &whole, &e) &&
        device_rows_open(&device, k, &whole, &e)) {
        size_t count;
        t.keep = w->keep, t.training = t.recording = true, t.state = &begins, t.gradient = &begins;
        make_batch(m, 1, &batch);
        for (size_t first = 0; first < ROWS; first += w->micro_rows) {
            device_rows_upload(&device, s, &batch, first, ROWS - first < w->micro_rows ? ROWS - first : w->micro_rows);
            loss_of(m, &t, device.rows);
            tape_backward(&t);
            tape_reset(&t);
        }
        const Cost *cost = cost_counted(s, &count);
        for (size_t i = 0; i < count; i++)
            found += strcmp(cost[i].operation, operation) == 0 ? cost[i].calls : 0;
    }
    device_rows_close(&device), batch_close(&batch), tape_close(&t);
    if (s)
        k->close(s);
    return found;
}

static void computed(Model *m)
{
    static const char *const names[] = {"linear_forward", "attention_forward", "linear_backward", "attention_backward"};
    static const size_t chosen[] = {0, 1, 2, 4};
    section("5. What a step computes");
    printf("  %-24s", "calls in a step");
    for (size_t n = 0; n < 4; n++)
        printf("  %s", names[n]);
    printf("\n");
    for (size_t i = 0; i < 4; i++) {
        printf("  %-24s", ways[chosen[i]].name);
        for (size_t n = 0; n < 4; n++)
            printf("  %*llu", (int)strlen(names[n]), (unsigned long long)calls(m, &ways[chosen[i]], names[n]));
        printf("\n");
    }
}

/* ---- 6. how long it takes here */

static void how_long(const double seconds[WAYS])
{
    static const char *const estimates[WAYS] = {"1.00",
                                                "1.00",
                                                "1.00 or a little more",
                                                "1.00",
                                                "1.33, or a little less",
                                                "0.50, with two cores",
                                                "0.5 with bf16 instructions, else 1 or more"};
    section("6. How long a step takes here (other numbers each time)");
    printf("  %-26s      ms  to the first  estimated\n", "");
    for (size_t i = 0; i < WAYS; i++)
        printf("  %-26s %7.2f  %12.2f  %s\n", ways[i].name, 1e3 * seconds[i], seconds[i] / seconds[0], estimates[i]);
}

int main(void)
{
    Model m;
    Error e;
    double seconds[WAYS] = {0};
    digits();
    if (!model_open(&m, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    state(&m);
    activations(&m);
    the_same(&m, seconds);
    computed(&m);
    how_long(seconds);
    stack_close(&m.stack);
    parameters_close(&m.parameters);
    return 0;
}
