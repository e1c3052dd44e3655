/* Published texts: packed by the usual tools, cut off, or holding more than one file. */
#define _XOPEN_SOURCE 700
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/text/archive.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 300000 };

static char folder[600], *text;

/* A text that packs somewhat, so that a packed file has a middle to be cut in. */
static void setup(void)
{
    Error e;
    snprintf(folder, sizeof folder, "%s", test_folder());
    ck_assert_int_eq(chdir(folder), 0);
    text = memory_get(SIZE + 1, 1);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 61 == 60 ? '\n' : (char)('a' + philox_below(20, 1, 2, i, 3));
    ck_done(file_write("text", text, SIZE, &e), e);
    ck_done(file_write("other", "second", 6, &e), e);
}

/* Runs a tool of the system; 0 when there is none. */
static bool tool(const char *test, const char *name, const char *command)
{
    char line[300];
    snprintf(line, sizeof line, "command -v %s > /dev/null", name);
    if (system(line)) {
        char why[100];
        snprintf(why, sizeof why, "there is no %s here", name);
        test_skip(test, why);
        return false;
    }
    ck_assert_msg(system(command) == 0, "%s", command);
    return true;
}

static void expect_text(const char *path)
{
    char *bytes;
    size_t size;
    Error e;
    ck_done(text_read(path, &bytes, &size, &e), e);
    ck_assert_uint_eq(size, SIZE);
    ck_assert_mem_eq(bytes, text, SIZE + 1);
    memory_free(bytes);
}

static void expect_refusal(const char *path, const char *words)
{
    char *bytes = NULL;
    size_t size;
    Error e;
    ck_assert_msg(!text_read(path, &bytes, &size, &e), "%s was taken", path);
    ck_assert_ptr_null(bytes);
    ck_assert_msg(strstr(e.text, words) != NULL, "'%s' does not say '%s'", e.text, words);
    ck_assert_msg(strstr(e.text, path) != NULL, "'%s' does not name the file", e.text);
}

static const struct {
    const char *tool, *command, *path, *name;
} packers[] = {
    {"gzip", "gzip -k text", "text.gz", "gzip"},
    {"bzip2", "bzip2 -k text", "text.bz2", "bzip2"},
    {"xz", "xz -k text", "text.xz", "xz"},
    {"zstd", "zstd -q text", "text.zst", "zstd"},
    {"zip", "zip -q text.zip text", "text.zip", "zip"},
    {"tar", "tar cf text.tar text", "text.tar", "tar"},
    {"tar", "tar czf text.tar.gz text", "text.tar.gz", "gzip"},
    {"xz", "mkdir d && cp text d/ && tar cJf d.tar.xz d", "d.tar.xz", "xz"},
};
enum { PACKERS = sizeof packers / sizeof *packers };

