/* See cutting.h. Each thread cuts a run of lines, one run after the other. */
#include "encdec/cutting.h"

#include "base/memory.h"

enum { LINES_A_THREAD = 1024 };

typedef struct Share {
    Cutter cutter;
    Ids ids[SIDES_USED];
    size_t start[SIDES_USED][LINES_A_THREAD + 1];
    bool failed;
    Error e;
} Share;

struct Cutting {
    Pool *pool;
    size_t workers;
    size_t cut[SIDES_USED]; /* lines of a side that are cut */
    Share *share;           /* [workers] */
    /* while threads are at work */
    size_t side, first;
    const Lines *lines;
};

static size_t share_begins(size_t count, size_t worker, size_t workers) { return count * worker / workers; }

static bool cut_share(const Cutting *c, Share *s, size_t from, size_t to)
{
    Ids *ids = &s->ids[c->side];
    size_t *start = s->start[c->side];
    ids->count = start[0] = 0;
    for (size_t i = from; i < to; i++) {
        if (!cutter_ids(&s->cutter, c->side, lines_at(c->lines, c->first + i), ids, &s->e))
            return false;
        start[i - from + 1] = ids->count;
    }
    return true;
}

static void work(void *argument, size_t worker)
{
    Cutting *c = argument;
    size_t count = c->cut[c->side];
    Share *s = &c->share[worker];
    s->failed = !cut_share(c, s, share_begins(count, worker, c->workers), share_begins(count, worker + 1, c->workers));
}

bool cutting_open(Cutting **cut, const Subwords *p, Pool *pool, Error *e)
{
    Cutting *c = memory_get(1, sizeof *c);
    if (!c)
        return memory_error(e, "lines to cut", 1, sizeof *c);
    c->pool = pool;
    c->workers = pool ? pool_size(pool) : 1;
    c->share = memory_get(c->workers, sizeof *c->share);
    bool done = c->share || memory_error(e, "lines to cut", c->workers, sizeof *c->share);
    for (size_t i = 0; done && i < c->workers; i++)
        done = cutter_open(&c->share[i].cutter, p, e);
    if (!done) {
        cutting_close(c);
        c = NULL;
    }
    *cut = c;
    return done;
}

void cutting_close(Cutting *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->share && i < c->workers; i++) {
        cutter_close(&c->share[i].cutter);
        for (size_t side = 0; side < SIDES_USED; side++)
            ids_close(&c->share[i].ids[side]);
    }
    memory_free(c->share);
    memory_free(c);
}

size_t cutting_most(const Cutting *c) { return c->workers * LINES_A_THREAD; }

bool cutting_run(Cutting *c, size_t side, const Lines *lines, size_t first, size_t count, Error *e)
{
    c->cut[side] = count;
    c->side = side;
    c->first = first;
    c->lines = lines;
    if (c->pool)
        pool_run(c->pool, work, c);
    else
        work(c, 0);
    for (size_t i = 0; i < c->workers; i++)
        if (c->share[i].failed) {
            *e = c->share[i].e;
            return false;
        }
    return true;
}

const int32_t *cutting_ids(const Cutting *c, size_t side, size_t i, size_t *count)
{
    size_t lines = c->cut[side], worker = i * c->workers / lines;
    while (share_begins(lines, worker + 1, c->workers) <= i)
        worker++;
    const Share *s = &c->share[worker];
    const size_t *start = s->start[side] + (i - share_begins(lines, worker, c->workers));
    *count = start[1] - start[0];
    return s->ids[side].id ? s->ids[side].id + start[0] : NULL;
}
