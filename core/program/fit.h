/* PROGRAM compare --fit scaling: how the loss of runs falls with parameters, data and FLOP. */
#ifndef CORE_PROGRAM_FIT_H
#define CORE_PROGRAM_FIT_H

#include "core/program/app.h"
#include "core/research/compare.h"

/* Whether the options go together with --fit. */
bool fit_suits(const App *a, Error *e);

/* Fits core/research/scaling.h to the end of each run that has the figure; prints, and draws where --out says so. */
bool fit_scaling(const App *a, LogColumn figure, const char *const *runs, size_t count, Error *e);

#endif
