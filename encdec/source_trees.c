/* Sentences and trees of a treebank, as lines (see source.h), and new trees made of them: in a copy of a tree, some
 * constituents are replaced by others of the treebank that have the same label in a constituent of the same label (data
 * recombination: Jia and Liang 2016; Shi et al. 2021). What the treebank's grammar would join is joined, so a network learns
 * from thousands of trees what a grammar knows from the start. */
#include "encdec/source.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"
#include "core/text/vocabulary.h"
#include "encdec/treebank.h"

#include <string.h>

enum { SITE_RECOMBINED = SITE_DATA + 0x200, LONGEST_MADE = 60 /* words */ };
static const double replaced = 0.15; /* of constituents */

/* ---- lines */

static bool add_tree(Lines side[SIDES_USED], const Tree *t, TreeLeaves leaves, Buffer *line, Error *e)
{
    for (size_t s = 0; s < SIDES_USED; s++) {
        line->size = 0;
        if (s == SOURCE)
            tree_words_write(t, line);
        else
            tree_tokens_write(t, leaves, line);
        if (line->failed)
            return memory_error(e, "a tree", line->size, 1);
        if (!lines_add(&side[s], line->text, line->size, e))
            return false;
    }
    return true;
}

static bool add_trees(Lines side[SIDES_USED], Tree *const *tree, size_t trees, size_t count, TreeLeaves leaves,
                      Error *e)
{
    Buffer line = {0};
    bool fine = true;
    count = count && count < trees ? count : trees;
    for (size_t i = 0; fine && i < count; i++)
        fine = add_tree(side, tree[i * trees / count], leaves, &line, e);
    buffer_free(&line);
    return fine;
}

static bool add_more(Sentences *s, const TreesOptions *o, Error *e)
{
    Treebank more = {0};
    bool fine = !o->more || (treebank_open(&more, o->more, &o->cleaning, e) &&
                             add_trees(s->side[SPLIT_TRAIN], more.tree, more.count, 0, o->leaves, e));
    treebank_close(&more);
    return fine;
}

bool sentences_of_trees(Sentences *s, const SourceOptions *o, Error *e)
{
    const TreesOptions *trees = &o->trees;
    Treebank b = {0};
    if (!o->path)
        return fail(e, "--trees needs a treebank: give a folder, an archive or a file of trees with --data");
    bool fine = treebank_open(&b, o->path, &trees->cleaning, e);
    for (Split part = 0; fine && part < SPLITS; part++)
        fine = (part == SPLIT_TEST && !o->test) || add_trees(s->side[part], b.part[part].tree, b.part[part].count,
                                                             part == SPLIT_TRAIN ? trees->count : 0, trees->leaves, e);
    treebank_close(&b);
    return fine && add_more(s, trees, e);
}

/* ---- recombined trees */

typedef struct Place {
    uint32_t tree, node;
} Place;

typedef struct Recombining {
    const SourceOptions *options;
    Tree *tree; /* [count] */
    size_t count;
    Vocabulary kinds; /* of constituents: "LABEL PARENT" */
    int32_t **kind;   /* [count][nodes]; -1: a leaf, or the root */
    size_t *start;    /* [kinds + 1] */
    Place *place;     /* by kind */
    Tree out;
    Buffer text;
} Recombining;

static bool read_trees(Recombining *r, const Sentences *s, Error *e)
{
    const Lines *side = s->side[SPLIT_TRAIN];
    r->count = side[SOURCE].count;
    r->tree = memory_get(r->count, sizeof *r->tree);
    r->kind = memory_get(r->count, sizeof *r->kind);
    if (!r->tree || !r->kind)
        return memory_error(e, "trees", r->count, sizeof *r->tree);
    for (size_t i = 0; i < r->count; i++) {
        const Line words = lines_at(&side[SOURCE], i), tokens = lines_at(&side[TARGET], i);
        if (!tree_of_tokens(&r->tree[i], tokens.text, tokens.size, r->options->trees.leaves, words.text, words.size,
                            NULL, e))
            return false;
    }
    return true;
}

static bool find_kinds(Recombining *r, size_t i, Error *e)
{
    const Tree *t = &r->tree[i];
    size_t *parent = memory_get(t->count, sizeof *parent);
    r->kind[i] = memory_get(t->count, sizeof *r->kind[i]);
    bool fine = (parent && r->kind[i]) || memory_error(e, "a tree", t->count, sizeof *parent);
    for (size_t n = 0; fine && n < t->count; n++) {
        for (size_t k = n + 1; k < t->node[n].end && !tree_is_leaf(t, n); k = t->node[k].end)
            parent[k] = n;
        r->kind[i][n] = -1;
        if (!n || tree_is_leaf(t, n))
            continue;
        r->text.size = 0;
        buffer_print(&r->text, "%s %s", tree_label(t, n), tree_label(t, parent[n]));
        fine = r->text.failed ? memory_error(e, "a label", 1, 64)
                              : vocabulary_add(&r->kinds, r->text.text, r->text.size, 1, &r->kind[i][n], e);
    }
    memory_free(parent);
    return fine;
}

