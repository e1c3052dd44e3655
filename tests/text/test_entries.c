/* The files of an archive or a folder: the same for whoever reads them. */
#define _XOPEN_SOURCE 700
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "core/text/archive.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 200 };

/* A folder "set" with 200 files in two folders, an empty one, and some that are hidden. */
static void setup(void)
{
    ck_assert_int_eq(chdir(test_folder()), 0);
    ck_assert_int_eq(system("mkdir -p set/a set/b/c set/.git && : >set/b/c/empty && echo x >set/.hidden && "
                            "echo x >set/.git/config && echo x >set/a/._junk"),
                     0);
    for (int i = 0; i < FILES; i++) {
        char path[60], text[100];
        Error e;
        snprintf(path, sizeof path, "set/%s/%03d.txt", i % 2 ? "a" : "b/c", i);
        int size = snprintf(text, sizeof text, "text number %d, %d times", i, i * i);
        ck_done(file_write(path, text, (size_t)size, &e), e);
    }
}

typedef struct Seen {
    size_t files, bytes, stop_at;
    const char *skip;
    Buffer names;
} Seen;

static bool wanted(void *context, const char *name)
{
    Seen *seen = context;
    return !seen->skip || !strstr(name, seen->skip);
}

static bool take(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    Seen *seen = context;
    const char *file = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    char text[100] = "";
    ck_assert_msg(!strstr(name, "hidden") && !strstr(name, "git") && !strstr(name, "junk"), "%s", name);
    ck_assert_int_eq(bytes[size], 0);
    if (file[0] >= '0' && file[0] <= '9')
        snprintf(text, sizeof text, "text number %d, %d times", atoi(file), atoi(file) * atoi(file));
    ck_assert_str_eq(bytes, text);
    buffer_print(&seen->names, "%s ", name);
    seen->files++;
    seen->bytes += size;
    return seen->files != seen->stop_at || fail(e, "enough of %s", name);
}

static bool read_entries(Seen *seen, const char *path, Error *e)
{
    seen->files = seen->bytes = 0;
    buffer_free(&seen->names);
    return entries_read(path, &(Entries){wanted, take, seen}, e);
}

static const char *const packers[] = {"cp -r set packed",   "tar cf packed set",
                                      "tar czf packed set", "tar cJf packed ./set",
                                      "tar cjf packed set", "zip -qr p.zip set && mv p.zip packed"};
enum { PACKERS = sizeof packers / sizeof *packers };

/* False, having said so: it cannot be done here. */
static bool packed(const char *test, int i)
{
    setup();
    if (i && !text_reads_archives())
        test_skip(test, "this build has no libarchive");
    else if (system(packers[i]))
        test_skip(test, packers[i]);
    else
        return true;
    return false;
}

START_TEST(all_files_are_seen_whatever_packs_them)
{
    Seen seen = {0};
    Error e;
    if (!packed("all_files_are_seen_whatever_packs_them", _i))
        return;
    ck_done(read_entries(&seen, "packed", &e), e);
    ck_assert_uint_eq(seen.files, FILES + 1);
    ck_assert_ptr_nonnull(strstr(seen.names.text, _i ? "set/b/c/empty " : "b/c/empty "));
    ck_assert_ptr_null(strstr(seen.names.text, "./"));
    seen.skip = "b/c/";
    ck_done(read_entries(&seen, "packed", &e), e);
    ck_assert_uint_eq(seen.files, FILES / 2);
    seen.stop_at = 17;
    ck_assert(!read_entries(&seen, "packed", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "enough of "));
    ck_assert_uint_eq(seen.files, 17);
    buffer_free(&seen.names);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_folder_is_read_by_name)
{
    Seen seen = {.skip = "1"};
    Error e;
    setup();
    ck_done(read_entries(&seen, "set/", &e), e);
    ck_assert_msg(strncmp(seen.names.text, "a/003.txt a/005.txt a/007.txt a/009.txt a/023.txt ", 49) == 0, "%s",
                  seen.names.text);
    ck_assert_int_eq(system("ln -s .. set/a/back"), 0);
    ck_assert(!read_entries(&seen, "set", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "more than 20 folders"));
    buffer_free(&seen.names);
}

