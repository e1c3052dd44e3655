/* Weights that do not change, laid out for products of few positions.
 *
 * A panel is PANEL outputs: unit u of all of them, then unit u + 1 (a unit is a float, or two neighbouring bfloat16).
 * Outputs are lanes, so a panel is read from its beginning to its end, each vector once, and no sum runs across lanes;
 * one factor of x serves the whole panel. Panels lie behind one another in the order in which products first ask for
 * them, which is the order in which a network reads its weights: its whole way is one stretch of memory. */

enum {
    PANEL = TILE_ROWS / 2 * WIDTH, /* 4 vectors, or 2 where there are fewer registers */
    CHAINS = 4                     /* sums of each output, so that none has to wait for itself or becomes long */
};

/* Whether weights [out, in] fill panels without a gap, so that these take as much memory. */
static bool fills_panels(size_t in, size_t out) { return in && in % PER_UNIT == 0 && out && out % WIDTH == 0; }

/* How wide the panel is that begins at output o. */
INLINE size_t panel_wide(size_t o, size_t out) { return out - o < PANEL ? out - o : PANEL; }

static void lay_panels(Unit *to, const Number *w, size_t in, size_t out)
{
    size_t units = in / PER_UNIT;
    for (size_t o = 0; o < out; o += PANEL) {
        size_t wide = panel_wide(o, out);
        pack_transposed(to + o * units, w + o * in, in, (Range){0, wide}, wide, in, in);
    }
}

/* The panels of w, made when they are asked for first; NULL where w may change, or there are none for its sizes. */
static const Unit *panels_of(Stream *s, const Number *w, size_t in, size_t out)
{
    bool made = false;
    if (!fills_panels(in, out))
        return NULL;
    Unit *panels = stream_kept(s, w, in * out * sizeof *w, in, &made);
    if (panels && made)
        lay_panels(panels, w, in, out);
    return panels;
}

/* The next `chains` units of some vectors of a panel, each to a sum of its own. */
INLINE void panel_units(Vec sum[CHAINS][PANEL / WIDTH], const Unit *x, const Unit *panel, size_t wide, size_t chains,
                        size_t vectors)
{
    for (size_t l = 0; l < chains; l++) {
        IVec factor = (IVec){0} + x[l];
        for (size_t v = 0; v < vectors; v++)
            sum[l][v] = units_multiply(sum[l][v], factor, units_load(panel + l * wide + v * WIDTH), PAIRS);
    }
}

/* y [vectors of WIDTH] = x times some vectors of a panel that is `wide` outputs wide. An output's sum is the same to
 * the bit however many vectors go together. */
INLINE void panel_vectors(float *y, const Unit *x, const Unit *panel, size_t wide, size_t units, size_t vectors)
{
    Vec sum[CHAINS][PANEL / WIDTH];
    for (size_t l = 0; l < CHAINS; l++)
        for (size_t v = 0; v < vectors; v++)
            sum[l][v] = vec_set(0);
    size_t u = 0;
    for (; u + CHAINS <= units; u += CHAINS)
        panel_units(sum, x + u, panel + u * wide, wide, CHAINS, vectors);
    for (; u < units; u++)
        panel_units(sum, x + u, panel + u * wide, wide, 1, vectors);
    for (size_t v = 0; v < vectors; v++)
        vec_store(y + v * WIDTH, (sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v]));
}

static void panel_product(float *y, const Number *x, const Unit *panel, size_t wide, size_t units, size_t count)
{
    const Unit *factors = (const Unit *)(const void *)x;
    if (count == PANEL)
        panel_vectors(y, factors, panel, PANEL, units, PANEL / WIDTH);
    else
        for (size_t o = 0; o < count; o += WIDTH)
            panel_vectors(y + o, factors, panel + o, wide, units, 1);
}
