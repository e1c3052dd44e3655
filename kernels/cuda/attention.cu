/* Scaled dot-product attention over packed rows, without a matrix of all weights. See kernels/plain/attention.c for the
 * formulas.
 *
 * The ladder:
 *   1. attention_naive: a thread for each head of each query walks its keys: once for the largest score and the sum,
 *      and again for each CHUNK of columns of y, computing each weight again. Nothing is shared, so every key is
 *      read as often as there are queries. Backward likewise: a thread for each head of each query for dq; a thread
 *      for each head of each key walks the queries that see it, so that dk and dv are summed in one place, in one
 *      order. dy . y, which every pair needs, is computed first, for each query and head.
 *   2. attention_tiled (attention_tile.cu, attention_tile_backward.cu): tiles of queries and of keys in shared memory,
 *      and the softmax on the way. A key is read once for each tile of queries.
 *   3. attention_mma (attention_mma.cu, attention_mma_backward.cu), in bf16: the tiles' products by mma.sync, scores
 *      and weights in registers, the next tile on its way by cp.async while this one is multiplied.
 *
 * Where the third does not know a term of the scores the second runs; where heads are too wide for that, or the
 * weights are to be inspected, the first. The gradients of what is at a distance (distance_bias, relative) are on the second
 * rung at most: attention_distances.cu.
 *
 * Launches are as large as shapes say (rows x heads x longest row); how long a row is, the thread reads from `start`.
 */

constexpr size_t CHUNK = 32; /* columns that a thread sums at once */

/* Which head of which query a thread has, of rows [B, H, longest]; or of which key, of rows [B, G, longest]: the first
 * of `group` heads. */
static __device__ AttentionRow row_of_thread(const Attention &a, size_t t, size_t longest, size_t group, size_t *i)
{
    size_t heads = a.how.heads / group;
    *i = t % longest;
    return attention_row(a, t / longest / heads, t / longest % heads * group);
}

/* log sum exp of a query's scores, in one pass: the sum is rescaled whenever a larger score turns up. -infinity where
 * the query sees nothing; a key whose score is -infinity is as one that it does not see. */
static __device__ float attention_lse(const Attention &a, const AttentionRow &r, size_t i)
{
    float largest = -INFINITY, sum = 0;
    for (size_t j = next_key(a, r, i, 0); j < r.keys.length; j = next_key(a, r, i, j + 1)) {
        float s = score(a, r, i, j);
        if (s == -INFINITY)
            continue;
        if (s > largest) {
            sum *= expf(largest - s);
            largest = s;
        }
        sum += expf(s - largest);
    }
    return largest + logf(sum);
}

static __device__ void attention_chunk(Number *y, const Attention &a, const AttentionRow &r, float lse, size_t i,
                                       size_t from, size_t width)
{
    float sum[CHUNK] = {};
    for (size_t j = next_key(a, r, i, 0); j < r.keys.length; j = next_key(a, r, i, j + 1)) {
        const Number *value = head_of(a.v, r.keys.start + j, r.kv, a.how.value_size) + from;
        float weight = expf(score(a, r, i, j) - lse_of_scores(lse)) * drop_factor(a, r, i, j);
        for (size_t c = 0; c < width; c++)
            sum[c] += weight * real(value[c]);
    }
    for (size_t c = 0; c < width; c++)
        y[from + c] = number(sum[c]);
}

static __global__ void attention_naive(Number *y, float *lse, Attention a)
{
    const Attend &how = a.how;
    zero_outside_queries(how, Strided{y, how.heads * how.value_size}, false, how.value_size);
    for (size_t t = thread_number(); t < how.rows * how.heads * how.longest_query; t += thread_count()) {
        size_t i, dv = how.value_size;
        AttentionRow r = row_of_thread(a, t, how.longest_query, 1, &i);
        if (i >= r.queries)
            continue;
        size_t at = (r.first_query + i) * how.heads + r.head;
        float sum = lse[at] = attention_lse(a, r, i);
        for (size_t from = 0; from < dv; from += CHUNK)
            attention_chunk(y + at * dv, a, r, sum, i, from, dv - from < CHUNK ? dv - from : CHUNK);
        float *weights = how.weights ? (float *)how.weights + t * how.longest_key : NULL;
        for (size_t j = next_key(a, r, i, 0); weights && j < r.keys.length; j = next_key(a, r, i, j + 1))
            weights[j] = expf(score(a, r, i, j) - lse_of_scores(sum));
    }
}

