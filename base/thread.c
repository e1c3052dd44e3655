/* A pool of threads whose waking is cheap: a waiter polls an atomic number for a few microseconds, which is how
 * long it takes the others to arrive inside a step, and only then sleeps on a condition variable. */
#define _GNU_SOURCE
#include "base/thread.h"

#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#ifdef __linux__
#include <sched.h>
#endif

enum { SPINS = 4000, STACK = 8 << 20 };

/* A number that grows, to wait on. The thread that raises it then looks for sleepers; a sleeper registers itself and
 * then looks at the number: in the one order of sequentially consistent operations one of the two sees the other.
 *
 * The call that a number announces is in its cache line, so that one transfer between cores brings both. */
typedef struct Gate {
    _Alignas(64) atomic_uint value;
    atomic_uint sleepers;
    void (*work)(void *, size_t); /* NULL: the thread ends */
    void *argument;
    _Alignas(64) pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned stirred; /* how often gate_stir woke the sleepers; the mutex guards it */
} Gate;

typedef struct Thread {
    pthread_t thread;
    Pool *pool;
    size_t worker;
} Thread;

struct Pool {
    Gate start;   /* how many times pool_run was called */
    Gate done;    /* how many times one of the others had finished */
    Gate barrier; /* how many barriers were passed */
    _Alignas(64) atomic_size_t arrived;
    Thread *threads; /* [workers], the first unused: it is the caller */
    size_t workers, started;
    unsigned finished; /* what `done` shows when all calls so far are over */
    unsigned spins;
#ifdef __linux__
    cpu_set_t allowed;
#endif
    bool pinned;
};

bool thread_flush(bool on)
{
#if defined __x86_64__
    const unsigned flush = 1U << 15 | 1U << 6, control = __builtin_ia32_stmxcsr(); /* results, operands */
    __builtin_ia32_ldmxcsr(on ? control | flush : control & ~flush);
    return true;
#elif defined __aarch64__
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    control = (control & ~(UINT64_C(1) << 24)) | (uint64_t)on << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
    return true;
#else
    (void)on;
    return false;
#endif
}

__attribute__((constructor)) static void begin(void) { thread_flush(true); }

