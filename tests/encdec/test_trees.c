/* encdec baseline --trees: a treebank's parts, the grammar that it is, and the likeliest trees. */
#include "base/file.h"
#include "base/memory.h"
#include "encdec/grammar.h"
#include "encdec/treebank.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- parts */

static const char *folder_of(const char *format, int from, int to, int step)
{
    const char *folder = fresh_path("treebank");
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (int i = from; i <= to; i += step) {
        char name[32], text[80];
        snprintf(name, sizeof name, format, i);
        const int size = snprintf(text, sizeof text, "( (S (NP-SBJ (NN w%d)) (VP (VB go))))\n( (S (-NONE- *)))\n", i);
        write_in(folder, name, text, (size_t)size);
    }
    write_in(folder, "README", "not a tree", 10);
    return folder;
}

static void expect_parts(const char *path, size_t train, size_t valid, size_t test, const char *first_of_test)
{
    Treebank b;
    Error e;
    ck_done(treebank_open(&b, path, &(TreeCleaning){0}, &e), e);
    ck_assert_msg(b.part[SPLIT_TRAIN].count == train && b.part[SPLIT_VALID].count == valid &&
                      b.part[SPLIT_TEST].count == test,
                  "%zu %zu %zu", b.part[SPLIT_TRAIN].count, b.part[SPLIT_VALID].count, b.part[SPLIT_TEST].count);
    if (test)
        ck_assert_str_eq(tree_word(b.part[SPLIT_TEST].tree[0], 2), first_of_test);
    treebank_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(files_in_order_of_their_names_make_the_parts)
{
    expect_parts(folder_of("wsj_%04d.mrg", 1, 20, 1), 16, 2, 2, "w19");
    expect_parts(folder_of("%03d.mrg", 0, 9, 1), 8, 1, 1, "w9");
    expect_parts(folder_of("abc_%04d.mrg", 2291, 2310, 1), 16, 2, 2, "w2309"); /* no sections of the Journal */
}

/* Sections 0, 1 and 24 are of no part. */
START_TEST(sections_make_the_usual_parts) { expect_parts(folder_of("wsj_%04d.mrg", 0, 2450, 50), 40, 2, 2, "w2300"); }

START_TEST(trees_of_one_file_make_the_parts)
{
    const char *folder = fresh_path("treebank");
    char path[700], text[1000];
    size_t size = 0;
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (int i = 0; i < 10; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "(S (NP (NN w%d)) (VP (VB go)))\n", i);
    write_in(folder, "some.txt", text, size);
    snprintf(path, sizeof path, "%s/some.txt", folder);
    expect_parts(path, 8, 1, 1, "w9");
}

START_TEST(what_is_no_treebank_is_said)
{
    const char *folder = fresh_path("treebank");
    Error e;
    ck_done(folder_make(folder, &e), e);
    write_in(folder, "README", "not a tree", 10);
    refused(1, "has no file of trees: none is called .mrg", "baseline --trees --data %s", folder);
    write_in(folder, "a.mrg", "(S (NN a)) (S (NN", 17);
    refused(1, "a.mrg: byte 17: a bracket is not shut", "baseline --trees --data %s", folder);
    write_in(folder, "a.mrg", "( (S (-NONE- *)))", 17);
    refused(1, "has no tree to learn from", "baseline --trees --data %s", folder);
    write_in(folder, "a.mrg", "(S (NN a))", 10);
    refused(1, "has no trees in its valid part", "baseline --trees --data %s", folder);
    refused(2, "--trees needs a treebank", "baseline --trees");
}

/* ---- the grammar */

enum { MOST = 8 };

static void learn(Grammar *g, Tree *trees, const char *const *texts, size_t count)
{
    Tree *all[MOST];
    Error e;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        trees[i] = (Tree){0};
        ck_done(tree_read(&trees[i], texts[i], strlen(texts[i]), &at, &e), e);
        all[i] = &trees[i];
    }
    ck_done(grammar_learn(g, all, count, &e), e);
}

static void expect_parse(const Grammar *g, const char *sentence, const char *expected)
{
    char text[200];
    const char *words[20];
    size_t count = 0;
    Tree out = {0};
    Buffer b = {0};
    Error e;
    snprintf(text, sizeof text, "%s", sentence);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    ck_done(grammar_parse(g, words, count, &out, &e), e);
    tree_write(&out, &b);
    ck_assert_str_eq(b.text ? b.text : "", expected);
    buffer_free(&b);
    tree_free(&out);
}

