/* PROGRAM train: a new run, or one that continues. */
#include "core/program/coordinates.h"
#include "core/program/find_rate.h"
#include "core/program/given.h"
#include "core/program/together.h"

#include "base/memory.h"
#include "base/ranks.h"
#include "base/units.h"
#include "core/cli/progress.h"
#include "core/cli/stop.h"
#include "core/run/json.h"
#include "core/train/groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Training {
    App *a;
    Trainer trainer;
    Loop loop;
    Buffer model_options;
} Training;

static bool sample(void *self, uint64_t step, Error *e)
{
    Training *t = self;
    return t->a->kind->sample(t->a, &t->trainer, step, e);
}

static bool evaluate(void *self, double *figure, Error *e)
{
    Training *t = self;
    return t->a->kind->evaluate(t->a, &t->trainer, figure, e);
}

static bool save_settings(const App *a, Error *e)
{
    const DataNote data = a->kind->data(a);
    return settings_save(a->run, a->command_line, &data, e);
}

/* A run that is there: its options, and its data by content. */
static bool open_old(App *a, Error *e)
{
    return app_open_run(a, a->options->resume, !a->options->dry_run && ranks_own() == 0, e) &&
           (given_suits(a->command_line, a->options, e) || app_misused(a)) && settings_keep_level(a->run, e) &&
           a->kind->open(a, e) && sums_match_all(a->run->path, e) &&
           setup_fix(a->command_line, a->options, a->parameters, &a->task, a->kind->epoch(a), e);
}

/* What the command line says otherwise than the run is the run's own from its next step on. */
static bool keep_changes(const App *a, Error *e)
{
    Buffer changes = {0};
    if (a->options->resume)
        options_changes(a->command_line, &changes);
    bool fine = !changes.failed || fail(e, "out of memory for what changes on resume");
    if (fine && (changes.size || (a->options->resume && !*a->learnt))) { /* a run may have learned from nothing yet */
        fprintf(stderr, "%s%s", changes.size ? "changed on resume:\n" : "", changes.size ? changes.text : "");
        fine = a->options->dry_run || ranks_own() > 0 || save_settings(a, e);
    }
    buffer_free(&changes);
    return fine;
}

static bool open_new(App *a, Error *e)
{
    const SharedOptions *o = a->options;
    const bool makes = !o->dry_run && !o->find_lr && !o->coordinates;
    if (makes && !app_run_is_apart(a, o->run ? o->run : "runs", e))
        return false;
    if (o->run && !o->dry_run && ranks_own() == 0 && !run_may_begin(o->run, a->kind->files, e))
        return false; /* now, not when all data are read */
    return setup_device(a->command_line, a->options, e) && a->kind->open(a, e) &&
           setup_fix(a->command_line, a->options, a->parameters, &a->task, a->kind->epoch(a), e);
}

/* Whether this resume asks for more than what the run has stored. */
static bool asks_for_more(const App *a, const char *name, size_t now)
{
    const char *stored = options_stored(a->command_line, name);
    return stored && strtoull(stored, NULL, 10) < now;
}

/* A schedule ends where the run's first steps did: steps that are added are trained at its last rate. */
static void warn_of_schedule(const App *a, const Loop *l)
{
    const Schedule *s = &l->options.schedule;
    const unsigned long long steps = l->options.steps;
    const bool falls = s->kind == SCHEDULE_LINEAR || s->kind == SCHEDULE_COSINE || s->kind == SCHEDULE_WSD;
    const bool added = asks_for_more(a, "steps", a->options->steps) || asks_for_more(a, "epochs", a->options->epochs);
    if (!falls || !added || s->decay_steps <= s->warmup || s->decay_steps >= steps || l->at.step >= steps)
        return;
    const double last = schedule_rate(s, s->decay_steps, -1);
    char then[64] = "nothing is learned after it";
    if (last > 0)
        snprintf(then, sizeof then, "stays at %.2g from there on", last);
    fprintf(stderr,
            "%s: warning: the learning rate falls %suntil step %zu and %s, because the run's schedule ends there; "
            "--decay-steps 0 lets it fall until step %llu\n",
            a->kind->name, last > 0 ? "" : "to 0 ", s->decay_steps, then, steps);
}

