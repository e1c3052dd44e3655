/* See tree.h. */
#include "core/text/tree.h"

#include "base/memory.h"

#include <ctype.h>
#include <string.h>

void tree_free(Tree *t)
{
    memory_free(t->node);
    buffer_free(&t->text);
    *t = (Tree){0};
}

/* ---- making one */

void tree_clear(Tree *t)
{
    t->count = t->words = t->inside = t->text.size = 0;
    buffer_add(&t->text, "", 1);
}

static size_t add_text(Tree *t, const char *text, size_t size)
{
    const size_t at = t->text.size;
    buffer_add(&t->text, text, size);
    buffer_add(&t->text, "", 1);
    return at;
}

static bool add_node(Tree *t, const char *label, size_t size, Error *e)
{
    if (!memory_grow(&t->node, &t->capacity, t->count + 1, sizeof *t->node, "a tree", e))
        return false;
    TreeNode *n = &t->node[t->count++];
    *n = (TreeNode){.label = add_text(t, label, size), .first = t->words, .last = t->words};
    return !t->text.failed || memory_error(e, "a tree", t->text.size, 1);
}

/* While a constituent is open, its end says which one it is in. */
bool tree_open(Tree *t, const char *label, size_t size, Error *e)
{
    if (!add_node(t, label, size, e))
        return false;
    t->node[t->count - 1].end = t->inside;
    t->inside = t->count;
    return true;
}

bool tree_leaf(Tree *t, const char *label, size_t label_size, const char *word, size_t word_size, Error *e)
{
    if (!add_node(t, label, label_size, e))
        return false;
    TreeNode *n = &t->node[t->count - 1];
    n->word = add_text(t, word, word_size);
    n->last = ++t->words;
    n->end = t->count;
    return !t->text.failed || memory_error(e, "a tree", t->text.size, 1);
}

void tree_shut(Tree *t)
{
    TreeNode *n = &t->node[t->inside - 1];
    const bool empty = t->inside == t->count;
    t->inside = n->end;
    n->end = t->count;
    n->last = t->words;
    t->count -= empty;
}

/* ---- reading */

static bool is_space(char c) { return c && isspace((unsigned char)c); }

static void skip_space(const char *text, size_t size, size_t *at)
{
    while (*at < size && is_space(text[*at]))
        ++*at;
}

/* A label or a word: all up to white space or a bracket. */
static size_t name_at(const char *text, size_t size, size_t at)
{
    const size_t from = at;
    while (at < size && text[at] && !is_space(text[at]) && text[at] != '(' && text[at] != ')')
        at++;
    return at - from;
}

static bool wrong(Error *e, size_t at, const char *what) { return fail(e, "byte %zu: %s", at, what); }

/* After a bracket that opens: its label, and the word and the bracket that shuts where it is a leaf. */
static bool read_node(Tree *t, const char *text, size_t size, size_t *at, Error *e)
{
    const char *label = text + *at;
    const size_t length = name_at(text, size, *at);
    *at += length;
    skip_space(text, size, at);
    const size_t word = name_at(text, size, *at), from = *at;
    if (!word)
        return tree_open(t, label, length, e);
    *at += word;
    skip_space(text, size, at);
    if (*at >= size || text[*at] != ')')
        return wrong(e, from, "a word that is not alone with its tag");
    ++*at;
    return t->inside ? tree_leaf(t, label, length, text + from, word, e)
                     : wrong(e, from, "a word that is in no constituent");
}

/* Inside of a constituent. */
static bool read_next(Tree *t, const char *text, size_t size, size_t *at, Error *e)
{
    skip_space(text, size, at);
    if (*at >= size)
        return wrong(e, size, "a bracket is not shut");
    if (text[*at] == '(') {
        ++*at;
        return read_node(t, text, size, at, e);
    }
    if (text[*at] != ')')
        return wrong(e, *at, "a word without a tag");
    if (t->inside == t->count)
        return wrong(e, *at, "a constituent without a word");
    ++*at;
    tree_shut(t);
    return true;
}

