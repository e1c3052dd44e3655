/* The likeliest tree of a sentence, by CKY: see grammar.h. */
#include "encdec/grammar.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* How much less likely than the best of its cell a symbol may be, as a logarithm. */
static const float BEAM = 9;

/* How a symbol comes to its words: from two cells or (split 0) from a word; at the end of a chain, how the symbol `below`
 * does, with which the chain begins. */
typedef struct Step {
    int32_t left, right, below; /* below -1: no chain */
    uint32_t split;             /* words from the sentence's begin */
} Step;

typedef struct Entry {
    int32_t symbol;
    float p;
    Step step;
} Entry;

/* Those that begin a rule come first. */
typedef struct Cell {
    size_t start, count, lefts;
    float left, right; /* the likeliest of those, and of all; -inf: there is none */
} Cell;

typedef struct Chart {
    const Grammar *g;
    const char *const *words;
    size_t n;
    Cell *cell; /* [n * (n + 1)]: of words i .. j - 1 at i * (n + 1) + j */
    Entry *entry;
    size_t entries, capacity;
    float *column; /* [n, symbols] p of words i .. j - 1, for the j that is made; -inf: none */
    /* of the cell that is made, by symbol: */
    float *p; /* -inf: none */
    Step *step;
    int32_t *met;
    size_t count; /* of these */
    float best;   /* of what was met, with its prior; -inf where all is kept */
} Chart;

static Cell *cell_at(const Chart *c, size_t i, size_t j) { return &c->cell[i * (c->n + 1) + j]; }

/* Seldom called: inside of a loop it would take the registers of those that only look. */
static __attribute__((noinline)) void offer(Chart *c, int32_t symbol, float p, Step step)
{
    if (!(p > c->p[symbol]))
        return;
    if (isinf(c->p[symbol]))
        c->met[c->count++] = symbol;
    c->p[symbol] = p;
    c->step[symbol] = step;
    const float with = p + c->g->prior[symbol];
    c->best = with > c->best ? with : c->best;
}

/* Rules come in such an order that those after one which makes nothing likely enough make nothing, either. */
static void offer_pairs(Chart *c, size_t i, size_t k, size_t j)
{
    const Cell *left = cell_at(c, i, k), *right = cell_at(c, k, j);
    const Rules *rules = &c->g->binary;
    const float *of_right = c->column + k * c->g->symbols.count, *so_far = c->p;
    const float slack = j - i == c->n ? INFINITY : BEAM;
    if (!(left->left + right->right + c->g->most + slack >= c->best))
        return;
    for (const Entry *l = c->entry + left->start, *last = l + left->lefts; l < last; l++) {
        const Rule *rule = rules->rule + rules->start[l->symbol], *end = rules->rule + rules->start[l->symbol + 1];
        const float of_left = l->p, least = c->best - (of_left + right->right + slack);
        for (; rule < end && rule->most >= least; rule++) {
            const float p = of_left + rule->p + of_right[rule->child];
            if (p > so_far[rule->parent])
                offer(c, rule->parent, p, (Step){l->symbol, rule->child, -1, (uint32_t)k});
        }
    }
}

/* Chains are of any length, so what a chain has made begins none. */
static void offer_chains(Chart *c)
{
    const Rules *chains = &c->g->chains;
    const size_t without = c->count;
    for (size_t m = 0; m < without; m++) {
        const int32_t below = c->met[m];
        Step step = c->step[below];
        if (step.below >= 0)
            continue;
        step.below = below;
        for (size_t x = chains->start[below]; x < chains->start[below + 1]; x++)
            offer(c, chains->rule[x].parent, c->p[below] + chains->rule[x].p, step);
    }
}

static bool begins_rule(const Grammar *g, int32_t symbol)
{
    return g->binary.start[symbol] < g->binary.start[symbol + 1];
}

/* Keeps what is likely enough; at the top, all. */
static bool keep_cell(Chart *c, size_t i, size_t j, Error *e)
{
    const Grammar *g = c->g;
    Cell *cell = cell_at(c, i, j);
    *cell = (Cell){.start = c->entries, .left = -INFINITY, .right = -INFINITY};
    if (!memory_grow(&c->entry, &c->capacity, c->entries + c->count, sizeof *c->entry, "a chart", e))
        return false;
    for (int lefts = 1; lefts >= 0; lefts--) {
        for (size_t m = 0; m < c->count; m++) {
            const int32_t symbol = c->met[m];
            const float p = c->p[symbol];
            if (begins_rule(g, symbol) != lefts || (j - i != c->n && p + g->prior[symbol] < c->best - BEAM))
                continue;
            c->entry[c->entries++] = (Entry){symbol, p, c->step[symbol]};
            c->column[i * g->symbols.count + (size_t)symbol] = p;
            cell->right = fmaxf(cell->right, p);
            cell->left = lefts ? cell->right : cell->left;
        }
        cell->lefts = lefts ? c->entries - cell->start : cell->lefts;
    }
    for (size_t m = 0; m < c->count; m++)
        c->p[c->met[m]] = -INFINITY;
    cell->count = c->entries - cell->start;
    c->count = 0;
    c->best = -INFINITY;
    return true;
}

