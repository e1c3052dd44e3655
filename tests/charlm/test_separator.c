/* The separator's name in a text of one file: a token like others that stands for no byte that is scored. */
#include "base/file.h"
#include "base/memory.h"
#include "charlm/charlm.h"
#include "core/text/gpt2.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

static const TokenizerOptions options = {.kind = TOKEN_BPE, .merges = 5};

static void opened(Text *t, Tokenizer *k, const char *text)
{
    const char *folder = fresh_path("texts");
    char path[800];
    Error e;
    ck_done(folder_make(folder, &e), e);
    write_in(folder, "a", text, strlen(text));
    snprintf(path, sizeof path, "%s/a", folder);
    ck_done(text_open(t, path, &e), e);
    ck_done(tokenizer_learn(k, &options, text, strlen(text), &e), e);
}

/* At the end, where no text follows, it is not scored. */
START_TEST(it_stands_for_no_byte)
{
    static const char text[] = "abab ba" GPT2_SEPARATOR "abab" GPT2_SEPARATOR GPT2_SEPARATOR;
    const CharlmOptions all = {.split = SPLIT_ALL};
    Text t;
    Tokenizer k;
    Part p;
    Error e;
    opened(&t, &k, text);
    ck_done(part_to_score(&p, &t, &k, &all, &e), e);
    const Part whole = text_part(&t, SPLIT_ALL);
    ck_assert_uint_eq(part_bytes(&whole, &k, 0, whole.size), 7 + 4);
    ck_assert_uint_eq(p.size, whole.size - 2);
    size_t separators = 0;
    for (size_t i = 0; i < p.size; i++)
        separators += part_id(&p, i) == k.separator;
    ck_assert_uint_eq(separators, 1);
    tokenizer_close(&k);
    text_close(&t);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(nothing_but_it_is_nothing_to_score)
{
    const CharlmOptions all = {.split = SPLIT_ALL};
    Text t;
    Tokenizer k;
    Part p;
    Error e;
    opened(&t, &k, GPT2_SEPARATOR GPT2_SEPARATOR GPT2_SEPARATOR);
    ck_assert(!part_to_score(&p, &t, &k, &all, &e));
    ck_assert_msg(strstr(e.text, "scoring needs at least 2"), "%s", e.text);
    tokenizer_close(&k);
    text_close(&t);
}

static const Test tests[] = {TEST(it_stands_for_no_byte), TEST(nothing_but_it_is_nothing_to_score)};

int main(int argc, char **argv)
{
    return suite_run("charlm/separator", tests, sizeof tests / sizeof *tests, argc, argv);
}
