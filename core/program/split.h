/* The parts that all data has: one to train on, one to validate with, one to test with. */
#ifndef CORE_PROGRAM_SPLIT_H
#define CORE_PROGRAM_SPLIT_H

#include "core/cli/options.h"

typedef enum Split { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST, SPLITS, SPLIT_ALL = SPLITS } Split;

const char *split_name(Split split); /* "train", "valid", "test", "all" */

extern const OptionChoice split_choices[];        /* of --split: train, valid, test */
extern const OptionChoice split_or_all_choices[]; /* and all, where parts follow one another */

#endif
