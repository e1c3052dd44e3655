/* Fibers: many functions under way on one thread of this processor, each with a stack of its own, taking turns.
 *
 * One fiber stands for one CUDA thread. The scheduler (launch.c) resumes a fiber; the fiber pauses where it has to wait
 * for others, at a barrier or a shuffle, and continues from there when it is resumed. */
#ifndef KERNELS_CUDA_EMULATOR_FIBER_H
#define KERNELS_CUDA_EMULATOR_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#if !defined __x86_64__
#include <ucontext.h>
#endif

typedef struct Fiber {
    char *stack; /* its lowest byte; the page below may not be touched */
    size_t bytes;
#if defined __x86_64__
    void *pointer; /* the stack pointer while it is paused */
#else
    ucontext_t context;
#endif
    void *fake_stack; /* AddressSanitizer's, while it is paused */
} Fiber;

/* A stack, once; false where there is no memory. It stays until the process ends. */
bool fiber_open(Fiber *f);

/* The next resume begins `entry`, whatever the fiber did before. `entry` never returns: it ends with a pause. */
void fiber_begin(Fiber *f, void (*entry)(void));

/* To be told of a fiber that is left in the middle of what it did. */
void fiber_abandon(Fiber *f);

void fiber_resume(Fiber *f); /* called by the scheduler; returns when the fiber pauses */
void fiber_pause(Fiber *f);  /* called by the fiber; returns when it is resumed */

#endif
