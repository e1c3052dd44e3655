/* Bracketed trees: what is read, written and read again is equal; what cleaning leaves is a tree, too, and a tree's brackets
 * are its own. */
#include "core/text/tree.h"
#include "core/text/brackets.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void expect_same(const Tree *t)
{
    Buffer text = {0}, other = {0};
    Tree again = {0};
    Error e;
    size_t at = 0;
    tree_write(t, &text);
    DEMAND(tree_read(&again, text.text, text.size, &at, &e), "what is written is read");
    tree_write(&again, &other);
    DEMAND(again.count == t->count && text.size == other.size && !memcmp(text.text, other.text, text.size),
           "what is read again is equal");
    tree_free(&again);
    buffer_free(&text);
    buffer_free(&other);
}

static void use(const Tree *t)
{
    Tree clean = {0};
    BracketScore s = {0};
    Error e;
    expect_same(t);
    DEMAND(tree_clean(&clean, t, &(TreeCleaning){0}, &e), "any tree can be cleaned");
    if (clean.count && !tree_is_leaf(&clean, 0))
        expect_same(&clean);
    DEMAND(clean.words <= t->words && clean.count <= t->count, "cleaning adds nothing");
    DEMAND(brackets_add(&s, t, t, &e) && !s.errors && s.gold == s.found && s.gold == s.matched && s.tags == s.words,
           "a tree matches itself");
    tree_free(&clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Tree t = {0};
    Error e = {{0}};
    size_t at = 0;
    bool fine = true;
    fuzz_begin();
    while ((fine = tree_read(&t, (const char *)data, size, &at, &e)) && t.count)
        use(&t);
    if (!fine)
        fuzz_refused(&e);
    tree_free(&t);
    fuzz_end(size);
    return 0;
}
