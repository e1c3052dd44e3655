/* The scores of a tile of queries, and where their gradients go. See kernels/plain/score.c for the formula.
 *
 * Most of the time a score is q . k, and all of this is one product. What else there may be falls into what a key adds,
 * u . k, what a distance adds, v . r and a bias, and q . r. Distances are spread out for each row: column
 * e = j + queries - 1 - i has what the table holds for the distance from query i to key j, so that one query's keys are
 * neighbours, and the next query's are one column before:
 *
 *     S = (Q K^T + shift(Q R^T)) scale + key term + shift(distance term)
 *
 * where row i of what is shifted is read from column queries - 1 - i on; a cap is applied to the sum. Backward, dS is added
 * up over queries, by keys and shifted by columns, and its rows go to dFar at their columns, with zeros around them:
 *
 *     dQ = dS K + dFar R      dK = dS^T Q + dkey u      dR = dFar^T Q + ddistance v      du = dkey K      dv = ddistance R
 *
 * At the end of a row what was spread out is folded back into the tables. */

/* --- what a row needs before its first tile --- */

/* The columns that any query looks at, among those of all keys. */
static Range columns_seen(const HeadView *h)
{
    size_t last = h->keys.offset + h->queries - 1; /* the column at which the key is the query's own position */
    Range seen = {0, h->queries && h->keys.length ? h->queries + h->keys.length - 1 : 0};
    if (h->how->causal && last + 1 < seen.to)
        seen.to = last + 1;
    if (!h->how->sinks)
        seen.from = window_first(h->how, last);
    return seen.from < seen.to ? seen : (Range){0, 0};
}

/* The table's entry for a column. */
static size_t entry_at(const HeadView *h, size_t column)
{
    size_t last = h->queries - 1;
    return column < last ? distance_entry(h->how, h->keys, last - column, 0)
                         : distance_entry(h->how, h->keys, 0, column - last);
}

/* x . y of reals and numbers */
static float real_dot(const float *x, const Number *y, size_t n)
{
    Vec sum = {0};
    for (size_t i = 0; i < n; i += WIDTH)
        sum += load_real(x + i, n - i) * load(y + i, n - i);
    return vec_sum(sum);
}

/* One head of u or v, or NULL */
static const float *bias_of(const HeadView *h, const void *bias)
{
    return bias ? (const float *)bias + h->head * h->dk : NULL;
}

static void spread_relative(const HeadView *h, const HeadScratch *w)
{
    Range seen = columns_seen(h);
    for (size_t e = seen.from; e < seen.to; e++)
        memcpy(w->relative + e * h->dk, numbers_of(h->how->relative, entry_at(h, e), h->head, h->dk),
               h->dk * sizeof *w->relative);
}

/* What has been spread out, as the products of tiles want it. */
static void pack_relative(const HeadView *h, const HeadScratch *w, bool backward)
{
    Range seen = columns_seen(h);
    pack_transposed(w->relative_transposed, w->reach, w->relative, h->dk, seen, w->reach, h->dk, h->dk_wide);
    if (!backward)
        return;
    pack_pairs(w->relative_pairs, w->relative, h->dk, seen, w->reach, h->dk, h->dk_wide);
    memset(w->dr, 0, w->reach * h->dk_wide * sizeof *w->dr);
}

/* Which keys any query sees, where they have gaps. */
static void mark_seen(const HeadView *h, unsigned char *seen)
{
    memset(seen, 0, h->keys.length);
    for (size_t i = 0; i < h->queries; i++)
        for (Range run = keys_run(h->how, h->keys, i, 0); run.from < run.to; run = keys_run(h->how, h->keys, i, run.to))
            memset(seen + run.from, 1, run.to - run.from);
}

