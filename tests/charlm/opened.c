/* See opened.h. */
#include "tests/charlm/opened.h"

#include "tests/suite.h"

Tensor *opened_logits(void *self, Tape *t, const Rows *rows)
{
    return model_logits(t, &((const Charlm *)self)->model, rows, NULL, NULL);
}

void opened_run(Opened *o, const char *run, const char *device, const char *precision)
{
    static const Command commands[] = {{"eval", COMMAND_EVAL, NULL, "", charlm_eval}};
    char *arguments[] = {"charlm",      "eval",
                         "--run",       (char *)(uintptr_t)run,
                         "--device",    (char *)(uintptr_t)device,
                         "--precision", (char *)(uintptr_t)precision,
                         "--workers",   "1"};
    const OptionTable tables[] = {{shared_options, shared_option_count, &o->options.shared},
                                  {charlm_options, charlm_option_count, &o->options}};
    Program program = charlm_program;
    Error e;
    program.commands = commands, program.command_count = 1;
    *o = (Opened){.c = {.app = {.kind = &charlm_kind, .options = &o->options.shared, .command_line = &o->command_line},
                        .options = &o->options}};
    ck_done(options_open(&o->command_line, &program, tables, 2, &e), e);
    ck_done(options_parse(&o->command_line, sizeof arguments / sizeof *arguments, arguments, &e), e);
    ck_done(charlm_open_run(&o->c, &e), e);
    charlm_task(&o->c, (Part){NULL, 0, NULL}, 1);
    o->c.app.task.loss = opened_logits;
    ck_done(app_open_trainer(&o->c.app, &o->trainer, &e), e);
}

void opened_close(Opened *o)
{
    trainer_close(&o->trainer);
    app_close(&o->c.app);
    options_close(&o->command_line);
}
