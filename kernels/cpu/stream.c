/* See stream.h. */
#include "kernels/cpu/stream.h"

#include "base/memory.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/tile.h"

enum {
    LINE = 64,
    NEAR = 1 << 14 /* bytes: biases and norms are between weights */
};

struct Kept {
    const void *of;
    void *bytes;
    size_t size;
};

const char *cpu_bf16_note(void)
{
    return DOTS ? NULL
                : "bf16 is computed as f32 here, because this processor multiplies it no faster: it takes as long as "
                  "f32, "
                  "and needs less memory";
}

bool stream_open(Stream **s, size_t team, Error *e)
{
    Stream *new = memory_get(1, sizeof *new);
    if (!new)
        return memory_error(e, "a stream of operations", 1, sizeof *new);
    new->members = team ? team : 1;
    new->by_four = cpu_adds_four(WIDTH) && ADDS_FOUR;
    new->matmul = memory_get(new->members, sizeof *new->matmul);
    bool fine = new->matmul || memory_error(e, "a stream of operations", new->members, sizeof *new->matmul);
    fine = fine && (new->members == 1 || pool_open(&new->team, new->members, true, e));
    for (size_t i = 0; fine && i < new->members; i++)
        fine = matmul_open(&new->matmul[i], e);
    if (fine)
        *s = new;
    else
        stream_close(new);
    return fine;
}

void stream_close(Stream *s)
{
    for (size_t i = 0; s->matmul && i < s->members; i++)
        matmul_close(&s->matmul[i]);
    memory_free(s->matmul);
    pool_close(s->team);
    memory_free(s->scratch);
    memory_free(s->floats);
    for (size_t i = 0; i < s->kept_count; i++)
        memory_free(s->kept[i].bytes);
    memory_free(s->kept);
    memory_free(s);
}

bool stream_finish(Stream *s, Error *e)
{
    bool failed = s->failed;
    for (size_t i = 0; i < s->members; i++)
        failed = failed || s->matmul[i].failed;
    return !failed || fail(e, "out of memory for scratch space of the cpu's operations");
}

void stream_hold(Stream *s, const void *weights, size_t bytes)
{
    for (size_t i = 0; i < s->members; i++)
        matmul_hold(&s->matmul[i], weights, bytes);
}

void *stream_scratch(Stream *s, size_t bytes)
{
    bytes = (bytes + LINE - 1) / LINE * LINE;
    if (bytes > s->scratch_size) {
        memory_free(s->scratch);
        s->scratch = memory_get(s->members, bytes);
        s->scratch_size = s->scratch ? bytes : 0;
    }
    if (!s->scratch)
        s->failed = true;
    return s->scratch;
}

float *stream_floats(Stream *s, size_t count)
{
    if (count > s->float_count) {
        memory_free(s->floats);
        s->floats = memory_get(count, sizeof *s->floats);
        s->float_count = s->floats ? count : 0;
    }
    s->failed = s->failed || (count && !s->floats);
    return s->floats;
}

static struct Kept *kept_of(Stream *s, const void *weights, bool held, size_t size)
{
    for (size_t i = 1; held && i < s->kept_count; i++)
        if (s->kept[i].of == weights && s->kept[i].size == size)
            return &s->kept[i];
    const size_t more = held ? 1 : 0, count = s->kept_count ? s->kept_count + more : 1 + more;
    if (!memory_grow(&s->kept, &s->kept_capacity, count, sizeof *s->kept, "", NULL))
        return NULL;
    for (; s->kept_count < count; s->kept_count++)
        s->kept[s->kept_count] = (struct Kept){.of = s->kept_count ? weights : NULL};
    return &s->kept[held ? count - 1 : 0];
}

void *stream_keep(Stream *s, const void *weights, size_t bytes, size_t size, bool *fresh)
{
    const char *from = weights;
    const Matmul *m = &s->matmul[0];
    const bool held = from >= m->held && from + bytes <= m->held_end;
    struct Kept *kept = kept_of(s, weights, held, size);
    *fresh = !held || !kept || !kept->bytes;
    if (kept && kept->size < size) {
        memory_free(kept->bytes);
        kept->bytes = memory_get(size, 1);
        kept->size = kept->bytes ? size : 0;
    }
    s->failed = s->failed || !kept || !kept->bytes;
    return kept ? kept->bytes : NULL;
}

typedef struct Parts {
    Shared all;
    size_t members;
    bool backwards;
} Parts;

static void run_part(void *argument, size_t member)
{
    const Parts *p = argument;
    const Shared *s = &p->all;
    size_t grains = (s->n + s->grain - 1) / s->grain, place = p->backwards ? p->members - 1 - member : member;
    size_t first = grains * place / p->members * s->grain, end = grains * (place + 1) / p->members * s->grain;
    end = end < s->n ? end : s->n;
    if (first < end)
        s->work(s->argument, member, first, end);
}

/* A thread that sleeps takes this much longer to begin than one that waits. */
enum { WAKING = 128 };

/* Before other threads begin, this one could be through with what is small. */
static bool pays(Stream *s, const Shared *all)
{
    return s->members > 1 && all->n > all->grain && all->size >= tuning_now.alone &&
           (all->size / WAKING >= tuning_now.alone || pool_awake(s->team));
}

static void share(Stream *s, const Shared *all, bool backwards)
{
    if (!all->n)
        return;
    if (!pays(s, all))
        all->work(all->argument, 0, 0, all->n);
    else
        pool_run(s->team, run_part, &(Parts){*all, s->members, backwards});
}

void stream_share(Stream *s, Shared all) { share(s, &all, false); }

void stream_share_on(Stream *s, const void *begin, size_t bytes, Shared all)
{
    uintptr_t from = (uintptr_t)begin;
    s->backwards = from - s->read < NEAR && !s->backwards; /* what is before is, unsigned, far */
    s->read = from + bytes;
    share(s, &all, s->backwards);
}
