/* See queue.h. */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    struct CUstream_st standard; /* the default stream */
    Queue list;                  /* all others */
    uint64_t opened;
} queues = {.lock = PTHREAD_MUTEX_INITIALIZER};

void queue_lock(void) { pthread_mutex_lock(&queues.lock); }
void queue_unlock(void) { pthread_mutex_unlock(&queues.lock); }

/* ---- notes; their memory is the device's, not counted as the program's */

Noted *notes_add(Notes *n)
{
    if (n->first == n->count)
        n->first = n->count = 0;
    if (n->count == n->capacity) {
        size_t capacity = n->capacity ? 2 * n->capacity : 64;
        Noted *list = realloc(n->list, capacity * sizeof *list);
        if (!list)
            return NULL;
        n->list = list;
        n->capacity = capacity;
    }
    n->list[n->count] = (Noted){.bytes = 0};
    return &n->list[n->count++];
}

static void forget(Noted *one)
{
    free((void *)one->launch.arguments);
    free(one->sent);
    free(one->pieces);
    graph_release(one->graph);
}

void notes_free(Notes *n)
{
    for (size_t i = n->first; i < n->count; i++)
        forget(&n->list[i]);
    free(n->list);
    *n = (Notes){.list = NULL};
}

void graph_release(struct EmulatorGraph *g)
{
    if (!g || --g->owners)
        return;
    notes_free(&g->notes);
    free(g);
}

/* ---- streams */

/* ATTEND_ORDER is forward, backward, random or greedy, the latter two with a seed if wanted: random:7. */
static void read_order(Queue s)
{
    static const char *const names[ORDERS] = {"forward", "backward", "random", "greedy"};
    const char *text = getenv("ATTEND_ORDER");
    s->order = FORWARD;
    s->seed = 1;
    for (Order o = FORWARD; text && o < ORDERS; o++) {
        size_t length = strlen(names[o]);
        if (strncmp(text, names[o], length) != 0)
            continue;
        s->order = o;
        if (text[length] == ':')
            s->seed += strtoull(text + length + 1, NULL, 10);
    }
    s->seed *= 0x9E3779B97F4A7C15u;
    s->turns = s->seed;
}

void queue_open(Queue s, bool beside)
{
    *s = (struct CUstream_st){.number = ++queues.opened, .beside = beside, .next = queues.list};
    read_order(s);
    queues.list = s;
}

