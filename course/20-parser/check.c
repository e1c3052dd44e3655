/* Lesson 20: what is graded. */
#include "course/20-parser/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64, NEVER = -77 };

/* "(1 2 (3 4 )3 )1" as tokens: a number is a tag, with a bracket before it one of a constituent. */
static size_t tokens_of(int *token, const char *text)
{
    size_t count = 0;
    for (const char *at = text; *at; at++) {
        int kind = *at == '(' ? OPEN : *at == ')' ? SHUT : 0, label = 0;
        at += kind > 0;
        for (; *at >= '0' && *at <= '9'; at++)
            label = 10 * label + *at - '0';
        token[count++] = kind + label;
        if (!*at)
            break;
    }
    return count;
}

static void text_of(char *text, size_t room, const int *token, size_t count)
{
    size_t size = 0;
    text[0] = 0;
    for (size_t i = 0; i < count && size + 12 < room; i++)
        size += (size_t)snprintf(text + size, room - size, "%s%s%d", i ? " " : "",
                                 token[i] >= SHUT   ? ")"
                                 : token[i] >= OPEN ? "("
                                                    : "",
                                 token[i] % OPEN);
}

/* Tokens were found as they should be. */
static void expect_line(Grade *g, const char *what, const int *found, size_t count, const char *expected,
                        const char *hint)
{
    int wanted[MOST];
    char text[400];
    const size_t size = tokens_of(wanted, expected);
    expect(g, count <= MOST, hint, "%s: it returns %zu tokens, not %zu", what, count, size);
    text_of(text, sizeof text, found, count);
    expect(g, count == size && !memcmp(found, wanted, size * sizeof *wanted), hint, "%s: \"%s\", and should be \"%s\"",
           what, text, expected);
}

/* ---- 1. linearise, 2. read_tree */

/* The tree of a well-formed line. */
static size_t nodes_of(Node *node, const char *line)
{
    int token[MOST];
    size_t open[MOST], depth = 0, nodes = 0;
    const size_t count = tokens_of(token, line);
    for (size_t i = 0; i < count; i++) {
        if (token[i] >= SHUT) {
            node[open[--depth]].end = nodes;
            continue;
        }
        node[nodes] = (Node){.label = token[i] % OPEN, .end = nodes + 1, .is_word = token[i] < OPEN};
        if (token[i] >= OPEN)
            open[depth++] = nodes;
        nodes++;
    }
    return nodes;
}

static void linearised(Grade *g, const char *line, const char *hint)
{
    Node node[MOST];
    int token[MOST + 8];
    const size_t nodes = nodes_of(node, line);
    for (size_t i = 0; i < MOST + 8; i++)
        token[i] = NEVER;
    const size_t count = linearise(token, node, nodes);
    expect_line(g, "the line of a tree", token, count, line, hint);
    expect(g, token[count] == NEVER, "write no more tokens than there are", "token %zu was written", count);
}

static void read_again(Grade *g, const char *line, const char *hint)
{
    Node expected[MOST], node[MOST + 8];
    int token[MOST] = {0};
    const size_t nodes = nodes_of(expected, line), tokens = tokens_of(token, line);
    memset(node, 0x55, sizeof node);
    const size_t count = read_tree(node, token, tokens);
    expect(g, count == nodes, "a node for each bracket that opens, and for each word", "\"%s\" has %zu nodes, not %zu",
           line, nodes, count);
    for (size_t i = 0; i < nodes; i++) {
        expect(g, node[i].label == expected[i].label && node[i].is_word == expected[i].is_word, hint,
               "\"%s\": node %zu is %s %d, not %s %d", line, i, expected[i].is_word ? "word" : "constituent",
               expected[i].label, node[i].is_word ? "word" : "constituent", node[i].label);
        expect(g, node[i].end == expected[i].end,
               "the end is the number of the node that comes next, after all that is inside",
               "\"%s\": node %zu ends at %zu, not at %zu", line, i, expected[i].end, node[i].end);
    }
}

