/* How each parameter moves: the rate, the decay and the means that an optimizer takes for it.
 *
 * That is one rule and what people say. The rule: all move alike, and matrices decay. People name groups of parameters,
 * and what moves these otherwise:
 *
 *     --groups 'encoder.*:lr=0.1;*embedding*:lr=0;*norm*:decay=0.01,beta2=0.95'
 *
 * A pattern is a shell's (* ? [abc], and * matches dots, too) and must match a whole name; the first that does counts.
 * What a group says nothing of stays as it is:
 *
 *     lr=X      the schedule's rate times X, for decay, too; 0: nothing of it changes, neither weights nor state
 *     decay=X   weight decay; without it --decay, of matrices alone
 *     beta1=X, beta2=X of Adam; momentum=X of SGD
 *
 * The gradient of a parameter that does not move is a part of the norm that --clip limits, as if the rate were small. */
#ifndef CORE_TRAIN_GROUPS_H
#define CORE_TRAIN_GROUPS_H

#include "base/buffer.h"
#include "core/train/optimizer.h"

/* Whether a text (NULL: none) is such a list for this kind of optimizer, and of how many groups. */
bool groups_read(const char *text, int kind, size_t *count, Error *e);

/* Motions of all parameters in the order of p->list, to be freed with memory_free; NULL: an Error, also where a group
 * has no parameter. */
Motion *groups_motions(const OptimizerOptions *o, const Parameters *p, Error *e);

/* A line for each group, and what is in none; nothing where there are no groups. */
bool groups_report(const OptimizerOptions *o, const Parameters *p, Buffer *out, Error *e);

#endif
