/* Dropout's factors on a GPU: the same numbers as kernels/dropout.h, four columns at a time, as Philox makes four words
 * for one counter. */
#ifndef KERNELS_CUDA_RANDOM_H
#define KERNELS_CUDA_RANDOM_H

#include "kernels/cuda/launch.h"

#include <math.h>

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

/* Dropout as kernels are told of it: a GPU counts doubles slowly, so the host does. A word drops its number where its
 * upper 24 bits, a fraction, are less than the rate: as whole numbers, less than `least`. */
typedef struct Chance {
    unsigned least; /* 0: nothing is dropped */
    float factor;   /* of what stays */
    uint32_t site, side;
} Chance;

static inline Chance chance_of(Dropout drop)
{
    return Chance{(unsigned)ceil(drop.rate * 0x1p24), (float)(1 / (1 - drop.rate)), drop.site, drop.side};
}

/* What decides over columns 4 group .. 4 group + 3. */
static __device__ inline Words dropout_words(const Chance &drop, const StepState *state, size_t position, size_t head,
                                             size_t group)
{
    return philox_words(state->seed, state->step, (unsigned)group,
                        state->first_position[drop.side] + (unsigned)position, (unsigned)head, drop.site);
}

static __device__ inline bool stays(const Chance &drop, unsigned word) { return word >> 8 >= drop.least; }

typedef struct Factors {
    float of[4];
} Factors;

static __device__ inline Factors dropout_factors(const Chance &drop, const StepState *state, size_t position,
                                                 size_t head, size_t group)
{
    Factors f = {{1, 1, 1, 1}};
    if (drop.least == 0)
        return f;
    Words words = dropout_words(drop, state, position, head, group);
    for (int i = 0; i < 4; i++)
        f.of[i] = stays(drop, words.word[i]) ? drop.factor : 0;
    return f;
}

static __device__ inline float dropout_factor(const Chance &drop, const StepState *state, size_t position, size_t head,
                                              size_t column)
{
    if (drop.least == 0)
        return 1;
    Words words = dropout_words(drop, state, position, head, column / 4);
    unsigned even = column & 2 ? words.word[2] : words.word[0], odd = column & 2 ? words.word[3] : words.word[1];
    return stays(drop, column & 1 ? odd : even) ? drop.factor : 0; /* of[column % 4], but registers have no index */
}

} // namespace

#endif
