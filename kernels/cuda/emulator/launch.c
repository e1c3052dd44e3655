/* Runs a launch: blocks one after another, the threads of a block as fibers that take turns (see emulator.h).
 *
 * A thread runs until it waits: at a barrier for its block, at a warp operation for the lanes in its mask. The last one
 * to arrive lets the others continue. What would hang or be undefined on a GPU is an error here: threads of a block at
 * different barriers, or some gone while others wait; lanes that meet in different operations. */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/emulator/fiber.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { SHARED_MOST = 48 << 10, GRID_MOST = 65535, PAGE = 4096 };

typedef enum State { READY, AT_BARRIER, AT_WARP, OVER } State;

typedef struct Thread {
    Fiber fiber;
    State state;
    uint32_t number;   /* in its block */
    const char *place; /* where it waits */
    Together what;
    uint32_t mask, from;
    Collective *collective;
    uint64_t value; /* brought to where it waits; taken away from there */
} Thread;

/* The device. */
static struct {
    pthread_mutex_t lock;
    Thread thread[MOST_THREADS];
    Thread *running; /* NULL: the scheduler */
    const Launch *launch;
    uint32_t threads, over, waiting; /* of this block */
    Vote vote;
    char *shared; /* SHARED_MOST bytes before a page that may not be touched */
    bool failed;
    Error error;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

Standing emulator_standing;

void emulator_lock(void) { pthread_mutex_lock(&device.lock); }
void emulator_unlock(void) { pthread_mutex_unlock(&device.lock); }

/* ---- failing */

void emulator_fail(const char *format, ...)
{
    if (!device.failed) {
        va_list list;
        char text[400];
        va_start(list, format);
        vsnprintf(text, sizeof text, format, list);
        va_end(list);
        Triple b = emulator_standing.block, t = emulator_standing.thread;
        if (device.running)
            fail(&device.error, "%s, block (%u,%u,%u), thread (%u,%u,%u): %s", device.launch->kernel, b.x, b.y, b.z,
                 t.x, t.y, t.z, text);
        else
            fail(&device.error, "%s", text);
        device.failed = true;
    }
    while (device.running) /* it is never resumed */
        fiber_pause(&device.running->fiber);
}

bool emulator_failed(Error *e)
{
    bool failed = device.failed;
    if (failed && e)
        *e = device.error;
    device.failed = false;
    return failed;
}

/* ---- waiting */

static void wait_in(State state)
{
    Thread *self = device.running;
    self->state = state;
    fiber_pause(&self->fiber);
}

static void let_go(State state, uint64_t value)
{
    for (uint32_t i = 0; i < device.threads; i++) {
        Thread *t = &device.thread[i];
        if (t->state == state) {
            t->state = READY;
            t->value = value;
        }
    }
}

static uint64_t count_votes(Vote vote)
{
    uint32_t yes = 0;
    for (uint32_t i = 0; i < device.threads; i++)
        yes += device.thread[i].value != 0;
    return vote == VOTE_COUNT ? yes : vote == VOTE_AND ? yes == device.threads : yes > 0;
}

int emulator_barrier(const char *place, Vote vote, int value)
{
    Thread *self = device.running;
    if (device.over)
        emulator_fail("waits at a barrier (%s), and %u threads of its block have returned", place, device.over);
    for (uint32_t i = 0; device.waiting && i < device.threads; i++) {
        const Thread *t = &device.thread[i];
        if (t->state == AT_BARRIER && strcmp(t->place, place) != 0)
            emulator_fail("waits at the barrier %s, and thread %u of its block at another, %s", place, i, t->place);
        if (t->state == AT_BARRIER)
            break; /* they all wait at the same one */
    }
    self->place = place;
    self->value = value != 0;
    if (++device.waiting < device.threads) {
        wait_in(AT_BARRIER);
        return (int)self->value;
    }
    device.waiting = 0;
    uint64_t result = count_votes(vote);
    let_go(AT_BARRIER, result);
    if (device.launch->checked)
        check_barrier();
    return (int)result;
}

uint32_t emulator_thread(void) { return device.running->number; }
uint32_t emulator_lane(void) { return device.running->number % WARP; }

/* The lanes of a mask that are still to come; fails where one never will. */
static bool all_here(const Thread *self)
{
    const Thread *warp = self - self->number % WARP;
    for (uint32_t lane = 0; lane < WARP; lane++) {
        const Thread *t = &warp[lane];
        if (!(self->mask >> lane & 1))
            continue;
        if (t->number >= device.threads || t->state == OVER)
            emulator_fail("%s: the mask %08x includes lane %u, which %s", self->place, self->mask, lane,
                          t->number < device.threads ? "has returned" : "does not exist");
        if (t->state != AT_WARP)
            return false;
        if (t->mask != self->mask || t->what != self->what ||
            (t->what == COLLECTIVE && t->collective != self->collective))
            emulator_fail("%s: lane %u is in another operation or mask, at %s", self->place, lane, t->place);
        if (self->what == SHUFFLE && !(self->mask >> (t->from % WARP) & 1))
            emulator_fail("%s: lane %u reads from lane %u, which the mask %08x does not include", self->place, lane,
                          t->from % WARP, self->mask);
    }
    return true;
}

uint64_t emulator_warp(const char *place, Together what, uint32_t mask, uint64_t value, uint32_t from)
{
    Thread *self = device.running, *warp = self - self->number % WARP;
    self->place = place;
    self->what = what;
    self->mask = mask;
    self->from = from;
    self->value = value;
    if (!(mask >> (self->number % WARP) & 1))
        emulator_fail("%s: the mask %08x does not include the calling lane", place, mask);
    self->state = AT_WARP;
    if (!all_here(self)) {
        fiber_pause(&self->fiber);
        return self->value;
    }
    uint64_t brought[WARP], ballot = 0;
    void *operands[WARP];
    for (uint32_t lane = 0; lane < WARP; lane++) {
        brought[lane] = warp[lane].value;
        operands[lane] = (void *)(uintptr_t)brought[lane];
        ballot |= (uint64_t)(mask >> lane & 1 && brought[lane]) << lane;
    }
    if (what == COLLECTIVE)
        self->collective(operands);
    for (uint32_t lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1) {
            warp[lane].value = what == SHUFFLE ? brought[warp[lane].from % WARP] : ballot;
            warp[lane].state = READY;
        }
    if (what == SYNC && device.launch->checked)
        check_warp(self->number / WARP); /* shuffles put no memory in order */
    return self->value;
}

void emulator_collective(const char *place, Collective *compute, void *operands)
{
    device.running->collective = compute;
    emulator_warp(place, COLLECTIVE, 0xffffffffu, (uintptr_t)operands, 0);
}

void emulator_touch(const char *place, const void *address, uint32_t bytes)
{
    if ((uintptr_t)address % bytes)
        emulator_fail("%s: reads %u bytes at %p, which is not aligned to that", place, bytes, address);
    check_read(address, bytes, __builtin_return_address(0));
}

/* ---- running a block */

static void thread_entry(void)
{
    Thread *self = device.running;
    device.launch->run(device.launch->arguments);
    self->state = OVER;
    device.over++;
    for (;;)
        fiber_pause(&self->fiber);
}

static Triple triple_at(uint64_t i, Triple size)
{
    return (Triple){(uint32_t)(i % size.x), (uint32_t)(i / size.x % size.y), (uint32_t)(i / size.x / size.y)};
}

static void go_on(Thread *t)
{
    device.running = t;
    emulator_standing.thread = triple_at(t->number, device.launch->block);
    if (device.launch->checked)
        check_thread(t->number, t->fiber.stack, t->fiber.bytes);
    fiber_resume(&t->fiber);
    device.running = NULL;
}

uint32_t emulator_draw(uint64_t *seed, uint32_t below) /* xorshift */
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)((*seed >> 32) * below >> 32);
}

