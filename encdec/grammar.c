/* What a treebank says: see grammar.h. Rules are counted as texts of their symbols' ids. */
#include "encdec/grammar.h"

#include "base/memory.h"
#include "core/text/shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists of rules while they are counted: "LEFT PARENT CHILD". */
typedef struct Counts {
    Vocabulary binary, chains, of_word, of_class;
    size_t tags, trees;
    uint64_t *root; /* [symbols] */
} Counts;

static void counts_close(Counts *c)
{
    vocabulary_close(&c->binary);
    vocabulary_close(&c->chains);
    vocabulary_close(&c->of_word);
    vocabulary_close(&c->of_class);
    memory_free(c->root);
}

static bool count_rule(Vocabulary *v, int32_t left, int32_t parent, int32_t child, Error *e)
{
    char text[48];
    int32_t ignored;
    const int size = snprintf(text, sizeof text, "%d %d %d", left, parent, child);
    return vocabulary_add(v, text, (size_t)size, 1, &ignored, e);
}

/* ---- constituents and their rules */

/* The symbol of a node, counted; parent: the node it is in, the same at the top. An NP of an S is "NP(S", and what is
 * left of it after a DT ")NP(S|DT": no label has such brackets in it. */
static bool symbol_of(Grammar *g, const Tree *t, size_t node, size_t parent, uint64_t times, int32_t *id, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, tree_is_leaf(t, node) ? "%s" : "%s(%s", tree_label(t, node),
                 parent == node ? "TOP" : tree_label(t, parent));
    const bool fine = b.failed ? memory_error(e, "a symbol", 1, 64)
                               : vocabulary_add(&g->symbols, b.text, b.size, times, id, e);
    buffer_free(&b);
    return fine;
}

/* What is left of a constituent after its child `before`. */
static bool rest_of(Grammar *g, int32_t parent, const char *before, int32_t *id, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, ")%s|%s", vocabulary_word(&g->symbols, parent), before);
    const bool fine = b.failed ? memory_error(e, "a symbol", 1, 64)
                               : vocabulary_add(&g->symbols, b.text, b.size, 1, id, e);
    buffer_free(&b);
    return fine;
}

/* The rules of one constituent, whose symbol is `top`. */
static bool count_constituent(Grammar *g, Counts *c, const Tree *t, size_t node, int32_t top, Error *e)
{
    const size_t end = t->node[node].end;
    size_t child = node + 1, next = t->node[child].end;
    int32_t left, right, parent = top;
    if (!symbol_of(g, t, child, node, 0, &left, e))
        return false;
    if (next == end)
        return left == parent || count_rule(&c->chains, left, parent, left, e);
    for (; t->node[next].end < end; child = next, next = t->node[next].end, parent = right) {
        if (!rest_of(g, top, tree_label(t, child), &right, e) || !count_rule(&c->binary, left, parent, right, e) ||
            !symbol_of(g, t, next, node, 0, &left, e))
            return false;
    }
    return symbol_of(g, t, next, node, 0, &right, e) && count_rule(&c->binary, left, parent, right, e);
}

static bool count_word(Grammar *g, Counts *c, const char *word, int32_t tag, Error *e)
{
    int32_t id;
    c->tags++;
    return vocabulary_add(&g->words, word, strlen(word), 1, &id, e) && count_rule(&c->of_word, id, tag, tag, e);
}

static bool count_tree(Grammar *g, Counts *c, const Tree *t, Error *e)
{
    size_t *parent = memory_get(t->count, sizeof *parent);
    bool fine = parent || memory_error(e, "a tree", t->count, sizeof *parent);
    for (size_t i = 0; fine && i < t->count; i++) {
        int32_t symbol;
        for (size_t k = i + 1; k < t->node[i].end && !tree_is_leaf(t, i); k = t->node[k].end)
            parent[k] = i;
        fine = symbol_of(g, t, i, parent[i], 1, &symbol, e) &&
               (tree_is_leaf(t, i) ? count_word(g, c, tree_word(t, i), symbol, e)
                                   : count_constituent(g, c, t, i, symbol, e));
    }
    memory_free(parent);
    return fine;
}