/* From the newest whole checkpoint. */
static bool go_on(Training *t, Error *e)
{
    Loop *l = &t->loop;
    if (!loop_resume(l, e) || (ranks_own() == 0 && !run_samples_cut(t->a->run, l->at.step, e)))
        return false;
    if (options_given(t->a->command_line, "lr")) /* that rate, not what a plateau has made of another */
        l->at.halved = 0;
    if (l->damaged.text[0])
        fprintf(stderr, "%s: continuing from step %llu, because %s\n", t->a->kind->name, (unsigned long long)l->at.step,
                l->damaged.text);
    warn_of_schedule(t->a, l);
    return true;
}

/* Fresh, of a file, or what fits of one. */
static bool begin_weights(Training *t, Error *e)
{
    const App *a = t->a;
    const SharedOptions *o = a->options;
    const char *const(*aliases)[2] = o->tie ? a->kind->aliases : NULL;
    WeightsPart part = {.map = NULL};
    bool fine = setup_weights(&t->trainer, o, aliases, &t->loop.note, e) &&
                (!o->from || setup_part(&t->trainer, a->command_line, o, aliases, &t->loop.note, &part, e));
    if (fine && o->from && !o->quiet)
        fprintf(stderr, "tensors of %s:\n%s", o->from, part.report.text);
    buffer_free(&part.report);
    return fine;
}

/* An imported run has not learned from any data yet. */
static void print_begun(const App *a)
{
    const DataNote data = a->kind->data(a);
    fprintf(stderr, "run %s: ", a->run->path);
    if (*data.sha256)
        fprintf(stderr, "%s %s of %s, ", count_text(data.bytes).text, a->kind->measure,
                app_data(a) ? app_data(a) : a->kind->built_in);
    fprintf(stderr, "%s parameters\n", count_text(a->parameters->numbers).text);
}

/* A run is made when all that can be wrong without it has been found right; its configuration comes last. */
static bool begin(Training *t, Error *e)
{
    App *a = t->a;
    char *path = NULL;
    if (ranks_own() > 0)
        return begin_weights(t, e) && loop_begin(&t->loop, e);
    bool fine = begin_weights(t, e) && (a->options->run || run_default_path(&path, a->kind->name, e)) &&
                run_create(&a->run, a->options->run ? a->options->run : path, a->kind->files, e);
    memory_free(path);
    if (!fine)
        return false;
    t->loop.run = a->run;
    if ((a->kind->begin && !(a->kind->begin(a, e) && sums_write(a->run->path, e))) || !loop_begin(&t->loop, e) ||
        !save_settings(a, e))
        return false;
    if (!a->options->quiet)
        print_begun(a);
    return true;
}

static bool print_result(const Training *t, bool json, Error *e)
{
    const App *a = t->a;
    const Loop *l = &t->loop;
    if (ranks_own() > 0)
        return true;
    double best = l->at.best * a->task.per_nat;
    if (json) {
        Buffer b = {0};
        json_add_text(&b, "run", a->run->path);
        json_add_member(&b, "steps", (double)l->at.step);
        json_add_member(&b, "tokens", l->tokens);
        json_add_member(&b, "seconds", l->seconds);
        json_add_member(&b, "best", l->at.scored ? best : NAN); /* null */
        dataset_protocol(a, &b);
        json_add_key(&b, "finished");
        buffer_print(&b, l->stopped ? "false" : "true");
        return json_print_members(&b, e);
    }
    printf("%s: %llu steps", a->run->path, (unsigned long long)l->at.step);
    if (l->at.scored)
        printf(", best %.4f %s (step %llu; %s)", best, a->task.unit, (unsigned long long)l->at.best_step, a->protocol);
    printf("\n");
    return true;
}

/* --dry-run */
static bool print_plan(const App *a, const TrainerOptions *options, Error *e)
{
    TrainerPlan plan;
    LoopOptions loop;
    const Demand demand = {&plan, options, a->parameters};
    if (!trainer_plan(&plan, options, a->parameters, &a->task, e) ||
        !setup_loop(&loop, a->options, a->kind->epoch(a), e))
        return false;
    if (a->options->json) {
        Buffer b = {0};
        setup_demand_json(&demand, &b);
        json_add_member(&b, "tokens_a_step", a->kind->step_tokens(a));
        json_add_member(&b, "steps", (double)loop.steps);
        json_add_member(&b, "minutes", loop.minutes);
        return json_print_members(&b, e);
    }
    setup_print_demand(&demand);
    return true;
}

/* --groups */
static bool print_groups(const App *a, const OptimizerOptions *options, Error *e)
{
    Buffer report = {0};
    bool fine = groups_report(options, a->parameters, &report, e);
    if (fine && report.size && !a->options->quiet)
        fprintf(stderr, "groups of tensors:\n%s", report.text);
    buffer_free(&report);
    return fine;
}