void queue_close(Queue s)
{
    queue_finish(s);
    for (Queue *at = &queues.list; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    notes_free(&s->notes);
}

Queue queue_default(void)
{
    read_order(&queues.standard);
    return &queues.standard;
}

bool queue_captures_beside_default(void)
{
    for (Queue s = queues.list; s; s = s->next)
        if (s->capturing && !s->beside)
            return true;
    return false;
}

static Queue find(uint64_t number)
{
    if (number == 0)
        return &queues.standard;
    Queue s = queues.list;
    while (s && s->number != number)
        s = s->next;
    return s;
}

Mark queue_mark(Queue s) { return (Mark){s->number, s->asked}; }

static bool reached(Mark mark)
{
    Queue s = find(mark.stream);
    return !s || s->done >= mark.count;
}

static void wait_for(Queue s, Queue other)
{
    Noted *one = other->done < other->asked ? notes_add(&s->notes) : NULL;
    if (!one)
        return;
    one->what = TO_WAIT;
    one->until = queue_mark(other);
    s->asked++;
}

Noted *queue_ask(Queue s)
{
    for (Queue o = queues.list; s->number == 0 && o; o = o->next)
        if (!o->beside)
            wait_for(s, o);
    if (s->number != 0 && !s->beside)
        wait_for(s, &queues.standard);
    Noted *one = notes_add(&s->notes);
    s->asked += one != NULL;
    return one;
}

/* ---- doing it */

/* What the device says of an operation stays with its stream, which does no more launches until it is told. */
static void take_error(Queue s)
{
    Error e;
    emulator_lock();
    bool failed = emulator_failed(&e);
    emulator_unlock();
    if (failed && !s->failed) {
        s->failed = true;
        s->error = e;
    }
}

static void launch(Queue s, const Launch *l)
{
    if (s->failed)
        return;
    emulator_launch(s->order, &s->seed, l);
    take_error(s);
}

/* A mistake of the host, which the next wait reports. */
static void overwritten(const Noted *one)
{
    Queue s = &queues.standard;
    if (s->failed)
        return;
    s->failed = true;
    fail(&s->error, "the host has overwritten %zu bytes at %p while they were being copied to the device", one->bytes,
         one->from);
}

/* The host may have changed what it sent from pages that a GPU reads for itself; of others CUDA keeps what was there.
 */
static void move(const Noted *one)
{
    bool kept = one->sent && !memory_pinned(one->from);
    if (one->sent && !kept && memcmp(one->sent, one->from, one->bytes) != 0)
        overwritten(one);
    memmove(one->to, kept ? one->sent : one->from, one->bytes);
}

static void do_one(Queue s, const Noted *one)
{
    switch (one->what) {
    case TO_LAUNCH: launch(s, &one->launch); break;
    case TO_MOVE: move(one); break;
    case TO_SET: memset(one->to, one->value, one->bytes); break;
    case TO_REPLAY:
        for (size_t i = 0; i < one->graph->notes.count; i++)
            do_one(s, &one->graph->notes.list[i]);
        break;
    case TO_EXCHANGE: ranks_exchange(one->pieces, one->outs, one->pieces + one->outs, one->ins); break;
    case TO_WAIT: break;
    }
}

static bool waits(Queue s)
{
    const Noted *one = &s->notes.list[s->notes.first];
    return one->what == TO_WAIT && !reached(one->until);
}

/* What a stream has to do first. */
static void do_first(Queue s)
{
    Noted one = s->notes.list[s->notes.first];
    do_one(s, &one);
    forget(&one);
    s->notes.first++;
    s->done++;
}

static void let_go_on(Queue s, uint64_t most)
{
    while (most-- > 0 && s->done < s->asked && !waits(s))
        do_first(s);
}

/* Before a stream does something, others continue while they need not wait: the newest first, the default one last. */
static void let_others(Queue s)
{
    for (Queue o = queues.list; s->order != FORWARD && o; o = o->next)
        if (o != s)
            let_go_on(o, s->order == BACKWARD ? UINT64_MAX : emulator_draw(&s->turns, 3));
    if (s->order != FORWARD && s->number != 0)
        let_go_on(&queues.standard, s->order == BACKWARD ? UINT64_MAX : emulator_draw(&s->turns, 3));
}

static void reach_in(Queue s, uint64_t count)
{
    static unsigned depth; /* one waits for another */
    if (s->done >= count)
        return;
    if (depth++ == 0)
        memory_shut(false);
    while (s->done < count) {
        let_others(s);
        if (waits(s))
            queue_reach(s->notes.list[s->notes.first].until);
        else
            do_first(s);
    }
    if (--depth == 0)
        memory_shut(true);
}

void queue_reach(Mark mark)
{
    Queue s = find(mark.stream);
    if (s)
        reach_in(s, mark.count);
}

void queue_finish(Queue s) { reach_in(s, s->asked); }

void queue_finish_all(void)
{
    queue_finish(&queues.standard);
    for (Queue s = queues.list; s; s = s->next)
        queue_finish(s);
}

static bool overlap(const void *a, size_t bytes, const void *b, size_t other)
{
    return (uintptr_t)a < (uintptr_t)b + other && (uintptr_t)b < (uintptr_t)a + bytes;
}

static bool uses(Queue s, const void *host, size_t bytes)
{
    for (size_t i = s->notes.first; i < s->notes.count; i++) {
        const Noted *one = &s->notes.list[i];
        if (one->what == TO_MOVE &&
            (overlap(one->from, one->bytes, host, bytes) || overlap(one->to, one->bytes, host, bytes)))
            return true;
    }
    return false;
}

bool queue_uses(const void *host, size_t bytes)
{
    for (Queue s = queues.list; s; s = s->next)
        if (uses(s, host, bytes))
            return true;
    return uses(&queues.standard, host, bytes);
}
