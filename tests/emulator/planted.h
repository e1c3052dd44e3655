/* Kernels with a mistake in each, and the same without it: the emulator and its checker must find every one. */
#ifndef TESTS_EMULATOR_PLANTED_H
#define TESTS_EMULATOR_PLANTED_H

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum Mistake {
    NO_MISTAKE,
    NO_BARRIER,              /* between writing a tile of shared memory and reading it */
    NO_BARRIER_AFTER,        /* before the next tile is written over the one that is read */
    NO_SYNCWARP,             /* a shuffle puts no memory in order */
    PLUS_FOR_ATOMIC,         /* in one block */
    PLUS_FOR_ATOMIC_APART,   /* in different blocks */
    NO_FENCE,                /* before a block says that it has written */
    NO_FENCE_AFTER,          /* before what others have written is read */
    NO_BARRIER_BEFORE_FENCE, /* other threads of the block may still write */
    NOT_THE_LAST,            /* of the blocks reads what others may still write */
    SHARED_OFF_BY_ONE,       /* an array of fixed size */
    SHARED_OFF_BY_ONE_ASKED, /* one whose size the launch says */
    GLOBAL_OFF_BY_ONE,
    UNWRITTEN,           /* shared memory is read that only another block has written */
    HOST_POINTER,        /* what the host calls an array is none on the device */
    RELEASED,            /* memory that was given back */
    BARRIER_IN_A_BRANCH, /* which half of the threads take */
    BARRIER_AFTER_RETURN,
    MASK_OF_OTHERS,        /* a shuffle whose mask names lanes that have returned */
    NO_WAIT,               /* for a copy that was asked for */
    WAIT_FOR_OTHER,        /* for the copy before it */
    NO_BARRIER_AFTER_WAIT, /* what one thread waited for another reads */
    COPY_TOO_EARLY,        /* to where others still read */
    COPY_UNALIGNED,
    LANES_MISSING, /* a product by a warp of which some have returned */
    TOO_MANY_THREADS,
    MISTAKES
} Mistake;

/* Runs the kernel with a mistake: what it computes goes to *sum, which is PLANTED_SUM if all is well. False: the device
 * has found something. `planted_emulated` does not look at accesses, `planted_checked` does. */
enum { PLANTED_SUM = 64 * 63 };

bool planted_emulated(Mistake mistake, float *sum, Error *e);
bool planted_checked(Mistake mistake, float *sum, Error *e);

#ifdef __cplusplus
}
#endif

#endif