/* Its files are no texts; the folder that was named is read whatever it is. */
START_TEST(a_run_in_a_folder_is_passed_over)
{
    Seen seen = {.skip = "1"};
    Error e;
    setup();
    ck_assert_int_eq(system("mkdir -p set/a/run/checkpoints set/b/config.json && : >set/a/run/config.json && "
                            ": >set/a/run/checkpoints/x && : >set/a/run/log.tsv && : >set/b/config.json/y"),
                     0);
    ck_done(read_entries(&seen, "set", &e), e);
    ck_assert_ptr_null(strstr(seen.names.text, "run/"));
    ck_assert_ptr_nonnull(strstr(seen.names.text, "b/config.json/y "));
    ck_done(read_entries(&seen, "set/a/run", &e), e);
    ck_assert_str_eq(seen.names.text, "checkpoints/x config.json log.tsv ");
    buffer_free(&seen.names);
}

START_TEST(gzip_of_nothing_is_an_empty_file)
{
    static const char *const ways[] = {"cp set/e.gz it.gz", "mkdir it.gz && mv set/e.gz it.gz",
                                       "tar cf it.gz -C set e.gz"};
    Seen seen = {0};
    Error e;
    setup();
    if (!text_reads_archives())
        return test_skip("gzip_of_nothing_is_an_empty_file", "this build has no libarchive");
    ck_assert_int_eq(system(": | gzip >set/e.gz"), 0);
    ck_assert_int_eq(system(ways[_i]), 0);
    ck_done(read_entries(&seen, "it.gz", &e), e);
    ck_assert_str_eq(seen.names.text, _i ? "e.gz " : "it.gz ");
    buffer_free(&seen.names);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(texts_in_a_folder_may_be_packed)
{
    Seen seen = {.skip = "1"};
    Error e;
    setup();
    if (!text_reads_archives()) {
        test_skip("texts_in_a_folder_may_be_packed", "this build has no libarchive");
        return;
    }
    ck_assert_int_eq(system("gzip set/a/003.txt && xz set/a/005.txt && echo 'not packed' >set/a/019.gz"), 0);
    ck_done(read_entries(&seen, "set/a", &e), e);
    ck_assert_msg(strncmp(seen.names.text, "003.txt.gz 005.txt.xz 007.txt ", 30) == 0, "%s", seen.names.text);
    seen.skip = NULL; /* so that 019.gz is read, too */
    ck_assert(!read_entries(&seen, "set/a", &e));
    ck_assert_msg(strstr(e.text, "set/a/019.gz is named as gzip, but its first bytes are not") != NULL, "%s", e.text);
    ck_assert_int_eq(system("tar czf set/a/019.gz set/b"), 0);
    ck_assert(!read_entries(&seen, "set/a", &e));
    ck_assert_msg(strstr(e.text, "set/a/019.gz holds 101 files where one text is needed") != NULL, "%s", e.text);
    buffer_free(&seen.names);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Whatever their names say; and an end that is missing is noticed there, too. */
START_TEST(texts_in_an_archive_may_be_packed)
{
    static const char *const ways[] = {"tar cf packed set", "tar czf packed set",
                                       "zip -qr p.zip set && mv p.zip packed", "cp -r set packed"};
    Seen seen = {0};
    Error e;
    setup();
    if (!text_reads_archives()) {
        test_skip("texts_in_an_archive_may_be_packed", "this build has no libarchive");
        return;
    }
    ck_assert_int_eq(system("cd set/a && gzip 003.txt && xz 005.txt && bzip2 007.txt && gzip 009.txt && "
                            "mv 009.txt.gz 009.txt && xz 023.txt && mv 023.txt.xz 023.TXT.XZ && "
                            "tar czf 025.txt.tgz 025.txt && rm 025.txt"),
                     0);
    if (system(ways[_i])) {
        test_skip("texts_in_an_archive_may_be_packed", ways[_i]);
        return;
    }
    ck_done(read_entries(&seen, "packed", &e), e);
    ck_assert_uint_eq(seen.files, FILES + 1);
    ck_assert_int_eq(system("cd set/b && gzip c/000.txt && truncate -s -4 c/000.txt.gz && rm -r ../../packed"), 0);
    ck_assert_int_eq(system(ways[_i]), 0);
    ck_assert(!read_entries(&seen, "packed", &e));
    ck_assert_msg(strstr(e.text, "000.txt.gz") && strstr(e.text, "runcated"), "%s", e.text);
    ck_assert_int_eq(system("cd set/b && echo text >c/000.txt.gz && rm -r ../../packed"), 0);
    ck_assert_int_eq(system(ways[_i]), 0);
    ck_assert(!read_entries(&seen, "packed", &e));
    ck_assert_msg(strstr(e.text, "000.txt.gz") && strstr(e.text, "is named as gzip"), "%s", e.text);
    ck_assert_int_eq(system("tar czf x set/a && mv x set/b/c/000.txt.gz && rm -r packed"), 0);
    ck_assert_int_eq(system(ways[_i]), 0);
    ck_assert(!read_entries(&seen, "packed", &e));
    ck_assert_msg(strstr(e.text, "000.txt.gz") && strstr(e.text, "holds 101 files where one text is needed"), "%s",
                  e.text);
    buffer_free(&seen.names);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Nobody writes into it: reading would not end. */
START_TEST(a_pipe_in_a_folder_is_an_error)
{
    Seen seen = {0};
    Error e;
    setup();
    for (int i = 0; i < 2; i++) {
        char *path = path_join("set/a", i ? "pipe.gz" : "pipe");
        ck_assert_int_eq(mkfifo(path, 0600), 0);
        ck_assert(!read_entries(&seen, "set", &e));
        ck_assert_msg(strstr(e.text, path) && strstr(e.text, "it is not a regular file"), "%s", e.text);
        ck_assert_int_eq(unlink(path), 0);
        memory_free(path);
    }
    buffer_free(&seen.names);
}

/* Cut anywhere, an archive is an error; or, where but its end mark is missing, whole. */
START_TEST(half_an_archive_is_an_error)
{
    Seen seen = {0};
    if (!packed("half_an_archive_is_an_error", _i + 1))
        return;
    struct stat s;
    ck_assert_int_eq(stat("packed", &s), 0);
    int refused = 0, cuts = 60;
    for (int i = 0; i < cuts; i++) {
        Error e;
        off_t cut = (off_t)((double)s.st_size * (cuts - i) / cuts) - 1;
        if (_i == 0 && i % 2) /* a .tar, where a file ends */
            cut -= cut % 512;
        ck_assert_int_eq(truncate("packed", cut), 0);
        if (read_entries(&seen, "packed", &e))
            ck_assert_msg(seen.files == FILES + 1, "cut at %d of %d: %d files", (int)cut, (int)s.st_size,
                          (int)seen.files);
        else {
            refused++;
            ck_assert_msg(strstr(e.text, "packed") && !strchr(e.text, '\n'), "%s", e.text);
        }
    }
    ck_assert_int_ge(refused, cuts - (_i == 4 ? 35 : 12)); /* a .zip ends in a list of what is in it */
    buffer_free(&seen.names);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_single_text_is_one_file)
{
    Seen seen = {0};
    Error e;
    setup();
    ck_done(read_entries(&seen, "set/a/001.txt", &e), e);
    ck_assert_str_eq(seen.names.text, "001.txt ");
    if (text_reads_archives()) {
        ck_assert_int_eq(system("gzip -c set/a/001.txt >001.gz"), 0);
        ck_done(read_entries(&seen, "./001.gz", &e), e);
        ck_assert_str_eq(seen.names.text, "001.gz ");
    }
    ck_assert(!read_entries(&seen, "nothing", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "nothing"));
    buffer_free(&seen.names);
}

static bool count_it(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    (void)name, (void)bytes, (void)e;
    *(size_t *)context += size;
    return true;
}

static bool read_it(void *argument, Error *e)
{
    size_t bytes = 0;
    return entries_read(argument, &(Entries){NULL, count_it, &bytes}, e);
}

START_TEST(each_failed_allocation_is_an_error)
{
    char folder[] = "few", archive[] = "few.tar";
    setup();
    ck_assert_int_eq(system("mkdir -p few/a && cp set/a/00* few/a && gzip few/a/003.txt && tar cf few.tar few"), 0);
    if (text_reads_archives()) {
        fail_each_allocation(read_it, folder);
        fail_each_allocation(read_it, archive);
    }
}

static const Test tests[] = {TEST_LOOP(all_files_are_seen_whatever_packs_them, PACKERS),
                             TEST(a_folder_is_read_by_name),
                             TEST(a_run_in_a_folder_is_passed_over),
                             TEST_LOOP(gzip_of_nothing_is_an_empty_file, 3),
                             TEST(texts_in_a_folder_may_be_packed),
                             TEST_LOOP(texts_in_an_archive_may_be_packed, 4),
                             TEST(a_pipe_in_a_folder_is_an_error),
                             TEST_LOOP(half_an_archive_is_an_error, PACKERS - 1),
                             TEST(a_single_text_is_one_file),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("text/entries", tests, sizeof tests / sizeof *tests, argc, argv);
}
