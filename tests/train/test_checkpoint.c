/* Checkpoints: what was saved comes back to the bit, and what does not fit the model is refused by name. */
#include "base/file.h"
#include "base/memory.h"
#include "core/train/adam.h"
#include "tests/train/tiny.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TENSORS = 64 };

static const LoopOptions no_loop = {.steps = 0};

static char *run_path(void)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/run", test_folder());
    return path;
}

/* A run whose weights and moments have moved away from where they began. */
static void open_moved(TinyRun *r, const TinyOptions *o)
{
    Error e;
    StepResult result;
    tiny_run_open(r, run_path(), o, &no_loop);
    for (uint64_t step = 1; step <= 3; step++)
        ck_done(trainer_step(&r->trainer, step, 1e-2, &result, &e), e);
}

/* Everything that a checkpoint holds, one block after another. */
static float *everything(const Trainer *c)
{
    size_t size = c->parameters->size;
    float *all = memory_get(3 * size, sizeof *all);
    memcpy(all, c->weights.reals, size * sizeof *all);
    memcpy(all + size, c->optimizer.block[0], size * sizeof *all);
    memcpy(all + 2 * size, c->optimizer.block[1], size * sizeof *all);
    return all;
}

START_TEST(what_was_saved_comes_back_to_the_bit)
{
    Error e;
    TinyRun r;
    StepResult result;
    const Progression at = {.step = 3, .best = 1.0 / 3, .best_step = 2, .scored = true, .stalled = 5, .seconds = 0.1};
    Progression back;
    open_moved(&r, &tiny_standard);
    float *before = everything(&r.trainer);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, true, &e), e);
    ck_done(trainer_step(&r.trainer, 4, 1e-2, &result, &e), e);
    float *moved = everything(&r.trainer);
    ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e), e);
    float *after = everything(&r.trainer);
    size_t bytes = 3 * r.trainer.parameters->size * sizeof *before;
    ck_assert(memcmp(before, moved, bytes) != 0);
    ck_assert(memcmp(before, after, bytes) == 0);
    ck_assert(back.step == 3 && back.best == at.best && back.best_step == 2 && back.scored && back.stalled == 5);
    ck_assert(back.seconds == 0.1);

    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, false, &e), e); /* time makes equal runs unequal */
    ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e), e);
    ck_assert(back.seconds == 0);
    memory_free(before);
    memory_free(moved);
    memory_free(after);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* On the cpu, where rows rest as soon as they are not read, at a rate as small as this and without decay; or where none
 * of them may. Returns how many steps they skipped. */
static size_t open_resting(TinyRun *r, bool resting)
{
    Error e;
    StepResult result;
    size_t skipped = 0;
    tiny_run_open(r, run_path(), &tiny_standard, &no_loop);
    trainer_close(&r->trainer);
    TrainerOptions o = tiny_trainer(2, 1);
    o.k = kernels_find("cpu", NUMBER_F32, &e);
    o.optimizer.decay = 0;
    ck_done(o.k && trainer_open(&r->trainer, &o, &r->tiny.parameters, &r->tiny.task, &e), e);
    ck_done(weights_init(&r->trainer.weights, r->trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
    AdamOwn *own = r->trainer.optimizer.own;
    if (!resting) {
        o.k->release(own->lazy);
        own->lazy = NULL;
    }
    for (uint64_t step = 1; step <= 40; step++)
        ck_done(trainer_step(&r->trainer, step, 1e-12, &result, &e), e);
    for (size_t i = 0; resting && i < r->trainer.parameters->longest; i++)
        skipped += own->lazy[i].skipped;
    return skipped;
}

START_TEST(lazy_rows_catch_up_before_they_are_saved)
{
    Error e;
    TinyRun r;
    StepResult result;
    Progression at = {.step = 40};
    open_resting(&r, false);
    float *wanted = everything(&r.trainer);
    size_t bytes = 3 * r.trainer.parameters->size * sizeof *wanted, skipped = 0;
    tiny_run_close(&r);
    ck_assert_uint_gt(open_resting(&r, true), 0);
    const AdamOwn *own = r.trainer.optimizer.own;
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, false, &e), e);
    float *saved = everything(&r.trainer);
    ck_assert(memcmp(wanted, saved, bytes) == 0);

    for (uint64_t step = 41; step <= 60; step++)
        ck_done(trainer_step(&r.trainer, step, 1e-12, &result, &e), e);
    ck_done(checkpoint_load(r.run, &r.trainer, 40, NULL, &at, &e), e); /* which skipped nothing */
    for (size_t i = 0; i < r.trainer.parameters->longest; i++)
        skipped += own->lazy[i].skipped + own->lazy[i].known;
    ck_assert_uint_eq(skipped, 0);
    memory_free(wanted);
    memory_free(saved);
    tiny_run_close(&r);
}

