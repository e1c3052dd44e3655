/* A stand-in for NCCL: what it is asked to send and receive goes through base/ranks.h when the stream gets there. */
#include "kernels/cuda/emulator/nccl.h"

#include "kernels/cuda/emulator/queue.h"

#include <stdlib.h>
#include <string.h>

/* The group that is open. */
static _Thread_local struct {
    RankPiece *pieces; /* first those that go */
    size_t outs, ins, capacity;
    cudaStream_t stream;
} group;

enum { IN_ORDER, NO_MEMORY, BAD_USE = 5 };

int emulated_nccl_id(NcclId *id)
{
    memset(id, 0, sizeof *id);
    return emulator_planted("ncclGetUniqueId");
}

int emulated_nccl_meet(void **all, int count, NcclId id, int own)
{
    static int met;
    (void)id;
    *all = &met;
    return (size_t)count == ranks_count() && (size_t)own == ranks_own() ? emulator_planted("ncclCommInitRank")
                                                                        : BAD_USE;
}

int emulated_nccl_part(void *all)
{
    (void)all;
    return IN_ORDER;
}

int emulated_nccl_start(void) { return emulator_planted("ncclGroupStart"); }

static int put(const void *data, size_t count, int rank, cudaStream_t stream, bool out)
{
    if (group.outs + group.ins == group.capacity) {
        size_t more = 2 * group.capacity + 8;
        RankPiece *list = realloc(group.pieces, more * sizeof *list);
        if (!list)
            return NO_MEMORY;
        group.pieces = list;
        group.capacity = more;
    }
    const RankPiece one = {(size_t)rank, (void *)(uintptr_t)data, count};
    RankPiece *to = group.pieces + group.outs;
    if (out)
        memmove(to + 1, to, group.ins * sizeof *to);
    else
        to += group.ins;
    *to = one;
    group.outs += out;
    group.ins += !out;
    group.stream = stream;
    return IN_ORDER;
}

int emulated_nccl_send(const void *from, size_t count, int type, int rank, void *all, cudaStream_t stream)
{
    (void)type, (void)all;
    return put(from, count, rank, stream, true);
}

int emulated_nccl_receive(void *to, size_t count, int type, int rank, void *all, cudaStream_t stream)
{
    (void)type, (void)all;
    return put(to, count, rank, stream, false);
}

int emulated_nccl_end(void)
{
    int error = emulator_planted("ncclGroupEnd");
    const bool empty = group.outs + group.ins == 0;
    if (!error && !empty)
        error = emulated_nccl_ask(group.stream, group.pieces, group.outs, group.ins);
    if (error || empty)
        free(group.pieces);
    memset(&group, 0, sizeof group);
    return error;
}

const char *emulated_nccl_words(int error) { return error == BAD_USE ? "invalid usage" : "unhandled cuda error"; }
