/* See options.h. */
#include "charlm/options.h"

#include "charlm/tokenizer.h"

#include <stdlib.h>
#include <string.h>

enum {
    TRAIN = COMMAND_TRAIN,
    EVAL = COMMAND_EVAL,
    SAMPLE = COMMAND_WRITE,
    BENCH = COMMAND_BENCH,
    BASELINE = COMMAND_BASELINE,
    BUILD = COMMAND_TRAIN | COMMAND_INFO | COMMAND_BENCH
};

static const OptionChoice tokens[] = {{"bytes", TOKEN_BYTES}, {"bpe", TOKEN_BPE}, {"gpt2", TOKEN_GPT2}, {NULL, 0}};

static const OptionChoice formats[] = {{"hf", EXPORT_HF}, {"gguf", EXPORT_GGUF}, {"onnx", EXPORT_ONNX}, {NULL, 0}};

#define AT(field) offsetof(CharlmOptions, field)

/* clang-format off */
const Option charlm_options[] = {
    {"tokens", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(tokens), NULL, .choices = tokens, "what a token is: a byte, or a subword by GPT-2's byte pairs, learned from the training text (bpe) or read from GPT-2's files (gpt2) (default bytes)"},
    {"merges", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(merges), NULL, "[1,1048576]", "bpe: how many byte pairs to merge; the vocabulary has 257 more tokens than that (default 4096)"},
    {"vocabulary", 0, OPTION_PATH, OPTION_TRAINING, BUILD | COMMAND_IMPORT, AT(vocabulary), NULL, "FILE", "gpt2: encoder.json, or a vocab.json of that kind"},
    {"codes", 0, OPTION_PATH, OPTION_TRAINING, BUILD | COMMAND_IMPORT, AT(codes), NULL, "FILE", "gpt2: vocab.bpe, or a merges.txt of that kind"},
    {"eval-bytes", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(eval_bytes), "100000", NULL, "bytes of the validation part to score at each evaluation (0: all)"},
    {"sample-every", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(sample_every), "0", NULL, "steps between samples, written to samples/STEP.txt (0: at each evaluation)"},
    {"memory", 0, OPTION_SIZE, OPTION_MODEL, COMMAND_TRAIN | COMMAND_INFO | COMMAND_BENCH, AT(shared.memory), NULL, "[1,1048576]", "tokens before a --context that attention also reaches: what blocks make of them, computed without a gradient (none given: 0)"},
    {"ngrams", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(shared.ngrams), NULL, "[0,5]", "add to a token's vector those of the 2 tokens that end with it, of 3, .. of N (default, or 0: none)"},
    {"ngram-rows", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(shared.ngram_rows), NULL, "[0,16777216]", "rows of the table of --ngrams, in which a hash finds an n-gram's vector; a few n-grams share one (default, or 0: 65536)"},
    {"ngram-dropout", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(shared.ngram_dropout), NULL, "[0,1)", "probability that training reads nothing for an n-gram, so that the network learns to do without (default 0)"},
    {"stride", 0, OPTION_TEXT, OPTION_HERE, EVAL, AT(stride), "context", "N|context", "tokens from one window to the next (1: score each token with a full context)"},
    {"dynamic", 0, OPTION_REAL, OPTION_HERE, EVAL, AT(dynamic), NULL, "[0,]", "dynamic evaluation: after a window is scored, learn from it by SGD at this rate (default: the weights stay as they are)"},
    {"split", 0, OPTION_CHOICE, OPTION_HERE, EVAL | BASELINE, AT(split), "valid", .choices = split_or_all_choices, "the part of the data to score"},
    {"bytes", 0, OPTION_SIZE, OPTION_HERE, EVAL | BASELINE, AT(bytes), "0", NULL, "score the first N bytes of the split (0: all)"},
    {"adapt", 0, OPTION_FLAG, OPTION_HERE, BASELINE, AT(adapt), NULL, NULL, "learn from each byte after scoring it"},
    {"prompt", 0, OPTION_TEXT, OPTION_HERE, SAMPLE, AT(prompt), NULL, "TEXT", "text to continue (default: some validation text)"},
    {"prompt-file", 0, OPTION_PATH, OPTION_HERE, SAMPLE, AT(prompt_file), NULL, "FILE", "the same, from a file"},
    {"temperature", 'T', OPTION_REAL, OPTION_HERE, SAMPLE, AT(temperature), "0.5", "[0,]", "divide logits by this (0: always take the likeliest token)"},
    {"length", 0, OPTION_SIZE, OPTION_HERE, SAMPLE, AT(length), "1000", "[0,1073741824]", "how many tokens to write"},
    {"top-k", 0, OPTION_SIZE, OPTION_HERE, SAMPLE, AT(top_k), "0", NULL, "draw from the N likeliest tokens only (0: all)"},
    {"top-p", 0, OPTION_REAL, OPTION_HERE, SAMPLE, AT(top_p), "1", "(0,1]", "draw from the likeliest tokens that together reach this probability"},
    {"count", 0, OPTION_SIZE, OPTION_HERE, SAMPLE, AT(count), "1", "[1,]", "how many texts to write"},
    {"together", 0, OPTION_SIZE, OPTION_HERE, SAMPLE, AT(together), "8", "[1,8]", "how many of them to write at once: the same texts, sooner, with more memory"},
    {"exact", 0, OPTION_FLAG, OPTION_HERE, SAMPLE, AT(exact), NULL, NULL, "recompute the whole window for each token, without a cache"},
    {"out", 0, OPTION_PATH, OPTION_HERE, COMMAND_IMPORT, AT(shared.out), NULL, "RUN", "directory of the run to make"},
    {"format", 0, OPTION_CHOICE, OPTION_HERE, COMMAND_EXPORT, AT(format), NULL, .choices = formats, "hf: a folder for Hugging Face's transformers; gguf: a file for llama.cpp; onnx: a graph for onnxruntime (required)"},
    {"sample", 0, OPTION_FLAG, OPTION_HERE, BENCH, AT(sample), NULL, NULL, "measure sampling instead, and compare it with the speed of reading the weights"},
};