static bool run_if_ready(uint32_t number)
{
    Thread *t = &device.thread[number];
    if (device.failed || t->state != READY)
        return false;
    go_on(t);
    return true;
}

/* Every thread that can continues once. */
static bool pass_in_order(Order order, uint64_t *seed)
{
    static uint32_t shuffled[MOST_THREADS];
    bool ran = false;
    for (uint32_t i = 0; i < device.threads; i++)
        shuffled[i] = order == BACKWARD ? device.threads - 1 - i : i;
    for (uint32_t i = device.threads; order == RANDOM && i > 1; i--) {
        uint32_t other = emulator_draw(seed, i), was = shuffled[i - 1];
        shuffled[i - 1] = shuffled[other];
        shuffled[other] = was;
    }
    for (uint32_t i = 0; i < device.threads; i++)
        ran |= run_if_ready(shuffled[i]);
    return ran;
}

/* Every warp continues as far as it can, beginning with any. */
static bool pass_greedily(uint64_t *seed)
{
    uint32_t warps = (device.threads + WARP - 1) / WARP, first = emulator_draw(seed, warps);
    bool ran = false;
    for (uint32_t w = 0; w < warps; w++) {
        uint32_t from = (first + w) % warps * WARP, turn = emulator_draw(seed, WARP);
        for (bool again = true; again;) {
            again = false;
            for (uint32_t lane = 0; lane < WARP; lane++) {
                uint32_t number = from + (lane + turn) % WARP;
                again |= number < device.threads && run_if_ready(number);
            }
            ran |= again;
        }
    }
    return ran;
}

