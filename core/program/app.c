/* See app.h. */
#include "core/program/app.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "core/cli/stop.h"
#include "core/cli/version.h"
#include "core/cli/words.h"
#include "core/inspect/maps.h"
#include "core/program/together.h"
#include "core/program/tuned.h"
#include "core/text/archive.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/tuning.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool app_print(Buffer *text, Error *e)
{
    const bool fine = !text->failed || memory_error(e, "what is to be printed", text->size, 1);
    if (fine && text->size)
        fwrite(text->text, 1, text->size, stdout);
    buffer_free(text);
    return fine;
}

static bool print_help(const Options *options, Error *e)
{
    Buffer text = {0};
    options_help(options, &text);
    return app_print(&text, e);
}

static void print_version(const char *program)
{
    const CpuLevel *level = cpu_level(NULL);
    printf("%s (attend) %s, %s instructions\n", program, attend_version(), level ? level->name : "unknown");
}

void app_close(App *a)
{
    a->kind->close(a);
    dataset_close(&a->data);
    run_close(a->run);
    a->run = NULL;
}

/* An installed program has another name than in the tree, and its help says what to type. */
static const char *called(int argc, char **argv)
{
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    return slash ? slash + 1 : argc ? argv[0] : NULL;
}

/* What makes a file or a report of its own is one process's work. */
static bool works_together(const App *a)
{
    enum { TOGETHER = COMMAND_TRAIN | COMMAND_BENCH | COMMAND_INFO | COMMAND_EVAL | COMMAND_WRITE | COMMAND_SCORE };
    const SharedOptions *o = a->options;
    const bool eval = a->command_line->command->bit & COMMAND_EVAL;
    return a->command_line->command->bit & TOGETHER && !o->coordinates &&
           !(eval && (o->each || o->against || o->dump_logits)) && !(a->kind->alone && a->kind->alone(a));
}

/* Started by a launcher: the processes share what this command computes, or one does all and the others end. */
static bool join(const App *a, double seconds, bool *alone, Error *e)
{
    const Options *options = a->command_line;
    size_t own, count;
    *alone = true;
    if (!ranks_launched(&own, &count))
        return true;
    if (options->asked == ASKED_WORK && works_together(a))
        return ranks_open(a->kind->name, seconds, stop_requested, e);
    *alone = own == 0;
    ranks_forget();
    return true;
}

/* Where processes have not joined, each fails by itself, most likely alike: rank 0 says so, which ends the others. */
static void tell(const char *program, const char *why)
{
    size_t own, count;
    if (ranks_count() > 1)
        ranks_end(why);
    if (ranks_launched(&own, &count) && own > 0)
        clock_sleep(2);
    fprintf(stderr, "%s: %s\n", program, why);
}

/* --tuning is as if the environment said so, for other processes that this one starts as well. */
static bool pin_tuning(const SharedOptions *o, Error *e)
{
    Tuning t = tuning_default;
    Error why;
    if (!o->tuning)
        return true;
    if (!tuning_parse(&t, o->tuning, &why))
        return fail(e, "--tuning: %s", why.text);
    return setenv("ATTEND_TUNING", o->tuning, 1) == 0 || fail(e, "out of memory for --tuning");
}

int app_main(App *a, const AppTables *tables, int argc, char **argv)
{
    Program program = *a->kind->program;
    Options *options = a->command_line;
    Error e;
    const char *name = a->kind->name;
    int status = 0;
    bool alone = true;
    double wait = 600;

    signal(SIGXFSZ, SIG_IGN); /* a file at its limit of size is an error like a full disk, with a line that says so */
    tuned_keep();
    program.called = called(argc, argv);
    program.commands = tables->commands;
    program.command_count = tables->command_count;
    if (!options_open(options, &program, tables->options, tables->option_count, &e) ||
        !options_parse(options, argc, argv, &e) || !pin_tuning(a->options, &e) ||
        (a->options->wait && !parse_time(a->options->wait, &wait, &e))) {
        tell(name, e.text);
        status = 2;
    } else if (!join(a, wait, &alone, &e)) {
        tell(name, e.text);
        status = 1;
    } else if (!alone) {
        ;
    } else if (options->asked == ASKED_VERSION) {
        print_version(name);
    } else if (!(options->asked == ASKED_HELP ? print_help(options, &e) : options->command->run(a, &e))) {
        status = !settings_blamed(a->run, options, &e) && a->misused ? 2 : 1;
        tell(name, e.text);
    }
    app_close(a);
    options_close(options);
    if ((fflush(stdout) != 0 || ferror(stdout)) && !status) {
        fprintf(stderr, "%s: standard output could not be written\n", name);
        status = 1;
    }
    ranks_close();
    return status;
}

