/* What processes that share a step do with each other's sums (base/ranks.h).
 *
 * Each rank has some sums of its own shares (shares.h), each as large as the gradient. A rank adds up one range of all of
 * them, in the order of the tree: the others send it their sums over that range, and then everybody gets the result from
 * it. So each number is added once, in an order that does not depend on how many ranks there are, and each rank sends
 * up to about twice the gradient, however many others there are. Where the optimizer's state is divided among ranks, each
 * needs the gradient only of what it moves, and then sends the weights that it has moved. Tables that are only looked up
 * are exchanged as the rows that the step reads, because a block of gradients has only these.
 *
 * On a host, what a rank adds up is cut into pieces. The others send one as soon as no backward pass of their workers will
 * add to it, while they compute the gradients of what is before it. */
#ifndef CORE_TRAIN_EXCHANGE_H
#define CORE_TRAIN_EXCHANGE_H

#include "base/ranks.h"
#include "core/train/step.h"

/* Nothing where there is one process. Closing what was not opened does nothing. */
bool exchange_open(Trainer *c, Error *e);
void exchange_close(Trainer *c);

/* Before a step: others' sums may come. */
void exchange_begin(Trainer *c);

/* In a worker's last backward pass of a step, after each node; follower: the worker's Part. Pieces that are finished go. */
void exchange_follow(void *follower);

/* By a worker that has computed its part before the others: pieces go meanwhile. */
void exchange_linger(Part *part);

/* Instead of exchange_sums, by one worker of each process, where a step is given up. */
void exchange_give_up(Part *part);

/* By all workers, instead of update_sum: when all have done it, the gradient is that of all processes' shares, at least
 * where this one's optimizer moves weights; and the partial sums of its squares are all there. */
void exchange_sums(Part *part);

/* By all workers, after update_weights, where each process has moved some: from here on all have all of them. */
void exchange_weights(Part *part);

/* By one: what was summed up of losses in all shares of a step that was divided like this. */
void exchange_states(Trainer *c, const Division *d);

/* Bytes that a process sends in a step with these many numbers in its gradient. */
double exchange_bytes(const TrainerOptions *o, const Division *d, const Parameters *p, size_t gradient);

#endif
