/* One head of one row of queries: its sizes, its scratch memory, and which keys a tile of its queries looks at; and
 * what all rows and heads of a call share. */

enum {
    QUERIES = 32,                                    /* of a tile */
    SPAN_END = WIDTH > TILE_ROWS ? WIDTH : TILE_ROWS /* keys are columns of some products, and rows of others */
};

/* One head of one row: sizes, padded sizes, and where its numbers are. */
typedef struct HeadView {
    const Attend *how;
    const StepState *state;
    Keys keys;
    size_t first_query, queries, head, b;
    size_t dk, dv, dk_wide, dv_wide; /* wide: rounded up to whole vectors */
    size_t key_wide;                 /* whole groups of FACTORS keys */
    size_t key_row;                  /* from one row of scores to the next */
    Range seen;                      /* keys that any query sees: no other is looked at */
    bool terms;  /* there is more to a score than q . k, or keys have gaps: see score.c, which then finishes scores */
    float scale; /* what scores in scratch memory are still to be multiplied with */
    Strided q, k, v;
} HeadView;

typedef struct AttentionWork {
    Stream *s;
    const Attend *how;
    const StepState *state;
    Strided q, k, v;
    const AttendGradients *d;
    Number *y;
    const Number *dy;
    float *lse;
} AttentionWork;

/* Whether there is more to a score than q . k; or it may be hidden between others. */
static bool has_terms(const Attend *how)
{
    return keys_have_gaps(how) || how->cap > 0 || how->distance_bias || how->relative.data || how->content_bias;
}

/* The keys that any query of first .. first+count-1 sees. */
static Range keys_seen(const Attend *how, Keys keys, size_t first, size_t count)
{
    Range seen = {keys.length, 0};
    for (size_t i = first; i < first + count; i++) {
        size_t low = keys_first(how, keys, i), high = keys_end(how, keys, i);
        if (low >= high)
            continue;
        seen.from = low < seen.from ? low : seen.from;
        seen.to = high > seen.to ? high : seen.to;
    }
    return seen.from < seen.to ? seen : (Range){0, 0};
}

/* A vector more than keys: rows whose lengths are powers of two would all begin in the same few sets of the first-level
 * cache, and a column of them would not fit into these. */
static size_t row_of_scores(size_t key_wide) { return key_wide + WIDTH; }

static HeadView head_view(const Attend *how, const StepState *state, Strided q, Strided k, Strided v, size_t b,
                          size_t head)
{
    size_t first = (size_t)how->query_start[b];
    HeadView h = {.how = how,
                  .state = state,
                  .keys = keys_of_row(how, b),
                  .first_query = first,
                  .queries = (size_t)how->query_start[b + 1] - first,
                  .head = head,
                  .b = b,
                  .dk = how->key_size,
                  .dv = how->value_size,
                  .terms = has_terms(how),
                  .q = q,
                  .k = k,
                  .v = v};
    h.scale = h.terms ? 1 : (float)how->scale;
    h.dk_wide = round_up(h.dk, WIDTH);
    h.dv_wide = round_up(h.dv, WIDTH);
    h.key_wide = round_up(h.keys.length, FACTORS);
    h.key_row = row_of_scores(h.key_wide);
    h.seen = keys_seen(how, h.keys, 0, h.queries);
    return h;
}

/* Keys to which the biases of distances give -infinity from some distance on, as those of a span do, are not looked at:
 * for this head alone, they are outside a window, which is in `own`. */
static void end_at_span(HeadView *h, const Attend *how, Attend *own)
{
    const float *bias = how->distance_bias;
    size_t count = how->distances;
    if (!bias || how->sinks || how->block)
        return;
    while (count && bias[(count - 1) * how->heads + h->head] == -INFINITY)
        count--;
    *own = *how;
    if (count < how->distances && !(how->window && how->window + how->ahead < count))
        own->window = count > how->ahead + 1 ? count - how->ahead : 1;
    h->how = own;
    h->seen = keys_seen(own, h->keys, 0, h->queries);
}

static const Number *numbers_of(Strided x, size_t position, size_t head, size_t size)
{
    return (const Number *)x.data + position * x.stride + head * size;
}

