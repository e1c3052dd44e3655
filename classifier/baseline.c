/* See baseline.h. With n_cf the number of texts of class c that have feature f, and smoothing s:
 *
 *     naive Bayes     the class c with the largest  log p(c) + sum_f log((s + n_cf) / sum_g (s + n_cg))
 *     regression      of each class against all others, with s = 1, on features that are worth
 *                     log((1 + n_cf) / sum_g (1 + n_cg)) - the same of all other classes together
 *
 * with sums over the features f that a text has. */
#include "classifier/baseline.h"
#include "classifier/regression.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double smoothings[] = {0.03, 0.1, 0.3, 1, 3}, cs[] = {0.01, 0.1, 1, 10};

/* What is learned from, what is scored, and how many texts of each class have each feature. */
typedef struct Trial {
    size_t classes;
    Features features;
    FeatureRows learnt, scored;
    uint32_t *counts; /* [features, classes] */

    double *scores; /* [scored, classes] */
} Trial;

static void trial_close(Trial *t)
{
    features_close(&t->features);
    feature_rows_close(&t->learnt);
    feature_rows_close(&t->scored);
    memory_free(t->counts);
    memory_free(t->scores);
    *t = (Trial){0};
}

static bool trial_fill(Trial *t, const Corpus *c, const size_t *learn, size_t learn_count, const size_t *score,
                       size_t score_count, Error *e)
{
    if (!features_open(&t->features, e) ||
        !feature_rows_make(&t->learnt, &t->features, c, learn, learn_count, true, e) ||
        !feature_rows_make(&t->scored, &t->features, c, score, score_count, false, e))
        return false;
    t->counts = memory_get(t->features.count, t->classes * sizeof *t->counts);
    t->scores = memory_get(score_count, t->classes * sizeof *t->scores);
    if (!t->counts || !t->scores)
        return memory_error(e, "counts of words and pairs", t->features.count, t->classes * sizeof *t->counts);
    const FeatureRows *rows = &t->learnt;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
            t->counts[rows->features[k] * t->classes + (size_t)rows->labels[i]]++;
    return true;
}

static bool trial_open(Trial *t, const Reviews *r, const size_t *learn, size_t learn_count, const size_t *score,
                       size_t score_count, Error *e)
{
    *t = (Trial){.classes = r->class_count};
    bool done = trial_fill(t, &r->corpus, learn, learn_count, score, score_count, e);
    if (!done)
        trial_close(t);
    return done;
}

/* The part of texts whose own class has the highest score. */
static double accuracy(const Trial *t)
{
    size_t right = 0;
    for (size_t i = 0; i < t->scored.count; i++) {
        const double *score = t->scores + i * t->classes;
        size_t best = 0;
        for (size_t c = 1; c < t->classes; c++)
            best = score[c] > score[best] ? c : best;
        right += best == (size_t)t->scored.labels[i];
    }
    return (double)right / (double)t->scored.count;
}

/* --- naive Bayes --- */

/* How often each feature is met in texts of a class, and how many those are. */
static void count_class(const Trial *t, size_t class, double *texts, double *sum)
{
    *texts = *sum = 0;
    for (size_t i = 0; i < t->learnt.count; i++)
        *texts += (size_t)t->learnt.labels[i] == class;
    for (size_t f = 0; f < t->features.count; f++)
        *sum += t->counts[f * t->classes + class];
}

static double bayes(Trial *t, double smoothing)
{
    for (size_t c = 0; c < t->classes; c++) {
        double texts, sum;
        count_class(t, c, &texts, &sum);
        double all = log(sum + smoothing * (double)t->features.count);
        for (size_t i = 0; i < t->scored.count; i++) {
            double score = log(texts);
            for (size_t k = t->scored.start[i]; k < t->scored.start[i + 1]; k++)
                score += log(smoothing + t->counts[t->scored.features[k] * t->classes + c]) - all;
            t->scores[i * t->classes + c] = score;
        }
    }
    return accuracy(t);
}

/* --- regression --- */

/* What each feature is worth to tell a class from all others. */
static void weigh(const Trial *t, size_t class, Weight *weights)
{
    size_t n = t->features.count;
    double inside = (double)n, outside = (double)n;
    for (size_t f = 0; f < n; f++)
        for (size_t c = 0; c < t->classes; c++)
            *(c == class ? &inside : &outside) += t->counts[f * t->classes + c];
    for (size_t f = 0; f < n; f++) {
        double here = 1, there = 1;
        for (size_t c = 0; c < t->classes; c++)
            *(c == class ? &here : &there) += t->counts[f * t->classes + c];
        weights[f] = (Weight){.of_feature = (float)(log(here / inside) - log(there / outside))};
    }
    weights[n] = (Weight){.of_feature = 1};
}

static bool regression(Trial *t, double c, double *result, Error *e)
{
    size_t n = t->features.count;
    Weight *weights = memory_get(n + 1, sizeof *weights);
    bool done = weights || memory_error(e, "weights of words and pairs", n + 1, sizeof *weights);
    size_t first = t->classes == 2; /* of two classes one says all */
    for (size_t class = first; done && class < t->classes; class ++) {
        weigh(t, class, weights);
        done = regression_learn(weights, n, &t->learnt, (int32_t) class, c, e);
        for (size_t i = 0; done && i < t->scored.count; i++) {
            t->scores[i * t->classes + class] = regression_score(weights, n, &t->scored, i);
            if (first)
                t->scores[i * t->classes] = 0;
        }
    }
    memory_free(weights);
    if (done)
        *result = accuracy(t);
    return done;
}

