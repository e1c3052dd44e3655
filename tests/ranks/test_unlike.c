/* Processes of one run that are not alike are found before the first step: one line names the rank, its host and what is
 * other there. */
#define _DEFAULT_SOURCE /* realpath */
#include "base/memory.h"
#include "base/ranks.h"
#include "tests/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS "train --minutes 0 --steps 3 -q --dim 16 --heads 2 --depth 1 --context 16 --batch 8 --workers 1"

/* Where programs are, whatever folder is the present one. */
static char bin[4096];

static void find_programs(void)
{
    const char *said = getenv("ATTEND_BIN");
    ck_assert_ptr_nonnull(realpath(said ? said : "bin", bin));
    setenv("ATTEND_BIN", bin, 1);
    command_program("charlm");
    command_processes(1);
}

/* `first` are words of rank 0, `second` of rank 1, which `how` starts. */
static void expect_found(const char *first, const char *how, const char *second, const char *what)
{
    char line[200];
    const char *run = fresh_path("unlike");
    Said s = command(WORDS " --run %s %s : -n 1 %s " WORDS " --run %s %s", run, first, how, run, second);
    snprintf(line, sizeof line, " has %s than rank 0 on ", what);
    const char *own = strstr(s.err, "charlm: rank "),
               *found = own ? strstr(own, ": rank 1 on ") : NULL /* either says so */;
    ck_assert_msg(s.status != 0 && found && strstr(found, line) && !strstr(own + 1, "charlm: "), "%s: %d: %s", what,
                  s.status, s.err);
    ck_assert_msg(access(run, F_OK) != 0, "a run was made");
    said_free(&s);
}

START_TEST(other_options_are_found)
{
    char program[4200];
    if (!ranks_possible())
        return;
    find_programs();
    snprintf(program, sizeof program, "%s/charlm", bin);
    expect_found("--ff 32", program, "--ff 64", "other options of its model");
    expect_found("--lr 1e-3", program, "--lr 2e-3", "other options of training");
    expect_found("--shard", program, "", "other options of training");
    expect_found("", program, "--json", "other options of this call");
}

START_TEST(another_executable_is_found)
{
    char program[4200];
    const char *folder = test_folder();
    struct stat there;
    size_t size;
    if (!ranks_possible())
        return;
    find_programs();
    snprintf(program, sizeof program, "%s/charlm", folder);
    char *bytes = read_in(bin, "charlm", &size), *more = memory_get(size + 1, 1);
    ck_assert(bytes && more);
    memcpy(more, bytes, size);
    more[size] = 0;
    write_in(folder, "charlm", more, size + 1);
    ck_assert_int_eq(stat(program, &there), 0);
    ck_assert_int_eq(chmod(program, there.st_mode | S_IXUSR), 0);
    expect_found("", program, "", "another executable file");
    memory_free(bytes);
    memory_free(more);
}

/* The same name, in two folders. */
START_TEST(other_data_is_found)
{
    char how[5000], other[700], text[4001];
    const char *folder = test_folder();
    if (!ranks_possible())
        return;
    find_programs();
    snprintf(other, sizeof other, "%s", fresh_path("other"));
    ck_assert_int_eq(mkdir(other, 0777), 0);
    ck_assert_int_eq(chdir(folder), 0);
    for (size_t i = 0; i < 4000; i++)
        text[i] = (char)(i % 7 ? 'a' + i % 26 : ' ');
    write_in(folder, "text.txt", text, 4000);
    text[3000] = '!';
    write_in(other, "text.txt", text, 4000);
    snprintf(how, sizeof how, "-wdir %s %s/charlm", other, bin);
    expect_found("--data text.txt", how, "--data text.txt", "other content of its data");
}

/* It is asked for in the environment; a build for one processor has one level. */
START_TEST(other_instructions_are_found)
{
    char how[4200];
    if (!ranks_possible())
        return;
    find_programs();
    snprintf(how, sizeof how, "env ATTEND_CPU=v1 %s/charlm", bin);
    setenv("ATTEND_CPU", "v2", 1);
    Said s = command("--version");
    const bool several = s.status == 0 && strstr(s.out, "v2");
    said_free(&s);
    if (several)
        expect_found("", how, "", "other instructions (ATTEND_CPU)");
    unsetenv("ATTEND_CPU");
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(other_options_are_found), TEST(another_executable_is_found),
                                 TEST(other_data_is_found), TEST(other_instructions_are_found)};
    return suite_run("ranks/unlike", tests, sizeof tests / sizeof *tests, argc, argv);
}
