/* See legend.h. */
#include "core/plot/legend.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "core/run/json.h"
#include "core/run/run.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What is stored of a run but does not change what it learns, or follows from the rest. */
static const char *const silent[] = {"workers", "team",         "micro-batch", "recompute", "save-every",
                                     "keep",    "sample-every", "eval-every",  "data"};

static const char *const groups[] = {"model", "training"};

enum { MOST_OPTIONS = 3 }; /* that a label has */

typedef struct Configs {
    Json **json; /* [count] */
    size_t count;
    bool many; /* more options differ than a label has */
} Configs;

static bool is_silent(const char *key)
{
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (strcmp(silent[i], key) == 0)
            return true;
    return false;
}

/* An option's value as one would type it; NULL: the run's version knew no such option. */
static const char *value_of(const Json *config, size_t group, const char *key)
{
    const Json *item = json_get(json_get(config, groups[group]), key);
    if (!item)
        return run_unless_given(key);
    return item->kind == JSON_BOOL ? (item->truth ? "yes" : "no") : item->text;
}

/* The same; decay-steps equal to steps counts as not set, because it follows steps by default. */
static const char *meaning_of(const Json *config, size_t group, const char *key)
{
    const char *value = value_of(config, group, key), *steps = value_of(config, group, "steps");
    return strcmp(key, "decay-steps") == 0 && value && steps && strcmp(value, steps) == 0 ? "steps" : value;
}

static bool option_differs(const Json *a, const Json *b, size_t group, const char *key)
{
    const char *x = meaning_of(a, group, key), *y = meaning_of(b, group, key);
    return x && y && strcmp(x, y) != 0;
}

static bool data_differ(const Json *a, const Json *b)
{
    const char *x = json_get_text(json_get(a, "data"), "sha256"), *y = json_get_text(json_get(b, "data"), "sha256");
    return x && y && strcmp(x, y) != 0;
}

static bool same_but_seed(const Json *a, const Json *b)
{
    if (data_differ(a, b))
        return false;
    for (size_t g = 0; g < 2; g++) {
        const Json *options = json_get(a, groups[g]);
        for (size_t i = 0; options && i < options->count; i++) {
            const char *key = options->items[i].key;
            if (!is_silent(key) && strcmp(key, "seed") != 0 && option_differs(a, b, g, key))
                return false;
        }
        for (const RunRare *rare = run_rare; rare->option; rare++)
            if (option_differs(a, b, g, rare->option))
                return false;
    }
    return true;
}

static const char *folder_name(const char *path, size_t *length)
{
    size_t end = strlen(path), start;
    while (end > 1 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/';)
        start--;
    *length = end - start;
    return path + start;
}

/* Whether two of the runs that know the option differ in it. */
static bool any_differs(const Configs *c, size_t group, const char *key)
{
    size_t first = 0;
    while (first < c->count && !value_of(c->json[first], group, key))
        first++;
    for (size_t i = first + 1; i < c->count; i++)
        if (option_differs(c->json[first], c->json[i], group, key))
            return true;
    return false;
}

static bool any_data_differ(const Configs *c)
{
    bool differ = false;
    for (size_t i = 1; i < c->count; i++)
        differ = differ || data_differ(c->json[0], c->json[i]);
    return differ;
}

static size_t add_difference(Buffer *b, const char *key, const char *value)
{
    if (value && b)
        buffer_print(b, "%s%s %s", b->size ? ", " : "", key, value);
    return value ? 1 : 0;
}

/* What is said of a run: its values of all options in which any two runs differ. Returns how many these are; b, which
 * may be NULL: where to say them. */
static size_t describe(Buffer *b, const Configs *c, const Json *config, bool seeds)
{
    size_t said = 0;
    for (size_t g = 0; g < 2; g++) {
        const Json *options = json_get(config, groups[g]);
        for (size_t i = 0; options && i < options->count; i++) {
            const char *key = options->items[i].key;
            if (!is_silent(key) && (seeds || strcmp(key, "seed") != 0) && any_differs(c, g, key))
                said += add_difference(b, key, value_of(config, g, key));
        }
        for (const RunRare *rare = run_rare; rare->option; rare++)
            if (!json_get(options, rare->option) && any_differs(c, g, rare->option))
                said += add_difference(b, rare->option, rare->means);
    }
    if (any_data_differ(c))
        said += add_difference(b, "data", json_get_text(json_get(config, "data"), "path"));
    return said;
}

/* Whether a legend of options would be too long to read. */
static bool many_differ(const Configs *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->count; i++) {
        const size_t differ = describe(NULL, c, c->json[i], false);
        most = differ > most ? differ : most;
    }
    return most > MOST_OPTIONS;
}

static size_t first_of(const Legend *l, size_t curve)
{
    size_t i = 0;
    while (l->curve[i] != curve)
        i++;
    return i;
}

/* Whether the run is one more seed of those that a curve has before it. */
static bool joins(const Legend *l, const Configs *c, size_t run, size_t curve)
{
    if (!same_but_seed(c->json[run], c->json[first_of(l, curve)]))
        return false;
    for (size_t i = 0; i < run; i++)
        if (l->curve[i] == curve && !option_differs(c->json[run], c->json[i], 1, "seed"))
            return false;
    return true;
}

/* Which curve each run belongs to. */
static void gather(Legend *l, const Configs *c, bool apart)
{
    for (size_t i = 0; i < c->count; i++) {
        size_t curve = 0;
        while (curve < l->curves && (apart || !joins(l, c, i, curve)))
            curve++;
        l->curve[i] = curve;
        l->curves += curve == l->curves;
    }
}