/* ---- words */

/* Words that were met once stand for those that were never met: by their class, and by a class of all. */
static bool count_classes(Grammar *g, Counts *c, const Tree *t, Error *e)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!tree_is_leaf(t, i))
            continue;
        const char *word = tree_word(t, i);
        const int32_t id = vocabulary_search(&g->words, word, strlen(word)),
                      tag = vocabulary_search(&g->symbols, tree_label(t, i), strlen(tree_label(t, i)));
        int32_t kind, all;
        if (g->words.counts[id] > 1)
            continue;
        const Shape shape = shape_of(word, strlen(word), t->node[i].first == 0);
        if (!vocabulary_add(&g->classes, "all", 3, 1, &all, e) || !count_rule(&c->of_class, all, tag, tag, e) ||
            !vocabulary_add(&g->classes, shape.name, strlen(shape.name), 1, &kind, e) ||
            !count_rule(&c->of_class, kind, tag, tag, e))
            return false;
    }
    return true;
}

/* ---- from counts to probabilities */

static void read_rule(const Vocabulary *v, size_t i, int32_t of[3])
{
    char *at = v->letters + v->start[i];
    for (int k = 0; k < 3; k++)
        of[k] = (int32_t)strtol(at, &at, 10);
}

static void rules_free(Rules *r)
{
    memory_free(r->start);
    memory_free(r->rule);
}

/* Groups rules by their first number, below `lefts`; p is their count. */
static bool group_rules(Rules *r, const Vocabulary *v, size_t lefts, Error *e)
{
    int32_t of[3];
    *r = (Rules){memory_get(lefts + 2, sizeof *r->start), memory_get(v->count, sizeof *r->rule), v->count};
    if (!r->start || !r->rule)
        return memory_error(e, "rules", v->count, sizeof *r->rule);
    for (size_t i = 0; i < v->count; i++) {
        read_rule(v, i, of);
        r->start[of[0] + 2]++;
    }
    for (size_t i = 1; i < lefts + 2; i++)
        r->start[i] += r->start[i - 1];
    for (size_t i = 0; i < v->count; i++) {
        read_rule(v, i, of);
        r->rule[r->start[of[0] + 1]++] = (Rule){of[1], of[2], (float)v->counts[i], 0};
    }
    return true;
}

/* P(rule), among all with the same parent. */
static bool weigh_rules(Grammar *g, Error *e)
{
    Rules *const all[] = {&g->binary, &g->chains};
    double *total = memory_get(g->symbols.count, sizeof *total);
    if (!total)
        return memory_error(e, "rules", g->symbols.count, sizeof *total);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < all[k]->count; i++)
            total[all[k]->rule[i].parent] += (double)all[k]->rule[i].p;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < all[k]->count; i++)
            all[k]->rule[i].p = logf(all[k]->rule[i].p / (float)total[all[k]->rule[i].parent]);
    memory_free(total);
    return true;
}

typedef struct Reach {
    float *p;
    int32_t *below, *list;
    size_t count;
} Reach;

/* The likeliest chain from one symbol up to each that can be reached: step by step, as long as any gets likelier. */
static void reach_from(const Rules *chains, int32_t from, Reach *r)
{
    r->count = 0;
    r->list[r->count++] = from;
    r->p[from] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < r->count; i++) {
            const int32_t child = r->list[i];
            for (size_t k = chains->start[child]; k < chains->start[child + 1]; k++) {
                const Rule *rule = &chains->rule[k];
                const float p = r->p[child] + rule->p;
                if (!(p > r->p[rule->parent]))
                    continue;
                if (isinf(r->p[rule->parent]))
                    r->list[r->count++] = rule->parent;
                r->p[rule->parent] = p;
                r->below[rule->parent] = child;
                changed = true;
            }
        }
    }
}

