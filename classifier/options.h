/* classifier's options and presets. */
#ifndef CLASSIFIER_OPTIONS_H
#define CLASSIFIER_OPTIONS_H

#include "core/program/shared.h"

enum { COMMAND_BASELINE = COMMAND_OWN, COMMAND_IMPORT = COMMAND_APART };

enum { OBJECTIVE_CLASSES = 1, OBJECTIVE_MASKED, OBJECTIVE_VECTORS }; /* 0: none given, classes */
enum { EXPORT_NONE, EXPORT_HF, EXPORT_ONNX };
enum { POOLER_NONE, POOLER_TANH, POOLER_RELU };

typedef struct ClassifierOptions {
    SharedOptions shared;
    /* data */
    const char *text_column, *label_column, *unlabelled, *vocabulary;
    size_t words, batch_tokens, examples, eval_texts, freeze;
    double layer_rate;
    bool final, by_length, cache;
    /* model */
    int pool, pooler, objective, tokens;
    bool marks, segments, next_sentence;
    /* pretraining */
    double mask_share;
    bool whole_words;
    /* scoring */
    int split;
    size_t mistakes;
    const char *ensemble;
    /* predicting */
    const char *file, *vectors;
    size_t guesses;
    int vector, format;
    bool normalize;
    /* looking */
    bool attribution;
} ClassifierOptions;

extern const Program classifier_program; /* without its commands, which main.c has */
extern const Option classifier_options[];
extern const size_t classifier_option_count;

#endif
