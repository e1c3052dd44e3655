/* charlm: a causal character Transformer. */
#include "charlm/charlm.h"

#include "core/program/heads.h"

static const Command commands[] = {
    {"train", COMMAND_TRAIN, NULL, "train a model, or continue a run", app_train},
    {"eval", COMMAND_EVAL, NULL, "bits per byte of a part of the data", charlm_eval},
    {"baseline", COMMAND_BASELINE, NULL, "bits per byte of n-gram counts on the same part: the baseline to beat",
     charlm_baseline},
    {"sample", COMMAND_WRITE, NULL, "generate text", charlm_sample},
    {"heads", COMMAND_HEADS, NULL, "show what attention looks at while the model reads a text", app_heads},
    {"import", COMMAND_IMPORT, "DIR|FILE",
     "make a run from a GPT-2 or Llama of Hugging Face's transformers, from nanoGPT or llm.c", charlm_import},
    {"export", COMMAND_EXPORT, NULL, "write a run for Hugging Face's transformers, llama.cpp or onnxruntime",
     charlm_export},
    {"plot", COMMAND_PLOT, "[RUN...]", "draw curves of runs, and pictures of models and data", app_plot},
    {"sweep", COMMAND_SWEEP, "FILE", "train all the runs that a file describes, and compare them", app_sweep},
    {"compare", COMMAND_COMPARE, "RUN...", "compare groups of runs over their seeds: means, intervals, tests",
     app_compare},
    {"info", COMMAND_INFO, NULL, "show what a model or a run consists of, and what it costs", app_info},
    {"bench", COMMAND_BENCH, NULL, "measure the speed of a training step on random bytes", charlm_bench},
};

int main(int argc, char **argv)
{
    CharlmOptions values = {0}; /* shared options without a row here stay 0 */
    InspectOptions inspect;
    AppKind kind = charlm_kind;
    Options options = {0};
    Charlm c = {.app = {.kind = &kind, .options = &values.shared, .command_line = &options, .inspect = &inspect},
                .options = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {charlm_options, charlm_option_count, &values},
                                  {inspect_options, inspect_option_count, &inspect}};
    kind.sample = charlm_show_sample;
    kind.inspect = charlm_inspect;
    kind.texts = charlm_texts;
    kind.name_token = charlm_name_token;
    return app_main(&c.app, &(AppTables){commands, sizeof commands / sizeof *commands, tables, 3}, argc, argv);
}
