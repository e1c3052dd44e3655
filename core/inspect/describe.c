/* See describe.h. */
#include "core/inspect/describe.h"

#include "base/memory.h"
#include "core/run/json.h"
#include "kernels/attend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *measure_name(Measure m)
{
    static const char *const names[] = {"previous", "itself", "next", "first", "separators", "distance", "entropy"};
    return names[m];
}

/* Adds what the weights [S] of token i give; w NULL: the same weight for all that it can see. */
static void add_row(const Maps *m, const Attend *how, const float *w, size_t i, double sums[MEASURES])
{
    const Keys keys = {.length = m->keys};
    size_t sees = 0;
    for (size_t j = keys_next(how, keys, i, 0); j < m->keys; j = keys_next(how, keys, i, j + 1))
        sees++;
    for (size_t j = keys_next(how, keys, i, 0); j < m->keys; j = keys_next(how, keys, i, j + 1)) {
        double weight = w ? (double)w[j] : 1 / (double)sees;
        sums[MEASURE_PREVIOUS] += j + 1 == i ? weight : 0;
        sums[MEASURE_ITSELF] += j == i ? weight : 0;
        sums[MEASURE_NEXT] += j == i + 1 ? weight : 0;
        sums[MEASURE_FIRST] += j == 0 ? weight : 0;
        sums[MEASURE_SEPARATORS] += m->key->list[j].separator ? weight : 0;
        sums[MEASURE_DISTANCE] += weight * fabs((double)i - (double)j);
        sums[MEASURE_ENTROPY] -= weight > 0 ? weight * log2(weight) : 0;
    }
}

/* ---- in words */

/* A share that is much, and more than an even look would give: what a head is said to do. */
static bool is_much(const HeadNote *n, Measure m, double least)
{
    return n->is[m] >= least && n->is[m] >= 1.5 * n->even[m];
}

static Measure strongest(const HeadNote *n)
{
    Measure best = MEASURE_PREVIOUS;
    for (Measure m = MEASURE_PREVIOUS; m <= MEASURE_SEPARATORS; m++)
        if (n->is[m] - n->even[m] > n->is[best] - n->even[best])
            best = m;
    return best;
}

static void say(HeadNote *n, bool cross)
{
    static const char *const objects[] = {"the previous token", "itself", "the next token", "the first token",
                                          "separators"};
    static const char *const places[] = {"the position before its own", "its own position",
                                         "the position after its own", "the first token", "separators"};
    enum { AROUND = MEASURE_SEPARATORS + 1, PICKING, EVENLY };
    Measure best = strongest(n);
    const char *object = cross ? places[best] : objects[best];
    double share = 100 * n->is[best];
    n->kind = (int)best;
    if (is_much(n, best, 0.5))
        snprintf(n->words, sizeof n->words, "looks mostly at %s (%.0f %%)", object, share);
    else if (is_much(n, best, 0.25))
        snprintf(n->words, sizeof n->words, "looks often at %s (%.0f %%)", object, share);
    else if (n->is[MEASURE_ENTROPY] > 0.9 * n->even[MEASURE_ENTROPY]) {
        n->kind = EVENLY;
        snprintf(n->words, sizeof n->words, "looks at everything, nearly evenly");
    } else if (n->is[MEASURE_DISTANCE] < 0.6 * n->even[MEASURE_DISTANCE]) {
        n->kind = AROUND;
        snprintf(n->words, sizeof n->words, "looks nearby, %.1f positions away on average", n->is[MEASURE_DISTANCE]);
    } else {
        n->kind = PICKING;
        snprintf(n->words, sizeof n->words, "picks some tokens, effectively %.1f", pow(2, n->is[MEASURE_ENTROPY]));
    }
}

HeadNote describe_head(const Maps *m, size_t layer, size_t head)
{
    HeadNote n = {.layer = layer, .head = head};
    const float *w = maps_head(m, layer, head);
    const Attend how = m->sees ? m->sees[layer] : (Attend){.causal = m->causal};
    size_t first = m->causal && m->queries > 1 ? 1 : 0;
    for (size_t i = first; i < m->queries; i++) {
        add_row(m, &how, w + i * m->keys, i, n.is);
        add_row(m, &how, NULL, i, n.even);
    }
    for (Measure k = 0; k < MEASURES; k++) {
        n.is[k] /= (double)(m->queries - first);
        n.even[k] /= (double)(m->queries - first);
    }
    say(&n, m->query != m->key);
    return n;
}

