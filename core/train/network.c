/* See network.h. */
#include "core/train/network.h"

bool network_suits(const SharedOptions *o, Error *e)
{
    if (!o->head_size && o->dim % o->heads)
        return fail(e, "--dim %zu cannot be shared out among --heads %zu; give --head-size, or a multiple", o->dim,
                    o->heads);
    if (o->attention == ATTENTION_FUSED && !score_is_dot((Score)o->score))
        return fail(e,
                    "--score %s is no dot product, which is all that fused attention knows: give --attention composed",
                    score_name((Score)o->score));
    return o->attention == ATTENTION_FUSED || o->distances == DISTANCE_NONE ||
           fail(e, "--attention composed knows no distances: give --distances none, or --attention fused");
}

BlockOptions network_block(const SharedOptions *o)
{
    size_t key_size = o->head_size ? o->head_size : o->dim / o->heads;
    return (BlockOptions){.attention = {.dim = o->dim,
                                        .heads = o->heads,
                                        .key_size = key_size,
                                        .value_size = o->value_size ? o->value_size : key_size,
                                        .bias = o->bias,
                                        .composed = o->attention == ATTENTION_COMPOSED,
                                        .score = (Score)o->score,
                                        .dropout = o->attention_dropout,
                                        .distances = {(DistanceKind)o->distances, .reach = o->context - 1}},
                          .ff = o->ff ? o->ff : 4 * o->dim,
                          .activation = (Activation)o->activation,
                          .norm = (NormPlace)o->norm,
                          .norm_kind = (NormKind)o->norm_kind,
                          .dropout = o->dropout,
                          .ff_dropout = o->ff_dropout};
}
