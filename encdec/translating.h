/* Lines in, their translations out: cut into subwords, searched (core/search/translate.h), and put together again. */
#ifndef ENCDEC_TRANSLATING_H
#define ENCDEC_TRANSLATING_H

#include "core/search/translate.h"
#include "core/train/plan.h"
#include "encdec/model.h"
#include "encdec/subwords.h"
#include "encdec/tree_rule.h"

/* Another network of an ensemble, with the same subwords. */
typedef struct TranslatingModel {
    const Model *model;
    const Weights *weights;
} TranslatingModel;

typedef struct TranslatingOptions {
    size_t beam, best;
    double alpha;
    size_t groups; /* of a diverse beam; 0: one */
    bool full;     /* --beam-rule full */
    double diversity;
    const char *prefix_file;       /* whose lines translations begin with, for messages; NULL: they are given whole */
    NextOptions next;              /* how the next subword is chosen, where that is not the likeliest */
    const TranslatingModel *other; /* [other_count] */
    size_t other_count;
    bool well_formed; /* translations are trees, and what is none is not searched (tree_rule.h) */
    TreeLeaves leaves;
    size_t max_extra;     /* subwords that a translation may have more than its source */
    size_t max_tokens;    /* of a batch: its sentences times the longest that one of them has or may become */
    size_t longest;       /* subwords of a source that are read, without </s>; what is after them is cut off */
    size_t workers, team; /* cores: workers times team */
    Pool *pool;           /* of this many workers; NULL: one of its own */
    bool together;        /* processes share the work: see core/search/translate.h */
    bool hold;            /* weights do not change: see core/search/translate.h */
} TranslatingOptions;

typedef struct Translating {
    const Subwords *subwords;
    TranslatingOptions options;
    size_t most; /* subwords that the decoder has positions for */
    Translator *translator;
    Cutter cutter;
    TreeRule rule;
    Buffer kinds; /* of all words of the last call */
    Ids ids;      /* of all sources of the last call, and of what their translations have to begin with */

    /* of the last call: lines with nothing in them are no sentences */
    size_t lines, sentences, capacity;
    size_t *number;           /* [lines] of its sentence; SIZE_MAX: it is none */
    Sentence *sentence;       /* [sentences] */
    Translation *translation; /* [sentences] */
    size_t *start;            /* [sentences + 1] in ids, where a source begins; */
    size_t *prefix;           /* [sentences] and after it its prefix */
    TreeWords *words;         /* [sentences] where translations are to be well-formed */

    /* of all calls */
    size_t seen, cut, first_cut; /* lines; those that were too long, and the first of them, from 1 */
    double read, written;        /* subwords of sources; and of each one's best translation, </s> among them */
} Translating;

/* As the command line says, for weights that stay as they are. */
TranslatingOptions translating_options(const EncdecOptions *v, const Model *m, size_t best, const TrainerOptions *t);

/* Model, subwords and weights must outlive it. */
bool translating_open(Translating *t, const Model *m, const Subwords *p, const Weights *w, const TranslatingOptions *o,
                      Error *e);
void translating_close(Translating *t);

/* Memory that each worker will take; of the weights, only what they are of is looked at. */
bool translating_bytes(size_t *bytes, const Model *m, const Weights *w, const TranslatingOptions *o, Error *e);

/* Translates them all. Fails, too, where the network's numbers are not finite. */
bool translating_run(Translating *t, const Lines *lines, Error *e);

/* The same, where each translation begins with the same line of `prefixes`. whole: that is all of it, and log p what the
 * network says of it; then a line with nothing in it is a sentence, too. */
bool translating_prefixed(Translating *t, const Lines *lines, const Lines *prefixes, bool whole, Error *e);

/* What came of line i: the best first; NULL where there is nothing in it. */
const Translation *translating_of(const Translating *t, size_t i);

/* Adds the text of a hypothesis, as one line without its end. */
void translating_text(const Translating *t, const Hypothesis *h, Buffer *text);

#endif
