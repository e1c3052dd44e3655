/* See heads.h. */
#include "core/program/heads.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/inspect/describe.h"
#include "core/inspect/rollout.h"
#include "core/plot/page.h"
#include "core/plot/picture.h"
#include "core/run/json.h"
#include "core/session/session.h"
#include "core/text/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BY_KIND = MEASURES, BY_POSITION }; /* after the measures */

static const OptionChoice sorts[] = {{"previous", MEASURE_PREVIOUS},
                                     {"itself", MEASURE_ITSELF},
                                     {"next", MEASURE_NEXT},
                                     {"first", MEASURE_FIRST},
                                     {"separators", MEASURE_SEPARATORS},
                                     {"distance", MEASURE_DISTANCE},
                                     {"entropy", MEASURE_ENTROPY},
                                     {"kind", BY_KIND},
                                     {"position", BY_POSITION},
                                     {NULL, 0}};

#define AT(field) offsetof(InspectOptions, field)

/* clang-format off */
const Option inspect_options[] = {
    {"text", 0, OPTION_TEXT, OPTION_HERE, COMMAND_HEADS, AT(text), NULL, "TEXT", "the text to read (encdec: the source)"},
    {"text-file", 0, OPTION_PATH, OPTION_HERE, COMMAND_HEADS, AT(text_file), NULL, "FILE", "the same, from a file"},
    {"layer", 0, OPTION_TEXT, OPTION_HERE, COMMAND_HEADS, AT(layer), NULL, "N", "show only this layer, counted from 0 (default: all)"},
    {"head", 0, OPTION_TEXT, OPTION_HERE, COMMAND_HEADS, AT(head), NULL, "N", "show only this head of each layer, counted from 0 (default: all)"},
    {"describe", 0, OPTION_FLAG, OPTION_HERE, COMMAND_HEADS, AT(describe), NULL, NULL, "describe what each head does, in numbers and words; with --out, draw it"},
    {"sort", 0, OPTION_CHOICE, OPTION_HERE, COMMAND_HEADS, AT(sort), "kind", .choices = sorts, "order of heads in --describe, highest first; kind: grouped by what they do"},
    {"rollout", 0, OPTION_FLAG, OPTION_HERE, COMMAND_HEADS, AT(rollout), NULL, NULL, "draw attention rollout: how much each input token can contribute to the last layer's vectors"},
    {"npy", 0, OPTION_PATH, OPTION_HERE, COMMAND_HEADS, AT(npy), NULL, "FILE.npy", "write all attention weights, [layers, heads, queries, keys], and FILE.labels.json with the tokens"},
    {"html", 0, OPTION_PATH, OPTION_HERE, COMMAND_HEADS, AT(html), NULL, "FILE", "write one self-contained page to explore in a browser"},
    {"from", 0, OPTION_SIZE, OPTION_HERE, COMMAND_HEADS, AT(from), "0", NULL, "first token to draw, counted from 0"},
    {"show", 0, OPTION_SIZE, OPTION_HERE, COMMAND_HEADS, AT(show), "60", NULL, "how many tokens to draw at most (0: all)"},
};
/* clang-format on */

const size_t inspect_option_count = sizeof inspect_options / sizeof *inspect_options;

bool inspect_text(App *a, const InspectOptions *v, Buffer *text, Error *e)
{
    char *bytes = NULL;
    size_t size = v->text ? strlen(v->text) : 0;
    if (!v->text == !v->text_file)
        return fail(e,
                    v->text ? "--text and --text-file exclude each other: give only one" : "--text TEXT is missing") ||
               app_misused(a);
    if (v->text_file && (!text_is_plain(v->text_file, e) || !file_read_any(v->text_file, &bytes, &size, e)))
        return false;
    if (bytes && size && bytes[size - 1] == '\n')
        size--;
    buffer_add(text, bytes ? bytes : v->text, size);
    memory_free(bytes);
    if (!size)
        return fail(e, "%s%s is empty: there is nothing to look at", v->text ? "--text" : "--text-file ",
                    v->text ? "" : v->text_file) ||
               app_misused(a);
    return !text->failed || fail(e, "out of memory for the text");
}

void inspect_cut(const App *a, const char *what, size_t has, size_t reads)
{
    if (has > reads)
        fprintf(stderr, "%s: %s has %zu tokens; the model reads %zu: the last %zu are ignored\n", a->kind->name, what,
                has, reads, has - reads);
}

static void fill(Batch *b, const InspectRow *row)
{
    batch_clear(b);
    for (size_t side = 0; side < row->sides; side++) {
        size_t at = batch_row(b, side, row->count[side]);
        for (size_t i = 0; i < row->count[side]; i++) {
            b->side[side].ids[at + i] = row->ids[side][i];
            b->side[side].targets[at + i] = -1;
            if (row->position[side])
                b->side[side].position[at + i] = row->position[side][i];
        }
    }
}