/* A head's keys or values, from number `key` of the row on. */
static const Number *keys_from(const HeadView *h, Strided x, size_t key, size_t size)
{
    size_t position = h->keys.start + key, head = kv_head(h->how, h->head);
    return h->how->by_head ? numbers_of(x, head * h->how->keys + position, 0, size)
                           : numbers_of(x, position, head, size);
}

/* Scratch memory of one head, forward and backward: sizes in units of 32 bits. In f32, p is in s and ds in dp. */
typedef struct HeadScratch {
    Range *spans;                  /* keys of a tile of queries */
    Unit *k_transposed, *v_pairs;  /* [dk units, keys], [key pairs, dv] */
    Unit *q;                       /* [QUERIES, dk units] */
    float *s, *y;                  /* [QUERIES, keys], [QUERIES, dv] */
    Unit *p;                       /* weights [QUERIES, keys] as numbers, or backward [query pairs, keys] */
    Unit *v_transposed, *k_pairs;  /* backward */
    Unit *dy, *q_pairs, *dy_pairs; /* of a tile */
    float *dp, *dq, *dk, *dv;
    Unit *ds, *ds_pairs; /* [QUERIES, keys] as numbers, and [query pairs, keys] */

    /* Where keys have gaps: which chunks of FACTORS keys a tile looks at, which keys anybody sees, and keys or values of those */
    unsigned char *chunks, *seen;
    Number *cleared; /* [keys, dk or dv] */

    /* For more terms of a score: what each key adds, and each of `reach` distances, spread out as score.c says */
    float *key_term, *dkey; /* [keys] */
    size_t reach;
    float *distance_term, *ddistance;           /* [reach] */
    Number *relative;                           /* [reach, dk] */
    Unit *relative_transposed, *relative_pairs; /* [dk units, reach], [reach pairs, dk] */
    float *far, *dr;                            /* [QUERIES, columns of a tile], [reach, dk] */
    Unit *dfar, *dfar_pairs;                    /* as far, as numbers and as query pairs */
    float *drelative;                           /* [H, distances, dk], of all rows */
} HeadScratch;

static void *carve(Unit **at, size_t units)
{
    Unit *from = *at;
    *at += round_up(units, FACTORS);
    return from;
}

static void lay_out_gaps(HeadScratch *w, Unit **at, size_t keys, size_t size)
{
    w->chunks = carve(at, keys / FACTORS);
    w->seen = carve(at, keys);
    w->cleared = carve(at, keys * size);
}

static void lay_out_terms(HeadScratch *w, Unit **at, const Attend *how, size_t keys, bool backward)
{
    size_t dk = round_up(how->key_size, WIDTH), tile = QUERIES * round_up(keys + QUERIES + 2 * WIDTH, SPAN_END);
    size_t reach = w->reach = round_up(how->longest_query + keys + SPAN_END, FACTORS);
    w->key_term = carve(at, keys);
    w->dkey = carve(at, keys);
    w->distance_term = carve(at, reach);
    w->ddistance = carve(at, reach);
    if (!how->relative.data)
        return;
    w->relative = carve(at, reach * dk);
    w->relative_transposed = carve(at, reach * dk);
    w->far = carve(at, tile);
    if (!backward)
        return;
    w->relative_pairs = carve(at, reach * dk);
    w->dr = carve(at, reach * dk);
    w->dfar = carve(at, tile);
    w->dfar_pairs = PAIRS ? carve(at, tile) : w->dfar;
    w->drelative = carve(at, how->heads * how->distances * dk);
}

