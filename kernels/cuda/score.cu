/* What a query thinks of a key: its score. See kernels/plain/score.c for the formula. */

/* What every kernel of attention is told. */
typedef struct Attention {
    Attend how;
    Chance drop;
    const StepState *state;
    Strided q, k, v;
} Attention;

/* What the backward passes read beyond it. */
typedef struct AttentionBack {
    const Number *dy;          /* [N, H*dv] */
    const float *lse, *dot;    /* [N,H]; dot: dy . y */
    float *content, *relative; /* [N, H*dk] or NULL: each query's share of the gradients of the two biases */
} AttentionBack;

/* One head of one row of queries and its keys; kv: the head of keys and values that it reads. */
typedef struct AttentionRow {
    Keys keys;
    size_t b, head, kv, first_query, queries;
} AttentionRow;

static __device__ AttentionRow attention_row(const Attention &a, size_t b, size_t head)
{
    AttentionRow r = {};
    r.keys = keys_of_row(&a.how, b);
    r.b = b;
    r.head = head;
    r.kv = kv_head(&a.how, head);
    r.first_query = (size_t)a.how.query_start[b];
    r.queries = (size_t)a.how.query_start[b + 1] - r.first_query;
    return r;
}

/* The one that this block belongs to, of blocks [B, H, tiles]; or of keys [B, G, tiles]: the first of `group` heads. */
static __device__ AttentionRow row_of_block(const Attention &a, size_t tiles, size_t group = 1)
{
    size_t heads = a.how.heads / group;
    return attention_row(a, blockIdx.x / tiles / heads, blockIdx.x / tiles % heads * group);
}

/* Zeros for positions of no row, before the first row and after the last: by all threads of a launch together, beside
 * what they do for rows; not where something is added to x, or there is none. x [n, columns]; start [rows+1] */
static __device__ void zero_outside(const Strided &x, bool add, size_t columns, const int32_t *start, size_t rows,
                                    size_t n)
{
    if (!x.data || add)
        return;
    size_t before = (size_t)start[0], after = (size_t)start[rows], outside = before + n - after;
    size_t block = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
    for (size_t t = blockIdx.x * block + thread; t < outside * columns; t += gridDim.x * block) {
        size_t i = t / columns < before ? t / columns : t / columns - before + after;
        ((Number *)x.data)[i * x.stride + t % columns] = number(0);
    }
}

static __device__ void zero_outside_queries(const Attend &how, const Strided &x, bool add, size_t size)
{
    zero_outside(x, add, how.heads * size, how.query_start, how.rows, how.queries);
}

static __device__ void zero_outside_keys(const Attend &how, const Strided &x, bool add, size_t size)
{
    zero_outside(x, add, kv_heads(&how) * size, how.key_start, how.rows, how.keys);
}

/* The first key at j or after it that query i sees; after the last: the row's length. */
static __device__ size_t next_key(const Attention &a, const AttentionRow &r, size_t i, size_t j)
{
    return keys_next(&a.how, r.keys, i, j);
}

/* One head of one query, key or relative key: where its numbers are. */
static __device__ const Number *head_of(const Strided &x, size_t position, size_t head, size_t size)
{
    return (const Number *)x.data + position * x.stride + head * size;
}

static __device__ const float *head_of_bias(const void *bias, size_t head, size_t size)
{
    return bias ? (const float *)bias + head * size : NULL;
}

/* (x + bias) . y, in four sums, whose rounding is smaller than one's */
static __device__ float biased_dot(const Number *x, const float *bias, const Number *y, size_t n)
{
    float sum[4] = {};
    for (size_t c = 0; c < n; c++)
        sum[c % 4] += (real(x[c]) + (bias ? bias[c] : 0)) * real(y[c]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static __device__ size_t entry_of(const Attention &a, const AttentionRow &r, size_t i, size_t j)
{
    return distance_entry(&a.how, r.keys, i, j);
}

/* r[e]: the relative key for where key j is, seen from query i */
static __device__ const Number *relative_key(const Attention &a, const AttentionRow &r, size_t i, size_t j)
{
    return head_of(a.how.relative, entry_of(a, r, i, j), r.head, a.how.key_size);
}

/* c tanh(s / c), if there is a cap; and the slope of that where its result is s. */
static __device__ float capped(const Attend &how, float s)
{
    float cap = (float)how.cap;
    return cap > 0 ? cap * tanhf(s / cap) : s;
}

static __device__ float cap_slope(const Attend &how, float s)
{
    float part = how.cap > 0 ? s / (float)how.cap : 0;
    return 1 - part * part;
}

static __device__ float score(const Attention &a, const AttentionRow &r, size_t i, size_t j)
{
    size_t dk = a.how.key_size;
    const Number *q = head_of(a.q, r.first_query + i, r.head, dk);
    const Number *k = head_of(a.k, r.keys.start + j, r.kv, dk);
    float sum = biased_dot(q, head_of_bias(a.how.content_bias, r.head, dk), k, dk);
    if (a.how.relative.data)
        sum += biased_dot(q, head_of_bias(a.how.position_bias, r.head, dk), relative_key(a, r, i, j), dk);
    sum *= (float)a.how.scale;
    const float *bias = (const float *)a.how.distance_bias;
    return capped(a.how, bias ? sum + bias[entry_of(a, r, i, j) * a.how.heads + r.head] : sum);
}

/* The logarithm of a softmax's denominator, to take from scores: 0 in place of -infinity, because where no score is
 * above it none has a weight, and -infinity less -infinity is NaN. */
static __device__ inline float lse_of_scores(float lse) { return lse == -INFINITY ? 0 : lse; }

/* The factor of dropout on the weight of query i and key j. */
static __device__ float drop_factor(const Attention &a, const AttentionRow &r, size_t i, size_t j)
{
    return dropout_factor(a.drop, a.state, r.first_query + i, r.head, j);
}

/* The queries that may see key j: those before it do not, where attention is causal. */
static __device__ size_t first_query_for(const Attention &a, const AttentionRow &r, size_t j)
{
    return a.how.causal && j > r.keys.offset ? j - r.keys.offset : 0;
}