#define EACH(check)                                                                                                    \
    check(g, "(1 2 )1", "a bracket, what is inside, a bracket");                                                       \
    check(g, "(1 (2 3 4 )2 (5 6 (2 3 4 )2 )5 7 )1", "several constituents may end at the same node: the inner first"); \
    check(g, "(1 (1 (1 (1 2 )1 )1 )1 )1", "a chain: each constituent has its own pair of brackets")

static void linearises(Grade *g) { EACH(linearised); }
static void reads(Grade *g) { EACH(read_again); }

/* ---- 3. repair */

static void repaired(Grade *g, const char *line, size_t words, const char *expected, const char *hint)
{
    int token[MOST], found[3 * MOST];
    char what[120];
    const size_t tokens = tokens_of(token, line);
    for (size_t i = 0; i < 3 * MOST; i++)
        found[i] = NEVER;
    const size_t count = repair(found, token, tokens, words);
    snprintf(what, sizeof what, "\"%s\" for %zu words", line, words);
    expect_line(g, what, found, count, expected, hint);
}

static void leaves_trees_alone(Grade *g)
{
    static const char *const hint = "a line that is a tree of the sentence stays as it is";
    repaired(g, "(1 (2 3 4 )2 (5 6 )5 7 )1", 4, "(1 (2 3 4 )2 (5 6 )5 7 )1", hint);
    repaired(g, "(1 (1 2 )1 (1 (1 2 )1 )1 )1", 2, "(1 (1 2 )1 (1 (1 2 )1 )1 )1", hint);
}

static void shuts_what_is_open(Grade *g)
{
    repaired(g, "(1 (2 3 (5 6 )5 )1", 2, "(1 (2 3 (5 6 )5 )2 )1", "before a constituent, those inside of it are shut");
    repaired(g, "(1 (2 3 (5 6", 2, "(1 (2 3 (5 6 )5 )2 )1", "at the end all that is open is shut, the inner first");
    repaired(g, "(1 (2 3 (5 6 )2 7 )1", 3, "(1 (2 3 (5 6 )5 )2 7 )1",
             "before a constituent, those inside of it are shut");
    repaired(g, "(1 (2 (2 3 (5 4 )2 6 )2 )1", 3, "(1 (2 (2 3 (5 4 )5 )2 6 )2 )1", "the innermost of its label is shut");
}

static void leaves_out_what_shuts_nothing(Grade *g)
{
    static const char *const hint = "a bracket that shuts what is not open is left out, whatever else is open";
    repaired(g, "(1 (2 3 )5 4 )2 )1", 2, "(1 (2 3 4 )2 )1", hint);
    repaired(g, "(1 2 )3 )3 )1", 1, "(1 2 )1", hint);
    repaired(g, ")1 (1 2 )1", 1, "(1 2 )1", hint);
}

static void has_one_constituent_around_all(Grade *g)
{
    static const char *const hint = "what comes after the first constituent belongs into it: shut it last";
    repaired(g, "(1 2 )1 3 (4 5 )4", 3, "(1 2 3 (4 5 )4 )1", hint);
    repaired(g, "(1 (2 3 )1 4 )1 )1", 2, "(1 (2 3 )2 4 )1", hint);
    repaired(g, "2 (3 4 )3", 2, "(0 2 (3 4 )3 )0", "a word before any bracket: 0 is opened around all");
    repaired(g, "", 2, "(0 0 0 )0", "of nothing comes a constituent 0 with the words");
}

static void has_all_words_and_no_other(Grade *g)
{
    repaired(g, "(1 (2 3 4 5 )2 6 )1", 2, "(1 (2 3 4 )2 )1", "words that the sentence does not have are left out");
    repaired(g, "(1 (2 3 )2 )1", 3, "(1 (2 3 )2 0 0 )1", "missing words are at the end of the first constituent");
    repaired(g, "(1 (2 3 (4 5", 4, "(1 (2 3 (4 5 )4 )2 0 0 )1", "missing words come after what was open has been shut");
}

