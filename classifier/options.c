/* See options.h. */
#include "classifier/options.h"

#include "classifier/data.h"
#include "classifier/model.h"
#include "classifier/tokens.h"
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

static const OptionChoice formats[] = {{"hf", EXPORT_HF}, {"onnx", EXPORT_ONNX}, {NULL, 0}};
static const OptionChoice poolers[] = {{"none", POOLER_NONE}, {"tanh", POOLER_TANH}, {"relu", POOLER_RELU}, {NULL, 0}};
static const OptionChoice vectors[] = {
    {"first", VECTOR_FIRST}, {"average", VECTOR_MEAN}, {"max", VECTOR_MAX}, {"pooler", VECTOR_POOLER}, {NULL, 0}};
static const OptionChoice objectives[] = {
    {"classes", OBJECTIVE_CLASSES}, {"masked", OBJECTIVE_MASKED}, {"vectors", OBJECTIVE_VECTORS}, {NULL, 0}};
static const OptionChoice tokens[] = {{"words", TOKEN_WORDS},
                                      {"wordpiece", TOKEN_WORDPIECE},
                                      {"bert", TOKEN_BERT},
                                      {"bert-cased", TOKEN_BERT_CASED},
                                      {NULL, 0}};

#define AT(field) offsetof(ClassifierOptions, field)