/* Lays the arrays out from `at` on; returns how many units that takes. */
static size_t lay_out(HeadScratch *w, Unit *at, const Attend *how, bool backward)
{
    Unit *begin = at;
    size_t keys = round_up(how->longest_key, FACTORS), row = row_of_scores(keys);
    size_t dk = round_up(how->key_size, WIDTH), dv = round_up(how->value_size, WIDTH);
    *w = (HeadScratch){.spans = carve(&at, (keys / FACTORS + 1) * (sizeof *w->spans / sizeof *at))};
    w->k_transposed = carve(&at, row * dk);
    w->v_pairs = carve(&at, keys * dv);
    w->q = carve(&at, QUERIES * dk);
    w->s = carve(&at, QUERIES * row);
    w->y = carve(&at, QUERIES * dv);
    w->p = PAIRS ? carve(&at, QUERIES * row) : (void *)w->s;
    if (backward) {
        w->v_transposed = carve(&at, row * dv);
        w->k_pairs = carve(&at, keys * dk);
        w->dy = carve(&at, QUERIES * dv);
        w->q_pairs = carve(&at, QUERIES * dk);
        w->dy_pairs = carve(&at, QUERIES * dv);
        w->dp = carve(&at, QUERIES * row);
        w->dq = carve(&at, QUERIES * dk);
        w->dk = carve(&at, keys * dk);
        w->dv = carve(&at, keys * dv);
        w->ds = PAIRS ? carve(&at, QUERIES * row) : (void *)w->dp;
        w->ds_pairs = PAIRS ? carve(&at, QUERIES * row) : (void *)w->dp;
    }
    if (keys_have_gaps(how))
        lay_out_gaps(w, &at, keys, dk > dv ? dk : dv);
    if (has_terms(how))
        lay_out_terms(w, &at, how, keys, backward);
    return (size_t)(at - begin);
}

/* --- the keys of a tile of queries --- */

/* Marks the chunks of FACTORS keys in which queries first .. first+count-1 see one. */
static void mark_chunks(const HeadView *h, unsigned char *chunks, size_t first, size_t count)
{
    memset(chunks, 0, h->key_wide / FACTORS);
    for (size_t i = first; i < first + count; i++)
        for (Range run = keys_run(h->how, h->keys, i, 0); run.from < run.to; run = keys_run(h->how, h->keys, i, run.to))
            for (size_t chunk = run.from / FACTORS; chunk * FACTORS < run.to; chunk++)
                chunks[chunk] = 1;
}

/* The keys that a tile of queries looks at, as spans that begin where dropout's factors do and end where tiles do: one,
 * or where they have gaps as many as are apart, at least one. Returns how many. */
static size_t keys_of_tile(const HeadView *h, const HeadScratch *w, size_t first, size_t count)
{
    if (!keys_have_gaps(h->how)) {
        Range seen = keys_seen(h->how, h->keys, first, count);
        w->spans[0] = (Range){seen.from / FACTORS * FACTORS, round_up(seen.to, SPAN_END)};
        return 1;
    }
    size_t n = 0;
    mark_chunks(h, w->chunks, first, count);
    w->spans[0] = (Range){0, 0};
    for (size_t chunk = 0; chunk < h->key_wide / FACTORS; chunk++) {
        size_t from = chunk * FACTORS, to = from + FACTORS;
        if (w->chunks[chunk] && n && w->spans[n - 1].to == from)
            w->spans[n - 1].to = to;
        else if (w->chunks[chunk])
            w->spans[n++] = (Range){from, to};
    }
    return n ? n : 1;
}

/* all ones in the lanes of keys j .. j+WIDTH-1 that are in first .. end-1 */
INLINE IVec live_lanes(size_t j, size_t first, size_t end)
{
    IVec mask = vec_first(j >= end ? 0 : end - j < WIDTH ? end - j : WIDTH);
    return first <= j ? mask : mask & ~vec_first(first - j < WIDTH ? first - j : WIDTH);
}

INLINE bool whole(size_t j, size_t first, size_t end) { return j >= first && j + WIDTH <= end; }

/* shared [QUERIES] = dY . Y of a tile's queries */
static void shared_of_tile(float *shared, const AttentionWork *a, const HeadView *h, size_t first, size_t count)
{
    memset(shared, 0, QUERIES * sizeof *shared);
    for (size_t row = 0; row < count; row += WIDTH) {
        Vec lanes[WIDTH] = {{0}};
        for (size_t i = 0; i < WIDTH && row + i < count; i++) {
            size_t at = ((h->first_query + first + row + i) * a->how->heads + h->head) * h->dv;
            lanes[i] = long_product(a->dy + at, a->y + at, h->dv);
        }
        vec_store(shared + row, vec_sums(lanes));
    }
}
