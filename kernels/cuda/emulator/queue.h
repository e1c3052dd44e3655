/* What streams were asked for and have not done yet.
 *
 * On a GPU an operation of a stream happens at any time between being asked for and being waited for, and streams wait
 * for one another only where they are told to. Here it happens when it is waited for: the host for a stream or an event,
 * a stream for another. Which other streams continue meanwhile follows from the order of the one that is waited for:
 * none (forward), all of them first and as far as they can (backward), some now and then (random, greedy). So code
 * that does not wait finds values that are too old in one order and too new in another. */
#ifndef KERNELS_CUDA_EMULATOR_QUEUE_H
#define KERNELS_CUDA_EMULATOR_QUEUE_H

#include "base/ranks.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/emulator/runtime.h"

/* What a call of CUDA's begins with. */
#define FAIL_IF_PLANTED()                                                                                              \
    do {                                                                                                               \
        cudaError_t planted_error = (cudaError_t)emulator_planted(__func__);                                           \
        if (planted_error != cudaSuccess)                                                                              \
            return planted_error;                                                                                      \
    } while (0)

typedef enum What { TO_LAUNCH, TO_MOVE, TO_SET, TO_WAIT, TO_REPLAY, TO_EXCHANGE } What;

/* A place in a stream: after the first `count` operations that it was ever asked for. */
typedef struct Mark {
    uint64_t stream, count;
} Mark;

typedef struct Noted {
    What what;
    Launch launch; /* with a copy of its arguments */
    void *to;      /* of a copy or memset */
    const void *from;
    void *sent; /* what the host had there when it asked for the copy; NULL: it comes from the device */
    size_t bytes;
    int value;
    Mark until; /* TO_WAIT */
    struct EmulatorGraph *graph;
    RankPiece *pieces; /* TO_EXCHANGE: outs that go and ins that come */
    size_t outs, ins;
} Noted;

/* list[first .. count) is still to be done; a graph's is never done, but done again each time. */
typedef struct Notes {
    Noted *list;
    size_t first, count, capacity;
} Notes;

struct EmulatorGraph {
    Notes notes;
    size_t owners;
    cudaError_t error; /* the first thing that cannot be captured */
};

struct CUstream_st {
    uint64_t number; /* 0: the default one */
    uint64_t asked, done;
    Order order;          /* in which its kernels' threads run, and other streams beside it */
    uint64_t seed, turns; /* of threads; of streams */
    bool beside;          /* neither waits for the default stream nor is waited for by it */
    Notes notes;
    struct EmulatorGraph *capturing;
    bool failed;
    Error error; /* until a wait reports it */
    struct CUstream_st *next;
};

/* Around all that follows: a thread that waits runs what others have asked for. */
void queue_lock(void);
void queue_unlock(void);

void queue_open(Queue s, bool beside); /* it reads ATTEND_ORDER */
void queue_close(Queue s);             /* when all is done */
Queue queue_default(void);
bool queue_captures_beside_default(void); /* a stream that waits for the default one is being captured */

/* A new entry, or NULL: no memory. Of a stream: after all that it has to wait for by itself. */
Noted *notes_add(Notes *notes);
void notes_free(Notes *notes);
Noted *queue_ask(Queue s);

Mark queue_mark(Queue s);
void queue_reach(Mark mark); /* has everything before it done */
void queue_finish(Queue s);
void queue_finish_all(void);

/* Is a copy from or to here still to be done? */
bool queue_uses(const void *host, size_t bytes);

void graph_release(struct EmulatorGraph *g);

#endif
