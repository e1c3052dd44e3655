/* A small translator for lessons 12 to 14 and 20: encdec's network (encdec/model.h), which learns from the sentences that
 * encdec makes up (encdec/builtin.h), by a trainer of two workers as the programs have it.
 *
 * It has no errors to hand on: where something fails it says what, and ends the lesson. */
#ifndef COURSE_TRANSLATOR_H
#define COURSE_TRANSLATOR_H

#include "core/train/order.h"
#include "core/train/schedule.h"
#include "core/train/trainer.h"
#include "encdec/data.h"
#include "encdec/model.h"
#include "encdec/translating.h"

typedef struct TranslatorOptions {
    size_t merges; /* byte pairs; 0: words as they are */
    double dropout, smoothing;
    double epsilon;      /* Adam's; 0: 1e-9 */
    size_t pairs;        /* that it learns from; 0: all */
    size_t tokens;       /* tokens of a batch on each side, about; 0: 512 */
    bool any_lengths;    /* pairs of any lengths in a batch, not those of like length */
    bool unshifted;      /* a mistake: the decoder reads what it is to say */
    const char *trees;   /* a treebank that it learns to parse, instead; NULL: none */
    bool word_positions; /* positions of trees count words */
    bool other;          /* a mistake: each target is scored with the source of its neighbour */

    /* [N,V] of targets beside their sources; NULL: model_pairs */
    Tensor *(*logits)(const Model *m, Tape *t, const Rows *source, const Rows *target);
} TranslatorOptions;

typedef struct SmallTranslator {
    TranslatorOptions options;
    EncdecOptions built; /* as the program would have them */
    Bitext bitext;
    Order order;
    Model model;
    Task task;
    Trainer trainer;
    size_t *cut; /* [score_batches+1] pairs of the validation part that are scored together */
    uint64_t steps;
} SmallTranslator;

/* Fresh weights, always the same. */
void small_open(SmallTranslator *s, const TranslatorOptions *o);
void small_close(SmallTranslator *s);

/* One step of Adam at such a rate. */
StepResult small_step(SmallTranslator *s, double rate);

/* `steps` more of them, at the rate that the schedule has for each. */
void small_train(SmallTranslator *s, size_t steps, const Schedule *schedule);

/* The schedule that lessons use: Noam's, for 64 columns. */
Schedule small_schedule(void);

/* Nats a token on the validation part, without smoothing and dropout. */
double small_score(SmallTranslator *s);

/* What the network says of one pair: logits [nt,V] after each token that the decoder reads, and (where they are not
 * NULL) the weights [nt,ns] of the last block's cross-attention, the mean of its heads. */
void small_read(SmallTranslator *s, const int32_t *source, size_t ns, const int32_t *target, size_t nt, float *logits,
                float *weights);

/* Opens a search over its sentences: this many hypotheses, scored with this length penalty; for a parser, among trees
 * alone (well_formed) or among all lines. */
void small_translating(SmallTranslator *s, Translating *t, size_t beam, double alpha);
void small_parsing(SmallTranslator *s, Translating *t, size_t beam, double alpha, bool well_formed);

/* The first `count` pairs of the validation part as lines. */
void small_lines(const SmallTranslator *s, size_t count, Lines side[SIDES_USED]);

/* Ends the lesson with a message unless `fine`. */
void must(bool fine, const Error *e);

#endif