static bool sort_places(Recombining *r, Error *e)
{
    size_t all = 0;
    for (size_t k = 0; k < r->kinds.count; k++)
        all += r->kinds.counts[k];
    r->start = memory_get(r->kinds.count + 2, sizeof *r->start);
    r->place = memory_get(all, sizeof *r->place);
    if (!r->start || !r->place)
        return memory_error(e, "constituents", all, sizeof *r->place);
    for (size_t k = 0; k < r->kinds.count; k++)
        r->start[k + 2] = r->start[k + 1] + r->kinds.counts[k];
    for (size_t i = 0; i < r->count; i++)
        for (size_t n = 0; n < r->tree[i].count; n++)
            if (r->kind[i][n] >= 0)
                r->place[r->start[r->kind[i][n] + 1]++] = (Place){(uint32_t)i, (uint32_t)n};
    return true;
}

/* What stands in place of a constituent of tree i. */
static Place replacement(const Recombining *r, size_t i, size_t n, uint32_t copy)
{
    const uint32_t seed = r->options->seed;
    const int32_t kind = r->kind[i][n];
    if (kind < 0 || philox_uniform(seed, copy, n, SITE_RECOMBINED) >= replaced)
        return (Place){(uint32_t)i, (uint32_t)n};
    return r
        ->place[r->start[kind] + philox_below(r->start[kind + 1] - r->start[kind], seed, copy, n, SITE_RECOMBINED + 1)];
}

/* A constituent that is being copied: its next child, and where the last one ends. */
typedef struct Copying {
    const Tree *t;
    size_t next, end;
    bool own; /* of the tree that is recombined: what it has in it may be replaced */
} Copying;

typedef struct CopyStack {
    Copying *at;
    size_t count, capacity;
} CopyStack;

static bool push(CopyStack *s, Tree *out, Copying c, size_t node, Error *e)
{
    const char *label = tree_label(c.t, node);
    if (!memory_grow(&s->at, &s->capacity, s->count + 1, sizeof *s->at, "a tree", e))
        return false;
    s->at[s->count++] = c;
    return tree_open(out, label, strlen(label), e);
}

static bool push_place(CopyStack *s, const Recombining *r, Tree *out, Place p, bool own, Error *e)
{
    const Tree *t = &r->tree[p.tree];
    return push(s, out, (Copying){t, p.node + 1, t->node[p.node].end, own}, p.node, e);
}

/* The next child of the constituent at the top, or its end. */
static bool copy_next(CopyStack *s, const Recombining *r, size_t i, uint32_t copy, Tree *out, Error *e)
{
    Copying *top = &s->at[s->count - 1];
    const Tree *t = top->t;
    const size_t n = top->next;
    if (n == top->end) {
        tree_shut(out);
        s->count--;
        return true;
    }
    top->next = t->node[n].end;
    if (tree_is_leaf(t, n))
        return tree_leaf(out, tree_label(t, n), strlen(tree_label(t, n)), tree_word(t, n), strlen(tree_word(t, n)), e);
    const bool own = top->own;
    const Place here = {(uint32_t)(t - r->tree), (uint32_t)n}, p = own ? replacement(r, i, n, copy) : here;
    return push_place(s, r, out, p, own && p.tree == here.tree && p.node == here.node, e);
}

/* New tree number `copy` of tree i. */
static bool recombine(Recombining *r, CopyStack *s, size_t i, uint32_t copy, Error *e)
{
    tree_clear(&r->out);
    bool fine = push_place(s, r, &r->out, (Place){(uint32_t)i, 0}, true, e);
    while (fine && s->count)
        fine = copy_next(s, r, i, copy, &r->out, e);
    return fine;
}

/* Trees that got too long are left out; one that is as it was is as good as any. */
static bool add_recombined(Recombining *r, Sentences *s, Error *e)
{
    const TreesOptions *o = &r->options->trees;
    CopyStack stack = {0};
    bool fine = true;
    for (size_t k = 0; fine && k < o->recombined; k++)
        for (size_t i = 0; fine && i < r->count; i++) {
            fine = !r->tree[i].count || recombine(r, &stack, i, (uint32_t)(k * r->count + i), e);
            if (!fine || !r->tree[i].count || r->out.words > LONGEST_MADE)
                continue;
            fine = add_tree(s->side[SPLIT_TRAIN], &r->out, o->leaves, &r->text, e);
            s->made += fine;
        }
    memory_free(stack.at);
    return fine;
}

static void recombining_close(Recombining *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->tree)
            tree_free(&r->tree[i]);
        if (r->kind)
            memory_free(r->kind[i]);
    }
    memory_free(r->tree);
    memory_free(r->kind);
    memory_free(r->start);
    memory_free(r->place);
    vocabulary_close(&r->kinds);
    tree_free(&r->out);
    buffer_free(&r->text);
}

bool sentences_recombine(Sentences *s, const SourceOptions *o, Error *e)
{
    Recombining r = {.options = o};
    bool fine = !o->trees.recombined || read_trees(&r, s, e);
    for (size_t i = 0; fine && i < r.count; i++)
        fine = find_kinds(&r, i, e);
    fine = fine && (!r.count || (sort_places(&r, e) && add_recombined(&r, s, e)));
    recombining_close(&r);
    return fine;
}
