/* Losses of a trainer's tasks: summed over micro-batches, and of all scored batches, which processes share. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "core/train/step.h"

#include <math.h>

void sums_add(Sums *to, const StepState *from)
{
    for (size_t i = 0; i < LOSSES; i++) {
        to->sum[i] += from->loss[i].sum;
        to->nll[i] += from->loss[i].nll;
        to->count[i] += from->loss[i].count;
    }
}

MeanLoss sums_mean(const Sums *s)
{
    MeanLoss mean = {.targets = s->count[0], .hits = s->hits};
    for (size_t i = 0; i < LOSSES; i++) {
        mean.part[i] = s->count[i] > 0 ? s->sum[i] / s->count[i] : 0;
        mean.loss += mean.part[i];
        mean.nll += s->count[i] > 0 ? s->nll[i] / s->count[i] : 0;
    }
    return mean;
}

enum { ROUND = 1024 }; /* batches whose states are kept until all are there */

typedef struct ScoreWork {
    Trainer *c;
    Batch *batches;    /* one a worker */
    StepState *states; /* one a batch of the round, summed in order: the result does not depend on the workers */
    double *hits;      /* as many */
    int32_t **guesses; /* one list a worker */
    size_t first, end; /* the round's batches */
    size_t from, to;   /* of them, those of this process */
    Sums seen;         /* by worker 0 */
    double began;
} ScoreWork;

/* What worker 0 has seen, as far as it is with batch i, stands for all. */
static void show_score(ScoreWork *s, size_t i)
{
    const Trainer *c = s->c;
    const size_t all = c->task->score_batches, next = s->first + (i - s->from + c->options.workers) * ranks_count(),
                 done = next < all ? next : all;
    if (!c->watch)
        return;
    sums_add(&s->seen, &s->states[i - s->first]);
    MeanLoss mean = sums_mean(&s->seen);
    double seconds = clock_seconds() - s->began;
    Report report = {.counted = "scored",
                     .step = done,
                     .total = all,
                     .loss = mean.loss * c->task->per_nat,
                     .unit = c->task->unit,
                     .norm = -1,
                     .rate = -1,
                     .tokens_per_second = seconds > 0 ? mean.targets * (double)c->options.workers / seconds : -1,
                     .seconds_left = seconds / (double)done * (double)(all - done)};
    watch_report(c->watch, &report, false);
}

/* Guesses that are the target. */
static double hits_of(const ScoreWork *s, const Worker *w, size_t number)
{
    const Task *task = s->c->task;
    const Side *side = &s->batches[number].side[task->loss_side[0]];
    size_t hits = 0;
    if (!task->guesses)
        return 0;
    s->c->options.k->download(w->stream, s->guesses[number], w->tape.guesses, side->positions * sizeof **s->guesses);
    for (size_t i = 0; i < side->positions; i++)
        hits += side->targets[i] >= 0 && side->targets[i] == s->guesses[number][i];
    return (double)hits;
}

static void score_work(void *argument, size_t number)
{
    ScoreWork *s = argument;
    Trainer *c = s->c;
    Worker *w = &c->worker[number];
    w->begins = (StepState){0};
    for (size_t i = s->from + number; i < s->to; i += c->options.workers) {
        c->options.k->upload(w->stream, w->state, &w->begins, sizeof w->begins);
        c->task->score_batch(c->task->self, i, &s->batches[number]);
        device_rows_upload(&w->rows, w->stream, &s->batches[number], 0, s->batches[number].side[0].rows);
        c->task->loss(c->task->self, &w->tape, w->rows.rows);
        c->options.k->download(w->stream, &s->states[i - s->first], w->state, sizeof *s->states);
        s->hits[i - s->first] = hits_of(s, w, number);
        tape_reset(&w->tape);
        if (number == 0)
            show_score(s, i);
    }
}

/* Every process gets what the others have scored of the round. */
static void share_scores(const ScoreWork *s)
{
    const size_t all = s->end - s->first;
    for (size_t from = 0; from < ranks_count() && ranks_count() > 1; from++)
        for (size_t to = 0; to < ranks_count(); to++) {
            size_t first, end;
            deal(all, ranks_count(), from, &first, &end);
            const RankPiece states = {from == ranks_own() ? to : from, s->states + first,
                                      (end - first) * sizeof *s->states},
                            hits = {states.rank, s->hits + first, (end - first) * sizeof *s->hits};
            const bool sends = from == ranks_own(), takes = to == ranks_own();
            if (sends != takes)
                ranks_exchange((RankPiece[]){states, hits}, sends ? 2 : 0, (RankPiece[]){states, hits}, takes ? 2 : 0);
        }
}

static bool score_round(ScoreWork *s, Sums *sums, Error *e)
{
    Trainer *c = s->c;
    pool_run(c->pool, score_work, s);
    for (size_t i = 0; i < c->options.workers; i++)
        if (!c->options.k->finish(c->worker[i].stream, e))
            return false;
    share_scores(s);
    for (size_t i = s->first; i < s->end; i++) {
        sums_add(sums, &s->states[i - s->first]);
        sums->hits += s->hits[i - s->first];
    }
    return true;
}

bool trainer_score(Trainer *c, MeanLoss *score, Error *e)
{
    const Task *task = c->task;
    BatchSize size = plan_size(task, task->score_rows, true);
    Sums sums = {0};
    ScoreWork s = {.c = c,
                   .batches = memory_get(c->options.workers, sizeof *s.batches),
                   .states = memory_get(ROUND, sizeof *s.states),
                   .hits = memory_get(ROUND, sizeof *s.hits),
                   .guesses = memory_get(c->options.workers, sizeof *s.guesses),
                   .began = clock_seconds()};
    bool fine = s.batches && s.states && s.hits && s.guesses;
    for (size_t i = 0; fine && i < c->options.workers; i++) {
        s.guesses[i] = memory_get(size.positions[task->loss_side[0]], sizeof **s.guesses);
        fine = s.guesses[i] && batch_open(&s.batches[i], &size, e);
    }
    fine = fine || memory_error(e, "scores", ROUND, sizeof *s.states);
    for (; fine && s.first < task->score_batches; s.first = s.end) {
        s.end = s.first + ROUND < task->score_batches ? s.first + ROUND : task->score_batches;
        size_t from, to;
        deal(s.end - s.first, ranks_count(), ranks_own(), &from, &to);
        s.from = s.first + from, s.to = s.first + to;
        fine = score_round(&s, &sums, e);
    }
    *score = sums_mean(&sums);
    if (fine && !(isfinite(score->loss) && isfinite(score->nll)))
        fine = fail(
            e, "the loss of what is scored is not finite, because the network's values are not; check its weights");
    for (size_t i = 0; i < c->options.workers; i++) {
        if (s.batches)
            batch_close(&s.batches[i]);
        if (s.guesses)
            memory_free(s.guesses[i]);
    }
    memory_free(s.batches);
    memory_free(s.states);
    memory_free(s.hits);
    memory_free(s.guesses);
    return fine;
}
