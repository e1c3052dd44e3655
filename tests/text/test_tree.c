/* Trees as treebanks write them, and how EVALB counts their brackets. */
#include "base/memory.h"
#include "core/text/brackets.h"
#include "core/text/tree.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

static Tree tree_of(const char *text)
{
    Tree t = {0};
    Error e;
    size_t at = 0;
    ck_done(tree_read(&t, text, strlen(text), &at, &e), e);
    ck_assert_uint_eq(t.inside, 0);
    return t;
}

static void expect_written(const Tree *t, const char *text)
{
    Buffer b = {0};
    tree_write(t, &b);
    ck_assert(!b.failed);
    ck_assert_str_eq(b.text ? b.text : "", text);
    buffer_free(&b);
}

START_TEST(a_tree_is_read_and_written)
{
    static const char text[] = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))";
    Tree again = tree_of("  (S(NP\n\t(DT the )(NN  dog))(VP (VBZ barks)) (. .)\r\n)  ");
    expect_written(&again, text);
    ck_assert(again.count == 7 && again.words == 4);
    ck_assert(again.node[1].end == 4 && again.node[1].first == 0 && again.node[1].last == 2);
    ck_assert(again.node[4].first == 2 && again.node[4].last == 3 && tree_is_leaf(&again, 5));
    Buffer b = {0};
    tree_write_indented(&again, &b);
    ck_assert_str_eq(b.text, "(S\n  (NP (DT the) (NN dog))\n  (VP (VBZ barks)) (. .))");
    buffer_free(&b);
    tree_free(&again);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(several_trees_are_read_one_by_one)
{
    static const char text[] = "(A (B b))\n( (C (D d)) )\n\n";
    Tree t = {0};
    Error e;
    size_t at = 0;
    ck_done(tree_read(&t, text, sizeof text - 1, &at, &e), e);
    expect_written(&t, "(A (B b))");
    ck_done(tree_read(&t, text, sizeof text - 1, &at, &e), e);
    expect_written(&t, "( (C (D d)))");
    ck_done(tree_read(&t, text, sizeof text - 1, &at, &e), e);
    ck_assert_uint_eq(t.count, 0);
    tree_free(&t);
}