bool tree_read(Tree *t, const char *text, size_t size, size_t *at, Error *e)
{
    tree_clear(t);
    skip_space(text, size, at);
    if (*at >= size)
        return true;
    if (text[*at] != '(')
        return wrong(e, *at, text[*at] == ')' ? "a bracket shuts what is not open" : "a tree begins with a bracket");
    ++*at;
    if (!read_node(t, text, size, at, e))
        return false;
    while (t->inside)
        if (!read_next(t, text, size, at, e))
            return false;
    return true;
}

/* ---- writing */

typedef struct Open {
    size_t *end; /* of the constituents that are open */
    size_t count, capacity;
} Open;

/* Shuts what ends before this node. */
static void shut_before(Open *o, size_t node, Buffer *out)
{
    for (; o->count && o->end[o->count - 1] <= node; o->count--)
        buffer_add(out, ")", 1);
}

static void start_line(const Tree *t, size_t node, size_t depth, bool indented, Buffer *out)
{
    if (!node)
        return;
    if (!indented || tree_is_leaf(t, node)) {
        buffer_add(out, " ", 1);
        return;
    }
    buffer_add(out, "\n", 1);
    for (size_t i = 0; i < depth; i++)
        buffer_add(out, "  ", 2);
}

static void write_tree(const Tree *t, bool indented, Buffer *out)
{
    Open o = {0};
    Error ignored;
    for (size_t i = 0; i < t->count; i++) {
        shut_before(&o, i, out);
        start_line(t, i, o.count, indented, out);
        buffer_print(out, "(%s", tree_label(t, i));
        if (tree_is_leaf(t, i))
            buffer_print(out, " %s)", tree_word(t, i));
        else if (!memory_grow(&o.end, &o.capacity, o.count + 1, sizeof *o.end, "a tree", &ignored))
            out->failed = true;
        else
            o.end[o.count++] = t->node[i].end;
    }
    shut_before(&o, t->count, out);
    memory_free(o.end);
}

void tree_write(const Tree *t, Buffer *out) { write_tree(t, false, out); }
void tree_write_indented(const Tree *t, Buffer *out) { write_tree(t, true, out); }

/* ---- cleaning */

static bool is_outer(const char *label)
{
    return !*label || strcmp(label, "TOP") == 0 || strcmp(label, "ROOT") == 0 || strcmp(label, "S1") == 0;
}

static size_t label_length(const char *label, const TreeCleaning *how)
{
    return how->keep_functions || *label == '-' ? strlen(label) : strcspn(label, "-=");
}

/* Whether there is no one constituent inside of the first. */
static bool has_no_root(const Tree *t) { return t->count < 2 || t->node[1].end < t->count || tree_is_leaf(t, 1); }

static bool clean_node(Tree *to, const Tree *from, size_t i, const TreeCleaning *how, Error *e)
{
    const char *label = tree_label(from, i);
    const bool leaf = tree_is_leaf(from, i);
    if (leaf && !how->keep_traces && strcmp(label, "-NONE-") == 0)
        return true;
    const size_t length = label_length(label, how);
    return leaf ? tree_leaf(to, label, length, tree_word(from, i), strlen(tree_word(from, i)), e)
                : tree_open(to, label, length, e);
}

/* What is open in `to` is what is open in `from`: both are shut together. */
static bool clean_all(Tree *to, const Tree *from, size_t first, Open *o, const TreeCleaning *how, Error *e)
{
    for (size_t i = first; i < from->count; i++) {
        for (; o->count && o->end[o->count - 1] <= i; o->count--)
            tree_shut(to);
        if (!clean_node(to, from, i, how, e))
            return false;
        if (tree_is_leaf(from, i))
            continue;
        if (!memory_grow(&o->end, &o->capacity, o->count + 1, sizeof *o->end, "a tree", e))
            return false;
        o->end[o->count++] = from->node[i].end;
    }
    for (; o->count; o->count--)
        tree_shut(to);
    return true;
}

bool tree_clean(Tree *to, const Tree *from, const TreeCleaning *how, Error *e)
{
    tree_clear(to);
    if (!from->count)
        return true;
    const bool outer = !how->keep_outer && is_outer(tree_label(from, 0)), both = outer && has_no_root(from);
    Open o = {0};
    bool fine = !both || tree_open(to, "TOP", 3, e);
    fine = fine && clean_all(to, from, outer, &o, how, e);
    if (fine && both)
        tree_shut(to);
    memory_free(o.end);
    return fine;
}