const size_t charlm_option_count = sizeof charlm_options / sizeof *charlm_options;

/* The character model of "Transformers from scratch", 9,664,768 parameters; and the same with heads as wide as the
 * model, as its code had it when the figure of 1.343 was published. */
#define FORMER(SIZE) {                                                                                                 \
    {"dim", "256"}, {"heads", "8"}, {"head-size", SIZE}, {"depth", "12"}, {"ff", "1024"}, {"context", "256"},          \
    {"norm", "post"}, {"activation", "relu"}, {"positions", "learned"}, {"distances", "none"}, {"bias", "no"},         \
    {"tie", "no"}, {"dropout", "0"}, {"init", "pytorch"}, {"batch", "32"}, {"lr", "1e-4"}, {"betas", "0.9,0.999"},     \
    {"decay", "0"}, {"schedule", "constant"}, {"warmup", "156"}, {"clip", "1"}, {"steps", "170000"},                   \
    {"eval-every", "1500"}, {NULL, NULL}}
static const Setting former[] = FORMER("32");
static const Setting former_wide[] = FORMER("256");

/* Of a small model for a minute of two cores. Distances instead of positions, and moments with a short memory, let
 * attention begin to learn after seconds. Patience ends a longer run where nothing more is gained. */
#define SMALL                                                                                                          \
    {"dim", "64"}, {"heads", "4"}, {"depth", "4"}, {"norm", "post"}, {"norm-kind", "rms"}, {"positions", "none"},      \
    {"distances", "bias"}, {"init", "pytorch"}, {"betas", "0.9,0.98"}, {"decay", "0.1"},                               \
    {"lr", "8e-3"}, {"schedule", "linear"}, {"warmup", "100"}, {"steps", "12000"}, {"minutes", "1"},                   \
    {"eval-every", "500"}, {"patience", "5"}

/* One with nothing that others lack, for sweeps and lessons to change. */
static const Setting study[] = {
    SMALL, {"activation", "relu"}, {"gate", "no"}, {"context", "128"}, {"batch", "8"}, {"micro-batch", "4"},
    {"dropout", "0"}, {NULL, NULL}};

/* And with what gains most (docs/variants.md). Spans that heads learn make twice the context affordable. A text
 * of 300 KB comes round some sixteen times: there dropout gains some 0.05 bits/byte, and n-grams, whose vectors learn the text
 * by heart, lose 0.1; on some megabytes half as much dropout costs 0.06, and n-grams gain 0.08. */
#define MINUTE                                                                                                         \
    SMALL, {"activation", "silu"}, {"gate", "yes"}, {"context", "256"}, {"adaptive-span", "32"},                       \
    {"span-loss", "0.01"}, {"optimizer", "muon"}, {"newton-schulz", "3"}, {"batch", "4"}, {"micro-batch", "2"}
static const Setting minute[] = {MINUTE, {"ngrams", "5"}, {"dropout", "0"}, {NULL, NULL}};
static const Setting prose[] = {MINUTE, {"dropout", "0.1"}, {NULL, NULL}};

