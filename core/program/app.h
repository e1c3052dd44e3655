/* What all programs do alike: read a command line, make a run or open one, plan, train, measure, say what is there.
 *
 * A program fills in an AppKind, puts an App first into its own struct (which every function gets back as the App), and
 * hands app_main its table of commands: those below, and its own for scoring, sampling, translating. */
#ifndef CORE_PROGRAM_APP_H
#define CORE_PROGRAM_APP_H

#include "base/buffer.h"
#include "core/inspect/labels.h"
#include "core/plot/picture.h"
#include "core/plot/texts.h"
#include "core/program/settings.h"
#include "core/program/setup.h"
#include "core/program/split.h"
#include "core/train/order.h"

#include <stdio.h>

typedef struct Inspection Inspection; /* see heads.h */
typedef struct InspectOptions InspectOptions;

typedef struct AppKind {
    const char *name; /* "charlm" */
    const Program *program;
    const char *const (*aliases)[2]; /* names under which a file may have a tied table, instead of ours; or NULL */
    const char *const *data_options; /* that name data beside --data; ends with a NULL; NULL: there are none */
    const char *const *whole;        /* that name data of which, in a folder, all files count; likewise */
    const char *built_in;            /* how the data is called that the program brings along: "built-in text" */
    const char *built_in_preset;     /* a new run's preset on those, if none is given */
    const char *measure;             /* in what it is counted: "bytes" */

    /* A new run's data and model, or an old run's: whatever `train` needs, app->parameters, and the task, which scores
     * the validation part. */
    bool (*open)(App *a, Error *e);
    /* The model alone, for `info` and `bench`: as the options or the opened run say. The task scores nothing. */
    bool (*open_model)(App *a, Error *e);
    void (*close)(App *a);

    /* The data, as the options or the opened run say; app_open_data calls it. */
    bool (*open_data)(App *a, bool to_train, Error *e);
    DataNote (*data)(const App *a);
    /* Adds text i of a split to a batch: a row on each side. */
    void (*row)(const App *a, Split split, size_t i, Batch *b);
    /* How many different ids a side has, and how many different targets (0: none is scored). */
    size_t (*vocabulary)(const App *a, size_t side, size_t *targets);
    size_t (*epoch)(const App *a);             /* steps */
    double (*step_tokens)(const App *a);       /* of a step, on average */
    void (*protocol)(const App *a, Buffer *b); /* members of a JSON object, after "split": what a score belongs to */

    /* A new run's folder is there: files of the program's own go in. May be NULL. files: their names, up to a NULL. */
    bool (*begin)(App *a, Error *e);
    const char *const *files;
    /* Something to read while it learns, into the run's samples. May be NULL. */
    bool (*sample)(App *a, Trainer *trainer, uint64_t step, Error *e);
    /* A figure of the validation part that takes more than a loss, at each evaluation, by all processes; NaN: none this
     * time. May be NULL. How it is called, and its unit. */
    bool (*evaluate)(App *a, Trainer *trainer, double *figure, Error *e);
    const char *figure_name, *figure_unit; /* or App's, where a task has another */
    /* Whether a command is one process's work with these options, if a launcher has started several. NULL: never. */
    bool (*alone)(const App *a);
    /* heads: runs the network on the text that the options name, and says what its tokens are. */
    bool (*inspect)(App *a, Inspection *l, Error *e);
    /* And shows what only this program knows to show, where the options ask for it. May be NULL. */
    bool (*inspect_further)(App *a, Inspection *l, Error *e);
    /* plot: what is trained on and validated with, whole texts of it. */
    bool (*texts)(App *a, TextSet *t, Error *e);
    /* plot: how a token of the opened model is called, in its table of this name. */
    bool (*name_token)(const App *a, const char *table, int32_t id, Labels *names, Error *e);
} AppKind;

/* Which of a program's texts are scored, and how texts make batches. */
typedef struct Dataset {
    Split scored;
    bool held_out;      /* the seed draws texts of the training part to be scored instead */
    size_t score_count; /* texts of it */
    size_t *score_cut;  /* [score_batches+1] where those that are scored together begin; NULL: score_rows at a time */
    Order order;        /* in which texts are trained on; of no text where a program draws them otherwise */
} Dataset;

