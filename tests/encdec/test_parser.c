/* A parser: what it learns from, what its decoder is told, what may be written, and what the commands say. */
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "encdec/data.h"
#include "encdec/tree_rule.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREES = 60 };

/* "the dogs see a cat .", in which words agree; functions and traces are to be taken away. */
static const char *treebank(void)
{
    static const char *const nouns[] = {"dog", "cat", "tree", "house"}, *const verbs[] = {"sees", "likes"};
    const char *folder = fresh_path("treebank");
    Buffer text = {0};
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (uint32_t i = 0; i < TREES; i++) {
        const char *object = nouns[i / 3 % 4], *verb = verbs[i / 2 % 2];
        buffer_print(
            &text, "( (S (NP-SBJ (DT the) (NN %s)) (VP (VBZ %s) (NP (NP (DT a) (NN %s)) (PP (IN of) (NP (NNP Bob%u))))",
            nouns[i % 4], verb, object, i);
        buffer_print(&text, " (NP (-NONE- *))) (. .)))\n");
    }
    write_in(folder, "some.mrg", text.text, text.size);
    buffer_free(&text);
    return folder;
}

static void open_trees(Bitext *b, const char *folder, TreesOptions trees, bool word_positions)
{
    Error e;
    const BitextOptions o = {
        .source = {.path = folder, .language = {"en", "de"}, .seed = 1, .treebank = true, .trees = trees},
        .subwords = {.type = SUBWORDS_SHAPES,
                     .size = 11,
                     .apart = true,
                     .leaves = trees.leaves,
                     .word_positions = word_positions},
        .longest = 100,
        .context = 100,
        .keep_training = true};
    ck_done(bitext_open(b, &o, &e), e);
}

static const Lines *training(const Bitext *b, size_t side) { return &b->sentences.side[SPLIT_TRAIN][side]; }

static void expect_line(const Lines *lines, size_t i, const char *wanted)
{
    const Line line = lines_at(lines, i);
    ck_assert_msg(line.size == strlen(wanted) && !memcmp(line.text, wanted, line.size), "%.*s", (int)line.size,
                  line.text);
}

/* ---- what is learned from */

