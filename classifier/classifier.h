/* What the commands of classifier share: options, texts, model, and the Task that the training loop runs. */
#ifndef CLASSIFIER_CLASSIFIER_H
#define CLASSIFIER_CLASSIFIER_H

#include "classifier/data.h"
#include "classifier/model.h"
#include "core/program/app.h"

typedef struct Classifier {
    App app; /* first: what core/program hands back as an App is one of these */
    ClassifierOptions *options;
    Reviews reviews;
    Vocabulary vocabulary; /* an opened run's */
    char **classes;        /* [class_count] an opened run's */
    size_t class_count;
    Model model;
} Classifier;

extern const AppKind classifier_kind; /* model and data; main adds what else there is */

/* Opens --run to be read: its vocabulary, classes and model. */
bool classifier_open_run(Classifier *c, Error *e);

/* What the options say of texts. */
ReviewsOptions classifier_reviews_options(const Classifier *c);

/* Fills the Task: batches of the training part, and the texts of app.data.scored to score. */
void classifier_task(Classifier *c);

/* The logits [count, classes] of texts, by all workers of a trainer. */
bool classifier_logits(Classifier *c, Trainer *trainer, const Texts *texts, float *logits, Error *e);

/* Shares [classes] of logits; returns the likeliest class. */
size_t classifier_shares(double *shares, const float *logits, size_t classes);

/* What attention looks at, and which words moved the answer. */
bool classifier_inspect(App *a, Inspection *l, Error *e);
bool classifier_inspect_further(App *a, Inspection *l, Error *e);

/* What plot draws of data and model. */
bool classifier_texts(App *a, TextSet *t, Error *e);
bool classifier_name_token(const App *a, int32_t id, Labels *names, Error *e);

/* The commands that only classifier has: main has a table of them. */
bool classifier_eval(App *a, Error *e);
bool classifier_predict(App *a, Error *e);
bool classifier_baseline(App *a, Error *e);

#endif
