/* See opened.h. */
#include "tests/classifier/opened.h"

#include "classifier/vectors.h"
#include "tests/suite.h"

void opened_run(Opened *o, const char *run, const char *device, const char *precision, SessionNetwork network,
                size_t rows)
{
    static const Command commands[] = {{"predict", COMMAND_WRITE, "[TEXT...]", "", classifier_predict}};
    char *arguments[] = {"classifier",  "predict",
                         "--run",       (char *)(uintptr_t)run,
                         "--device",    (char *)(uintptr_t)device,
                         "--precision", (char *)(uintptr_t)precision,
                         "-q"};
    Error e;
    *o = (Opened){.kind = classifier_kind, .program = classifier_program};
    const OptionTable tables[] = {{shared_options, shared_option_count, &o->values.shared},
                                  {classifier_options, classifier_option_count, &o->values},
                                  {inspect_options, inspect_option_count, &o->inspect}};
    o->program.commands = commands;
    o->program.command_count = 1;
    o->c = (Classifier){.app = {.kind = &o->kind, .options = &o->values.shared, .command_line = &o->options},
                        .options = &o->values};
    ck_done(options_open(&o->options, &o->program, tables, 3, &e), e);
    ck_done(options_parse(&o->options, sizeof arguments / sizeof *arguments, arguments, &e), e);
    ck_done(classifier_open_run(&o->c, &e), e);
    vectors_task(&o->c);
    o->c.app.task.sides = NEXT + 1;
    for (size_t side = 0; side <= NEXT; side++)
        o->c.app.task.longest[side] = o->c.model.context;
    o->c.app.task.score_rows = o->c.app.task.most_rows = rows;
    o->c.app.task.loss = network;
    ck_done(app_open_trainer(&o->c.app, &o->trainer, &e), e);
}

void opened_close(Opened *o)
{
    trainer_close(&o->trainer);
    app_close(&o->c.app);
    options_close(&o->options);
}