/* --- files that others made --- */

/* The model's tensors as a list to write: those of a real file, to be changed. */
typedef struct Made {
    SafeTensor tensors[TENSORS];
    float *zeros;
    size_t count;
    char path[700];
} Made;

static void make(Made *m, const TinyRun *r)
{
    const Parameters *p = &r->tiny.parameters;
    m->zeros = memory_get(p->size, sizeof(float));
    m->count = 0;
    snprintf(m->path, sizeof m->path, "%s/made.safetensors", r->run->path);
    for (size_t i = 0; i < p->count; i++)
        m->tensors[m->count++] = (SafeTensor){.name = p->list[i]->name,
                                              .type = SAFE_F32,
                                              .rank = (size_t)p->list[i]->rank,
                                              .shape = {p->list[i]->shape[0], p->list[i]->shape[1]},
                                              .data = m->zeros};
}

static SafeTensor *made(Made *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (!strcmp(m->tensors[i].name, name))
            return &m->tensors[i];
    ck_abort_msg("%s is not there", name);
}

static bool read_made(Made *m, TinyRun *r, const char *const (*aliases)[2], Error *e)
{
    ck_done(safetensors_write(m->path, m->tensors, m->count, NULL, 0, e), *e);
    return weights_read(&r->trainer.weights, r->trainer.worker[0].stream, m->path, aliases, NULL, NULL, e);
}

/* What fits of it, for a model with these options. */
static bool read_part(Made *m, TinyRun *r, WeightsPart *part, const char *theirs, const char *ours, Error *e)
{
    const ModelNote note = {"tiny", ours};
    const SafeText text = {"model", theirs};
    ck_done(safetensors_write(m->path, m->tensors, m->count, &text, 1, e), *e);
    return weights_read(&r->trainer.weights, r->trainer.worker[0].stream, m->path, NULL, &note, part, e);
}

static void refused(Made *m, TinyRun *r, const char *const (*aliases)[2], const char *name, const char *why)
{
    Error e;
    ck_assert_msg(!read_made(m, r, aliases, &e), "it was accepted");
    ck_assert_msg(strstr(e.text, name) && strstr(e.text, why) && strstr(e.text, "made.safetensors"), "%s", e.text);
}

START_TEST(a_missing_tensor_is_named)
{
    TinyRun r;
    Made m;
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    make(&m, &r);
    *made(&m, "blocks.0.ff.in.bias") = m.tensors[m.count - 1];
    m.count--;
    refused(&m, &r, NULL, "blocks.0.ff.in.bias", "has no tensor");
    memory_free(m.zeros);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_tensor_too_many_is_named)
{
    TinyRun r;
    Made m;
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    make(&m, &r);
    m.tensors[m.count] = m.tensors[0];
    m.tensors[m.count++].name = "blocks.1.ff.in.bias";
    refused(&m, &r, NULL, "blocks.1.ff.in.bias", "does not have");
    memory_free(m.zeros);
    tiny_run_close(&r);
}

START_TEST(a_wrong_shape_is_shown_beside_the_right_one)
{
    TinyRun r;
    Made m;
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    make(&m, &r);
    SafeTensor *t = made(&m, "blocks.0.ff.in.weight"); /* [16, 8] */
    t->shape[0] = 8, t->shape[1] = 16;                 /* as many numbers, but another map */
    refused(&m, &r, NULL, "blocks.0.ff.in.weight has shape [8,16]", "[16,8]");
    t->rank = 1, t->shape[0] = 128;
    refused(&m, &r, NULL, "blocks.0.ff.in.weight has shape [128]", "[16,8]");
    memory_free(m.zeros);
    tiny_run_close(&r);
}

