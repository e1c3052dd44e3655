/* One query, alone, over the keys of a cache: how a text is written. What it costs is reading keys and values, which
 * lie position by position with all heads side by side. So members share out positions, not heads, and each reads its
 * own in one stretch, CHUNK keys and then their values, for all heads. What a chunk gives has a softmax of its own:
 *
 *     largest  of the chunk's scores        sum  of 2^(score - largest)        part  the sum of 2^(score - largest) v
 *
 * and in the end chunks are put together, each times 2^(largest - largest of all). Where chunks begin does not depend
 * on who computes them, so results do not depend on the team. */

enum { CHUNK = WIDTH };

typedef struct AloneWork {
    const Attend *how;
    const Number *q, *k, *v; /* the query, and key and value 0 of its row */
    size_t k_stride, v_stride;
    Range seen;           /* keys */
    size_t chunks, wide;  /* chunks with keys that are seen; the same in whole vectors */
    float *largest, *sum; /* [heads, wide] */
    float *part;          /* [chunks, heads * dv] */
    float *s;             /* [chunks, heads, CHUNK] scores, then weights */
} AloneWork;

/* Whether this is such a query, and its scores are products alone. Rows without a cache are those of a batch, where
 * bits must not depend on how it is split. */
static bool is_alone(const Attend *how)
{
    return how->rows == 1 && how->query_start[1] - how->query_start[0] == 1 && how->key_length && !has_terms(how) &&
           !how->weights && how->dropout.rate <= 0 && how->value_size % (2 * WIDTH) == 0;
}

/* s [heads, CHUNK] of some keys, each head after the other for one key, then for the next */
static void chunk_scores(const AloneWork *a, float *s, Range keys)
{
    const size_t heads = a->how->heads, dk = a->how->key_size, count = (keys.to - keys.from) * heads;
    const Number *k = a->k + keys.from * a->k_stride;
    float sums[WIDTH];
    for (size_t n = 0, key = 0, head = 0; n < count; n += WIDTH) {
        size_t some = count - n < WIDTH ? count - n : WIDTH, to[WIDTH];
        Vec lanes[WIDTH] = {{0}};
        for (size_t l = 0; l < some; l++) {
            const Number *at = k + key * a->k_stride + head * dk, *q = a->q + head * dk;
            lanes[l] = dk <= SHORT ? short_product(q, at, dk) : long_product(q, at, dk);
            to[l] = head * CHUNK + key;
            head = head + 1 < heads ? head + 1 : 0;
            key += head == 0;
        }
        vec_store(sums, vec_sums(lanes));
        for (size_t l = 0; l < some; l++)
            s[to[l]] = sums[l];
    }
}

/* Scores become weights. A chunk without a finite score has none: it must not make NaN of what other chunks give. */
static void chunk_weights(const AloneWork *a, float *s, size_t chunk, size_t count)
{
    const IVec live = vec_first(count);
    for (size_t head = 0; head < a->how->heads; head++, s += CHUNK) {
        Vec score = vec_select(live, vec_load(s) * ((float)a->how->scale * LOG2_E), vec_set(-FLT_MAX));
        float largest = vec_largest(vec_max(score, vec_set(-FLT_MAX)));
        Vec power = vec_select(live, vec_exp2(score - largest, false), vec_set(0));
        a->largest[head * a->wide + chunk] = largest;
        a->sum[head * a->wide + chunk] = vec_sum(power);
        store_whole((Number *)(void *)s, power);
    }
}

/* part (+)= values j on of a chunk, `rows` of them, each times its weight */
INLINE void add_values(const AloneWork *a, float *part, const float *s, const Number *v, size_t j, size_t rows)
{
    const size_t dv = a->how->value_size;
    for (size_t head = 0; head < a->how->heads; head++, s += CHUNK, part += dv, v += dv) {
        const Number *p = (const Number *)(const void *)s + j;
        for (size_t c = 0; c < dv; c += 2 * WIDTH) {
            Vec sum[2] = {vec_load(part + c), vec_load(part + c + WIDTH)};
            if (rows == ROWS_AT_ONCE)
                add_rows(sum, v + c, a->v_stride, p);
            else
                for (size_t i = 0; i < 2; i++)
                    sum[i] += load_whole(v + c + i * WIDTH) * weight_of(p);
            vec_store(part + c, sum[0]);
            vec_store(part + c + WIDTH, sum[1]);
        }
    }
}