bool app_open_run(App *a, const char *path, bool to_write, Error *e)
{
    if (!path)
        return fail(e, "--run DIR is missing") || app_misused(a);
    return run_open(&a->run, path, to_write, e) && settings_load(a->run, a->command_line, a->learnt, e);
}

bool app_trainer_options(const App *a, TrainerOptions *options, bool training, Error *e)
{
    if (!setup_trainer(options, a->options, a->parameters, &a->task, training, e))
        return false;
    const char *note = options->k->note ? options->k->note() : NULL;
    if (note && !a->options->quiet)
        fprintf(stderr, "%s: %s\n", a->kind->name, note);
    return true;
}

bool app_stored_weights(const App *a, Weights *w, Stream *s, Error *e)
{
    Buffer options = {0};
    bool fine = settings_json(a->command_line, OPTION_MODEL, &options, e);
    const ModelNote note = {a->kind->name, options.text};
    fine = fine && together_agree(a, NULL, e) &&
           setup_stored_weights(w, s, a->run, a->options->weights, a->options->tie ? a->kind->aliases : NULL, &note,
                                e) &&
           (!a->run || sums_match_all(a->run->path, e));
    buffer_free(&options);
    return fine;
}

/* Weights are rounded once, not in each call. (Copies for products of other types would take as much memory again.) */
static void hold_rounded(const Trainer *trainer)
{
    const Kernels *k = trainer->options.k;
    for (size_t i = 0; k->type == NUMBER_INT8 && k->hold && i < trainer->options.workers; i++)
        k->hold(trainer->worker[i].stream, trainer->weights.numbers, trainer->weights.parameters->whole * k->number);
}

bool app_open_trainer(App *a, Trainer *trainer, Error *e)
{
    TrainerOptions options;
    if (app_trainer_options(a, &options, false, e) && trainer_open(trainer, &options, a->parameters, &a->task, e) &&
        app_stored_weights(a, &trainer->weights, trainer->worker[0].stream, e)) {
        hold_rounded(trainer);
        return true;
    }
    trainer_close(trainer);
    return false;
}

bool app_open_weights(const App *a, const Kernels *k, Weights *w, Error *e)
{
    Stream *s = NULL;
    bool fine = k->open(&s, 1, e) && weights_open(w, k, s, a->parameters, e) && app_stored_weights(a, w, s, e);
    if (s)
        k->close(s);
    if (!fine)
        weights_close(w);
    return fine;
}

bool app_names(const char *option, const char *list, Error *e)
{
    for (const char *at = list; at; at = *at ? at + 1 : NULL) {
        const size_t size = strcspn(at, ",");
        if (!size)
            return fail(e, "a name in --%s is empty: '%s'", option, quoted(list, strlen(list)).text);
        at += size;
    }
    return true;
}

/* What is no pipe is looked at before it is read. On standard input each line has an answer, whatever it is. */
static bool is_utf8(const char *name, FILE *file, Error *e)
{
    char start[2];
    const long at = ftell(file);
    const size_t got = at < 0 ? 0 : fread(start, 1, sizeof start, file);
    return at < 0 || (text_in_utf8(name, start, got, e) &&
                      (!fseek(file, at, SEEK_SET) || fail(e, "cannot read %s: %s", name, strerror(errno))));
}