bool inspect_read(App *a, Inspection *l, const InspectRow *row, Error *e)
{
    SharedOptions *o = a->options;
    o->batch = o->micro_batch = o->workers = 1;
    o->precision = o->precision == NUMBER_BF16 ? NUMBER_F32 : o->precision; /* weights are looked at as reals */
    a->task = (Task){.self = a, .sides = row->sides, .most_rows = 1, .score_rows = 1, .loss = row->network};
    for (size_t side = 0; side < row->sides; side++)
        a->task.longest[side] = row->count[side];
    BatchSize size = plan_size(&a->task, 1, true);
    if (!app_open_trainer(a, &l->trainer, e) || !batch_open(&l->batch, &size, e))
        return false;
    Worker *w = &l->trainer.worker[0];
    fill(&l->batch, row);
    recorder_begin(&l->recorder, &w->tape);
    session_run(w, &l->batch, row->network, a);
    bool fine = recorder_end(&l->recorder, e);
    session_end(w);
    if (fine && l->recorder.count) {
        l->shown = &l->recorder.maps[0];
        l->shown->query = l->shown->key = &l->tokens[0];
    }
    return fine;
}

static void inspect_close(Inspection *l)
{
    recorder_close(&l->recorder);
    buffer_free(&l->data);
    buffer_free(&l->table);
    buffer_free(&l->json);
    buffer_free(&l->note);
    batch_close(&l->batch);
    trainer_close(&l->trainer);
    for (size_t i = 0; i < SIDES; i++)
        labels_close(&l->tokens[i]);
}

/* "3", or not given at all: EVERY. */
static bool number_of(App *a, const char *option, const char *text, size_t *number, Error *e)
{
    char *end = NULL;
    *number = EVERY;
    if (!text)
        return true;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value > 100000)
        return fail(e, "--%s '%s': expected a number, counted from 0", option, text) || app_misused(a);
    *number = (size_t)value;
    return true;
}

/* Where a chain's weights go, to be freed with memory_free: FILE.npy, or where there are several FILE.encoder.npy ...
 * NULL: an Error. */
static char *npy_path(const Inspection *l, const Maps *m, Error *e)
{
    char middle[MAPS_NAME + 1];
    snprintf(middle, sizeof middle, ".%s", m->name);
    char *path = path_between(l->options->npy, l->recorder.count > 1 ? middle : "", ".npy");
    if (!path)
        memory_error(e, "a path", strlen(l->options->npy), 1);
    return path;
}

static bool write_weights(Inspection *l, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && i < l->recorder.count; i++) {
        const Maps *m = &l->recorder.maps[i];
        char *path = npy_path(l, m, e);
        fine = path && maps_write(m, path, e);
        memory_free(path);
    }
    return fine;
}

/* Whether a picture is asked for: in a file, or in the terminal. */
static bool is_drawn(const App *a) { return a->options->out || a->options->terminal; }

static const char *file_of(const App *a)
{
    return a->options->out && strcmp(a->options->out, "-") != 0 ? a->options->out : NULL;
}

/* Where the data of a picture go, to be freed with memory_free: beside it, or where it is in the terminal into the run.
 * NULL: an Error. */
static char *data_path(const App *a, Error *e)
{
    const char *out = file_of(a);
    char *folder = out ? NULL : app_pictures(a->run->path, e);
    if (!out && (!folder || !folder_make(folder, e))) {
        memory_free(folder);
        return NULL;
    }
    char *path = out ? path_between(out, "", ".tsv") : path_join(folder, "heads.tsv");
    if (!path)
        memory_error(e, "a path", 1, 64);
    memory_free(folder);
    if (path && out && strcmp(path, out) == 0) {
        fail(e, "--out %s: this ending is for the picture's data; choose another", out);
        memory_free(path);
        path = NULL;
    }
    return path;
}

/* Draws data with a script of plots/. They stay beside the picture. more: what the script takes besides, or 0. */
static bool draw(const App *a, const char *script, const Buffer *data, size_t more, Error *e)
{
    char number[24], *path = data_path(a, e);
    snprintf(number, sizeof number, "%zu", more);
    const Picture p = {.script = script,
                       .data = path,
                       .out = file_of(a),
                       .size = a->options->size,
                       .terminal = a->options->terminal,
                       .more = {more ? number : NULL}};
    bool fine = path && app_draw(a, &p, data, e);
    memory_free(path);
    return fine;
}

static bool draw_heads(App *a, Inspection *l, Error *e)
{
    const HeadsShown *shown = &l->where;
    Buffer data = {0};
    size_t across, longer = l->shown->queries > l->shown->keys ? l->shown->queries : l->shown->keys;
    bool fine = heads_data(&data, l->shown, shown, &across, e) && draw(a, "heads", &data, across, e);
    if (fine && shown->most && longer > shown->most && !a->options->quiet)
        fprintf(stderr, "%s: the picture shows tokens %zu to %zu of %zu; --from and --show choose others\n",
                a->kind->name, shown->from,
                (longer - shown->from < shown->most ? longer : shown->from + shown->most) - 1, longer);
    buffer_free(&data);
    return fine;
}

