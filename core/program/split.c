/* See split.h. */
#include "core/program/split.h"

#define THREE                                                                                                          \
    {"train", SPLIT_TRAIN}, {"valid", SPLIT_VALID}, { "test", SPLIT_TEST }
const OptionChoice split_choices[] = {THREE, {NULL, 0}};
const OptionChoice split_or_all_choices[] = {THREE, {"all", SPLIT_ALL}, {NULL, 0}};

const char *split_name(Split split) { return split_or_all_choices[split].name; }
