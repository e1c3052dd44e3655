/* What the commands of encdec share: options, sentences, model, and the Task that the training loop runs. */
#ifndef ENCDEC_ENCDEC_H
#define ENCDEC_ENCDEC_H

#include "core/program/app.h"
#include "encdec/alignments.h"
#include "encdec/data.h"
#include "encdec/model.h"

typedef struct EncDec {
    App app; /* first: what core/program hands back as an App is one of these */
    EncdecOptions *options;
    Bitext bitext;
    Subwords subwords;     /* an opened run's */
    Alignments alignments; /* of the training part, for --guided-alignment; otherwise empty */
    Recut recut;           /* the training part's words, where merges are dropped */
    Model model;
} EncDec;

/* "Attention Is All You Need", section 6.3 */
enum { PARSER_BEAM = 21, PARSER_MAX_EXTRA = 300 };
#define PARSER_ALPHA 0.3

extern const AppKind encdec_kind; /* model and data; main adds what else there is */

/* Opens --run to be read: its subwords and model. */
bool encdec_open_run(EncDec *c, Error *e);

/* The model that the options describe, for these subwords. */
bool encdec_build(EncDec *c, const Subwords *p, Error *e);

/* What the options say of sentences, and of subwords. */
TreeCleaning encdec_cleaning(const EncdecOptions *v);
SourceOptions encdec_source_options(const EncDec *c, bool test);
bool encdec_subwords_options(SubwordsOptions *o, const EncDec *c, Error *e);

/* Fills the Task: batches of the training part, and the pairs of app.data.scored to score. */
bool encdec_task(EncDec *c, Error *e);

/* Translations of some validation sentences, into the run's samples; and BLEU of --bleu-sentences of them,
 * or F1 of their trees. */
bool encdec_show_sample(App *a, Trainer *trainer, uint64_t step, Error *e);
bool encdec_evaluate_sample(App *a, Trainer *trainer, double *figure, Error *e);

/* Memory that the latter takes for each worker. */
bool encdec_sample_bytes(const EncDec *c, size_t *bytes, Error *e);

/* What the model looks at while it reads a pair; and alignments. */
bool encdec_inspect(App *a, Inspection *l, Error *e);
bool encdec_inspect_further(App *a, Inspection *l, Error *e);

/* What plot draws of data and model. */
bool encdec_texts(App *a, TextSet *t, Error *e);
bool encdec_name_token(const App *a, const char *table, int32_t id, Labels *names, Error *e);

/* The commands that only encdec has: main has a table of them. */
bool encdec_eval(App *a, Error *e);
bool encdec_translate(App *a, Error *e);
bool encdec_parse(App *a, Error *e);
bool encdec_score(App *a, Error *e);
bool encdec_average(App *a, Error *e);
bool encdec_export(App *a, Error *e);
bool encdec_import(App *a, Error *e);
bool encdec_baseline(App *a, Error *e);
bool encdec_bleu(App *a, Error *e);
bool encdec_vocab(App *a, Error *e);
bool encdec_apply(App *a, Error *e);

#endif
