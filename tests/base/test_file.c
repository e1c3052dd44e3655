/* Files and folders: whole or not at all. */
#define _DEFAULT_SOURCE /* mknod, makedev */
#define _XOPEN_SOURCE   700
#include "base/file.h"
#include "base/memory.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static char *in(const char *folder, const char *name)
{
    static char paths[4][700];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *path, const char *text)
{
    Error e;
    ck_done(file_write(path, text, strlen(text), &e), e);
}

static void expect_text(const char *path, const char *text)
{
    Error e;
    char *bytes;
    size_t size;
    ck_done(file_read(path, &bytes, &size, &e), e);
    ck_assert_uint_eq(size, strlen(text));
    ck_assert_str_eq(bytes, text);
    memory_free(bytes);
}

static size_t count_in(const char *folder)
{
    char **names;
    size_t count;
    Error e;
    ck_done(folder_list(folder, &names, &count, &e), e);
    folder_list_free(names, count);
    return count;
}

START_TEST(what_is_written_is_read)
{
    const char *folder = test_folder();
    write_text(in(folder, "a"), "old");
    write_text(in(folder, "a"), "");
    expect_text(in(folder, "a"), "");
    write_text(in(folder, "a"), "new text");
    expect_text(in(folder, "a"), "new text");
    ck_assert_uint_eq(count_in(folder), 1);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_path_without_a_folder_is_in_this_one)
{
    ck_assert_int_eq(chdir(test_folder()), 0);
    write_text("plain", "x");
    expect_text("plain", "x");
    Error e;
    ck_done(folder_make("one/two//three/", &e), e);
    ck_assert(folder_exists("one/two/three"));
    ck_done(folder_replace("one", "eins", &e), e);
    ck_assert(folder_exists("eins/two/three"));
}

START_TEST(an_abandoned_file_leaves_the_old_one)
{
    const char *folder = test_folder();
    FileWriter w;
    Error e;
    write_text(in(folder, "a"), "old");
    ck_done(file_begin(&w, in(folder, "a"), &e), e);
    ck_done(file_add(&w, "new", 3, &e), e);
    expect_text(in(folder, "a"), "old");
    file_abandon(&w);
    file_abandon(&w);
    expect_text(in(folder, "a"), "old");
    ck_assert_uint_eq(count_in(folder), 1);
    ck_assert(!file_add(&w, "x", 1, &e));
    ck_assert(!file_end(&w, &e));
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_hole_can_be_filled_in_later)
{
    const char *folder = test_folder();
    FileWriter w;
    Error e;
    ck_done(file_begin(&w, in(folder, "a"), &e), e);
    ck_done(file_add(&w, "....body", 8, &e), e);
    ck_done(file_add_at(&w, 0, "head", 4, &e), e);
    ck_done(file_add(&w, "tail", 4, &e), e);
    ck_done(file_end(&w, &e), e);
    expect_text(in(folder, "a"), "headbodytail");
}

START_TEST(a_full_disk_is_an_error)
{
    Error e = {{0}};
    char big[100000] = {0};
    if (!file_exists("/dev/full")) {
        test_skip("a_full_disk_is_an_error", "there is no /dev/full here");
        return;
    }
    ck_assert(!file_write_through("/dev/full", big, sizeof big, &e));
    ck_assert(!file_write_through("/dev/full", big, 1, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "/dev/full"));
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_device_is_written_straight_and_stays_one)
{
    Error e;
    struct stat s;
    ck_done(file_write_through("/dev/null", "x", 1, &e), e);
    ck_assert_int_eq(stat("/dev/null", &s), 0);
    ck_assert(S_ISCHR(s.st_mode));
}

START_TEST(a_link_stays_a_link_where_a_user_says_so)
{
    const char *folder = test_folder();
    Error e;
    write_text(in(folder, "real"), "old");
    ck_assert_int_eq(symlink("real", in(folder, "link")), 0);
    ck_done(file_write_through(in(folder, "link"), "new", 3, &e), e);
    expect_text(in(folder, "real"), "new");
    ck_assert(is_link(in(folder, "link")));
}

