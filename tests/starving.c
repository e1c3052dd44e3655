/* See starving.h. */
#include "tests/starving.h"

#include "base/memory.h"

#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 64 };

static const char *program_name;
static int (*program_main)(int argc, char **argv);
static char place[600];

void starving_program(const char *name, int (*program)(int argc, char **argv), const char *folder)
{
    program_name = name;
    program_main = program;
    snprintf(place, sizeof place, "%s", folder);
}

int next_file(void)
{
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(file, 0);
    close(file);
    return file;
}

/* Standard output or error goes to a file from now on; what it was comes back. */
static int divert(int stream, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", place, name);
    int was = dup(stream), to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ck_assert(was >= 0 && to >= 0 && dup2(to, stream) >= 0);
    close(to);
    return was;
}

static void restore(int stream, int was, char *text)
{
    ssize_t size = pread(stream, text, STARVING_OUTPUT - 1, 0);
    text[size > 0 ? size : 0] = 0;
    ck_assert(dup2(was, stream) >= 0);
    close(was);
}

static int main_with_few_files(rlim_t files, int count, char **word)
{
    struct rlimit was, few;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = (struct rlimit){files ? files : was.rlim_cur, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    int status = program_main(count, word);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    return status;
}

void starving_call(Outcome *o, uint64_t failing, rlim_t files_allowed, const char *words)
{
    char line[STARVING_LINE], *word[WORDS] = {line};
    int count = 0;
    snprintf(line, sizeof line, "%s %s", program_name, words);
    for (char *at = strtok(line, " "); at && count < WORDS - 1; at = strtok(NULL, " "))
        word[count++] = at;
    fflush(stdout);
    int out = divert(STDOUT_FILENO, "out"), err = divert(STDERR_FILENO, "err"), files = next_file();
    size_t before = memory_in_use();
    uint64_t asked = memory_requests();
    memory_fail_at(failing);
    o->status = main_with_few_files(files_allowed, count, word);
    o->met = failing && memory_requests() - asked >= failing;
    memory_fail_at(0);
    o->kept = (long)memory_in_use() - (long)before;
    o->open = next_file() - files;
    restore(STDERR_FILENO, err, o->err);
    restore(STDOUT_FILENO, out, o->out);
}

void must_work(const char *words)
{
    Outcome o;
    starving_call(&o, 0, 0, words);
    ck_assert_msg(o.status == 0, "`%s %s` exits with %d: %s", program_name, words, o.status, o.err);
}

bool starving_says(const char *err, const char *what)
{
    char begins[80];
    snprintf(begins, sizeof begins, "%s: ", program_name);
    const char *line = strstr(err, begins), *end = line ? strchr(line, '\n') : NULL;
    return end && !end[1] && strstr(line, what);
}

/* Which allocations fail: a command makes thousands, but reaches them through some hundred chains of calls. */
enum { DEEPEST = 64, MOST_ALLOCATIONS = 1 << 16, CHAINS = 1 << 14 };

static struct Chain {
    uint64_t sum; /* of its return addresses */
    uint32_t times, last;
} chains[CHAINS];
static uint32_t allocations;
static bool chosen[MOST_ALLOCATIONS + 1]; /* counted from 1 */

static void note_allocation(void)
{
    void *address[DEEPEST];
    uint64_t sum = 1;
    for (int i = backtrace(address, DEEPEST) - 1; i >= 0; i--)
        sum = (sum ^ (uintptr_t)address[i]) * 0x9E3779B97F4A7C15U;
    struct Chain *c = &chains[sum % CHAINS];
    while (c->times && c->sum != sum)
        c = c + 1 < chains + CHAINS ? c + 1 : chains;
    ck_assert_uint_lt(allocations, MOST_ALLOCATIONS);
    c->sum = sum;
    c->last = ++allocations;
    chosen[allocations] = c->times++ < 2;
}

static void choose_allocations(Ways ways, const char *words)
{
    memset(chains, 0, sizeof chains);
    allocations = 0;
    if (ways.before)
        ways.before();
    memory_watch(note_allocation);
    must_work(words);
    memory_watch(NULL);
    for (size_t i = 0; i < CHAINS; i++)
        chosen[chains[i].last] = true;
    uint64_t every = (ways.every ? ways.every : 1) * (test_is_fast() ? 5 : 1), k = 0;
    for (uint32_t n = 1; n <= allocations; n++)
        chosen[n] = chosen[n] && k++ % every == 0;
}

static Outcome starved(Ways ways, uint64_t n, const char *words)
{
    Outcome o;
    if (ways.before)
        ways.before();
    starving_call(&o, n, 0, words);
    ck_assert_msg(o.kept == 0, "allocation %d of `%s`: %ld bytes are kept", (int)n, words, o.kept);
    ck_assert_msg(o.open == 0, "allocation %d of `%s`: files stay open", (int)n, words);
    ck_assert_msg(o.met ? o.status && o.status <= 2 && starving_says(o.err, "out of memory") : !o.status,
                  "allocation %d of `%s`: status %d, %s", (int)n, words, o.status, o.err);
    return o;
}

void starve(Ways ways, const char *format, ...)
{
    char words[STARVING_LINE];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    choose_allocations(ways, words);
    for (uint32_t n = 1; n <= allocations; n++)
        if (chosen[n] && starved(ways, n, words).met && ways.after)
            ways.after(n);
    starved(ways, 0, words);
}
