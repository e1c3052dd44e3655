/* See brackets.h. */
#include "core/text/brackets.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Bracket {
    size_t first, last;
    const char *label; /* [size] */
    size_t size;
} Bracket;

/* A tree as it is counted. */
typedef struct Counted {
    Bracket *bracket;
    size_t brackets;
    size_t *leaf; /* the nodes of words that are not left out */
    size_t words;
} Counted;

static void counted_free(Counted *c)
{
    memory_free(c->bracket);
    memory_free(c->leaf);
}

static bool is_left_out(const char *tag)
{
    static const char *const tags[] = {"TOP", "-NONE-", ",", ":", "``", "''", "."};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (strcmp(tag, tags[i]) == 0)
            return true;
    return false;
}

static bool is_word(const Tree *t, size_t node) { return tree_is_leaf(t, node) && !is_left_out(tree_label(t, node)); }

/* Puts a constituent's label into canonical form; size 0 where it is none that counts. */
static Bracket bracket_of(const char *label, size_t first, size_t last)
{
    Bracket b = {first, last, label, strcspn(label, "-=")};
    if (b.size == 3 && memcmp(label, "PRT", 3) == 0)
        b.label = "ADVP", b.size = 4;
    return b;
}

static bool counts(const Bracket *b)
{
    char label[8] = "";
    if (b->first == b->last)
        return false;
    if (b->size >= sizeof label)
        return true;
    memcpy(label, b->label, b->size);
    return !is_left_out(label);
}

static int compare(const void *a, const void *b)
{
    const Bracket *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return memcmp(x->label, y->label, x->size);
}

static bool count_tree(Counted *c, const Tree *t, Error *e)
{
    size_t *before = memory_get(t->words + 1, sizeof *before); /* words not left out before each word */
    *c = (Counted){.bracket = memory_get(t->count, sizeof *c->bracket), .leaf = memory_get(t->words, sizeof *c->leaf)};
    const bool fine = (before && c->bracket && c->leaf) || memory_error(e, "brackets", t->count, sizeof *c->bracket);
    for (size_t i = 0; fine && i < t->count; i++) {
        if (is_word(t, i))
            c->leaf[c->words++] = i;
        if (tree_is_leaf(t, i))
            before[t->node[i].last] = c->words;
    }
    for (size_t i = 0; fine && i < t->count; i++) {
        const TreeNode *n = &t->node[i];
        const Bracket b = bracket_of(tree_label(t, i), before[n->first], before[n->last]);
        if (!tree_is_leaf(t, i) && counts(&b))
            c->bracket[c->brackets++] = b;
    }
    if (fine && c->brackets)
        qsort(c->bracket, c->brackets, sizeof *c->bracket, compare);
    memory_free(before);
    return fine;
}

static bool same_words(const Tree *a, const Counted *x, const Tree *b, const Counted *y)
{
    if (x->words != y->words)
        return false;
    for (size_t i = 0; i < x->words; i++)
        if (strcmp(tree_word(a, x->leaf[i]), tree_word(b, y->leaf[i])) != 0)
            return false;
    return true;
}

/* Of two sorted lists. */
static size_t count_matched(const Counted *x, const Counted *y)
{
    size_t matched = 0;
    for (size_t i = 0, j = 0; i < x->brackets && j < y->brackets;) {
        const int order = compare(&x->bracket[i], &y->bracket[j]);
        matched += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return matched;
}

static void add_counted(BracketScore *s, const Tree *gold, const Counted *x, const Tree *found, const Counted *y)
{
    s->sentences++;
    if (!y->words) {
        s->skipped++;
        return;
    }
    if (!same_words(gold, x, found, y)) {
        s->errors++;
        return;
    }
    const size_t matched = count_matched(x, y);
    s->gold += x->brackets;
    s->found += y->brackets;
    s->matched += matched;
    s->complete += x->brackets == y->brackets && matched == x->brackets;
    s->words += x->words;
    for (size_t i = 0; i < x->words; i++) {
        const char *tag = tree_label(gold, x->leaf[i]), *other = tree_label(found, y->leaf[i]);
        s->tags += strcmp(tag, other) == 0;
    }
}

bool brackets_add(BracketScore *s, const Tree *gold, const Tree *found, Error *e)
{
    Counted x = {0}, y = {0};
    const bool fine = count_tree(&x, gold, e) && count_tree(&y, found, e);
    if (fine)
        add_counted(s, gold, &x, found, &y);
    counted_free(&x);
    counted_free(&y);
    return fine;
}

static double percent(size_t part, size_t all) { return all ? 100 * (double)part / (double)all : NAN; }

double brackets_precision(const BracketScore *s) { return percent(s->matched, s->found); }
double brackets_recall(const BracketScore *s) { return percent(s->matched, s->gold); }
double brackets_complete(const BracketScore *s) { return percent(s->complete, s->sentences - s->errors - s->skipped); }
double brackets_tags(const BracketScore *s) { return percent(s->tags, s->words); }

double brackets_f1(const BracketScore *s) { return percent(2 * s->matched, s->gold + s->found); }
