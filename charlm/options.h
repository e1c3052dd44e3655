/* charlm's options and presets. */
#ifndef CHARLM_OPTIONS_H
#define CHARLM_OPTIONS_H

#include "core/program/shared.h"
#include "core/program/split.h"

enum { COMMAND_BASELINE = COMMAND_OWN, COMMAND_IMPORT = COMMAND_APART };

enum { EXPORT_NONE, EXPORT_HF, EXPORT_GGUF, EXPORT_ONNX };

enum { STANDARD_MERGES = 4096 };

typedef struct CharlmOptions {
    SharedOptions shared;
    /* tokens */
    int tokens;
    size_t merges;
    const char *vocabulary, *codes;
    /* scoring */
    const char *stride;
    int split;
    size_t bytes, eval_bytes, sample_every;
    bool adapt;
    /* sampling */
    const char *prompt, *prompt_file;
    double temperature, top_p, dynamic;
    size_t length, top_k, count, together;
    bool exact;
    /* export */
    int format;
    /* bench */
    bool sample;
} CharlmOptions;

extern const Program charlm_program; /* without its commands, which main.c has */
extern const Option charlm_options[];
extern const size_t charlm_option_count;

/* "context" or a number from 1 to the context. */
bool parse_stride(const char *text, size_t context, size_t *stride, Error *e);

#endif
