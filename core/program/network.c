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
        return fail(e, "--heads %zu cannot be shared out among --kv-heads %zu; give one that divides it", o->heads,
                    o->kv_heads);
    if (o->device == DEVICE_MINE && o->kv_heads)
        return fail(e, "--device mine does not support --kv-heads, which no lesson asks for");
    if (o->device == DEVICE_MINE && (o->activation == ACTIVATION_SILU || o->activation == ACTIVATION_RELU2))
        return fail(e, "--device mine supports --activation relu, gelu and gelu-tanh; no lesson asks for another");
    if (o->qk_norm_kind && !o->qk_norm)
        return fail(e, "--qk-norm-kind belongs to --qk-norm, which is missing");
    if (o->residual_scores && o->attention == ATTENTION_FUSED)
        return fail(e, "--residual-scores needs the scores of the block before, which fused attention does not keep: "
                       "give --attention composed");
    if (o->macaron && o->norm == NORM_PARALLEL)
        return fail(e, "--macaron has branches one after another, --norm parallel has them side by side: give another "
                       "--norm");
    if (o->attention == ATTENTION_FUSED && !score_is_dot((Score)o->score))
        return fail(
            e,
            "--score %s is not a dot product, the only score that fused attention computes: give --attention composed",
            score_name((Score)o->score));
    if (o->window_pattern &&
        (!o->window || !*o->window_pattern || strspn(o->window_pattern, "SL") != strlen(o->window_pattern)))
        return fail(e,
                    "--window-pattern '%s': expected letters S (a block sees --window keys) and L (it sees all), such "
                    "as SSSL, and a --window",
                    o->window_pattern);
    if (o->skip_blocks && !stack_can_skip(o->skip_blocks, o->depth))
        return fail(e, "--skip-blocks '%s': expected numbers of blocks, such as 1,3, from 0 to %zu", o->skip_blocks,
                    o->depth - !!o->depth);
    return mup_suits(o, e) &&
           (o->attention == ATTENTION_FUSED || o->distances == DISTANCE_NONE ||
            fail(e, "--attention composed does not support distances: give --distances none, or --attention fused"));
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
    p->branch_init = (BranchInit)o->branch_init;
}

BlockOptions network_block(const SharedOptions *o)
{
    size_t key_size = o->head_size ? o->head_size : o->dim / o->heads;
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
                                        .dropout = o->attention_dropout,
                                        .rotary = {.context = o->positions == POSITIONS_ROTARY ? o->context : 0,
                                                   .base = o->rotary_base,
                                                   .share = o->rotary_share,
                                                   .stretch = o->rotary_stretch,
                                                   .ntk = o->rotary_scaling},
                                        .distances = {(DistanceKind)o->distances, .reach = o->context - 1}},
                          .ff = o->ff ? o->ff : 4 * o->dim,
                          .activation = (Activation)o->activation,
                          .gate = o->gate,
                          .norm = (NormPlace)o->norm,
                          .norm_kind = (NormKind)o->norm_kind,
                          .macaron = o->macaron,
                          .dropout = o->dropout,
                          .branch_dropout = o->branch_dropout,
                          .ff_dropout = o->ff_dropout};
}

EmbeddingOptions network_embedding(const SharedOptions *o, size_t vocabulary)
{
    return (EmbeddingOptions){.vocabulary = vocabulary,
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
                          .window_pattern = o->window_pattern,
                          .skip_blocks = o->skip_blocks,
                          .embedding_norm = o->embedding_norm,
                          .residual_scores = o->residual_scores,
                          .blocks = blocks,
                          .norm = norm,
                          .skip = (Skip)o->skip};
}
