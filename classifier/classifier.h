/* What the commands of classifier share: options, texts, model, and the Task that the training loop runs. */
#ifndef CLASSIFIER_CLASSIFIER_H
#define CLASSIFIER_CLASSIFIER_H

#include "classifier/masking.h"
#include "classifier/model.h"
#include "core/program/app.h"
#include "core/session/session.h"

typedef struct Classifier {
    App app; /* first: what core/program hands back as an App is one of these */
    ClassifierOptions *options;
    Reviews reviews;
    Tokens tokens;         /* an opened run's, or of the one that --from names */
    const Tokens *reading; /* those, or the reviews' own; NULL: none are open */
    Masking masking;
    size_t score_most; /* texts that are scored; 0: all */
    uint32_t step;     /* whose batch is being made; 0: it is scored, and always masked alike */
    char **classes;    /* [class_count] an opened run's */
    size_t class_count;
    Model model;
} Classifier;

extern const AppKind classifier_kind; /* model and data; main adds what else there is */

/* Opens --run to be read: its vocabulary, classes and model. */
bool classifier_open_run(Classifier *c, Error *e);

/* What the options say of texts. */
ReviewsOptions classifier_reviews_options(const Classifier *c);

/* Whether it is one that is pretrained: its classes are tokens. */
static inline bool classifier_is_masked(const Classifier *c) { return c->options->objective == OBJECTIVE_MASKED; }

/* Whether it tells classes of texts, which have names. */
static inline bool classifier_has_classes(const Classifier *c)
{
    return !classifier_is_masked(c) && c->options->objective != OBJECTIVE_VECTORS;
}

/* Positions of a text's row that are registers or marks, and those before the text. */
static inline size_t classifier_marks(const Classifier *c)
{
    return c->options->shared.registers + (c->options->marks ? 2 : 0);
}

/* Tokens that a row of training has room for: in pretraining, two texts have a third mark. */
static inline size_t classifier_room(const Classifier *c)
{
    return c->options->shared.context - classifier_marks(c) - c->options->next_sentence;
}

static inline size_t classifier_lead(const Classifier *c) { return c->options->shared.registers + c->options->marks; }

/* Adds a row of TEXT, after registers and between marks where the model wants them, and returns its first position; then of SEGMENT, where
 * it has segments: 1 from the row's position `first` on. */
size_t classifier_add_text(const Classifier *c, Batch *b, const int32_t *ids, size_t count);
void classifier_add_segments(const Classifier *c, Batch *b, size_t first);

/* The same of pretraining, where text i of some is masked; and what the Task is then. */
void masked_row(const Classifier *c, const Texts *texts, size_t i, Batch *b);
void masked_task(Classifier *c);

/* eval of a pretrained run, and predict: the likeliest tokens where a text has [MASK]. number: of the text, for
 * messages. */
bool masked_eval(Classifier *c, Error *e);
bool masked_predict(Classifier *c, Trainer *trainer, const char *text, size_t size, size_t number, Error *e);

/* What --layer-rate and --freeze say of the opened model, as --groups. */
bool classifier_layer_rates(Classifier *c, Error *e);

/* What a text is measured in, for people who read. */
static inline const char *classifier_unit(const Classifier *c)
{
    return c->options->tokens == TOKEN_WORDS ? "words" : "subwords";
}

/* Fills the Task: batches of the training part, and the texts of app.data.scored to score. */
void classifier_task(Classifier *c);

/* Builds the model with this many tokens and classes, if the options go together. */
bool classifier_build(Classifier *c, size_t tokens, size_t classes, Error *e);

/* What a network makes of texts, [count, columns], by all workers of a trainer; and logits, of this many classes. */
bool classifier_outputs(Classifier *c, Trainer *trainer, SessionNetwork network, const Texts *texts, size_t columns,
                        float *outputs, Error *e);
bool classifier_logits(Classifier *c, Trainer *trainer, const Texts *texts, float *logits, Error *e);

/* Shares [classes] of logits; returns the likeliest class. */
size_t classifier_shares(double *shares, const float *logits, size_t classes);

/* What attention looks at, and which words moved the answer. */
bool classifier_inspect(App *a, Inspection *l, Error *e);
bool classifier_inspect_further(App *a, Inspection *l, Error *e);

/* What plot draws of data and model. */
bool classifier_texts(App *a, TextSet *t, Error *e);
bool classifier_name_token(const App *a, const char *table, int32_t id, Labels *names, Error *e);

/* The commands that only classifier has: main has a table of them. */
bool classifier_eval(App *a, Error *e);
bool classifier_predict(App *a, Error *e);
bool classifier_baseline(App *a, Error *e);
bool classifier_pretrain(App *a, Error *e);
bool classifier_import(App *a, Error *e);
bool classifier_export(App *a, Error *e);

#endif
