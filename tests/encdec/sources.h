/* What tests of encdec's sources share: files in the test's folder, and what is read of them or refused. */
#ifndef TESTS_ENCDEC_SOURCES_H
#define TESTS_ENCDEC_SOURCES_H

#include "base/file.h"
#include "base/memory.h"
#include "encdec/source.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

static const char *const english = "a dog\nthe cat sleeps\n\nhello", *const german =
                                                                         "ein Hund\ndie Katze schläft\nnichts\nhallo\n";

/* Where the running test's files are. */
static const char *folder_now;

static inline void put(const char *name, const char *text)
{
    char folder[600], *slash;
    Error e;
    snprintf(folder, sizeof folder, "%s/%s", folder_now, name);
    slash = strrchr(folder, '/');
    *slash = 0;
    ck_done(folder_make(folder, &e), e);
    write_in(folder_now, name, text, strlen(text));
}

/* A path in the test's folder. */
static inline const char *at(const char *name)
{
    static char path[8][700];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof *path, "%s/%s", folder_now, name);
    return path[turn];
}

static inline SourceOptions source_at(const char *name)
{
    return (SourceOptions){.path = name ? at(name) : NULL, .language = {"en", "de"}, .seed = 1, .test = true};
}

static inline Sentences opened(const SourceOptions *o)
{
    Sentences s;
    Error e;
    ck_done(sentences_read(&s, o, &e), e);
    return s;
}

static inline void refuse(const SourceOptions *o, const char *words)
{
    Sentences s;
    Error e;
    size_t before = memory_in_use();
    ck_assert_msg(!sentences_read(&s, o, &e), "it was taken, where '%s' was to be said", words);
    ck_assert_msg(strstr(e.text, words) && !strchr(e.text, '\n'), "'%s' does not say '%s'", e.text, words);
    ck_assert_uint_eq(memory_in_use(), before);
}

static inline void expect_line(const Sentences *s, Split part, size_t side, size_t i, const char *words)
{
    Line line = lines_at(&s->side[part][side], i);
    ck_assert_msg(line.size == strlen(words) && !memcmp(line.text, words, line.size), "line %zu is '%.*s', not '%s'", i,
                  (int)line.size, line.text, words);
}

static inline void expect_four(const Sentences *s, Split part)
{
    ck_assert_uint_eq(s->side[part][SOURCE].count, 4);
    ck_assert_uint_eq(s->side[part][TARGET].count, 4);
    expect_line(s, part, SOURCE, 0, "a dog");
    expect_line(s, part, SOURCE, 2, "");
    expect_line(s, part, SOURCE, 3, "hello");
    expect_line(s, part, TARGET, 1, "die Katze schläft");
    expect_line(s, part, TARGET, 3, "hallo");
}

#endif
