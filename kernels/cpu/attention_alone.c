/* One query, alone, over the keys of a cache: how a text is written. What it costs is reading keys and values, which
 * lie position by position with all heads side by side. So members share out positions, not heads, and each reads its
 * own in one stretch, CHUNK keys and then their values, for all heads. What a chunk gives has a softmax of its own:
 *
 *     largest  of the chunk's scores        sum  of 2^(score - largest)        part  the sum of 2^(score - largest) v
 *
 * and in the end chunks are put together, each times 2^(largest - largest of all). Where chunks begin does not depend
 * on who computes them, so results do not depend on the team. */

enum { CHUNK = WIDTH };

/* What a chunk gives, in lines of the caches that no other chunk shares: members would take them from one another. */
typedef struct Chunk {
    float *largest, *sum; /* [heads] */
    float *s;             /* [heads, CHUNK] scores, then weights */
    float *part;          /* [heads * dv] */
} Chunk;

typedef struct AloneWork {
    const Attend *how;
    const Number *q, *k, *v; /* the query, and key and value 0 of its row */
    size_t k_stride, v_stride;
    Range seen;     /* keys */
    size_t chunks;  /* with keys that are seen */
    float *scratch; /* [chunks, floats_of_chunk] */
} AloneWork;

/* Whether this is such a query, and its scores are products alone. Rows without a cache are those of a batch, where
 * bits must not depend on how it is split. */
static bool is_alone(const Attend *how)
{
    return how->rows == 1 && how->query_start[1] - how->query_start[0] == 1 && how->key_length && !has_terms(how) &&
           !how->weights && how->dropout.rate <= 0 && how->value_size % (2 * WIDTH) == 0;
}

static size_t floats_of_chunk(const Attend *how)
{
    return 2 * round_up(how->heads, WIDTH) + how->heads * (CHUNK + how->value_size);
}

static Chunk chunk_at(const AloneWork *a, size_t chunk)
{
    const size_t wide = round_up(a->how->heads, WIDTH);
    float *from = a->scratch + chunk * floats_of_chunk(a->how);
    return (Chunk){from, from + wide, from + 2 * wide, from + 2 * wide + a->how->heads * CHUNK};
}

/* s [heads, CHUNK] of some keys, in the order in which these lie: all heads of one key, then of the next. */
INLINE void scores_in_order(const AloneWork *a, float *s, Range keys, size_t dk)
{
    const size_t heads = a->how->heads, count = (keys.to - keys.from) * heads, gap = a->k_stride - heads * dk;
    const Number *k = a->k + keys.from * a->k_stride, *q = a->q;
    float sums[WIDTH];
    for (size_t n = 0, head = 0, done = 0, key = 0; n < count; n += WIDTH) {
        const size_t some = count - n < WIDTH ? count - n : WIDTH;
        Vec lanes[WIDTH];
#pragma GCC unroll 16
        for (size_t l = 0; l < WIDTH; l++) {
            lanes[l] = vec_set(0);
            if (l >= some)
                continue;
            lanes[l] = dk <= SHORT ? short_product(q, k, dk) : long_product(q, k, dk);
            q += dk, k += dk;
            if (++head == heads)
                head = 0, q = a->q, k += gap;
        }
        vec_store(sums, vec_sums(lanes));
        for (size_t l = 0; l < some; l++) {
            s[done * CHUNK + key] = sums[l];
            if (++done == heads)
                done = 0, key++;
        }
    }
}

/* Heads of one vector, of two and of four in code of their own: there is little to do with each. */
static void chunk_scores(const AloneWork *a, float *s, Range keys)
{
    const size_t dk = a->how->key_size;
    if (dk == STEP)
        scores_in_order(a, s, keys, STEP);
    else if (dk == 2 * STEP)
        scores_in_order(a, s, keys, 2 * STEP);
    else if (dk == 4 * STEP)
        scores_in_order(a, s, keys, 4 * STEP);
    else
        scores_in_order(a, s, keys, dk);
}

/* Scores become weights. A chunk without a finite score has none: it must not make NaN of what other chunks give. */
static void chunk_weights(const AloneWork *a, const Chunk *to, size_t count)
{
    const IVec live = vec_first(count);
    for (size_t head = 0; head < a->how->heads; head++) {
        float *s = to->s + head * CHUNK;
        Vec score = vec_select(live, vec_load(s) * ((float)a->how->scale * LOG2_E), vec_set(-FLT_MAX));
        float largest = vec_largest(vec_max(score, vec_set(-FLT_MAX)));
        Vec power = vec_select(live, vec_exp2(score - largest, false), vec_set(0));
        to->largest[head] = largest;
        to->sum[head] = vec_sum(power);
        store_whole((Number *)(void *)s, power);
    }
}