/* What keys and columns add to the scores of a row. */
static void prepare_terms(const HeadView *h, const HeadScratch *w)
{
    const Attend *how = h->how;
    const float *table = how->distance_bias, *u = bias_of(h, how->content_bias), *v = bias_of(h, how->position_bias);
    float scale = (float)how->scale;
    Range seen = columns_seen(h);

    if (keys_have_gaps(how))
        mark_seen(h, w->seen);
    if (how->relative.data)
        spread_relative(h, w);
    memset(w->key_term, 0, h->key_wide * sizeof *w->key_term);
    for (size_t j = h->seen.from; u && j < h->seen.to; j++)
        w->key_term[j] = scale * real_dot(u, keys_from(h, h->k, j, h->dk), h->dk);
    memset(w->distance_term, 0, w->reach * sizeof *w->distance_term);
    for (size_t e = seen.from; e < seen.to; e++) {
        float bias = table ? table[entry_at(h, e) * how->heads + h->head] : 0;
        w->distance_term[e] = bias +
                              (v && how->relative.data ? scale * real_dot(v, w->relative + e * h->dk, h->dk) : 0);
    }
}

/* The same for tiles, and zeros where their gradients will be added up. */
static void prepare_tiles(const HeadView *h, const HeadScratch *w, bool backward)
{
    prepare_terms(h, w);
    if (h->how->relative.data)
        pack_relative(h, w, backward);
    if (!backward)
        return;
    memset(w->dkey, 0, h->key_wide * sizeof *w->dkey);
    memset(w->ddistance, 0, w->reach * sizeof *w->ddistance);
}

/* One head's keys or values as they are stored; or where they have gaps a copy in which those that no query sees are 0, because
 * they may hold anything, and share tiles with others. */
static Strided cleared(const HeadView *h, const HeadScratch *w, Strided x, size_t size)
{
    const Number *from = keys_from(h, x, 0, size);
    if (!keys_have_gaps(h->how))
        return (Strided){(void *)(uintptr_t)from, x.stride};
    for (size_t j = 0; j < h->keys.length; j++)
        if (w->seen[j])
            memcpy(w->cleared + j * size, from + j * x.stride, size * sizeof *from);
        else
            memset(w->cleared + j * size, 0, size * sizeof *from);
    return (Strided){w->cleared, size};
}

/* --- a tile --- */

/* The columns that `count` queries look at in a span of keys, from a whole unit on, and as long as a span may be: they are
 * rows of dR's product. */
static Range columns_of(const HeadView *h, Range span, size_t first, size_t count)
{
    size_t from = span.from + h->queries - (first + count), to = span.to + h->queries - (first + 1);
    from = from / PER_UNIT * PER_UNIT;
    return (Range){from, from + round_up(to - from, SPAN_END)};
}

/* c tanh(s / c), if there is a cap. */
INLINE Vec capped(const Attend *how, Vec s)
{
    float cap = (float)how->cap;
    return cap > 0 ? vec_tanh(s / cap) * cap : s;
}

/* The scores of query i, whose products with keys first .. first+count-1 are in s; w->far is as long. */
static void query_terms(const HeadView *h, const HeadScratch *w, const Number *q, size_t i, size_t first, size_t count)
{
    size_t column = first + h->queries - 1 - i;
    float scale = (float)h->how->scale;
    bool relative = h->how->relative.data;
    if (relative)
        dot_rows(w->far, q, w->relative + column * h->dk, h->dk, count, h->dk);
    for (size_t j = 0; j < count; j += WIDTH) {
        size_t left = count - j;
        Vec score = load_real(w->s + first + j, left);
        if (relative)
            score += load_real(w->far + j, left);
        score = score * scale + load_real(w->key_term + first + j, left) +
                load_real(w->distance_term + column + j, left);
        store_real(w->s + first + j, capped(h->how, score), left);
    }
}

