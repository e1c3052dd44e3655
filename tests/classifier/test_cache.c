/* Prepared texts that are kept: used when they are right, and only then. */
#define _XOPEN_SOURCE 700
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "tests/classifier/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A table that is long enough to have a cache: 140,000 words. */
static void make_table(const char *path, const char *first)
{
    Buffer b = {0};
    buffer_print(&b, "text,label,stars\n%s,neg,1\n", first);
    for (int i = 0; i < 1400; i++) {
        for (int k = 0; k < 100; k++)
            buffer_print(&b, "w%d ", (i * 7 + k * k) % 997);
        buffer_print(&b, ",%s,%d\n", i % 3 ? "pos" : "neg", i % 3);
    }
    ck_assert(!b.failed);
    source_write(path, b.text, b.size);
    buffer_free(&b);
}

static ReviewsOptions table(void) { return (ReviewsOptions){.path = "t.csv", .length = 50, .seed = 3}; }

/* Opens, asserts where it came from, and that it is what the source says. */
static void expect(const ReviewsOptions *o, CacheUse use)
{
    size_t before = memory_in_use();
    ReviewsOptions straight = *o;
    straight.no_cache = true;
    Reviews plain = source_open(&straight), r = source_open(o);
    ck_assert_int_eq(plain.cached, CACHE_NOT_USED);
    ck_assert_int_eq(r.cached, use);
    ck_assert_str_eq(r.sha256, plain.sha256);
    ck_assert((r.tokens.words.size == plain.tokens.words.size &&
               !memcmp(r.tokens.words.letters, plain.tokens.words.letters, r.tokens.words.size)));
    ck_assert_uint_eq(r.class_count, plain.class_count);
    for (size_t i = 0; i < r.class_count; i++)
        ck_assert_str_eq(r.classes[i], plain.classes[i]);
    for (int p = 0; p < SPLITS; p++) {
        const Texts *a = reviews_part(&r, (Split)p), *b = reviews_part(&plain, (Split)p);
        ck_assert_uint_eq(a->count, b->count);
        ck_assert_mem_eq(a->labels, b->labels, a->count * sizeof *a->labels);
        ck_assert_mem_eq(a->start, b->start, (a->count + 1) * sizeof *a->start);
        ck_assert_mem_eq(a->ids + a->start[0], b->ids + b->start[0],
                         (a->start[a->count] - a->start[0]) * sizeof *a->ids);
    }
    reviews_close(&plain);
    reviews_close(&r);
    ck_assert_uint_eq(memory_in_use(), before);
}

/* The only cache there is. */
static const char *the_cache(void)
{
    static char path[600];
    char **names;
    size_t count;
    Error e;
    ck_done(folder_list("cache/attend", &names, &count, &e), e);
    ck_assert_uint_eq(count, 1);
    ck_assert(strncmp(names[0], "reviews-", 8) == 0);
    snprintf(path, sizeof path, "cache/attend/%s", names[0]);
    folder_list_free(names, count);
    return path;
}

START_TEST(the_second_start_reads_what_the_first_prepared)
{
    sources_open();
    make_table("t.csv", "once");
    ReviewsOptions o = table();
    expect(&o, CACHE_WRITTEN);
    expect(&o, CACHE_READ);
    o.length = 0; /* these are no matter of a cache */
    o.seed = 4;
    o.final = true;
    o.vocabulary.size = 100;
    expect(&o, CACHE_READ);
    ck_assert(source_shell("mkdir sub && cp t.csv sub/u.csv")); /* nor is the name */
    o.path = "sub/u.csv";
    expect(&o, CACHE_READ);
    the_cache();
}

START_TEST(another_source_or_column_has_another)
{
    sources_open();
    make_table("t.csv", "once");
    ReviewsOptions o = table();
    expect(&o, CACHE_WRITTEN);
    o.label_column = "stars";
    expect(&o, CACHE_WRITTEN);
    o.label_column = NULL;
    make_table("t.csv", "twice");
    expect(&o, CACHE_WRITTEN);
    expect(&o, CACHE_READ);
}

/* To learn from without labels, t.csv is a table, and t.txt a text of which each line is one. */
START_TEST(without_labels_the_name_says_what_a_file_is)
{
    sources_open();
    make_table("t.txt", "once");
    ReviewsOptions o = {.path = "t.txt", .pretrain = true};
    expect(&o, CACHE_WRITTEN);
    ck_assert(source_shell("mv t.txt t.csv"));
    o.path = "t.csv";
    expect(&o, CACHE_WRITTEN);
    expect(&o, CACHE_READ);
}

START_TEST(a_folder_counts_by_its_place_and_what_is_said_of_its_files)
{
    sources_open();
    make_table("set/train.csv", "once");
    source_print("set/test.csv", "text,label\nw1,pos\n");
    ReviewsOptions o = {.path = "set"};
    expect(&o, CACHE_WRITTEN);
    expect(&o, CACHE_READ);
    source_print("set/test.csv", "text,label\nw1 w2,pos\n");
    expect(&o, CACHE_WRITTEN);
    ck_assert(source_shell("touch -t 200001010000 set/test.csv"));
    expect(&o, CACHE_WRITTEN);
    source_print("set/test.csv", "text,label\nw3 w4,pos\n"); /* as long, and as old */
    ck_assert(source_shell("touch -t 200001010000 set/test.csv"));
    expect(&o, CACHE_WRITTEN);
    ck_assert(source_shell("mkdir other && cp -p set/train.csv other && echo text,label >other/test.csv && "
                           "echo w5 w6,pos >>other/test.csv && touch -t 200001010000 other/test.csv"));
    o.path = "other";
    expect(&o, CACHE_WRITTEN);
    ck_assert(source_shell("mv set old && mv other set")); /* the same files in another place */
    o.path = "set";
    expect(&o, CACHE_WRITTEN);
    o.path = "./set/../set/"; /* by another name */
    expect(&o, CACHE_READ);
}

