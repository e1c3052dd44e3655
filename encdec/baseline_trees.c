/* encdec baseline --trees: labelled F1 of two parsers that learn from a treebank's training part alone, as EVALB counts it
 * (core/text/brackets.h): trees that branch to the right, and the grammar of the treebank (grammar.h). */
#include "encdec/baseline_trees.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/run/json.h"
#include "core/text/brackets.h"
#include "encdec/grammar.h"
#include "encdec/tree_evaluator.h"
#include "encdec/treebank.h"

#include <stdio.h>
#include <string.h>

enum { LINES = 256 }; /* of a text at once */

typedef struct TreeBaseline {
    Treebank bank;
    TreebankPart learnt;
    Grammar grammar;
    char *root, *inner; /* labels of trees that branch to the right */
    BracketScore right, likeliest;
    bool split_words;
    size_t unparsed; /* by the grammar: they branch to the right */
    double seconds;  /* of the grammar's parses */
} TreeBaseline;

/* ---- trees that branch to the right */

static bool ends_sentence(const char *tag) { return strcmp(tag, ".") == 0 || strcmp(tag, "''") == 0; }

/* Words but for the marks at the end. */
static size_t count_words(const Tree *t)
{
    size_t words = t->words;
    for (size_t i = t->count; i-- && tree_is_leaf(t, i) && ends_sentence(tree_label(t, i));)
        words--;
    return words;
}

static bool most_frequent(const Vocabulary *v, char **label, Error *e)
{
    int32_t best = 0;
    for (size_t i = 1; i < v->count; i++)
        if (v->counts[i] > v->counts[best])
            best = (int32_t)i;
    *label = v->count ? memory_string(vocabulary_word(v, best)) : memory_string("S");
    return *label || memory_error(e, "a label", 1, 64);
}

/* The labels that such constituents most often have: at the top, and of the last words of a sentence. */
static bool learn_labels(TreeBaseline *b, Error *e)
{
    const TreebankPart *p = &b->learnt;
    Vocabulary roots = {0}, inner = {0};
    int32_t ignored;
    bool fine = true;
    for (size_t i = 0; fine && i < p->count; i++) {
        const Tree *t = p->tree[i];
        const size_t words = count_words(t);
        for (size_t k = 0; fine && k < t->count; k++) {
            const TreeNode *n = &t->node[k];
            const char *label = tree_label(t, k);
            if (!tree_is_leaf(t, k) && (!k || (n->last == words && n->last - n->first > 1)))
                fine = vocabulary_add(k ? &inner : &roots, label, strlen(label), 1, &ignored, e);
        }
    }
    fine = fine && most_frequent(&roots, &b->root, e) && most_frequent(&inner, &b->inner, e);
    vocabulary_close(&roots);
    vocabulary_close(&inner);
    return fine;
}

static bool add_word(const TreeBaseline *b, const char *const *words, size_t i, Tree *out, Error *e)
{
    const char *tag = grammar_tag(&b->grammar, words[i], i == 0);
    return tree_leaf(out, tag, strlen(tag), words[i], strlen(words[i]), e);
}

static bool branch_right(const TreeBaseline *b, const char *const *words, size_t count, Tree *out, Error *e)
{
    size_t inside = count;
    while (inside && ends_sentence(grammar_tag(&b->grammar, words[inside - 1], inside == 1)))
        inside--;
    tree_clear(out);
    for (size_t i = 0; i < inside; i++) {
        const char *label = i ? b->inner : b->root;
        if ((i + 1 < inside || !i) && !tree_open(out, label, strlen(label), e))
            return false;
        if (!add_word(b, words, i, out, e))
            return false;
    }
    if (!inside && !tree_open(out, b->root, strlen(b->root), e))
        return false;
    for (size_t i = inside > 2 ? inside - 2 : 0; i; i--)
        tree_shut(out);
    for (size_t i = inside; i < count; i++)
        if (!add_word(b, words, i, out, e))
            return false;
    tree_shut(out);
    return true;
}

/* ---- scoring */

static bool parse(TreeBaseline *b, const char *const *words, size_t count, Tree *out, Error *e)
{
    const double start = clock_seconds();
    const bool fine = grammar_parse(&b->grammar, words, count, out, e);
    b->seconds += clock_seconds() - start;
    if (!fine || out->count)
        return fine;
    b->unparsed++;
    return branch_right(b, words, count, out, e);
}

static bool score_tree(TreeBaseline *b, const Tree *gold, Tree *out, Error *e)
{
    const char **words = memory_get(gold->words, sizeof *words);
    size_t count = 0;
    if (!words)
        return memory_error(e, "words", gold->words, sizeof *words);
    for (size_t i = 0; i < gold->count; i++)
        if (tree_is_leaf(gold, i))
            words[count++] = tree_word(gold, i);
    const bool fine = branch_right(b, words, count, out, e) && brackets_add(&b->right, gold, out, e) &&
                      parse(b, words, count, out, e) && brackets_add(&b->likeliest, gold, out, e);
    memory_free(words);
    return fine;
}

