/* Trees as lines of tokens, and lines of tokens as trees: whatever was written. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/text/archive.h"
#include "core/text/tree_tokens.h"
#include "tests/suite.h"

#include <string.h>
#include <unistd.h>

/* ---- back and forth */

static void expect_same(const Tree *a, const Tree *b, const char *line)
{
    ck_assert_msg(a->count == b->count && a->words == b->words, "%s", line);
    for (size_t i = 0; i < a->count; i++)
        ck_assert_msg(a->node[i].end == b->node[i].end && a->node[i].first == b->node[i].first &&
                          a->node[i].last == b->node[i].last && tree_is_leaf(a, i) == tree_is_leaf(b, i) &&
                          !strcmp(tree_label(a, i), tree_label(b, i)) && !strcmp(tree_word(a, i), tree_word(b, i)),
                      "%s", line);
}

/* A tree that was written is found again, and nothing had to be repaired. */
static void expect_found(const Tree *t)
{
    for (TreeLeaves leaves = LEAVES_TAGS; leaves <= LEAVES_WORDS; leaves++) {
        Buffer line = {0}, words = {0};
        Tree again = {0};
        TreeRepairs r = {0};
        Error e;
        tree_tokens_write(t, leaves, &line);
        tree_words_write(t, &words);
        ck_assert(!line.failed && !words.failed);
        ck_done(tree_of_tokens(&again, line.text, line.size, leaves, words.text, words.size, &r, &e), e);
        expect_same(t, &again, line.text);
        ck_assert(r.trees == 1 && r.repaired == 0);
        tree_free(&again);
        buffer_free(&line);
        buffer_free(&words);
    }
}

static Tree tree_of(const char *text)
{
    Tree t = {0};
    Error e;
    size_t at = 0;
    ck_done(tree_read(&t, text, strlen(text), &at, &e), e);
    return t;
}