static void nobody_goes_on(void)
{
    for (uint32_t i = 0; i < device.threads; i++) {
        const Thread *t = &device.thread[i];
        if (t->state != OVER) {
            emulator_fail("%s: deadlock: thread %u waits at %s, while %u of %u have returned", device.launch->kernel, i,
                          t->place, device.over, device.threads);
            return;
        }
    }
}

static void run_block(Order order, uint64_t *seed)
{
    memset(device.shared + SHARED_MOST - device.launch->shared, 0xff, device.launch->shared); /* NaN */
    device.over = device.waiting = 0;
    emulator_copies_forget();
    for (uint32_t i = 0; i < device.threads; i++) {
        device.thread[i].state = READY;
        fiber_begin(&device.thread[i].fiber, thread_entry);
    }
    while (device.over < device.threads && !device.failed)
        if (!(order == GREEDY ? pass_greedily(seed) : pass_in_order(order, seed)) && !device.failed)
            nobody_goes_on();
    for (uint32_t i = 0; device.failed && i < device.threads; i++)
        fiber_abandon(&device.thread[i].fiber);
}

void *emulator_shared(void) { return device.shared + SHARED_MOST - device.launch->shared; }

/* ---- running a launch */

static bool have_room(void)
{
    if (!device.shared) {
        char *memory = mmap(NULL, SHARED_MOST + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return false;
        mprotect(memory + SHARED_MOST, PAGE, PROT_NONE);
        device.shared = memory;
    }
    for (uint32_t i = 0; i < device.threads; i++) {
        device.thread[i].number = i;
        if (!device.thread[i].fiber.stack && !fiber_open(&device.thread[i].fiber))
            return false;
    }
    return true;
}

static bool can_run(const Launch *l)
{
    uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    if (!threads || threads > MOST_THREADS || l->block.z > 64)
        emulator_fail("%s: a block of %u x %u x %u threads; at most 1024, 64 in z", l->kernel, l->block.x, l->block.y,
                      l->block.z);
    else if (!l->grid.x || !l->grid.y || !l->grid.z || l->grid.x > INT32_MAX || l->grid.y > GRID_MOST ||
             l->grid.z > GRID_MOST)
        emulator_fail("%s: a grid of %u x %u x %u blocks; at least 1, at most 65535 in y and z", l->kernel, l->grid.x,
                      l->grid.y, l->grid.z);
    else if (l->shared > SHARED_MOST)
        emulator_fail("%s: %zu bytes of dynamic shared memory; at most %d", l->kernel, l->shared, SHARED_MOST);
    else
        return true;
    return false;
}

void emulator_launch(Order order, uint64_t *seed, const Launch *launch)
{
    emulator_lock();
    uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    if (!device.failed && can_run(launch)) {
        device.launch = launch;
        device.threads = launch->block.x * launch->block.y * launch->block.z;
        emulator_standing.block_size = launch->block;
        emulator_standing.grid_size = launch->grid;
        if (!have_room())
            emulator_fail("%s: no memory for the stacks of %u threads", launch->kernel, device.threads);
        if (launch->checked)
            check_launch(launch, (uintptr_t)device.shared + SHARED_MOST - launch->shared);
        uint64_t first = order == RANDOM || order == GREEDY ? emulator_draw(seed, (uint32_t)blocks) : 0;
        for (uint64_t i = 0; i < blocks && !device.failed; i++) {
            uint64_t number = order == BACKWARD ? blocks - 1 - i : (first + i) % blocks;
            emulator_standing.block = triple_at(number, launch->grid);
            if (launch->checked)
                check_block(number);
            run_block(order, seed);
        }
        if (launch->checked)
            check_over();
        if (!device.failed)
            emulator_tally(order, launch);
        device.launch = NULL;
    }
    emulator_unlock();
}
