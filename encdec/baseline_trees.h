/* The part of `encdec baseline` that scores trees. */
#ifndef ENCDEC_BASELINE_TREES_H
#define ENCDEC_BASELINE_TREES_H

#include "base/error.h"
#include "core/program/split.h"

/* Prints how well trees of the split are found by what learns from the treebank's training part. */
bool baseline_trees(const char *path, Split split, bool json, Error *e);

#endif
