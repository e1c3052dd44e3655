/* Lesson 20: from translating to parsing. See README.md beside this file; `make lesson-20` runs it.
 *
 * The translator of lessons 12 to 14 learns another language: trees, written as lines. */
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/text/brackets.h"
#include "core/text/tree_tokens.h"
#include "course/frame/draw.h"
#include "course/translator/translator.h"
#include "encdec/grammar.h"
#include "encdec/tree_evaluator.h"
#include "encdec/treebank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- 1. a tree is a line */

static Tree tree_of(const char *text)
{
    Tree t = {0};
    Error e;
    size_t at = 0;
    must(tree_read(&t, text, strlen(text), &at, &e), &e);
    return t;
}

static void print_line(const char *what, Buffer *b)
{
    printf("  %-10s%s\n", what, b->text ? b->text : "");
    buffer_free(b);
}

static void lines(void)
{
    Tree t = tree_of("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .))");
    Buffer tree = {0}, words = {0}, tags = {0}, kept = {0};
    section("1. A tree is a line");
    tree_write(&t, &tree);
    tree_words_write(&t, &words);
    tree_tokens_write(&t, LEAVES_TAGS, &tags);
    tree_tokens_write(&t, LEAVES_WORDS, &kept);
    print_line("tree", &tree);
    print_line("source", &words);
    print_line("target", &tags);
    print_line("or", &kept);
    printf("\n");
    tree_free(&t);
}

/* ---- 2. repair */

static void repairs(void)
{
    static const char sentence[] = "the dog barks .";
    static const char *const written[] = {"(S (NP DT NN )NP (VP VBZ )VP . )S",    "(S (NP DT NN (VP VBZ )VP . )S",
                                          "(S (NP DT NN )NP (VP VBZ )NP . )S",    "(S (NP DT NN )NP (VP VBZ )VP )S",
                                          "(S (NP DT NN NN )NP (VP VBZ )VP . )S", "DT NN (VP VBZ )VP ."};
    section("2. Lines that are no trees, and what is made of them");
    printf("  %s\n\n", sentence);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        Tree t = {0};
        Buffer b = {0};
        TreeRepairs r = {0};
        Error e;
        must(tree_of_tokens(&t, written[i], strlen(written[i]), LEAVES_TAGS, sentence, strlen(sentence), &r, &e), &e);
        tree_write(&t, &b);
        printf("  %s\n    %s\n    ", written[i], b.text);
        buffer_free(&b);
        tree_repairs_print(&b, &r);
        printf("%s", b.text);
        buffer_free(&b);
        tree_free(&t);
    }
    printf("\n");
}

/* ---- 3. how good a tree is */

static void scores(void)
{
    static const char gold[] =
        "(S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN dog)) (PP (IN with) (NP (DT a) (NN glass)))) (. .))";
    static const char *const found[] = {
        "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT a) (NN glass))))) (. .))",
        "(S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN dog) (IN with) (DT a) (NN glass))) (. .))",
        "(S (NP (PRP I) (VBD saw)) (VP (DT the) (NP (NN dog) (IN with)) (NP (DT a) (NN glass))) (. .))"};
    section("3. Brackets of two trees");
    printf("  %s\n", gold);
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        Tree a = tree_of(gold), b = tree_of(found[i]);
        BracketScore s = {0};
        Error e;
        must(brackets_add(&s, &a, &b, &e), &e);
        printf("  %s\n    %zu of %zu are right, of %zu that there are: precision %.1f, recall %.1f, F1 %.1f\n",
               found[i], s.matched, s.found, s.gold, brackets_precision(&s), brackets_recall(&s), brackets_f1(&s));
        tree_free(&a);
        tree_free(&b);
    }
    printf("\n");
}

/* ---- 4. a language of trees: what "with" belongs to depends on the noun after it */

enum { SENTENCES = 3000, ROUNDS = 6 };

static const char *pick(const char *const *words, size_t count, uint32_t sentence, size_t *draw)
{
    return words[philox_below(count, 20, sentence, (*draw)++, 0)];
}

static bool chance(double p, uint32_t sentence, size_t *draw) { return philox_uniform(20, sentence, (*draw)++, 1) < p; }

