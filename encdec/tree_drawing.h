/* A tree as a picture (plots/tree.gp). */
#ifndef ENCDEC_TREE_DRAWING_H
#define ENCDEC_TREE_DRAWING_H

#include "core/program/app.h"
#include "core/text/tree.h"

/* Draws into --out, with its data beside it: a line for each node, and for each word one more. */
bool tree_draw(const App *a, const Tree *t, Error *e);

#endif
