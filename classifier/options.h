/* classifier's options and presets. */
#ifndef CLASSIFIER_OPTIONS_H
#define CLASSIFIER_OPTIONS_H

#include "core/program/shared.h"

enum { COMMAND_BASELINE = COMMAND_OWN };

typedef struct ClassifierOptions {
    SharedOptions shared;
    /* data */
    const char *text_column, *label_column;
    size_t words, batch_tokens;
    bool final, by_length, cache;
    /* model */
    int pool;
    /* scoring */
    int split;
    size_t mistakes;
    /* predicting */
    const char *file;
    /* looking */
    bool attribution;
} ClassifierOptions;

extern const Program classifier_program; /* without its commands, which main.c has */
extern const Option classifier_options[];
extern const size_t classifier_option_count;

#endif