static void add_noun(Buffer *b, uint32_t i, size_t *draw, size_t depth)
{
    static const char *const people[] = {"man", "woman", "child", "dog", "cat", "teacher"};
    static const char *const places[] = {"garden", "house", "park"}, *const adjectives[] = {"old", "small", "tired"};
    const bool more = depth && chance(0.35, i, draw);
    buffer_print(b, more ? "(NP (NP (DT the) " : "(NP (DT the) ");
    if (chance(0.3, i, draw))
        buffer_print(b, "(JJ %s) ", pick(adjectives, 3, i, draw));
    buffer_print(b, "(NN %s))", pick(people, 6, i, draw));
    if (!more)
        return;
    if (chance(0.5, i, draw))
        buffer_print(b, " (PP (IN in) (NP (DT the) (NN %s))))", pick(places, 3, i, draw));
    else {
        buffer_print(b, " (SBAR (WHNP (WDT that)) (S (VP (VBD liked) ");
        add_noun(b, i, draw, depth - 1);
        buffer_print(b, "))))");
    }
}

/* With a glass one sees; a dog with a tail is a kind of dog. */
static void add_object(Buffer *b, uint32_t i, size_t *draw)
{
    static const char *const tools[] = {"glass", "camera", "mirror"}, *const parts[] = {"tail", "beard", "hat"};
    if (!chance(0.5, i, draw)) {
        add_noun(b, i, draw, 1);
        return;
    }
    const bool tool = chance(0.5, i, draw);
    const char *noun = pick(tool ? tools : parts, 3, i, draw);
    buffer_print(b, tool ? "" : "(NP ");
    add_noun(b, i, draw, 0);
    buffer_print(b, " (PP (IN with) (NP (DT a) (NN %s)))%s", noun, tool ? "" : ")");
}

static void add_sentence(Buffer *b, uint32_t i)
{
    static const char *const verbs[] = {"saw", "found", "watched"};
    size_t draw = 0;
    buffer_print(b, "(S ");
    add_noun(b, i, &draw, 1);
    buffer_print(b, " (VP (VBD %s) ", pick(verbs, 3, i, &draw));
    add_object(b, i, &draw);
    buffer_print(b, ") (. .))\n");
}

static const char *const tree_file = "build/course/20-trees.mrg";

static void write_trees(void)
{
    Buffer b = {0};
    Error e;
    for (uint32_t i = 0; i < SENTENCES; i++)
        add_sentence(&b, i);
    must(!b.failed || memory_error(&e, "trees", b.size, 1), &e);
    must(folder_make("build/course", &e) && file_write(tree_file, b.text, b.size, &e), &e);
    buffer_free(&b);
}

typedef struct Found {
    double f1, ill_formed;
    size_t counted; /* sentences, in F1: where punctuation is tagged as a word, the sentence does not count */
} Found;

static size_t counted(const BracketScore *s) { return s->sentences - s->errors - s->skipped; }

static size_t judged(void) { return lesson_is_fast() ? 20 : 100; }

static Found parse(SmallTranslator *s, size_t beam, bool well_formed)
{
    Lines side[SIDES_USED] = {{0}, {0}};
    Translating t = {0};
    TreeEvaluator v = {.t = &t};
    Error e;
    small_lines(s, judged(), side);
    small_parsing(s, &t, beam, 0.3, well_formed);
    must(tree_evaluator_lines(&v, side, &e), &e);
    const Found found = {brackets_f1(&v.score), 100.0 * (double)v.repairs.repaired / (double)v.repairs.trees,
                         counted(&v.score)};
    tree_evaluator_close(&v);
    translating_close(&t);
    lines_close(&side[SOURCE]);
    lines_close(&side[TARGET]);
    return found;
}

/* The grammar of the same trees, on the same sentences. */
static Found parse_by_grammar(void)
{
    Treebank b = {0};
    Grammar g = {0};
    BracketScore s = {0};
    Error e;
    Tree found = {0};
    must(treebank_open(&b, tree_file, &(TreeCleaning){0}, &e), &e);
    must(grammar_learn(&g, b.part[SPLIT_TRAIN].tree, b.part[SPLIT_TRAIN].count, &e), &e);
    for (size_t i = 0; i < judged(); i++) {
        const Tree *gold = b.part[SPLIT_VALID].tree[i];
        const char *words[64];
        size_t count = 0;
        for (size_t n = 0; n < gold->count; n++)
            if (tree_is_leaf(gold, n))
                words[count++] = tree_word(gold, n);
        must(grammar_parse(&g, words, count, &found, &e) && brackets_add(&s, gold, &found, &e), &e);
    }
    tree_free(&found);
    grammar_close(&g);
    treebank_close(&b);
    return (Found){.f1 = brackets_f1(&s), .counted = counted(&s)};
}

