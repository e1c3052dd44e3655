/* A mixture of experts (Shazeer et al. 2017): several networks, a few of which are chosen for each position.
 *
 *     scores = router(x)        the k experts with the largest scores are chosen
 *     y = sum over the chosen e of weight_e f_e(x)
 *     weights: k = 1, the chosen one's share of softmax(scores) (Switch Transformer, Fedus et al. 2021); else the softmax
 *     of the chosen scores (Mixtral, Jiang et al. 2024)
 *
 * No expert has a capacity, and none drops a position: a position's result depends on no other position. FLOP are those
 * of k experts, however many there are.
 *
 * While training, a load loss keeps experts equally busy: `load_loss` E sum over e of f_e P_e for each position, where
 * f_e is e's share of the choices in the position's row, and P_e the mean of its softmax there. Each row has its own
 * (DeepSeek-V3, 2024), so the loss does not depend on how a batch is cut. A row counts as much as it has targets, like the
 * loss itself, whose mean over targets grows by `load_loss` if all are equally busy. */
#ifndef CORE_NN_EXPERTS_H
#define CORE_NN_EXPERTS_H

#include "core/nn/linear.h"

enum { EXPERTS_MOST = 64 };

typedef struct ExpertsOptions {
    size_t count, chosen; /* count 0: there are none */
    double load_loss;
} ExpertsOptions;

typedef struct Experts {
    ExpertsOptions options;
    Linear router; /* weight [E,D] */
} Experts;

/* prefix: "blocks.0.ff", for .router.weight */
Experts experts_new(Parameters *p, const ExpertsOptions *o, size_t dim, const char *prefix);

/* The maps of all experts, one below another, PREFIX.experts.0.NAME.weight and so on, without biases. last: of a
 * branch. beta: factor of their initial values; 0: none. */
Linear experts_map(Parameters *p, const Experts *x, size_t in, size_t out, const char *prefix, const char *name,
                   bool last, double beta);

/* The experts of each position; on the device, until the reset. */
typedef struct Routes {
    size_t experts;
    Tensor *weights; /* [N,k] */
    int32_t *slot;   /* [N,k] of each choice among M = N k, sorted by expert */
    int32_t *from;   /* [M] the position of each */
    int32_t *start;  /* [E+1] where each expert's slots begin */
} Routes;

/* rows: those of x [N,D], for a load loss; NULL: there is none. Returns what the slots read, [M,D]. */
Tensor *experts_enter(Tape *t, const Experts *x, Tensor *in, const Attend *rows, Routes *routes);

/* [M,I] to [M,O], by each slot's expert. */
Tensor *experts_linear(Tape *t, const Linear *l, Tensor *x, const Routes *routes);

/* [M,D] to weighted sums [N,D]. */
Tensor *experts_leave(Tape *t, Tensor *y, const Routes *routes);

#endif
