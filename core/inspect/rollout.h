/* Attention rollout (Abnar and Zuidema 2020): how much of each token's vector comes from which token, all layers taken
 * together, as if nothing but attention moved anything and half of each vector came past it.
 *
 *     A_l = (mean over heads of W_l + I) / 2, rows made to sum to 1        R = A_L ... A_2 A_1
 *
 * It knows nothing of values, feed-forward networks and norms: a rough picture of where information can come from, not
 * of what decided. */
#ifndef CORE_INSPECT_ROLLOUT_H
#define CORE_INSPECT_ROLLOUT_H

#include "core/inspect/maps.h"

/* R [T,T] of self-attention, to be freed with memory_free. */
bool rollout(const Maps *m, float **r, Error *e);

#endif
