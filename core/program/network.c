/* See network.h. */
#include "core/program/network.h"

#include "core/nn/positions.h"

#include <string.h>

static bool mup_suits(const SharedOptions *o, Error *e)
{
    const bool mup = o->parametrization == PARAMETRIZATION_MUP;
    if (mup && !o->base_width)
        return fail(e, "--parametrization mup needs --base-width: the --dim at which it is the same as standard");
    if (!mup && o->base_width)
        return fail(e, "--base-width %zu belongs to --parametrization mup, which is missing", o->base_width);
    return !mup || o->score == SCORE_SCALED_DOT ||
           fail(e, "--parametrization mup scales dot products by their width: give --score scaled-dot");
}

/* What only one of the two ways to compute attention knows. */
static bool ways_suit(const SharedOptions *o, Error *e)
{
    const char *composed = o->talking_heads             ? "--talking-heads"
                           : o->top_keys                ? "--top-keys"
                           : o->sigmoid_attention       ? "--sigmoid-attention"
                           : o->memory_keys             ? "--memory-keys"
                           : o->residual_scores         ? "--residual-scores"
                           : o->score == SCORE_BILINEAR ? "--score bilinear"
                           : o->score == SCORE_ADDITIVE ? "--score additive"
                                                        : NULL,
               *fused = o->distances != DISTANCE_NONE ? "--distances"
                        : o->sink_score               ? "--sink-score"
                        : o->adaptive_span > 0        ? "--adaptive-span"
                                                      : NULL,
               *none = !fused                          ? NULL
                       : o->distances != DISTANCE_NONE ? "give --distances none"
                       : o->sink_score                 ? "leave out --sink-score"
                                                       : "give --adaptive-span 0";
    if (o->attention == ATTENTION_FUSED)
        return !composed || fail(e, "fused attention does not support %s: give --attention composed", composed);
    if (fused && composed)
        return fail(e, "%s needs --attention composed, which does not support %s: %s or leave out %s", composed, fused,
                    none, composed);
    return !fused || fail(e, "--attention composed does not support %s: %s, or give --attention fused", fused, none);
}

static bool attention_suits(const SharedOptions *o, Error *e)
{
    if (o->adaptive_span > 0 && o->score_cap > 0)
        return fail(e,
                    "--score-cap lets no score become -infinity, which --adaptive-span needs: leave out one of them");
    if (o->span_loss > 0 && !(o->adaptive_span > 0))
        return fail(e, "--span-loss belongs to --adaptive-span, which is missing");
    if (o->memory_keys && !score_is_dot((Score)o->score))
        return fail(e, "--memory-keys needs scores that are dot products: give --score scaled-dot or dot");
    if (o->alibi_heads && (o->distances != DISTANCE_ALIBI || o->alibi_heads > o->heads))
        return fail(e, "--alibi-heads %zu: expected --distances alibi, and no more than --heads %zu", o->alibi_heads,
                    o->heads);
    return true;
}

/* In positions; where none is given, such that a query sees the fewest keys: about the root of context times block of
 * its own neighbourhood, and as many elsewhere. */
static size_t stride_of(const SharedOptions *o)
{
    const size_t block = o->sparse_block ? o->sparse_block : 1;
    size_t stride = block;
    while (!o->stride && stride * stride < o->context * block)
        stride += block;
    return o->stride ? o->stride : stride;
}

/* What hides keys. */
static bool mask_suits(const SharedOptions *o, Error *e)
{
    if (o->window_pattern && ((!o->window && !o->sparse) || !*o->window_pattern ||
                              strspn(o->window_pattern, "SL") != strlen(o->window_pattern)))
        return fail(
            e,
            "--window-pattern '%s': expected letters S (a block sees --window keys, or those of --sparse) and L "
            "(it sees all), such as SSSL, and a --window",
            o->window_pattern);
    if (o->sinks && !o->window && !o->sparse)
        return fail(e, "--sinks %zu belongs to --window or --sparse, which is missing", o->sinks);
    if ((o->stride || o->sparse_block) && !o->sparse)
        return fail(e, "--stride and --sparse-block belong to --sparse, which is missing");
    if (o->sparse && o->sparse_block && stride_of(o) % o->sparse_block)
        return fail(e, "--stride %zu is not a multiple of --sparse-block %zu", o->stride, o->sparse_block);
    if (o->device == DEVICE_MINE && (o->sparse || o->sinks || o->score_cap > 0))
        return fail(e, "--device mine supports neither --sparse nor --sinks nor --score-cap; no lesson asks for them");
    return true;
}

/* Positions that attention can reach. */
static size_t reach_of(const SharedOptions *o) { return o->context + o->memory; }

