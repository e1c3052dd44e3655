/* What GPUs from sm_80 on do and CUDA C++ has no word for: products of small matrices by a whole warp, and copies into
 * shared memory that continue while the thread does. Each is the instruction itself under nvcc, and beside it what the
 * emulator does instead.
 *
 *     mma_bf16(c, a, b)             c [16,8] += a [16,16] b [16,8], bf16 with f32 sums   mma.sync.m16n8k16
 *     load_matrices(x, row)         four [8,8] of 16-bit numbers from shared memory      ldmatrix.x4
 *     load_transposed(x, row)       the same, each transposed                            ldmatrix.x4.trans
 *     copy_async(to, from, bytes)   16 bytes, of which those after `bytes` are zeros    cp.async
 *     copy_commit(), copy_wait<N>() closes a group of copies; waits for all groups but the last N
 *     two_bf16(lower, upper)        a word of two rounded numbers                        cvt.rn.bf16x2.f32
 *     power_of_2(x)                 2^x, off by two units in the last place at most      ex2.approx
 *
 * A matrix is spread over the lanes; two 16-bit numbers share a word, the first in its lower half. With
 * g = lane / 4 and t = lane % 4 a lane holds
 *
 *     a[0], a[1]   rows g, g+8, columns 2t, 2t+1        a[2], a[3]   the same rows, columns 2t+8, 2t+9
 *     b[0], b[1]   rows 2t, 2t+1 and 2t+8, 2t+9 of column g
 *     c[0], c[1]   row g, columns 2t, 2t+1              c[2], c[3]   row g+8
 *     x[m]         of matrix m row g, columns 2t, 2t+1; transposed: rows 2t, 2t+1 of column g
 *
 * `row` of lane l is the address of row l % 8 of matrix l / 8, 16 bytes long. Addresses are multiples of 16. What a
 * copy brings may be read by the thread itself after copy_wait, by others after a later barrier. */
#ifndef KERNELS_CUDA_MMA_H
#define KERNELS_CUDA_MMA_H

#include "kernels/cuda/launch.h"

namespace
{

#if defined __CUDACC__

/* Code for older devices is compiled, too, and never run: bf16 is refused there. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
#define FROM_SM_80(...) __trap()
#else
#define FROM_SM_80(...) asm volatile(__VA_ARGS__)
#endif

static __device__ inline void mma_bf16(float c[4], const unsigned a[4], const unsigned b[2])
{
    FROM_SM_80("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ inline unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

static __device__ inline void load_matrices(unsigned x[4], const void *row)
{
    FROM_SM_80("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(shared_address(row))
               : "memory");
}

static __device__ inline void load_transposed(unsigned x[4], const void *row)
{
    FROM_SM_80("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(shared_address(row))
               : "memory");
}

static __device__ inline void copy_async(void *to, const void *from, unsigned bytes)
{
    FROM_SM_80("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}

static __device__ inline void copy_commit() { FROM_SM_80("cp.async.commit_group;" ::: "memory"); }

template <int N> static __device__ inline void copy_wait()
{
    FROM_SM_80("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

static __device__ inline unsigned two_bf16(float lower, float upper)
{
    unsigned word = 0;
    FROM_SM_80("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(upper), "f"(lower));
    return word;
}

static __device__ inline float power_of_2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#else

struct EmulatorMma {
    float *c;
    const unsigned *a, *b;
};

static inline float emulator_half(unsigned word, unsigned upper)
{
    return __uint_as_float(upper ? word & 0xffff0000u : word << 16);
}

/* The last lane to arrive multiplies for all. */
static inline EMULATOR_UNSEEN void emulator_multiply(void *const lanes[WARP])
{
    float a[16][16], b[8][16];
    for (unsigned l = 0; l < WARP; l++) {
        const EmulatorMma *of = (const EmulatorMma *)lanes[l];
        unsigned g = l / 4, t = l % 4;
        for (unsigned upper = 0; upper < 2; upper++) {
            for (unsigned x = 0; x < 4; x++)
                a[g + 8 * (x % 2)][2 * t + 8 * (x / 2) + upper] = emulator_half(of->a[x], upper);
            for (unsigned x = 0; x < 2; x++)
                b[g][2 * t + 8 * x + upper] = emulator_half(of->b[x], upper);
        }
    }
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 8; j++) {
            float sum = 0;
            for (unsigned k = 0; k < 16; k++)
                sum += a[i][k] * b[j][k];
            ((const EmulatorMma *)lanes[i % 8 * 4 + j / 2])->c[i / 8 * 2 + j % 2] += sum;
        }
}

struct EmulatorRow {
    unsigned *x;
    const uint16_t *row;
    bool transposed;
};

static inline EMULATOR_UNSEEN void emulator_hand_out(void *const lanes[WARP])
{
    for (unsigned l = 0; l < WARP; l++) {
        const EmulatorRow *to = (const EmulatorRow *)lanes[l];
        unsigned g = l / 4, t = l % 4;
        for (unsigned m = 0; m < 4; m++) {
            unsigned half[2];
            for (unsigned u = 0; u < 2; u++)
                half[u] = to->transposed ? ((const EmulatorRow *)lanes[8 * m + 2 * t + u])->row[g]
                                         : ((const EmulatorRow *)lanes[8 * m + g])->row[2 * t + u];
            to->x[m] = half[0] | half[1] << 16;
        }
    }
}

static inline EMULATOR_UNSEEN void emulator_mma(const char *place, float c[4], const unsigned a[4], const unsigned b[2])
{
    EmulatorMma mine = {c, a, b};
    emulator_collective(place, emulator_multiply, &mine);
}

static inline EMULATOR_UNSEEN void emulator_load(const char *place, unsigned x[4], const void *row, bool transposed)
{
    EmulatorRow mine = {x, (const uint16_t *)row, transposed};
    emulator_touch(place, row, 16);
    emulator_collective(place, emulator_hand_out, &mine);
}

#define mma_bf16(c, a, b)           emulator_mma(EMULATOR_PLACE, c, a, b)
#define load_matrices(x, row)       emulator_load(EMULATOR_PLACE, x, row, false)
#define load_transposed(x, row)     emulator_load(EMULATOR_PLACE, x, row, true)
#define copy_async(to, from, bytes) emulator_copy(EMULATOR_PLACE, to, from, bytes)
#define copy_commit()               emulator_copy_commit()

template <int N> static inline void copy_wait() { emulator_copy_wait(N); }

/* As number() of a table in bf16. */
static inline unsigned emulator_bf16(float x)
{
    unsigned bits = __float_as_uint(x);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

static inline unsigned two_bf16(float lower, float upper) { return emulator_bf16(lower) | emulator_bf16(upper) << 16; }

static inline float power_of_2(float x) { return exp2f(x); }

#endif

} // namespace

#endif
