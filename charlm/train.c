/* charlm train: a new run, or one that goes on. */
#include "charlm/writer.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "core/cli/stop.h"
#include "core/cli/units.h"
#include "core/run/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Training {
    Charlm *c;
    Crew crew;
    Loop loop;
    Buffer model_options;
} Training;

static void keep_byte(void *to, unsigned char byte) { buffer_add(to, &byte, 1); }

/* A sample now and then, so that one can read how the model learns: the end of its prompt, a bar, how it goes on. */
static bool sample(void *self, uint64_t step, Error *e)
{
    Training *t = self;
    Part valid = text_part(&t->c->text, SPLIT_VALID);
    size_t prompt = valid.size < t->c->model.context / 2 ? valid.size : t->c->model.context / 2;
    prompt -= utf8_tail((const char *)valid.bytes, prompt); /* whole characters: files are looked at, too */
    size_t shown = prompt < 40 ? prompt : 40;
    shown -= utf8_head((const char *)valid.bytes + prompt - shown, shown);
    Buffer text = {0};
    Writer *w = NULL;
    Sampling s = {.length = 200,
                  .temperature = 0.5,
                  .top_p = 1,
                  .seed = (uint32_t)t->c->v->shared.seed,
                  .number = (uint32_t)step,
                  .write = keep_byte,
                  .to = &text};
    buffer_add(&text, valid.bytes + prompt - shown, shown);
    buffer_add(&text, "|", 1);
    bool fine = writer_open(&w, &t->c->model, &t->crew, valid.bytes, prompt, false, e) && writer_write(w, &s, e);
    writer_close(w);
    text.size -= utf8_tail(text.text, text.size);
    buffer_add(&text, "\n", 1);
    fine = fine && (!text.failed || fail(e, "out of memory for a sample")) &&
           run_sample_write(t->c->run, step, text.text, text.size, e);
    buffer_free(&text);
    return fine;
}

static bool open_data(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    if (!charlm_open_text(c, true, e))
        return false;
    Part valid = text_part(&c->text, SPLIT_VALID);
    if (!part_suits(text_part(&c->text, SPLIT_TRAIN), "training", o->context, e) ||
        !part_suits(valid, "validation", 1, e))
        return false;
    c->split = SPLIT_VALID;
    valid.size = c->v->eval_bytes && c->v->eval_bytes + 1 < valid.size ? c->v->eval_bytes + 1 : valid.size;
    charlm_task(c, valid, o->context);
    return true;
}

static size_t steps_an_epoch(const Charlm *c)
{
    size_t tokens = c->v->shared.batch * c->v->shared.context;
    return (c->training.size + tokens - 1) / tokens;
}

static bool save_settings(const Charlm *c, Error *e)
{
    const DataNote data = {c->v->shared.data, c->text.size, c->text.sha256};
    return settings_save(c->run, c->options, &data, e);
}

/* A run that is there: its options, and its data by content. */
static bool open_old(Charlm *c, Error *e)
{
    Buffer changes = {0};
    const SharedValues *o = &c->v->shared;
    if (!charlm_open_run(c, o->resume, !o->dry_run, e) || !open_data(c, e) ||
        !setup_fix(c->options, o, steps_an_epoch(c), e))
        return false;
    options_changes(c->options, &changes);
    bool fine = true;
    if (changes.size) { /* kept from now on */
        fprintf(stderr, "changed on resume:\n%s", changes.text);
        fine = o->dry_run || save_settings(c, e);
    }
    buffer_free(&changes);
    return fine;
}

static bool open_new(Charlm *c, Error *e)
{
    SharedValues *o = &c->v->shared;
    if (!o->data && !o->preset && !options_preset(c->options, "minute", e))
        return false;
    return charlm_build(c, e) && open_data(c, e) && setup_fix(c->options, o, steps_an_epoch(c), e);
}

/* From the newest whole checkpoint. */
static bool go_on(Training *t, Error *e)
{
    const Loop *l = &t->loop;
    if (!loop_resume(&t->loop, e) || !run_samples_cut(t->c->run, l->at.step, e))
        return false;
    if (l->damaged.text[0])
        fprintf(stderr, "charlm: going on from step %llu, because %s\n", (unsigned long long)l->at.step,
                l->damaged.text);
    return true;
}

