/* data/fetch without a network: copies, folders, and a server on this machine with the faults of real ones. */
#define _XOPEN_SOURCE 700
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/sha256.h"
#include "tests/data/fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 300000 };

static const char *text(void)
{
    static char bytes[SIZE + 1];
    for (int i = 0; i < SIZE && !bytes[SIZE - 1]; i++)
        bytes[i] = i % 41 == 40 ? '\n' : (char)('a' + philox_below(20, 1, 2, (uint64_t)i, 3));
    return bytes;
}

/* The set "letters" of one file, which is text() and is packed in home/. */
static void open_fixture(const char *homes)
{
    fixture_open();
    fixture_write("letters", text(), SIZE);
    ck_assert_int_eq(fixture_run("mkdir home && gzip -c letters >home/l.gz && mv letters copy"), 0);
    fixture_print("data/sets", "letters | letters | %d | sha256:%s | %s\n", SIZE, sha256(text(), SIZE).text, homes);
}

static void expect_fetched(void)
{
    char *bytes;
    size_t size;
    Error e;
    ck_done(file_read("data/letters/letters", &bytes, &size, &e), e);
    ck_assert(size == SIZE && memcmp(bytes, text(), SIZE) == 0);
    ck_assert_msg(!folder_exists("data/letters/.fetch"), "something was left");
    memory_free(bytes);
}

static void expect_nothing(void)
{
    ck_assert_msg(!folder_exists("data/letters"), "after '%s' there is data/letters", fixture_said());
}

START_TEST(a_copy_is_taken_whatever_packs_it_and_is_called)
{
    static const char *const lines[] = {
        "true",
        "mv copy letters; ln -s letters copy",
        "gzip -c copy >'my copy (1).gz'; mv 'my copy (1).gz' copy",
        "command -v xz && xz -c copy >c; [ -s c ] && mv c copy; true",
        "command -v zip && zip -q c.zip copy; [ -s c.zip ] && mv c.zip copy; true",
    };
    open_fixture("http://nowhere/l.gz");
    ck_assert_int_eq(fixture_run("%s", lines[_i]), 0);
    expect_run(0, "data/letters/letters: letters as published (300,000 bytes, sha256)", "data/fetch letters ./copy");
    expect_fetched();
    ck_assert(fixture_has("copy"));
    expect_run(0, "as published", "rm copy; data/fetch letters"); /* it is there: nothing is asked for */
}

START_TEST(a_folder_may_have_it_under_its_own_name_or_a_homes)
{
    static const char *const lines[] = {"mkdir m && cp copy m/letters", "mkdir m && cp home/l.gz m",
                                        "mkdir -p m/letters && cp copy m/letters/letters",
                                        "mkdir -p m/letters && cp home/l.gz m/letters"};
    for (size_t i = 0; i < 8; i++) {
        open_fixture("http://nowhere/l.gz?download=1");
        ck_assert_int_eq(fixture_run("%s", lines[i / 2]), 0);
        expect_run(0, "as published", i % 2 ? "data/fetch letters m" : "ATTEND_MIRROR=m data/fetch letters");
        expect_fetched();
    }
    expect_run(1, "home holds none of: letters l.zip",
               "sed -i.old s/l.gz/l.zip/ data/sets; rm -r data/letters\n"
               "data/fetch letters home");
    expect_nothing();
    expect_run(1, "home holds none of: letters\n",
               "sed -i.old s,nowhere/l.zip?download=1,nowhere/letters, data/sets; data/fetch letters home");
}