/* part += values j .. j+rows-1 of a chunk, each times its weight; v is value j. */
INLINE void add_values(const AloneWork *a, const Chunk *to, const Number *v, size_t j, size_t rows)
{
    const size_t dv = a->how->value_size;
    float *part = to->part;
    for (size_t head = 0; head < a->how->heads; head++, part += dv, v += dv) {
        const Number *p = (const Number *)(const void *)(to->s + head * CHUNK) + j;
        for (size_t c = 0; c < dv; c += 2 * WIDTH) {
            Vec sum[2] = {vec_load(part + c), vec_load(part + c + WIDTH)};
            size_t r = 0;
            for (; r + ROWS_AT_ONCE <= rows; r += ROWS_AT_ONCE)
                add_rows(sum, v + r * a->v_stride + c, a->v_stride, p + r);
            for (size_t i = 0; r < rows && i < 2; i++)
                sum[i] += load_whole(v + r * a->v_stride + c + i * WIDTH) * weight_of(p + r);
            vec_store(part + c, sum[0]);
            vec_store(part + c + WIDTH, sum[1]);
        }
    }
}

static void chunk_values(const AloneWork *a, const Chunk *to, Range keys)
{
    enum { ROWS = 4 }; /* at once, so that parts are read and written less often */
    const size_t count = keys.to - keys.from;
    const Number *v = a->v + keys.from * a->v_stride;
    size_t j = 0;
    memset(to->part, 0, a->how->heads * a->how->value_size * sizeof *to->part);
    for (; j + ROWS <= count; j += ROWS)
        add_values(a, to, v + j * a->v_stride, j, ROWS);
    for (; j < count; j++)
        add_values(a, to, v + j * a->v_stride, j, 1);
}

static void alone_chunks(void *argument, size_t member, size_t first, size_t end)
{
    const AloneWork *a = argument;
    (void)member;
    for (size_t chunk = first; chunk < end; chunk++) {
        const size_t from = (a->seen.from / CHUNK + chunk) * CHUNK, to = from + CHUNK;
        const Range keys = {from > a->seen.from ? from : a->seen.from, to < a->seen.to ? to : a->seen.to};
        const Chunk c = chunk_at(a, chunk);
        chunk_scores(a, c.s, keys);
        chunk_weights(a, &c, keys.to - keys.from);
        chunk_values(a, &c, keys);
    }
}

/* The factor of each chunk, over its largest score, for heads first .. first+count-1; and their sums and lse. */
static void weigh_chunks(const AloneWork *a, float *total, float *lse, size_t first, size_t count)
{
    Vec best = vec_set(-FLT_MAX), sum = {0};
    for (size_t c = 0; c < a->chunks; c++)
        best = vec_max(vec_load(chunk_at(a, c).largest + first), best);
    for (size_t c = 0; c < a->chunks; c++) {
        const Chunk chunk = chunk_at(a, c);
        Vec power = vec_exp2(vec_load(chunk.largest + first) - best, false);
        sum += vec_load(chunk.sum + first) * power;
        vec_store(chunk.largest + first, power);
    }
    vec_store(total, sum);
    for (size_t i = 0; i < count; i++)
        lse[first + i] = (best[i] + log2f(total[i])) * LN_2;
}

/* y [dv] of a head from those of its chunks */
static void join_chunks(const AloneWork *a, Number *y, float total, size_t head)
{
    const size_t dv = a->how->value_size;
    for (size_t j = 0; j < dv; j += WIDTH) {
        Vec all = {0};
        for (size_t c = 0; c < a->chunks; c++) {
            const Chunk chunk = chunk_at(a, c);
            all += vec_load(chunk.part + head * dv + j) * chunk.largest[head];
        }
        store_whole(y + head * dv + j, all * (1 / total));
    }
}

static void join_heads(const AloneWork *a, Number *y, float *lse)
{
    const size_t heads = a->how->heads;
    float total[WIDTH];
    for (size_t first = 0; first < heads; first += WIDTH) {
        size_t count = heads - first < WIDTH ? heads - first : WIDTH;
        weigh_chunks(a, total, lse, first, count);
        for (size_t i = 0; i < count; i++)
            join_chunks(a, y, total[i], first + i);
    }
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
    size_t most = how->longest_key / CHUNK + 2; /* chunks: with any window */
    a.scratch = stream_scratch(s, most * floats_of_chunk(how) * sizeof *a.scratch);
    if (!a.scratch)
        return;
    y += first * columns;
    lse += first * how->heads;
    if (a.seen.from < a.seen.to) {
        a.chunks = (a.seen.to + CHUNK - 1) / CHUNK - a.seen.from / CHUNK;
        stream_share(s, a.chunks, 1, alone_chunks, &a);
        join_heads(&a, y, lse);
    } else {
        memset(y, 0, columns * sizeof *y);
        for (size_t head = 0; head < how->heads; head++)
            lse[head] = -INFINITY;
    }
}
