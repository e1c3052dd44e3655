/* A linear map in whole numbers of 8 bits; see kernels/plain/int8.c for the formula.
 *
 * w is rounded and packed in panels of two vectors of columns: [units along I, INT8_PANEL]. A unit of 32 bits is four
 * numbers where the processor multiplies four at once and adds them up (VNNI, SDOT), else two numbers of 16 bits. For
 * VNNI w is unsigned, w + 128, so 128 times the sum of x's row is subtracted at the end. Packed weights that do not
 * change are kept by the stream. Sums are exact, so they do not depend on the team. */

#if defined __x86_64__
#include <immintrin.h>
#endif

#define INT8_PANEL (2 * WIDTH)

#if defined __x86_64__
#define INT8_ABOVE 128 /* added to numbers of w by four */
#else
#define INT8_ABOVE 0
#endif

#if defined __AVX512F__ || defined __aarch64__
#define INT8_ROWS 12 /* 24 sums of 32 registers */
#else
#define INT8_ROWS 6 /* 12 sums of 16 registers */
#endif

/* sum += the products of a unit's numbers. (The compiler may not be told of them: this level need not have them.) */
INLINE IVec int8_multiply(IVec sum, IVec w, IVec x, bool by_four)
{
#if defined __AVX512F__
    if (by_four) {
        __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
        return sum;
    }
#elif defined __AVX2__
    if (by_four) {
        __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(w), "x"(x));
        return sum;
    }
#elif defined __ARM_FEATURE_DOTPROD
    if (by_four)
        return (IVec)vdotq_s32((int32x4_t)sum, (int8x16_t)w, (int8x16_t)x);
#elif defined __aarch64__ && ADDS_FOUR
    if (by_four) {
        __asm__(".arch armv8.2-a+dotprod\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(w), "w"(x));
        return sum;
    }
#endif
    (void)by_four;
#if defined __AVX512BW__
    return sum + (IVec)_mm512_madd_epi16((__m512i)w, (__m512i)x);
#elif defined __AVX2__
    return sum + (IVec)_mm256_madd_epi16((__m256i)w, (__m256i)x);
#elif defined __x86_64__ && !defined __AVX__
    return sum + (IVec)_mm_madd_epi16((__m128i)w, (__m128i)x);
#else
    return sum + (w << 16 >> 16) * (x << 16 >> 16) + (w >> 16) * (x >> 16);
#endif
}

/* Rounds to the nearest whole numbers, and of two to the even one. */
INLINE IVec int8_nearest(Vec x)
{
#if defined __AVX512F__
    return (IVec)_mm512_cvtps_epi32((__m512)x);
#elif defined __AVX__
    return (IVec)_mm256_cvtps_epi32((__m256)x);
#elif defined __x86_64__
    return (IVec)_mm_cvtps_epi32((__m128)x);
#else
    IVec n;
    for (int i = 0; i < WIDTH; i++)
        n[i] = (int32_t)__builtin_rintf(x[i]);
    return n;
#endif
}

/* A row as whole numbers, zeros up to `padded`; returns its step, NaN where a number is not finite. */
static float int8_row(int8_t *to, const Number *row, size_t n, size_t padded, int32_t *sum)
{
    const Vec none = vec_set(0);
    Vec most = none;
    IVec finite = (IVec){0} - 1, all = {0};
    for (size_t i = 0; i < n; i += WIDTH) {
        const Vec x = load(row + i, n - i), size = (Vec)((IVec)x & 0x7fffffff);
        most = vec_max(size, most);
        finite &= size <= FLT_MAX;
    }
    const float largest = vec_largest(most);
    for (int i = 0; i < WIDTH; i++)
        if (!finite[i]) {
            memset(to, 0, padded);
            *sum = 0;
            return NAN;
        }
    const float inverse = largest >= INT8_LEAST ? 127 / largest : 0;
    for (size_t i = 0; i < n; i += WIDTH) {
        const IVec q = int8_nearest(load(row + i, n - i) * inverse);
        int8_t some[WIDTH];
        all += q;
        for (int j = 0; j < WIDTH; j++)
            some[j] = (int8_t)q[j];
        memcpy(to + i, some, n - i < WIDTH ? n - i : WIDTH);
    }
    memset(to + n, 0, padded - n);
    *sum = 0;
    for (int i = 0; i < WIDTH; i++)
        *sum += all[i];
    return largest >= INT8_LEAST ? largest / 127 : 0;
}

/* Packed weights: panels, then steps [columns]. */
static size_t int8_units(size_t in, bool by_four) { return (in + (by_four ? 3 : 1)) / (by_four ? 4 : 2); }

static size_t int8_bytes(size_t in, size_t out, bool by_four)
{
    return round_up(out, INT8_PANEL) * (int8_units(in, by_four) + 1) * sizeof(Unit);
}

/* Rounded numbers as units: by four, those of w */
static Unit int8_unit(const int8_t *q, size_t u, bool by_four)
{
    if (!by_four)
        return (Unit)((uint32_t)(uint16_t)q[2 * u] | (uint32_t)(uint16_t)q[2 * u + 1] << 16);
    uint32_t unit = 0;
    for (size_t i = 0; i < 4; i++)
        unit |= (uint32_t)(uint8_t)(q[4 * u + i] + INT8_ABOVE) << 8 * i;
    return (Unit)unit;
}