static bool train(Training *t, Error *e)
{
    App *a = t->a;
    TrainerOptions options;
    const DataNote data = a->kind->data(a);
    if (!together_agree(a, &data, e) || !app_trainer_options(a, &options, true, e) ||
        !print_groups(a, &options.optimizer, e))
        return false;
    if (a->options->dry_run)
        return keep_changes(a, e) && print_plan(a, &options, e);
    if (!trainer_open(&t->trainer, &options, a->parameters, &a->task, e) ||
        !settings_json(a->command_line, OPTION_MODEL, &t->model_options, e) ||
        !setup_loop(&t->loop.options, a->options, a->kind->epoch(a), e))
        return false;
    t->loop.trainer = &t->trainer;
    t->loop.task = &a->task;
    t->loop.run = a->run;
    t->loop.note = (ModelNote){a->kind->name, t->model_options.text};
    t->loop.options.sample_every = a->sample_every;
    t->loop.sample = a->kind->sample ? sample : NULL;
    t->loop.evaluate = a->kind->evaluate ? evaluate : NULL;
    t->loop.figure_name = a->figure_name ? a->figure_name : a->kind->figure_name;
    t->loop.figure_unit = a->kind->figure_unit;
    t->loop.self = t;
    if (a->options->find_lr)
        return begin_weights(t, e) && find_rate(a, &t->trainer, &t->loop.options.schedule, e);
    if (!(a->options->resume ? go_on : begin)(t, e))
        return false;
    if (a->options->resume && loop_over(&t->loop)) {
        fprintf(stderr, "%s is finished: %llu steps. To continue, give more --steps, --minutes or --patience\n",
                a->run->path, (unsigned long long)t->loop.at.step);
    } else {
        stop_catch();
        Progress progress = progress_open(stderr, a->options->quiet);
        const Watch watch = progress_watch(&progress);
        t->trainer.watch = &watch;
        bool fine = keep_changes(a, e) && loop_run(&t->loop, e);
        t->trainer.watch = NULL;
        progress_close(&progress);
        if (!fine)
            return false;
    }
    if (t->loop.stopped && ranks_own() == 0)
        fprintf(stderr, "stopped and saved; continue with: %s train --resume %s\n",
                program_called(a->command_line->program), a->run->path);
    return print_result(t, a->options->json, e);
}

/* What a run begins with is asked for once, where it begins. */
static bool begins_well(const App *a, Error *e)
{
    const SharedOptions *o = a->options;
    if (o->run && o->resume)
        return fail(e, "--run makes a new run and --resume continues one: give only one of them");
    if (o->weights && o->resume)
        return fail(e, "--weights starts a new run; --resume continues from the run's own: give only one of them");
    if (o->resume && (options_given(a->command_line, "from") || options_given(a->command_line, "map")))
        return fail(e,
                    "--from and --map start a new run; --resume continues from the run's own weights: leave them out");
    if (o->from && o->weights)
        return fail(e, "--weights reads a whole file and --from only what fits: give one of them");
    if (o->map && !o->from)
        return fail(e, "--map renames tensors of --from RUN|FILE, which is missing");
    Error why;
    return !o->map || safetensors_map_reads(o->map, &why) || fail(e, "--map %s", why.text);
}

bool app_train(App *a, Error *e)
{
    const SharedOptions *o = a->options;
    Training t = {.a = a};
    double beta1, beta2, seconds, part;
    size_t steps, groups;
    if (!begins_well(a, e) || !find_rate_suits(a, e) || !coordinates_suit(a, e) ||
        !parse_betas(o->betas, &beta1, &beta2, e) || !parse_every(o->save_every, &steps, &seconds, e) ||
        (o->lr_end && !parse_part(o->lr_end, &part, e)) ||
        (!o->resume && !groups_read(o->groups, o->optimizer, &groups, e)))
        return app_misused(a);
    if (!o->resume && !app_data(a) && !o->preset && !options_preset(a->command_line, a->kind->built_in_preset, e))
        return false;
    if (!o->resume && !given_suits(a->command_line, o, e))
        return app_misused(a);
    if (o->coordinates)
        return coordinates_compare(a, open_new, e);
    bool fine = (o->resume ? open_old : open_new)(a, e) && train(&t, e);
    trainer_close(&t.trainer);
    buffer_free(&t.model_options);
    return fine;
}
