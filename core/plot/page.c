/* See page.h.
 *
 *     {"shown": 0, "maps": [{"name": .., "first_query": .., "first_key": ..,
 *                            "queries": [..], "keys": [..], "weights": [layer][head][query][key]}, ..]}
 *
 * Weights have six digits; < is written as an escape, so no token can end the script that holds it. */
#include "core/plot/page.h"

#include "base/file.h"
#include "core/plot/scripts.h"
#include "core/run/json.h"

#include <string.h>

static const char mark[] = "@DATA@";

static void add_names(Buffer *b, const char *key, const Labels *names, size_t first, size_t count)
{
    json_open(b, key, '[');
    for (size_t i = 0; i < count; i++) {
        json_add_key(b, NULL);
        json_add_string(b, label_shown(names, first + i));
    }
    buffer_print(b, "]");
}

/* A list of lists: the part of one head's map. */
static void add_head(Buffer *b, const float *weights, const HeadsPanel *p)
{
    buffer_print(b, "[");
    for (size_t i = 0; i < p->rows; i++) {
        buffer_print(b, i ? ",\n[" : "[");
        for (size_t j = 0; j < p->columns; j++)
            buffer_print(b, "%s%.6g", j ? "," : "",
                         (double)weights[(p->first_row + i) * p->stride + p->first_column + j]);
        buffer_print(b, "]");
    }
    buffer_print(b, "]");
}

static void add_maps(Buffer *b, const Maps *m, const HeadsShown *where)
{
    const HeadsPanel p = heads_part(m, where);
    buffer_print(b, "{");
    json_add_text(b, "name", m->name);
    json_add_member(b, "first_query", (double)p.first_row);
    json_add_member(b, "first_key", (double)p.first_column);
    add_names(b, "queries", m->query, p.first_row, p.rows);
    add_names(b, "keys", m->key, p.first_column, p.columns);
    json_open(b, "weights", '[');
    for (size_t layer = 0; layer < m->layers; layer++) {
        buffer_print(b, layer ? ",\n[" : "[");
        for (size_t head = 0; head < m->heads; head++) {
            buffer_print(b, head ? ",\n" : "");
            add_head(b, maps_head(m, layer, head), &p);
        }
        buffer_print(b, "]");
    }
    buffer_print(b, "]}");
}

static void add_escaped(Buffer *b, const Buffer *json)
{
    for (size_t at = 0; at < json->size;) {
        size_t length = strcspn(json->text + at, "<");
        buffer_add(b, json->text + at, length);
        at += length;
        if (at < json->size) {
            buffer_print(b, "\\u003c");
            at++;
        }
    }
}

static const Embedded *template(void)
{
    const Embedded *one = plot_scripts;
    while (one->name && strcmp(one->name, "heads.html") != 0)
        one++;
    return one;
}

bool page_write(const char *path, const Maps *maps, size_t count, const Maps *shown, const HeadsShown *where, Error *e)
{
    const char *text = template()->text, *place = strstr(text, mark);
    Buffer json = {0}, page = {0};
    buffer_print(&json, "{\"shown\": %zu, \"maps\": [", (size_t)(shown - maps));
    for (size_t i = 0; i < count; i++) {
        buffer_print(&json, i ? ",\n" : "");
        add_maps(&json, &maps[i], where);
    }
    buffer_print(&json, "]}");
    buffer_add(&page, text, (size_t)(place - text));
    if (!json.failed)
        add_escaped(&page, &json);
    buffer_print(&page, "%s", place + sizeof mark - 1);
    bool fine = json.failed || page.failed ? fail(e, "out of memory for a page; a smaller --show needs less")
                                           : file_write_through(path, page.text, page.size, e);
    buffer_free(&json);
    buffer_free(&page);
    return fine;
}
