/* See maps.h. */
#include "core/inspect/maps.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/run/json.h"
#include "core/run/npy.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* "decoder.0.cross.out.weight" belongs to "cross", "blocks.0.attention.out.weight" to "blocks". */
static void chain_of(char name[MAPS_NAME], const char *parameter)
{
    const char *number = strchr(parameter, '.'), *part = number ? strchr(number + 1, '.') : NULL;
    bool cross = part && strncmp(part, ".cross.", 7) == 0;
    size_t size = number ? (size_t)(number - parameter) : strlen(parameter);
    assert(size < MAPS_NAME);
    snprintf(name, MAPS_NAME, "%.*s", cross ? 5 : (int)size, cross ? "cross" : parameter);
}

static void *refuse(MapRecorder *w, size_t count, size_t size)
{
    memory_error(&w->error, "attention weights", count, size);
    w->failed = true;
    return NULL;
}

static void *weights(Hook *hook, Tape *t, const Parameter *out, const Attend *how)
{
    MapRecorder *w = (MapRecorder *)hook;
    size_t count = how->heads * how->longest_query * how->longest_key;
    assert(how->rows == 1 && "a watched network reads one row");
    if (w->failed || !count)
        return NULL;
    if (!memory_grow(&w->seen, &w->capacity, w->seen_count + 1, sizeof *w->seen, "", NULL))
        return refuse(w, w->seen_count + 1, sizeof *w->seen);
    Seen now = {.heads = how->heads, .queries = how->longest_query, .keys = how->longest_key, .how = *how};
    assert(!how->block || how->pattern != PATTERN_LISTS); /* which are on the device */
    chain_of(now.name, out->name);
    now.weights = t->k->allocate(count * t->k->real);
    if (!now.weights)
        return refuse(w, count, t->k->real);
    w->seen[w->seen_count++] = now;
    return now.weights;
}

void recorder_begin(MapRecorder *w, Tape *t)
{
    *w = (MapRecorder){.hook = {.weights = weights}, .tape = t};
    t->hook = &w->hook;
}

Maps *recorder_maps(MapRecorder *w, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->maps[i].name, name) == 0)
            return &w->maps[i];
    return NULL;
}

/* Appends one layer's weights to those of its chain. */
static bool take(MapRecorder *w, const Seen *s, Error *e)
{
    const Kernels *k = w->tape->k;
    Maps *m = recorder_maps(w, s->name);
    size_t count = s->heads * s->queries * s->keys;
    if (!m) {
        assert(w->count < MAPS);
        m = &w->maps[w->count++];
        *m = (Maps){.heads = s->heads, .queries = s->queries, .keys = s->keys, .causal = s->how.causal};
        memcpy(m->name, s->name, sizeof m->name);
    }
    assert(m->heads == s->heads && m->queries == s->queries && m->keys == s->keys);
    float *more = memory_resize(m->weights, (m->layers + 1) * count, sizeof *more);
    if (!more)
        return memory_error(e, "attention weights", (m->layers + 1) * count, sizeof *more);
    m->weights = more;
    Attend *sees = memory_resize(m->sees, m->layers + 1, sizeof *sees);
    if (!sees)
        return memory_error(e, "attention weights", m->layers + 1, sizeof *sees);
    m->sees = sees;
    sees[m->layers] = s->how;
    more += m->layers++ * count;
    download_floats(k, w->tape->stream, more, s->weights, count);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(more[i]))
            return fail(e, "attention weights are not finite, because the network's values are not; check its weights");
    return true;
}

bool recorder_end(MapRecorder *w, Error *e)
{
    w->tape->hook = NULL;
    bool fine = w->tape->k->finish(w->tape->stream, e) && (!w->failed || fail(e, "%s", w->error.text));
    for (size_t i = 0; fine && i < w->seen_count; i++)
        fine = take(w, &w->seen[i], e);
    return fine;
}

void recorder_close(MapRecorder *w)
{
    for (size_t i = 0; i < w->seen_count; i++)
        w->tape->k->release(w->seen[i].weights);
    for (size_t i = 0; i < w->count; i++) {
        memory_free(w->maps[i].weights);
        memory_free(w->maps[i].sees);
    }
    memory_free(w->seen);
    *w = (MapRecorder){0};
}

/* --- files --- */

char *path_between(const char *file, const char *middle, const char *ending)
{
    const char *name = path_name(file), *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - file) : strlen(file);
    size_t size = stem + strlen(middle) + strlen(ending) + 1;
    char *path = memory_get(size, 1);
    if (path)
        snprintf(path, size, "%.*s%s%s", (int)stem, file, middle, ending);
    return path;
}

static void add_tokens(Buffer *b, const char *key, const Labels *t, size_t count, bool shown)
{
    json_open(b, key, '[');
    for (size_t i = 0; i < count; i++) {
        json_add_key(b, NULL);
        if (shown)
            json_add_string(b, label_shown(t, i));
        else
            json_add_bytes(b, t->raw.text + t->list[i].raw, t->list[i].raw_size);
    }
    buffer_print(b, "]");
}

void maps_json(Buffer *b, const Maps *m)
{
    add_tokens(b, "shown_queries", m->query, m->queries, true);
    add_tokens(b, "shown_keys", m->key, m->keys, true);
}

static bool write_labels(const Maps *m, const char *path, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, "{");
    json_add_text(&b, "maps", m->name);
    buffer_print(&b, ", \"causal\": %s, \"axes\": [\"layer\", \"head\", \"query\", \"key\"]",
                 m->causal ? "true" : "false");
    add_tokens(&b, "queries", m->query, m->queries, false);
    add_tokens(&b, "keys", m->key, m->keys, false);
    maps_json(&b, m);
    buffer_print(&b, "}\n");
    bool fine = b.failed ? fail(e, "out of memory for labels") : file_write_through(path, b.text, b.size, e);
    buffer_free(&b);
    return fine;
}

bool maps_write(const Maps *m, const char *file, Error *e)
{
    char *labels = path_between(file, "", ".labels.json");
    bool fine = labels || memory_error(e, "a path", strlen(file), 1);
    fine = fine && npy_write(file, NPY_F32, 4, (size_t[]){m->layers, m->heads, m->queries, m->keys}, m->weights, e) &&
           write_labels(m, labels, e);
    memory_free(labels);
    return fine;
}
