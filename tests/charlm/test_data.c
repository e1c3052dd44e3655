/* What charlm reads: a text's parts. */
#define _XOPEN_SOURCE 700 /* truncate, pwrite */
#include "base/file.h"
#include "base/memory.h"
#include "charlm/charlm.h"
#include "core/text/archive.h"
#include "tests/command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of zeros but for the first bytes of the three parts that it should have. */
static void make_text(const char *path, size_t size, size_t valid, size_t test)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(ftruncate(file, (off_t)size), 0);
    ck_assert(pwrite(file, "A", 1, 0) == 1 && pwrite(file, "V", 1, (off_t)valid) == 1);
    ck_assert_int_eq(pwrite(file, "T", 1, (off_t)test), 1);
    close(file);
}

static void add_noise(const char *path)
{
    static uint32_t noise[1 << 20];
    uint32_t state = 1;
    int file = open(path, O_WRONLY);
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        noise[i] = state = state * 1664525 + 1013904223;
    ck_assert(pwrite(file, noise, sizeof noise, 1000) == sizeof noise);
    close(file);
}

static void expect_parts(const char *path, size_t train, size_t valid, size_t test)
{
    static const Split splits[] = {SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST};
    const size_t sizes[] = {train, valid, test};
    Text t;
    Error e;
    ck_done(text_open(&t, path, &e), e);
    for (size_t i = 0; i < 3; i++) {
        Part part = text_part(&t, splits[i]);
        ck_assert_uint_eq(part.size, sizes[i]);
        ck_assert_int_eq(part.bytes[0], "AVT"[i]);
    }
    text_close(&t);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(enwik8_is_split_90_5_5_million)
{
    char path[700];
    snprintf(path, sizeof path, "%s", fresh_path("enwik8"));
    make_text(path, 100000000, 90000000, 95000000);
    expect_parts(path, 90000000, 5000000, 5000000);
}

START_TEST(it_is_read_from_the_zip_it_is_published_as)
{
    char path[700], line[2200];
    if (!text_reads_archives()) {
        test_skip("it_is_read_from_the_zip_it_is_published_as", "this build has no libarchive");
        return;
    }
    if (system("command -v zip >/dev/null")) {
        test_skip("it_is_read_from_the_zip_it_is_published_as", "there is no zip here");
        return;
    }
    snprintf(path, sizeof path, "%s", fresh_path("enwik8"));
    make_text(path, 100000000, 90000000, 95000000);
    add_noise(path); /* or it is smaller packed than any text can be, and refused as a bomb */
    snprintf(line, sizeof line, "zip -q -1 -j %s.zip %s && rm %s", path, path, path);
    ck_assert_int_eq(system(line), 0);
    strcat(path, ".zip");
    expect_parts(path, 90000000, 5000000, 5000000);
}

START_TEST(any_other_length_is_split_90_5_5_in_a_hundred)
{
    static const size_t sizes[] = {99999999, 1000, 1019, 20};
    char path[700];
    snprintf(path, sizeof path, "%s", fresh_path("text"));
    for (size_t i = 0; i < 4; i++) {
        size_t part = sizes[i] / 20;
        make_text(path, sizes[i], sizes[i] - 2 * part, sizes[i] - part);
        expect_parts(path, sizes[i] - 2 * part, part, part);
    }
}

/* Several files are one text, by name, with an empty line between two; what is empty or hidden is none. */
START_TEST(files_of_a_folder_are_documents)
{
    const char *folder = fresh_path("texts");
    char inner[700];
    Text t;
    Error e;
    snprintf(inner, sizeof inner, "%s/b", folder);
    ck_done(folder_make(inner, &e), e);
    write_in(folder, "c", "ccc", 3);
    write_in(folder, "a", "a\0a", 3);
    write_in(folder, "b/d", "d", 1);
    write_in(folder, "b/empty", "", 0);
    write_in(folder, ".hidden", "hidden", 6);
    ck_done(text_open(&t, folder, &e), e);
    ck_assert_uint_eq(t.size, 11);
    ck_assert(memcmp(t.bytes, "a\0a\n\nd\n\nccc", 11) == 0);
    ck_assert(t.documents == 3 && t.document[0] == 0 && t.document[1] == 5 && t.document[2] == 8);
    text_close(&t);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static size_t separators(const Part *p, const Tokenizer *k)
{
    size_t count = 0;
    for (size_t i = 0; i < p->size; i++)
        count += part_id(p, i) == k->separator;
    return count;
}

/* Each document begins with the separator, in the part in which it begins; it stands for no byte. */
START_TEST(tokens_have_a_separator_before_each_document)
{
    static const Split splits[] = {SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST, SPLIT_ALL};
    static const size_t starts[] = {18, 1, 1, 20}; /* 20 documents of 8 bytes and an empty line: 198 bytes, 9 a part */
    const char *folder = fresh_path("texts");
    const TokenizerOptions options = {.kind = TOKEN_BPE, .merges = 5};
    Text t;
    Tokenizer k;
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (int i = 0; i < 20; i++) {
        char name[8], text[16];
        snprintf(name, sizeof name, "%02d", i);
        snprintf(text, sizeof text, "abab ba%c", 'a' + i);
        write_in(folder, name, text, 8);
    }
    ck_done(text_open(&t, folder, &e), e);
    ck_done(tokenizer_learn(&k, &options, (const char *)t.bytes, t.size, &e), e);
    size_t bytes = 0;
    for (size_t i = 0; i < 4; i++) {
        ck_done(text_tokenize(&t, splits[i], &k, &e), e);
        const Part p = text_part(&t, splits[i]);
        ck_assert_uint_eq(separators(&p, &k), starts[i]);
        bytes += i < 3 ? part_bytes(&p, &k, 0, p.size) : 0;
        if (i == 3)
            ck_assert_uint_eq(part_bytes(&p, &k, 0, p.size), 20 * 8);
    }
    ck_assert_uint_eq(bytes, 20 * 8);
    const Part all = text_part(&t, SPLIT_ALL);
    ck_assert_int_eq(part_id(&all, 0), k.separator);
    tokenizer_close(&k);
    text_close(&t);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static const Test tests[] = {TEST(files_of_a_folder_are_documents), TEST(tokens_have_a_separator_before_each_document),
                             TEST(enwik8_is_split_90_5_5_million), TEST(it_is_read_from_the_zip_it_is_published_as),
                             TEST(any_other_length_is_split_90_5_5_in_a_hundred)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/data", tests, sizeof tests / sizeof *tests, argc, argv);
}
