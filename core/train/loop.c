/* See loop.h. */
#include "core/train/loop.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Time is up when another step would not fit, if it took as long as one did so far. */
static bool time_is_up(const Loop *l)
{
    double mean = l->at.step ? l->at.seconds / (double)l->at.step : 0;
    return l->options.minutes > 0 && l->at.seconds + mean >= 60 * l->options.minutes;
}

bool loop_over(const Loop *l)
{
    return l->at.step >= l->options.steps || time_is_up(l) ||
           (l->options.patience && l->at.stalled >= l->options.patience);
}

static double part_done(const Loop *l)
{
    return l->options.minutes > 0 ? l->at.seconds / (60 * l->options.minutes) : -1;
}

/* The schedule's, halved as often as a plateau was met, where it is one that minds. */
static double rate_of(const Loop *l, uint64_t step)
{
    const Schedule *s = &l->options.schedule;
    return ldexp(schedule_rate(s, step, part_done(l)), s->kind == SCHEDULE_PLATEAU ? -(int)l->at.halved : 0);
}

static double seconds_left(const Loop *l)
{
    double left = (double)(l->options.steps - l->at.step) * l->seconds / fmax(1, (double)l->steps_done);
    return l->options.minutes > 0 ? fmin(left, 60 * l->options.minutes - l->at.seconds) : left;
}

/* What could not be written: what there is, and what to do. */
static bool not_written(const Loop *l, Error *e)
{
    Error gone;
    if (!run_still_there(l->run, &gone))
        return fail(e, "%s", gone.text);
    return fail(e, "%s; once that is fixed, --resume %s continues from its last checkpoint", e->text, l->run->path);
}

/* One process writes the run; the others only compute. */
static bool writes(void) { return ranks_own() == 0; }

/* Marks follow from where the run stands, so that they can be set again when a process was killed before them. */
static bool mark(Loop *l, Error *e)
{
    return run_mark(l->run, "last", l->at.step, e) &&
           run_mark(l->run, "best", l->at.scored ? l->at.best_step : l->at.step, e) &&
           run_prune(l->run, l->options.keep, e);
}

static bool checkpoint(Loop *l, Error *e)
{
    l->last_saved = clock_seconds();
    if (!writes())
        checkpoint_take_part(l->trainer);
    l->saved = !writes() ||
               (checkpoint_save(l->run, l->trainer, &l->note, &l->at, l->options.minutes > 0, e) && mark(l, e));
    return l->saved;
}

bool loop_begin(Loop *l, Error *e)
{
    trainer_average_begins(l->trainer);
    return checkpoint(l, e);
}

static bool save(Loop *l, Error *e) { return checkpoint(l, e) || not_written(l, e); }

/* Where it goes on from an earlier checkpoint, the best one may be among those that were removed: then the next is best. */
static bool forget_lost_best(Loop *l, Error *e)
{
    char *folder = run_checkpoint_path(l->run, l->at.best_step);
    if (!folder)
        return memory_error(e, "a path", strlen(l->run->path), 1);
    if (l->at.scored && !folder_exists(folder)) {
        l->at.scored = false;
        l->at.stalled = 0;
    }
    memory_free(folder);
    return true;
}

/* Whether the files of a checkpoint are no longer what was saved, which is worth saying: an older one may serve. */
static bool is_damaged(const Run *run, uint64_t step)
{
    char *folder = run_checkpoint_path(run, step);
    Error why = {""};
    const bool damaged = folder && !sums_match_all(folder, &why) && strstr(why.text, "damaged");
    memory_free(folder);
    return damaged;
}

bool loop_resume(Loop *l, Error *e)
{
    uint64_t step;
    bool found;
    if (!run_checkpoint_latest(l->run, &step, &found, &l->damaged, e))
        return false;
    if (!found)
        return fail(e, "the run %s has no complete checkpoint to continue from%s%s", l->run->path,
                    l->damaged.text[0] ? ": " : "", l->damaged.text);
    if (!checkpoint_load(l->run, l->trainer, step, &l->note, &l->at, e))
        return is_damaged(l->run, step) &&
               fail(e, "%s; or remove that damaged checkpoint: --resume then continues from an earlier one", e->text);
    if (!forget_lost_best(l, e))
        return false;
    ranks_any(false); /* all have read it before one removes what is too old */
    l->saved = !writes() || mark(l, e);
    return l->saved;
}

static Report report_of(const Loop *l, const StepResult *now, double rate)
{
    double loss = l->window_targets > 0 ? l->window_loss / l->window_targets : now->loss;
    return (Report){.step = l->at.step,
                    .total = l->options.minutes > 0 ? 0 : l->options.steps,
                    .loss = loss * l->task->per_nat,
                    .unit = l->task->unit,
                    .norm = now->norm,
                    .rate = rate,
                    .tokens_per_second = l->seconds > 0 ? l->tokens / l->seconds : -1,
                    .seconds_left = seconds_left(l)};
}

