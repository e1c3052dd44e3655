/* Does a network come out right? For one Sketch:
 *
 *     slopes      in f64 the gradient of each parameter is that of central differences, along a direction of its own
 *     rounding    each backend is as near to f64 as rounding in its type leaves it: losses, and each
 *                 parameter's gradient
 *     bits        computed again (KEEP_INPUTS), or by a larger team, it gives the same bits
 *     memory      a walk over shapes has found exactly the memory that it used
 *                 and one for longer rows suffices
 *
 * How far a backend may be off: a share of the tensor's largest value (and no less than a hundredth of the largest of
 * all gradients, because terms may cancel). Where it is farther off, the network may magnify rounding; then f64 tells how
 * much: it is run with weights that are off by about as much as numbers of that type are. Where keys or experts are chosen
 * and a choice is not clear, only bits and memory are judged: rounding may choose otherwise. */
#ifndef TESTS_HUNT_JUDGE_H
#define TESTS_HUNT_JUDGE_H

#include "tests/hunt/scene.h"

enum { WHY = 256 };

/* backends: NULL after the last; bf16 is left out where the network is not smooth, because a kink may be on either
 * side. false: why says what is wrong. */
bool judge(const Sketch *s, const Kernels *const *backends, char why[WHY]);

/* The same in a process of its own, so that one that stops (an assert) or never ends is a finding, too. */
bool judge_apart(const Sketch *s, const Kernels *const *backends, char why[WHY]);

/* Operations taken out, options off and rows shorter, for as long as something is wrong with what is left. */
Sketch shrink(const Sketch *s, const Kernels *const *backends, char why[WHY]);

/* All that this build has in f32 and bf16. */
const Kernels *const *judged_backends(void);

/* The largest difference over a parameter's gradient, or over the losses; b NULL: 0. */
double gradient_apart(const Parameter *p, const Outcome *a, const Outcome *b);
double losses_apart(const Outcome *a, const Outcome *b);

#endif