static void int8_pack(void *packed, int8_t *row, const Number *w, size_t in, size_t out, bool by_four)
{
    const size_t units = int8_units(in, by_four), wide = round_up(out, INT8_PANEL);
    Unit *panels = packed;
    float *steps = (float *)(void *)(panels + wide * units);
    for (size_t o = 0; o < wide; o++) {
        int32_t sum;
        Unit *to = panels + o / INT8_PANEL * INT8_PANEL * units + o % INT8_PANEL;
        steps[o] = 0;
        if (o < out)
            steps[o] = int8_row(row, w + o * in, in, 4 * units, &sum);
        for (size_t u = 0; u < units; u++)
            to[u * INT8_PANEL] = o < out ? int8_unit(row, u, by_four) : 0;
    }
}

typedef struct Int8Work {
    const Unit *panels, *x; /* x [N, units] */
    const float *steps_w, *steps_x, *bias;
    const int32_t *less; /* [N] to be subtracted from sums */
    void *y;
    size_t n, out, units;
    bool real_output, relu, by_four;
} Int8Work;

/* Rows i .. i+rows-1 of one panel */
INLINE void int8_tile(const Int8Work *k, size_t i, size_t panel, int rows, bool by_four)
{
    IVec sum[INT8_ROWS][2];
    const Unit *w = k->panels + panel * INT8_PANEL * k->units, *x = k->x + i * k->units;
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = (IVec){0};
    for (size_t u = 0; u < k->units; u++) {
        const IVec w0 = units_load(w + u * INT8_PANEL), w1 = units_load(w + u * INT8_PANEL + WIDTH);
        for (int r = 0; r < rows; r++) {
            const IVec factor = (IVec){0} + x[(size_t)r * k->units + u];
            sum[r][0] = int8_multiply(sum[r][0], w0, factor, by_four);
            sum[r][1] = int8_multiply(sum[r][1], w1, factor, by_four);
        }
    }
    for (int r = 0; r < rows; r++)
        for (size_t v = 0; v < 2; v++) {
            const size_t column = panel * INT8_PANEL + v * WIDTH, at = (i + (size_t)r) * k->out + column;
            if (column >= k->out)
                break;
            const size_t left = k->out - column;
            const IVec whole = sum[r][v] - k->less[i + (size_t)r];
            Vec y = __builtin_convertvector(whole, Vec) * (vec_load(k->steps_w + column) * k->steps_x[i + (size_t)r]);
            y = k->bias ? y + load_real(k->bias + column, left) : y;
            y = k->relu ? vec_select(y < 0, vec_set(0), y) : y;
            if (k->real_output)
                store_real((float *)k->y + at, y, left);
            else
                store((Number *)k->y + at, y, left);
        }
}

INLINE void int8_panels(const Int8Work *k, size_t first, size_t end, bool by_four)
{
    for (size_t panel = first; panel < end; panel++) {
        size_t i = 0;
        for (; i + INT8_ROWS <= k->n; i += INT8_ROWS)
            int8_tile(k, i, panel, INT8_ROWS, by_four);
        for (; i + 4 <= k->n; i += 4)
            int8_tile(k, i, panel, 4, by_four);
        for (; i < k->n; i++)
            int8_tile(k, i, panel, 1, by_four);
    }
}

static void int8_share(void *argument, size_t member, size_t first, size_t end)
{
    const Int8Work *k = argument;
    (void)member;
    if (k->by_four)
        int8_panels(k, first, end, true);
    else
        int8_panels(k, first, end, false);
}

/* w packed: kept, or in memory for this call; NULL: there is none. */
static const void *int8_weights(Stream *s, const Number *w, size_t in, size_t out, bool by_four, int8_t *row)
{
    bool fresh = true;
    void *packed = stream_keep(s, w, in * out * sizeof *w, int8_bytes(in, out, by_four), &fresh);
    if (packed && fresh)
        int8_pack(packed, row, w, in, out, by_four);
    return packed;
}

static void linear_int8(Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias, bool relu,
                        size_t n, size_t in, size_t out)
{
    const bool by_four = s->by_four;
    const size_t units = int8_units(in, by_four), padded = round_up(4 * units, WIDTH);
    if (in > INT8_MOST) {
        linear_forward(s, y, real_output, x, w, bias, relu, n, in, out);
        return;
    }
    if (!n || !out)
        return;
    /* x as units; steps and sums of its rows; a row */
    Unit *units_x = (Unit *)(void *)stream_floats(s, n * (units + 2) + padded);
    int8_t *row = (int8_t *)(units_x + n * (units + 2));
    const void *packed = units_x ? int8_weights(s, w, in, out, by_four, row) : NULL;
    if (!packed)
        return;
    float *steps = (float *)(void *)(units_x + n * units);
    int32_t *less = (int32_t *)(void *)(units_x + n * (units + 1));
    for (size_t i = 0; i < n; i++) {
        steps[i] = int8_row(row, (const Number *)x + i * in, in, 4 * units, &less[i]);
        less[i] = by_four ? INT8_ABOVE * less[i] : 0;
        if (by_four)
            memcpy(units_x + i * units, row, 4 * units);
        else
            for (size_t u = 0; u < units; u++)
                units_x[i * units + u] = int8_unit(row, u, false);
    }
    Int8Work k = {.panels = packed,
                  .x = units_x,
                  .steps_w = (const float *)packed + round_up(out, INT8_PANEL) * units,
                  .steps_x = steps,
                  .bias = bias,
                  .less = less,
                  .y = y,
                  .n = n,
                  .out = out,
                  .units = units,
                  .real_output = real_output,
                  .relu = relu,
                  .by_four = by_four};
    stream_share(s, (Shared){(out + INT8_PANEL - 1) / INT8_PANEL, 1, n * in * out, int8_share, &k});
}