/* Keys of a span that query i does not see. */
static void hide_keys(const HeadView *h, float *s, Range span, size_t i)
{
    for (size_t j = span.from; j < span.to;) {
        Range run = keys_run(h->how, h->keys, i, j);
        size_t next = run.from < run.to && run.from < span.to ? run.from : span.to;
        while (j < next)
            s[j++] = -INFINITY;
        j = run.to > j ? run.to : j;
    }
}

/* Adds to the products of a tile what else there is to its scores. */
static void add_terms(const HeadView *h, const HeadScratch *w, Range span, size_t first, size_t count)
{
    Range columns = columns_of(h, span, first, count);
    size_t wide = columns.to - columns.from, units = h->dk_wide / PER_UNIT;
    float scale = (float)h->how->scale;
    bool relative = h->how->relative.data;
    if (relative)
        tiles(w->far, wide, false, w->q, units, 1, w->relative_transposed + columns.from, w->reach,
              round_up(count, TILE_ROWS), wide, units, PAIRS);
    for (size_t i = 0; i < count; i++) {
        float *s = w->s + i * h->key_row + span.from;
        size_t column = span.from + h->queries - 1 - (first + i);
        for (size_t j = 0; j < span.to - span.from; j += WIDTH) {
            Vec score = vec_load(s + j);
            if (relative)
                score += vec_load(w->far + i * wide + (column - columns.from) + j);
            score = score * scale + vec_load(w->key_term + span.from + j) + vec_load(w->distance_term + column + j);
            vec_store(s + j, capped(h->how, score));
        }
    }
}

/* q . k of some rows of a tile and a span of keys; its queries are packed. */
static void tile_products(const HeadView *h, const HeadScratch *w, Range span, size_t row, size_t rows)
{
    size_t units = h->dk_wide / PER_UNIT;
    tiles(w->s + row * h->key_row + span.from, h->key_row, false, w->q + row * units, units, 1,
          w->k_transposed + span.from, h->key_row, rows, span.to - span.from, units, PAIRS);
}

/* S of a tile, for a span of keys */
static void tile_scores(const HeadView *h, const HeadScratch *w, Range span, size_t first, size_t count)
{
    tile_products(h, w, span, 0, round_up(count, TILE_ROWS));
    if (h->terms)
        add_terms(h, w, span, first, count);
    for (size_t i = 0; keys_have_gaps(h->how) && i < count; i++)
        hide_keys(h, w->s + i * h->key_row, span, first + i);
}

/* --- backward --- */

/* dFar of a span: rows of dS, each at its own columns. */
static void shift_gradients(const HeadView *h, const HeadScratch *w, Range span, Range columns, size_t first,
                            size_t count)
{
    size_t wide = columns.to - columns.from;
    Number *to = (Number *)(void *)w->dfar;
    memset(to, 0, QUERIES * wide * sizeof *to);
    for (size_t i = 0; i < count; i++) {
        size_t column = span.from + h->queries - 1 - (first + i) - columns.from;
        memcpy(to + i * wide + column, (Number *)(void *)w->ds + i * h->key_row + span.from,
               (span.to - span.from) * sizeof *to);
    }
}

/* dS of a span to the gradients of the terms, and to dQ, where relative keys add their part. */
static void tile_terms_backward(const HeadView *h, const HeadScratch *w, Range span, size_t first, size_t count)
{
    Range columns = columns_of(h, span, first, count);
    size_t wide = columns.to - columns.from, keys = span.to - span.from;
    for (size_t i = 0; i < count; i++) {
        const Number *ds = (Number *)(void *)w->ds + i * h->key_row + span.from;
        float *key = w->dkey + span.from, *column = w->ddistance + span.from + h->queries - 1 - (first + i);
        for (size_t j = 0; j < keys; j += WIDTH) {
            vec_store(key + j, vec_load(key + j) + load_whole(ds + j));
            vec_store(column + j, vec_load(column + j) + load_whole(ds + j));
        }
    }
    if (!h->how->relative.data)
        return;
    shift_gradients(h, w, span, columns, first, count);
    tiles(w->dq, h->dk_wide, true, w->dfar, wide / PER_UNIT, 1,
          w->relative_pairs + columns.from / PER_UNIT * h->dk_wide, h->dk_wide, QUERIES, h->dk_wide, wide / PER_UNIT,
          PAIRS);
    if (PAIRS)
        pack_pairs(w->dfar_pairs, (Number *)(void *)w->dfar, wide, (Range){0, QUERIES}, QUERIES, wide, wide);
    tiles(w->dr + columns.from * h->dk_wide, h->dk_wide, true, w->dfar_pairs, 1, wide, w->q_pairs, h->dk_wide, wide,
          h->dk_wide, QUERIES / PER_UNIT, PAIRS);
}

