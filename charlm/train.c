/* charlm train: a new run, or one that goes on. */
#include "charlm/charlm.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/cli/stop.h"
#include "core/cli/units.h"
#include "core/run/json.h"

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
    size_t shown = prompt < 40 ? prompt : 40;
    Buffer text = {0};
    Sampling s = {.prompt = valid.bytes,
                  .prompt_size = prompt,
                  .length = 200,
                  .temperature = 0.5,
                  .top_p = 1,
                  .seed = (uint32_t)t->c->v->shared.seed,
                  .number = (uint32_t)step,
                  .write = keep_byte,
                  .to = &text};
    buffer_add(&text, valid.bytes + prompt - shown, shown);
    buffer_add(&text, "|", 1);
    bool fine = sample_text(&t->c->model, &t->crew, &s, e);
    buffer_add(&text, "\n", 1);
    fine = fine && (!text.failed || fail(e, "out of memory for a sample")) &&
           run_sample_write(t->c->run, step, text.text, text.size, e);
    buffer_free(&text);
    return fine;
}

static bool open_data(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    if (!text_open(&c->text, o->data, e))
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

/* A run that is there: its options, and its data by content. */
static bool open_old(Charlm *c, Error *e)
{
    char hash[65];
    Buffer changes = {0};
    const SharedValues *o = &c->v->shared;
    bool fine = run_open(&c->run, o->resume, true, e) && settings_load(c->run, c->options, hash, e) &&
                model_open(&c->model, o, e) && open_data(c, e);
    if (fine && strcmp(hash, c->text.sha256) != 0)
        fine = fail(e, "%s: the run learnt from other data than %s (sha256 %.12s..., not %.12s...)", o->resume,
                    o->data ? o->data : "the built-in text", hash, c->text.sha256);
    options_changes(c->options, &changes);
    if (fine && changes.size) { /* kept from now on */
        DataNote data = {o->data, c->text.size, c->text.sha256};
        fprintf(stderr, "changed on resume:\n%s", changes.text);
        fine = o->dry_run || settings_save(c->run, c->options, &data, e);
    }
    buffer_free(&changes);
    return fine;
}

static size_t steps_an_epoch(const Charlm *c)
{
    size_t tokens = c->v->shared.batch * c->v->shared.context;
    return (c->training.size + tokens - 1) / tokens;
}

/* A learning rate that falls goes on to fall as it would have, however many steps a resumed run is given. */
static bool fix_decay(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    char text[32];
    snprintf(text, sizeof text, "%zu", o->epochs ? o->epochs * steps_an_epoch(c) : o->steps);
    return o->decay_steps || options_set(c->options, "decay-steps", text, FROM_PRESET, e);
}

static bool open_new(Charlm *c, Error *e)
{
    SharedValues *o = &c->v->shared;
    char *path = NULL;
    if (!o->data && !o->preset && !options_preset(c->options, "minute", e))
        return false;
    if (!charlm_build(c, e) || !open_data(c, e))
        return false;
    if (o->dry_run)
        return true;
    bool fine = fix_decay(c, e) && (o->run || run_default_path(&path, "charlm", e));
    fine = fine && run_create(&c->run, o->run ? o->run : path, e);
    memory_free(path);
    if (!fine)
        return false;
    if (!o->quiet)
        fprintf(stderr, "run %s: %s bytes of %s, %s parameters\n", c->run->path, count_text(c->text.size).text,
                o->data ? o->data : "built-in text", count_text(c->model.parameters.numbers).text);
    DataNote data = {o->data, c->text.size, c->text.sha256};
    return settings_save(c->run, c->options, &data, e);
}

/* Weights and progression: from the newest whole checkpoint, or fresh. */
static bool begin(Training *t, Error *e)
{
    Charlm *c = t->c;
    bool found = false;
    if (c->v->shared.resume && (!loop_resume(&t->loop, &found, e) || !run_samples_cut(c->run, t->loop.at.step, e)))
        return false;
    return found || setup_weights(&t->crew, &c->v->shared, c->v->shared.tie ? charlm_aliases : NULL, e);
}

static void print_result(const Training *t, bool json)
{
    const Loop *l = &t->loop;
    double best = l->at.best * t->c->task.per_nat;
    if (json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        json_add_key(&b, "run");
        json_add_string(&b, t->c->run->path);
        buffer_print(&b, ", \"steps\": %llu, \"tokens\": %.0f, \"seconds\": %.3f, \"best\": ",
                     (unsigned long long)l->at.step, l->tokens, l->seconds);
        if (l->at.scored)
            json_add_number(&b, best);
        else
            buffer_print(&b, "null");
        charlm_json_protocol(t->c, &b);
        printf("%s}\n", b.failed ? "" : b.text);
        buffer_free(&b);
    } else {
        printf("%s: %llu steps", t->c->run->path, (unsigned long long)l->at.step);
        if (l->at.scored)
            printf(", best %.4f bits/byte (step %llu; %s)", best, (unsigned long long)l->at.best_step, t->c->protocol);
        printf("\n");
    }
}

static bool train(Training *t, Error *e)
{
    Charlm *c = t->c;
    const SharedValues *o = &c->v->shared;
    CrewOptions options;
    if (!setup_crew(&options, o, true, e))
        return false;
    if (o->dry_run) {
        CrewPlan plan;
        if (!crew_plan(&plan, &options, &c->model.parameters, &c->task, e))
            return false;
        setup_print_plan(&plan, &options, &c->model.parameters);
        return true;
    }
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
    if (!begin(t, e))
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
    if (!parse_betas(o->betas, &beta1, &beta2, e) || !parse_every(o->save_every, &steps, &seconds, e))
        return charlm_misused(c);
    bool fine = (o->resume ? open_old : open_new)(c, e) && train(&t, e);
    crew_close(&t.crew);
    buffer_free(&t.model_options);
    return fine;
}
