/* See align.h. */
#include "core/plot/align.h"

#include "base/memory.h"
#include "core/plot/heads.h"
#include "core/run/json.h"

bool align_mean(const Maps *m, size_t layer, size_t head, float **mean, Error *e)
{
    size_t count = m->queries * m->keys, from = layer == EVERY ? 0 : layer, to = layer == EVERY ? m->layers : layer + 1;
    size_t first = head == EVERY ? 0 : head, last = head == EVERY ? m->heads : head + 1;
    *mean = memory_get(count, sizeof **mean);
    if (!*mean)
        return memory_error(e, "an alignment", count, sizeof **mean);
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t l = from; l < to; l++)
            for (size_t h = first; h < last; h++)
                sum += (double)maps_head(m, l, h)[i];
        (*mean)[i] = (float)(sum / (double)((to - from) * (last - first)));
    }
    return true;
}

/* The first of the largest weights. */
static size_t best_of(const float *row, size_t keys)
{
    size_t best = 0;
    for (size_t j = 1; j < keys; j++)
        best = row[j] > row[best] ? j : best;
    return best;
}

void align_json(Buffer *b, const Maps *m, const float *mean)
{
    json_open(b, "alignment", '[');
    for (size_t i = 0; i < m->queries; i++) {
        const float *row = mean + i * m->keys;
        const size_t best = best_of(row, m->keys);
        json_open(b, NULL, '{');
        json_add_text(b, "target", label_shown(m->query, i));
        json_add_text(b, "source", label_shown(m->key, best));
        json_add_member(b, "position", (double)best);
        json_add_member(b, "weight", (double)row[best]);
        buffer_print(b, "}");
    }
    buffer_print(b, "]");
}

void align_table(Buffer *b, const Maps *m, const float *mean)
{
    for (size_t i = 0; i < m->queries; i++) {
        const float *row = mean + i * m->keys;
        const size_t best = best_of(row, m->keys);
        buffer_print(b, "%s\t%s\t%.2f\n", label_shown(m->query, i), label_shown(m->key, best), (double)row[best]);
    }
}
