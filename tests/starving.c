/* See starving.h. */
#include "tests/starving.h"

#include "base/memory.h"

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

void starve(Ways ways, const char *format, ...)
{
    char words[STARVING_LINE];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    for (uint64_t n = 1;; n += test_is_fast() ? 41 : ways.every ? ways.every : 1) {
        Outcome o;
        if (ways.before)
            ways.before();
        starving_call(&o, n, 0, words);
        ck_assert_msg(o.kept == 0, "allocation %d of `%s`: %ld bytes are kept", (int)n, words, o.kept);
        ck_assert_msg(o.open == 0, "allocation %d of `%s`: files stay open", (int)n, words);
        ck_assert_msg(o.status == 0 ? !o.met : o.met && o.status <= 2, "allocation %d of `%s`: status %d, %s", (int)n,
                      words, o.status, o.err);
        if (!o.met)
            return;
        ck_assert_msg(starving_says(o.err, "out of memory"), "allocation %d of `%s`: it says %s", (int)n, words, o.err);
        if (ways.after)
            ways.after(n);
    }
}