/* What an evaluation writes into the log; empty where there was none, or a task does not guess. */
typedef struct Validation {
    char loss[40], accuracy[40], perplexity[80], figure[40];
} Validation;

/* Of one piece, and of all pieces of a word together; with what stands between and after the two. */
static void print_perplexities(char *text, size_t size, const char *format, const MeanLoss *score, double words)
{
    text[0] = 0;
    if (words > 0)
        snprintf(text, size, format, exp(score->nll), exp(score->nll * score->targets / words));
}

/* The program's own figure for the log, and for the line of the evaluation. */
static bool own_figure(Loop *l, char *logged, size_t logged_size, char *said, size_t said_size, Error *e)
{
    double figure = NAN;
    logged[0] = said[0] = 0;
    if (l->evaluate && !l->evaluate(l->self, &figure, e))
        return false;
    if (isfinite(figure)) {
        snprintf(logged, logged_size, "%.3f", figure);
        snprintf(said, said_size, ", %s %.2f", l->figure_name, figure);
    }
    return true;
}

/* Scores the validation data, and remembers whether it is the best so far. */
static bool evaluate(Loop *l, Report *report, Validation *valid, Error *e)
{
    MeanLoss score;
    char accuracy[32] = "", perplexity[80], figure[60];
    if (!trainer_score(l->trainer, &score, e) ||
        !own_figure(l, valid->figure, sizeof valid->figure, figure, sizeof figure, e))
        return false;
    snprintf(valid->loss, sizeof valid->loss, "%.6f", score.loss * l->task->per_nat);
    if (l->task->guesses) {
        snprintf(valid->accuracy, sizeof valid->accuracy, "%.5f", score.hits / score.targets);
        snprintf(accuracy, sizeof accuracy, ", accuracy %.2f %%", 100 * score.hits / score.targets);
    }
    print_perplexities(valid->perplexity, sizeof valid->perplexity, "\t%.4f\t%.4f", &score, l->task->words);
    print_perplexities(perplexity, sizeof perplexity, ", perplexity %.2f per token, %.2f per word", &score,
                       l->task->words);
    bool best = isfinite(score.loss) && (!l->at.scored || score.loss < l->at.best);
    l->at.stalled = best ? 0 : l->at.stalled + 1;
    if (!best && l->options.schedule.kind == SCHEDULE_PLATEAU && l->at.stalled % l->options.lr_patience == 0)
        l->at.halved++;
    if (best) {
        l->at.best = score.loss;
        l->at.best_step = l->at.step;
        l->at.scored = true;
    }
    report->mark = best ? "new best" : NULL;
    const char *protocol = l->task->protocol;
    watch_note(l->trainer->watch, "step %llu: validation %.4f %s%s%s%s%s%s%s%s", (unsigned long long)l->at.step,
               score.loss * l->task->per_nat, l->task->unit, accuracy, perplexity, figure, protocol ? " (" : "",
               protocol ? protocol : "", protocol ? ")" : "", best ? ", new best" : "");
    return true;
}

static bool sample(Loop *l, Error *e)
{
    return !writes() || !l->sample || l->sample(l->self, l->at.step, e) || not_written(l, e);
}

/* Of a step, and the part of it in which a process waits for others: the mean of all, each by its own clock, because a
 * process that begins a step before the others waits for longer than theirs takes. */
typedef struct StepTime {
    double seconds, waiting;
} StepTime;

/* What depends on time is the same in all processes. */
static bool agree_on_time(StepTime *t, Error *e)
{
    const size_t ranks = ranks_count();
    StepTime *all = ranks > 1 ? memory_get(ranks, sizeof *all) : NULL;
    if (ranks == 1)
        return true;
    if (!all)
        return memory_error(e, "times of processes", ranks, sizeof *all);
    all[ranks_own()] = *t;
    ranks_gather(all, sizeof *all);
    *t = (StepTime){.seconds = all[0].seconds};
    for (size_t i = 0; i < ranks; i++)
        t->waiting += all[i].waiting / (double)ranks;
    memory_free(all);
    return true;
}

static bool log_step(Loop *l, const StepResult *now, double rate, const StepTime *t, const Validation *valid, Error *e)
{
    const double seconds = t->seconds;
    char waiting[40] = "";
    if (ranks_count() > 1)
        snprintf(waiting, sizeof waiting, "%.4f", t->waiting);
    bool done = !writes() || run_log_line(l->run, e, "%llu\t%.0f\t%.6f\t%.5g\t%.6g\t%s\t%.0f\t%.3f\t%.6f\t%s%s%s%s\t%s",
                                          (unsigned long long)l->at.step, now->targets, now->loss * l->task->per_nat,
                                          now->norm, rate, valid->loss, seconds > 0 ? now->tokens / seconds : 0,
                                          seconds, now->nll * l->task->per_nat, valid->accuracy,
                                          l->task->words > 0 && !valid->perplexity[0] ? "\t\t" : valid->perplexity,
                                          l->evaluate ? "\t" : "", valid->figure, waiting);
    return done || not_written(l, e);
}

