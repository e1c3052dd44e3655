/* What all programs do alike with their data: open it and compare its checksum with the run's, make batches of its
 * texts, for training, scoring and `bench`, and say what a score belongs to. What a text is, and how it becomes a row,
 * each program says (AppKind). */
#define _XOPEN_SOURCE 700 /* realpath */
#include "core/program/together.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(const Options *o, const char *name)
{
    for (size_t i = 0; i < o->count; i++)
        if (!strcmp(o->states[i].row->name, name))
            return *(const char *const *)o->states[i].value;
    return NULL;
}

const char *app_data(const App *a)
{
    const char *path = a->options->data;
    for (const char *const *name = a->kind->data_options; !path && name && *name; name++)
        path = path_of(a->command_line, *name);
    return path;
}

/* Whether the command line says where the data is. */
static bool app_data_given(const App *a)
{
    const char *const *names = a->kind->data_options;
    return options_given(a->command_line, "data") || (names && options_first_given(a->command_line, names));
}

/* A path without links, of which the last parts need not be there yet. */
static void add_real_path(const char *path, Buffer *b)
{
    char *copy = memory_string(path), *real = realpath(path, NULL);
    size_t length = strlen(path);
    while (copy && !real && length) {
        while (length && copy[length - 1] == '/')
            length--;
        while (length && copy[length - 1] != '/')
            length--;
        copy[length] = 0;
        real = realpath(length ? copy : ".", NULL);
    }
    buffer_print(b, "%s/%s", real ? real : "", path + length);
    b->failed = b->failed || !copy;
    memory_free(copy);
    free(real);
}

/* Whether a reader of a folder meets a path in it: what begins with a dot is passed over. */
static bool is_met_in(const char *folder, const char *real)
{
    char *whole = folder_exists(folder) ? realpath(folder, NULL) : NULL;
    const size_t length = whole && strcmp(whole, "/") != 0 ? strlen(whole) : 0;
    const bool met = whole && !strncmp(real, whole, length) && real[length] == '/' && !strstr(real + length, "/.");
    free(whole);
    return met;
}

bool app_is_apart(App *a, const char *run, const char *option, const char *folder, Error *e)
{
    Buffer real = {0};
    add_real_path(run, &real);
    bool fine = !real.failed || memory_error(e, "a path", strlen(run), 1);
    if (fine && is_met_in(folder, real.text))
        fine = fail(e,
                    "the run %s would be in the folder of --%s %s, all files of which are data, and so would be the "
                    "run's own: give another place with --run",
                    run, option, folder) ||
               app_misused(a);
    buffer_free(&real);
    return fine;
}

bool app_run_is_apart(App *a, const char *run, Error *e)
{
    bool fine = true;
    for (const char *const *name = a->kind->whole; fine && name && *name; name++) {
        const char *folder = path_of(a->command_line, *name);
        fine = !folder || app_is_apart(a, run, *name, folder, e);
    }
    return fine;
}

bool app_same_data(const App *a, const char *sha256, bool to_train, Error *e)
{
    const char *name = app_data(a) ? app_data(a) : a->kind->built_in;
    bool given = app_data_given(a);
    if (!a->run || !*a->learnt || strcmp(a->learnt, sha256) == 0 || (given && !to_train))
        return true;
    if (to_train)
        return fail(e,
                    "the run %s was trained on other data than %s (sha256 %.12s..., not %.12s...): give its data with "
                    "--data, or start a new run",
                    a->run->path, name, a->learnt, sha256);
    fprintf(stderr, "%s: %s has changed after the run %s was trained on it (sha256 %.12s..., not %.12s...)\n",
            a->kind->name, name, a->run->path, sha256, a->learnt);
    return true;
}

/* Another seed would have texts scored that the run has learned from. */
static bool app_same_held_out(App *a, const char *sha256, Error *e)
{
    const char *seed = options_stored(a->command_line, "seed");
    if (!a->run || !a->data.held_out || !seed || strcmp(a->learnt, sha256) != 0)
        return true;
    return fail(e,
                "--seed %zu: the run %s held out texts by its seed, %s, and learned from those that another seed "
                "draws: leave --seed out",
                a->options->seed, a->run->path, seed) ||
           app_misused(a);
}

bool app_open_data(App *a, bool to_train, Error *e)
{
    if (!a->kind->open_data(a, to_train, e))
        return app_data_given(a) || !a->run || a->misused
                   ? false
                   : fail(e, "%s; the run %s was trained on it: give its present location with --data", e->text,
                          a->run->path);
    const DataNote data = a->kind->data(a);
    return app_same_data(a, data.sha256, to_train, e) && app_same_held_out(a, data.sha256, e) &&
           (to_train || together_agree(a, &data, e));
}

void dataset_close(Dataset *d)
{
    order_close(&d->order);
    memory_free(d->score_cut);
    *d = (Dataset){0};
}

void dataset_batch(void *app, uint64_t step, Batch *b)
{
    App *a = app;
    size_t count;
    const size_t *text = order_batch(&a->data.order, step, &count);
    batch_clear(b);
    for (size_t i = 0; i < count; i++)
        a->kind->row(a, SPLIT_TRAIN, text[i], b);
}

void dataset_score_batch(void *app, size_t i, Batch *b)
{
    const App *a = app;
    const Dataset *d = &a->data;
    const size_t rows = a->task.score_rows, first = d->score_cut ? d->score_cut[i] : i * rows;
    size_t end = d->score_cut ? d->score_cut[i + 1] : first + rows;
    end = end < d->score_count ? end : d->score_count;
    batch_clear(b);
    for (size_t text = first; text < end; text++)
        a->kind->row(a, d->scored, text, b);
}

void dataset_bench_batch(void *app, uint64_t step, Batch *b)
{
    const App *a = app;
    uint64_t drawn = 0;
    batch_clear(b);
    for (size_t side = 0; side < a->task.sides; side++) {
        size_t targets = 0, ids = a->kind->vocabulary(a, side, &targets);
        for (size_t r = 0; r < a->task.most_rows; r++)
            batch_row(b, side, a->task.longest[side]);
        for (size_t i = 0; i < b->side[side].positions; i++) {
            b->side[side].ids[i] = (int32_t)philox_below(ids, 1, (uint32_t)step, drawn++, SITE_DATA);
            b->side[side].targets[i] = targets ? (int32_t)philox_below(targets, 1, (uint32_t)step, drawn++, SITE_DATA)
                                               : -1;
        }
    }
}

void dataset_protocol(const App *a, Buffer *b)
{
    json_add_text(b, "split", split_name(a->data.scored));
    a->kind->protocol(a, b);
}