struct App {
    const AppKind *kind;
    SharedOptions *options;
    Options *command_line; /* and where each value came from */
    Run *run;
    const Parameters *parameters;
    Task task;
    Dataset data;
    const InspectOptions *inspect;
    const char *figure_name; /* of this task's figure; NULL: the kind's */
    char protocol[160];      /* what a score of the task belongs to, in words */
    char learnt[65];         /* sha256 of the data that the run learns from */
    size_t sample_every;     /* steps; 0: at each evaluation */
    bool misused;            /* what failed was asked for wrongly: exit status 2 */
};

/* What main hands over. The first of the options is shared_options with app->options. */
typedef struct AppTables {
    const Command *commands;
    size_t command_count;
    const OptionTable *options;
    size_t option_count;
} AppTables;

/* The whole of main; app->command_line is empty yet. */
int app_main(App *a, const AppTables *tables, int argc, char **argv);

/* Data, model and run. */
void app_close(App *a);

/* Marks a failure as the command line's. */
static inline bool app_misused(App *a)
{
    a->misused = true;
    return false;
}

/* Where the data is, by --data or an option like it; NULL: it is built in. */
const char *app_data(const App *a);

/* Whether a new run's folder, which need not be there yet, is in none of the folders all of whose files are data; and
 * whether it is not in the one that this option names. */
bool app_run_is_apart(App *a, const char *run, Error *e);
bool app_is_apart(App *a, const char *run, const char *option, const char *folder, Error *e);

/* Opens a run, --run's or --resume's, and takes over its options. */
bool app_open_run(App *a, const char *path, bool to_write, Error *e);

/* Data was opened whose content is `sha256`: is it the run's own? What has changed cannot be trained on; where it is
 * only read, one line on standard error says so. given: the command line named it. */
bool app_same_data(const App *a, const char *sha256, bool to_train, Error *e);

/* Opens the data and checks that it is the run's: what the command line names, else the run's, else what is built in. */
bool app_open_data(App *a, bool to_train, Error *e);
void dataset_close(Dataset *d);

/* For a Task whose self is the App: the texts of a step, in their order; those of a batch that is scored; and of
 * `bench`, which needs no data, rows of the longest length with random ids. */
void dataset_batch(void *app, uint64_t step, Batch *b);
void dataset_score_batch(void *app, size_t i, Batch *b);
void dataset_bench_batch(void *app, uint64_t step, Batch *b);

/* Adds what a score belongs to to a JSON object that is being written. */
void dataset_protocol(const App *a, Buffer *b);

/* What the options mean for a trainer; one line on standard error says what the machine does badly of it. */
bool app_trainer_options(const App *a, TrainerOptions *options, bool training, Error *e);

/* With --profile, its operations are timed; refused where they run asynchronously. */
bool app_profile(const App *a, TrainerOptions *options, Error *e);

/* A trainer that holds the run's weights and does not train. */
bool app_open_trainer(App *a, Trainer *trainer, Error *e);

/* Reads the run's weights, those that --weights names. */
bool app_stored_weights(const App *a, Weights *w, Stream *s, Error *e);

/* These weights alone. */
bool app_open_weights(const App *a, const Kernels *k, Weights *w, Error *e);

/* RUN/pictures, which need not be there yet, to be freed with memory_free; NULL: an Error. */
char *app_pictures(const char *run, Error *e);

/* Writes the data of a picture to picture->data, where they stay, and draws it; what gnuplot says although it drew goes
 * to standard error. */
bool app_draw(const App *a, const Picture *picture, const Buffer *data, Error *e);

/* The same into --out, with its data beside it. */
bool app_draw_out(const App *a, const char *script, const Buffer *data, Error *e);

/* Prints a text on standard output and frees it; false where memory ran out. */
bool app_print(Buffer *text, Error *e);

/* False where a list of names, such as RUN,RUN, has an empty one; list NULL: none is given. */
bool app_names(const char *option, const char *list, Error *e);

/* Has a file read, or standard input where `name` is NULL, and reports what cannot be read. */
bool app_input(const char *name, bool (*read)(void *self, FILE *file, Error *e), void *self, Error *e);

/* How many workers trained a run is not how many are here: all, unless the command line says otherwise. */
void app_own_workers(App *a);

/* The commands that every program has. */
bool app_train(App *a, Error *e);
bool app_bench(App *a, Error *e);
bool app_info(App *a, Error *e);
bool app_heads(App *a, Error *e);
bool app_plot(App *a, Error *e);
bool app_compare(App *a, Error *e);
bool app_sweep(App *a, Error *e);

#endif
