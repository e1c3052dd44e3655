/* See parts.h. */
#include "core/train/parts.h"

#include "base/memory.h"
#include "base/ranks.h"
#include "core/run/json.h"

#include <stdlib.h>
#include <string.h>

void parts_begin(Trainer *c)
{
    c->exchange.waited = ranks_waited();
    for (size_t i = 0; i < c->options.workers; i++) {
        profile_reset(c->worker[i].stream);
        c->worker[i].waited = 0;
    }
}

static void add(Parts *p, const Timing *t)
{
    size_t i = 0;
    while (i < p->count &&
           (p->timing[i].operation != t->operation || p->timing[i].in != t->in || p->timing[i].out != t->out))
        i++;
    Timing *sum = &p->timing[i];
    if (i == p->count) {
        p->count++;
        *sum = (Timing){.operation = t->operation, .in = t->in, .out = t->out};
    }
    sum->calls += t->calls;
    sum->seconds += t->seconds;
    sum->flop += t->flop;
    sum->bytes += t->bytes;
}

static int longest_first(const void *a, const void *b)
{
    const Timing *x = a, *y = b;
    return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

bool parts_of(Parts *p, const Trainer *c, double seconds, size_t steps, Error *e)
{
    size_t most = 1, count;
    *p = (Parts){.ranks = ranks_count(),
                 .workers = c->options.workers,
                 .steps = steps,
                 .whole = seconds * (double)c->options.workers};
    for (size_t i = 0; i < c->options.workers; i++) {
        profile_timings(c->worker[i].stream, &count);
        most += count;
    }
    p->timing = memory_get(most, sizeof *p->timing);
    if (!p->timing)
        return memory_error(e, "the parts of a step", most, sizeof *p->timing);
    for (size_t i = 0; i < c->options.workers; i++) {
        const Worker *w = &c->worker[i];
        const Timing *timing = profile_timings(w->stream, &count);
        for (size_t j = 0; j < count; j++) {
            add(p, &timing[j]);
            p->operations += timing[j].seconds;
        }
        p->waiting += w->waited;
        p->profiling += profile_overhead(w->stream);
    }
    p->exchange = ranks_waited() - c->exchange.waited;
    p->rest = p->whole - p->operations - p->waiting - p->profiling - p->exchange;
    qsort(p->timing, p->count, sizeof *p->timing, longest_first);
    return true;
}

void parts_close(Parts *p)
{
    memory_free(p->timing);
    *p = (Parts){0};
}

/* --- as a table --- */

/* Of all workers and steps to one worker's milliseconds in a step. */
static double milliseconds(const Parts *p, double seconds)
{
    return 1e3 * seconds / (double)p->workers / (double)p->steps;
}

static double share(const Parts *p, double seconds) { return p->whole > 0 ? 100 * seconds / p->whole : 0; }

static void print_timing(const Parts *p, const Timing *t, FILE *file)
{
    char name[80], flop[32] = "", bytes[32] = "";
    if (t->in)
        snprintf(name, sizeof name, "%s %zu -> %zu", t->operation, t->in, t->out);
    else
        snprintf(name, sizeof name, "%s", t->operation);
    if (t->flop > 0 && t->seconds > 0)
        snprintf(flop, sizeof flop, "%.1f", t->flop / t->seconds * 1e-9);
    if (t->bytes > 0 && t->seconds > 0)
        snprintf(bytes, sizeof bytes, "%.1f", t->bytes / t->seconds * 1e-9);
    fprintf(file, "  %-32s %8.0f %10.3f %6.2f %% %9s %7s\n", name, (double)t->calls / (double)p->steps,
            milliseconds(p, t->seconds), share(p, t->seconds), flop, bytes);
}

static void print_sum(const Parts *p, const char *name, double seconds, FILE *file)
{
    fprintf(file, "  %-32s %8s %10.3f %6.2f %%\n", name, "", milliseconds(p, seconds), share(p, seconds));
}

void parts_print(const Parts *p, FILE *file)
{
    fprintf(file, "\nWhere a step's time goes: the mean of %zu steps; ms and rates are those of one of %zu worker%s\n",
            p->steps, p->workers, p->workers == 1 ? "" : "s");
    fprintf(file, "  %-32s %8s %10s %8s %9s %7s\n", "operation", "calls", "ms", "share", "GFLOP/s", "GB/s");
    for (size_t i = 0; i < p->count; i++)
        print_timing(p, &p->timing[i], file);
    print_sum(p, "waiting for other workers", p->waiting, file);
    if (p->ranks > 1)
        print_sum(p, "waiting for other processes", p->exchange, file);
    print_sum(p, "profiling itself", p->profiling, file);
    print_sum(p, "the rest (batches, tape, layers)", p->rest, file);
    print_sum(p, "the whole", p->whole, file);
}

/* --- as JSON --- */

void parts_json(const Parts *p, Buffer *b)
{
    json_open(b, "profile", '{');
    json_open(b, "operations", '[');
    for (size_t i = 0; i < p->count; i++) {
        const Timing *t = &p->timing[i];
        json_open(b, NULL, '{');
        json_add_text(b, "operation", t->operation);
        if (t->in) {
            json_add_member(b, "in", (double)t->in);
            json_add_member(b, "out", (double)t->out);
        }
        json_add_member(b, "calls", (double)t->calls / (double)p->steps);
        json_add_member(b, "ms", milliseconds(p, t->seconds));
        json_add_member(b, "flop", t->flop / (double)p->steps);
        json_add_member(b, "bytes", t->bytes / (double)p->steps);
        buffer_print(b, "}");
    }
    buffer_print(b, "]");
    json_add_member(b, "waiting_ms", milliseconds(p, p->waiting));
    if (p->ranks > 1)
        json_add_member(b, "exchange_ms", milliseconds(p, p->exchange));
    json_add_member(b, "profiling_ms", milliseconds(p, p->profiling));
    json_add_member(b, "rest_ms", milliseconds(p, p->rest));
    json_add_member(b, "whole_ms", milliseconds(p, p->whole));
    buffer_print(b, "}");
}