bool describe_maps(const Maps *m, HeadNote **notes, Error *e)
{
    *notes = memory_get(m->layers * m->heads, sizeof **notes);
    if (!*notes)
        return memory_error(e, "notes on heads", m->layers * m->heads, sizeof **notes);
    for (size_t i = 0; i < m->layers * m->heads; i++)
        (*notes)[i] = describe_head(m, i / m->heads, i % m->heads);
    return true;
}

/* ---- sorted */

static bool lies_before(const HeadNote *a, const HeadNote *b)
{
    return a->layer != b->layer ? a->layer < b->layer : a->head < b->head;
}

/* How clear it is what a head does: its share, or how little it looks evenly. */
static double clearness(const HeadNote *n)
{
    return n->kind <= MEASURE_SEPARATORS ? n->is[n->kind] : -n->is[MEASURE_ENTROPY];
}

static bool goes_before(const HeadNote *a, const HeadNote *b, Measure by)
{
    double x = by < MEASURES ? a->is[by] : clearness(a), y = by < MEASURES ? b->is[by] : clearness(b);
    if (by == MEASURES && a->kind != b->kind)
        return a->kind < b->kind;
    return x > y || (!(x < y) && lies_before(a, b));
}

void describe_sort(HeadNote *notes, size_t count, Measure by)
{
    for (size_t i = 1; i < count; i++) { /* insertion: there are some hundred heads at most */
        HeadNote now = notes[i];
        size_t j = i;
        for (; j > 0 && goes_before(&now, &notes[j - 1], by); j--)
            notes[j] = notes[j - 1];
        notes[j] = now;
    }
}

/* ---- tables */

static void table_line(Buffer *b, const double x[MEASURES])
{
    for (Measure k = 0; k < MEASURE_DISTANCE; k++)
        buffer_print(b, "  %9.1f%%", 100 * x[k]);
    buffer_print(b, "  %8.1f  %7.2f", x[MEASURE_DISTANCE], x[MEASURE_ENTROPY]);
}

void describe_table(Buffer *b, const Maps *m, const HeadNote *notes, size_t count)
{
    buffer_print(b, "%-5s  %-4s", "layer", "head");
    for (Measure k = 0; k < MEASURE_DISTANCE; k++)
        buffer_print(b, "  %10s", measure_name(k));
    buffer_print(b, "  %8s  %7s  %s\n", "distance", "entropy", strcmp(m->name, "blocks") ? m->name : "");
    for (size_t i = 0; i < count; i++) {
        buffer_print(b, "%5zu  %4zu", notes[i].layer, notes[i].head);
        table_line(b, notes[i].is);
        buffer_print(b, "  %s\n", notes[i].words);
    }
    buffer_print(b, "%-11s", "uniform");
    if (count)
        table_line(b, notes[0].even);
    buffer_print(b, "  looks evenly at all it can see\n");
}

void describe_json(Buffer *b, const HeadNote *notes, size_t count)
{
    json_open(b, "heads", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(b, NULL, '{');
        json_add_member(b, "layer", (double)notes[i].layer);
        json_add_member(b, "head", (double)notes[i].head);
        for (Measure k = 0; k < MEASURES; k++)
            json_add_member(b, measure_name(k), notes[i].is[k]);
        json_add_text(b, "says", notes[i].words);
        buffer_print(b, "}");
    }
    buffer_print(b, "]");
    json_open(b, "even", '{');
    for (Measure k = 0; count && k < MEASURES; k++)
        json_add_member(b, measure_name(k), notes[0].even[k]);
    buffer_print(b, "}");
}

void describe_data(Buffer *b, const Maps *m, const HeadNote *notes)
{
    static const char *const units[MEASURES] = {
        "", "", "", "", "", [MEASURE_DISTANCE] = " in tokens", [MEASURE_ENTROPY] = " in bits"};
    for (Measure k = 0; k < MEASURES; k++) {
        buffer_print(b, "%s%s%s, uniform %.2f\n", k ? "\n\n" : "", measure_name(k), units[k], notes[0].even[k]);
        for (size_t i = 0; i < m->layers * m->heads; i++)
            buffer_print(b, "%zu\t%zu\t%.9g\t%zu\t%zu\n", notes[i].layer, notes[i].head, notes[i].is[k], notes[i].layer,
                         notes[i].head);
    }
}