static void attention_forward(Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how,
                              const StepState *state)
{
    size_t heads = how->heads, queries = how->rows * heads * how->longest_query;
    if (queries == 0) /* and no kernel to see to positions of no row */
        zero(s, y, how->queries * heads * how->value_size * sizeof(Number));
    if (how->weights)
        zero(s, how->weights, queries * how->longest_key * sizeof(float));
    Attention a = {*how, chance_of(how->dropout), state, q, k, v};
    unsigned tile = tile_for(*how, false), columns = mma_columns(*how);
    if (s->naive || how->weights || (!tile && !columns))
        LAUNCH_EACH(s, attention_naive, queries, (Number *)y, (float *)lse, a);
    else if (columns)
        attention_by_mma(s, (Number *)y, (float *)lse, a, columns);
    else
        LAUNCH_TILES(s, attention_tiled, tile, how->heads, how->longest_query, false, a, (Number *)y, (float *)lse);
}

/* ---- backward */

/* A warp for each head of each query, whose lanes read side by side. */
static __global__ void attention_dot_kernel(float *dots, const Number *dy, const Number *y, size_t n, size_t dv)
{
    size_t i = warp_row();
    float sum = 0;
    if (i >= n)
        return;
    for (size_t c = lane(); c < dv; c += LANES)
        sum += real(dy[i * dv + c]) * real(y[i * dv + c]);
    sum = warp_sum(sum);
    if (lane() == 0)
        dots[i] = sum;
}

/* ds[j] for query i and key j; *dropped is m[j] w[j], what dv counts dy with */
static __device__ float score_gradient(const Attention &a, const AttentionBack &back, const AttentionRow &r, size_t i,
                                       size_t j, float *dropped)
{
    size_t dv = a.how.value_size, at = (r.first_query + i) * a.how.heads + r.head;
    float s = score(a, r, i, j), weight = expf(s - lse_of_scores(back.lse[at])), factor = drop_factor(a, r, i, j);
    float dw = factor * biased_dot(back.dy + at * dv, NULL, head_of(a.v, r.keys.start + j, r.kv, dv), dv);
    *dropped = factor * weight;
    return weight * (dw - back.dot[at]) * cap_slope(a.how, s);
}

/* keys [width] = sum over j of ds[j] k[j], and relative likewise: columns from `from` on */
static __device__ void gather_keys(float *keys, float *relative, const Attention &a, const AttentionBack &back,
                                   const AttentionRow &r, size_t i, size_t from, size_t width)
{
    for (size_t j = next_key(a, r, i, 0); j < r.keys.length; j = next_key(a, r, i, j + 1)) {
        float dropped, ds = score_gradient(a, back, r, i, j, &dropped);
        const Number *k = head_of(a.k, r.keys.start + j, r.kv, a.how.key_size) + from;
        for (size_t c = 0; c < width; c++)
            keys[c] += ds * real(k[c]);
        if (!a.how.relative.data)
            continue;
        const Number *e = relative_key(a, r, i, j) + from;
        for (size_t c = 0; c < width; c++)
            relative[c] += ds * real(e[c]);
    }
}

static __global__ void attention_backward_queries(Strided dq, bool add, Attention a, AttentionBack back)
{
    const Attend &how = a.how;
    float scale = (float)how.scale;
    zero_outside_queries(how, dq, add, how.key_size);
    for (size_t t = thread_number(); t < how.rows * how.heads * how.longest_query; t += thread_count()) {
        size_t i, dk = how.key_size;
        AttentionRow r = row_of_thread(a, t, how.longest_query, 1, &i);
        for (size_t from = 0; i < r.queries && from < dk; from += CHUNK) {
            size_t width = dk - from < CHUNK ? dk - from : CHUNK;
            float keys[CHUNK] = {}, relative[CHUNK] = {};
            gather_keys(keys, relative, a, back, r, i, from, width);
            for (size_t c = 0; c < width; c++) {
                size_t position = r.first_query + i, column = r.head * dk + from + c;
                if (dq.data)
                    store_gradient((Number *)dq.data + position * dq.stride + column, add,
                                   scale * (keys[c] + relative[c]));
                if (back.content)
                    back.content[position * how.heads * dk + column] = scale * keys[c];
                if (back.relative)
                    back.relative[position * how.heads * dk + column] = scale * relative[c];
            }
        }
    }
}

/* sum [width] += factor_i x_i over the queries i of one head. For keys factor is ds and x a query with its bias; for
 * values the dropped weight and dy. */
static __device__ void gather_queries(float *sum, const Attention &a, const AttentionBack &back, const AttentionRow &r,
                                      bool values, size_t j, size_t from, size_t width)
{
    size_t size = values ? a.how.value_size : a.how.key_size;
    Strided x = values ? Strided{(void *)back.dy, a.how.heads * size} : a.q;
    const float *bias = values ? NULL : head_of_bias(a.how.content_bias, r.head, size);
    for (size_t i = first_query_for(a, r, j); i < r.queries; i++) {
        if (next_key(a, r, i, j) != j)
            continue;
        float dropped, ds = score_gradient(a, back, r, i, j, &dropped);
        const Number *vector = head_of(x, r.first_query + i, r.head, size) + from;
        for (size_t c = 0; c < width; c++)
            sum[c] += (values ? dropped : ds) * (real(vector[c]) + (bias ? bias[from + c] : 0));
    }
}

