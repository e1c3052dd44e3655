/* See reference.h. */
#include "tests/reference.h"

#include "base/memory.h"
#include "core/nn/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const SafeTensor *find(const Reference *f, const char *name)
{
    const SafeTensor *t = safetensors_find(f->file, name);
    ck_assert_msg(t, "the fixture has no tensor '%s'", name);
    return t;
}

static int32_t *integers(const Reference *f, const char *name, size_t *count)
{
    Error e;
    const SafeTensor *t = find(f, name);
    *count = safe_elements(t);
    int32_t *values = memory_get(*count, sizeof *values);
    ck_assert_ptr_nonnull(values);
    ck_done(safetensors_read(f->file, t, SAFE_I32, values, *count, &e), e);
    return values;
}

double *reference_reals(const Reference *f, const char *name, size_t *count)
{
    Error e;
    const SafeTensor *t = find(f, name);
    *count = safe_elements(t);
    double *values = memory_get(*count, sizeof *values);
    ck_assert_ptr_nonnull(values);
    ck_done(safetensors_read(f->file, t, SAFE_F64, values, *count, &e), e);
    return values;
}

const char *reference_text(const Reference *f, const char *key)
{
    const char *text = safetensors_text(f->file, key);
    ck_assert_msg(text, "the fixture's metadata has no '%s'", key);
    return text;
}

double reference_number(const Reference *f, const char *key)
{
    char *end;
    const char *text = reference_text(f, key);
    double value = strtod(text, &end);
    ck_assert_msg(*text && !*end, "the fixture's '%s' is no number: %s", key, text);
    return value;
}

static void read_side(const Reference *f, size_t number, size_t side, Batch *b)
{
    char name[64];
    size_t starts, positions, targets;
    snprintf(name, sizeof name, "batch%zu.side%zu.start", number, side);
    int32_t *start = integers(f, name, &starts);
    snprintf(name, sizeof name, "batch%zu.side%zu.ids", number, side);
    int32_t *ids = integers(f, name, &positions);
    snprintf(name, sizeof name, "batch%zu.side%zu.targets", number, side);
    int32_t *wanted = integers(f, name, &targets);
    ck_assert(positions == targets && positions == (size_t)start[starts - 1]);
    for (size_t r = 0; r + 1 < starts; r++)
        batch_row(b, side, (size_t)(start[r + 1] - start[r]));
    memcpy(b->side[side].ids, ids, positions * sizeof *ids);
    memcpy(b->side[side].targets, wanted, positions * sizeof *wanted);
    memory_free(start);
    memory_free(ids);
    memory_free(wanted);
}

Reference reference_open(const char *name, size_t sides)
{
    Reference f = {0};
    Error e;
    char path[128];
    snprintf(path, sizeof path, "tests/fixtures/%s.safetensors", name);
    ck_done(safetensors_open(&f.file, path, &e), e);
    f.batch_count = (size_t)reference_number(&f, "batches");
    ck_assert(f.batch_count <= REFERENCE_BATCHES);
    for (size_t i = 0; i < f.batch_count; i++) {
        ck_done(batch_open(&f.batch[i], &(BatchSize){sides, 8, {64, 64, 64}, 0, 0}, &e), e);
        for (size_t side = 0; side < sides; side++)
            read_side(&f, i, side, &f.batch[i]);
    }
    return f;
}

void reference_close(Reference *f)
{
    for (size_t i = 0; i < f->batch_count; i++)
        batch_close(&f->batch[i]);
    safetensors_close(f->file);
}

int reference_choice(const Reference *f, const char *key, const char *const *names)
{
    int i = 0;
    while (names[i] && strcmp(names[i], reference_text(f, key)) != 0)
        i++;
    ck_assert_msg(names[i], "the fixture's '%s' is unknown", key);
    return i;
}

static size_t whole(const Reference *f, const char *key) { return (size_t)reference_number(f, key); }

/* Of options that few fixtures have: 0 where there is none. */
static size_t rare(const Reference *f, const char *key) { return safetensors_text(f->file, key) ? whole(f, key) : 0; }

static int norm_kind(const Reference *f)
{
    static const char *const kinds[] = {"layer", "rms", "rms-plain", "scale", "tanh", NULL};
    const char *rms = safetensors_text(f->file, "rms");
    if (safetensors_text(f->file, "norm-kind"))
        return reference_choice(f, "norm-kind", kinds);
    return !rms ? NORM_LAYER : strcmp(rms, "plain") == 0 ? NORM_RMS_PLAIN : NORM_RMS;
}

static int distances(const Reference *f)
{
    static const char *const kinds[] = {"none", "bias", "alibi", "keys", "xl", "buckets", "t5", "mlp", NULL};
    if (safetensors_text(f->file, "distances"))
        return reference_choice(f, "distances", kinds);
    return rare(f, "t5")             ? DISTANCE_T5
           : rare(f, "alibi-heads")  ? DISTANCE_ALIBI
           : rare(f, "distance-mlp") ? DISTANCE_MLP
                                     : DISTANCE_NONE;
}

