/* Attention in bfloat16 where no instruction multiplies pairs of it: numbers become floats, attention in f32 runs on them,
 * and its results are rounded. That is a pass over each operand and result, where the products pass over each many
 * times; made within the products, floats would take longer than they do. */

/* [rows, groups * each] of numbers, and where their floats are. A group of columns belongs to one head of keys. */
typedef struct Wide {
    Strided of, floats; /* .data NULL: there is none */
    size_t rows, groups, each;
    bool add; /* of a gradient */
} Wide;

enum { WIDE_Q, WIDE_RELATIVE, WIDE_DY, WIDE_Y, WIDE_K, WIDE_V, WIDE_DQ, WIDE_DRELATIVE, WIDE_DK, WIDE_DV, WIDES };

typedef struct WideWork {
    const Attend *how;
    Wide x[WIDES];
    size_t numbers; /* that are widened */
} WideWork;

static void widen_rows(const Wide *x, size_t first, size_t end, size_t group)
{
    for (size_t i = first; x->of.data && i < end; i++) {
        const Number *from = (const Number *)x->of.data + i * x->of.stride + group * x->each;
        float *to = (float *)x->floats.data + i * x->floats.stride + group * x->each;
        for (size_t j = 0; j < x->each; j += WIDTH)
            store_real(to + j, load(from + j, x->each - j), x->each - j);
    }
}

/* Keys and values that a query sees: a cache may hold much more. Beams that share a row are neighbours. */
static void widen_keys(const WideWork *w, const Wide *x, size_t group)
{
    const Attend *how = w->how;
    for (size_t b = 0; b < how->rows; b++) {
        const Keys keys = keys_of_row(how, b);
        const size_t queries = (size_t)(how->query_start[b + 1] - how->query_start[b]);
        const size_t at = keys.start + (how->by_head ? group * how->keys : 0);
        if (queries)
            widen_rows(x, at + keys_first(how, keys, 0), at + keys_end(how, keys, queries - 1),
                       how->by_head ? 0 : group);
    }
}

static void widen_groups(void *argument, size_t member, size_t first, size_t end)
{
    const WideWork *w = argument;
    (void)member;
    for (size_t group = first; group < end; group++) {
        for (size_t i = WIDE_Q; i < WIDE_K; i++)
            widen_rows(&w->x[i], 0, w->x[i].rows, group);
        widen_keys(w, &w->x[WIDE_K], group);
        widen_keys(w, &w->x[WIDE_V], group);
    }
}

static void narrow_groups(void *argument, size_t member, size_t first, size_t end)
{
    const WideWork *w = argument;
    (void)member;
    for (const Wide *x = w->x; x < w->x + WIDES; x++)
        for (size_t i = 0; x->of.data && (x == w->x + WIDE_Y || x >= w->x + WIDE_DQ) && i < x->rows; i++) {
            const float *from = (const float *)x->floats.data + i * x->floats.stride;
            Number *to = (Number *)x->of.data + i * x->of.stride;
            for (size_t j = first * x->each; j < end * x->each; j += WIDTH)
                store_gradient(to + j, x->add, load_real(from + j, end * x->each - j), end * x->each - j);
        }
}

static void wide_share(Stream *s, WideWork *w, TeamWork work)
{
    stream_share(s, (Shared){kv_heads(w->how), 1, w->numbers * STREAMED, work, w});
}

static void wide_open(WideWork *w, const Attend *how, Strided q, Strided k, Strided v, const void *y)
{
    const size_t groups = kv_heads(how), heads = heads_per_kv(how), columns = how->heads * how->value_size;
    const size_t rows = how->by_head ? how->keys * groups : how->keys;
    *w = (WideWork){.how = how};
    w->x[WIDE_Q] = (Wide){.of = q, .rows = how->queries, .each = heads * how->key_size};
    w->x[WIDE_RELATIVE] = (Wide){.of = how->relative, .rows = how->distances, .each = heads * how->key_size};
    w->x[WIDE_Y] = (Wide){{(void *)(uintptr_t)y, columns}, .rows = how->queries, .each = heads * how->value_size};
    w->x[WIDE_K] = (Wide){.of = k, .rows = rows, .each = how->key_size};
    w->x[WIDE_V] = (Wide){.of = v, .rows = rows, .each = how->value_size};
}

/* Gives each that is there a place, unless there is no memory. */
static bool wide_place(WideWork *w, Stream *s)
{
    const size_t groups = kv_heads(w->how);
    size_t size[WIDES], all = 0;
    for (size_t i = 0; i < WIDES; i++) {
        Wide *x = &w->x[i];
        const bool by_head = w->how->by_head && (i == WIDE_K || i == WIDE_V);
        x->floats.stride = x->each * (by_head ? 1 : groups);
        size[i] = x->of.data ? round_up(x->rows * x->floats.stride, WIDTH) : 0;
        all += size[i];
    }
    w->numbers = all;
    float *at = stream_floats(s, all);
    for (size_t i = 0; i < WIDES && at; at += size[i++])
        w->x[i].floats.data = w->x[i].of.data ? at : NULL;
    return at != NULL;
}

static void attention_forward(Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how,
                              const StepState *state)
{
    WideWork w;
    Attend wide = *how;
    wide_open(&w, how, q, k, v, y);
    if (!wide_place(&w, s))
        return;
    const Wide *x = w.x;
    wide.relative = x[WIDE_RELATIVE].floats;
    w.x[WIDE_Y].of.data = NULL; /* nothing is in it yet */
    wide_share(s, &w, widen_groups);
    w.x[WIDE_Y].of.data = y;
    cpu_f32.attention_forward(s, x[WIDE_Y].floats.data, lse, x[WIDE_Q].floats, x[WIDE_K].floats, x[WIDE_V].floats,
                              &wide, state);
    wide_share(s, &w, narrow_groups);
}

static void attention_backward(Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse,
                               Strided q, Strided k, Strided v, const Attend *how, const StepState *state)
{
    const Strided to[] = {d->q, d->relative, d->k, d->v};
    const bool add[] = {d->add_q, d->add_relative, d->add_k, d->add_v};
    static const size_t of[] = {WIDE_Q, WIDE_RELATIVE, WIDE_K, WIDE_V};
    WideWork w;
    Wide *x = w.x;
    Attend wide = *how;
    AttendGradients sums = *d;
    wide_open(&w, how, q, k, v, y);
    x[WIDE_DY] = x[WIDE_Y];
    x[WIDE_DY].of.data = (void *)(uintptr_t)dy;
    for (size_t i = 0; i < 4; i++) {
        x[WIDE_DQ + i] = x[of[i]];
        x[WIDE_DQ + i].of = to[i];
        x[WIDE_DQ + i].add = add[i];
    }
    if (!wide_place(&w, s))
        return;
    wide.relative = x[WIDE_RELATIVE].floats;
    sums.q = x[WIDE_DQ].floats, sums.k = x[WIDE_DK].floats, sums.v = x[WIDE_DV].floats;
    sums.relative = x[WIDE_DRELATIVE].floats;
    sums.add_q = sums.add_k = sums.add_v = sums.add_relative = false;
    wide_share(s, &w, widen_groups);
    cpu_f32.attention_backward(s, &sums, x[WIDE_DY].floats.data, x[WIDE_Y].floats.data, lse, x[WIDE_Q].floats,
                               x[WIDE_K].floats, x[WIDE_V].floats, &wide, state);
    x[WIDE_Y].of.data = NULL; /* only read here */
    wide_share(s, &w, narrow_groups);
}
