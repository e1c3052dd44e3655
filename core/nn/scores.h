/* How well a query fits a key: attention composed from small operations, with a score to choose.
 *
 * A new score is one function that makes scores [B*H*T, S] from padded queries and keys; it then runs on every twin,
 * with gradients, masks, dropout and caches. */
#ifndef CORE_NN_SCORES_H
#define CORE_NN_SCORES_H

#include "core/tensor/tape.h"

typedef enum Score { SCORE_SCALED_DOT, SCORE_DOT } Score;

/* The factor of q . k */
double score_scale(Score score, size_t key_size);

/* The same as fused attention: q [N,H*dk], k [keys,H*dk], v [keys,H*dv] to [N,H*dv]; lengths, offsets, windows, blocks
 * and dropout, but no distances and no biases of queries (asserted). */
Tensor *attend_composed(Tape *t, Tensor *q, Tensor *k, Tensor *v, const Attend *how);

#endif