/* The end of a row for content or position bias (NULL: there is none): s = bias . x[n] is in the scores of each row
 * x[n] of keys, ds[n] is the sum of their gradients. Adds ds bias to dx, and scale ds x to dbias (NULL: not wanted). A
 * ds of 0 does not look at its x. */
static void bias_backward(const HeadView *h, float *dbias, float *dx, const float *ds, const float *bias, Strided x,
                          Range rows)
{
    for (size_t c = 0; bias && c < h->dk; c += WIDTH) {
        size_t left = h->dk - c;
        Vec u = load_real(bias + c, left), sum = {0};
        for (size_t n = rows.from; n < rows.to; n++) {
            vec_store(dx + n * h->dk_wide + c, vec_load(dx + n * h->dk_wide + c) + u * ds[n]);
            if (ds[n] != 0)
                sum += load((const Number *)x.data + n * x.stride + c, left) * ds[n];
        }
        if (dbias)
            store_real(dbias + c, load_real(dbias + c, left) + sum * (float)h->how->scale, left);
    }
}

/* One head of a bias's gradient, or NULL */
static float *gradient_of(const HeadView *h, void *dbias) { return dbias ? (float *)dbias + h->head * h->dk : NULL; }

/* The end of a row: what was added up by keys and columns goes to keys and biases, and into the tables. */
static void finish_terms(const HeadView *h, const HeadScratch *w, const AttendGradients *d)
{
    const Attend *how = h->how;
    Range seen = columns_seen(h);
    float *bias = d->distance_bias;
    Strided k = {(void *)(uintptr_t)keys_from(h, h->k, 0, h->dk), h->k.stride};

    bias_backward(h, gradient_of(h, d->content_bias), w->dk, w->dkey, bias_of(h, how->content_bias), k, h->seen);
    if (how->relative.data)
        bias_backward(h, gradient_of(h, d->position_bias), w->dr, w->ddistance, bias_of(h, how->position_bias),
                      (Strided){w->relative, h->dk}, seen);
    for (size_t e = seen.from; bias && e < seen.to; e++)
        bias[entry_at(h, e) * how->heads + h->head] += w->ddistance[e];
    for (size_t e = seen.from; how->relative.data && e < seen.to; e++) {
        float *to = w->drelative + (h->head * how->distances + entry_at(h, e)) * h->dk_wide;
        for (size_t c = 0; c < h->dk_wide; c += WIDTH)
            vec_store(to + c, vec_load(to + c) + vec_load(w->dr + e * h->dk_wide + c));
    }
}

/* After all rows: relative keys get their gradient, rounded once. */
static void store_relative_gradient(const Attend *how, const HeadScratch *w, const AttendGradients *d, size_t head)
{
    size_t dk = how->key_size, wide = round_up(dk, WIDTH);
    for (size_t e = 0; e < how->distances; e++) {
        const float *from = w->drelative + (head * how->distances + e) * wide;
        Number *to = (Number *)d->relative.data + e * d->relative.stride + head * dk;
        for (size_t c = 0; c < dk; c += WIDTH)
            store_gradient(to + c, d->add_relative, vec_load(from + c) * (float)how->scale, dk - c);
    }
}
