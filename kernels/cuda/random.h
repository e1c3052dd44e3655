/* Dropout's factors on a GPU: the same numbers as kernels/dropout.h, four columns at a time, as Philox makes four words
 * for one counter. */
#ifndef KERNELS_CUDA_RANDOM_H
#define KERNELS_CUDA_RANDOM_H

#include "kernels/cuda/launch.h"

namespace
{

typedef struct Words {
    unsigned word[4];
} Words;

/* Philox4x32-10, see base/philox.c. */
static __device__ inline Words philox_words(unsigned seed, unsigned step, unsigned c0, unsigned c1, unsigned c2,
                                            unsigned c3)
{
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        unsigned high2 = __umulhi(0xCD9E8D57u, c2), low2 = 0xCD9E8D57u * c2;
        c0 = high2 ^ c1 ^ seed;
        c1 = low2;
        c2 = high0 ^ c3 ^ step;
        c3 = low0;
        seed += 0x9E3779B9u;
        step += 0xBB67AE85u;
    }
    return Words{{c0, c1, c2, c3}};
}

typedef struct Factors {
    float of[4];
} Factors;

/* Of columns 4 group .. 4 group + 3. Compared in double, as on the host: rate is one. */
static __device__ inline Factors dropout_factors(Dropout drop, const StepState *state, size_t position, size_t head,
                                                 size_t group)
{
    if (drop.rate == 0)
        return Factors{{1, 1, 1, 1}};
    Words words = philox_words(state->seed, state->step, (unsigned)group,
                               state->first_position[drop.side] + (unsigned)position, (unsigned)head, drop.site);
    Factors f;
    for (int i = 0; i < 4; i++)
        f.of[i] = (double)((float)(words.word[i] >> 8) * 0x1p-24f) < drop.rate ? 0 : (float)(1 / (1 - drop.rate));
    return f;
}

static __device__ inline float dropout_factor(Dropout drop, const StepState *state, size_t position, size_t head,
                                              size_t column)
{
    Factors all = dropout_factors(drop, state, position, head, column / 4);
    float even = column & 2 ? all.of[2] : all.of[0], odd = column & 2 ? all.of[3] : all.of[1];
    return column & 1 ? odd : even; /* of[column % 4], but registers have no index */
}

} // namespace

#endif