static size_t members(const Legend *l, size_t runs, size_t curve)
{
    size_t count = 0;
    for (size_t i = 0; i < runs; i++)
        count += l->curve[i] == curve;
    return count;
}

static bool is_taken(const Legend *l, size_t curve)
{
    for (size_t i = 0; i < l->curves; i++)
        if (i != curve && strcmp(l->label[i], l->label[curve]) == 0)
            return true;
    return false;
}

static bool keep(char **label, Buffer *b, Error *e)
{
    bool fine = !b->failed;
    memory_free(*label);
    *label = fine ? memory_string(b->text) : NULL;
    buffer_free(b);
    return *label || fail(e, "out of memory for the labels of curves");
}

/* How much a label says: what curves have in common with others of the same label does not tell them apart. */
typedef enum Detail { OPTIONS, WITH_SEED, WITH_FOLDER, WITH_PATH } Detail;

/* The folder of a run; of several seeds of a sweep's row, whose folders end in -s1, -s2 and so on, without that. */
static void add_folder(Buffer *b, const char *run, bool seeds)
{
    size_t length, digits = 0;
    const char *name = folder_name(run, &length);
    while (digits < length && name[length - digits - 1] >= '0' && name[length - digits - 1] <= '9')
        digits++;
    if (seeds && digits && length > digits + 2 && !strncmp(name + length - digits - 2, "-s", 2))
        length -= digits + 2;
    buffer_print(b, "%s%.*s", b->size ? ", " : "", (int)length, name);
}

static bool name_curve(Legend *l, const Configs *c, const char *const *runs, size_t curve, Detail detail, Error *e)
{
    Buffer b = {0};
    const size_t run = first_of(l, curve);
    buffer_print(&b, "%s", "");
    if (l->curves > 1) {
        const bool alone = members(l, c->count, curve) == 1;
        if (!c->many)
            describe(&b, c, c->json[run], detail == WITH_SEED && alone);
        if (detail == WITH_PATH)
            buffer_print(&b, "%s%s", b.size ? ", " : "", runs[run]);
        else if (c->many || detail == WITH_FOLDER || (detail == WITH_SEED && !b.size))
            add_folder(&b, runs[run], c->many && !alone && detail < WITH_FOLDER);
    }
    return keep(&l->label[curve], &b, e);
}

static bool name_all(Legend *l, const Configs *c, const char *const *runs, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && i < l->curves; i++)
        fine = name_curve(l, c, runs, i, OPTIONS, e);
    bool *again = memory_get(l->curves, sizeof *again);
    fine = fine && (again || memory_error(e, "labels", l->curves, sizeof *again));
    for (Detail detail = WITH_SEED; l->curves > 1 && detail <= WITH_PATH; detail++) {
        for (size_t i = 0; fine && i < l->curves; i++)
            again[i] = is_taken(l, i) || !l->label[i][0];
        for (size_t i = 0; fine && i < l->curves; i++)
            if (again[i])
                fine = name_curve(l, c, runs, i, detail, e);
    }
    memory_free(again);
    return fine;
}

static bool read_config(Json **json, const char *run, Error *e)
{
    char *path = path_join(run, "config.json"), *text = NULL;
    size_t size;
    bool fine = path || memory_error(e, "a path", 1, strlen(run));
    if (fine && !run_is_there(run))
        fine = fail(e, "%s is not a run: it has no config.json", run);
    fine = fine && file_read(path, &text, &size, e) && json_read(json, text, size, path, e);
    memory_free(text);
    memory_free(path);
    return fine;
}

static bool reserve(Legend *legend, size_t count, Error *e)
{
    *legend = (Legend){.curve = memory_get(count, sizeof *legend->curve),
                       .seed = memory_get(count, sizeof *legend->seed),
                       .label = memory_get(count, sizeof *legend->label)};
    return (legend->curve && legend->seed && legend->label) || memory_error(e, "labels", count, sizeof *legend->label);
}

bool legend_make(Legend *legend, const char *const *runs, size_t count, bool apart, Error *e)
{
    Configs c = {memory_get(count, sizeof *c.json), count, false};
    bool fine = reserve(legend, count, e) && (c.json || memory_error(e, "labels", count, sizeof *c.json));
    for (size_t i = 0; fine && i < count; i++)
        fine = read_config(&c.json[i], runs[i], e);
    for (size_t i = 0; fine && i < count; i++)
        if (!json_integer(json_get(json_get(c.json[i], "training"), "seed"), &legend->seed[i]))
            legend->seed[i] = 0;
    if (fine) {
        gather(legend, &c, apart);
        c.many = many_differ(&c);
    }
    fine = fine && name_all(legend, &c, runs, e);
    for (size_t i = 0; c.json && i < count; i++)
        json_free(c.json[i]);
    memory_free(c.json);
    if (!fine)
        legend_free(legend);
    return fine;
}

bool legend_of_names(Legend *legend, const char *const *names, size_t count, Error *e)
{
    bool fine = reserve(legend, count, e);
    for (size_t i = 0; fine && i < count; i++) {
        size_t curve = 0;
        while (curve < legend->curves && strcmp(legend->label[curve], names[i]) != 0)
            curve++;
        if (curve == legend->curves && (legend->label[curve] = memory_string(names[i])))
            legend->curves++;
        fine = curve < legend->curves || memory_error(e, "labels", count, sizeof *legend->label);
        legend->curve[i] = curve;
    }
    if (!fine)
        legend_free(legend);
    return fine;
}

void legend_free(Legend *legend)
{
    for (size_t i = 0; legend->label && i < legend->curves; i++)
        memory_free(legend->label[i]);
    memory_free(legend->label);
    memory_free(legend->curve);
    memory_free(legend->seed);
    *legend = (Legend){0};
}
