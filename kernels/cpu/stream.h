/* Where the operations of one worker run: its team of threads, scratch memory and prepared products. */
#ifndef KERNELS_CPU_STREAM_H
#define KERNELS_CPU_STREAM_H

#include "base/thread.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/names.h"
#include "kernels/kernels.h"

/* Whether int8.c has an instruction for four products at once (cpu_adds_four). Of SDOT an assembler is told in passing,
 * which clang's does not learn, and which makes others forget SVE. */
#if defined __aarch64__ && !defined __ARM_FEATURE_DOTPROD && (defined __clang__ || defined __ARM_FEATURE_SVE)
#define ADDS_FOUR false
#else
#define ADDS_FOUR true
#endif

struct Stream {
    Pool *team; /* NULL: the calling thread alone */
    size_t members;
    uintptr_t read; /* the end of the memory that the last stream_share_on read */
    bool backwards; /* it was shared out from the last member to the first */
    void *scratch;  /* each member's part, one after another */
    size_t scratch_size;
    float *floats; /* what stream_floats has given */
    size_t float_count;
    bool by_four;      /* int8.c: four products at once */
    struct Kept *kept; /* what operations have made of weights; the first is of those that may change */
    size_t kept_count, kept_capacity;
    bool failed;    /* memory ran out; `finish` says so */
    Matmul *matmul; /* one a member */
};

bool stream_open(Stream **s, size_t team, Error *e);
void stream_close(Stream *s);
bool stream_finish(Stream *s, Error *e);

/* See kernels.h. */
void stream_hold(Stream *s, const void *weights, size_t bytes);

/* Scratch for each member of the team, or NULL (and failed). It is kept, and grows to the largest ever asked for. */
void *stream_scratch(Stream *s, size_t bytes);

/* This many floats for the whole team, beside scratch memory, or NULL (and failed); kept likewise. */
float *stream_floats(Stream *s, size_t count);

/* This many bytes for what an operation makes of some weights. *fresh: they do not hold it yet. They do if an earlier
 * call asked for the same, and the weights are among those of stream_hold. NULL (and failed): there is no memory. */
void *stream_keep(Stream *s, const void *weights, size_t bytes, size_t size, bool *fresh);

/* What is to be done to 0 .. n-1: work(argument, member, first, end) on parts of it, one a member, each a multiple of
 * `grain` long but the last. Every number is computed by one member, so results do not depend on the team. */
typedef void (*TeamWork)(void *argument, size_t member, size_t first, size_t end);
enum { STREAMED = 8 }; /* multiply-adds in the time in which a number is read that is used once */
typedef struct Shared {
    size_t n, grain;
    size_t
        size; /* of all of it in multiply-adds, roughly: the calling thread does what is too little to share by itself */
    TeamWork work;
    void *argument;
} Shared;
void stream_share(Stream *s, Shared all);

/* The same for work that reads through memory [begin, begin + bytes). Where that is right after what the last such
 * call read, it is shared out in the opposite order: so the member that came to the end continues there, and in a
 * sequence of calls that comes again and again each member always reads the same parts. */
void stream_share_on(Stream *s, const void *begin, size_t bytes, Shared all);

#endif