START_TEST(a_damaged_cache_is_made_anew)
{
    sources_open();
    make_table("t.csv", "once");
    ReviewsOptions o = table();
    expect(&o, CACHE_WRITTEN);
    char path[600], *bytes;
    size_t size;
    Error e;
    snprintf(path, sizeof path, "%s", the_cache());
    ck_done(file_read(path, &bytes, &size, &e), e);
    const size_t cuts[] = {0, 20, 151, size / 2, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        source_write(path, bytes, cuts[i]);
        expect(&o, CACHE_REPLACED);
    }
    for (size_t i = 0; i < 6; i++) { /* one bit somewhere */
        size_t at = i < 5 ? i * (size / 5) : size - 1;
        bytes[at] = (char)(bytes[at] ^ 4);
        source_write(path, bytes, size);
        expect(&o, CACHE_REPLACED);
        bytes[at] = (char)(bytes[at] ^ 4);
    }
    source_write(path, bytes, size);
    expect(&o, CACHE_READ);
    memory_free(bytes);
}

START_TEST(neither_links_nor_pipes_are_a_cache)
{
    sources_open();
    make_table("t.csv", "once");
    ReviewsOptions o = table();
    expect(&o, CACHE_WRITTEN);
    ck_assert(source_shell("echo mine >mine && ln -sf $PWD/mine cache/attend/reviews-*"));
    expect(&o, CACHE_REPLACED);
    ck_assert(source_shell("[ \"$(cat mine)\" = mine ]"));
    expect(&o, CACHE_READ);
    ck_assert(source_shell("f=$(ls cache/attend/*) && rm $f && mkfifo $f"));
    expect(&o, CACHE_REPLACED);
    expect(&o, CACHE_READ);
}

START_TEST(a_runs_classes_are_found_in_a_cache_too)
{
    static const char *const classes[] = {"pos", "other", "neg"}, *const few[] = {"pos", "other"};
    sources_open();
    make_table("t.csv", "once");
    ReviewsOptions o = table();
    o.classes = classes;
    o.class_count = 3;
    expect(&o, CACHE_NOT_USED); /* one that is made with them would serve no other options */
    o.classes = NULL;
    expect(&o, CACHE_WRITTEN);
    o.classes = classes;
    expect(&o, CACHE_READ);
    o.classes = few;
    o.class_count = 2;
    source_refused(&o, "t.csv, line 2: the label 'neg' is not a known class; the known ones are: pos, other");
}

START_TEST(without_a_place_for_it_there_is_none)
{
    sources_open();
    make_table("t.csv", "once");
    ReviewsOptions o = table();
    source_print("cache", "a file where the folder should be");
    expect(&o, CACHE_NOT_WRITTEN);
    setenv("XDG_CACHE_HOME", "", 1);
    unsetenv("HOME");
    expect(&o, CACHE_NOT_USED);
    char home[600];
    snprintf(home, sizeof home, "%s/home", getcwd((char[500]){0}, 500));
    setenv("HOME", home, 1);
    expect(&o, CACHE_WRITTEN);
    ck_assert(folder_exists("home/.cache/attend"));
    o.no_cache = true;
    expect(&o, CACHE_NOT_USED);
}

START_TEST(short_texts_and_pipes_have_none)
{
    sources_open();
    source_print("t.csv", "text,label\ngood,pos\nbad,neg\n");
    ReviewsOptions o = table();
    expect(&o, CACHE_NOT_USED);
    o.path = NULL;
    expect(&o, CACHE_NOT_USED);
    ck_assert(!folder_exists("cache"));
    ck_assert(source_shell("mkfifo pipe.csv && cat t.csv >pipe.csv &"));
    ck_assert(source_shell("n=0; until [ -p pipe.csv ]; do sleep 0.01; n=$((n+1)); [ $n -lt 1000 ] || exit 1; done"));
    o.path = "pipe.csv";
    Reviews r = source_open(&o);
    ck_assert_uint_eq(r.corpus.count, 2);
    reviews_close(&r);
}

static const Test tests[] = {TEST(the_second_start_reads_what_the_first_prepared),
                             TEST(another_source_or_column_has_another),
                             TEST(a_folder_counts_by_its_place_and_what_is_said_of_its_files),
                             TEST(without_labels_the_name_says_what_a_file_is),
                             TEST(a_damaged_cache_is_made_anew),
                             TEST(neither_links_nor_pipes_are_a_cache),
                             TEST(a_runs_classes_are_found_in_a_cache_too),
                             TEST(without_a_place_for_it_there_is_none),
                             TEST(short_texts_and_pipes_have_none)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("classifier/cache", tests, sizeof tests / sizeof *tests, argc, argv);
}