static bool memory_suits(const SharedOptions *o, Error *e)
{
    const char *other = o->registers         ? "registers"
                        : o->ngrams          ? "ngrams"
                        : o->macaron         ? "macaron"
                        : o->value_residual  ? "value-residual"
                        : o->residual_scores ? "residual-scores"
                        : o->skip            ? "skip"
                                             : NULL;
    if (!o->memory)
        return true;
    if (other)
        return fail(e, "--memory does not support --%s", other);
    if (o->memory > o->context)
        return fail(e, "--memory %zu is more than --context %zu: give as much at most", o->memory, o->context);
    return o->positions == POSITIONS_NONE || o->positions == POSITIONS_ROTARY ||
           fail(e, "--memory: positions of a text before are not those of --context: give --positions none or rotary");
}

static size_t chosen_experts(const SharedOptions *o) { return o->chosen_experts ? o->chosen_experts : 2; }

static bool experts_suit(const SharedOptions *o, Error *e)
{
    if ((o->chosen_experts || o->load_loss > 0) && !o->experts)
        return fail(e, "--chosen-experts and --load-loss belong to --experts, which is missing");
    if (o->experts && chosen_experts(o) > o->experts)
        return fail(e, "--chosen-experts %zu are more than --experts %zu", chosen_experts(o), o->experts);
    if (o->experts && o->ff_dropout > 0)
        return fail(e, "--experts does not support --ff-dropout, which would depend on what is chosen");
    return !(o->experts && o->parametrization == PARAMETRIZATION_MUP) ||
           fail(e, "--experts does not support --parametrization mup, which knows no router");
}

/* The gradient of what a later block reads waits until its own block runs backward; a tape has SPACE_BLOCKS places. */
static bool skips_suit(const SharedOptions *o, Error *e)
{
    enum { MOST = 960, SPARE = 32 };
    _Static_assert(MOST / 2 + SPARE <= SPACE_BLOCKS, "a gradient for each block of the earlier half");
    const size_t blocks = o->depth * (o->loops ? o->loops : 1);
    return o->skip != SKIP_UNET || blocks <= MOST ||
           fail(e, "--skip unet supports %d blocks at most, not %zu: give less --depth or --loops", MOST, blocks);
}

bool network_suits(const SharedOptions *o, Error *e)
{
    if (!o->head_size && o->dim % o->heads)
        return fail(e, "--dim %zu is not a multiple of --heads %zu; make it one, or give --head-size", o->dim,
                    o->heads);
    if (o->positions == POSITIONS_ROTARY && network_block(o).attention.key_size % 2)
        return fail(e, "--positions rotary rotates pairs of numbers: give an even --head-size");
    if (o->positions != POSITIONS_ROTARY &&
        (o->rotary_base > 0 || o->rotary_share > 0 || o->rotary_stretch > 0 || o->rotary_scaling))
        return fail(e, "--rotary-base, --rotary-share, --rotary-stretch and --rotary-scaling belong to --positions "
                       "rotary, which is missing");
    if (o->kv_heads && o->heads % o->kv_heads)
        return fail(e, "--heads %zu is not a multiple of --kv-heads %zu; give a number that divides it", o->heads,
                    o->kv_heads);
    if (o->device == DEVICE_MINE && o->kv_heads)
        return fail(e, "--device mine does not support --kv-heads, which no lesson asks for");
    if (o->device == DEVICE_MINE && (o->activation == ACTIVATION_SILU || o->activation == ACTIVATION_RELU2))
        return fail(e, "--device mine supports --activation relu, gelu and gelu-tanh; no lesson asks for another");
    if (o->qk_norm_kind && !o->qk_norm)
        return fail(e, "--qk-norm-kind belongs to --qk-norm, which is missing");
    if (o->norm_epsilon > 0 && (o->norm_kind == NORM_SCALE || o->norm_kind == NORM_TANH))
        return fail(e, "--norm-epsilon belongs to --norm-kind layer, rms and rms-plain: other norms add nothing");
    if (o->registers && o->registers >= o->context)
        return fail(e, "--registers %zu leave none of --context %zu for a text", o->registers, o->context);
    if (o->ngrams && o->word_dropout > 0)
        return fail(e, "--word-dropout does not support --ngrams, which would still tell the words");
    if (o->ngram_rows && !o->ngrams)
        return fail(e, "--ngram-rows belongs to --ngrams, which is missing");
    if (o->ngram_rows == 1)
        return fail(e, "--ngram-rows 1: the first row is for n-grams that are dropped; give at least 2");
    if (o->ngram_dropout > 0 && !o->ngrams)
        return fail(e, "--ngram-dropout belongs to --ngrams, which is missing");
    if (o->macaron && o->norm == NORM_PARALLEL)
        return fail(e, "--macaron has branches one after another, --norm parallel has them side by side: give another "
                       "--norm");
    return ways_suit(o, e) && attention_suits(o, e) && mask_suits(o, e) && skips_suit(o, e) && experts_suit(o, e) &&
           memory_suits(o, e) && mup_suits(o, e);
}

