/* What processes with a GPU each do with each other's memory, by NCCL, which is opened when the program runs, as cuBLAS
 * is. It sends and receives only: sums are ours (core/train/exchange.h), so that their bits do not depend on how many
 * processes there are. These functions and numbers are its interface in version 2, from 2.8 on.
 *
 * Under the emulator there is a stand-in, which goes through base/ranks.h (emulator/nccl.c). */

#ifdef __CUDACC__
#include <dlfcn.h>

typedef struct NcclId {
    char bytes[128];
} NcclId;
#else
#include "kernels/cuda/emulator/nccl.h"
#endif

enum { NCCL_BYTES = 0, NCCL_UNDER_WAY = 7 };

/* Of this process; all: the communicator, NULL before they meet. */
static struct Peers {
    void *all;
    int (*id)(NcclId *id);
    int (*meet)(void **all, int count, NcclId id, int own);
    int (*part)(void *all);
    int (*start)(void);
    int (*end)(void);
    int (*send)(const void *from, size_t count, int type, int rank, void *all, cudaStream_t stream);
    int (*receive)(void *to, size_t count, int type, int rank, void *all, cudaStream_t stream);
    const char *(*words)(int error);
} peers;

#ifdef __CUDACC__

template <class F> static bool peers_function(void *library, F **function, const char *name, Error *e)
{
    *function = (F *)dlsym(library, name);
    return *function || fail(e, "NCCL was found, but has no %s; version 2.8 or newer is wanted", name);
}

static bool peers_library(Error *e)
{
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(e,
                    "several processes with a GPU each need NCCL, and there is no libnccl.so.2 (%s); install it, or "
                    "add its folder to LD_LIBRARY_PATH",
                    dlerror());
    return peers_function(library, &peers.id, "ncclGetUniqueId", e) &&
           peers_function(library, &peers.meet, "ncclCommInitRank", e) &&
           peers_function(library, &peers.part, "ncclCommAbort", e) &&
           peers_function(library, &peers.start, "ncclGroupStart", e) &&
           peers_function(library, &peers.end, "ncclGroupEnd", e) &&
           peers_function(library, &peers.send, "ncclSend", e) &&
           peers_function(library, &peers.receive, "ncclRecv", e) &&
           peers_function(library, &peers.words, "ncclGetErrorString", e);
}

/* Waits for a stream. One whose peers have stopped would be waited for without end, so there it is asked, and asked
 * again. */
static void peers_wait(Stream *s)
{
    const double start = clock_seconds();
    while (peers.all && cudaStreamQuery(s->queue) == cudaErrorNotReady)
        if (clock_seconds() - start > ranks_patience())
            ranks_end("the other processes' GPUs have not answered; --resume goes on from the last checkpoint");
}

#else

static bool peers_library(Error *)
{
    peers.id = emulated_nccl_id;
    peers.meet = emulated_nccl_meet;
    peers.part = emulated_nccl_part;
    peers.start = emulated_nccl_start;
    peers.end = emulated_nccl_end;
    peers.send = emulated_nccl_send;
    peers.receive = emulated_nccl_receive;
    peers.words = emulated_nccl_words;
    return true;
}

static void peers_wait(Stream *) {} /* the stand-in waits no longer than it may */

#endif

static bool peers_did(int status, const char *call, Error *e)
{
    return status == 0 || status == NCCL_UNDER_WAY ||
           fail(e, "%s: NCCL says: %s; NCCL_DEBUG=INFO has it say more, and each process needs a GPU of its own", call,
                peers.words(status));
}

/* Rank 0 makes the number by which they find each other. */
static bool peers_meet(NcclId *ids, Error *e)
{
    if (ranks_own() == 0 && !peers_did(peers.id(&ids[0]), "ncclGetUniqueId", e))
        return false;
    ranks_gather(ids, sizeof *ids);
    return peers_did(peers.meet(&peers.all, (int)ranks_count(), ids[0], (int)ranks_own()), "ncclCommInitRank", e);
}

static bool device_meet(Error *e)
{
    if (peers.all)
        return true;
    NcclId *ids = (NcclId *)memory_get(ranks_count(), sizeof *ids);
    bool fine = ids ? peers_library(e) && peers_meet(ids, e)
                    : memory_error(e, "the names of processes", ranks_count(), sizeof *ids);
    memory_free(ids);
    return fine;
}

static void device_part()
{
    if (peers.all)
        peers.part(peers.all);
    peers.all = NULL;
}

static void peers_try(Stream *s, int status, const char *call)
{
    Error why;
    if (s->failed || peers_did(status, call, &why))
        return;
    s->failed = true;
    s->error = why;
}

static void device_exchange(Stream *s, const RankPiece *out, size_t outs, const RankPiece *in, size_t ins)
{
    if (s->failed)
        return;
    peers_try(s, peers.start(), "ncclGroupStart");
    for (size_t i = 0; i < outs; i++)
        if (out[i].bytes)
            peers_try(s, peers.send(out[i].data, out[i].bytes, NCCL_BYTES, (int)out[i].rank, peers.all, s->queue),
                      "ncclSend");
    for (size_t i = 0; i < ins; i++)
        if (in[i].bytes)
            peers_try(s, peers.receive(in[i].data, in[i].bytes, NCCL_BYTES, (int)in[i].rank, peers.all, s->queue),
                      "ncclRecv");
    peers_try(s, peers.end(), "ncclGroupEnd");
}