/* A run is made when all that can be wrong without it has been found right; its configuration comes last. */
static bool begin(Training *t, Error *e)
{
    Charlm *c = t->c;
    const SharedValues *o = &c->v->shared;
    char *path = NULL;
    bool fine = setup_weights(&t->crew, o, o->tie ? charlm_aliases : NULL, e) &&
                (o->run || run_default_path(&path, "charlm", e)) && run_create(&c->run, o->run ? o->run : path, e);
    memory_free(path);
    if (!fine)
        return false;
    t->loop.run = c->run;
    if (!loop_begin(&t->loop, e) || !save_settings(c, e))
        return false;
    if (!o->quiet)
        fprintf(stderr, "run %s: %s bytes of %s, %s parameters\n", c->run->path, count_text(c->text.size).text,
                o->data ? o->data : "built-in text", count_text(c->model.parameters.numbers).text);
    return true;
}

static void print_result(const Training *t, bool json)
{
    const Loop *l = &t->loop;
    double best = l->at.best * t->c->task.per_nat;
    if (json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        json_add_text(&b, "run", t->c->run->path);
        json_add_member(&b, "steps", (double)l->at.step);
        json_add_member(&b, "tokens", l->tokens);
        json_add_member(&b, "seconds", l->seconds);
        json_add_member(&b, "best", l->at.scored ? best : NAN); /* null */
        charlm_json_protocol(t->c, &b);
        json_print(&b);
    } else {
        printf("%s: %llu steps", t->c->run->path, (unsigned long long)l->at.step);
        if (l->at.scored)
            printf(", best %.4f bits/byte (step %llu; %s)", best, (unsigned long long)l->at.best_step, t->c->protocol);
        printf("\n");
    }
}

/* --dry-run */
static bool print_plan(const Charlm *c, const CrewOptions *options, Error *e)
{
    const SharedValues *o = &c->v->shared;
    CrewPlan plan;
    LoopOptions loop;
    const Demand demand = {&plan, options, &c->model.parameters};
    if (!crew_plan(&plan, options, &c->model.parameters, &c->task, e) || !setup_loop(&loop, o, steps_an_epoch(c), e))
        return false;
    if (o->json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        setup_demand_json(&demand, &b);
        json_add_member(&b, "tokens_a_step", (double)(o->batch * o->context));
        json_add_member(&b, "steps", (double)loop.steps);
        json_add_member(&b, "minutes", loop.minutes);
        json_print(&b);
    } else {
        setup_print_demand(&demand);
    }
    return true;
}

static bool train(Training *t, Error *e)
{
    Charlm *c = t->c;
    const SharedValues *o = &c->v->shared;
    CrewOptions options;
    if (!charlm_crew_options(c, &options, true, e))
        return false;
    if (o->dry_run)
        return print_plan(c, &options, e);
    if (!crew_open(&t->crew, &options, &c->model.parameters, &c->task, e) ||
        !settings_json(c->options, OPTION_MODEL, &t->model_options, e) ||
        !setup_loop(&t->loop.o, o, steps_an_epoch(c), e))
        return false;
    t->loop.crew = &t->crew;
    t->loop.task = &c->task;
    t->loop.run = c->run;
    t->loop.note = (ModelNote){"charlm", t->model_options.text};
    t->loop.o.sample_every = c->v->sample_every;
    t->loop.sample = sample;
    t->loop.self = t;
    if (!(o->resume ? go_on : begin)(t, e))
        return false;
    if (o->resume && loop_over(&t->loop)) {
        fprintf(stderr, "%s is finished: %llu steps. Give more --steps or --minutes to go on\n", c->run->path,
                (unsigned long long)t->loop.at.step);
    } else {
        stop_catch();
        if (!loop_run(&t->loop, e))
            return false;
    }
    print_result(t, o->json);
    if (t->loop.stopped)
        fprintf(stderr, "stopped and saved; go on with: charlm train --resume %s\n", c->run->path);
    return true;
}

bool charlm_train(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    Training t = {.c = c};
    double beta1, beta2, seconds;
    size_t steps;
    if (o->run && o->resume)
        return fail(e, "--run makes a new run and --resume goes on with one: give one of the two") || charlm_misused(c);
    if (o->weights && o->resume)
        return fail(e, "--weights begins a new run; --resume goes on from the run's own: give one of the two") ||
               charlm_misused(c);
    if (!parse_betas(o->betas, &beta1, &beta2, e) || !parse_every(o->save_every, &steps, &seconds, e))
        return charlm_misused(c);
    bool fine = (o->resume ? open_old : open_new)(c, e) && train(&t, e);
    crew_close(&t.crew);
    buffer_free(&t.model_options);
    return fine;
}