/* Also where the link has the name of what is written first. */
START_TEST(else_nothing_is_written_through_a_link)
{
    const char *folder = test_folder();
    static const char *const names[] = {"link", ".link.tmp"};
    for (int i = 0; i < 2; i++) {
        write_text(in(folder, "real"), "old");
        ck_assert_int_eq(symlink("real", in(folder, names[i])), 0);
        write_text(in(folder, "link"), "new");
        expect_text(in(folder, "real"), "old");
        expect_text(in(folder, "link"), "new");
        ck_assert(!is_link(in(folder, "link")));
        ck_assert_uint_eq(count_in(folder), 2);
        ck_assert_int_eq(unlink(in(folder, "link")), 0);
    }
}

START_TEST(errors_name_the_path)
{
    const char *folder = test_folder();
    char *bytes;
    size_t size;
    Error e;
    ck_assert(!file_read(in(folder, "missing"), &bytes, &size, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "missing"));
    ck_assert(!file_read(folder, &bytes, &size, &e));
    ck_assert(!file_write(folder, "x", 1, &e));
    ck_assert(!file_write(in(folder, "no/such"), "x", 1, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "no/such"));
    write_text(in(folder, "file"), "x");
    ck_assert(!folder_make(in(folder, "file/inner"), &e));
    ck_assert(!folder_make(in(folder, "file"), &e));
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* mkdir says why; looking whether the folder is there after all must not hide that. */
START_TEST(a_folder_that_cannot_be_made_says_why)
{
    const char *folder = test_folder();
    Error e;
    ck_assert_int_eq(symlink("nowhere", in(folder, "link")), 0);
    ck_assert(!folder_make(in(folder, "link"), &e));
    ck_assert_msg(strstr(e.text, "link: a file has that name") != NULL, "%s", e.text);
}

START_TEST(lists_are_sorted)
{
    const char *folder = test_folder();
    const char *const made[] = {"b", ".hidden", "a", "C", "10", "9"}, *const sorted[] = {".hidden", "10", "9",
                                                                                         "C",       "a",  "b"};
    char **names;
    size_t count;
    Error e;
    for (size_t i = 0; i < 6; i++)
        write_text(in(folder, made[i]), "");
    ck_done(folder_list(folder, &names, &count, &e), e);
    ck_assert_uint_eq(count, 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert_str_eq(names[i], sorted[i]);
    folder_list_free(names, count);
}

START_TEST(removing_a_folder_follows_no_link)
{
    const char *folder = test_folder();
    Error e;
    ck_done(folder_make(in(folder, "keep"), &e), e);
    write_text(in(folder, "keep/precious"), "gold");
    ck_done(folder_make(in(folder, "go/deep/down"), &e), e);
    write_text(in(folder, "go/deep/file"), "x");
    ck_assert_int_eq(symlink("../../keep", in(folder, "go/deep/link")), 0);
    ck_done(folder_remove(in(folder, "go"), &e), e);
    ck_assert(!folder_exists(in(folder, "go")));
    expect_text(in(folder, "keep/precious"), "gold");
    ck_done(folder_remove(in(folder, "never was"), &e), e);
}

START_TEST(replacing_a_folder_leaves_only_the_new_one)
{
    const char *folder = test_folder();
    Error e;
    ck_done(folder_make(in(folder, "x"), &e), e);
    write_text(in(folder, "x/old"), "old");
    for (int again = 0; again < 2; again++) {
        ck_done(folder_make(in(folder, ".x.tmp"), &e), e);
        write_text(in(folder, ".x.tmp/new"), "new");
        char *temporary = in(folder, ".x.tmp");
        ck_done(folder_replace(temporary, in(folder, "x"), &e), e);
        expect_text(in(folder, "x/new"), "new");
        ck_assert_uint_eq(count_in(in(folder, "x")), 1);
        ck_assert_uint_eq(count_in(folder), 1);
    }
}

START_TEST(a_replacement_that_is_not_there_leaves_the_old_one)
{
    const char *folder = test_folder();
    Error e;
    ck_done(folder_make(in(folder, "x"), &e), e);
    write_text(in(folder, "x/old"), "old");
    ck_assert(!folder_replace(in(folder, "missing"), in(folder, "x"), &e));
    expect_text(in(folder, "x/old"), "old");
    ck_assert_uint_eq(count_in(folder), 1);
}

static bool all_of_it(void *argument, Error *e)
{
    const char *folder = argument;
    char sub[700], file[700], *bytes, **names;
    size_t size, count;
    snprintf(sub, sizeof sub, "%s/.s.tmp", folder);
    snprintf(file, sizeof file, "%s/.s.tmp/f", folder);
    if (!folder_make(sub, e) || !file_write(file, "text", 4, e) || !file_read(file, &bytes, &size, e))
        return false;
    memory_free(bytes);
    if (!folder_list(sub, &names, &count, e))
        return false;
    folder_list_free(names, count);
    snprintf(file, sizeof file, "%s/s", folder);
    return folder_replace(sub, file, e) && folder_remove(file, e);
}

START_TEST(each_failed_allocation_is_an_error)
{
    char folder[700];
    snprintf(folder, sizeof folder, "%s", test_folder());
    fail_each_allocation(all_of_it, folder);
}

/* Root may do anything: a file in the place of /dev/null would be there for all. Only root can try. */
START_TEST(a_device_is_never_replaced)
{
    const char *path = in(test_folder(), "device");
    Error e;
    struct stat s;
    if (mknod(path, S_IFCHR | 0600, makedev(1, 3)))
        return;
    ck_assert(!file_write(path, "x", 1, &e));
    ck_assert_msg(strstr(e.text, "it is a device") != NULL, "%s", e.text);
    ck_assert(!lstat(path, &s) && S_ISCHR(s.st_mode));
}

/* A pipe does not say how much will come. */
START_TEST(a_pipe_is_read_to_its_end)
{
    enum { BYTES = 20000 };
    const char *path = in(test_folder(), "pipe");
    Error e;
    char *bytes;
    size_t size;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert(!file_read(path, &bytes, &size, &e)); /* at once, and nobody writes */
    ck_assert_msg(strstr(e.text, "pipe: it is not a regular file") != NULL, "%s", e.text);
    pid_t writer = fork();
    if (writer == 0) {
        FILE *f = fopen(path, "w");
        for (int i = 0; f && i < BYTES; i++)
            putc('a' + i % 26, f);
        _exit(!f || fclose(f));
    }
    ck_done(file_read_any(path, &bytes, &size, &e), e);
    int status;
    ck_assert(waitpid(writer, &status, 0) == writer && status == 0);
    ck_assert_uint_eq(size, BYTES);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != (char)('a' + i % 26))
            ck_abort_msg("byte %d", (int)i);
    ck_assert_int_eq(bytes[size], 0);
    memory_free(bytes);
}

START_TEST(a_device_without_an_end_is_given_up)
{
    Error e;
    char *bytes;
    size_t size;
    ck_assert(!file_read_any("/dev/zero", &bytes, &size, &e));
    ck_assert_msg(strstr(e.text, "/dev/zero: it does not end") != NULL, "%s", e.text);
    ck_done(file_read_any("/dev/null", &bytes, &size, &e), e);
    ck_assert_uint_eq(size, 0);
    memory_free(bytes);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static const Test tests[] = {
    TEST(what_is_written_is_read),
    TEST(a_device_is_never_replaced),
    TEST(a_pipe_is_read_to_its_end),
    TEST(a_device_without_an_end_is_given_up),
    TEST(a_path_without_a_folder_is_in_this_one),
    TEST(an_abandoned_file_leaves_the_old_one),
    TEST(a_hole_can_be_filled_in_later),
    TEST(a_full_disk_is_an_error),
    TEST(a_device_is_written_straight_and_stays_one),
    TEST(a_link_stays_a_link_where_a_user_says_so),
    TEST(else_nothing_is_written_through_a_link),
    TEST(errors_name_the_path),
    TEST(a_folder_that_cannot_be_made_says_why),
    TEST(lists_are_sorted),
    TEST(removing_a_folder_follows_no_link),
    TEST(replacing_a_folder_leaves_only_the_new_one),
    TEST(a_replacement_that_is_not_there_leaves_the_old_one),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv) { return suite_run("base/file", tests, sizeof tests / sizeof *tests, argc, argv); }
