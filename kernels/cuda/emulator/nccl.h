/* NCCL's functions, as far as kernels/cuda uses them (see peers.cu). */
#ifndef KERNELS_CUDA_EMULATOR_NCCL_H
#define KERNELS_CUDA_EMULATOR_NCCL_H

#include "base/ranks.h"
#include "kernels/cuda/emulator/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct NcclId {
    char bytes[128];
} NcclId;

int emulated_nccl_id(NcclId *id);
int emulated_nccl_meet(void **all, int count, NcclId id, int own);
int emulated_nccl_part(void *all);
int emulated_nccl_start(void);
int emulated_nccl_send(const void *from, size_t count, int type, int rank, void *all, cudaStream_t stream);
int emulated_nccl_receive(void *to, size_t count, int type, int rank, void *all, cudaStream_t stream);
int emulated_nccl_end(void);
const char *emulated_nccl_words(int error);

/* By the stream: takes the pieces, which are free'd when they are no longer needed, unless it fails. */
int emulated_nccl_ask(cudaStream_t stream, RankPiece *pieces, size_t outs, size_t ins);

#ifdef __cplusplus
}
#endif

#endif