SharedOptions reference_options(const Reference *f)
{
    static const char *const activations[] = {"relu", "gelu", "gelu-tanh", "tanh", "sigmoid", "silu", "relu2", NULL};
    static const char *const norms[] = {"post", "pre", "sandwich", "parallel", "deepnorm", "residual", NULL};
    static const char *const positions[] = {
        "none", "learned", "sinusoid", "rotary", "sinusoid-halves", "sinusoid-slower", NULL};
    static const char *const scores[] = {"scaled-dot", "dot", "bilinear", "additive", NULL};
    static const char *const skips[] = {"none", "x0", "unet", NULL};
    static const char *const patterns[] = {"none", "local", "strided", "fixed", NULL};
    return (SharedOptions){
        .dim = whole(f, "dim"),
        .heads = whole(f, "heads"),
        .kv_heads = rare(f, "kv-heads"),
        .head_size = whole(f, "head-size"),
        .value_size = whole(f, "value-size"),
        .depth = whole(f, "depth"),
        .ff = whole(f, "ff"),
        .context = whole(f, "context"),
        .window = whole(f, "window"),
        .window_pattern = safetensors_text(f->file, "window-pattern"),
        .loops = rare(f, "loops"),
        .norm_epsilon = safetensors_text(f->file, "norm-epsilon") ? reference_number(f, "norm-epsilon") : 0,
        .embedding_norm = rare(f, "embedding-norm"),
        .activation = reference_choice(f, "activation", activations),
        .norm = reference_choice(f, "norm", norms),
        .norm_kind = norm_kind(f),
        .positions = reference_choice(f, "positions", positions),
        .rotary_base = (double)rare(f, "rotary-base"),
        .rotary_share = (double)rare(f, "rotary-percent") / 100,
        .rotary_stretch = (double)rare(f, "rotary-stretch"),
        .rotary_scaling = (int)rare(f, "rotary-ntk"),
        .distances = distances(f),
        .alibi_heads = rare(f, "alibi-heads"),
        .adaptive_span = (double)rare(f, "adaptive-span"),
        .score_cap = (double)rare(f, "score-cap"),
        .logit_cap = (double)rare(f, "logit-cap"),
        .sink_score = rare(f, "sink-score"),
        .value_gate = rare(f, "value-gate"),
        .attention = (int)rare(f, "composed"),
        .score = safetensors_text(f->file, "score") ? reference_choice(f, "score", scores) : 0,
        .talking_heads = rare(f, "talking-heads"),
        .top_keys = rare(f, "top-keys"),
        .sigmoid_attention = rare(f, "sigmoid-attention"),
        .memory_keys = rare(f, "memory-keys"),
        .sinks = rare(f, "sinks"),
        .sparse = safetensors_text(f->file, "sparse") ? reference_choice(f, "sparse", patterns) : 0,
        .stride = rare(f, "stride"),
        .sparse_block = rare(f, "sparse-block"),
        .bias = whole(f, "bias"),
        .tie = whole(f, "tie"),
        .gate = rare(f, "gate"),
        .registers = rare(f, "registers"),
        .memory = rare(f, "memory"),
        .ngrams = rare(f, "ngrams"),
        .ngram_rows = rare(f, "ngram-rows"),
        .experts = rare(f, "experts"),
        .chosen_experts = rare(f, "chosen-experts"),
        .load_loss = (double)rare(f, "load-permille") / 1000,
        .qk_norm = rare(f, "qk-norm") || rare(f, "qk-cosine"),
        .qk_norm_kind = (int)rare(f, "qk-cosine"),
        .macaron = rare(f, "macaron"),
        .residual_scores = rare(f, "residual-scores"),
        .bias_free = rare(f, "no-bias"),
        .value_residual = rare(f, "value-residual"),
        .skip = safetensors_text(f->file, "skip") ? reference_choice(f, "skip", skips) : SKIP_NONE,
        .smoothing = reference_number(f, "smoothing"),
        .z_loss = (double)rare(f, "z-loss-permille") / 1000};
}

void reference_compose(SharedOptions *o)
{
    if (o->distances == DISTANCE_NONE && !o->sink_score && !(o->adaptive_span > 0))
        o->attention = ATTENTION_COMPOSED;
}

void reference_weights(const Reference *f, TrainerFixture *fixture)
{
    const Weights *w = &fixture->trainer.weights;
    SafeType as = w->k->real == sizeof(double) ? SAFE_F64 : SAFE_F32;
    for (size_t i = 0; i < w->parameters->count; i++) {
        Error e;
        const Parameter *p = w->parameters->list[i];
        if (p->role == ROLE_CONSTANT)
            continue;
        const SafeTensor *t = find(f, p->name);
        ck_assert_msg((int)t->rank == p->rank && t->shape[0] == p->shape[0] &&
                          (t->rank < 2 || t->shape[1] == p->shape[1]),
                      "%s has another shape in the fixture", p->name);
        void *values = memory_get(p->count, w->k->real);
        ck_assert_ptr_nonnull(values);
        ck_done(safetensors_read(f->file, t, as, values, p->count, &e), e);
        weights_set(&fixture->trainer.weights, fixture->trainer.worker[0].stream, p, values);
        memory_free(values);
    }
}

/* Integers times a scale; a table that is only looked up has its first rows there, and the others are 0. */
double *reference_gradient(const Reference *f, const Parameters *p)
{
    double *gradient = memory_get(p->size, sizeof *gradient);
    ck_assert_ptr_nonnull(gradient);
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        char name[128];
        size_t count, scales;
        if (one->role == ROLE_CONSTANT)
            continue;
        snprintf(name, sizeof name, "gradient/%s", one->name);
        int32_t *values = integers(f, name, &count);
        snprintf(name, sizeof name, "scale/%s", one->name);
        double *scale = reference_reals(f, name, &scales);
        ck_assert(scales == 1 && (count == one->count || (one->role == ROLE_LOOKUP && count < one->count)));
        for (size_t j = 0; j < count; j++)
            gradient[one->offset + j] = values[j] * *scale;
        memory_free(values);
        memory_free(scale);
    }
    return gradient;
}
