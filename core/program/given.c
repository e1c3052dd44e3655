/* See given.h. */
#include "core/program/given.h"

#include "core/nn/scores.h"
#include "core/train/optimizer.h"
#include "core/train/schedule.h"

/* 0 is "none" of some, and asks for nothing. */
static bool rate_suits(const Options *options, const SharedOptions *o, Error *e)
{
    const bool falls = o->schedule == SCHEDULE_LINEAR || o->schedule == SCHEDULE_COSINE || o->schedule == SCHEDULE_WSD;
    const char *is = schedule_name(o->schedule);
    if (options_given(options, "lr-end") && !falls)
        return fail(e, "--lr-end belongs to --schedule linear, cosine and wsd, not %s", is);
    if (options_given(options, "decay-steps") && o->decay_steps && !falls)
        return fail(e, "--decay-steps belongs to --schedule linear, cosine and wsd, not %s", is);
    if (options_given(options, "lr-patience") && o->lr_patience && o->schedule != SCHEDULE_PLATEAU)
        return fail(e, "--lr-patience belongs to --schedule plateau, not %s", is);
    return o->schedule != SCHEDULE_PLATEAU || o->eval_every ||
           !(options_given(options, "schedule") || options_given(options, "eval-every")) ||
           fail(e, "--schedule plateau goes by evaluations during training: give --eval-every more than 0");
}

static bool optimizer_suits(const Options *options, const SharedOptions *o, Error *e)
{
    const int kind = o->optimizer;
    const char *is = optimizer_kind(kind)->name;
    if (options_given(options, "newton-schulz") && kind != OPTIMIZER_MUON)
        return fail(e, "--newton-schulz belongs to --optimizer muon, not %s", is);
    if (options_given(options, "momentum") && o->momentum > 0 && kind != OPTIMIZER_SGD && kind != OPTIMIZER_MUON)
        return fail(e, "--momentum belongs to --optimizer sgd and muon, not %s", is);
    if (options_given(options, "betas") && (kind == OPTIMIZER_SGD || kind == OPTIMIZER_ADAFACTOR))
        return fail(e, "--betas belongs to --optimizer adam, muon and lion, not %s", is);
    return !options_given(options, "epsilon") || kind == OPTIMIZER_ADAM || kind == OPTIMIZER_MUON ||
           fail(e, "--epsilon belongs to --optimizer adam and muon, not %s", is);
}

/* Whether the user says it, on the command line or in a file of settings, and not a preset or the opened run. */
static bool is_asked_for(const Options *options, const char *name)
{
    return options_given(options, name) || options_source(options, name) == FROM_CONFIG;
}

bool given_suits(const Options *options, const SharedOptions *o, Error *e)
{
    if (o->bias && o->bias_free && options_given(options, "bias") && options_given(options, "bias-free"))
        return fail(e, "--bias-free leaves no bias: not with --bias");
    if (o->qk_norm_kind && o->score != SCORE_SCALED_DOT && options_given(options, "score"))
        return fail(e, "--qk-norm-kind cosine is a score of its own: leave out --score");
    if (o->ngrams == 1 && options_given(options, "ngrams"))
        return fail(e, "--ngrams 1: a single token has its own vector; give 0, or at least 2");
    if (o->steps && o->epochs && is_asked_for(options, "steps") && is_asked_for(options, "epochs"))
        return fail(e, "--steps and --epochs both say how long to train: give one of them");
    return rate_suits(options, o, e) && optimizer_suits(options, o, e);
}
