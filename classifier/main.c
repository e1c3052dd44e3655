/* classifier: a Transformer that tells what kind of text it reads. */
#include "classifier/classifier.h"

#include "core/program/heads.h"

static const Command commands[] = {
    {"train", COMMAND_TRAIN, NULL, "train a model, or continue a run", app_train},
    {"pretrain", COMMAND_TRAIN, NULL, "learn from texts without labels to predict masked words, for train --from",
     classifier_pretrain},
    {"eval", COMMAND_EVAL, NULL, "accuracy, F1, confusion matrix and calibration on a part of the data",
     classifier_eval},
    {"predict", COMMAND_WRITE, "[TEXT...]", "classify texts: arguments, a file, or lines of standard input",
     classifier_predict},
    {"import", COMMAND_IMPORT, "DIR|FILE", "make a run of a BERT or DistilBERT of Hugging Face's transformers",
     classifier_import},
    {"export", COMMAND_EXPORT, NULL,
     "write a run for Hugging Face's transformers, as a BERT or DistilBERT, or for onnxruntime", classifier_export},
    {"baseline", COMMAND_BASELINE, NULL,
     "naive Bayes and logistic regression on words and word pairs: the baseline to beat", classifier_baseline},
    {"plot", COMMAND_PLOT, "[RUN...]", "draw curves of runs, and pictures of models and data", app_plot},
    {"sweep", COMMAND_SWEEP, "FILE", "train all the runs that a file describes, and compare them", app_sweep},
    {"compare", COMMAND_COMPARE, "RUN...", "compare groups of runs over their seeds: means, intervals, tests",
     app_compare},
    {"heads", COMMAND_HEADS, NULL, "show what attention looks at in a text, and which words changed the prediction",
     app_heads},
    {"info", COMMAND_INFO, NULL, "show what a model or a run consists of, and what it costs", app_info},
    {"bench", COMMAND_BENCH, NULL, "measure the speed of a training step on random words", app_bench},
};

int main(int argc, char **argv)
{
    ClassifierOptions values = {0}; /* shared options without a row here stay 0 */
    InspectOptions inspect;
    AppKind kind = classifier_kind;
    Options options = {0};
    Classifier c = {.app = {.kind = &kind, .options = &values.shared, .command_line = &options, .inspect = &inspect},
                    .options = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {classifier_options, classifier_option_count, &values},
                                  {inspect_options, inspect_option_count, &inspect}};
    kind.inspect = classifier_inspect;
    kind.inspect_further = classifier_inspect_further;
    kind.texts = classifier_texts;
    kind.name_token = classifier_name_token;
    return app_main(&c.app, &(AppTables){commands, sizeof commands / sizeof *commands, tables, 3}, argc, argv);
}
