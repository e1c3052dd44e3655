/* How each parameter is updated: the rate, the decay and the betas that an optimizer uses for it.
 *
 * By default all parameters have the same rate and betas, and only matrices decay. --groups names groups of parameters
 * with settings of their own:
 *
 *     --groups 'encoder.*:lr=0.1;*embedding*:lr=0;*norm*:decay=0.01,beta2=0.95'
 *
 * A pattern is a shell's (* ? [abc], and * matches dots, too) and must match a whole name; the first that matches is
 * used. What a group does not set stays as it is:
 *
 *     lr=X      the schedule's rate times X, for decay, too; 0: frozen, neither weights nor state change
 *     decay=X   weight decay; if not given: --decay, of matrices only
 *     beta1=X, beta2=X of Adam and Lion; momentum=X of SGD, and of the matrices that Muon updates
 *
 * muP's factors (core/tensor/parameters.h) multiply these rates: within each group, maps inside a wider model are a group
 * of their own. Their decay grows as their rate shrinks, so that it takes as much of a weight in a step as in the base.
 *
 * A frozen parameter's gradient still counts in the norm that --clip limits, as if its rate were merely small. */
#ifndef CORE_TRAIN_GROUPS_H
#define CORE_TRAIN_GROUPS_H

#include "base/buffer.h"
#include "core/train/optimizer.h"

/* Whether a text (NULL: no groups) is such a list for this kind of optimizer, and how many groups it has. */
bool groups_read(const char *text, int kind, size_t *count, Error *e);

/* Motions of all parameters in the order of p->list, to be freed with memory_free, and how many groups there are. NULL,
 * and an Error, also if a group matches no parameter. */
Motion *groups_motions(const OptimizerOptions *o, const Parameters *p, size_t *groups, Error *e);

/* A line for each group, and one for the parameters in none; nothing if there are no groups. */
bool groups_report(const OptimizerOptions *o, const Parameters *p, Buffer *out, Error *e);

#endif
