/* Options of the command line that would do nothing beside the others. Presets, files and stored runs may have more than is
 * used: they are written for several optimizers and schedules, and a run may continue with another one. */
#ifndef CORE_PROGRAM_GIVEN_H
#define CORE_PROGRAM_GIVEN_H

#include "core/program/shared.h"

/* Of train, when all sources have been read. False, and the option's name, where one has no effect. */
bool given_suits(const Options *options, const SharedOptions *o, Error *e);

#endif