static void learn(SmallTranslator *s)
{
    const size_t each = lesson_is_fast() ? 6 : 120;
    const Schedule schedule = {.kind = SCHEDULE_NOAM, .rate = 0.4, .warmup = 100, .dim = 64};
    float step[ROUNDS], f1[2][ROUNDS];
    section("4. Learning to write trees");
    printf("  positions of the target count      tokens                                   words\n");
    printf("  %-6s %12s %6s %8s %11s %12s %6s %8s %11s\n", "step", "nats/token", "F1", "counted", "ill-formed",
           "nats/token", "F1", "counted", "ill-formed");
    for (size_t r = 0; r < ROUNDS; r++) {
        printf("  %-6zu", (r + 1) * each);
        for (size_t i = 0; i < 2; i++) {
            small_train(&s[i], each, &schedule);
            Found found = parse(&s[i], 1, true);
            found.ill_formed = parse(&s[i], 1, false).ill_formed;
            step[r] = (float)s[i].steps, f1[i][r] = (float)found.f1;
            printf(" %12.3f %6.1f %8zu %9.0f %%", small_score(&s[i]), found.f1, found.counted, found.ill_formed);
        }
        printf("\n");
    }
    printf("\n");
    const Curve curves[] = {{"tokens", step, f1[0], ROUNDS}, {"words", step, f1[1], ROUNDS}};
    draw_curves(&(Plot){"20-f1", "F1, by steps, where positions count", "step", "F1", false, false}, curves, 2);
}

static void search(SmallTranslator *s)
{
    section("5. Searching for trees");
    printf("  %-36s %8s %8s %12s\n", "", "F1", "counted", "ill-formed");
    for (int way = 0; way < 3; way++) {
        const Found found = parse(s, way ? 4 : 1, way == 2);
        printf("  %-36s %8.1f %8zu %10.0f %%\n",
               way == 0   ? "greedy"
               : way == 1 ? "beam 4"
                          : "beam 4, what is a tree alone",
               found.f1, found.counted, found.ill_formed);
    }
    const Found found = parse_by_grammar();
    printf("  %-36s %8.1f %8zu\n\n", "the likeliest tree of their grammar", found.f1, found.counted);
}

/* ---- 6. what it belongs to */

static void attach(SmallTranslator *s)
{
    static const char *const sentences[] = {"the man saw the dog with a glass .", "the man saw the dog with a tail ."};
    Lines in = {0};
    Translating t = {0};
    Error e;
    section("6. With a glass, with a tail");
    for (size_t i = 0; i < 2; i++)
        must(lines_add(&in, sentences[i], strlen(sentences[i]), &e), &e);
    small_parsing(s, &t, 4, 0.3, true);
    must(translating_run(&t, &in, &e), &e);
    for (size_t i = 0; i < 2; i++) {
        Tree tree = {0};
        Buffer text = {0}, b = {0};
        must(tree_of_hypothesis(&tree, &t, translating_of(&t, i)->hypothesis, LEAVES_TAGS, lines_at(&in, i), &text,
                                NULL, &e),
             &e);
        tree_write(&tree, &b);
        printf("  > %s\n", b.text);
        buffer_free(&text);
        buffer_free(&b);
        tree_free(&tree);
    }
    translating_close(&t);
    lines_close(&in);
}

int main(void)
{
    SmallTranslator s[2];
    lines();
    repairs();
    scores();
    write_trees();
    for (int i = 0; i < 2; i++)
        small_open(&s[i], &(TranslatorOptions){.trees = tree_file, .word_positions = i == 1});
    learn(s);
    search(&s[1]);
    attach(&s[1]);
    small_close(&s[0]);
    small_close(&s[1]);
    return 0;
}