START_TEST(a_tied_table_is_found_under_either_name)
{
    static const char *const aliases[][2] = {{"token_embedding.weight", "logits.weight"}, {NULL, NULL}};
    Error e;
    TinyRun r;
    Made m;
    TinyOptions o = tiny_standard;
    o.tied = true;
    tiny_run_open(&r, run_path(), &o, &no_loop);
    ck_assert_ptr_null(parameters_find(&r.tiny.parameters, "logits.weight"));
    make(&m, &r);
    ck_done(read_made(&m, &r, aliases, &e), e);
    made(&m, "token_embedding.weight")->name = "logits.weight";
    for (size_t i = 0; i < m.count; i++)
        m.zeros[i] = (float)i + 1;
    ck_done(read_made(&m, &r, aliases, &e), e);
    const Parameter *table = parameters_find(&r.tiny.parameters, "token_embedding.weight");
    ck_assert(((const float *)parameter_in(table, r.trainer.weights.reals, sizeof(float)))[2] == 3);
    refused(&m, &r, NULL, "logits.weight", "does not have");

    m.tensors[m.count] = *made(&m, "logits.weight"); /* both, as some tools write them */
    m.tensors[m.count++].name = "token_embedding.weight";
    ck_done(read_made(&m, &r, aliases, &e), e);
    memory_free(m.zeros);
    tiny_run_close(&r);
}

/* One tensor is missing, one has another shape, one belongs to no parameter, and the rest is called otherwise: those that fit are
 * read, and nothing else moves. */
