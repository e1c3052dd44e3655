/* The part of `encdec baseline` that scores trees. */
#ifndef ENCDEC_BASELINE_TREES_H
#define ENCDEC_BASELINE_TREES_H

#include "encdec/encdec.h"

/* Prints how well trees of --split are found by what learns from the treebank's training part; or, with --file, the trees
 * that its grammar has for the sentences of a text, a line each. */
bool baseline_trees(EncDec *c, Error *e);

#endif