static bool describe(App *a, Inspection *l, Error *e)
{
    HeadNote *notes = NULL;
    Buffer data = {0};
    size_t count = l->shown->layers * l->shown->heads;
    bool fine = describe_maps(l->shown, &notes, e);
    if (fine) {
        describe_data(&data, l->shown, notes);
        if (l->options->sort != BY_POSITION)
            describe_sort(notes, count, (Measure)l->options->sort);
        describe_table(&l->table, l->shown, notes, count);
        describe_json(&l->json, notes, count);
        fine = !data.failed || fail(e, "out of memory for descriptions of heads");
    }
    fine = fine && (!is_drawn(a) || draw(a, "describe", &data, 0, e));
    memory_free(notes);
    buffer_free(&data);
    return fine;
}

static bool draw_rollout(App *a, Inspection *l, Error *e)
{
    const Maps *m = l->shown;
    float *flow = NULL;
    Buffer data = {0};
    if (m->query != m->key)
        return fail(e, "--rollout needs self-attention, and %s is not: choose --maps encoder or decoder", m->name) ||
               app_misused(a);
    if (!rollout(m, &flow, e))
        return false;
    HeadsPanel p = heads_part(m, &l->where);
    p.weights = flow;
    heads_panel(&data, "rollout of all layers", &p);
    bool fine = !data.failed || fail(e, "out of memory for a rollout");
    fine = fine && draw(a, "heads", &data, 1, e);
    buffer_free(&data);
    memory_free(flow);
    return fine;
}

static bool show(App *a, Inspection *l, Error *e)
{
    if (!l->shown)
        return fail(e, "the run %s has no attention to show: its depth is 0", a->run->path);
    if (!heads_suit(l->shown, &l->where, e))
        return app_misused(a);
    if (l->options->npy && !write_weights(l, e))
        return false;
    if (l->options->html && !page_write(l->options->html, l->recorder.maps, l->recorder.count, l->shown, &l->where, e))
        return false;
    if (a->kind->inspect_further && !a->kind->inspect_further(a, l, e))
        return false;
    if (l->script)
        return !is_drawn(a) || draw(a, l->script, &l->data, 0, e);
    if (l->options->describe)
        return describe(a, l, e);
    if (!is_drawn(a))
        return l->table.size || l->options->npy || l->options->html || a->options->json ||
               fail(e, "nothing was asked for: give --out FILE to draw (-: in the terminal), --html FILE, --npy FILE, "
                       "--describe or --json") ||
               app_misused(a);
    return l->options->rollout ? draw_rollout(a, l, e) : draw_heads(a, l, e);
}

/* What was found, as a table or as an object; then which maps there are and what was written. */
static bool say(App *a, Inspection *l, Error *e)
{
    Buffer b = {0};
    char *npy = NULL;
    if (l->table.failed || l->json.failed)
        return fail(e, "out of memory for descriptions of heads");
    if (!a->options->json) {
        fputs(l->table.size ? l->table.text : "", stdout);
        return true;
    }
    if (l->options->npy && !(npy = npy_path(l, l->shown, e)))
        return false;
    json_add_text(&b, "maps", l->shown->name);
    json_add_member(&b, "layers", (double)l->shown->layers);
    json_add_member(&b, "heads_each", (double)l->shown->heads);
    maps_json(&b, l->shown);
    if (l->json.size)
        buffer_print(&b, ", %s", l->json.text);
    const char *const written[][2] = {{"picture", file_of(a)}, {"npy", npy}, {"html", l->options->html}};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (written[i][1])
            json_add_text(&b, written[i][0], written[i][1]);
    memory_free(npy);
    return json_print_members(&b, e);
}

bool app_heads(App *a, Error *e)
{
    const InspectOptions *v = a->inspect;
    Inspection l = {.options = v, .where = {.from = v->from, .most = v->show}};
    const Picture picture = {.out = file_of(a), .size = a->options->size, .terminal = a->options->terminal};
    bool fine = picture_sound(&picture, e) || app_misused(a);
    if (fine && v->rollout && (v->describe || !is_drawn(a)))
        fine = fail(e, "--rollout draws: give --out FILE or --terminal, and leave out --describe") || app_misused(a);
    if (fine && a->options->json && is_drawn(a) && !file_of(a))
        fine = fail(e, "--json prints the picture's file name: give one with --out") || app_misused(a);
    fine = fine && number_of(a, "layer", v->layer, &l.where.layer, e) &&
           number_of(a, "head", v->head, &l.where.head, e) && a->kind->inspect(a, &l, e) && show(a, &l, e);
    if (fine && l.note.size && !a->options->quiet)
        fputs(l.note.text, stderr);
    fine = fine && say(a, &l, e);
    inspect_close(&l);
    return fine;
}