START_TEST(what_fits_is_read_and_the_rest_is_told)
{
    Error e;
    TinyRun r;
    Made m;
    char names[TENSORS][120];
    WeightsPart part = {.map = "model.blocks.=blocks.,model.=,blocks.=never"};
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    make(&m, &r);
    const size_t all = m.count;
    float *before = everything(&r.trainer);
    made(&m, "blocks.0.ff.in.weight")->shape[0]--;
    *made(&m, "blocks.0.ff.in.bias") = (SafeTensor){.name = "gate\n", .rank = 0, .type = SAFE_F32, .data = m.zeros};
    for (size_t i = 0; i < m.count; i++) {
        snprintf(names[i], sizeof names[i], "%s%s", i == 3 ? "" : "model.", m.tensors[i].name);
        m.tensors[i].name = names[i];
    }
    ck_assert_ptr_nonnull(strstr(names[3], "blocks."));
    ck_done(read_part(&m, &r, &part, "{\"heads\": 2, \"window\": 3}", "{\"heads\": 2, \"window\": 0}", &e), e);
    ck_assert(part.count[PART_RESHAPED] == 1 && part.count[PART_MISSING] == 2 && part.count[PART_LEFT_OVER] == 2);
    ck_assert_uint_eq(part.count[PART_MATCHED], all - 3);
    ck_assert_msg(
        strstr(part.report.text, " 1 of another shape, not read: blocks.0.ff.in.weight [15,8] instead of [16,8]") &&
            strstr(part.report.text, "gate?") && strstr(part.report.text, "window 3, and this one 0"),
        "%s", part.report.text);
    for (size_t i = 0; i < all; i++) {
        const Parameter *p = r.tiny.parameters.list[i];
        const char *kept[] = {"blocks.0.ff.in.weight", "blocks.0.ff.in.bias", names[3]};
        bool read = strcmp(p->name, kept[0]) && strcmp(p->name, kept[1]) && strcmp(p->name, kept[2]);
        const float *now = parameter_in(p, r.trainer.weights.reals, sizeof(float));
        ck_assert_msg(memcmp(now, read ? m.zeros : before + p->offset, p->count * sizeof *now) == 0, "%s", p->name);
    }
    buffer_free(&part.report);
    memory_free(before);
    memory_free(m.zeros);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Names are right there, so renaming would not help. */
START_TEST(where_only_shapes_differ_two_of_them_are_told)
{
    Error e;
    TinyRun r;
    Made m;
    WeightsPart part = {.map = NULL};
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    make(&m, &r);
    for (size_t i = 0; i < m.count; i++)
        m.tensors[i].rank = 1, m.tensors[i].shape[0] = 3;
    const Parameter *first = r.tiny.parameters.list[0];
    char words[200];
    snprintf(words, sizeof words, "its %s has shape [3], the model's [%zu,%zu]: give", first->name, first->shape[0],
             first->shape[1]);
    ck_assert(!read_part(&m, &r, &part, "{}", "{}", &e));
    ck_assert_msg(strstr(e.text, words) && !strstr(e.text, "--map"), "%s", e.text);
    buffer_free(&part.report);
    memory_free(m.zeros);
    tiny_run_close(&r);
}

START_TEST(a_part_that_would_mean_something_else_is_refused)
{
    static const struct {
        const char *theirs, *ours, *map, *words; /* of the error; NULL: it is read */
    } cases[] = {
        {"{\"heads\": 4}", "{\"heads\": 2}", NULL, "blocks.0.attention.query.weight means something else"},
        {"{\"heads\": 4}", "{\"heads\": 2}", "blocks.0.attention=no", NULL},
        {"{\"norm\": \"pre\"}", "{\"norm\": \"post\"}", "blocks.0.attention=no", "blocks.0.norm1.weight means"},
        {"{\"norm\": \"pre\"}", "{\"norm\": \"post\"}", "blocks=no", NULL},
        {"{\"pool\": \"max\"}", "{\"pool\": \"first\"}", NULL, "logits.weight means"},
        {"{\"window\": 4}", "{\"window\": 0}", NULL, NULL},
        {"{", "{}", NULL, "made.safetensors"}};
    Error e;
    TinyRun r;
    Made m;
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    make(&m, &r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        WeightsPart part = {.map = cases[i].map};
        bool fine = read_part(&m, &r, &part, cases[i].theirs, cases[i].ours, &e);
        ck_assert_msg(fine == !cases[i].words && (fine || strstr(e.text, cases[i].words)), "case %zu: %s", i, e.text);
        buffer_free(&part.report);
    }
    m.zeros[1] = NAN; /* of each tensor */
    WeightsPart part = {.map = NULL};
    ck_assert(!read_part(&m, &r, &part, "{}", "{}", &e));
    ck_assert_msg(strstr(e.text, "its value 2 is not finite"), "%s", e.text);
    buffer_free(&part.report);
    memory_free(m.zeros);
    tiny_run_close(&r);
}

/* What products read is what was read, rounded. */
START_TEST(numbers_in_bf16_come_back_with_the_weights)
{
    Error e;
    TinyRun r;
    Trainer other;
    Progression back;
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    trainer_close(&r.trainer);
    TrainerOptions o = tiny_trainer(1, 1);
    o.k = kernels_find("plain", NUMBER_BF16, &e);
    ck_done(o.k && trainer_open(&r.trainer, &o, &r.tiny.parameters, &r.tiny.task, &e), e);
    ck_done(weights_init(&r.trainer.weights, r.trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &(Progression){.step = 1}, false, &e), e);
    ck_done(trainer_open(&other, &o, &r.tiny.parameters, &r.tiny.task, &e), e);
    ck_done(checkpoint_load(r.run, &other, 1, NULL, &back, &e), e);
    ck_assert(memcmp(other.weights.numbers, r.trainer.weights.numbers, r.tiny.parameters.size * o.k->number) == 0);
    trainer_close(&other);
    tiny_run_close(&r);
}
END_TEST

START_TEST(a_state_that_lacks_something_is_refused)
{
    Error e;
    TinyRun r;
    Progression at = {.step = 3};
    open_moved(&r, &tiny_standard);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, true, &e), e);
    char *folder = run_checkpoint_path(r.run, 3), *state = path_join(folder, "state.safetensors");
    char *model = path_join(folder, "model.safetensors"), *bytes;
    size_t size;
    ck_done(file_read(model, &bytes, &size, &e), e);
    ck_done(file_write(state, bytes, size, &e), e); /* a model where the state should be */
    ck_assert(!checkpoint_load(r.run, &r.trainer, 3, NULL, &at, &e));
    ck_assert_msg(strstr(e.text, "state.safetensors") && strstr(e.text, "step"), "%s", e.text);
    ck_assert(!checkpoint_load(r.run, &r.trainer, 4, NULL, &at, &e));
    memory_free(bytes);
    memory_free(model);
    memory_free(state);
    memory_free(folder);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* One bit, in the numbers of either file; or both whole, but of two steps. */
