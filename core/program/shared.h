/* The options that all programs share. A program adds rows of its own after them, and names each shared row's default
 * where its own differs. */
#ifndef CORE_PROGRAM_SHARED_H
#define CORE_PROGRAM_SHARED_H

#include "core/cli/options.h"

/* The commands that programs have; a program's own ones begin at COMMAND_OWN, and at COMMAND_APART those that read
 * what they are given and no --data. */
enum {
    COMMAND_TRAIN = 1 << 0,
    COMMAND_EVAL = 1 << 1,
    COMMAND_INFO = 1 << 2,
    COMMAND_BENCH = 1 << 3,
    COMMAND_WRITE = 1 << 4,    /* sample, predict, translate: what uses the model */
    COMMAND_TEND = 1 << 5,     /* average: what works on a run's files */
    COMMAND_PLOT = 1 << 6,     /* plot: what draws a run's log */
    COMMAND_HEADS = 1 << 7,    /* heads: what shows a model's inside */
    COMMAND_OWN = 1 << 8,      /* and the five bits above it */
    COMMAND_APART = 1 << 14,   /* and the one above it */
    COMMAND_COMPARE = 1 << 16, /* compare: what puts runs beside each other */
    COMMAND_SWEEP = 1 << 17,   /* sweep: what trains many */
    COMMAND_EXPORT = 1 << 18,  /* export: what writes a run in another format */
    COMMAND_SCORE = 1 << 19    /* score: what the model says of given answers */
};

/* Values of choices that no other header has as an enum. */
enum { ATTENTION_FUSED, ATTENTION_COMPOSED };
enum { PARAMETRIZATION_STANDARD = 1, PARAMETRIZATION_MUP }; /* 0: none given, standard */
enum { DEVICE_CPU, DEVICE_PLAIN, DEVICE_MINE, DEVICE_CUDA, DEVICE_EMULATED, DEVICE_CHECKED };
enum { OVER_STEP, OVER_TOKENS, OVER_TIME };
enum { PLOTTED_PICTURE, PLOTTED_EVENTS };
enum { FIT_NONE, FIT_SCALING };
enum { LOG_AXES_NONE, LOG_AXES_X, LOG_AXES_Y, LOG_AXES_XY };

typedef struct SharedOptions {
    /* model */
    size_t dim, heads, kv_heads, head_size, value_size, depth, ff, context, window, sinks, sparse_block, stride,
        alibi_heads, top_keys, memory_keys, base_width, loops, experts, chosen_experts, registers, memory, ngrams,
        ngram_rows;
    int parametrization, activation, norm, norm_kind, qk_norm_kind, positions, distances, attention, score, sparse,
        skip, rotary_scaling; /* enums; see shared.c */
    bool bias, bias_free, tie, gate, macaron, residual_scores, qk_norm, value_residual, embedding_norm, sink_score,
        value_gate, talking_heads, sigmoid_attention;
    const char *window_pattern, *skip_blocks;
    double norm_epsilon, rotary_base, rotary_share, rotary_stretch, score_cap, logit_cap, adaptive_span;
    /* training */
    const char *data, *from, *map, *betas, *groups, *save_every, *lr_end;
    size_t batch, micro_batch, steps, epochs, warmup, decay_steps, lr_patience, newton_schulz, eval_every, keep,
        patience, seed, workers, shares, team;
    double minutes, lr, ema, momentum, epsilon, decay, clip, dropout, attention_dropout, ff_dropout, branch_dropout,
        smoothing, z_loss, load_loss, span_loss, r_drop, word_dropout, ngram_dropout;
    int init, branch_init, schedule, optimizer, device, precision;
    bool recompute, shard;
    /* here */
    const char *wait, *tuning, *run, *resume, *weights, *preset, *config, *dump_logits, *coordinates;
    bool dry_run, find_lr, quiet, json, profile;
    /* pictures */
    const char *out, *size, *terminal, *compare, *what;
    int over, log, plotted;
    bool apart, watch;
    /* comparisons */
    const char *at, *against, *tuned, *along;
    int figure, format, fit;
    bool last, each;
    /* sweeps */
    const char *known;
    size_t jobs;
} SharedOptions;

/* The rows, with offsets into a SharedOptions. */
extern const Option shared_options[];
extern const size_t shared_option_count;

/* The name of a device as kernels_find knows it. */
const char *device_name(int device);
const char *schedule_name(int schedule);

/* "N" steps or "10m", "90s", "2h" of time; NULL: neither. */
bool parse_every(const char *text, size_t *steps, double *seconds, Error *e);

/* "90s", "10m" or "2h", of --wait. */
bool parse_time(const char *text, double *seconds, Error *e);

/* A part of the learning rate, 0 to 1. */
bool parse_part(const char *text, double *part, Error *e);

/* "0.9,0.999" */
bool parse_betas(const char *text, double *beta1, double *beta2, Error *e);

#endif