START_TEST(a_plain_file_is_itself)
{
    setup();
    expect_text("text");
    expect_refusal("missing", "No such file");
    char *bytes;
    size_t size;
    Error e;
    ck_done(text_read("other", &bytes, &size, &e), e);
    ck_assert_str_eq(bytes, "second");
    memory_free(bytes);
    ck_done(file_write("letters", "BZh is how a bzip2 begins", 25, &e), e); /* and a text may */
    ck_done(text_read("letters", &bytes, &size, &e), e);
    ck_assert_uint_eq(size, 25);
    memory_free(bytes);
    ck_done(text_read("/dev/null", &bytes, &size, &e), e);
    ck_assert_uint_eq(size, 0);
    memory_free(bytes);
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(packed_texts_are_unpacked)
{
    setup();
    if (!tool("packed_texts_are_unpacked", packers[_i].tool, packers[_i].command))
        return;
    if (text_reads_archives())
        expect_text(packers[_i].path);
    else {
        expect_refusal(packers[_i].path, packers[_i].name);
        expect_refusal(packers[_i].path, "make deps");
    }
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Whatever the place, either an error or, where only an end mark is missing, the whole text. */
START_TEST(a_packed_text_cut_off_is_never_half_a_text)
{
    setup();
    if (!text_reads_archives()) {
        test_skip("a_packed_text_cut_off_is_never_half_a_text", "this build has no libarchive");
        return;
    }
    if (!tool("a_packed_text_cut_off_is_never_half_a_text", packers[_i].tool, packers[_i].command))
        return;
    struct stat s;
    ck_assert_int_eq(stat(packers[_i].path, &s), 0);
    int refused = 0, cuts = 60;
    for (int i = 0; i < cuts; i++) {
        char *bytes;
        size_t size;
        Error e;
        off_t cut = 20 + (off_t)((double)(s.st_size - 20) * (cuts - i) / cuts) - 1;
        ck_assert_int_eq(truncate(packers[_i].path, cut), 0);
        if (text_read(packers[_i].path, &bytes, &size, &e)) {
            ck_assert_msg(size == SIZE && !memcmp(bytes, text, SIZE), "%s cut at %d of %d gave %d bytes",
                          packers[_i].path, (int)cut, (int)s.st_size, (int)size);
            memory_free(bytes);
        } else
            refused++;
    }
    ck_assert_int_ge(refused, cuts - 5);
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Of each byte one bit, so that the packed bytes, the checksum and the length all have their turn; and as several
 * members, whose ends nobody says. */
START_TEST(a_bit_that_was_turned_over_in_gzip_is_noticed)
{
    static const char *const made[] = {"gzip -k text && mv text.gz damaged", "tar czf damaged text",
                                       "for f in text other text; do gzip -nc $f; : | gzip -nc; done >damaged"};
    const size_t wanted = _i == 2 ? 2 * SIZE + 6 : SIZE;
    char *packed, *bytes;
    size_t size, unpacked;
    Error e;
    setup();
    if (!text_reads_archives()) {
        test_skip("a_bit_that_was_turned_over_in_gzip_is_noticed", "this build has no libarchive");
        return;
    }
    ck_assert_int_eq(system(made[_i]), 0);
    ck_done(text_read("damaged", &bytes, &unpacked, &e), e);
    ck_assert_uint_eq(unpacked, wanted);
    memory_free(bytes);
    ck_done(file_read("damaged", &packed, &size, &e), e);
    for (size_t i = 0; i < 60; i++) {
        size_t at = i < 8 ? size - 1 - i : 10 + 9 + (size - 40) * (i - 8) / 52;
        packed[at] ^= (char)(1 << i % 8);
        ck_done(file_write("damaged", packed, size, &e), e);
        if (text_read("damaged", &bytes, &unpacked, &e)) { /* of a header, what says nothing about the text */
            ck_assert_msg(unpacked == wanted && (_i == 2 || !memcmp(bytes, text, SIZE)), "bit %zu of byte %zu", i % 8,
                          at);
            memory_free(bytes);
            ck_assert_msg(i >= 8, "byte %zu of %zu", at, size);
        }
        packed[at] ^= (char)(1 << i % 8);
    }
    memory_free(packed);
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_fills_memory_is_no_text)
{
    setup();
    if (!text_reads_archives()) {
        test_skip("what_fills_memory_is_no_text", "this build has no libarchive");
        return;
    }
    ck_assert_int_eq(system("head -c 90000000 /dev/zero | tr '\\0' a | gzip -1 >bomb.gz && "
                            "for i in 1 2; do head -c 40000000 /dev/zero | tr '\\0' b | gzip -1; done >two.gz"),
                     0);
    expect_refusal("bomb.gz", "200 times its own size");
    expect_refusal("two.gz", "200 times its own size");
    ck_assert_int_eq(system("gzip -c bomb.gz >twice.gz && head -c 60000000 /dev/zero | tr '\\0' a | gzip -1 >some.gz"),
                     0);
    expect_refusal("twice.gz", "twice");
    char *bytes;
    size_t size;
    Error e;
    ck_done(text_read("some.gz", &bytes, &size, &e), e); /* some are no matter */
    ck_assert_uint_eq(size, 60000000);
    memory_free(bytes);
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(an_archive_of_several_files_is_refused_with_their_number)
{
    setup();
    if (!text_reads_archives()) {
        test_skip("an_archive_of_several_files_is_refused_with_their_number", "this build has no libarchive");
        return;
    }
    ck_assert_int_eq(system("cp other third && tar cf many.tar text other third && mkdir e && tar cf none.tar e"), 0);
    expect_refusal("many.tar", "3 files");
    expect_refusal("none.tar", "no file");
    ck_assert_int_eq(truncate("many.tar", 512 + (SIZE + 511) / 512 * 512 + 100), 0); /* in the header of the second */
    expect_refusal("many.tar", "runcated");
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(rubbish_after_the_first_bytes_of_an_archive_is_an_error)
{
    setup();
    if (!text_reads_archives()) {
        test_skip("rubbish_after_the_first_bytes_of_an_archive_is_an_error", "this build has no libarchive");
        return;
    }
    const char *const starts[] = {"PK\003\004rubbish rubbish rubbish rubbish", "\x1f\x8b\x08rubbish rubbish rubbish",
                                  "BZh91AY&SYrubbish rubbish rubbish", "\x28\xb5\x2f\xfdrubbish rubbish rubbish"};
    for (size_t i = 0; i < 4; i++) {
        Error e;
        ck_done(file_write("rubbish", starts[i], strlen(starts[i]), &e), e);
        expect_refusal("rubbish", "rubbish");
    }
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Bytes that were text before their first one was damaged would be learnt from as they are. */
START_TEST(what_is_named_as_packed_and_is_not_is_refused)
{
    static const char *const names[] = {"text.gz",  "text.tgz", "text.bz2", "text.xz",
                                        "text.zst", "text.zip", "text.tar", "TEXT.GZ"};
    setup();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Error e;
        ck_done(file_write(names[i], "\x1e\x8b\x08, once packed", 16, &e), e);
        expect_refusal(names[i], "is named as");
        ck_assert(!entries_read(names[i], &(Entries){0}, &e));
        ck_assert_msg(strstr(e.text, "is named as"), "%s", e.text);
    }
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* What libarchive has no words for, a file that ends before gzip's checksum does; and a tar that ends where its only
 * file does, which libarchive takes for all of it. */
START_TEST(an_end_that_is_missing_is_said_in_words)
{
    setup();
    if (!text_reads_archives()) {
        test_skip("an_end_that_is_missing_is_said_in_words", "this build has no libarchive");
        return;
    }
    ck_assert_int_eq(system("gzip -k text && truncate -s -4 text.gz && tar cf text.tar text"), 0);
    ck_assert_int_eq(truncate("text.tar", 512 + (SIZE + 511) / 512 * 512), 0);
    expect_refusal("text.gz", "runcated"); /* in capitals or not: libarchive's word */
    expect_refusal("text.tar", "runcated");
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_comes_through_a_pipe_is_unpacked_too)
{
    static const char *const ways[] = {"cat text", "gzip -c text", "xz -c text", "tar cf - text", "tar czf - text"};
    setup();
    if (!text_reads_archives()) {
        test_skip("what_comes_through_a_pipe_is_unpacked_too", "this build has no libarchive");
        return;
    }
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char line[100];
        snprintf(line, sizeof line, "%s >pipe &", ways[i]);
        ck_assert_int_eq(system(line), 0);
        expect_text("pipe");
    }
    ck_assert_int_eq(system("tar cf - text other >pipe &"), 0);
    expect_refusal("pipe", "2 files");
    ck_assert_int_eq(system("gzip -c text | head -c 1000 >pipe &"), 0);
    expect_refusal("pipe", "cannot unpack");
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_is_packed_in_an_archive_is_unpacked_too)
{
    setup();
    if (!text_reads_archives()) {
        test_skip("what_is_packed_in_an_archive_is_unpacked_too", "this build has no libarchive");
        return;
    }
    ck_assert_int_eq(system("gzip -c text >text.gz && tar cf one.tar text.gz && cp text.gz DATA.GZ"), 0);
    expect_text("one.tar");
    expect_text("DATA.GZ");
    ck_assert_int_eq(system("gzip -c one.tar >one.gz && tar cf two.tar one.gz"), 0);
    expect_refusal("two.tar", "packed several times");
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(gzip_of_nothing_is_an_empty_text)
{
    static const char *const ways[] = {": >e && gzip e", ": | gzip >e.gz", "for i in 1 2; do : | gzip -n; done >e.gz",
                                       "mkfifo e.gz && (: | gzip >e.gz &)", ": >e && gzip e && tar cf e.tar e.gz"};
    const char *path = _i == 4 ? "e.tar" : "e.gz";
    char *bytes;
    size_t size = 1;
    Error e;
    setup();
    memory_free(text);
    if (!text_reads_archives())
        return test_skip("gzip_of_nothing_is_an_empty_text", "this build has no libarchive");
    ck_assert_int_eq(system(ways[_i]), 0);
    ck_done(text_read(path, &bytes, &size, &e), e);
    ck_assert(size == 0 && bytes && !bytes[0]);
    memory_free(bytes);
    if (_i)
        return;
    for (int at = 10; at < 22; at++) { /* what is damaged is not nothing */
        char line[200];
        snprintf(line, sizeof line,
                 "cp e.gz bad.gz && printf '\\377' | dd of=bad.gz bs=1 seek=%d conv=notrunc status=none",
                 at < 12 ? at - 10 : at);
        ck_assert_int_eq(system(line), 0);
        expect_refusal("bad.gz", "bad.gz");
        snprintf(line, sizeof line, "head -c %d e.gz >cut.gz", at);
        ck_assert_int_eq(system(line), 0);
        expect_refusal("cut.gz", "runcated");
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(the_ending_of_a_packed_text_is_known_in_capitals)
{
    ck_assert_uint_eq(text_packed_ending("train.en.gz"), 3);
    ck_assert_uint_eq(text_packed_ending("TRAIN.CSV.BZ2"), 4);
    ck_assert_uint_eq(text_packed_ending("train.en"), 0);
    ck_assert_uint_eq(text_packed_ending(".gz"), 0);
}

static bool read_it(void *argument, Error *e)
{
    char *bytes;
    size_t size;
    if (!text_read(argument, &bytes, &size, e))
        return false;
    memory_free(bytes);
    return true;
}

START_TEST(each_failed_allocation_is_an_error)
{
    setup();
    char plain[] = "text", packed[] = "text.tar", gzip[] = "text.gz";
    fail_each_allocation(read_it, plain);
    ck_assert_int_eq(system("tar cf text.tar text && gzip -k text"), 0);
    if (text_reads_archives()) {
        fail_each_allocation(read_it, packed);
        fail_each_allocation(read_it, gzip);
    }
    memory_free(text);
}

static const Test tests[] = {
    TEST(a_plain_file_is_itself),
    TEST_LOOP(packed_texts_are_unpacked, PACKERS),
    TEST_LOOP(a_packed_text_cut_off_is_never_half_a_text, PACKERS),
    TEST_LOOP(a_bit_that_was_turned_over_in_gzip_is_noticed, 3),
    TEST(what_fills_memory_is_no_text),
    TEST(an_archive_of_several_files_is_refused_with_their_number),
    TEST(rubbish_after_the_first_bytes_of_an_archive_is_an_error),
    TEST(what_is_named_as_packed_and_is_not_is_refused),
    TEST(an_end_that_is_missing_is_said_in_words),
    TEST(what_comes_through_a_pipe_is_unpacked_too),
    TEST(what_is_packed_in_an_archive_is_unpacked_too),
    TEST_LOOP(gzip_of_nothing_is_an_empty_text, 5),
    TEST(the_ending_of_a_packed_text_is_known_in_capitals),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv) { return suite_run("text/archive", tests, sizeof tests / sizeof *tests, argc, argv); }
