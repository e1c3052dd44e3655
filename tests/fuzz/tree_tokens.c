/* Lines that a model wrote in place of a tree: the first line is a sentence, the second what was written. Whatever that is,
 * there comes a tree that has the words of the sentence and can be read again; and a tree that was read comes back. */
#include "core/text/tree_tokens.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static bool same(const Tree *a, const Tree *b)
{
    if (a->count != b->count || a->words != b->words)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->node[i].end != b->node[i].end || tree_is_leaf(a, i) != tree_is_leaf(b, i) ||
            strcmp(tree_label(a, i), tree_label(b, i)) || strcmp(tree_word(a, i), tree_word(b, i)))
            return false;
    return true;
}

/* Written as tokens and found again. */
static void expect_found(const Tree *t, TreeLeaves leaves)
{
    Buffer line = {0}, words = {0};
    Tree again = {0};
    TreeRepairs r = {0};
    Error e;
    tree_tokens_write(t, leaves, &line);
    tree_words_write(t, &words);
    DEMAND(tree_of_tokens(&again, line.text, line.size, leaves, words.text, words.size, &r, &e), "there is memory");
    DEMAND(same(t, &again) && !r.repaired, "what is written as tokens is found again");
    tree_free(&again);
    buffer_free(&line);
    buffer_free(&words);
}

static void expect_tree(const Tree *t, size_t words)
{
    Buffer text = {0};
    Tree again = {0};
    Error e;
    size_t at = 0;
    DEMAND(t->words == words && !t->inside, "a tree has all words of its sentence, and is whole");
    if (!t->count)
        return;
    tree_write(t, &text);
    DEMAND(tree_read(&again, text.text, text.size, &at, &e) && same(t, &again), "what is written is read");
    expect_found(t, LEAVES_TAGS);
    expect_found(t, LEAVES_WORDS);
    tree_free(&again);
    buffer_free(&text);
}

static size_t count_words(const char *text, size_t size)
{
    size_t words = 0;
    for (size_t i = 0; i < size; i++) {
        const bool space = strchr(" \t\n\v\f\r", text[i]); /* a zero byte is one, too */
        words += !space && (!i || strchr(" \t\n\v\f\r", text[i - 1]));
    }
    return words;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *sentence = (const char *)data, *end = size ? memchr(data, '\n', size) : NULL;
    const size_t length = end ? (size_t)(end - sentence) : size, rest = end ? size - length - 1 : 0;
    fuzz_begin();
    for (TreeLeaves leaves = LEAVES_TAGS; leaves <= LEAVES_WORDS; leaves++) {
        Tree t = {0};
        Error e;
        DEMAND(tree_of_tokens(&t, end ? end + 1 : "", rest, leaves, sentence, length, NULL, &e), "there is memory");
        expect_tree(&t, count_words(sentence, length));
        tree_free(&t);
    }
    Tree t = {0};
    Error e;
    size_t at = 0;
    if (tree_read(&t, sentence, size, &at, &e) && t.count)
        for (TreeLeaves leaves = LEAVES_TAGS; leaves <= LEAVES_WORDS; leaves++)
            expect_found(&t, leaves);
    tree_free(&t);
    fuzz_end(size);
    return 0;
}