START_TEST(a_wrong_copy_makes_nothing)
{
    static const struct {
        const char *make, *words;
    } faults[] = {
        {"dd if=home/l.gz of=c bs=1000 count=50 2>/dev/null", "is cut off"},
        {"dd if=copy of=c bs=1000 count=299 2>/dev/null", "299,000 of the 300,000 bytes"},
        {"dd if=copy bs=1000 count=299 2>/dev/null | gzip >c", "299,000 of the 300,000 bytes"},
        {"{ cat copy; echo; } >c", "300,001 bytes"},
        {"tr b a <copy >c", "another checksum"},
        {"tr b a <copy | gzip >c", "another checksum"},
        {": >c", "is empty"},
        {"echo '<html>' >c", "a web page"},
        {"true", "there is no c"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        open_fixture("http://nowhere/l.gz");
        ck_assert_int_eq(fixture_run("%s", faults[i].make), 0);
        expect_run(1, faults[i].words, "data/fetch letters c");
        expect_nothing();
        ck_assert(i + 1 == sizeof faults / sizeof *faults || fixture_has("c"));
    }
}

START_TEST(a_wrong_file_that_is_there_stays_until_there_is_a_right_one)
{
    open_fixture("http://nowhere/l.gz");
    ck_assert_int_eq(fixture_run("mkdir data/letters && echo mine >data/letters/letters"), 0);
    expect_run(1, "it is fetched again", "data/fetch letters data/sets");
    expect_run(0, "mine", "cat data/letters/letters");
    expect_run(0, "as published", "data/fetch letters home");
    expect_fetched();
}

/* As Multi30k: what is kept packed, and several files. */
START_TEST(a_set_of_several_files_is_fetched_whole_or_says_what_failed)
{
    fixture_open();
    ck_assert_int_eq(
        fixture_run("mkdir m m/b && echo 1 | gzip >m/one.gz && echo 22 >m/two && echo 333 >m/b/three\n"
                    ". data/common.sh\n"
                    "row() { echo \"b | $2 | $(wc -c <\"$1\") | md5:$(digest md5 <\"$1\") | http://h/$2\"; }\n"
                    "{ row m/one.gz one.gz; row m/two two; row m/b/three three; } >data/sets"),
        0);
    expect_run(2, "name the folder", "data/fetch b m/two");
    expect_run(1, "4 bytes, where b has 3", "cp m/two t; echo 222 >m/two; data/fetch b m");
    ck_assert(fixture_has("data/b/one.gz") && !fixture_has("data/b/two") && fixture_has("data/b/three"));
    expect_run(0, "data/b/two: b as published", "cp t m/two; data/fetch b m");
    expect_run(0, "", "cmp m/one.gz data/b/one.gz && cmp m/two data/b/two && [ ! -e data/b/.fetch ]");
}

/* As IMDb: the one file of a set is an archive, under whatever name somebody has it. */
START_TEST(an_archive_stays_packed)
{
    fixture_open();
    ck_assert_int_eq(
        fixture_run("mkdir m && tar czf m/a.tar.gz data/common.sh && cp m/a.tar.gz mine\n"
                    ". data/common.sh\n"
                    "echo \"i | a.tar.gz | $(wc -c <mine) | md5:$(digest md5 <mine) | http://h/a.tar.gz\" >data/sets"),
        0);
    static const char *const ways[] = {"data/fetch i mine", "data/fetch i m", "ATTEND_MIRROR=m data/fetch i"};
    for (size_t i = 0; i < 3; i++) {
        expect_run(0, "data/i/a.tar.gz: i as published", "%s", ways[i]);
        expect_run(0, "", "cmp mine data/i/a.tar.gz && rm -r data/i");
    }
    expect_run(1, "is cut off", "head -c 300 mine >half; data/fetch i half");
    ck_assert(!folder_exists("data/i"));
}

START_TEST(wrong_usage_lists_the_sets)
{
    open_fixture("http://nowhere/l.gz");
    expect_run(2, "usage: data/fetch SET [FILE|FOLDER]; sets: letters", "data/fetch");
    expect_run(2, "there is no set 'numbers'", "data/fetch numbers");
    expect_run(2, "usage", "data/fetch letters copy copy");
    expect_nothing();
}

START_TEST(two_at_once_take_turns)
{
    open_fixture("http://nowhere/l.gz");
    expect_run(0, "waiting for process", "sleep 2 & ln -s $! data/.letters.lock; data/fetch letters home");
    expect_fetched();
    expect_run(0, "as published", "rm -r data/letters; ln -s 99999999 data/.letters.lock; data/fetch letters home");
    expect_fetched();
    expect_run(0, "",
               "rm -r data/letters; for i in 1 2 3 4; do data/fetch letters home || touch failed & done; wait; "
               "[ ! -e failed ] && [ ! -L data/.letters.lock ]");
    expect_fetched();
}

START_TEST(a_full_disk_is_told)
{
    open_fixture("http://nowhere/l.gz");
    expect_run(1, "is there room", "ulimit -f 100; trap '' XFSZ; data/fetch letters home");
    expect_nothing();
}

/* --- downloads: with curl and with wget, the other one hidden --- */

static const char *const tools[] = {"curl", "wget"};

/* PATH=tools has this one of the two; false: this machine has not. */
static bool only(const char *test, int tool)
{
    char why[60];
    fixture_tools_without(tools[1 - tool]);
    if (fixture_run("[ -x tools/%s ]", tools[tool]) == 0)
        return true;
    snprintf(why, sizeof why, "there is no %s here", tools[tool]);
    test_skip(test, why);
    return false;
}

static void set_homes(const char *homes)
{
    fixture_print("data/sets", "letters | letters | %d | sha256:%s | %s\n", SIZE, sha256(text(), SIZE).text, homes);
}

START_TEST(homes_are_tried_until_one_has_it)
{
    char homes[300];
    open_fixture("-");
    if (!only("homes_are_tried_until_one_has_it", _i))
        return;
    Server s = server_start("home", (Faults){0});
    snprintf(homes, sizeof homes,
             "http://127.0.0.1:1/l.gz http://127.0.0.1:%d/no.gz http://127.0.0.1:%d/page.gz "
             "http://127.0.0.1:%d/cut.gz http://127.0.0.1:%d/l.gz",
             s.port, s.port, s.port, s.port);
    set_homes(homes);
    ck_assert_int_eq(fixture_run("echo '<html>log in' >home/page.gz; head -c 900 home/l.gz >home/cut.gz"), 0);
    expect_run(0, "as published", "PATH=tools data/fetch letters");
    ck_assert(strstr(fixture_said(), "a web page") && strstr(fixture_said(), "cut off"));
    ck_assert(strstr(fixture_said(), "1/l.gz: nothing arrived") &&
              strstr(fixture_said(), "no.gz: the server does not have it"));
    expect_fetched();
    expect_run(0, "no.gz 0\npage.gz 0\ncut.gz 0\nl.gz 0\n", "cat home/requests"); /* once each */
    server_stop(&s);
}

/* A machine without a network is told what it can do. */
START_TEST(where_no_home_is_reached_a_copy_or_a_mirror_is_proposed)
{
    static const char words[] = "data/fetch letters FOLDER takes files that you have; ATTEND_MIRROR";
    open_fixture("http://127.0.0.1:1/l.gz");
    if (!only("where_no_home_is_reached_a_copy_or_a_mirror_is_proposed", _i))
        return;
    expect_run(1, words, "PATH=tools data/fetch letters");
    ck_assert_msg(strstr(fixture_said(), words) > strstr(fixture_said(), "could not be fetched"), "%s", fixture_said());
    Server s = server_start("home", (Faults){0});
    expect_run(1, "could not be fetched", "ATTEND_MIRROR=http://127.0.0.1:%d/none PATH=tools data/fetch letters",
               s.port);
    ck_assert_msg(!strstr(fixture_said(), words), "%s", fixture_said());
    server_stop(&s);
}

START_TEST(one_home_does_not_go_on_with_what_another_began)
{
    char homes[100];
    open_fixture("-");
    if (!only("one_home_does_not_go_on_with_what_another_began", _i))
        return;
    Server s = server_start("home", (Faults){.connections = 2, .cut = 70000});
    snprintf(homes, sizeof homes, "http://127.0.0.1:%d/l.gz http://127.0.0.1:%d/sub/l.gz", s.port, s.port);
    set_homes(homes);
    ck_assert_int_eq(fixture_run("mkdir home/sub; cp home/l.gz home/sub"), 0);
    expect_run(_i == 0, "", "PATH=tools data/fetch letters"); /* wget continues at the first one by itself */
    expect_run(_i == 0, "l.gz 0\n", "cat home/requests; ! grep '^sub/l.gz 0' home/requests");
    server_stop(&s);
}

START_TEST(a_mirror_takes_the_place_of_the_homes)
{
    open_fixture("http://127.0.0.1:1/l.gz");
    if (!only("a_mirror_takes_the_place_of_the_homes", _i))
        return;
    Server s = server_start("home", (Faults){0});
    expect_run(0, "as published", "ATTEND_MIRROR=http://127.0.0.1:%d/ PATH=tools data/fetch letters", s.port);
    expect_fetched();
    expect_run(0, "as published",
               "rm -r data/letters; mkdir home/letters home/sub; mv home/l.gz home/letters\n"
               "ATTEND_MIRROR=http://127.0.0.1:%d PATH=tools data/fetch letters",
               s.port);
    expect_fetched();
    expect_run(1, "could not be fetched",
               "rm -r data/letters\n"
               "ATTEND_MIRROR=http://127.0.0.1:%d/sub PATH=tools data/fetch letters",
               s.port);
    expect_nothing();
    server_stop(&s);
}

/* A connection that breaks in the middle, and a process that is killed there, by Ctrl-C or without a word. */
static void resume(int tool, int how)
{
    char homes[100], wanted[100];
    Server s = server_start("home", (Faults){.connections = 1, .cut = 70000, .stall = how != 0});
    snprintf(homes, sizeof homes, "http://127.0.0.1:%d/l.gz", s.port);
    set_homes(homes);
    ck_assert_int_eq(fixture_run("rm -rf data/letters home/requests"), 0);
    if (how) {
        pid_t process = fork();
        if (!process) {
            setpgid(0, 0);
            setenv("PATH", "tools", 1);
            int out = open("said2", O_WRONLY | O_CREAT | O_TRUNC, 0666);
            dup2(out, 1);
            dup2(out, 2);
            execl("data/fetch", "data/fetch", "letters", (char *)NULL);
            _exit(127);
        }
        int status;
        ck_assert_int_eq(fixture_run("n=0; until [ \"$(wc -c <data/letters/.fetch/letters/1/l.gz)\" -gt 60000 ]; do\n"
                                     "sleep 0.1; n=$((n + 1)); [ $n -lt 300 ] || exit 1; done 2>/dev/null"),
                         0);
        kill(-process, how);
        waitpid(process, &status, 0);
        ck_assert(!WIFEXITED(status) || WEXITSTATUS(status) == 130);
        if (how == SIGINT)
            expect_run(0, "interrupted; the same command continues", "cat said2");
    } else {
        fixture_run("PATH=tools data/fetch letters");
    }
    ck_assert(tool == 1 || !fixture_has("data/letters/letters")); /* wget continues by itself */
    expect_run(0, "as published", "PATH=tools data/fetch letters");
    expect_fetched();
    ck_assert_int_eq(fixture_run("cat home/requests"), 0);
    size_t begin = 0;
    snprintf(wanted, sizeof wanted, "l.gz 0\nl.gz %%zu\n");
    ck_assert_msg(sscanf(fixture_said(), wanted, &begin) == 1 && begin > 60000 && begin <= 70000, "%s", fixture_said());
    server_stop(&s);
}

START_TEST(a_download_that_was_interrupted_is_gone_on_with)
{
    open_fixture("-");
    if (!only("a_download_that_was_interrupted_is_gone_on_with", _i))
        return;
    resume(_i, 0);
    resume(_i, SIGINT);
    resume(_i, SIGKILL);
}

/* The beginning is of another file, or the server gives whole files only: from the start, then. */
START_TEST(a_beginning_that_cannot_be_gone_on_with_is_dropped)
{
    char homes[100];
    open_fixture("-");
    if (!only("a_beginning_that_cannot_be_gone_on_with_is_dropped", _i))
        return;
    for (int whole = 0; whole < 2; whole++) {
        Server s = server_start("home", (Faults){.whole = whole});
        snprintf(homes, sizeof homes, "http://127.0.0.1:%d/l.gz", s.port);
        set_homes(homes);
        static const char *const beginnings[] = {"tr a b <copy | gzip | head -c 50000", "cat home/l.gz",
                                                 "cat home/l.gz home/l.gz", "head -c 50000 home/l.gz"};
        for (size_t i = 0; i < 4; i++) {
            ck_assert_int_eq(fixture_run("rm -rf data/letters; mkdir -p data/letters/.fetch/letters/1\n"
                                         "%s >data/letters/.fetch/letters/1/l.gz",
                                         beginnings[i]),
                             0);
            expect_run(0, "as published", "PATH=tools data/fetch letters");
            expect_fetched();
        }
        server_stop(&s);
    }
}

START_TEST(without_curl_and_wget_it_says_what_to_do)
{
    open_fixture("http://nowhere/l.gz");
    fixture_tools_without("curl wget");
    expect_run(1, "needs curl or wget; or give it a copy: data/fetch letters FILE", "PATH=tools data/fetch letters");
    expect_nothing();
    expect_run(0, "as published", "PATH=tools data/fetch letters copy");
    expect_fetched();
}

static const Test tests[] = {TEST_LOOP(a_copy_is_taken_whatever_packs_it_and_is_called, 5),
                             TEST(a_folder_may_have_it_under_its_own_name_or_a_homes),
                             TEST(a_wrong_copy_makes_nothing),
                             TEST(a_wrong_file_that_is_there_stays_until_there_is_a_right_one),
                             TEST(a_set_of_several_files_is_fetched_whole_or_says_what_failed),
                             TEST(an_archive_stays_packed),
                             TEST(wrong_usage_lists_the_sets),
                             TEST(two_at_once_take_turns),
                             TEST(a_full_disk_is_told),
                             TEST_LOOP(homes_are_tried_until_one_has_it, 2),
                             TEST_LOOP(where_no_home_is_reached_a_copy_or_a_mirror_is_proposed, 2),
                             TEST_LOOP(one_home_does_not_go_on_with_what_another_began, 2),
                             TEST_LOOP(a_mirror_takes_the_place_of_the_homes, 2),
                             TEST_LOOP(a_download_that_was_interrupted_is_gone_on_with, 2),
                             TEST_LOOP(a_beginning_that_cannot_be_gone_on_with_is_dropped, 2),
                             TEST(without_curl_and_wget_it_says_what_to_do)};

int main(int argc, char **argv) { return suite_run("data/fetch", tests, sizeof tests / sizeof *tests, argc, argv); }
