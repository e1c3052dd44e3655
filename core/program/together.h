/* Processes that share a run (base/ranks.h) must be the same program, with the same options and data. */
#ifndef CORE_PROGRAM_TOGETHER_H
#define CORE_PROGRAM_TOGETHER_H

#include "core/program/app.h"

/* Compares all ranks; the error names the first that differs from rank 0, and in what. data: NULL, or what is trained on. */
bool together_agree(const App *a, const DataNote *data, Error *e);

#endif