START_TEST(what_is_not_what_was_saved_is_refused)
{
    static const char *const names[] = {"model.safetensors", "state.safetensors"};
    Error e;
    TinyRun r;
    Progression at = {.step = 3}, before = {.step = 2};
    open_moved(&r, &tiny_standard);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, true, &e), e);
    weights_init(&r.trainer.weights, r.trainer.worker[0].stream, INIT_GPT2, 1, 2, &e);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &before, true, &e), e);
    char *folder = run_checkpoint_path(r.run, 3), *other = run_checkpoint_path(r.run, 2);
    char *stranger = path_join(other, names[0]), *sums = path_join(folder, "SHA256SUMS"), *theirs;
    size_t size, their_size;
    ck_done(file_read(stranger, &theirs, &their_size, &e), e);
    for (int i = 0; i < 3; i++) {
        char *path = path_join(folder, names[i % 2]), *bytes;
        ck_done(file_read(path, &bytes, &size, &e), e);
        bytes[size - 100] ^= 1;
        ck_done(i < 2 ? file_write(path, bytes, size, &e) : file_write(path, theirs, their_size, &e), e);
        ck_assert(!checkpoint_load(r.run, &r.trainer, 3, NULL, &at, &e));
        ck_assert_msg(strstr(e.text, names[i % 2]) && strstr(e.text, "damaged or belongs to another checkpoint"), "%s",
                      e.text);
        bytes[size - 100] ^= 1;
        ck_done(file_write(path, bytes, size, &e), e);
        ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &at, &e), e);
        memory_free(bytes);
        memory_free(path);
    }
    remove(sums); /* as older versions saved it */
    ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &at, &e), e);
    memory_free(theirs);
    memory_free(stranger);
    memory_free(sums);
    memory_free(folder);
    memory_free(other);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(weights_of_another_architecture_are_refused_though_their_shapes_fit)
{
    static const struct {
        const char *file, *model, *words;
    } cases[] = {{"{\"heads\": 4}", "{\"heads\": 2}", "a model with heads 4, and this one has 2"},
                 {"{\"norm\": \"pre\"}", "{\"norm\": \"post\"}", "norm pre"},
                 {"{", "{}", "model.safetensors"},
                 {"{\"heads\": 4, \"context\": 9}", "{\"heads\": 4, \"context\": 8}", NULL},
                 {"{}", "{\"heads\": 4}", NULL},
                 {"{\"heads\": 4}", "{\"heads\": 4, \"score-cap\": 5}", "score-cap 0, and this one has 5"},
                 {"{\"sparse\": \"local\", \"stride\": 4}", "{}", "sparse local, and this one has none"},
                 {"{}", "{\"rotary-base\": 500000}", "rotary-base 10000, and this one has 500000"},
                 {"{\"rotary-base\": 10000}", "{}", NULL}, /* what 0 stands for */
                 {"{\"norm-epsilon\": 1e-05}", "{\"norm-epsilon\": 0}", NULL},
                 {"{\"residual-scores\": true}", "{\"residual-scores\": false}", "yes, and this one has no"},
                 {"{\"sigmoid-attention\": false}", "{}", NULL},
                 {"{\"loops\": 2}", "{}", "loops 2, and this one has 1"}};
    Error e;
    TinyRun r;
    Progression at = {.step = 3};
    open_moved(&r, &tiny_standard);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ModelNote theirs = {"tiny", cases[i].file}, ours = {"tiny", cases[i].model};
        ck_done(checkpoint_save(r.run, &r.trainer, &theirs, &at, true, &e), e);
        bool fits = checkpoint_load(r.run, &r.trainer, 3, &ours, &at, &e);
        ck_assert_msg(fits == !cases[i].words, "case %zu", i);
        ck_assert_msg(fits || strstr(e.text, cases[i].words), "%s", e.text);
    }
    tiny_run_close(&r);
}

/* --- no memory --- */

