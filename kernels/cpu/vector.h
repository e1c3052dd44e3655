/* Vectors of floats from one source: as wide as the level (level.h) that they are compiled for has.
 *
 * Compiler vector types do the arithmetic (AVX-512, AVX2, SSE, NEON); what they cannot say is here by name. A Vec holds
 * WIDTH floats. Loads and stores need no alignment; the _some versions touch the first n numbers alone, so that no
 * operation has to care whether a size is a multiple of WIDTH. */
#ifndef KERNELS_CPU_VECTOR_H
#define KERNELS_CPU_VECTOR_H

#include "base/bf16.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined __SSE2__
#include <immintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif

#if defined __AVX512F__
#define WIDTH 16
#elif defined __AVX__
#define WIDTH 8
#else
#define WIDTH 4
#endif

/* Whether one instruction multiplies pairs of bfloat16; else it is cheaper to make floats of them first. */
#if defined __AVX512BF16__ || defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
#define DOTS true
#else
#define DOTS false
#endif

typedef float Vec __attribute__((vector_size(4 * WIDTH)));
typedef int32_t IVec __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t UVec __attribute__((vector_size(4 * WIDTH)));
typedef uint16_t HVec __attribute__((vector_size(2 * WIDTH)));
typedef uint64_t LVec __attribute__((vector_size(4 * WIDTH))); /* WIDTH / 2 numbers */

#define INLINE static inline __attribute__((always_inline))

/* From now on it is in a register. Without that gcc may read it from memory again for each of its uses. */
INLINE IVec vec_keep(IVec v)
{
#if defined __x86_64__
    __asm__("" : "+v"(v));
#elif defined __aarch64__
    __asm__("" : "+w"(v));
#endif
    return v;
}

INLINE Vec vec_set(float x) { return (Vec){0} + x; }

