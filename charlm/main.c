/* charlm: a causal character Transformer. This file reads the command line, runs one command, prints what went wrong.
 */
#include "charlm/charlm.h"

#include "core/cli/version.h"

#include <stdio.h>

static bool run(Charlm *c, Error *e)
{
    switch (c->options->command->bit) {
    case COMMAND_TRAIN: return charlm_train(c, e);
    case COMMAND_EVAL: return charlm_eval(c, e);
    case COMMAND_WRITE: return charlm_sample(c, e);
    case COMMAND_BASELINE: return charlm_baseline(c, e);
    case COMMAND_INFO: return charlm_info(c, e);
    default: return charlm_bench(c, e);
    }
}

static void print_help(const Options *options)
{
    Buffer text = {0};
    options_help(options, &text);
    fputs(text.failed || !text.text ? "" : text.text, stdout);
    buffer_free(&text);
}

int main(int argc, char **argv)
{
    Values values;
    Options options = {0};
    Error e;
    Charlm c = {.v = &values, .options = &options};
    int status = 0;
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {charlm_options, charlm_option_count, &values}};

    if (!attend_runs_here(&e)) {
        fprintf(stderr, "charlm: %s\n", e.text);
        return 1;
    }
    if (!options_open(&options, &charlm_program, tables, 2, &e) || !options_parse(&options, argc, argv, &e)) {
        fprintf(stderr, "charlm: %s\n", e.text);
        status = 2;
    } else if (options.asked == ASKED_HELP) {
        print_help(&options);
    } else if (options.asked == ASKED_VERSION) {
        printf("charlm (attend) %s\n", attend_version());
    } else if (!run(&c, &e)) {
        fprintf(stderr, "charlm: %s\n", e.text);
        status = c.misused ? 2 : 1;
    }
    charlm_close(&c);
    options_close(&options);
    if ((fflush(stdout) != 0 || ferror(stdout)) && !status) {
        fprintf(stderr, "charlm: standard output could not be written\n");
        status = 1;
    }
    return status;
}