START_TEST(what_is_no_tree_is_refused_with_its_byte)
{
    static const char *const bad[][2] = {{"(S (NP (DT the)", "byte 15: a bracket is not shut"},
                                         {"(S", "byte 2: a bracket is not shut"},
                                         {"(", "byte 1: a bracket is not shut"},
                                         {"()", "byte 1: a constituent without a word"},
                                         {"(S ())", "byte 4: a constituent without a word"},
                                         {"(S (NP the dog))", "byte 7: a word that is not alone with its tag"},
                                         {"(S (NP (DT a)) dog)", "byte 15: a word without a tag"},
                                         {"(DT the)", "byte 4: a word that is in no constituent"},
                                         {")", "byte 0: a bracket shuts what is not open"},
                                         {"the dog", "byte 0: a tree begins with a bracket"},
                                         {"(S (A \0))", "byte 6: a word without a tag"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Tree t = {0};
        Error e;
        size_t at = 0;
        ck_assert_msg(!tree_read(&t, bad[i][0], i == 10 ? 9 : strlen(bad[i][0]), &at, &e), "%s", bad[i][0]);
        ck_assert_str_eq(e.text, bad[i][1]);
        tree_free(&t);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A million constituents, each in the one before. */
START_TEST(a_tree_may_be_deep)
{
    enum { DEPTH = 1000000 };
    Buffer in = {0}, out = {0};
    Tree t = {0}, clean = {0};
    BracketScore s = {0};
    Error e;
    size_t at = 0;
    for (size_t i = 0; i < DEPTH; i++)
        buffer_add(&in, i ? " (A" : "(A", i ? 3 : 2);
    buffer_print(&in, " (B b)");
    for (size_t i = 0; i < DEPTH; i++)
        buffer_add(&in, ")", 1);
    ck_done(tree_read(&t, in.text, in.size, &at, &e), e);
    ck_assert_uint_eq(t.count, DEPTH + 1);
    ck_done(tree_clean(&clean, &t, &(TreeCleaning){0}, &e), e);
    tree_write(&clean, &out);
    ck_assert_str_eq(out.text, in.text);
    ck_done(brackets_add(&s, &t, &clean, &e), e);
    ck_assert_uint_eq(s.matched, DEPTH);
    buffer_free(&in);
    buffer_free(&out);
    tree_free(&t);
    tree_free(&clean);
}

static void expect_clean(const char *text, const TreeCleaning *how, const char *expected)
{
    Tree t = tree_of(text), clean = {0};
    Error e;
    ck_done(tree_clean(&clean, &t, how, &e), e);
    expect_written(&clean, expected);
    tree_free(&t);
    tree_free(&clean);
}

START_TEST(what_a_parser_is_not_asked_for_is_taken_away)
{
    static const char text[] = "( (S (NP-SBJ-1 (NNP Bell)) (VP (VBZ is) (S (NP (-NONE- *-1)) (VP=2 (-LRB- -LRB-))))))";
    static const TreeCleaning all = {0}, outer = {.keep_outer = true}, functions = {.keep_functions = true},
                              traces = {.keep_traces = true};
    expect_clean(text, &all, "(S (NP (NNP Bell)) (VP (VBZ is) (S (VP (-LRB- -LRB-)))))");
    expect_clean(text, &outer, "( (S (NP (NNP Bell)) (VP (VBZ is) (S (VP (-LRB- -LRB-))))))");
    expect_clean(text, &functions, "(S (NP-SBJ-1 (NNP Bell)) (VP (VBZ is) (S (VP=2 (-LRB- -LRB-)))))");
    expect_clean(text, &traces, "(S (NP (NNP Bell)) (VP (VBZ is) (S (NP (-NONE- *-1)) (VP (-LRB- -LRB-)))))");
    expect_clean("(TOP (S (A a)) (S (B b)))", &all, "(TOP (S (A a)) (S (B b)))");
    expect_clean("((A a))", &all, "(TOP (A a))");
    expect_clean("(ROOT (S (A a)))", &all, "(S (A a))");
    expect_clean("( (S (NP (-NONE- *)) (-NONE- 0)))", &all, "");
    expect_clean("( (S (-NONE- *)) (S (A a)))", &all, "(TOP (S (A a)))");
}

/* ---- brackets */

static BracketScore score_of(const char *gold, const char *found)
{
    Tree a = tree_of(gold), b = tree_of(found);
    BracketScore s = {0};
    Error e;
    ck_done(brackets_add(&s, &a, &b, &e), e);
    tree_free(&a);
    tree_free(&b);
    return s;
}

static void expect_score(const char *gold, const char *found, size_t of_gold, size_t of_found, size_t matched)
{
    const BracketScore s = score_of(gold, found);
    ck_assert_msg(s.sentences == 1 && !s.errors && !s.skipped, "%s", found);
    ck_assert_msg(s.gold == of_gold && s.found == of_found && s.matched == matched, "%s: %zu %zu %zu", found, s.gold,
                  s.found, s.matched);
    ck_assert_uint_eq(s.complete, of_gold == matched && of_found == matched);
}

START_TEST(brackets_are_counted_as_evalb_does)
{
    static const char gold[] = "(S (NP (DT the) (NN dog)) (, ,) (VP (VBZ barks) (PRT (RP up))) (. .))";
    expect_score(gold, gold, 4, 4, 4);
    /* a label that is wrong, and punctuation that stands elsewhere */
    expect_score(gold, "(S (NP (DT the) (NN dog) (, ,)) (NP (VBZ barks) (ADVP (RP up)) (. .)))", 4, 4, 3);
    /* a span that is wrong, and one that is missing */
    expect_score(gold, "(S (NP (DT the)) (NN dog) (, ,) (VP (VBZ barks) (RP up)) (. .))", 4, 3, 2);
    /* chains of constituents over the same words: each is used once */
    expect_score("(S (NP (NP (NN a))) (VP (VB b)))", "(S (NP (NN a)) (VP (VP (VP (VB b)))))", 4, 5, 3);
    /* TOP does not count, nor does what has no word but punctuation; functions are not looked at */
    expect_score("(TOP (S-1 (NP=2 (NN a)) (X (. .))))", "(S (NP-SBJ (NN a)) (. .))", 2, 2, 2);
    /* traces neither */
    expect_score("(S (NP (-NONE- *)) (VP (VB go)))", "(S (VP (VB go)))", 2, 2, 2);
}

START_TEST(sentences_whose_words_differ_do_not_count)
{
    static const char gold[] = "(S (NP (NN a)) (, ,) (VP (VB b)))";
    BracketScore s = score_of(gold, "(S (NP (NN a)) (NN ,) (VP (VB b)))"); /* the comma is a noun */
    ck_assert(s.sentences == 1 && s.errors == 1 && s.gold == 0 && s.words == 0);
    s = score_of(gold, "(S (NP (NN a)) (, ,) (VP (VB c)))");
    ck_assert(s.errors == 1);
    s = score_of(gold, "(S (, a) (, ,) (, b))");
    ck_assert(s.skipped == 1 && s.errors == 0 && s.gold == 0);
    ck_assert(isnan(brackets_f1(&s)) && isnan(brackets_tags(&s)) && isnan(brackets_complete(&s)));
}

START_TEST(figures_are_sums_over_sentences)
{
    static const char gold[] = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))";
    Tree a = tree_of(gold), b = tree_of("(S (DT the) (VP (VB dog) (VBZ barks)) (. .))");
    Tree error = tree_of("(S (NP (NN cat)))"), none = tree_of("(S (. .))");
    BracketScore s = {0};
    Error e;
    ck_done(brackets_add(&s, &a, &a, &e), e);
    ck_done(brackets_add(&s, &a, &b, &e), e);
    for (int i = 0; i < 3; i++) /* which changes no figure */
        ck_done(brackets_add(&s, &a, &error, &e) && brackets_add(&s, &a, &none, &e), e);
    ck_assert(s.sentences == 8 && s.errors == 3 && s.skipped == 3);
    ck_assert(s.gold == 6 && s.found == 5 && s.matched == 4 && s.complete == 1 && s.words == 6 && s.tags == 5);
    ck_assert_double_eq_tol(brackets_precision(&s), 80, 1e-12);
    ck_assert_double_eq_tol(brackets_recall(&s), 200.0 / 3, 1e-12);
    ck_assert_double_eq_tol(brackets_f1(&s), 800.0 / 11, 1e-12);
    ck_assert_double_eq_tol(brackets_complete(&s), 50, 1e-12);
    ck_assert_double_eq_tol(brackets_tags(&s), 500.0 / 6, 1e-12);
    tree_free(&a);
    tree_free(&b);
    tree_free(&error);
    tree_free(&none);
}

static const Test tests[] = {TEST(a_tree_is_read_and_written),
                             TEST(several_trees_are_read_one_by_one),
                             TEST(what_is_no_tree_is_refused_with_its_byte),
                             TEST(a_tree_may_be_deep),
                             TEST(what_a_parser_is_not_asked_for_is_taken_away),
                             TEST(brackets_are_counted_as_evalb_does),
                             TEST(sentences_whose_words_differ_do_not_count),
                             TEST(figures_are_sums_over_sentences)};

int main(int argc, char **argv) { return suite_run("text/tree", tests, sizeof tests / sizeof *tests, argc, argv); }
