/* encdec: the Transformer of "Attention Is All You Need", which translates. */
#include "encdec/encdec.h"

#include "core/program/heads.h"

static const Command commands[] = {
    {"train", COMMAND_TRAIN, NULL, "train a model, or continue a run", app_train},
    {"eval", COMMAND_EVAL, NULL, "loss, perplexity and BLEU on a part of the data", encdec_eval},
    {"baseline", COMMAND_BASELINE, NULL,
     "BLEU of word-by-word translation with a dictionary learned from the pairs: the baseline to beat",
     encdec_baseline},
    {"translate", COMMAND_WRITE, NULL, "translate lines, in order", encdec_translate},
    {"parse", COMMAND_WRITE, NULL, "parse lines, in order, with a run that was trained with --trees", encdec_parse},
    {"score", COMMAND_SCORE, NULL, "ln p of given translations, one per line", encdec_score},
    {"bleu", COMMAND_BLEU, "HYPOTHESES REFERENCES...", "BLEU of translations, computed as sacreBLEU does", encdec_bleu},
    {"vocab", COMMAND_VOCAB, "[FILE...]", "learn subwords from files, or from the training part of --data",
     encdec_vocab},
    {"subwords", COMMAND_SUBWORDS, NULL, "split a text into subwords, with files made by vocab, subword-nmt or others",
     encdec_apply},
    {"average", COMMAND_TEND, NULL, "average a run's newest checkpoints, for --weights average", encdec_average},
    {"import", COMMAND_IMPORT, "DIR|FILE",
     "make a run of a Marian model (opus-mt), of Hugging Face's transformers or Marian's own", encdec_import},
    {"export", COMMAND_EXPORT, NULL, "write a run for CTranslate2, Hugging Face's transformers or onnxruntime",
     encdec_export},
    {"heads", COMMAND_HEADS, NULL, "show what attention looks at while the model translates", app_heads},
    {"plot", COMMAND_PLOT, "[RUN...]", "draw curves of runs, and pictures of models and data", app_plot},
    {"sweep", COMMAND_SWEEP, "FILE", "train all the runs that a file describes, and compare them", app_sweep},
    {"compare", COMMAND_COMPARE, "RUN...", "compare groups of runs over their seeds: means, intervals, tests",
     app_compare},
    {"info", COMMAND_INFO, NULL, "show what a model or a run consists of, and what it costs", app_info},
    {"bench", COMMAND_BENCH, NULL, "measure the speed of a training step on random subwords", app_bench},
};

int main(int argc, char **argv)
{
    EncdecOptions values = {0}; /* shared options without a row here stay 0 */
    InspectOptions inspect;
    AppKind kind = encdec_kind;
    Options options = {0};
    EncDec c = {.app = {.kind = &kind, .options = &values.shared, .command_line = &options, .inspect = &inspect},
                .options = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {encdec_options, encdec_option_count, &values},
                                  {inspect_options, inspect_option_count, &inspect}};
    kind.sample = encdec_show_sample;
    kind.evaluate = encdec_evaluate_sample;
    kind.inspect = encdec_inspect;
    kind.inspect_further = encdec_inspect_further;
    kind.texts = encdec_texts;
    kind.name_token = encdec_name_token;
    return app_main(&c.app, &(AppTables){commands, sizeof commands / sizeof *commands, tables, 3}, argc, argv);
}
