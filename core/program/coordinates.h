/* PROGRAM train --coordinates: how much activations change in a few steps, over the width of the model: the check of a
 * parametrization (Yang et al. 2022, appendix D.1). */
#ifndef CORE_PROGRAM_COORDINATES_H
#define CORE_PROGRAM_COORDINATES_H

#include "core/program/app.h"

/* Whether the options go together. */
bool coordinates_suit(App *a, Error *e);

/* Trains each width with each parametrization from its first weights, and compares what operations make of the first
 * batch before and after. open: data and model as the options say; what is open is closed before. */
bool coordinates_compare(App *a, bool (*open)(App *a, Error *e), Error *e);

#endif
