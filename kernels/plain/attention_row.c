/* What attention.c reads of its arguments for one row of queries, one head at a time: where the numbers of a query, a key
 * and a value are, in a batch or in a cache, and which keys a query sees. */
typedef struct AttentionRow {
    const Attend *how;
    const StepState *state;
    Strided q, k, v;
    Keys keys;
    size_t first_query, queries;
    size_t head;
} AttentionRow;

/* What a backward pass needs beside the row. */
typedef struct AttentionBack {
    const Number *dy, *y; /* [N, H*dv] */
    const Real *lse;      /* [N,H] */
} AttentionBack;

static Real score_gradient(const AttentionRow *r, const AttentionBack *back, size_t i, size_t j, Real *dropped);

static AttentionRow attention_row(const Attend *how, const StepState *state, Strided q, Strided k, Strided v, size_t b)
{
    size_t first = (size_t)how->query_start[b];
    return (AttentionRow){how, state, q, k, v, keys_of_row(how, b), first, (size_t)how->query_start[b + 1] - first, 0};
}

/* One head of one position's query, key, value or relative key. */
static Number *head_of(Strided x, size_t position, size_t head, size_t size)
{
    return (Number *)x.data + position * x.stride + head * size;
}

static const Number *query_of(const AttentionRow *r, size_t i)
{
    return head_of(r->q, r->first_query + i, r->head, r->how->key_size);
}

/* Key or value number j of the row. */
static const Number *remembered(const AttentionRow *r, Strided x, size_t j, size_t size)
{
    size_t position = r->keys.start + j, head = kv_head(r->how, r->head);
    return r->how->by_head ? head_of(x, head * r->how->keys + position, 0, size) : head_of(x, position, head, size);
}

static const Number *key_of(const AttentionRow *r, size_t j) { return remembered(r, r->k, j, r->how->key_size); }
static const Number *value_of(const AttentionRow *r, size_t j) { return remembered(r, r->v, j, r->how->value_size); }

/* The first key from j on that query i sees; after the last: the row's length. */
static size_t next_key(const AttentionRow *r, size_t i, size_t j) { return keys_next(r->how, r->keys, i, j); }

static Real drop_factor(const AttentionRow *r, size_t i, size_t j)
{
    return (Real)dropout_factor(r->how->dropout, r->state, r->first_query + i, r->head, j);
}

/* Zeros for a gradient that is written rather than added to: positions of no row, and keys that no query sees. */
static void zero_gradient(Strided x, bool add, size_t rows, size_t columns)
{
    for (size_t i = 0; x.data && !add && i < rows; i++)
        memset((Number *)x.data + i * x.stride, 0, columns * sizeof(Number));
}