START_TEST(a_sentence_and_its_tree_are_a_pair_of_lines)
{
    Bitext b;
    open_trees(&b, treebank(), (TreesOptions){0}, false);
    ck_assert(training(&b, SOURCE)->count == 48 && b.parts[SPLIT_VALID].count == 6);
    expect_line(training(&b, SOURCE), 1, "the cat sees a dog of Bob1 .");
    expect_line(training(&b, TARGET), 1,
                "(S (NP DT NN )NP (VP VBZ (NP (NP DT NN )NP (PP IN (NP NNP )NP )PP )NP )VP . )S");
    bitext_close(&b);
    open_trees(&b, treebank(), (TreesOptions){.leaves = LEAVES_WORDS, .cleaning = {true, true, true}}, false);
    expect_line(training(&b, SOURCE), 1, "the cat sees a dog of Bob1 * .");
    expect_line(training(&b, TARGET), 1,
                "( (S (NP-SBJ (DT the )DT (NN cat )NN )NP-SBJ (VP (VBZ sees )VBZ (NP (NP (DT a )DT (NN dog )NN )NP (PP "
                "(IN of )IN (NP (NNP Bob1 )NNP )NP )PP )NP (NP (-NONE- * )-NONE- )NP )VP (. . ). )S )");
    bitext_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Each side has ids of its own; a word that is not frequent has its shape. */
START_TEST(words_and_tokens_of_trees_have_vocabularies_of_their_own)
{
    Bitext b;
    open_trees(&b, treebank(), (TreesOptions){0}, true);
    const Subwords *p = b.subwords;
    Buffer names = {0};
    const int32_t *ids = b.parts[SPLIT_TRAIN].ids[SOURCE];
    for (size_t i = 0; i < 9; i++) {
        subwords_name(p, SOURCE, ids[i], &names);
        buffer_add(&names, " ", 1);
    }
    ck_assert_str_eq(names.text, "the dog sees a dog of <mixed> . </s> ");
    ck_assert_uint_eq(p->count, 2 + 10 + 1); /* 11 are kept with <unk>, and <mixed> stands for Bob0 and its like */
    ck_assert_uint_eq(p->target.count, 2 + 8 + 6);
    for (size_t i = 0; i < p->target.count; i++)
        ck_assert_uint_eq(p->moves[i], i >= FIRST_SUBWORD && !strchr("()", *vocabulary_word(&p->target, (int32_t)i)));
    buffer_free(&names);
    bitext_close(&b);
}

/* The decoder reads </s> (S (NP DT NN )NP ..: at "the" until it has written DT. */
START_TEST(positions_of_a_tree_count_its_words)
{
    static const int32_t words[] = {0, 0, 0, 1, 2, 2, 2, 3, 3, 3, 4, 5, 5, 5, 6, 6, 7, 7, 7, 7, 7, 8, 8};
    for (int counted = 0; counted < 2; counted++) {
        Bitext b;
        open_trees(&b, treebank(), (TreesOptions){0}, counted);
        Batch batch;
        Error e;
        ck_done(batch_open(&batch, &(BatchSize){.sides = 2, .rows = 2, .positions = {100, 100}}, &e), e);
        pairs_row(&b.parts[SPLIT_TRAIN], 0, &batch);
        pairs_row(&b.parts[SPLIT_TRAIN], 1, &batch);
        ck_assert_uint_eq(batch.side[TARGET].positions, 46);
        for (int32_t i = 0; i < 46; i++)
            ck_assert_int_eq(batch.side[TARGET].position[i], counted ? words[i % 23] : i % 23);
        for (int32_t i = 0; i < 18; i++)
            ck_assert_int_eq(batch.side[SOURCE].position[i], i % 9);
        batch_close(&batch);
        bitext_close(&b);
    }
}

START_TEST(part_of_the_trees_and_more_trees_are_trained_on)
{
    const char *folder = treebank(), *more = fresh_path("more");
    char path[800];
    Error e;
    ck_done(folder_make(more, &e), e);
    write_in(more, "silver.mrg", "(S (NP (NN rain)) (VP (VBZ falls)))\n(S (VP (VB go)))\n", 53);
    snprintf(path, sizeof path, "%s/silver.mrg", more);
    Bitext b;
    open_trees(&b, folder, (TreesOptions){.count = 4, .more = path}, false);
    ck_assert_uint_eq(training(&b, SOURCE)->count, 6);
    expect_line(training(&b, SOURCE), 1, "the dog sees a dog of Bob12 ."); /* 0, 12, 24, 36 of 48 */
    expect_line(training(&b, SOURCE), 4, "rain falls");
    expect_line(training(&b, TARGET), 5, "(S (VP VB )VP )S");
    bitext_close(&b);
}

/* What is exchanged is of the same kind: here all NPs of an NP, of a VP .. have the same form, so the trees do, too; but the
 * sentences are new, and made of words that there are. */
START_TEST(recombined_trees_are_made_of_constituents_of_the_same_kind)
{
    const char *folder = treebank();
    Bitext none;
    open_trees(&none, folder, (TreesOptions){0}, false);
    Bitext b, again;
    open_trees(&b, folder, (TreesOptions){.recombined = 3}, false);
    open_trees(&again, folder, (TreesOptions){.recombined = 3}, false);
    const Lines *words = training(&b, SOURCE), *trees = training(&b, TARGET);
    size_t fresh = 0;
    ck_assert(words->count == 4 * 48 && b.sentences.made == 3 * 48);
    ck_assert_str_eq(b.sentences.sha256, none.sentences.sha256);
    ck_assert_uint_eq(b.subwords->count, none.subwords->count);
    for (size_t i = 0; i < words->count; i++) {
        const Line line = lines_at(words, i), was = lines_at(words, i % 48),
                   other = lines_at(training(&again, SOURCE), i);
        expect_line(trees, i, "(S (NP DT NN )NP (VP VBZ (NP (NP DT NN )NP (PP IN (NP NNP )NP )PP )NP )VP . )S");
        ck_assert(line.size == other.size && !memcmp(line.text, other.text, line.size));
        fresh += line.size != was.size || memcmp(line.text, was.text, line.size);
    }
    ck_assert_msg(fresh > 60 && fresh < 140, "%zu of 144", fresh);
    bitext_close(&none);
    bitext_close(&b);
    bitext_close(&again);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool open_recombined(void *folder, Error *e)
{
    Bitext b;
    const BitextOptions o = {
        .source = {.path = folder, .language = {"en", "de"}, .treebank = true, .trees = {.recombined = 1}},
        .subwords = {.type = SUBWORDS_SHAPES, .size = 12, .apart = true, .word_positions = true},
        .longest = 100,
        .context = 100};
    const bool fine = bitext_open(&b, &o, e);
    if (fine)
        bitext_close(&b);
    return fine;
}

START_TEST(memory_that_runs_out_is_said)
{
    const char *folder = fresh_path("treebank");
    Error e;
    ck_done(folder_make(folder, &e), e);
    static const char text[] = "(S (NP (NN a)) (VP (V b)))(S (NP (NN c) (NN d)))(S (X x))";
    write_in(folder, "a.mrg", text, sizeof text - 1);
    fail_each_allocation(open_recombined, (void *)folder);
}

/* ---- what may be written */

static Subwords tokens_of_trees(TreeLeaves leaves)
{
    static const char *const tokens[][14] = {
        {"<unk>", "</s>", "(S", ")S", "(NP", ")NP", "(VP", ")VP", "DT", "NN", ",", ".", "()", NULL},
        {"<unk>", "</s>", "(S", ")S", "(NP", ")NP", "(NN", ")NN", "(,", "),", "the", "dog", ",", NULL}};
    Subwords p = {.apart = true};
    Error e;
    ck_done(vocabulary_open(&p.target, &e), e);
    for (size_t i = 1; tokens[leaves][i]; i++)
        ck_done(vocabulary_add(&p.target, tokens[leaves][i], strlen(tokens[leaves][i]), 1, NULL, &e), e);
    return p;
}

/* Writes any tokens that are allowed, up to the limit. */
static void write_at_random(const TreeRule *r, const Subwords *p, const TreeWords *w, uint32_t seed, size_t most,
                            int32_t *tokens, size_t *count)
{
    double log_p[32];
    for (*count = 0; *count < most; ++*count) {
        size_t fine = 0;
        for (size_t i = 0; i < p->target.count; i++)
            log_p[i] = 0;
        tree_rule_forbid(r, &(NextRow){.tokens = tokens, .count = *count, .most = most, .about = w}, log_p);
        for (size_t i = 0; i < p->target.count; i++)
            fine += isfinite(log_p[i]) ? 1 : 0;
        ck_assert_uint_gt(fine, 0);
        size_t drawn = philox_below(fine, seed, (uint32_t)most, *count, 3), i = 0;
        while (!isfinite(log_p[i]) || drawn--)
            i++;
        if (i == END)
            return;
        tokens[*count] = (int32_t)i;
    }
}

START_TEST(what_is_allowed_is_a_tree_of_the_sentence)
{
    static const char *const sentences[] = {"dog", "the dog , the -- dog .", "- ' x , .", ". . ."};
    const TreeLeaves leaves = _i % 2 ? LEAVES_WORDS : LEAVES_TAGS;
    const char *sentence = sentences[_i / 2];
    Subwords p = tokens_of_trees(leaves);
    TreeRule r;
    Error e;
    Buffer kinds = {0};
    ck_done(tree_rule_open(&r, &p, leaves, &e), e);
    tree_words_kinds((Line){sentence, strlen(sentence)}, &kinds);
    const TreeWords w = {kinds.size, (const uint8_t *)kinds.text};
    const size_t of_word = leaves == LEAVES_WORDS ? 3 : 1, least = 2 + kinds.size * of_word;
    for (uint32_t seed = 0; seed < 300; seed++) {
        int32_t tokens[64];
        size_t count, most = least + seed % 40;
        Buffer line = {0};
        Tree t = {0};
        TreeRepairs repairs = {0};
        write_at_random(&r, &p, &w, seed, most, tokens, &count);
        subwords_line(&p, tokens, count, &line);
        ck_done(tree_of_tokens(&t, line.text, line.size, leaves, sentence, strlen(sentence), &repairs, &e), e);
        ck_assert_msg(!repairs.repaired, "%s of %s", line.text, sentence);
        for (size_t i = 0; i < t.count && leaves == LEAVES_TAGS; i++)
            if (tree_is_leaf(&t, i) && strchr(",.", *tree_label(&t, i)) && *tree_label(&t, i))
                ck_assert_msg(!strpbrk(tree_word(&t, i), "abcdefghijklmnopqrstuvwxyz"), "%s", line.text);
        tree_free(&t);
        buffer_free(&line);
    }
    buffer_free(&kinds);
    tree_rule_close(&r);
    vocabulary_close(&p.target);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_sentence_that_is_too_long_to_be_written_may_be_written_as_it_comes)
{
    Subwords p = tokens_of_trees(LEAVES_TAGS);
    TreeRule r;
    Error e;
    double log_p[32] = {0};
    static const uint8_t kinds[9];
    const TreeWords w = {9, kinds};
    ck_done(tree_rule_open(&r, &p, LEAVES_TAGS, &e), e);
    tree_rule_forbid(&r, &(NextRow){.most = 10, .about = &w}, log_p);
    for (size_t i = 0; i < p.target.count; i++)
        ck_assert(isfinite(log_p[i]));
    tree_rule_forbid(&r, &(NextRow){.most = 11, .about = &w}, log_p);
    ck_assert(isinf(log_p[END]) && isfinite(log_p[2]) && isinf(log_p[8]));
    tree_rule_close(&r);
    vocabulary_close(&p.target);
}

/* ---- the commands */

#define TINY                                                                                                           \
    "--preset parser-small --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 512 --micro-tokens 256 --workers 2 "    \
    "--dropout 0 --eval-every 0 --context 100 --longest 60 --precision f32 --size 30 -q "

static const char *trained(const char *folder, const char *words)
{
    const char *run = fresh_path("run");
    works("train --run %s --data %s " TINY "%s", run, folder, words);
    return run;
}

START_TEST(trees_that_it_was_trained_on_are_found)
{
    const char *folder = treebank(), *run = trained(folder, "--steps 150 --warmup 20 --lr 0.01");
    Json *j = must_json("eval --run %s --data %s --beam 4 --json -q", run, folder);
    ck_assert_msg(json_real(j, "f1") == 100 && json_real(j, "exact") == 100 && json_real(j, "tags") == 100 &&
                      json_real(j, "repaired") == 0 && json_real(j, "counted") == 6,
                  "F1 %g", json_real(j, "f1"));
    json_free(j);
    static const char text[] = "the cat sees a house of Anna99.\n\nthe dog likes (a tree of Bob1\n";
    command_input(text, sizeof text - 1);
    Said s = must("parse --run %s -q", run);
    static const char first[] =
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NP (DT a) (NN house)) (PP (IN of) (NP (NNP "
        "Anna99))))) (. .))\n\n(S";
    ck_assert_msg(!strncmp(s.out, first, strlen(first)), "%s", s.out);
    ck_assert_msg(strstr(s.out + strlen(first), " -LRB-)"), "%s", s.out + strlen(first));
    said_free(&s);
    command_input(text, 31);
    s = must("parse --run %s -q --pretty --nbest 2 --scores", run);
    ck_assert_msg(strstr(s.out, "\t(S\n  (NP (DT the) (NN cat))\n  (VP (VBZ sees)\n    (NP\n"), "%s", s.out);
    said_free(&s);
    command_input(text, 31);
    j = must_json("parse --run %s -q --nbest 3 --json", run);
    ck_assert_uint_eq(json_get(j, "translations")->count, 3);
    json_free(j);
    static const char as_they_are[] = "a dog can't\n";
    for (int split = 0; split < 2; split++) {
        command_input(as_they_are, sizeof as_they_are - 1);
        s = must("parse --run %s -q%s", run, split ? "" : " --no-split-words");
        ck_assert_msg(strstr(s.out, split ? " n't)" : " can't)"), "%s", s.out);
        said_free(&s);
    }
    command_input("the cat sees a house of Anna99 .\n", 32);
    s = must("translate --run %s -q", run);
    ck_assert_str_eq(s.out, "(S (NP DT NN )NP (VP VBZ (NP (NP DT NN )NP (PP IN (NP NNP )NP )PP )NP )VP . )S\n");
    said_free(&s);
}

/* Without the rule, what has not learned to write trees writes none: they are made of what it wrote, and that is said. */
START_TEST(what_is_ill_formed_is_said)
{
    const char *folder = treebank(), *run = trained(folder, "--steps 1");
    Json *j = must_json("eval --run %s --data %s --beam 1 --json -q --no-well-formed --max-extra 5", run, folder);
    ck_assert_double_eq(json_real(j, "repaired"), 6);
    json_free(j);
    j = must_json("eval --run %s --data %s --beam 1 --json -q", run, folder);
    ck_assert_double_eq(json_real(j, "repaired"), 0);
    json_free(j);
    Said s = must("eval --run %s --data %s --beam 2 --no-well-formed --max-extra 5", run, folder);
    ck_assert_msg(strstr(s.out, "beam 2, alpha 0.3, at most 5 tokens longer than the source\n") &&
                      strstr(s.out, "  6 of 6 trees were ill-formed and repaired: "),
                  "%s", s.out);
    said_free(&s);
    s = must("eval --run %s --data %s", run, folder);
    ck_assert_msg(strstr(s.out, "beam 21, alpha 0.3, at most 300 tokens"), "%s", s.out);
    said_free(&s);
}

/* Step by step, over a cache, positions count words as they do in training. */
START_TEST(what_is_searched_is_what_is_scored)
{
    const char *folder = treebank(), *run = trained(folder, "--steps 40");
    Bitext b;
    open_trees(&b, folder, (TreesOptions){0}, false);
    double sum = 0;
    for (size_t side = 0; side < SIDES_USED; side++) {
        const Lines *lines = &b.sentences.side[SPLIT_VALID][side];
        write_in(folder, side == SOURCE ? "source" : "target", lines->text, lines->start[lines->count]);
    }
    Said s = must("score --run %s --file %s/source --translations %s/target -q", run, folder, folder);
    for (char *at = s.out; *at; at++)
        sum += strtod(at, &at);
    said_free(&s);
    Json *j = must_json("eval --run %s --data %s --no-bleu --json -q", run, folder);
    ck_assert_double_eq_tol(-sum / json_real(j, "subwords"), json_real(j, "loss"), 1e-4);
    json_free(j);
    bitext_close(&b);
}

START_TEST(two_parsers_are_compared_on_the_same_sentences)
{
    const char *folder = treebank(), *one = trained(folder, "--steps 150 --warmup 20 --lr 0.01"),
               *other = trained(folder, "--steps 2");
    Json *j = must_json("eval --run %s --against %s --data %s --beam 1 --json -q", one, other, folder);
    const Json *versus = json_get(j, "against");
    ck_assert(versus && json_real(versus, "difference") > 0);
    ck_assert_double_ge_tol(json_real(versus, "p"), 2.0 / 1001, 1e-6); /* as many samples cannot say less */
    json_free(j);
    Said s = must("eval --run %s --each --data %s --beam 1 -q", one, folder);
    ck_assert_msg(!strncmp(s.out, "text\tgold\tfound\tmatched\twords\ttags\n", 35), "%s", s.out);
    said_free(&s);
}

/* A tree that is given may be in brackets, or be its tokens. */
START_TEST(brackets_are_drawn_against_words)
{
    const char *folder = treebank(), *run = trained(folder, "--steps 150 --warmup 20 --lr 0.01");
    Said tree = must("heads --run %s --text the\tdog. --target-text (S\t(NP\t(DT\tthe)\t(NN\tdog))\t(.\t.)) --align -q",
                     run),
         tokens = must("heads --run %s --text the\tdog\t. --target-text (S\t(NP\tDT\tNN\t)NP\t.\t)S --align -q", run);
    ck_assert_str_eq(tree.out, tokens.out);
    ck_assert_msg(strstr(tree.out, "\n)S\t") && strstr(tree.out, "\nNN\t"), "%s", tree.out);
    said_free(&tree);
    said_free(&tokens);
}

/* Words are called by words and brackets by brackets, and neither is counted as the other. */
START_TEST(words_and_brackets_are_drawn_apart)
{
    size_t size;
    if (!can_draw("encdec/parser/words_and_brackets_are_drawn_apart"))
        return;
    const char *run = trained(treebank(), "--steps 1");
    works("plot --run %s --what embeddings", run);
    char *data = read_in(run, "pictures/embeddings.tsv", &size), *target = strstr(data, "\ntarget_embedding");
    ck_assert_msg(target && strstr(data, "\tthe\n") < target && !strstr(target, "\tthe\n"), "%s", data);
    ck_assert_msg(strstr(data, "\t)NP\n") > target, "%s", data);
    memory_free(data);
    works("plot --run %s --what coverage", run);
    data = read_in(run, "pictures/coverage.tsv", &size);
    target = strstr(data, "\ntrain, target\t");
    ck_assert(target);
    ck_assert_msg(strstr(target, "\t100\n") < strstr(target, "\nvalid"), "%s", data); /* all brackets are known */
    memory_free(data);
}

START_TEST(what_does_not_go_together_is_refused)
{
    const char *folder = treebank(), *run = trained(folder, "--steps 1"), *other = fresh_path("run");
    refused(1, "needs a treebank", "train --run %s/none --preset parser-small -q", folder);
    refused(2, "--no-repeat is not for trees", "parse --run %s --no-repeat 2", run);
    refused(2, "leave out --format", "parse --run %s --pretty --format nbest", run);
    refused(2, "--pretty is for trees", "translate --run %s --pretty", run);
    works("train --preset minute --minutes 0 --steps 1 -q --run %s --dim 16 --heads 2 --ff 16", other);
    refused(1, "train a parser with --trees", "parse --run %s", other);
}

static const Test tests[] = {TEST(a_sentence_and_its_tree_are_a_pair_of_lines),
                             TEST(words_and_tokens_of_trees_have_vocabularies_of_their_own),
                             TEST(positions_of_a_tree_count_its_words),
                             TEST(part_of_the_trees_and_more_trees_are_trained_on),
                             TEST(recombined_trees_are_made_of_constituents_of_the_same_kind),
                             TEST(memory_that_runs_out_is_said),
                             TEST_LOOP(what_is_allowed_is_a_tree_of_the_sentence, 8),
                             TEST(a_sentence_that_is_too_long_to_be_written_may_be_written_as_it_comes),
                             TEST(trees_that_it_was_trained_on_are_found),
                             TEST(what_is_ill_formed_is_said),
                             TEST(what_is_searched_is_what_is_scored),
                             TEST(two_parsers_are_compared_on_the_same_sentences),
                             TEST(brackets_are_drawn_against_words),
                             TEST(words_and_brackets_are_drawn_apart),
                             TEST(what_does_not_go_together_is_refused)};

int main(int argc, char **argv)
{
    command_program("encdec");
    return suite_run("encdec/parser", tests, sizeof tests / sizeof *tests, argc, argv);
}
