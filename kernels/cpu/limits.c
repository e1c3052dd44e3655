/* See limits.h. */
#include "kernels/cpu/limits.h"

#include "base/clock.h"
#include "base/memory.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/vector.h"

enum {
    CHAINS = 12,        /* independent sums: more than a core's units times their latency, fewer than registers */
    ROUNDS = 4000000,   /* of all chains */
    BUFFER = 256 << 20, /* bytes of all cores together */
    TAKES = 7
};

typedef struct Take {
    size_t cores;
    char *from, *to;
    volatile float *sink; /* [cores] what was computed has to go somewhere */
} Take;

static float sum_of(const Vec *sum)
{
    Vec all = sum[0];
    for (size_t i = 1; i < CHAINS; i++)
        all += sum[i];
    return vec_sum(all);
}

static void multiply_add(void *argument, size_t core)
{
    const Take *t = argument;
    Vec sum[CHAINS], factor = vec_set(0.999f + 0.0001f * t->sink[core]), term = vec_set(0.5f);
    for (size_t i = 0; i < CHAINS; i++)
        sum[i] = vec_set((float)i);
    for (size_t r = 0; r < ROUNDS; r++)
        for (size_t i = 0; i < CHAINS; i++)
            sum[i] = sum[i] * factor + term;
    t->sink[core] = sum_of(sum) * 0;
}

#if DOTS
static void multiply_pairs(void *argument, size_t core)
{
    const Take *t = argument;
    Vec sum[CHAINS];
    IVec factor = (IVec){0} + 0x3a003a00 + (int32_t)t->sink[core]; /* two small numbers a lane */
    for (size_t i = 0; i < CHAINS; i++)
        sum[i] = vec_set((float)i);
    for (size_t r = 0; r < ROUNDS; r++)
        for (size_t i = 0; i < CHAINS; i++)
            sum[i] = vec_pairs(sum[i], factor, factor);
    t->sink[core] = sum_of(sum) * 0;
}
#endif

enum { PIECE = CHAINS * sizeof(Vec) }; /* bytes that are read at once */

static float read_pieces(const char *memory, size_t first, size_t end)
{
    const float *from = (const float *)(const void *)(memory + first * PIECE);
    Vec sum[CHAINS] = {{0}};
    for (size_t at = 0; at < (end - first) * CHAINS; at += CHAINS)
        for (size_t i = 0; i < CHAINS; i++)
            sum[i] += vec_load(from + (at + i) * WIDTH);
    return sum_of(sum) * 0;
}

static void read_stream(void *argument, size_t core)
{
    const Take *t = argument;
    const size_t part = BUFFER / t->cores / PIECE;
    t->sink[core] = read_pieces(t->from, core * part, (core + 1) * part);
}

static void copy_stream(void *argument, size_t core)
{
    const Take *t = argument;
    const size_t part = BUFFER / t->cores;
    memcpy(t->to + core * part, t->from + core * part, part);
}

static void update_stream(void *argument, size_t core)
{
    const Take *t = argument;
    const size_t part = BUFFER / t->cores / sizeof(float) / WIDTH * WIDTH;
    float *numbers = (float *)(void *)t->to + core * part;
    Vec factor = vec_set(1 + t->sink[core]);
    for (size_t at = 0; at < part; at += WIDTH)
        vec_store(numbers + at, vec_load(numbers + at) * factor);
}

/* Work per second of the fastest take; the first one warms up. */
static double fastest(Pool *pool, void (*work)(void *, size_t), Take *t, double amount)
{
    double best = 0;
    for (int i = 0; i <= TAKES; i++) {
        double start = clock_seconds();
        pool_run(pool, work, t);
        double seconds = clock_seconds() - start;
        if (i && (best <= 0 || seconds < best))
            best = seconds;
    }
    return best > 0 ? amount / best : 0;
}

bool limits_measure(Limits *l, size_t cores, Error *e)
{
    Pool *pool = NULL;
    Take t = {cores, memory_get(BUFFER, 1), memory_get(BUFFER, 1), memory_get(cores, sizeof *t.sink)};
    bool fine = (t.from && t.to && t.sink) || memory_error(e, "buffers to measure memory with", BUFFER, 2);
    fine = fine && pool_open(&pool, cores, true, e);
    if (fine) {
        double rounds = (double)cores * ROUNDS * CHAINS * WIDTH;
        memset(t.from, 0, BUFFER); /* each page gets a place of its own */
        memset(t.to, 0, BUFFER);
        *l = (Limits){.f32 = fastest(pool, multiply_add, &t, 2 * rounds),
                      .read = fastest(pool, read_stream, &t, BUFFER),
                      .copy = fastest(pool, copy_stream, &t, 2.0 * BUFFER),
                      .update = fastest(pool, update_stream, &t, 2.0 * BUFFER)};
#if DOTS
        l->bf16 = fastest(pool, multiply_pairs, &t, 4 * rounds);
#endif
    }
    pool_close(pool);
    memory_free(t.from);
    memory_free(t.to);
    memory_free((void *)t.sink);
    return fine;
}

static void read_shared(void *argument, size_t member, size_t first, size_t end)
{
    const char *const *memory = argument;
    volatile float sink = read_pieces(*memory, first, end);
    (void)sink, (void)member;
}

double limits_read(Stream *s, const void *memory, size_t bytes, size_t passes)
{
    double start = clock_seconds();
    for (size_t i = 0; i < passes; i++)
        stream_share(s, (Shared){bytes / PIECE, 1, bytes, read_shared, &memory});
    double seconds = clock_seconds() - start;
    return seconds > 0 ? (double)(bytes / PIECE * PIECE) * (double)passes / seconds : 0;
}