INLINE Vec vec_load(const float *p)
{
    Vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void vec_store(float *p, Vec v) { memcpy(p, &v, sizeof v); }

INLINE Vec vec_load_some(const float *p, size_t n)
{
#if defined __AVX512F__
    return (Vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#else
    Vec v = {0};
    memcpy(&v, p, n * sizeof *p);
    return v;
#endif
}

INLINE void vec_store_some(float *p, Vec v, size_t n)
{
#if defined __AVX512F__
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#else
    memcpy(p, &v, n * sizeof *p);
#endif
}

/* yes where mask is all ones, no where it is 0 */
INLINE Vec vec_select(IVec mask, Vec yes, Vec no) { return (Vec)((mask & (IVec)yes) | (~mask & (IVec)no)); }

/* a > b ? a : b, and a < b ? a : b; where a number is NaN, b. */
INLINE Vec vec_max(Vec a, Vec b)
{
#if defined __AVX512F__
    return (Vec)_mm512_max_ps((__m512)a, (__m512)b);
#else
    return vec_select(a > b, a, b);
#endif
}

INLINE Vec vec_min(Vec a, Vec b)
{
#if defined __AVX512F__
    return (Vec)_mm512_min_ps((__m512)a, (__m512)b);
#else
    return vec_select(a < b, a, b);
#endif
}

/* Lanes 0 .. n-1 are all ones. */
INLINE IVec vec_first(size_t n)
{
    IVec lane;
    for (int i = 0; i < WIDTH; i++)
        lane[i] = i;
    return lane < ((IVec){0} + (int32_t)n);
}

INLINE float vec_sum(Vec v)
{
#if defined __AVX512F__
    return _mm512_reduce_add_ps((__m512)v);
#else
    float sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += v[i];
    return sum;
#endif
}

INLINE float vec_largest(Vec v)
{
#if defined __AVX512F__
    return _mm512_reduce_max_ps((__m512)v);
#else
    float largest = v[0];
    for (int i = 1; i < WIDTH; i++)
        largest = v[i] > largest ? v[i] : largest;
    return largest;
#endif
}

/* Lane i is the sum of v[i], or its largest number, if i < n; other lanes hold anything. With AVX-512 it takes less than
 * half the work of taking each by itself. */
INLINE Vec vec_across(const Vec *v, int n, bool largest)
{
#if defined __AVX512F__
#define BOTH(a, b) (largest ? _mm512_max_ps(a, b) : _mm512_add_ps(a, b))
    __m512 of[8];
    for (int i = 0; i < 8; i++) { /* of two vectors, two partial results each in every quarter */
        __m512 a = (__m512)v[2 * i < n ? 2 * i : 0], b = (__m512)v[2 * i + 1 < n ? 2 * i + 1 : 0];
        of[i] = BOTH(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    }
    for (int i = 0; i < 4; i++) { /* of four vectors, one each in every quarter */
        __m512d a = (__m512d)of[2 * i], b = (__m512d)of[2 * i + 1];
        of[i] = BOTH((__m512)_mm512_unpacklo_pd(a, b), (__m512)_mm512_unpackhi_pd(a, b));
    }
    for (int left = 2; left; left /= 2) /* then the quarters */
        for (int i = 0; i < left; i++)
            of[i] = BOTH(_mm512_shuffle_f32x4(of[2 * i], of[2 * i + 1], 0x88),
                         _mm512_shuffle_f32x4(of[2 * i], of[2 * i + 1], 0xdd));
    return (Vec)of[0];
#undef BOTH
#else
    Vec of = v[0];
    for (int i = 0; i < n && i < WIDTH; i++)
        of[i] = largest ? vec_largest(v[i]) : vec_sum(v[i]);
    return of;
#endif
}

INLINE Vec vec_sums(const Vec v[WIDTH]) { return vec_across(v, WIDTH, false); }

INLINE Vec vec_sqrt(Vec v)
{
#if defined __AVX512F__
    return (Vec)_mm512_sqrt_ps((__m512)v);
#else
    for (int i = 0; i < WIDTH; i++)
        v[i] = __builtin_sqrtf(v[i]);
    return v;
#endif
}

/* 1.5 * 2^23: in x + SHIFT, |x| < 2^22, the lowest bits are x rounded to a whole number. */
#define SHIFT 12582912.0f

/* y * 2^n, n the whole number in shifted = n + SHIFT, -127 <= n <= 128; n goes into the exponent: -127 makes 0. */
INLINE Vec vec_scale2(Vec y, Vec shifted) { return y * (Vec)(((UVec)shifted + 127u) << 23); }

/* 2^f for |f| <= 1/2: a polynomial (error 2e-8). */
INLINE Vec vec_exp2_near_0(Vec f)
{
    Vec p = vec_set(1.535336188319500e-4f);
    p = p * f + 1.339887440266574e-3f;
    p = p * f + 9.618437357674640e-3f;
    p = p * f + 5.550332471162809e-2f;
    p = p * f + 2.402264791363012e-1f;
    p = p * f + 6.931472028550421e-1f;
    return p * f + 1.0f;
}

/* The same for what will be rounded to bfloat16, by up to 2e-3 of it: shorter (error 8e-5). */
INLINE Vec vec_exp2_roughly_near_0(Vec f)
{
    Vec p = vec_set(5.517166850e-2f);
    p = p * f + 2.426111250e-1f;
    p = p * f + 6.932609680e-1f;
    return p * f + 9.999280570e-1f;
}

/* 2^x: x = n + f with n whole and |f| <= 1/2; n goes into the exponent. Below -126.5 the result is 0 or nearly so,
 * above 128 infinity; NaN stays NaN. */
INLINE Vec vec_exp2(Vec x, bool roughly)
{
#if defined __AVX512DQ__
    Vec f = (Vec)_mm512_reduce_ps((__m512)x, 0), power = roughly ? vec_exp2_roughly_near_0(f) : vec_exp2_near_0(f);
    return (Vec)_mm512_scalef_ps((__m512)power, (__m512)(x - f));
#else
    x = vec_min(vec_set(128.0f), vec_max(vec_set(-127.0f), x));
    Vec shifted = x + SHIFT, f = x - (shifted - SHIFT);
    return vec_scale2(roughly ? vec_exp2_roughly_near_0(f) : vec_exp2_near_0(f), shifted);
#endif
}

#define LOG2_E 1.44269504088896340736f
#define LN_2   0.69314718055994530942f

/* log2 x of what is not negative, nor denormal: x = 2^n m with sqrt(1/2) <= m < sqrt(2), log2 m = 2/ln 2 atanh t with
 * t = (m - 1) / (m + 1), by its series (error 2e-9 of it). 0 gives -infinity, infinity and NaN stay. */
INLINE Vec vec_log2(Vec x)
{
    const IVec half_root = (IVec){0} + 0x3f3504f3; /* the bits of sqrt(1/2) */
    IVec n = ((IVec)x - half_root) >> 23;
    Vec m = (Vec)((UVec)x - ((UVec)n << 23)), t = (m - 1.0f) / (m + 1.0f), tt = t * t;
    Vec p = vec_set(0.320598898f);
    p = p * tt + 0.412198583f;
    p = p * tt + 0.577078016f;
    p = p * tt + 0.961796694f;
    p = p * tt + 2.88539008f;
    Vec y = p * t + __builtin_convertvector(n, Vec);
    return vec_select(x < INFINITY, vec_select(x > 0.0f, y, vec_set(-INFINITY)), x);
}

/* e^x = 2^n e^r, r = x - n ln 2 with ln 2 in two pieces, so that large x keep their digits. 0 below -87.7, infinity
 * above 88.3; NaN stays NaN. */
INLINE Vec vec_exp(Vec x)
{
    x = vec_min(vec_set(88.8f), vec_max(vec_set(-88.0f), x));
    Vec shifted = x * LOG2_E + SHIFT, n = shifted - SHIFT;
    Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Vec p = vec_set(1.3981999507e-3f);
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return vec_scale2(p, shifted);
}

/* The products of the lower halves of the lanes with factor, for which compilers take several instructions. */
INLINE LVec vec_multiply_low(LVec v, uint32_t factor)
{
#if defined __AVX512F__
    return (LVec)_mm512_mul_epu32((__m512i)v, _mm512_set1_epi64(factor));
#elif defined __AVX2__
    return (LVec)_mm256_mul_epu32((__m256i)v, _mm256_set1_epi64x(factor));
#elif defined __SSE2__ && !defined __AVX__
    return (LVec)_mm_mul_epu32((__m128i)v, _mm_set1_epi64x(factor));
#elif defined __ARM_NEON
    return (LVec)vmull_u32(vmovn_u64((uint64x2_t)v), vdup_n_u32(factor));
#else
    return (v & UINT32_MAX) * factor;
#endif
}

/* --- bfloat16 in memory, floats in registers --- */

INLINE Vec vec_from_bf16(HVec h)
{
#if defined __AVX512F__
    return (Vec)((UVec)_mm512_cvtepu16_epi32((__m256i)h) << 16); /* which gcc would do in halves */
#else
    return (Vec)(__builtin_convertvector(h, UVec) << 16);
#endif
}

INLINE HVec vec_to_bf16(Vec v)
{
#if defined __AVX512BF16__
    return (HVec)_mm512_cvtneps_pbh((__m512)v); /* which takes denormal numbers as 0 */
#elif defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
    return (HVec)vcvt_bf16_f32((float32x4_t)v);
#else
    UVec bits = (UVec)v;
    UVec rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    UVec nan = bits >> 16 | 0x40u;
    IVec is_nan = v != v;
    return __builtin_convertvector((UVec)(((IVec)nan & is_nan) | ((IVec)rounded & ~is_nan)), HVec);
#endif
}

INLINE Vec bf16_load(const Bf16 *p)
{
    HVec h;
    memcpy(&h, p, sizeof h);
    return vec_from_bf16(h);
}

INLINE void bf16_store(Bf16 *p, Vec v)
{
    HVec h = vec_to_bf16(v);
    memcpy(p, &h, sizeof h);
}

INLINE Vec bf16_load_some(const Bf16 *p, size_t n)
{
    HVec h = {0};
    memcpy(&h, p, n * sizeof *p);
    return vec_from_bf16(h);
}

INLINE void bf16_store_some(Bf16 *p, Vec v, size_t n)
{
    HVec h = vec_to_bf16(v);
    memcpy(p, &h, n * sizeof *p);
}

/* The next 2 WIDTH numbers of two rows as pairs: those of a are the lower ones. */
INLINE void bf16_zip(IVec pairs[2], const Bf16 *a, const Bf16 *b)
{
#if defined __AVX512BW__
    const __m512i step = _mm512_set1_epi32(0x00010001),
                  low = (__m512i)(IVec){0x200000, 0x210001, 0x220002, 0x230003, 0x240004, 0x250005, 0x260006, 0x270007,
                                        0x280008, 0x290009, 0x2a000a, 0x2b000b, 0x2c000c, 0x2d000d, 0x2e000e, 0x2f000f};
    __m512i from_a = _mm512_loadu_si512(a), from_b = _mm512_loadu_si512(b);
    pairs[0] = (IVec)_mm512_permutex2var_epi16(from_a, low, from_b);
    pairs[1] = (IVec)_mm512_permutex2var_epi16(from_a, _mm512_add_epi16(low, _mm512_slli_epi16(step, 4)), from_b);
#else
    for (int i = 0; i < 2; i++) {
        HVec lower, upper;
        memcpy(&lower, a + i * WIDTH, sizeof lower);
        memcpy(&upper, b + i * WIDTH, sizeof upper);
        pairs[i] = (IVec)(__builtin_convertvector(lower, UVec) | __builtin_convertvector(upper, UVec) << 16);
    }
#endif
}

/* The next numbers of a row that ends after n of them, as they are stored; 0 past its end. */
INLINE HVec bf16_some(const Bf16 *p, size_t n)
{
    HVec h = {0};
    if (n >= WIDTH)
        memcpy(&h, p, sizeof h);
    else
        memcpy(&h, p, n * sizeof *p);
    return h;
}

/* Numbers of two rows as one row of pairs, `low` being the lower one of each. */
INLINE void bf16_store_pairs(void *to, HVec low, HVec high)
{
#if defined __AVX512F__
    UVec both = (UVec)_mm512_cvtepu16_epi32((__m256i)low) | (UVec)_mm512_cvtepu16_epi32((__m256i)high) << 16;
#else
    UVec both = __builtin_convertvector(low, UVec) | __builtin_convertvector(high, UVec) << 16;
#endif
    memcpy(to, &both, sizeof both);
}

/* Floats of two rows as one row of pairs, `low` being the lower one of each; and if `first` is not NULL as two rows. */
INLINE void bf16_store_both(Bf16 *first, Bf16 *second, void *pairs, Vec low, Vec high)
{
#if defined __AVX512BF16__ && defined __AVX512BW__
    /* one rounding for all, and a place for each: 0, 16, 1, 17 .. */
    const __m512i places = (__m512i)(IVec){0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005,
                                           0x160006, 0x170007, 0x180008, 0x190009, 0x1a000a, 0x1b000b,
                                           0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f};
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
    if (first) {
        _mm256_storeu_si256((void *)first, _mm512_castsi512_si256(both));
        _mm256_storeu_si256((void *)second, _mm512_extracti64x4_epi64(both, 1));
    }
    _mm512_storeu_si512(pairs, _mm512_permutexvar_epi16(places, both));
#else
    if (first) {
        bf16_store(first, low);
        bf16_store(second, high);
    }
    bf16_store_pairs(pairs, vec_to_bf16(low), vec_to_bf16(high));
#endif
}

/* Two bfloat16 of each lane, multiplied with two others and added: sum + a.low b.low + a.high b.high. */
INLINE Vec vec_pairs(Vec sum, IVec a, IVec b)
{
#if defined __AVX512BF16__
    return (Vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#elif defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
    return (Vec)vbfdotq_f32((float32x4_t)sum, (bfloat16x8_t)a, (bfloat16x8_t)b);
#else
    const IVec high = (IVec){0} + (int32_t)0xffff0000u;
    return sum + (Vec)(a << 16) * (Vec)(b << 16) + (Vec)(a & high) * (Vec)(b & high);
#endif
}

#endif
