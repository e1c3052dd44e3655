/* See profile.h. */
#include "kernels/profile/profile.h"

#include "base/clock.h"
#include "base/memory.h"
#include "kernels/cost/cost.h"

#include <assert.h>

enum { TIMINGS = 96 }; /* kinds of calls; sizes of linear maps that find no place are added to the last one's */

struct Stream {
    const Kernels *k, *costs; /* the inner table, and what counts */
    Stream *inner, *cost;
    Timing timing[TIMINGS];
    size_t count;
    double overhead;
};

static const Kernels *inner_of[NUMBER_TYPES];

/* The entry of an operation; names are the cost model's, each one string. */
static Timing *timing_of(Stream *s, const char *operation, size_t in, size_t out)
{
    for (size_t i = 0; i < s->count; i++) {
        Timing *t = &s->timing[i];
        if (t->operation == operation && t->in == in && t->out == out)
            return t;
    }
    if (s->count == TIMINGS)
        return &s->timing[TIMINGS - 1];
    s->timing[s->count] = (Timing){.operation = operation, .in = in, .out = out};
    return &s->timing[s->count++];
}

/* The operation ran from `begin` to `end`; what comes after that was profiling. */
static void note(Stream *s, double begin, double end)
{
    const Cost *cost = cost_last(s->cost);
    Timing *t = timing_of(s, cost->operation, cost->in, cost->out);
    t->calls++;
    t->seconds += end - begin;
    t->flop += cost->flop;
    t->bytes += cost->bytes;
    s->overhead += clock_seconds() - end;
}

/* --- the device --- */

static void close_stream(Stream *s)
{
    if (s->inner)
        s->k->close(s->inner);
    if (s->cost)
        s->costs->close(s->cost);
    memory_free(s);
}

static bool open_stream(Stream **out, NumberType type, size_t team, Error *e)
{
    Stream *s = memory_get(1, sizeof *s);
    if (!s)
        return memory_error(e, "a stream of operations that are timed", 1, sizeof *s);
    *s = (Stream){.k = inner_of[type], .costs = cost_kernels(type)};
    if (s->k->open(&s->inner, team, e) && s->costs->open(&s->cost, 1, e)) {
        *out = s;
        return true;
    }
    close_stream(s);
    return false;
}

static bool open_f32(Stream **s, size_t team, Error *e) { return open_stream(s, NUMBER_F32, team, e); }
static bool open_bf16(Stream **s, size_t team, Error *e) { return open_stream(s, NUMBER_BF16, team, e); }
static bool open_f64(Stream **s, size_t team, Error *e) { return open_stream(s, NUMBER_F64, team, e); }

static void upload(Stream *s, void *to, const void *from, size_t bytes) { s->k->upload(s->inner, to, from, bytes); }
static void download(Stream *s, void *to, const void *from, size_t bytes) { s->k->download(s->inner, to, from, bytes); }
static bool finish(Stream *s, Error *e) { return s->k->finish(s->inner, e); }
/* Each operation: run and timed on the inner table, then counted. */
#define INNER(s, ...)   (s->inner, __VA_ARGS__)
#define COUNTED(s, ...) (s->cost, __VA_ARGS__)
#define OPERATION(name, arguments, names)                                                                              \
    static void timed_##name arguments                                                                                 \
    {                                                                                                                  \
        double begin = clock_seconds();                                                                                \
        s->k->name INNER names;                                                                                        \
        double end = clock_seconds();                                                                                  \
        s->costs->name COUNTED names;                                                                                  \
        note(s, begin, end);                                                                                           \
    }
#include "kernels/operations.h"

const Kernels *profile_over(const Kernels *inner)
{
    static Kernels tables[NUMBER_TYPES];
    static bool (*const opens[NUMBER_TYPES])(Stream **, size_t, Error *) = {
        [NUMBER_F32] = open_f32, [NUMBER_BF16] = open_bf16, [NUMBER_F64] = open_f64};
    const NumberType type = inner->type < NUMBER_TYPES ? inner->type : NUMBER_F32;
    Kernels *k = &tables[type];
    assert(inner->on_host && inner->close != close_stream);
    inner_of[type] = inner;
    *k = *inner;
    k->hold = NULL, k->read_speed = NULL;
    k->capture = NULL, k->captured = NULL, k->replay = NULL, k->forget = NULL;
    k->send = NULL, k->fetch = NULL;
    k->open = opens[type];
    k->close = close_stream;
    k->upload = upload;
    k->download = download;
    k->finish = finish;
#define OPERATION(name, arguments, names) k->name = inner->name ? timed_##name : NULL;
#include "kernels/operations.h"
    return k;
}

const Timing *profile_timings(const Stream *s, size_t *count)
{
    *count = s->count;
    return s->timing;
}

double profile_overhead(const Stream *s) { return s->overhead; }

void profile_reset(Stream *s)
{
    s->count = 0;
    s->overhead = 0;
}