static void breathe(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* The numbers go round: what is at most 2^31 ahead is larger. */
static bool gate_reached(Gate *g, unsigned wanted, memory_order order)
{
    return (int)(atomic_load_explicit(&g->value, order) - wanted) >= 0;
}

static bool gate_spin(Gate *g, unsigned wanted, unsigned spins)
{
    for (unsigned i = 0; i < spins; i++) {
        if (gate_reached(g, wanted, memory_order_acquire))
            return true;
        breathe();
    }
    return false;
}

static void gate_wait(Gate *g, unsigned wanted, unsigned spins)
{
    while (!gate_spin(g, wanted, spins)) {
        atomic_fetch_add(&g->sleepers, 1);
        pthread_mutex_lock(&g->mutex);
        const unsigned stirred = g->stirred;
        bool reached;
        while (!(reached = gate_reached(g, wanted, memory_order_seq_cst)) && g->stirred == stirred)
            pthread_cond_wait(&g->changed, &g->mutex);
        pthread_mutex_unlock(&g->mutex);
        atomic_fetch_sub(&g->sleepers, 1);
        if (reached)
            return;
    }
}

/* Threads that sleep look at the number again, and if it is not there yet wait awake for a while. */
static void gate_stir(Gate *g)
{
    pthread_mutex_lock(&g->mutex);
    g->stirred++;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

static void gate_advance(Gate *g)
{
    atomic_fetch_add(&g->value, 1);
    if (atomic_load(&g->sleepers))
        gate_stir(g);
}

static void gate_open(Gate *g)
{
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->changed, NULL);
}

static void gate_close(Gate *g)
{
    pthread_mutex_destroy(&g->mutex);
    pthread_cond_destroy(&g->changed);
}

static void *thread_main(void *argument)
{
    const Thread *self = argument;
    Pool *pool = self->pool;
    for (unsigned calls = 1;; calls++) {
        gate_wait(&pool->start, calls, pool->spins);
        if (!pool->start.work)
            return NULL;
        pool->start.work(pool->start.argument, self->worker);
        gate_advance(&pool->done);
    }
}

void pool_run(Pool *pool, void (*work)(void *argument, size_t worker), void *argument)
{
    if (pool->workers > 1) {
        pool->start.work = work;
        pool->start.argument = argument;
        gate_advance(&pool->start);
    }
    work(argument, 0);
    if (pool->workers > 1)
        gate_wait(&pool->done, pool->finished += (unsigned)pool->workers - 1, pool->spins);
}

bool pool_awake(Pool *pool)
{
    if (!pool->spins || !atomic_load_explicit(&pool->start.sleepers, memory_order_relaxed))
        return true;
    gate_stir(&pool->start);
    return false;
}

void pool_barrier(Pool *pool)
{
    if (pool->workers == 1)
        return;
    unsigned next = atomic_load_explicit(&pool->barrier.value, memory_order_relaxed) + 1;
    if (atomic_fetch_add(&pool->arrived, 1) + 1 < pool->workers) {
        gate_wait(&pool->barrier, next, pool->spins);
        return;
    }
    atomic_store(&pool->arrived, 0); /* before the gate opens: no thread arrives at the next one earlier */
    gate_advance(&pool->barrier);
}

#ifdef __linux__
/* The pool that keeps this thread on one processor. Threads that it starts for another purpose go where they want. */
static _Thread_local const Pool *keeper;
#endif

/* Keeps worker i on the i-th processor allowed. A courtesy: where it fails, the system chooses. */
static void pin_all(Pool *pool)
{
#ifdef __linux__
    if (sched_getaffinity(0, sizeof pool->allowed, &pool->allowed))
        return;
    pool->pinned = true;
    keeper = keeper ? keeper : pool;
    size_t worker = 0;
    for (size_t i = 0; i < CPU_SETSIZE && worker < pool->workers; i++) {
        if (!CPU_ISSET(i, &pool->allowed))
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        pthread_t thread = worker ? pool->threads[worker].thread : pthread_self();
        pthread_setaffinity_np(thread, sizeof one, &one);
        worker++;
    }
#else
    (void)pool;
#endif
}

/* The threads take no signals: Ctrl-C is for the program's own thread. */
static int start_threads(Pool *pool)
{
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    int why = 0;
    for (pool->started = 1; !why && pool->started < pool->workers;) {
        Thread *t = &pool->threads[pool->started];
        *t = (Thread){.pool = pool, .worker = pool->started};
        why = pthread_create(&t->thread, &attributes, thread_main, t);
        pool->started += !why;
#ifdef __linux__
        if (!why && keeper)
            pthread_setaffinity_np(t->thread, sizeof keeper->allowed, &keeper->allowed);
#endif
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return why;
}

bool pool_open(Pool **out, size_t workers, bool pin, Error *e)
{
    *out = NULL;
    workers = workers ? workers : 1;
    Pool *pool = memory_get(1, sizeof *pool);
    Thread *threads = pool ? memory_get(workers, sizeof *threads) : NULL;
    if (!threads) {
        memory_free(pool);
        return memory_error(e, "a thread pool", workers, sizeof *threads);
    }
    gate_open(&pool->start);
    gate_open(&pool->done);
    gate_open(&pool->barrier);
    pool->threads = threads;
    pool->workers = workers;
    size_t allowed = processors_allowed();
    pool->spins = workers <= allowed ? SPINS : 0; /* a thread that spins must not take the core of one that works */
    int why = start_threads(pool);
    if (why) {
        fail(e, "cannot start thread %zu of %zu: %s; use fewer workers", pool->started, workers, strerror(why));
        pool_close(pool);
        return false;
    }
    if (pin && workers <= allowed)
        pin_all(pool);
    *out = pool;
    return true;
}

void pool_close(Pool *pool)
{
    if (!pool)
        return;
    pool->start.work = NULL;
    gate_advance(&pool->start);
    for (size_t i = 1; i < pool->started; i++)
        pthread_join(pool->threads[i].thread, NULL);
#ifdef __linux__
    keeper = keeper == pool ? NULL : keeper;
    if (pool->pinned)
        pthread_setaffinity_np(pthread_self(), sizeof pool->allowed, &pool->allowed);
#endif
    gate_close(&pool->start);
    gate_close(&pool->done);
    gate_close(&pool->barrier);
    memory_free(pool->threads);
    memory_free(pool);
}

size_t pool_size(const Pool *pool) { return pool->workers; }
