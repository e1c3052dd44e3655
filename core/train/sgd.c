/* Stochastic gradient descent with momentum: v = momentum v + g, w -= rate (v + decay w).
 *
 * That is Adam whose second moment stays 0: with beta1 = momentum, m = (1 - momentum) v is a moving mean of gradients,
 * correction1 = 1 - momentum makes v of it, and with beta2 = epsilon = correction2 = 1 the root that Adam divides by is
 * 0 + 1. So each backend has it, rows of tables that no batch reads rest as they do under Adam, and there is no second
 * block. */
#include "core/train/adam.h"

static void configure(OptimizerOptions *o) { o->adam = (Adam){.beta1 = o->momentum, .beta2 = 1, .epsilon = 1}; }

static void begin(const Adam *adam, StepState *state, uint64_t step)
{
    (void)step;
    state->correction1 = 1 - adam->beta1;
    state->correction2 = 1;
}

const OptimizerKind sgd_optimizer = {.name = "sgd",
                                     .holds = "SGD's momentum",
                                     .blocks = 1,
                                     .saved = {"sgd.m."},
                                     .of_gradient = true,
                                     .traffic = 4,
                                     .configure = configure,
                                     .open = adam_open,
                                     .close = adam_close,
                                     .begin = begin,
                                     .step = adam_step,
                                     .flush = adam_flush,
                                     .after_load = adam_after_load};
