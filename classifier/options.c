/* See options.h. */
#include "classifier/options.h"

#include "classifier/data.h"
#include "kernels/kernels.h"

enum {
    TRAIN = COMMAND_TRAIN,
    EVAL = COMMAND_EVAL,
    PREDICT = COMMAND_WRITE,
    BENCH = COMMAND_BENCH,
    INFO = COMMAND_INFO,
    BASELINE = COMMAND_BASELINE
};

static const OptionChoice pools[] = {
    {"first", POOLING_FIRST}, {"average", POOLING_MEAN}, {"max", POOLING_MAX}, {NULL, 0}};

#define AT(field) offsetof(ClassifierOptions, field)

/* clang-format off */
const Option classifier_options[] = {
    {"pool", 0, OPTION_CHOICE, OPTION_MODEL, TRAIN | INFO | BENCH, AT(pool), "average", .choices = pools, "how a text's vectors become one: the first, their mean or their maximum"},
    {"words", 0, OPTION_SIZE, OPTION_MODEL, TRAIN | INFO | BENCH | COMMAND_PLOT, AT(words), "50000", "[2,1073741824]", "size of the vocabulary: <unk> and the most frequent words of the training part"},
    {"text-column", 0, OPTION_TEXT, OPTION_TRAINING, TRAIN | EVAL | BASELINE | COMMAND_PLOT, AT(text_column), "text", "NAME", "the column of a table that holds texts"},
    {"label-column", 0, OPTION_TEXT, OPTION_TRAINING, TRAIN | EVAL | BASELINE | COMMAND_PLOT, AT(label_column), "label", "NAME", "the column of a table that holds labels"},
    {"final", 0, OPTION_YES_NO, OPTION_TRAINING, TRAIN | EVAL | BASELINE, AT(final), "no", NULL, "train on all texts, holding nothing out; eval, baseline: score the test part"},
    {"batch-tokens", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(batch_tokens), "0", "[0,1073741824]", "words per step, approximately, instead of --batch texts (0: --batch)"},
    {"word-dropout", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(shared.word_dropout), NULL, "[0,1)", "probability that a word that is read in training becomes <unk> (none given: 0)"},
    {"by-length", 0, OPTION_YES_NO, OPTION_TRAINING, TRAIN, AT(by_length), "yes", NULL, "batch texts of similar length"},
    {"cache", 0, OPTION_YES_NO, OPTION_HERE, TRAIN | EVAL | BASELINE | COMMAND_PLOT, AT(cache), "yes", NULL, "cache prepared data for the next call"},
    {"split", 0, OPTION_CHOICE, OPTION_HERE, EVAL, AT(split), "valid", .choices = split_choices, "the part of the data to score"},
    {"mistakes", 0, OPTION_SIZE, OPTION_HERE, EVAL, AT(mistakes), "0", NULL, "show the N mistakes that the model was most confident about"},
    {"file", 0, OPTION_PATH, OPTION_HERE, PREDICT, AT(file), NULL, "FILE", "texts to classify, one per line"},
    {"attribution", 0, OPTION_FLAG, OPTION_HERE, COMMAND_HEADS, AT(attribution), NULL, NULL, "show which words moved the answer: by leaving each out, by gradient x input, by attention"},
};

const size_t classifier_option_count = sizeof classifier_options / sizeof *classifier_options;

/* The sequence classifier of "Transformers from scratch": 7,653,122 parameters. */
static const Setting former[] = {
    {"dim", "128"}, {"heads", "8"}, {"depth", "6"}, {"ff", "512"}, {"context", "512"}, {"norm", "post"},
    {"activation", "relu"}, {"bias", "no"}, {"dropout", "0"}, {"positions", "learned"}, {"pool", "average"},
    {"init", "xavier"}, {"batch", "4"}, {"lr", "1e-4"}, {"words", "50000"}, {"warmup", "2500"},
    {"schedule", "constant"}, {"clip", "1"}, {"epochs", "2"}, {"minutes", "30"}, {"eval-every", "1250"},
    {"distances", "none"}, {"betas", "0.9,0.999"}, {"smoothing", "0"}, {NULL, NULL}};

/* A shallow model that drops much: 25,000 texts are few. */
static const Setting best[] = {
    {"dim", "128"}, {"heads", "8"}, {"depth", "1"}, {"ff", "256"}, {"context", "512"}, {"norm", "post"},
    {"activation", "relu"}, {"bias", "no"}, {"dropout", "0.4"}, {"positions", "none"}, {"distances", "bias"},
    {"pool", "average"}, {"init", "gpt2"}, {"batch", "32"}, {"micro-batch", "4"}, {"lr", "5e-4"}, {"words", "50000"},
    {"warmup", "50"}, {"schedule", "linear"}, {"betas", "0.9,0.98"}, {"smoothing", "0.1"}, {"clip", "1"},
    {"epochs", "2"}, {"eval-every", "313"}, {NULL, NULL}};

static const Setting minute[] = {
    {"dim", "64"}, {"heads", "4"}, {"depth", "1"}, {"ff", "128"}, {"context", "256"}, {"norm", "post"},
    {"activation", "relu"}, {"bias", "no"}, {"dropout", "0.2"}, {"positions", "learned"}, {"pool", "average"},
    {"init", "pytorch"}, {"batch", "16"}, {"lr", "2e-3"}, {"words", "20000"}, {"warmup", "100"},
    {"schedule", "linear"}, {"betas", "0.9,0.98"}, {"clip", "1"}, {"epochs", "400"}, {"micro-batch", "4"},
    {"minutes", "1"}, {"eval-every", "200"}, {"distances", "none"}, {"smoothing", "0"}, {NULL, NULL}};

static const Preset presets[] = {
    {"former", "6 blocks, 128 wide, 512 words: the model of \"Transformers from scratch\"", former},
    {"best", "1 block, 128 wide, small initial embeddings, much dropout", best},
    {"minute", "a small model, trained for one minute", minute},
};

/* What is not asked for: best's recipe for a model of any size. */
static const Setting defaults[] = {
    {"dim", "128"}, {"depth", "1"}, {"context", "512"}, {"bias", "no"}, {"dropout", "0.4"}, {"positions", "none"},
    {"distances", "bias"}, {"init", "gpt2"}, {"batch", "32"}, {"lr", "5e-4"}, {"warmup", "50"},
    {"schedule", "linear"}, {"betas", "0.9,0.98"}, {"smoothing", "0.1"}, {"eval-every", "300"}, {NULL, NULL}};
/* clang-format on */

const Program classifier_program = {
    .name = "classifier",
    .about = "A Transformer that assigns texts to classes.",
    .presets = presets,
    .preset_count = sizeof presets / sizeof *presets,
    .defaults = defaults,
};