/* How many times as wide as the base of --parametrization mup; 1 without it. */
static double wider(const SharedOptions *o)
{
    return o->parametrization == PARAMETRIZATION_MUP ? (double)o->dim / (double)o->base_width : 1;
}

void network_prepare(Parameters *p, const SharedOptions *o)
{
    p->wider = wider(o);
    p->bias_free = o->bias_free;
    p->norm_epsilon = o->norm_epsilon;
    p->branch_init = (BranchInit)o->branch_init;
}

size_t network_ff(size_t ff, size_t dim, bool gate)
{
    const size_t thirds = 8 * dim / 3, part = 16; /* which products like */
    return ff ? ff : gate ? (thirds < part ? thirds : thirds / part * part) : 4 * dim;
}

bool network_can_skip(const SharedOptions *o, size_t depth, Error *e)
{
    return !o->skip_blocks || stack_can_skip(o->skip_blocks, depth) ||
           fail(e, "--skip-blocks '%s': expected numbers of blocks, such as 1,3, from 0 to %zu", o->skip_blocks,
                depth - !!depth);
}

BlockOptions network_block(const SharedOptions *o)
{
    size_t key_size = o->head_size ? o->head_size : o->dim / o->heads;
    const double passes = (o->loops ? (double)o->loops : 1) * (o->r_drop > 0 ? 2 : 1); /* of a step through a block */
    return (BlockOptions){.attention = {.dim = o->dim,
                                        .heads = o->heads,
                                        .kv_heads = o->kv_heads,
                                        .key_size = key_size,
                                        .value_size = o->value_size ? o->value_size : key_size,
                                        .key_wider = o->head_size ? 1 : wider(o),
                                        .bias = o->bias,
                                        .qk_norm = o->qk_norm,
                                        .qk_cosine = o->qk_norm_kind,
                                        .value_residual = o->value_residual,
                                        .composed = o->attention == ATTENTION_COMPOSED,
                                        .score = (Score)o->score,
                                        .weights = {.cap = o->score_cap,
                                                    .talking = o->talking_heads,
                                                    .top = o->top_keys,
                                                    .sigmoid = o->sigmoid_attention ? reach_of(o) : 0,
                                                    .memory = o->memory_keys},
                                        .sink = o->sink_score,
                                        .gate = o->value_gate,
                                        .dropout = o->attention_dropout,
                                        .rotary = {.context = o->positions == POSITIONS_ROTARY ? reach_of(o) : 0,
                                                   .base = o->rotary_base,
                                                   .share = o->rotary_share,
                                                   .stretch = o->rotary_stretch,
                                                   .ntk = o->rotary_scaling},
                                        .distances = {.kind = (DistanceKind)o->distances,
                                                      .reach = reach_of(o) - 1,
                                                      .heads = o->alibi_heads,
                                                      .span_ramp = o->adaptive_span,
                                                      .span_loss = o->span_loss / passes}},
                          .ff = network_ff(o->ff, o->dim, o->gate),
                          .activation = (Activation)o->activation,
                          .gate = o->gate,
                          .experts = {.count = o->experts, .chosen = chosen_experts(o), .load_loss = o->load_loss},
                          .norm = (NormPlacement)o->norm,
                          .norm_kind = (NormKind)o->norm_kind,
                          .macaron = o->macaron,
                          .dropout = o->dropout,
                          .branch_dropout = o->branch_dropout,
                          .ff_dropout = o->ff_dropout};
}

Ngrams network_ngrams(const SharedOptions *o, size_t side)
{
    enum { STANDARD_ROWS = 65536 };
    return (Ngrams){.longest = o->ngrams > 1 ? o->ngrams : 0,
                    .rows = o->ngram_rows ? o->ngram_rows : STANDARD_ROWS,
                    .side = side,
                    .lead = o->registers};
}

EmbeddingOptions network_embedding(const SharedOptions *o, size_t vocabulary)
{
    return (EmbeddingOptions){.vocabulary = vocabulary + o->registers,
                              .context = o->context,
                              .dim = o->dim,
                              .positions = (Positions)o->positions,
                              .tied = o->tie,
                              .scale = 1,
                              .dropout = o->dropout};
}

StackOptions network_stack(const SharedOptions *o, const char *blocks, const char *norm)
{
    return (StackOptions){.block = network_block(o),
                          .depth = o->depth,
                          .loops = o->loops,
                          .key_mask = {.window = o->window,
                                       .sinks = o->sinks + (o->window || o->sparse ? o->registers : 0),
                                       .pattern = (Pattern)o->sparse,
                                       .block = !o->sparse        ? 0
                                                : o->sparse_block ? o->sparse_block
                                                                  : 1,
                                       .stride = stride_of(o)},
                          .window_pattern = o->window_pattern,
                          .skip_blocks = o->skip_blocks,
                          .embedding_norm = o->embedding_norm,
                          .residual_scores = o->residual_scores,
                          .blocks = blocks,
                          .norm = norm,
                          .skip = (Skip)o->skip};
}