static bool build_save_and_load(void *argument, Error *e)
{
    static int call;
    char path[700];
    Tiny tiny;
    Trainer trainer = {.task = NULL};
    Run *run = NULL;
    Progression at = {.step = 1};
    const ModelNote note = {"tiny", "{}"};
    const TrainerOptions options = tiny_trainer(2, 2);
    snprintf(path, sizeof path, "%s/%d", (const char *)argument, call++);
    if (!tiny_open(&tiny, &tiny_standard, e))
        return false;
    bool fine = trainer_open(&trainer, &options, &tiny.parameters, &tiny.task, e) &&
                weights_init(&trainer.weights, trainer.worker[0].stream, INIT_GPT2, 1, 1, e) &&
                run_create(&run, path, NULL, e) && checkpoint_save(run, &trainer, &note, &at, false, e) &&
                run_mark(run, "last", 1, e) && run_prune(run, 1, e);
    run_close(run);
    run = NULL;
    fine = fine && run_open(&run, path, true, e) && checkpoint_load(run, &trainer, 1, NULL, &at, e);
    run_close(run);
    trainer_close(&trainer);
    tiny_close(&tiny);
    return fine;
}

typedef struct PartRead {
    TinyRun *run;
    const char *path;
} PartRead;

static bool read_in_part(void *argument, Error *e)
{
    const PartRead *a = argument;
    const ModelNote note = {"tiny", "{\"window\": 1}"};
    WeightsPart part = {.map = "blocks.0=blocks.1,logits=blocks.0"};
    bool fine = weights_read(&a->run->trainer.weights, a->run->trainer.worker[0].stream, a->path, NULL, &note, &part,
                             e);
    buffer_free(&part.report);
    return fine;
}

START_TEST(each_allocation_of_reading_a_part_may_fail)
{
    TinyRun r;
    Made m;
    WeightsPart part = {.map = NULL};
    Error e;
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    make(&m, &r);
    ck_done(read_part(&m, &r, &part, "{\"window\": 2}", "{}", &e), e);
    buffer_free(&part.report);
    fail_each_allocation(read_in_part, &(PartRead){&r, m.path});
    memory_free(m.zeros);
    tiny_run_close(&r);
}

START_TEST(each_allocation_may_fail_and_nothing_is_kept)
{
    static char folder[600];
    snprintf(folder, sizeof folder, "%s", test_folder());
    fail_each_allocation(build_save_and_load, folder);
}

static bool train_a_little(void *argument, Error *e)
{
    TinyRun *r = argument;
    r->loop.at = (Progression){.step = 0};
    return loop_run(&r->loop, e);
}

START_TEST(each_allocation_of_a_training_may_fail)
{
    TinyRun r;
    LoopOptions o = {.schedule = {.kind = SCHEDULE_CONSTANT, .rate = 1e-3}, .steps = 2, .eval_every = 1};
    tiny_run_open(&r, run_path(), &tiny_standard, &o);
    for (uint64_t n = 1;; n++) { /* the log is opened again each time, hence not fail_each_allocation */
        Error e = {{0}};
        size_t before = memory_in_use();
        uint64_t asked = memory_requests();
        memory_fail_at(n);
        bool done = train_a_little(&r, &e), met = memory_requests() - asked >= n;
        memory_fail_at(0);
        if (r.run->log)
            fclose(r.run->log);
        r.run->log = NULL;
        ck_assert_msg(done != met, "allocation %d: %s", (int)n, e.text);
        ck_assert_uint_eq(memory_in_use(), before);
        if (!met)
            break;
        ck_assert(e.text[0] != 0);
    }
    tiny_run_close(&r);
}

static const Test tests[] = {TEST(what_was_saved_comes_back_to_the_bit),
                             TEST(lazy_rows_catch_up_before_they_are_saved),
                             TEST(a_missing_tensor_is_named),
                             TEST(a_tensor_too_many_is_named),
                             TEST(a_wrong_shape_is_shown_beside_the_right_one),
                             TEST(a_tied_table_is_found_under_either_name),
                             TEST(what_is_not_what_was_saved_is_refused),
                             TEST(weights_of_another_architecture_are_refused_though_their_shapes_fit),
                             TEST(what_fits_is_read_and_the_rest_is_told),
                             TEST(where_only_shapes_differ_two_of_them_are_told),
                             TEST(a_part_that_would_mean_something_else_is_refused),
                             TEST(numbers_in_bf16_come_back_with_the_weights),
                             TEST(a_state_that_lacks_something_is_refused),
                             TEST(each_allocation_of_reading_a_part_may_fail),
                             TEST_SLOW(each_allocation_may_fail_and_nothing_is_kept, 180),
                             TEST_SLOW(each_allocation_of_a_training_may_fail, 180)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("train/checkpoint", tests, sizeof tests / sizeof *tests, argc, argv);
}