/* The words that end at j: first the shortest. */
static bool fill_column(Chart *c, size_t j, Error *e)
{
    const size_t symbols = c->g->symbols.count, last = j - 1;
    for (size_t x = 0; x < j * symbols; x++)
        c->column[x] = -INFINITY;
    const TagList tags = grammar_tags(c->g, c->words[last], last == 0);
    for (size_t k = 0; k < tags.count; k++)
        offer(c, tags.tag[k].parent, tags.tag[k].p, (Step){.below = -1});
    offer_chains(c);
    if (!keep_cell(c, last, j, e))
        return false;
    for (size_t i = last; i--;) {
        for (size_t k = i + 1; k < j; k++)
            offer_pairs(c, i, k, j);
        offer_chains(c);
        if (!keep_cell(c, i, j, e))
            return false;
    }
    return true;
}

static bool fill(Chart *c, Error *e)
{
    for (size_t j = 1; j <= c->n; j++)
        if (!fill_column(c, j, e))
            return false;
    return true;
}

/* ---- the tree */

static const Entry *entry_of(const Chart *c, size_t i, size_t j, int32_t symbol)
{
    const Cell *cell = cell_at(c, i, j);
    const Entry *at = c->entry + cell->start;
    while (at->symbol != symbol)
        at++;
    return at;
}

/* In a chain from `below` up to `parent`, what is below the parent. */
static int32_t next_below(const Grammar *g, int32_t below, int32_t parent)
{
    const Rule *r = g->chains.rule + g->chains.start[below];
    while (r->parent != parent)
        r++;
    return r->child;
}

/* Opens a symbol's constituent, without what it was annotated with. What is part of a rule has none. */
static bool open_symbol(const Chart *c, int32_t symbol, Tree *out, size_t *opened, Error *e)
{
    const char *name = vocabulary_word(&c->g->symbols, symbol);
    if (*name == ')')
        return true;
    ++*opened;
    return tree_open(out, name, strcspn(name, "("), e);
}

/* Recurses, no deeper than a sentence has words. */
static bool build(const Chart *c, size_t i, size_t j, int32_t symbol, Tree *out, Error *e)
{
    const Step *s = &entry_of(c, i, j, symbol)->step;
    size_t opened = 0;
    for (; s->below >= 0 && symbol != s->below; symbol = next_below(c->g, s->below, symbol))
        if (!open_symbol(c, symbol, out, &opened, e))
            return false;
    if (!s->split) {
        const char *tag = vocabulary_word(&c->g->symbols, symbol);
        if (!tree_leaf(out, tag, strlen(tag), c->words[i], strlen(c->words[i]), e))
            return false;
    } else if (!open_symbol(c, symbol, out, &opened, e) || !build(c, i, s->split, s->left, out, e) ||
               !build(c, s->split, j, s->right, out, e))
        return false;
    for (; opened; opened--)
        tree_shut(out);
    return true;
}

static bool build_best(const Chart *c, Tree *out, Error *e)
{
    const Cell *top = cell_at(c, 0, c->n);
    const Entry *best = NULL;
    float most = -INFINITY;
    for (size_t k = 0; k < top->count; k++) {
        const Entry *at = &c->entry[top->start + k];
        if (at->p + c->g->root[at->symbol] > most)
            most = at->p + c->g->root[at->symbol], best = at;
    }
    return !best || build(c, 0, c->n, best->symbol, out, e);
}

static bool chart_open(Chart *c, Error *e)
{
    const size_t symbols = c->g->symbols.count;
    c->cell = memory_get(c->n * (c->n + 1), sizeof *c->cell);
    c->p = memory_get(symbols, sizeof *c->p);
    c->column = memory_get(c->n * symbols, sizeof *c->column);
    c->step = memory_get(symbols, sizeof *c->step);
    c->met = memory_get(symbols, sizeof *c->met);
    if (!c->cell || !c->p || !c->column || !c->step || !c->met)
        return memory_error(e, "a chart", symbols, 2 * sizeof *c->p + sizeof *c->step);
    for (size_t i = 0; i < symbols; i++)
        c->p[i] = -INFINITY;
    c->best = -INFINITY;
    return true;
}

bool grammar_parse(const Grammar *g, const char *const *words, size_t count, Tree *out, Error *e)
{
    Chart c = {.g = g, .words = words, .n = count};
    tree_clear(out);
    if (!count || count > GRAMMAR_LONGEST)
        return true;
    const bool fine = chart_open(&c, e) && fill(&c, e) && build_best(&c, out, e);
    memory_free(c.cell);
    memory_free(c.entry);
    memory_free(c.p);
    memory_free(c.column);
    memory_free(c.step);
    memory_free(c.met);
    return fine;
}
