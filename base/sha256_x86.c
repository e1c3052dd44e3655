/* SHA-256 by x86 processors' own instructions, two rounds each. See sha256_blocks.h. */
#include "base/sha256_blocks.h"

#if defined __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

static bool has_instructions(void)
{
    enum { SSE41 = 1 << 19, SHA = 1 << 29 };
    static atomic_int has = -1; /* not asked yet */
    unsigned a, b, c, d;
    if (has < 0)
        has = __get_cpuid(1, &a, &b, &c, &d) && c & SSE41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & SHA;
    return has;
}

/* The words of a hash are held as the instructions take them: A B E F, and C D G H. */
__attribute__((target("sha,sse4.1"))) static void add_blocks(uint32_t hash[8], const unsigned char *blocks,
                                                             size_t count)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)hash), 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(hash + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; count; count--, blocks += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i words[4]; /* of the next 16 rounds */
        for (int i = 0; i < 4; i++)
            words[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)blocks + i), big_endian);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            __m128i *w = &words[i % 4];
            const __m128i w1 = words[(i + 1) % 4], w2 = words[(i + 2) % 4], w3 = words[(i + 3) % 4];
            const __m128i sums = _mm_add_epi32(*w, _mm_loadu_si128((const __m128i *)sha256_rounds + i));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0e));
            *w = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*w, w1), _mm_alignr_epi8(w3, w2, 4)), w3);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)hash, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(hash + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool sha256_x86(uint32_t hash[8], const unsigned char *blocks, size_t count)
{
    if (!has_instructions())
        return false;
    add_blocks(hash, blocks, count);
    return true;
}
#else
bool sha256_x86(uint32_t hash[8], const unsigned char *blocks, size_t count)
{
    (void)hash, (void)blocks, (void)count;
    return false;
}
#endif