bool app_input(const char *name, bool (*read)(void *self, FILE *file, Error *e), void *self, Error *e)
{
    FILE *file = name ? fopen(name, "rb") : stdin;
    if (!file)
        return fail(e, "cannot read %s: %s", name, strerror(errno));
    bool fine = (!name || (text_is_plain(name, e) && is_utf8(name, file, e))) && read(self, file, e) &&
                (!ferror(file) || fail(e, "cannot read %s: %s", name ? name : "standard input", strerror(errno)));
    if (file != stdin)
        fclose(file);
    return fine;
}

void app_own_workers(App *a)
{
    if (options_source(a->command_line, "workers") == FROM_RUN)
        a->options->workers = 0;
}

char *app_pictures(const char *run, Error *e)
{
    char *folder = path_join(run, "pictures");
    bool fine = folder || memory_error(e, "a path", strlen(run), 1);
    if (fine && is_link(folder))
        fine = fail(e, "%s is a symbolic link, which leads out of the run: say with --out where to draw", folder);
    if (!fine) {
        memory_free(folder);
        folder = NULL;
    }
    return folder;
}

static bool begins_with(const char *path, const char *start)
{
    char line[16] = "";
    FILE *file = fopen(path, "rb");
    const size_t size = strlen(start), got = file ? fread(line, 1, size, file) : 0;
    if (file)
        fclose(file);
    return got == size && !memcmp(line, start, size);
}

/* Whether a file is a run's or a sweep's own table, and not a picture's data of the same name. Out of memory: it is. */
static bool is_table(const char *path)
{
    static const struct {
        const char *name, *beside, *start; /* a copy elsewhere begins so; NULL: as data of pictures may, too */
    } tables[] = {{"log.tsv", "config.json", "step\t"},
                  {"sweep.tsv", "sweep.txt", "run\t"},
                  {"vocabulary.tsv", "config.json", NULL},
                  {"target.tsv", "config.json", NULL}};
    const char *name = path_name(path);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(name, tables[i].name) != 0 || !file_exists(path))
            continue;
        Buffer other = {0};
        buffer_print(&other, "%.*s%s", (int)(name - path), path, tables[i].beside);
        const bool own = other.failed || file_exists(other.text) ||
                         (tables[i].start && begins_with(path, tables[i].start));
        buffer_free(&other);
        return own;
    }
    return false;
}

/* Whether a file is one that this command reads, or a run's or a sweep's own table. */
static bool is_source(const App *a, const char *path)
{
    const Options *o = a->command_line;
    bool is = is_table(path);
    for (size_t i = 0; !is && i < o->argument_count; i++)
        is = is_same_file(path, o->arguments[i]);
    for (size_t i = 0; !is && i < o->count; i++) {
        const char *const *value = o->states[i].value;
        is = o->states[i].row->kind == OPTION_PATH && strcmp(o->states[i].row->name, "out") != 0 && *value &&
             is_same_file(path, *value);
    }
    return is;
}

/* A picture and its data take the place of earlier ones, and of nothing else that is known here. */
static bool spares_sources(const App *a, const Picture *p, Error *e)
{
    if (is_source(a, p->data))
        return fail(e, "the picture's data would overwrite %s: choose another --out", p->data);
    return !p->out || !is_source(a, p->out) || fail(e, "the picture would overwrite %s: choose another --out", p->out);
}

bool app_draw(const App *a, const Picture *picture, const Buffer *data, Error *e)
{
    Buffer said = {0};
    bool fine = (!data->failed || fail(e, "out of memory for the data of a picture")) &&
                spares_sources(a, picture, e) && file_write_through(picture->data, data->text, data->size, e) &&
                picture_draw(picture, &said, e);
    if (fine && said.size && !a->options->quiet)
        fprintf(stderr, "%s: gnuplot says: %s", a->kind->name, said.text);
    buffer_free(&said);
    return fine;
}

bool app_draw_out(const App *a, const char *script, const Buffer *data, Error *e)
{
    const SharedOptions *o = a->options;
    char *path = path_between(o->out, "", ".tsv");
    const Picture p = {.script = script, .data = path, .out = o->out, .size = o->size};
    bool fine = path ? app_draw(a, &p, data, e) : memory_error(e, "a path", strlen(o->out), 1);
    memory_free(path);
    return fine;
}