/* Chains of any length in place of rules: the symbol below the parent is then the rule's child. */
static bool close_chains(Grammar *g, Error *e)
{
    const size_t symbols = g->symbols.count;
    Reach r = {memory_get(symbols, sizeof *r.p), memory_get(symbols, sizeof *r.below),
               memory_get(symbols, sizeof *r.list), 0};
    Rules all = {.start = memory_get(symbols + 2, sizeof *all.start)};
    size_t capacity = 0;
    bool fine = (r.p && r.below && r.list && all.start) || memory_error(e, "chains of rules", symbols, 16);
    for (size_t i = 0; fine && i < symbols; i++)
        r.p[i] = -INFINITY;
    for (size_t from = 0; fine && from < symbols; from++) {
        reach_from(&g->chains, (int32_t)from, &r);
        for (size_t i = 0; i < r.count; i++) {
            const int32_t to = r.list[i];
            if (fine && i && (fine = memory_grow(&all.rule, &capacity, all.count + 1, sizeof *all.rule, "chains", e)))
                all.rule[all.count++] = (Rule){to, r.below[to], r.p[to], 0};
            r.p[to] = -INFINITY;
        }
        all.start[from + 1] = all.count;
    }
    memory_free(r.p);
    memory_free(r.below);
    memory_free(r.list);
    rules_free(&g->chains);
    g->chains = all;
    return fine;
}

static int by_most(const void *a, const void *b)
{
    const Rule *x = a, *y = b;
    if (x->most < y->most || x->most > y->most)
        return x->most > y->most ? -1 : 1;
    return x->parent != y->parent ? (x->parent < y->parent ? -1 : 1) : (x->child > y->child) - (x->child < y->child);
}

static void sort_binary(Grammar *g)
{
    for (size_t i = 0; i < g->binary.count; i++) {
        Rule *rule = &g->binary.rule[i];
        float most = g->prior[rule->parent];
        for (size_t k = g->chains.start[rule->parent]; k < g->chains.start[rule->parent + 1]; k++)
            most = fmaxf(most, g->chains.rule[k].p + g->prior[g->chains.rule[k].parent]);
        rule->most = rule->p + most;
        g->most = i ? fmaxf(g->most, rule->most) : rule->most;
    }
    for (size_t s = 0; s < g->symbols.count; s++)
        qsort(g->binary.rule + g->binary.start[s], g->binary.start[s + 1] - g->binary.start[s], sizeof(Rule), by_most);
}

static float probability(const Rules *r, int32_t left, int32_t tag, double total)
{
    for (size_t i = r->start[left]; i < r->start[left + 1]; i++)
        if (r->rule[i].parent == tag)
            return r->rule[i].p / (float)total;
    return 0;
}

static int32_t known_class(const Grammar *g, const char *word, bool first)
{
    const Shape shape = shape_of(word, strlen(word), first);
    const int32_t kind = vocabulary_search(&g->classes, shape.name, strlen(shape.name));
    return kind < 0 ? vocabulary_search(&g->classes, "all", 3) : kind;
}

/* Log P(tag | word) - log P(tag), of words by their own counts and those of their class. */
static void weigh_words(Grammar *g, double tags)
{
    const float k = 1;
    for (size_t w = 0; w < g->words.count; w++) {
        const int32_t kind = known_class(g, vocabulary_word(&g->words, (int32_t)w), false);
        const float count = (float)g->words.counts[w];
        for (size_t i = g->of_word.start[w]; i < g->of_word.start[w + 1]; i++) {
            Rule *rule = &g->of_word.rule[i];
            const float of_class = kind < 0
                                       ? 0
                                       : probability(&g->of_class, kind, rule->parent, (double)g->classes.counts[kind]);
            rule->p = logf((rule->p + k * of_class) / (count + k)) -
                      logf((float)((double)g->symbols.counts[rule->parent] / tags));
        }
    }
    for (size_t c = 0; c < g->classes.count; c++)
        for (size_t i = g->of_class.start[c]; i < g->of_class.start[c + 1]; i++) {
            Rule *rule = &g->of_class.rule[i];
            rule->p = logf(rule->p / (float)g->classes.counts[c]) -
                      logf((float)((double)g->symbols.counts[rule->parent] / tags));
        }
}