/* --- choosing --- */

/* Of what is best on this trial's scored texts, the first. */
static bool choose(Trial *t, BaselineResult *result, Error *e)
{
    result->bayes = result->regression = -1;
    result->chosen_on = t->scored.count;
    for (size_t i = 0; i < sizeof smoothings / sizeof *smoothings; i++) {
        double right = bayes(t, smoothings[i]);
        if (right > result->bayes) {
            result->bayes = right;
            result->smoothing = smoothings[i];
        }
    }
    for (size_t i = 0; i < sizeof cs / sizeof *cs; i++) {
        double right;
        if (!regression(t, cs[i], &right, e))
            return false;
        if (right > result->regression) {
            result->regression = right;
            result->c = cs[i];
        }
    }
    return true;
}

/* Chooses on texts that were held out from `learn`. */
static bool choose_on(const Reviews *r, const size_t *learn, size_t learn_count, const size_t *held_out, size_t count,
                      BaselineResult *result, Error *e)
{
    Trial t;
    if (!trial_open(&t, r, learn, learn_count, held_out, count, e))
        return false;
    result->learnt = learn_count;
    result->scored = count;
    result->features = t.features.count;
    bool done = choose(&t, result, e);
    trial_close(&t);
    return done;
}

/* The same where nothing is held out yet: a fifth, of each class a fifth. */
static bool choose_inside(const Reviews *r, BaselineResult *result, Error *e)
{
    const Texts *train = reviews_part(r, SPLIT_TRAIN);
    size_t kept = 0, out = train->count;
    bool *held_out = memory_get(train->count, sizeof *held_out);
    size_t *texts = memory_get(train->count, sizeof *texts);
    bool done = held_out && texts ? hold_out(train->labels, train->count, r->class_count, 1, held_out, e)
                                  : memory_error(e, "held-out texts", train->count, sizeof *texts);
    for (size_t i = 0; done && i < train->count; i++)
        texts[held_out[i] ? --out : kept++] = train->source[i];
    if (done && kept == train->count)
        done = fail(e, "%zu texts are too few to hold out a fifth of each class", train->count);
    done = done && choose_on(r, texts, kept, texts + kept, train->count - kept, result, e);
    memory_free(held_out);
    memory_free(texts);
    return done;
}

/* Scores with what was chosen. logits: gets those of the regression; may be NULL. */
static bool score(const Reviews *r, const Texts *texts, BaselineResult *result, float *logits, Error *e)
{
    const Texts *train = reviews_part(r, SPLIT_TRAIN);
    Trial t;
    if (!trial_open(&t, r, train->source, train->count, texts->source, texts->count, e))
        return false;
    result->learnt = train->count;
    result->scored = texts->count;
    result->features = t.features.count;
    result->bayes = bayes(&t, result->smoothing);
    bool done = regression(&t, result->c, &result->regression, e);
    for (size_t i = 0; done && logits && i < texts->count * t.classes; i++)
        logits[i] = (float)t.scores[i];
    trial_close(&t);
    return done;
}

/* Chooses, never on the test part. */
static bool choose_for(const Reviews *r, Split part, BaselineResult *result, Error *e)
{
    const Texts *train = reviews_part(r, SPLIT_TRAIN), *valid = reviews_part(r, SPLIT_VALID);
    *result = (BaselineResult){.chosen_on_scored = part == SPLIT_VALID};
    if (!reviews_suits(r, SPLIT_TRAIN, e) || !reviews_suits(r, part, e))
        return false;
    return valid->count ? choose_on(r, train->source, train->count, valid->source, valid->count, result, e)
                        : choose_inside(r, result, e);
}

bool baseline_score(const Reviews *r, Split part, BaselineResult *result, Error *e)
{
    return choose_for(r, part, result, e) && (part == SPLIT_VALID || score(r, reviews_part(r, part), result, NULL, e));
}

bool baseline_logits(const Reviews *r, Split part, float *logits, Error *e)
{
    BaselineResult result;
    return choose_for(r, part, &result, e) && score(r, reviews_part(r, part), &result, logits, e);
}

bool baseline_run(const Reviews *r, Split part, bool json, Error *e)
{
    BaselineResult b;
    if (!baseline_score(r, part, &b, e))
        return false;
    if (json) {
        printf("{\"split\": \"%s\", \"reviews\": %zu, \"learnt_reviews\": %zu, \"features\": %zu, \"bayes\": "
               "{\"accuracy\": %.6f, \"smoothing\": %g}, \"regression\": {\"accuracy\": %.6f, \"c\": %g}}\n",
               split_name(part), b.scored, b.learnt, b.features, b.bayes, b.smoothing, b.regression, b.c);
        return true;
    }
    printf("accuracy on %s: %zu texts; %zu words and pairs of %zu training texts\n", split_name(part), b.scored,
           b.features, b.learnt);
    printf("naive Bayes          %6.2f %%   smoothing %g\n", 100 * b.bayes, b.smoothing);
    printf("logistic regression  %6.2f %%   C %g\n", 100 * b.regression, b.c);
    printf("smoothing and C were chosen from a few values on %zu %s\n", b.chosen_on,
           b.chosen_on_scored ? "of these same texts" : "other texts, held out from training");
    return true;
}
