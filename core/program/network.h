/* A network's options as people write them, as core/nn takes them: the same for all programs. */
#ifndef CORE_PROGRAM_NETWORK_H
#define CORE_PROGRAM_NETWORK_H

#include "core/nn/block.h"
#include "core/program/shared.h"

/* Whether they go together. */
bool network_suits(const SharedOptions *o, Error *e);

/* How many times as wide as the base of --parametrization mup; 1 without it. For Parameters, before a model is built. */
double network_wider(const SharedOptions *o);

/* Of a block that sees what is before; distances reach over the whole context. */
BlockOptions network_block(const SharedOptions *o);

#endif
