/* See heads.h. */
#include "core/plot/heads.h"

#include "base/utf8.h"
#include "core/plot/picture.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_NAME = 20 }; /* characters of a token on an axis */

/* A token's name as a cell; a long one ends in an ellipsis. */
static void add_name(Buffer *b, const char *name)
{
    size_t size = strlen(name), shown = 0;
    for (size_t at = 0; at < size; shown++) {
        size_t length = utf8_step(name + at, size - at);
        if (shown == LONGEST_NAME) {
            buffer_print(b, "…");
            return;
        }
        if (name[at] == '\\')
            buffer_print(b, "\\\\"); /* of two, gnuplot shows one */
        else
            picture_text(b, name + at, length, true);
        at += length;
    }
}

void heads_panel(Buffer *b, const char *title, const HeadsPanel *p)
{
    if (b->size)
        buffer_print(b, "\n\n");
    buffer_print(b, "%s\n", title);
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->columns; j++) {
            float weight = p->weights[(p->first_row + i) * p->stride + p->first_column + j];
            buffer_print(b, "%zu\t%zu\t%.9g\t", i, j, (double)weight);
            add_name(b, label_shown(p->query, p->first_row + i));
            buffer_print(b, "\t");
            add_name(b, label_shown(p->key, p->first_column + j));
            buffer_print(b, "\n");
        }
}

bool heads_suit(const Maps *m, const HeadsShown *s, Error *e)
{
    if (s->layer != EVERY && s->layer >= m->layers)
        return fail(e, "--layer %zu: the layers of %s are 0 to %zu", s->layer, m->name, m->layers - 1);
    if (s->head != EVERY && s->head >= m->heads)
        return fail(e, "--head %zu: the heads of a layer are 0 to %zu", s->head, m->heads - 1);
    if (s->from >= m->queries && s->from >= m->keys)
        return fail(e, "--from %zu: the text has %zu tokens, and counting starts at 0", s->from,
                    m->queries > m->keys ? m->queries : m->keys);
    return true;
}

static size_t part(size_t all, const HeadsShown *s, size_t *first)
{
    *first = s->from < all ? s->from : 0; /* the shorter side of a pair is shown from its beginning, then */
    return s->most && s->most < all - *first ? s->most : all - *first;
}

HeadsPanel heads_part(const Maps *m, const HeadsShown *s)
{
    HeadsPanel p = {.stride = m->keys, .query = m->query, .key = m->key};
    p.rows = part(m->queries, s, &p.first_row);
    p.columns = part(m->keys, s, &p.first_column);
    return p;
}

bool heads_data(Buffer *b, const Maps *m, const HeadsShown *s, size_t *across, Error *e)
{
    if (!heads_suit(m, s, e))
        return false;
    HeadsPanel p = heads_part(m, s);
    *across = s->head != EVERY ? 0 : s->layer == EVERY ? m->heads : (m->heads + 1) / 2 < 4 ? (m->heads + 1) / 2 : 4;
    for (size_t layer = 0; layer < m->layers; layer++)
        for (size_t head = 0; head < m->heads; head++)
            if ((s->layer == EVERY || s->layer == layer) && (s->head == EVERY || s->head == head)) {
                char title[80];
                snprintf(title, sizeof title, "%s%slayer %zu, head %zu", strcmp(m->name, "blocks") ? m->name : "",
                         strcmp(m->name, "blocks") ? " " : "", layer, head);
                p.weights = maps_head(m, layer, head);
                heads_panel(b, title, &p);
            }
    return !b->failed || fail(e, "out of memory for the data of a picture");
}