START_TEST(a_tree_is_a_line_of_tokens)
{
    static const struct {
        const char *tree, *tags, *words, *sentence;
    } cases[] = {{"(S (NP (DT the) (NN dog)) (VP (VBZ barks)))", "(S (NP DT NN )NP (VP VBZ )VP )S",
                  "(S (NP (DT the )DT (NN dog )NN )NP (VP (VBZ barks )VBZ )VP )S", "the dog barks"},
                 {"(S (X (X (A a))))", "(S (X (X A )X )X )S", "(S (X (X (A a )A )X )X )S", "a"},
                 {"( (S ( a) (B b)))", "( (S () B )S )", "( (S ( a ) (B b )B )S )", "a b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tree t = tree_of(cases[i].tree);
        Buffer tags = {0}, words = {0}, sentence = {0};
        tree_tokens_write(&t, LEAVES_TAGS, &tags);
        tree_tokens_write(&t, LEAVES_WORDS, &words);
        tree_words_write(&t, &sentence);
        ck_assert_str_eq(tags.text, cases[i].tags);
        ck_assert_str_eq(words.text, cases[i].words);
        ck_assert_str_eq(sentence.text, cases[i].sentence);
        expect_found(&t);
        buffer_free(&tags);
        buffer_free(&words);
        buffer_free(&sentence);
        tree_free(&t);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Draws a tree of this many words; wide: how seldom a constituent begins. */
static Tree random_tree(uint32_t seed, size_t words, size_t wide, size_t deepest)
{
    static const char *const labels[] = {"S", "NP", "VP", "X", "", "-LRB-", "NP-SBJ=1"};
    Tree t = {0};
    Error e;
    size_t open = 1, draw = 0;
    tree_clear(&t);
    ck_done(tree_open(&t, "TOP", 3, &e), e);
    for (size_t left = words; left;) {
        const uint64_t what = philox_below(wide + 2, seed, 0, draw, 0), label = philox_below(7, seed, 1, draw++, 0);
        if (what == 0 && open < deepest) {
            ck_done(tree_open(&t, labels[label], strlen(labels[label]), &e), e);
            open++;
        } else if (what == 1 && open > 1 && t.inside != t.count) {
            tree_shut(&t);
            open--;
        } else {
            ck_done(tree_leaf(&t, labels[label], strlen(labels[label]), "w", 1, &e), e);
            left--;
        }
    }
    while (t.inside)
        tree_shut(&t);
    return t;
}

START_TEST(random_trees_are_found_again)
{
    static const size_t words[] = {1, 2, 7, 40, 300};
    for (uint32_t seed = 0; seed < 200; seed++) {
        Tree t = random_tree(seed, words[seed % 5], 1 + seed % 4, seed % 3 ? 1000 : 3);
        ck_assert_uint_eq(t.words, words[seed % 5]);
        expect_found(&t);
        tree_free(&t);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_tree_may_be_a_million_deep)
{
    Tree t = {0};
    Error e;
    tree_clear(&t);
    for (size_t i = 0; i < 1000000; i++)
        ck_done(tree_open(&t, "X", 1, &e), e);
    ck_done(tree_leaf(&t, "A", 1, "a", 1, &e), e);
    while (t.inside)
        tree_shut(&t);
    expect_found(&t);
    tree_free(&t);
}

/* ---- the treebank sample, where it is there */

static const char *sample(void)
{
    static const char *const places[] = {"data/treebank/treebank.zip", "../shared/data/ptb/treebank.zip"};
    for (size_t i = 0; i < 2; i++)
        if (text_reads_archives() && access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}

static bool is_tree_file(void *context, const char *name)
{
    (void)context;
    const size_t size = strlen(name);
    return size > 4 && !strcmp(name + size - 4, ".mrg");
}

static bool take_trees(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    (void)name;
    Tree t = {0}, clean = {0};
    for (size_t at = 0; tree_read(&t, bytes, size, &at, e) && t.count; ++*(size_t *)context) {
        expect_found(&t);
        ck_done(tree_clean(&clean, &t, &(TreeCleaning){0}, e), *e);
        expect_found(&clean);
    }
    tree_free(&t);
    tree_free(&clean);
    return true;
}

START_TEST(each_tree_of_the_sample_is_found_again)
{
    size_t trees = 0;
    Error e;
    if (!sample()) {
        test_skip("each_tree_of_the_sample_is_found_again",
                  "data/treebank/treebank.zip is not there: data/fetch treebank");
        return;
    }
    ck_done(entries_read(sample(), &(Entries){is_tree_file, take_trees, &trees}, &e), e);
    ck_assert_uint_eq(trees, 3914);
}

/* ---- what is ill-formed */

typedef struct Repaired {
    const char *line, *sentence, *tree;
    TreeRepairs r;
    TreeLeaves leaves;
} Repaired;

/* clang-format off */
static const Repaired repaired[] = {
    {"(S A B )S", "a b", "(S (A a) (B b))", {0}, LEAVES_TAGS},
    {"(S (NP A (VP B )S", "a b", "(S (NP (A a) (VP (B b))))", {.shut = 2}, LEAVES_TAGS},
    {"(S (NP A B", "a b", "(S (NP (A a) (B b)))", {.shut = 2}, LEAVES_TAGS},
    {"(S A )NP B )S", "a b", "(S (A a) (B b))", {.ignored = 1}, LEAVES_TAGS},
    {"(S A (NP )NP B )S", "a b", "(S (A a) (B b))", {.empty = 1}, LEAVES_TAGS},
    {"(S A )S", "a 5 , Bob -- ?", "(S (A a) (CD 5) (, ,) (NNP Bob) (: --) (. ?))", {.missing = 5}, LEAVES_TAGS},
    {"(S (NP A", "a .", "(S (NP (A a)) (. .))", {.shut = 2, .missing = 1}, LEAVES_TAGS},
    {"(S A B C )S", "a b", "(S (A a) (B b))", {.over = 1}, LEAVES_TAGS},
    {"A B", "a b", "(S (A a) (B b))", {.opened = 1, .shut = 1}, LEAVES_TAGS},
    {"", "a", "(S (NN a))", {.opened = 1, .shut = 1, .missing = 1}, LEAVES_TAGS},
    {"(S A )S B (X C )X", "a b c", "(S (A a) (B b) (X (C c)))", {.opened = 1, .shut = 1}, LEAVES_TAGS},
    {"(S A )S )S", "a", "(S (A a))", {.ignored = 1}, LEAVES_TAGS},
    {"(S A )S", "", "", {.over = 1, .empty = 1}, LEAVES_TAGS},
    {"(S (A)B C(D )S", "a", "(S (NN a))", {.ignored = 2, .missing = 1}, LEAVES_TAGS},
    {"(S A B )S", "( a(b)c", "(S (A -LRB-) (B a-LRB-b-RRB-c))", {0}, LEAVES_TAGS},
    {"(S (A x )A (B b )C c )S", "a b c", "(S (A a) (B b) (NN c))", {.shut = 1, .ignored = 1}, LEAVES_WORDS},
    {"(S (A x", "a", "(S (A a))", {.shut = 2}, LEAVES_WORDS}};
/* clang-format on */

START_TEST(what_is_ill_formed_is_repaired_and_counted)
{
    const Repaired *c = &repaired[_i];
    const TreeRepairs *w = &c->r;
    Tree t = {0};
    TreeRepairs r = {0};
    Buffer b = {0};
    Error e;
    ck_done(tree_of_tokens(&t, c->line, strlen(c->line), c->leaves, c->sentence, strlen(c->sentence), &r, &e), e);
    tree_write(&t, &b);
    ck_assert_str_eq(b.text ? b.text : "", c->tree);
    ck_assert_msg(r.opened == w->opened && r.shut == w->shut && r.ignored == w->ignored && r.empty == w->empty &&
                      r.missing == w->missing && r.over == w->over,
                  "%s: opened %zu, shut %zu, ignored %zu, empty %zu, missing %zu, over %zu", c->line, r.opened, r.shut,
                  r.ignored, r.empty, r.missing, r.over);
    ck_assert_uint_eq(r.repaired, w->opened + w->shut + w->ignored + w->empty + w->missing + w->over > 0);
    tree_free(&t);
    buffer_free(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Any tokens, in any order: what comes is read again as it is, and has all words. */
START_TEST(whatever_was_written_is_a_tree_of_the_sentence)
{
    static const char *const tokens[] = {"(S", "(NP", "(", ")S", ")NP", ")", "A", "B", ",", "()", "(X)", "<unk>"};
    for (uint32_t seed = 0; seed < 3000; seed++) {
        Buffer line = {0}, sentence = {0}, text = {0};
        Tree t = {0}, again = {0};
        Error e;
        size_t at = 0, words = philox_below(6, seed, 0, 0, 1), count = philox_below(14, seed, 0, 1, 1);
        for (size_t i = 0; i < count; i++)
            buffer_print(&line, "%s ", tokens[philox_below(12, seed, 1, i, 1)]);
        for (size_t i = 0; i < words; i++)
            buffer_print(&sentence, "%s ", i % 2 ? "b" : ",");
        ck_done(tree_of_tokens(&t, line.text, line.size, seed % 2 ? LEAVES_WORDS : LEAVES_TAGS, sentence.text,
                               sentence.size, NULL, &e),
                e);
        ck_assert_uint_eq(t.words, words);
        ck_assert_uint_eq(t.inside, 0);
        tree_write(&t, &text);
        if (words) {
            ck_done(tree_read(&again, text.text, text.size, &at, &e), e);
            expect_same(&t, &again, line.text);
        }
        tree_free(&t);
        tree_free(&again);
        buffer_free(&line);
        buffer_free(&sentence);
        buffer_free(&text);
    }
}

static bool make_and_find(void *argument, Error *e)
{
    (void)argument;
    Tree t = {0}, again = {0};
    Buffer line = {0};
    size_t at = 0;
    bool fine = tree_read(&t, "(S (A a) (X (B (C b))))", 23, &at, e);
    if (fine)
        tree_tokens_write(&t, LEAVES_TAGS, &line);
    fine = fine && (!line.failed || fail(e, "memory")) &&
           tree_of_tokens(&again, line.text, line.size, LEAVES_TAGS, "( b c", 5, NULL, e);
    tree_free(&t);
    tree_free(&again);
    buffer_free(&line);
    return fine;
}

START_TEST(memory_that_runs_out_is_said) { fail_each_allocation(make_and_find, NULL); }

static const Test tests[] = {
    TEST(a_tree_is_a_line_of_tokens),
    TEST(random_trees_are_found_again),
    TEST(a_tree_may_be_a_million_deep),
    TEST(each_tree_of_the_sample_is_found_again),
    TEST_LOOP(what_is_ill_formed_is_repaired_and_counted, sizeof repaired / sizeof *repaired),
    TEST(whatever_was_written_is_a_tree_of_the_sentence),
    TEST(memory_that_runs_out_is_said),
};

int main(int argc, char **argv)
{
    return suite_run("text/tree_tokens", tests, sizeof tests / sizeof *tests, argc, argv);
}