/* A key's gradient, or a value's: a sum over all heads of queries that read it, of which r is the first. */
static __device__ void attention_backward_key(const Attention &a, const AttentionBack &back, AttentionRow r, Strided to,
                                              bool add, bool values, size_t j)
{
    size_t size = values ? a.how.value_size : a.how.key_size, first = r.head;
    Number *gradient = (Number *)to.data + (r.keys.start + j) * to.stride + r.kv * size;
    for (size_t from = 0; from < size; from += CHUNK) {
        size_t width = size - from < CHUNK ? size - from : CHUNK;
        float sum[CHUNK] = {};
        for (r.head = first; r.head < first + heads_per_kv(&a.how); r.head++)
            gather_queries(sum, a, back, r, values, j, from, width);
        for (size_t c = 0; c < width; c++)
            store_gradient(&gradient[from + c], add, (values ? 1 : (float)a.how.scale) * sum[c]);
    }
}

static __global__ void attention_backward_keys(Strided to, bool add, bool values, Attention a, AttentionBack back)
{
    const Attend &how = a.how;
    zero_outside_keys(how, to, add, values ? how.value_size : how.key_size);
    for (size_t t = thread_number(); t < how.rows * kv_heads(&how) * how.longest_key; t += thread_count()) {
        size_t j;
        AttentionRow r = row_of_thread(a, t, how.longest_key, heads_per_kv(&how), &j);
        if (j < r.keys.length)
            attention_backward_key(a, back, r, to, add, values, j);
    }
}

/* The sum of ds over the keys that are at entry e from query i: one, or at the ends of the table those beyond. */
static __device__ float gradient_at_distance(const Attention &a, const AttentionBack &back, const AttentionRow &r,
                                             size_t e, size_t i)
{
    size_t position = i + r.keys.offset + a.how.ahead, last = a.how.distances - 1;
    size_t from = e < last && position > e ? position - e : 0, to = e > 0 ? position - e + 1 : r.keys.length;
    float sum = 0;
    if (e > position)
        return 0; /* that far back is no key */
    for (size_t j = next_key(a, r, i, from); j < r.keys.length && j < to; j = next_key(a, r, i, j + 1)) {
        float dropped;
        sum += score_gradient(a, back, r, i, j, &dropped);
    }
    return sum;
}

/* One thread for each entry and head, whose gradients come from all rows. */
static __global__ void attention_backward_distances(float *dbias, Attention a, AttentionBack back)
{
    const Attend &how = a.how;
    for (size_t t = thread_number(); t < how.distances * how.heads; t += thread_count()) {
        float sum = 0;
        for (size_t b = 0; b < how.rows; b++) {
            AttentionRow r = attention_row(a, b, t % how.heads);
            for (size_t i = 0; i < r.queries; i++)
                sum += gradient_at_distance(a, back, r, t / how.heads, i);
        }
        dbias[t] += sum;
    }
}

static __global__ void attention_backward_relative(Strided to, bool add, Attention a, AttentionBack back)
{
    const Attend &how = a.how;
    size_t dk = how.key_size, chunks = (dk + CHUNK - 1) / CHUNK;
    for (size_t t = thread_number(); t < how.distances * how.heads * chunks; t += thread_count()) {
        size_t e = t / chunks / how.heads, head = t / chunks % how.heads, from = t % chunks * CHUNK;
        size_t width = dk - from < CHUNK ? dk - from : CHUNK;
        const float *bias = head_of_bias(how.position_bias, head, dk);
        float sum[CHUNK] = {};
        for (size_t b = 0; b < how.rows; b++) {
            AttentionRow r = attention_row(a, b, head);
            for (size_t i = 0; i < r.queries; i++) {
                const Number *q = head_of(a.q, r.first_query + i, head, dk) + from;
                float ds = gradient_at_distance(a, back, r, e, i);
                for (size_t c = 0; ds != 0 && c < width; c++)
                    sum[c] += ds * (real(q[c]) + (bias ? bias[from + c] : 0));
            }
        }
        for (size_t c = 0; c < width; c++)
            store_gradient((Number *)to.data + e * to.stride + head * dk + from + c, add, (float)how.scale * sum[c]);
    }
}

static __global__ void zero_columns_kernel(Strided x, size_t rows, size_t columns)
{
    for (size_t t = thread_number(); t < rows * columns; t += thread_count())
        ((Number *)x.data)[t / columns * x.stride + t % columns] = number(0);
}

static void zero_columns(Stream *s, Strided x, bool add, size_t rows, size_t columns)
{
    if (x.data && !add)
        LAUNCH_EACH(s, zero_columns_kernel, rows * columns, x, rows, columns);
}