static void alone_chunks(void *argument, size_t member, size_t first, size_t end)
{
    const AloneWork *a = argument;
    const size_t heads = a->how->heads, columns = heads * a->how->value_size;
    (void)member;
    for (size_t chunk = first; chunk < end; chunk++) {
        size_t from = (a->seen.from / CHUNK + chunk) * CHUNK, to = from + CHUNK, j = 0;
        Range keys = {from > a->seen.from ? from : a->seen.from, to < a->seen.to ? to : a->seen.to};
        float *s = a->s + chunk * heads * CHUNK, *part = a->part + chunk * columns;
        const Number *v = a->v + keys.from * a->v_stride;
        size_t count = keys.to - keys.from;
        chunk_scores(a, s, keys);
        chunk_weights(a, s, chunk, count);
        memset(part, 0, columns * sizeof *part);
        for (; j + ROWS_AT_ONCE <= count; j += ROWS_AT_ONCE)
            add_values(a, part, s, v + j * a->v_stride, j, ROWS_AT_ONCE);
        for (; j < count; j++)
            add_values(a, part, s, v + j * a->v_stride, j, 1);
    }
}

/* y [dv] of a head from those of its chunks; lse is saved. */
static void join_chunks(const AloneWork *a, Number *y, float *lse, size_t head)
{
    const size_t dv = a->how->value_size, columns = a->how->heads * dv;
    float *factor = a->largest + head * a->wide;
    Vec best = vec_set(-FLT_MAX), sum = {0};
    for (size_t c = 0; c < a->wide; c += WIDTH)
        best = vec_max(vec_load(factor + c), best);
    float largest = vec_largest(best);
    for (size_t c = 0; c < a->wide; c += WIDTH) {
        Vec power = vec_exp2(vec_load(factor + c) - largest, false);
        sum += vec_load(a->sum + head * a->wide + c) * power;
        vec_store(factor + c, power);
    }
    float total = vec_sum(sum);
    *lse = (largest + log2f(total)) * LN_2;
    for (size_t j = 0; j < dv; j += WIDTH) {
        Vec all = {0};
        for (size_t c = 0; c < a->chunks; c++)
            all += vec_load(a->part + c * columns + head * dv + j) * factor[c];
        store_whole(y + head * dv + j, all * (1 / total));
    }
}

/* Lays the pieces out from `at` on; returns how many floats that takes: for as many chunks as there may ever be. */
static size_t lay_out_alone(AloneWork *a, float *at)
{
    const size_t heads = a->how->heads, most = round_up(a->how->longest_key / CHUNK + 2, WIDTH);
    a->largest = at;
    a->sum = a->largest + heads * most;
    a->s = a->sum + heads * most;
    a->part = a->s + most * heads * CHUNK;
    return heads * most * (2 + CHUNK + a->how->value_size);
}

/* A query that sees no key gives zeros. */
static void attend_alone(Stream *s, Number *y, float *lse, Strided q, Strided k, Strided v, const Attend *how)
{
    const size_t first = (size_t)how->query_start[0], columns = how->heads * how->value_size;
    const Keys keys = keys_of_row(how, 0);
    AloneWork a = {.how = how,
                   .q = (const Number *)q.data + first * q.stride,
                   .k = (const Number *)k.data + keys.start * k.stride,
                   .v = (const Number *)v.data + keys.start * v.stride,
                   .k_stride = k.stride,
                   .v_stride = v.stride,
                   .seen = {keys_first(how, keys, 0), keys_end(how, keys, 0)}};
    float *scratch = stream_scratch(s, lay_out_alone(&a, NULL) * sizeof *scratch);
    if (!scratch)
        return;
    lay_out_alone(&a, scratch);
    if (a.seen.from < a.seen.to)
        a.chunks = (a.seen.to + CHUNK - 1) / CHUNK - a.seen.from / CHUNK;
    a.wide = round_up(a.chunks, WIDTH);
    for (size_t i = 0; i < how->heads * a.wide; i++)
        a.largest[i] = -FLT_MAX, a.sum[i] = 0;
    stream_share(s, a.chunks, 1, alone_chunks, &a);
    for (size_t head = 0; a.chunks && head < how->heads; head++)
        join_chunks(&a, y + first * columns, lse + first * how->heads + head, head);
    for (size_t head = 0; !a.chunks && head < how->heads; head++)
        lse[first * how->heads + head] = -INFINITY;
    if (!a.chunks)
        memset(y + first * columns, 0, columns * sizeof *y);
}
