/* See sha256.h. The constants are the first 32 bits of the fractions of square and cube roots of primes. */
#include "base/sha256_blocks.h"

#include <stdio.h>
#include <string.h>

const uint32_t sha256_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

/* One of the 64 rounds. Instead of each of the eight words moving on by a place, the next round takes them one place
 * on; so only two change, and all stay in registers. */
static inline void add_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f, uint32_t g,
                             uint32_t *h, uint32_t word)
{
    uint32_t big1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25), choice = (e & f) ^ (~e & g);
    uint32_t big0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22), majority = (a & b) ^ (a & c) ^ (b & c);
    uint32_t first = *h + big1 + choice + word;
    *d += first;
    *h = first + big0 + majority;
}

static void add_block(uint32_t hash[8], const unsigned char block[64])
{
    uint32_t w[64];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (size_t i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4], f = hash[5], g = hash[6], h = hash[7];
    for (size_t i = 0; i < 64; i += 8) {
        add_round(a, b, c, &d, e, f, g, &h, sha256_rounds[i] + w[i]);
        add_round(h, a, b, &c, d, e, f, &g, sha256_rounds[i + 1] + w[i + 1]);
        add_round(g, h, a, &b, c, d, e, &f, sha256_rounds[i + 2] + w[i + 2]);
        add_round(f, g, h, &a, b, c, d, &e, sha256_rounds[i + 3] + w[i + 3]);
        add_round(e, f, g, &h, a, b, c, &d, sha256_rounds[i + 4] + w[i + 4]);
        add_round(d, e, f, &g, h, a, b, &c, sha256_rounds[i + 5] + w[i + 5]);
        add_round(c, d, e, &f, g, h, a, &b, sha256_rounds[i + 6] + w[i + 6]);
        add_round(b, c, d, &e, f, g, h, &a, sha256_rounds[i + 7] + w[i + 7]);
    }
    const uint32_t now[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++)
        hash[i] += now[i];
}

void sha256_plain(uint32_t hash[8], const unsigned char *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_block(hash, blocks + 64 * i);
}

static void add_blocks(uint32_t hash[8], const unsigned char *blocks, size_t count)
{
    if (!sha256_x86(hash, blocks, count))
        sha256_plain(hash, blocks, count);
}

void sha256_begin(Sha256Sum *s)
{
    *s = (Sha256Sum){
        {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, {0}, 0};
}

void sha256_add(Sha256Sum *s, const void *bytes, size_t size)
{
    const unsigned char *from = bytes, *end = from + size;
    size_t kept = s->size % 64, first = kept && size >= 64 - kept ? 64 - kept : 0;
    s->size += size;
    if (first) {
        memcpy(s->rest + kept, from, first);
        add_blocks(s->hash, s->rest, 1);
        from += first;
        kept = 0;
    }
    const size_t blocks = kept ? 0 : (size_t)(end - from) / 64;
    add_blocks(s->hash, from, blocks);
    from += 64 * blocks;
    if (end > from)
        memcpy(s->rest + kept, from, (size_t)(end - from));
}

Sha256 sha256_end(Sha256Sum *s)
{
    unsigned char last[128] = {0};
    size_t rest = s->size % 64, end = rest < 56 ? 64 : 128;
    Sha256 result;
    memcpy(last, s->rest, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[end - 1 - i] = (unsigned char)(s->size * 8 >> 8 * i);
    add_blocks(s->hash, last, end / 64);
    for (size_t i = 0; i < 8; i++)
        snprintf(result.text + 8 * i, 9, "%08x", (unsigned)s->hash[i]);
    return result;
}

Sha256 sha256(const void *bytes, size_t size)
{
    Sha256Sum s;
    sha256_begin(&s);
    sha256_add(&s, bytes, size);
    return sha256_end(&s);
}