/* Zeros where the passes put none: keys after the valid ones of a row, and all positions where there is no row. */
static void zero_the_rest(Stream *s, const AttendGradients *d, const Attend *how)
{
    if (how->rows * how->longest_query == 0)
        zero_columns(s, d->q, d->add_q, how->queries, how->heads * how->key_size);
    if (how->key_length || how->rows * how->longest_key == 0) {
        zero_columns(s, d->k, d->add_k, how->keys, kv_heads(how) * how->key_size);
        zero_columns(s, d->v, d->add_v, how->keys, kv_heads(how) * how->value_size);
    }
}

/* Which rung backward is on: columns of the third, or a tile of the second, or neither. */
typedef struct Rung {
    unsigned columns, tile;
} Rung;

static void attention_backward_query_pass(Stream *s, const AttendGradients *d, const Attention &a, AttentionBack back,
                                          Rung rung)
{
    const Attend &how = a.how;
    size_t width = how.heads * how.key_size;
    if (!d->q.data && !d->content_bias && !d->position_bias)
        return;
    if (rung.columns)
        attention_queries_by_mma(s, d, back, a, rung.columns);
    else if (rung.tile)
        LAUNCH_TILES(s, attention_tiled_queries, rung.tile, how.heads, how.longest_query, true, a, d->q, d->add_q,
                     back);
    else
        LAUNCH_EACH(s, attention_backward_queries, how.rows * how.heads * how.longest_query, d->q, d->add_q, a, back);
    if (d->content_bias)
        sum_columns(s, AddTo{(float *)d->content_bias, NULL, width}, RowTerm{back.content, width}, how.queries, width);
    if (d->position_bias)
        sum_columns(s, AddTo{(float *)d->position_bias, NULL, width}, RowTerm{back.relative, width}, how.queries,
                    width);
}

static void attention_backward_key_pass(Stream *s, const AttendGradients *d, const Attention &a, AttentionBack back,
                                        Rung rung)
{
    size_t keys = a.how.rows * kv_heads(&a.how) * a.how.longest_key;
    if (!d->k.data && !d->v.data)
        return;
    if (rung.columns) {
        attention_keys_by_mma(s, d, back, a, rung.columns);
        return;
    }
    if (rung.tile) {
        LAUNCH_TILES(s, attention_tiled_keys, rung.tile, kv_heads(&a.how), a.how.longest_key, true, a, *d, back);
        return;
    }
    if (d->k.data)
        LAUNCH_EACH(s, attention_backward_keys, keys, d->k, d->add_k, false, a, back);
    if (d->v.data)
        LAUNCH_EACH(s, attention_backward_keys, keys, d->v, d->add_v, true, a, back);
}

static void attention_backward_distance_pass(Stream *s, const AttendGradients *d, const Attention &a,
                                             AttentionBack back)
{
    const Attend &how = a.how;
    size_t entries = how.distances * how.heads;
    zero_columns(s, d->relative, d->add_relative, how.distances, how.heads * how.key_size);
    if (d->distance_bias)
        LAUNCH_EACH(s, attention_backward_distances, entries, (float *)d->distance_bias, a, back);
    if (d->relative.data)
        LAUNCH_EACH(s, attention_backward_relative, entries * divide_up(how.key_size, CHUNK), d->relative, true, a,
                    back);
}

static void attention_backward(Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse,
                               Strided q, Strided k, Strided v, const Attend *how, const StepState *state)
{
    size_t heads = how->heads, dots = how->queries * heads, shares = dots * how->key_size;
    Attention a = {*how, chance_of(how->dropout), state, q, k, v};
    Rung rung = s->naive ? Rung{0, 0} : Rung{mma_columns(*how), tile_for(*how, true)};
    size_t more = rung.tile ? distances_size(*d, *how) : 0;
    float *memory = (float *)scratch(s, (dots + 2 * shares + more) * sizeof *memory);
    AttentionBack back = {(const Number *)dy, (const float *)lse, memory, NULL, NULL};
    back.content = d->content_bias ? memory + dots : NULL;
    back.relative = d->position_bias ? memory + dots + shares : NULL;
    if (back.content || back.relative)
        zero(s, memory + dots, 2 * shares * sizeof *memory); /* positions of no row */
    LAUNCH_ROWS(s, attention_dot_kernel, dots, memory, (const Number *)dy, (const Number *)y, dots, how->value_size);

    zero_the_rest(s, d, how);
    attention_backward_query_pass(s, d, a, back, rung);
    attention_backward_key_pass(s, d, a, back, rung);
    if (rung.tile && more)
        attention_distances_by_tiles(s, *d, back, a, rung.tile, memory + dots + 2 * shares);
    else
        attention_backward_distance_pass(s, d, a, back);
}