/* What half an hour on two cores is best spent on: few rows a step, so that there are many steps; dropout, because the
 * same bytes come round several times. */
static const Setting modern[] = {
    {"dim", "192"}, {"heads", "6"}, {"depth", "6"}, {"context", "256"}, {"norm", "post"}, {"positions", "none"},
    {"distances", "bias"}, {"init", "pytorch"}, {"dropout", "0.1"}, {"batch", "8"}, {"micro-batch", "4"},
    {"lr", "2e-3"}, {"betas", "0.9,0.98"}, {"decay", "0.05"}, {"schedule", "linear"}, {"warmup", "300"},
    {"steps", "40000"}, {"minutes", "30"}, {"eval-every", "1000"}, {NULL, NULL}};

/* GPT-2 of 124 million parameters (Radford et al. 2019), and the steps with which others have trained it again. */
static const Setting gpt2[] = {
    {"tokens", "gpt2"}, {"dim", "768"}, {"heads", "12"}, {"depth", "12"}, {"context", "1024"}, {"norm", "pre"},
    {"activation", "gelu-tanh"}, {"positions", "learned"}, {"distances", "none"}, {"bias", "yes"}, {"tie", "yes"},
    {"dropout", "0"}, {"init", "gpt2"}, {"batch", "512"}, {"micro-batch", "4"}, {"lr", "6e-4"}, {"betas", "0.9,0.95"},
    {"decay", "0.1"}, {"schedule", "cosine"}, {"warmup", "700"}, {"clip", "1"}, {"steps", "19000"},
    {"eval-every", "250"}, {NULL, NULL}};

/* The same at a scale that half an hour on two cores trains; dropout, because a few MB of text come round ten times. */
static const Setting gpt2_tiny[] = {
    {"tokens", "bpe"}, {"merges", "2000"}, {"dim", "192"}, {"heads", "6"}, {"depth", "6"}, {"context", "256"},
    {"norm", "pre"}, {"activation", "gelu-tanh"}, {"positions", "learned"}, {"distances", "none"}, {"bias", "yes"},
    {"tie", "yes"}, {"dropout", "0.1"}, {"init", "gpt2"}, {"batch", "8"}, {"micro-batch", "4"}, {"lr", "2e-3"},
    {"betas", "0.9,0.95"}, {"decay", "0.1"}, {"schedule", "cosine"}, {"warmup", "300"}, {"clip", "1"},
    {"steps", "40000"}, {"minutes", "30"}, {"eval-every", "500"}, {NULL, NULL}};

static const Preset presets[] = {
    {"former", "12 blocks, 256 wide: the model of \"Transformers from scratch\"", former},
    {"former-wide", "former with 8 heads of 256 each", former_wide},
    {"modern", "biases for distances instead of positions, dropout: the best after half an hour", modern},
    {"minute", "a small model, trained for one minute", minute},
    {"prose", "minute without n-grams and with dropout, for a text as small as the built-in one", prose},
    {"study", "one as small, of the simplest parts: what sweeps and lessons change", study},
    {"gpt2", "12 blocks, 768 wide: GPT-2 of 124 million parameters", gpt2},
    {"gpt2-tiny", "6 blocks, 192 wide, with tokens of its own: GPT-2 for half an hour of two cores", gpt2_tiny},
};

/* What is not asked for: modern's recipe for a model of any size. */
static const Setting defaults[] = {
    {"dim", "192"}, {"heads", "6"}, {"depth", "6"}, {"positions", "none"}, {"distances", "bias"}, {"bias", "no"},
    {"dropout", "0.1"}, {"batch", "8"}, {"lr", "0"}, {"betas", "0.9,0.98"}, {"decay", "0.05"}, {"schedule", "linear"},
    {"warmup", "300"}, {"eval-every", "500"}, {NULL, NULL}};
/* clang-format on */

const Program charlm_program = {
    .name = "charlm",
    .about = "A causal Transformer that reads and writes text: bytes, or byte pairs.",
    .presets = presets,
    .preset_count = sizeof presets / sizeof *presets,
    .defaults = defaults,
};

bool parse_stride(const char *text, size_t context, size_t *stride, Error *e)
{
    char *end;
    if (strcmp(text, "context") == 0) {
        *stride = context;
        return true;
    }
    unsigned long long value = strtoull(text, &end, 10);
    *stride = (size_t)value;
    return (*text >= '0' && *text <= '9' && !*end && value >= 1 && value <= context) ||
           fail(e, "--stride '%s': expected a number from 1 to the context of %zu, or 'context'", text, context);
}