static bool weigh(Grammar *g, Counts *c, Error *e)
{
    const size_t symbols = g->symbols.count;
    uint64_t total = 0;
    g->root = memory_get(symbols, sizeof *g->root);
    g->prior = memory_get(symbols, sizeof *g->prior);
    if (!g->root || !g->prior)
        return memory_error(e, "symbols", symbols, sizeof *g->root);
    for (size_t i = 0; i < symbols; i++)
        total += g->symbols.counts[i];
    for (size_t i = 0; i < symbols; i++) {
        g->root[i] = c->root[i] ? logf((float)((double)c->root[i] / (double)c->trees)) : -INFINITY;
        g->prior[i] = logf((float)((double)g->symbols.counts[i] / (double)total));
    }
    if (!group_rules(&g->binary, &c->binary, symbols, e) || !group_rules(&g->chains, &c->chains, symbols, e) ||
        !group_rules(&g->of_word, &c->of_word, g->words.count, e) ||
        !group_rules(&g->of_class, &c->of_class, g->classes.count, e) || !weigh_rules(g, e) || !close_chains(g, e))
        return false;
    sort_binary(g);
    weigh_words(g, (double)c->tags);
    return true;
}

static bool count_roots(Grammar *g, Counts *c, Tree *const *trees, size_t count, Error *e)
{
    c->root = memory_get(g->symbols.count, sizeof *c->root);
    bool fine = c->root || memory_error(e, "symbols", g->symbols.count, sizeof *c->root);
    for (size_t i = 0; fine && i < count; i++) {
        int32_t symbol;
        fine = symbol_of(g, trees[i], 0, 0, 0, &symbol, e);
        if (fine)
            c->root[symbol]++;
    }
    c->trees = count;
    return fine;
}

bool grammar_learn(Grammar *g, Tree *const *trees, size_t count, Error *e)
{
    Counts c = {0};
    bool fine = true;
    *g = (Grammar){0};
    for (size_t i = 0; fine && i < count; i++)
        fine = count_tree(g, &c, trees[i], e);
    for (size_t i = 0; fine && i < count; i++)
        fine = count_classes(g, &c, trees[i], e);
    fine = fine && count_roots(g, &c, trees, count, e) && weigh(g, &c, e);
    counts_close(&c);
    return fine;
}

void grammar_close(Grammar *g)
{
    vocabulary_close(&g->symbols);
    vocabulary_close(&g->words);
    vocabulary_close(&g->classes);
    rules_free(&g->binary);
    rules_free(&g->chains);
    rules_free(&g->of_word);
    rules_free(&g->of_class);
    memory_free(g->root);
    memory_free(g->prior);
    *g = (Grammar){0};
}

TagList grammar_tags(const Grammar *g, const char *word, bool first)
{
    const int32_t id = vocabulary_search(&g->words, word, strlen(word)),
                  kind = id < 0 ? known_class(g, word, first) : 0;
    const Rules *r = id < 0 ? &g->of_class : &g->of_word;
    const int32_t left = id < 0 ? kind : id;
    return left < 0 ? (TagList){NULL, 0} : (TagList){r->rule + r->start[left], r->start[left + 1] - r->start[left]};
}

const char *grammar_tag(const Grammar *g, const char *word, bool first)
{
    const TagList tags = grammar_tags(g, word, first);
    const Rule *best = NULL;
    float most = -INFINITY;
    for (const Rule *r = tags.tag; r < tags.tag + tags.count; r++) {
        const float p = r->p + g->prior[r->parent];
        if (p > most)
            most = p, best = r;
    }
    return best ? vocabulary_word(&g->symbols, best->parent) : "NN";
}