static void forget(Grammar *g, Tree *trees, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tree_free(&trees[i]);
    grammar_close(g);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(trees_that_were_learned_are_found_again)
{
    static const char *const texts[] = {
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (JJ big) (JJ old) (NN cat))) (. .))", "(S (VP (VB go)))",
        "(S (NP (NP (NN rain))) (VP (VP (VBZ falls)) (CC and) (VP (VBZ stops))))",
        "(S^TOP (@S (UH oh) (UH no)) (, ,) (NP (PRP it)))", /* as others write binary trees */
    };
    static const char *const sentences[] = {"the dog sees a big old cat .", "go", "rain falls and stops", "oh no , it"};
    Grammar g;
    Tree trees[4];
    learn(&g, trees, texts, 4);
    for (size_t i = 0; i < 4; i++)
        expect_parse(&g, sentences[i], texts[i]);
    expect_parse(&g, "go go go go", ""); /* the grammar has no such sentence */
    expect_parse(&g, "", "");
    forget(&g, trees, 4);
}

/* "saw men with telescopes": who has them is what was seen more often. */
START_TEST(the_likelier_of_two_trees_is_found)
{
#define HIGH "(S (NP (PRP I)) (VP (VBD saw) (NP (NNS men)) (PP (IN with) (NP (NNS telescopes)))))"
#define LOW  "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (NNS men)) (PP (IN with) (NP (NNS telescopes))))))"
    static const char *const often_high[] = {HIGH, HIGH, HIGH, LOW}, *const often_low[] = {LOW, LOW, LOW, HIGH};
    Grammar g;
    Tree trees[4];
    learn(&g, trees, often_high, 4);
    expect_parse(&g, "I saw men with telescopes", HIGH);
    forget(&g, trees, 4);
    learn(&g, trees, often_low, 4);
    expect_parse(&g, "I saw men with telescopes", LOW);
    forget(&g, trees, 4);
}

/* By its ending, and whether it begins with a capital. */
START_TEST(a_word_that_was_never_met_has_the_tags_of_its_class)
{
    static const char *const texts[] = {"(S (NP (NNP Mary)) (VP (VBD walked)))",
                                        "(S (NP (NNS dogs)) (VP (VBD barked)))", "(S (NP (CD 1990)) (VP (VBD ended)))"};
    Grammar g;
    Tree trees[3];
    learn(&g, trees, texts, 3);
    ck_assert_str_eq(grammar_tag(&g, "cats", false), "NNS");
    ck_assert_str_eq(grammar_tag(&g, "jumped", false), "VBD");
    ck_assert_str_eq(grammar_tag(&g, "1.5", false), "CD");
    ck_assert_str_eq(grammar_tag(&g, "Zzz", true), "VBD"); /* no such class: all that was met once */
    expect_parse(&g, "birds jumped", "(S (NP (NNS birds)) (VP (VBD jumped)))");
    forget(&g, trees, 3);
}

/* ---- the command */

START_TEST(both_baselines_are_scored)
{
    const char *folder = fresh_path("treebank");
    char text[2000];
    size_t size = 0;
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (int i = 0; i < 20; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (NN w%d))) (. .)))\n", i % 4);
    write_in(folder, "a.mrg", text, size);
    Said s = must("baseline --trees --data %s --split test --json", folder);
    Json *j = said_json(&s);
    const Json *right = json_get(j, "right_branching"), *grammar = json_get(j, "grammar");
    ck_assert(json_real(j, "learnt_trees") == 16 && json_real(j, "trees") == 2);
    ck_assert(json_real(grammar, "f1") == 100 && json_real(grammar, "exact") == 100 &&
              json_real(grammar, "tags") == 100);
    /* (S the (VP dog (VP sees w3)) .): S and VP of the gold tree's S, NP, VP, NP */
    ck_assert_double_eq_tol(json_real(right, "f1"), 2 * 2 * 100.0 / (3 + 4), 1e-9);
    json_free(j);
    said_free(&s);
    s = must("baseline --trees --data %s", folder);
    ck_assert_msg(strstr(s.out, "valid, 2 trees; learned from 16\n") && strstr(s.out, "\ngrammar          F1 100.00"),
                  "%s", s.out);
    said_free(&s);
    write_in(folder, "text", "\xEF\xBB\xBFthe dog sees w1.", 19);
    s = must("baseline --trees --data %s --file %s/text", folder, folder);
    ck_assert_str_eq(s.out, "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NN w1))) (. .))\n");
    said_free(&s);
}

static const Test tests[] = {TEST(files_in_order_of_their_names_make_the_parts),
                             TEST(sections_make_the_usual_parts),
                             TEST(trees_of_one_file_make_the_parts),
                             TEST(what_is_no_treebank_is_said),
                             TEST(trees_that_were_learned_are_found_again),
                             TEST(the_likelier_of_two_trees_is_found),
                             TEST(a_word_that_was_never_met_has_the_tags_of_its_class),
                             TEST(both_baselines_are_scored)};

int main(int argc, char **argv)
{
    command_program("encdec");
    return suite_run("encdec/trees", tests, sizeof tests / sizeof *tests, argc, argv);
}
