/* Beam search, for many sentences at once. It knows no network: in each step it gets the likeliest next tokens of every
 * live hypothesis, and says which hypotheses live on.
 *
 *     log p(y) = the sum over tokens of log p(token | those before it), and log p(</s> | all tokens)
 *     score(y) = log p(y) / lp(n)      lp(n) = ((5 + n) / 6)^alpha      n = tokens + 1: </s> counts
 *
 * (Wu et al. 2016: the length penalty of GNMT; alpha 0 leaves log p.) A step keeps, of all continuations of a
 * sentence's live hypotheses, </s> included, the likeliest beam - e, where e of its hypotheses have ended before; of
 * equal ones the one with the smaller token, then the one whose parent was likelier. Those with </s> have ended and
 * keep their places in the beam; the others live on. A hypothesis that has as many tokens as are allowed can only end.
 * So beam 1 is greedy search, and a beam that holds all sequences finds the best of all.
 *
 * A sentence is over when nothing is live, or when the search could continue but nothing would change (the exact rule):
 * `best` hypotheses have ended, and the score of the last of these is at least log p(h) / lp(m), where h is the
 * likeliest live hypothesis and m the longest length allowed, </s> included. For alpha >= 0, no continuation y of a
 * live h' can then come before them:
 *
 *     log p(y) <= log p(h') <= log p(h) <= 0      a longer sequence adds logarithms of probabilities, at most 0
 *     lp(n) <= lp(m), so 1 / lp(n) >= 1 / lp(m)   n <= m, and lp grows with n (alpha 0: is 1 throughout)
 *     score(y) = log p(y) / lp(n) <= log p(y) / lp(m) <= log p(h) / lp(m)
 *
 * and of equal scores the one that ended earlier comes first. Each line also holds for rounded numbers, because
 * rounding never reverses an order: each value is at most 0, a sum with such a value is no larger, and the table of lp
 * never falls. A negative alpha is not allowed, because lp would shrink and the second line would be wrong.
 *
 * Diverse beam search (Vijayakumar et al. 2016) divides the beam into groups that search one after another, each with
 * beam / groups hypotheses of its own. Among the continuations of group g, log p counts as log p - diversity times c,
 * where c is how often earlier groups have taken the same token in this step, </s> included. Only the choice
 * depends on this: log p and score are still the model's. The `beam` likeliest tokens of a row suffice, because at most
 * beam - beam / groups of them cost anything. A sentence is over when the exact rule holds in each of its groups. Ended
 * hypotheses are one list, which holds a translation several times if several groups found it.
 *
 * A beam may also stay full (`full`), as in Hugging Face's transformers: hypotheses that have ended leave it, so that there are
 * always `beam` live ones; those with </s> among the likeliest `beam` continuations have ended, and of all that have, the
 * `beam` with the best scores are kept. Then score(y) = log p(y) / n^alpha, and a sentence is over when `beam` hypotheses have
 * ended and the likeliest live one, as if it ended now without a cost, scores no better than the last of these (which is no
 * proof: a longer one might). </s> after as many tokens as are allowed costs nothing.
 *
 * If continuations are drawn, not searched for (`drawn`), a row's first token continues it, whatever its log p; in the
 * first step the `beam` tokens of the only row begin as many hypotheses. All of them are wanted: best is beam.
 *
 * Hypotheses live in slots, `beam` for each sentence, numbered over all sentences. A slot is where a decoder keeps keys
 * and values of a hypothesis. One child takes its parent's slot, which already holds all that it needs; each further
 * child gets a free slot, and a move says from which slot to fill it. No slot that is moved from is moved to. */
#ifndef CORE_SEARCH_BEAM_H
#define CORE_SEARCH_BEAM_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct BeamOptions {
    size_t beam;      /* hypotheses of a sentence */
    size_t best;      /* of which this many are wanted, 1 .. beam */
    double alpha;     /* of the length penalty, at least 0 */
    int32_t end;      /* </s> */
    size_t groups;    /* into which the beam is divided evenly; 0: one */
    double diversity; /* at least 0 */
    bool drawn;
    bool full; /* without groups, and not drawn */
} BeamOptions;

/* How many of its likeliest tokens a row needs in a step. */
static inline size_t beam_choices(const BeamOptions *o) { return o->beam + o->full; }

/* A live hypothesis: the row that the decoder computes next. */
typedef struct BeamRow {
    size_t slot;
    int32_t token; /* its last token; in the first step, when there is none, -1 */
} BeamRow;

typedef struct BeamMove {
    size_t from, to; /* slots */
} BeamMove;

/* What has ended. */
typedef struct Hypothesis {
    size_t length;          /* tokens, without </s> */
    const int32_t *tokens;  /* [length] */
    const double *log_each; /* [length + 1] log p of each token and of </s> */
    double log_p, score;
} Hypothesis;

typedef struct Beams {
    BeamOptions options;
    size_t groups, width;      /* of a sentence, and hypotheses of each */
    size_t sentences, longest; /* capacity: at once, and tokens of one */
    size_t count, steps;       /* sentences that are searched, and tokens of each live hypothesis */
    size_t row_count, move_count;
    BeamRow *row;                    /* [row_count] live hypotheses of all sentences, by slot */
    BeamMove *move;                  /* [move_count] to be made before the next step */
    struct BeamGroup *group;         /* [sentences, groups] */
    struct BeamLive *live;           /* [sentences, groups, width] by log p */
    struct BeamEnded *ended;         /* [sentences, beam] by score */
    struct BeamNode *node;           /* [sentences, groups, longest, width] how each token came into its slot */
    struct BeamLive *next;           /* [width] the live ones of a group after a step */
    struct BeamCandidate *candidate; /* [width], [2 width] of a beam that stays full */
    bool *taken;                     /* [width] slots of a group */
    size_t *rank;                    /* [width] of the live one in each slot, from 1; 0 between calls */
    int32_t *chosen;                 /* [chosen_count] tokens that a sentence's groups have taken in a step */
    size_t chosen_count;
    double *penalty; /* [longest + 2] lp by length */
} Beams;

/* Capacity for this many sentences of this many tokens. */
bool beams_open(Beams *b, const BeamOptions *o, size_t sentences, size_t longest, Error *e);
void beams_close(Beams *b);

/* A search begins: `count` sentences with one live hypothesis each, of no token, in the sentence's first slot; with
 * groups, one in the first slot of each group.
 * most [count]: tokens that a translation may have. */
void beams_begin(Beams *b, const size_t *most, size_t count);

/* One step: of each row its beam_choices likeliest tokens, the likeliest first, which [row_count, beam_choices] with their log p,
 * values; a negative token is none. ends [row_count]: log p of </s>. What is above 0 counts as 0, and NaN as none. */
void beams_step(Beams *b, const int32_t *which, const double *values, const double *ends);

/* The tokens [steps] of the live hypothesis of a row. */
void beams_tokens(const Beams *b, size_t row, int32_t *tokens);

/* How many hypotheses of a sentence have ended, `best` at most; none only where numbers of the network were not
 * finite. */
size_t beams_found(const Beams *b, size_t sentence);

/* Number i of them, the best first: its tokens into `tokens` [longest], log p of each into log_each [longest + 1]. */
Hypothesis beams_hypothesis(const Beams *b, size_t sentence, size_t i, int32_t *tokens, double *log_each);

#endif
