/* See bpe_files.h. */
#include "tests/text/bpe_files.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

char *contents(const char *path, size_t *size)
{
    char *text;
    Error e;
    ck_done(file_read(path, &text, size, &e), e);
    return text;
}

void expect_file(const char *path, const char *text, size_t size)
{
    size_t expected_size;
    char *expected = contents(path, &expected_size);
    ck_assert_msg(size == expected_size && !memcmp(text, expected, size), "not as in %s", path);
    memory_free(expected);
}

void expect_same_file(const char *path, const char *as)
{
    size_t size;
    char *text = contents(path, &size);
    expect_file(as, text, size);
    memory_free(text);
}

/* In one folder for the whole test; good until the next but one. */
const char *place(const char *name)
{
    static char path[2][700];
    static const char *folder;
    static int turn;
    if (!folder)
        folder = test_folder();
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

const char *file_of(const char *text)
{
    const char *path = place("codes");
    Error e;
    ck_done(file_write(path, text, strlen(text), &e), e);
    return path;
}

Bpe codes(const char *path)
{
    Bpe b;
    Error e;
    ck_done(bpe_read(&b, path, &e), e);
    return b;
}

/* A list of merges from "LEFT RIGHT\n..." */
Bpe merges(const char *lines)
{
    char text[1000];
    snprintf(text, sizeof text, "#version: 0.2\n%s", lines);
    return codes(file_of(text));
}

BpeCoder coder(const Bpe *b)
{
    BpeCoder c;
    Error e;
    ck_done(bpe_coder_open(&c, b, NULL, 0, &e), e);
    return c;
}

/* The subwords of a line, spaces between them. */
const char *subwords(BpeCoder *c, const char *line, size_t size)
{
    static char all[4000];
    Error e;
    ck_done(bpe_encode(c, line, size, &e), e);
    all[0] = 0;
    for (size_t i = 0; i < c->count; i++) {
        ck_assert_uint_lt(strlen(all) + strlen(bpe_subword(c, i)) + 2, sizeof all);
        strcat(strcat(all, i ? " " : ""), bpe_subword(c, i));
    }
    return all;
}