/* ---- what it says */

static bool print(const TreeBaseline *b, Split split, bool json, Error *e)
{
    const size_t learnt = b->learnt.count, scored = b->bank.part[split].count;
    Buffer out = {0};
    if (json) {
        json_add_text(&out, "split", split_name(split));
        json_add_member(&out, "learnt_trees", (double)learnt);
        json_add_member(&out, "trees", (double)scored);
        json_open(&out, "right_branching", '{');
        bracket_score_add(&out, &b->right);
        buffer_print(&out, "}");
        json_open(&out, "grammar", '{');
        bracket_score_add(&out, &b->likeliest);
        buffer_print(&out, "}");
        json_add_member(&out, "sentences_per_second", (double)scored / b->seconds);
        return json_print_members(&out, e);
    }
    buffer_print(&out, "%s, %zu trees; learned from %zu\nright-branching  ", split_name(split), scored, learnt);
    bracket_score_print(&out, &b->right);
    buffer_print(&out, "grammar          ");
    bracket_score_print(&out, &b->likeliest);
    buffer_print(&out, "%.0f sentences/s", (double)scored / b->seconds);
    buffer_print(&out, b->unparsed ? "; %zu without a tree of the grammar branch to the right\n" : "\n", b->unparsed);
    return app_print(&out, e);
}

/* ---- trees of a text */

static bool parse_line(TreeBaseline *b, Line line, Tree *tree, Buffer *out, Error *e)
{
    const char **words = memory_get(line_words(line), sizeof *words);
    char *text = memory_get(line.size + 1, 1);
    size_t count = 0, at = 0;
    bool fine = (words && text) || memory_error(e, "words", line.size, 2);
    for (Line word; fine && line_word(line, &at, &word);) {
        char *to = text + (word.text - line.text);
        memcpy(to, word.text, word.size);
        words[count++] = to;
    }
    fine = fine && (!count || parse(b, words, count, tree, e));
    if (fine && count)
        tree_write(tree, out);
    buffer_add(out, "\n", 1);
    memory_free(words);
    memory_free(text);
    return fine;
}

static bool parse_file(void *self, FILE *file, Error *e)
{
    TreeBaseline *b = self;
    Lines lines = {0};
    Tree tree = {0};
    bool fine = true;
    for (bool first = true; fine && !feof(file); first = false) {
        Buffer out = {0};
        lines_clear(&lines);
        fine = lines_read(&lines, file, LINES, SIZE_MAX, e) && !ferror(file);
        if (first)
            lines_skip_mark(&lines);
        fine = fine && treebank_sentences(&lines, b->split_words, e);
        for (size_t i = 0; fine && i < lines.count; i++)
            fine = parse_line(b, lines_at(&lines, i), &tree, &out, e);
        fine = app_print(&out, e) && fine;
    }
    lines_close(&lines);
    tree_free(&tree);
    return fine || ferror(file);
}

/* ---- the command */

/* What is learned from: --train-trees of the training part, spread evenly over it. */
static bool choose_trees(TreeBaseline *b, size_t count, Error *e)
{
    const TreebankPart *all = &b->bank.part[SPLIT_TRAIN];
    b->learnt.count = count && count < all->count ? count : all->count;
    b->learnt.tree = memory_get(b->learnt.count, sizeof *b->learnt.tree);
    for (size_t i = 0; b->learnt.tree && i < b->learnt.count; i++)
        b->learnt.tree[i] = all->tree[i * all->count / b->learnt.count];
    return b->learnt.tree || memory_error(e, "trees", b->learnt.count, sizeof *b->learnt.tree);
}

static bool score(TreeBaseline *b, Split split, bool json, const char *path, Error *e)
{
    const TreebankPart *scored = &b->bank.part[split];
    Tree out = {0};
    bool fine = scored->count || fail(e, "%s has no trees in its %s part", path, split_name(split));
    for (size_t i = 0; fine && i < scored->count; i++)
        fine = score_tree(b, scored->tree[i], &out, e);
    tree_free(&out);
    return fine && print(b, split, json, e);
}

bool baseline_trees(EncDec *c, Error *e)
{
    const EncdecOptions *v = c->options;
    const char *path = app_data(&c->app);
    const TreeCleaning cleaning = encdec_cleaning(v);
    TreeBaseline b = {.split_words = v->split_words};
    bool fine = treebank_open(&b.bank, path, &cleaning, e) && choose_trees(&b, v->train_trees, e) &&
                grammar_learn(&b.grammar, b.learnt.tree, b.learnt.count, e) && learn_labels(&b, e);
    fine = fine &&
           (v->input ? app_input(v->input, parse_file, &b, e) : score(&b, (Split)v->split, v->shared.json, path, e));
    grammar_close(&b.grammar);
    memory_free(b.learnt.tree);
    memory_free(b.root);
    memory_free(b.inner);
    treebank_close(&b.bank);
    return fine;
}