static void has_no_empty_constituent(Grade *g)
{
    static const char *const hint = "a constituent without a word is left out, and one that has only such in it";
    repaired(g, "(1 (2 )2 3 )1", 1, "(1 3 )1", hint);
    repaired(g, "(1 (2 (3 (4 )4 )3 )2 3 )1", 1, "(1 3 )1", hint);
    repaired(g, "(1 2 (3 4 )3 )1", 1, "(1 2 )1", hint);
    repaired(g, "(1 2 (3 (4 (5", 1, "(1 2 )1", hint);
}

/* ---- 4. matched, 5. f1 */

static void matches_brackets(Grade *g)
{
    static const Bracket gold[] = {{1, 0, 5}, {2, 0, 2}, {2, 3, 5}, {2, 3, 5}, {3, 2, 5}};
    static const Bracket found[] = {{1, 0, 5}, {2, 0, 2}, {3, 3, 5}, {2, 2, 5}, {2, 3, 5}};
    size_t right = matched(found, 5, gold, 5);
    expect(g, right == 3, "label, first and last word must be the same", "3 of 5 brackets are right, not %zu", right);
    right = matched(found, 0, gold, 5);
    expect(g, right == 0, NULL, "of no brackets, %zu are right", right);
}

static void matches_once(Grade *g)
{
    static const Bracket one[] = {{2, 0, 2}}, twice[] = {{2, 0, 2}, {2, 0, 2}, {2, 0, 2}};
    static const char *const hint = "a bracket of gold is used up by the one that it matches";
    size_t right = matched(twice, 3, one, 1);
    expect(g, right == 1, hint, "three equal brackets and one of gold: 1 is right, not %zu", right);
    right = matched(one, 1, twice, 3);
    expect(g, right == 1, "count those that were found",
           "one bracket and three equal ones of gold: 1 is right, not %zu", right);
    right = matched(twice, 3, twice, 2);
    expect(g, right == 2, hint, "three equal brackets and two of gold: 2 are right, not %zu", right);
}

static void is_harmonic(Grade *g)
{
    static const size_t of[][3] = {{3, 4, 6}, {6, 6, 6}, {1, 10, 1}};
    for (size_t i = 0; i < 3; i++) {
        const double p = (double)of[i][0] / (double)of[i][1], r = (double)of[i][0] / (double)of[i][2],
                     expected = 200 * p * r / (p + r), found = f1(of[i][0], of[i][1], of[i][2]);
        expect(g, fabs(found - expected) < 1e-9,
               fabs(found - 50 * (p + r)) < 1e-9 ? "the harmonic mean: 2 p r / (p + r), not half of p + r"
                                                 : "2 p r / (p + r), in percent",
               "%zu right of %zu that were found and %zu of gold: F1 %.4f, not %.4f", of[i][0], of[i][1], of[i][2],
               expected, found);
    }
    const double none = f1(0, 3, 4), nothing = f1(0, 0, 0);
    expect(g, fabs(none) < 1e-12 && fabs(nothing) < 1e-12, "0 / 0 is no number: where nothing matches, F1 is 0",
           "nothing right: F1 %g and %g, not 0", none, nothing);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"linearise", "a tree becomes a line", 2, linearises, 0},
        {"read_tree", "the line becomes the tree", 2, reads, 0},
        {"repair", "a tree stays as it is", 1, leaves_trees_alone, 0},
        {"repair", "what is open is shut", 2, shuts_what_is_open, 0},
        {"repair", "what shuts nothing is left out", 1, leaves_out_what_shuts_nothing, 0},
        {"repair", "one constituent is around all", 1, has_one_constituent_around_all, 0},
        {"repair", "all words, and no other", 2, has_all_words_and_no_other, 0},
        {"repair", "no constituent without a word", 1, has_no_empty_constituent, 0},
        {"matched", "the same label and words", 1, matches_brackets, 0},
        {"matched", "each once", 1, matches_once, 0},
        {"f1", "the harmonic mean", 1, is_harmonic, 0},
    };
    const Lesson lesson = {
        "Lesson 20: from translating to parsing", checks, sizeof checks / sizeof *checks, NULL, NULL, 0};
    return grade_main(&lesson, argc, argv);
}
