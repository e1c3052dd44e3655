/* A small translator, and what it says. */
#ifndef TESTS_ENCDEC_TRANSLATING_H
#define TESTS_ENCDEC_TRANSLATING_H

#include "tests/command.h"

#include <string.h>

#define TINY                                                                                                           \
    "--preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 512 --micro-tokens 256 "          \
    "--workers 2 --dropout 0 --eval-every 0 --context 48 --longest 40 -q "

static inline const char *trained(const char *words)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " %s", run, words);
    return run;
}

/* It has learned how sentences go, and where they end. */
static inline const char *learnt(void) { return trained("--steps 250 --warmup 100"); }

static inline Said translated_text(const char *run, const char *text, const char *words)
{
    command_input(text, strlen(text));
    return must("translate --run %s -q %s", run, words);
}

/* Line i, closed by a zero byte in the place of its end, and where the next one begins. */
static inline char *take_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    ck_assert_ptr_nonnull(end);
    *end = 0;
    *at = end + 1;
    return line;
}

#endif
