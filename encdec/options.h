/* encdec's options and presets. */
#ifndef ENCDEC_OPTIONS_H
#define ENCDEC_OPTIONS_H

#include "core/program/shared.h"

enum {
    COMMAND_BLEU = COMMAND_APART,
    COMMAND_IMPORT = COMMAND_APART << 1,
    COMMAND_VOCAB = COMMAND_OWN,
    COMMAND_SUBWORDS = COMMAND_OWN << 1,
    COMMAND_BASELINE = COMMAND_OWN << 2
};

enum { MAPS_CROSS, MAPS_ENCODER, MAPS_DECODER }; /* whose: --maps */

enum { BEAM_SHRINKS, BEAM_FULL }; /* --beam-rule */

enum { EXPORT_CTRANSLATE2 = 1, EXPORT_ONNX, EXPORT_HF }; /* 0: none given */

typedef struct EncdecOptions {
    SharedOptions shared;
    /* data */
    const char *source, *target;
    const char *file[3][2]; /* parts and sides as in source.h */
    int type, tokens;
    size_t size, merges, threshold, longest, batch_tokens, micro_tokens;
    double bpe_dropout, guided;
    size_t guided_layer, guided_head;
    const char *alignments;
    bool lower, by_length;
    bool trees, word_positions, keep_outer, keep_functions, keep_traces;
    int leaves;
    size_t train_trees, recombine;
    const char *more_trees;
    const char *codes, *vocabulary;
    /* subwords of a text */
    const char *out;
    size_t threads;
    bool join;
    /* model */
    size_t decoder_depth;
    bool plain_embeddings, logits_bias, two_vocabularies, normalize_punctuation;
    /* scoring */
    int split;
    bool bleu;
    size_t bleu_sentences;
    /* translating */
    size_t beam, nbest, max_extra, max_tokens, chunk, beam_groups, no_repeat, top_k;
    int beam_rule;
    double alpha, diversity, temperature, top_p;
    bool sample;
    const char *prefixes, *translations, *ensemble;
    int format, exported;
    bool scores, pretty, well_formed, split_words;
    const char *input;
    /* looking */
    const char *target_text;
    int maps;
    bool align;
    /* averaging */
    size_t last;
    /* comparing */
    bool lowercase, paired;
    /* bench */
    size_t length;
} EncdecOptions;

extern const Program encdec_program; /* without its commands, which main.c has */
extern const Option encdec_options[];
extern const size_t encdec_option_count;

/* What a preset takes for a batch, for which the schedule of its learning rate was chosen; NULL: none was asked for,
 * and defaults are those of base. */
size_t preset_batch_tokens(const char *preset);

#endif