/* clang-format off */
const Option classifier_options[] = {
    {"pool", 0, OPTION_CHOICE, OPTION_MODEL, TRAIN | INFO | BENCH, AT(pool), "average", .choices = pools, "how a text's vectors become one: the first, their mean or their maximum"},
    {"pooler", 0, OPTION_CHOICE, OPTION_MODEL, TRAIN | INFO | BENCH, AT(pooler), NULL, .choices = poolers, "a linear map with tanh or relu between the vector of a text and its logits; with tanh also for --next-sentence, as in BERT (default none)"},
    {"words", 0, OPTION_SIZE, OPTION_MODEL, TRAIN | INFO | BENCH | COMMAND_PLOT, AT(words), "50000", "[2,1073741824]", "size of the vocabulary: <unk> and the most frequent words of the training part, or how many subwords"},
    {"tokens", 0, OPTION_CHOICE, OPTION_MODEL, TRAIN | INFO | BENCH, AT(tokens), NULL, .choices = tokens, "whole words, or subwords learned from the training part: of these words (wordpiece), or of the text as BERT reads it, in lower case or as written (default words)"},
    {"vocabulary", 0, OPTION_PATH, OPTION_TRAINING, TRAIN, AT(vocabulary), NULL, "FILE", "the subwords of --tokens wordpiece, bert or bert-cased from a vocab.txt, instead of learning them"},
    {"marks", 0, OPTION_YES_NO, OPTION_MODEL, TRAIN | INFO | BENCH, AT(marks), NULL, NULL, "put [CLS] before each text, which --pool first then classifies, and [SEP] after it (default no)"},
    {"segments", 0, OPTION_YES_NO, OPTION_MODEL, TRAIN | INFO | BENCH, AT(segments), NULL, NULL, "add a vector to the embeddings that says which of two parts of a text a token is in (default no)"},
    {"objective", 0, OPTION_CHOICE, OPTION_MODEL, TRAIN | INFO | BENCH, AT(objective), NULL, .choices = objectives, "what to learn: the class of a text, or masked tokens, as the command pretrain does; vectors: nothing, for imported models without logits (default classes)"},
    {"next-sentence", 0, OPTION_YES_NO, OPTION_MODEL, TRAIN | INFO | BENCH, AT(next_sentence), NULL, NULL, "pretraining: also predict whether two parts of a text belong together, with --marks and --segments (default no)"},
    {"mask-share", 0, OPTION_REAL, OPTION_TRAINING, TRAIN | INFO | BENCH, AT(mask_share), NULL, "[0,1)", "pretraining: the part of a text's tokens that is predicted (0: 0.15; that of the presets: 0.2)"},
    {"whole-words", 0, OPTION_YES_NO, OPTION_TRAINING, TRAIN, AT(whole_words), NULL, NULL, "pretraining: mask all subwords of a word or none (default no)"},
    {"unlabelled", 0, OPTION_PATH, OPTION_TRAINING, TRAIN | EVAL, AT(unlabelled), NULL, "FILE", "pretraining: more texts, without labels: a file, a folder or an archive"},
    {"examples", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN | EVAL | BASELINE, AT(examples), NULL, NULL, "train on N texts of the training part, the same number from each class, drawn by the seed (default: all)"},
    {"layer-rate", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(layer_rate), NULL, "[0,]", "each block learns at this times the rate of the block above it, and the embeddings at this times the rate of the first block (default, or 0: 1)"},
    {"freeze", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(freeze), NULL, NULL, "layers from the bottom that keep their weights: 1, the embeddings; 2, the first block, too (default 0)"},
    {"eval-texts", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(eval_texts), NULL, NULL, "score N texts of the validation part during training, evenly spread (default: all)"},
    {"text-column", 0, OPTION_TEXT, OPTION_TRAINING, TRAIN | EVAL | BASELINE | COMMAND_PLOT, AT(text_column), "text", "NAME", "the column of a table that holds texts"},
    {"label-column", 0, OPTION_TEXT, OPTION_TRAINING, TRAIN | EVAL | BASELINE | COMMAND_PLOT, AT(label_column), "label", "NAME", "the column of a table that holds labels"},
    {"final", 0, OPTION_YES_NO, OPTION_TRAINING, TRAIN | EVAL | BASELINE, AT(final), "no", NULL, "train on all texts, holding nothing out; eval, baseline: score the test part"},
    {"batch-tokens", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(batch_tokens), "0", "[0,1073741824]", "words per step, approximately, instead of --batch texts (0: --batch)"},
    {"ngrams", 0, OPTION_SIZE, OPTION_MODEL, TRAIN | INFO | BENCH, AT(shared.ngrams), NULL, "[0,4]", "add to a token's vector those of the 2 tokens that end with it, of 3, .. of N (default, or 0: none)"},
    {"ngram-rows", 0, OPTION_SIZE, OPTION_MODEL, TRAIN | INFO | BENCH, AT(shared.ngram_rows), NULL, "[0,16777216]", "rows of the table of --ngrams, in which a hash finds an n-gram's vector; a few n-grams share one (default, or 0: 65536)"},
    {"ngram-dropout", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(shared.ngram_dropout), NULL, "[0,1)", "probability that training reads nothing for an n-gram, so that the network learns to do without (default 0)"},
    {"r-drop", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(shared.r_drop), NULL, "[0,]", "each step reads its batch twice, with other dropout, and how far the two are apart is added to the loss, times this, such as 1 (none given: 0, once)"},
    {"word-dropout", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(shared.word_dropout), NULL, "[0,1)", "probability that a word becomes <unk> when it is read in training (default 0)"},
    {"by-length", 0, OPTION_YES_NO, OPTION_TRAINING, TRAIN, AT(by_length), "yes", NULL, "batch texts of similar length"},
    {"cache", 0, OPTION_YES_NO, OPTION_HERE, TRAIN | EVAL | BASELINE | COMMAND_PLOT, AT(cache), "yes", NULL, "cache prepared data for the next call"},
    {"split", 0, OPTION_CHOICE, OPTION_HERE, EVAL, AT(split), "valid", .choices = split_choices, "the part of the data to score"},
    {"mistakes", 0, OPTION_SIZE, OPTION_HERE, EVAL, AT(mistakes), "0", NULL, "show the N mistakes that the model was most confident about"},
    {"ensemble", 0, OPTION_TEXT, OPTION_HERE, EVAL, AT(ensemble), NULL, "RUN,...", "more runs with the same classes, or regression, which counts words and pairs: score what all of them say together"},
    {"file", 0, OPTION_PATH, OPTION_HERE, PREDICT, AT(file), NULL, "FILE", "texts to classify, one per line"},
    {"vectors", 0, OPTION_PATH, OPTION_HERE, PREDICT, AT(vectors), NULL, "FILE.npy", "write a vector for each text, instead of saying its class"},
    {"vector", 0, OPTION_CHOICE, OPTION_HERE, PREDICT, AT(vector), "average", .choices = vectors, "with --vectors: which one: of a text's last vectors the average, the first or the largest numbers; or what --pooler makes of the first"},
    {"normalize", 0, OPTION_FLAG, OPTION_HERE, PREDICT, AT(normalize), NULL, NULL, "with --vectors: make each as long as 1"},
    {"guesses", 0, OPTION_SIZE, OPTION_HERE, PREDICT, AT(guesses), "5", "[1,100]", "how many of the likeliest tokens to show for each [MASK] of a pretrained run"},
    {"out", 0, OPTION_PATH, OPTION_HERE, COMMAND_IMPORT, AT(shared.out), NULL, "RUN", "directory of the run to make"},
    {"format", 0, OPTION_CHOICE, OPTION_HERE, COMMAND_EXPORT, AT(format), NULL, .choices = formats, "hf: a folder for Hugging Face's transformers; onnx: a graph for onnxruntime (required)"},
    {"attribution", 0, OPTION_FLAG, OPTION_HERE, COMMAND_HEADS, AT(attribution), NULL, NULL, "show which words changed the prediction: by leaving each out, by gradient x input, by attention"},
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
#define SHALLOW                                                                                                        \
    {"ff", "256"}, {"norm", "post"}, {"activation", "relu"}, {"bias", "no"}, {"dropout", "0.4"},                       \
    {"positions", "none"}, {"distances", "bias"}, {"pool", "average"}, {"init", "gpt2"}, {"batch", "32"},              \
    {"micro-batch", "4"}, {"warmup", "50"}, {"schedule", "linear"}, {"betas", "0.9,0.98"}, {"smoothing", "0.1"},       \
    {"clip", "1"}, {"epochs", "2"}, {"eval-every", "313"}
static const Setting best[] = {
    SHALLOW, {"dim", "128"}, {"heads", "8"}, {"depth", "1"}, {"context", "512"}, {"lr", "5e-4"}, {"words", "50000"},
    {NULL, NULL}};

/* And no block at all: what a block must be compared with. */
static const Setting bag[] = {
    SHALLOW, {"dim", "16"}, {"heads", "1"}, {"depth", "0"}, {"context", "1024"}, {"lr", "1e-2"}, {"words", "75000"},
    {"ngrams", "3"}, {"ngram-rows", "1048576"}, {NULL, NULL}};

static const Setting minute[] = {
    {"dim", "64"}, {"heads", "4"}, {"depth", "1"}, {"ff", "128"}, {"context", "256"}, {"norm", "post"},
    {"activation", "relu"}, {"bias", "no"}, {"dropout", "0.2"}, {"positions", "learned"}, {"pool", "average"},
    {"init", "pytorch"}, {"batch", "16"}, {"lr", "2e-3"}, {"words", "20000"}, {"warmup", "100"},
    {"schedule", "linear"}, {"betas", "0.9,0.98"}, {"clip", "1"}, {"epochs", "400"}, {"micro-batch", "4"},
    {"minutes", "1"}, {"eval-every", "200"}, {"distances", "none"}, {"smoothing", "0"}, {NULL, NULL}};

/* What `pretrain` does unless it is told otherwise: BERT's training of a small pre-norm model without vectors for positions,
 * so that fine-tuning may read longer texts. */
#define MASKED                                                                                                         \
    {"heads", "4"}, {"norm", "pre"}, {"activation", "gelu"}, {"bias", "yes"}, {"dropout", "0"},                        \
    {"positions", "rotary"}, {"distances", "none"}, {"tokens", "wordpiece"}, {"words", "16000"}, {"marks", "yes"},     \
    {"tie", "yes"}, {"init", "gpt2"}, {"mask-share", "0.2"},                                                           \
    {"objective", "masked"}, {"optimizer", "muon"}, {"lr", "1e-2"}, {"warmup", "100"}, {"schedule", "linear"},         \
    {"betas", "0.9,0.98"}, {"decay", "0.01"}, {"smoothing", "0"}, {"clip", "1"}, {"eval-every", "1000"}
static const Setting pretrain[] = {
    MASKED, {"dim", "128"}, {"depth", "3"}, {"ff", "512"}, {"context", "128"}, {"batch", "32"}, {"micro-batch", "8"},
    {"epochs", "4"}, {"eval-texts", "500"}, {NULL, NULL}};

/* The same for some hours of two cores, with time left to fine-tune. */
static const Setting hours[] = {
    MASKED, {"dim", "256"}, {"depth", "4"}, {"ff", "1024"}, {"context", "256"}, {"batch", "16"}, {"micro-batch", "4"},
    {"ngrams", "2"}, {"ngram-rows", "262144"}, {"epochs", "100"}, {"minutes", "270"}, {"eval-texts", "1000"},
    {NULL, NULL}};

/* `train --from` a pretrained run, whose model it has, by what pretrained it. */
static const Setting finetune[] = {
    {"optimizer", "muon"}, {"dropout", "0.1"}, {"batch", "32"}, {"micro-batch", "4"}, {"lr", "1e-2"}, {"warmup", "50"},
    {"schedule", "linear"}, {"betas", "0.9,0.98"}, {"decay", "0.01"}, {"smoothing", "0.1"}, {"clip", "1"},
    {"epochs", "3"}, {"eval-every", "300"}, {"init", "gpt2"}, {"pool", "average"}, {NULL, NULL}};

/* BERT's base model, whose shape import changes, and rates to fine-tune such a model with. */
static const Setting bert[] = {
    {"dim", "768"}, {"heads", "12"}, {"depth", "12"}, {"ff", "3072"}, {"context", "512"}, {"norm", "post"},
    {"norm-epsilon", "1e-12"}, {"activation", "gelu"}, {"bias", "yes"}, {"positions", "learned"},
    {"distances", "none"}, {"segments", "yes"}, {"embedding-norm", "yes"}, {"tokens", "bert"}, {"words", "30522"},
    {"marks", "yes"}, {"pool", "first"}, {"pooler", "tanh"}, {"init", "gpt2"}, {"dropout", "0.1"},
    {"attention-dropout", "0.1"}, {"batch", "16"}, {"micro-batch", "4"}, {"lr", "3e-5"}, {"warmup", "100"},
    {"schedule", "linear"}, {"betas", "0.9,0.999"}, {"decay", "0.01"}, {"smoothing", "0"}, {"clip", "1"},
    {"epochs", "3"}, {"eval-every", "500"}, {"eval-texts", "500"}, {NULL, NULL}};

static const Preset presets[] = {
    {"former", "6 blocks, 128 wide, 512 words: the model of \"Transformers from scratch\"", former},
    {"best", "1 block, 128 wide, small initial embeddings, much dropout", best},
    {"bag", "no block: the mean of vectors of words, pairs and triples, which knows no order beyond them", bag},
    {"minute", "a small model, trained for one minute", minute},
    {"pretrain", "3 blocks, 128 wide, 16,000 subwords, a context of 128: what pretrain uses if no preset is given", pretrain},
    {"hours", "pretrain for 4.5 hours of two cores: 4 blocks, 256 wide, 16,000 subwords, pairs of them", hours},
    {"finetune", "for train --from a pretrained run: three epochs, by Muon", finetune},
    {"bert", "12 blocks, 768 wide, 30,522 subwords: BERT's base model, with rates to fine-tune it", bert},
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
