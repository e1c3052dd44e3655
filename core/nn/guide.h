/* Guided alignment (Chen et al. 2016): a head of a decoder's attention learns to look where it is told, by one more loss,
 *
 *     -log softmax(q k^T / sqrt(dk))[key of the query]
 *
 * for each query that has a key; of scores that are capped, if those of attention are. They are computed once more, for
 * this head alone, because attention does not keep them. What else changes weights (scores.h, sinks) is not known here. */
#ifndef CORE_NN_GUIDE_H
#define CORE_NN_GUIDE_H

#include "core/nn/scores.h"

typedef struct Guide {
    size_t layer, head; /* from 0 on */
    const int32_t *key; /* [N] on the device: which key of its row a query should look at; negative: any */
    size_t which;       /* of the step's losses */
} Guide;

/* q [N, H*dk] and k [M, G*dk] as `how` describes them; s: of their attention. Only where there is a backward pass, which
 * computes the loss: a segment may compute its inside twice. */
void guide(Tape *t, const Guide *g, const Scoring *s, Tensor *q, Tensor *k, const Attend *how);

#endif