/* By steps, or by the clock of any process: all save at the same step, because with --shard each has a part of it. */
static bool due(const Loop *l)
{
    bool steps = l->options.save_every && l->at.step % l->options.save_every == 0;
    return steps ||
           (l->options.save_seconds > 0 && ranks_any(clock_seconds() - l->last_saved >= l->options.save_seconds));
}

static bool step(Loop *l, Error *e)
{
    StepResult now;
    uint64_t number = l->at.step + 1;
    double rate = rate_of(l, number), start = clock_seconds(), waited = ranks_waited(), sent = ranks_sent();
    if (!trainer_step(l->trainer, number, rate, &now, e))
        return false;
    if (now.given_up) /* where it stood before, it stands still */
        return true;
    if (!now.finite) {
        trainer_find_nonfinite(l->trainer, number, e);
        return false;
    }
    StepTime time = {.seconds = clock_seconds() - start};
    if (time.seconds > 0)
        time.waiting = (ranks_waited() - waited) / time.seconds;
    l->sent += ranks_sent() - sent;
    if (!agree_on_time(&time, e))
        return false;
    const double seconds = time.seconds;
    l->waited += time.waiting * seconds;
    Validation valid = {"", "", "", ""};
    l->at.step = number;
    l->saved = false;
    l->at.seconds += seconds;
    l->seconds += seconds;
    l->tokens += now.tokens;
    l->steps_done++;
    l->window_loss += now.loss * now.targets;
    l->window_targets += now.targets;

    Report report = report_of(l, &now, rate);
    bool last = loop_over(l), score = last || (l->options.eval_every && number % l->options.eval_every == 0);
    score = score && l->task->score_batches;
    watch_report(l->trainer->watch, &report, false);
    /* What belongs to a step is written before its checkpoint: a run that is killed in between does the step again. */
    const bool samples = l->options.sample_every ? number % l->options.sample_every == 0 : score;
    if (score || samples)
        trainer_exchange(l->trainer);
    bool shown = (!score || evaluate(l, &report, &valid, e)) && (!samples || sample(l, e));
    if (score || samples)
        trainer_exchange(l->trainer);
    if (!shown || !log_step(l, &now, rate, &time, &valid, e))
        return false;
    if (score || number % 100 == 0 || last) {
        watch_report(l->trainer->watch, &report, true);
        l->window_loss = l->window_targets = 0;
    }
    return !(report.mark || due(l)) || save(l, e);
}

/* Workers whose shares are uneven wait for the one that has most. */
static void note_uneven(const Loop *l)
{
    const TrainerPlan *p = &l->trainer->plan;
    const size_t ranks = ranks_count();
    const double workers = (double)(l->trainer->options.workers * ranks),
                 as_fast = (double)p->micros / (double)p->busiest;
    if (as_fast < 0.9 * workers)
        watch_note(
            l->trainer->watch,
            "%.0f workers are as fast as %.1f: a step's %zu micro-batches are %zu shares, and one worker has %zu "
            "micro-batches; more --shares, or fewer --workers, divide them evenly",
            workers, as_fast, p->micros, p->shares, p->busiest);
}

bool loop_run(Loop *l, Error *e)
{
    char columns[560], figure[80] = "";
    if (l->evaluate)
        snprintf(figure, sizeof figure, "\tvalidation %s (%s)", l->figure_name, l->figure_unit);
    snprintf(columns, sizeof columns,
             "step\ttargets\tloss (%s)\tgradient norm\tlearning rate\tvalidation (%s)\ttokens/s\tseconds"
             "\tloss without smoothing (%s)\tvalidation accuracy%s%s\twaiting for processes (part of the seconds)",
             l->task->unit, l->task->unit, l->task->unit,
             l->task->words > 0 ? "\tvalidation perplexity of a token\tvalidation perplexity of a word" : "", figure);
    l->last_saved = clock_seconds();
    bool fine = !writes() || run_log_open(l->run, columns, l->at.step, e);
    note_uneven(l);
    ranks_any(false); /* all are there */
    ranks_at_work();
    while (fine && !loop_over(l) && !(l->stopped = ranks_any(watch_stop(l->trainer->watch))))
        fine = step(l, e);
    if (fine && ranks_count() > 1 && l->steps_done)
        watch_note(l->trainer->watch,
                   "processes waited for each other in %.1f %% of the time of steps, and this one sent %s a step, "
                   "%.0f %% of it during backward passes",
                   100 * l->waited / l->seconds, bytes_text((size_t)(l->sent / (double)l->steps_done)).text,
                   100 * l->trainer->exchange.ahead / (l->sent > 0 ? l->sent : 1));
    if (fine && !l->saved)
        fine = save(l, e);
    return fine && (!writes() || run_still_there(l->run, e));
}
