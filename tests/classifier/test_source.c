/* Where labelled texts may come from, and what is refused. */
#define _XOPEN_SOURCE 700
#include "base/memory.h"
#include "core/text/archive.h"
#include "tests/classifier/sources.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EACH = 10 }; /* reviews of a class in a part */

/* A small one as the Large Movie Review Dataset is published. */
static void make_imdb(void)
{
    static const char *const parts[] = {"train", "test"}, *const classes[] = {"pos", "neg"};
    for (int i = 0; i < 4 * EACH; i++) {
        char path[100];
        snprintf(path, sizeof path, "aclImdb/%s/%s/%d_%d.txt", parts[i % 2], classes[i / 2 % 2], i, i % 10);
        source_print(path, "%s number%d of %s!", i / 2 % 2 ? "Bad" : "Good", i, parts[i % 2]);
    }
    source_print("aclImdb/train/unsup/0_0.txt", "nobody knows");
    source_print("aclImdb/train/urls_pos.txt", "http://nowhere\n");
    source_print("aclImdb/train/labeledBow.feat", "9 0:9\n");
    source_print("aclImdb/README", "read me");
    source_print("aclImdb/imdb.vocab", "the\nand\n");
}

static void expect_imdb(const Reviews *r)
{
    ck_assert_uint_eq(r->class_count, 2);
    ck_assert_str_eq(r->classes[0], "neg");
    ck_assert_str_eq(r->classes[1], "pos");
    const Texts *train = reviews_part(r, SPLIT_TRAIN), *test = reviews_part(r, SPLIT_TEST);
    ck_assert(train->count == 2 * EACH && test->count == 2 * EACH);
    ck_assert_uint_eq(reviews_part(r, SPLIT_VALID)->count, 0);
    for (size_t i = 0; i < test->count; i++) {
        ck_assert_int_eq(test->labels[i], i >= EACH);
        ck_assert_int_eq(train->labels[i], i >= EACH);
    }
    ck_assert_str_eq(text_of(r, SPLIT_TRAIN, 0), "bad number10 of train ! "); /* 10_0 comes before 2_2 */
    ck_assert_str_eq(text_of(r, SPLIT_TRAIN, EACH), "good number0 of train ! ");
    ck_assert_int_eq(vocabulary_find(&r->tokens.words, "nobody", 6), UNKNOWN);
    ck_assert_int_eq(vocabulary_find(&r->tokens.words, "me", 2), UNKNOWN);
}

static const char *const packers[] = {"tar czf packed aclImdb",
                                      "tar cf packed ./aclImdb",
                                      "zip -qr p.zip aclImdb && mv p.zip packed",
                                      "cp -r aclImdb packed",
                                      "cd aclImdb && tar czf ../packed train test",
                                      "tar czf packed aclImdb/test aclImdb/train/pos aclImdb/train/neg"};

START_TEST(the_review_dataset_is_the_same_whatever_packs_it)
{
    sources_open();
    make_imdb();
    ReviewsOptions o = {.path = "aclImdb", .final = true};
    Reviews first = source_open(&o);
    expect_imdb(&first);
    o.path = "packed";
    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++) {
        if (!text_reads_archives() && strncmp(packers[i], "cp", 2)) {
            test_skip("the_review_dataset_is_the_same_whatever_packs_it", "this build has no libarchive");
            continue;
        }
        if (!source_shell("rm -rf packed; %s", packers[i])) {
            test_skip("the_review_dataset_is_the_same_whatever_packs_it", packers[i]);
            continue;
        }
        Reviews r = source_open(&o);
        expect_imdb(&r);
        ck_assert_str_eq(r.sha256, first.sha256);
        ck_assert_mem_eq(r.ids, first.ids, first.corpus.start[first.corpus.count] * sizeof *r.ids);
        ck_assert((r.tokens.words.size == first.tokens.words.size &&
                   !memcmp(r.tokens.words.letters, first.tokens.words.letters, r.tokens.words.size)));
        reviews_close(&r);
    }
    source_print("aclImdb/test/neg/3_3.txt", "Bad number4 of test!"); /* it was number3 */
    o.path = "aclImdb";
    Reviews changed = source_open(&o);
    ck_assert_str_ne(changed.sha256, first.sha256);
    ck_assert_uint_eq(changed.corpus.count, first.corpus.count);
    reviews_close(&changed);
    source_print("aclImdb/test/pos/0_9.txt", "another");
    o.path = "aclImdb";
    Reviews r = source_open(&o);
    ck_assert_str_ne(r.sha256, first.sha256);
    reviews_close(&r);
    reviews_close(&first);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(half_an_archive_is_refused)
{
    sources_open();
    if (!text_reads_archives()) {
        test_skip("half_an_archive_is_refused", "this build has no libarchive");
        return;
    }
    make_imdb();
    static const char *const lines[] = {"tar czf packed aclImdb", "tar cf packed aclImdb"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct stat s;
        ck_assert(source_shell("rm -f packed; %s", lines[i]));
        ck_assert_int_eq(stat("packed", &s), 0);
        ck_assert_int_eq(truncate("packed", s.st_size * 2 / 3 / 512 * 512), 0);
        source_refused(&(ReviewsOptions){.path = "packed"}, "cannot unpack packed: ");
    }
}

START_TEST(a_folder_for_each_class_may_have_any_number_of_them)
{
    sources_open();
    for (int i = 0; i < 50; i++) {
        char path[100];
        snprintf(path, sizeof path, "news/class%d/a%03d", i % 5, i);
        source_print(path, "text of class%d", i % 5);
    }
    source_print("news/notes.txt", "no text");
    source_print("news/class1/.hidden", "no text");
    Reviews r = source_open(&(ReviewsOptions){.path = "news/", .final = true});
    ck_assert_uint_eq(r.class_count, 5);
    const Texts *t = reviews_part(&r, SPLIT_TRAIN);
    ck_assert_uint_eq(t->count, 50);
    for (size_t i = 0; i < 50; i++) {
        char text[100];
        snprintf(text, sizeof text, "text of %s ", r.classes[i / 10]);
        ck_assert_int_eq(t->labels[i], (int)i / 10);
        ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, i), text);
    }
    Error e;
    ck_assert(!reviews_suits(&r, SPLIT_TEST, &e) && strstr(e.text, "test.csv") && reviews_suits(&r, SPLIT_TRAIN, &e));
    reviews_close(&r);
}

START_TEST(tables_are_read_by_the_names_of_their_columns)
{
    sources_open();
    source_print("one.csv", "id,text,label\n1,\"Good, <br />really\",positive\n2,,negative\n3,bad,negative\n");
    source_print("two.tsv", "stars\treview\n5\tGood, <br />really\n1\t\n1\tbad\n");
    Reviews one = source_open(&(ReviewsOptions){.path = "one.csv", .final = true});
    ck_assert_str_eq(one.classes[0], "negative");
    ck_assert_str_eq(text_of(&one, SPLIT_TRAIN, 0), "good , really ");
    ck_assert_str_eq(text_of(&one, SPLIT_TRAIN, 1), "<unk> ");
    ck_assert_str_eq(text_of(&one, SPLIT_TRAIN, 2), "bad ");
    const int32_t labels[] = {1, 0, 0};
    ck_assert_mem_eq(reviews_part(&one, SPLIT_TRAIN)->labels, labels, sizeof labels);
    ReviewsOptions o = {.path = "two.tsv", .text_column = "review", .label_column = "stars", .final = true};
    Reviews two = source_open(&o);
    ck_assert_str_eq(two.classes[1], "5");
    ck_assert_mem_eq(reviews_part(&two, SPLIT_TRAIN)->labels, labels, sizeof labels);
    reviews_close(&two);
    if (text_reads_archives() && source_shell("gzip -k two.tsv && command -v zip >/dev/null && zip -q t.zip two.tsv")) {
        o.path = "two.tsv.gz";
        reviews_close((two = source_open(&o), &two));
        o.path = "t.zip";
        reviews_close((two = source_open(&o), &two));
    }
    reviews_close(&one);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(packed_tables_are_tables_wherever_they_are)
{
    static const char *const ways[] = {"mv set it", "tar cf it set", "tar czf it -C set ."};
    sources_open();
    if (!text_reads_archives())
        return test_skip("packed_tables_are_tables_wherever_they_are", "this build has no libarchive");
    source_print("set/TRAIN.CSV", "text,label\ngood,1\nbad,0\n");
    source_print("set/test.csv", "text,label\nworse,0\nbetter,1\nbest,1\n");
    ck_assert(
        source_shell("cd set && gzip TRAIN.CSV test.csv && mv TRAIN.CSV.gz TRAIN.CSV.GZ && cd .. && %s", ways[_i]));
    Reviews r = source_open(&(ReviewsOptions){.path = "it", .final = true});
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->count, 2);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TEST)->count, 3);
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 0), "good ");
    reviews_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
    source_print("both/train.csv", "text,label\ngood,1\nbad,0\n");
    ck_assert(source_shell("gzip -k both/train.csv"));
    source_refused(&(ReviewsOptions){.path = "both"}, "holds both train.csv and train.csv.gz: remove one");
}

START_TEST(a_folder_may_hold_a_table_to_train_and_one_to_test)
{
    sources_open();
    source_print("set/train.csv", "text,label\ngood,1\nbad,0\n");
    source_print("set/test.csv", "text,label\nworse,0\nbetter,1\nbest,1\n");
    source_print("set/readme", "no table");
    Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true});
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->count, 2);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TEST)->count, 3);
    ck_assert_str_eq(text_of(&r, SPLIT_TEST, 0), "<unk> "); /* met in no training text */
    ck_assert_int_eq(reviews_part(&r, SPLIT_TEST)->labels[2], 1);
    reviews_close(&r);
    r = source_open(&(ReviewsOptions){.path = "set/test.csv", .final = true}); /* alone it is what is trained on */
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->count, 3);
    reviews_close(&r);
}

START_TEST(texts_without_labels_are_no_class_wherever_they_are)
{
    sources_open();
    source_print("set/neg/1", "bad");
    source_print("set/pos/1", "good");
    source_print("set/unsup/1", "secret");
    ReviewsOptions o = {.path = "set", .final = true};
    Reviews r = source_open(&o);
    ck_assert(r.class_count == 2 && r.corpus.count == 2);
    reviews_close(&r);
    o.pretrain = true;
    r = source_open(&o);
    ck_assert(r.class_count == 2 && r.corpus.count == 3 && r.corpus.unlabelled == 1);
    reviews_close(&r);
}

/* Of each part a text of each class; in folders, or in a table for each part. */
static void make_parts(const char *train, const char *test)
{
    const char *const names[] = {train, test};
    ck_assert(source_shell("rm -rf set"));
    for (size_t i = 0; i < 2; i++) {
        const bool table = strchr(names[i], '.') && strstr(names[i], "sv");
        char path[100];
        for (int k = 0; k < 2 && !table; k++) {
            snprintf(path, sizeof path, "set/%s/%s/1", names[i], k ? "pos" : "neg");
            source_print(path, "%s in %zu", k ? "good" : "bad", i);
        }
        snprintf(path, sizeof path, "set/%s", names[i]);
        if (table)
            source_print(path, "text,label\nbad in %zu,neg\ngood in %zu,pos\n", i, i);
    }
}

START_TEST(parts_are_known_by_how_their_names_end)
{
    static const char *const names[][2] = {{"Train", "Test"},           {"TRAIN", "test"},
                                           {"x-train", "x-test"},       {"x_train", "y_Test"},
                                           {"x.train", "x.test"},       {"train.csv", "Test.csv"},
                                           {"train.csv", "x_test.tsv"}, {"a.train.csv", "a.test.csv"},
                                           {"x-Train.csv", "TEST.csv"}};
    sources_open();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        make_parts(names[i][0], names[i][1]);
        Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true});
        ck_assert_msg(reviews_part(&r, SPLIT_TRAIN)->count == 2 && reviews_part(&r, SPLIT_TEST)->count == 2, "%s, %s",
                      names[i][0], names[i][1]);
        ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 1), "good in 0 ");
        reviews_close(&r);
    }
    ck_assert(source_shell("rm -rf set"));
    source_print("set/bullet_train/1", "fast"); /* no part, but a class */
    source_print("set/unit-test/1", "green");
    Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true});
    ck_assert(r.class_count == 2 && reviews_part(&r, SPLIT_TRAIN)->count == 2);
    reviews_close(&r);
}

/* They would be trained on, or left out, and nobody would notice. */
START_TEST(texts_that_others_have_set_aside_are_refused)
{
    static const char *const names[] = {"valid", "Validation", "x-val", "dev"};
    sources_open();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[60], words[100];
        make_parts("train", "test");
        snprintf(path, sizeof path, "set/%s/pos/2", names[i]);
        source_print(path, "so");
        snprintf(words, sizeof words, "set: %s/pos/2 is of a validation part", names[i]);
        source_refused(&(ReviewsOptions){.path = "set"}, words);
        make_parts("train.csv", "test.csv");
        snprintf(path, sizeof path, "set/%s.csv", names[i]);
        source_print(path, "text,label\nso,pos\n");
        snprintf(words, sizeof words, "set: %s.csv is of a validation part", names[i]);
        source_refused(&(ReviewsOptions){.path = "set"}, words);
    }
    make_parts("train.csv", "test.csv");
    source_print("set/more.csv", "text,label\nso,pos\n");
    source_refused(&(ReviewsOptions){.path = "set"},
                   "set holds several tables, and more.csv is called neither train nor test");
    source_refused(&(ReviewsOptions){.path = "set", .pretrain = true}, "more.csv is called neither");
    ck_assert(source_shell("rm set/test.csv && mv set/train.csv set/x_test.csv"));
    source_refused(&(ReviewsOptions){.path = "set"}, "more.csv is called neither");
    ck_assert(source_shell("rm -r set"));
    source_print("set/dev/1", "so"); /* a class */
    source_print("set/ops/1", "lo");
    Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true});
    ck_assert_uint_eq(r.class_count, 2);
    reviews_close(&r);
}

static void expect_counts(const char *path, size_t train, size_t test)
{
    Reviews r = source_open(&(ReviewsOptions){.path = path, .final = true});
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->count, train);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TEST)->count, test);
    reviews_close(&r);
}

/* The names would have the texts set aside, and nothing would be left to train on. */
START_TEST(a_name_that_ends_like_a_part_counts_where_there_are_both)
{
    static const char *const tops[] = {"my-test", "my_Test", "my.test", "a-train"};
    sources_open();
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
        make_parts(tops[i], tops[i]);
        expect_counts("set", 2, 0);
    }
    make_parts("x_test.csv", "x_test.csv");
    expect_counts("set", 2, 0);
    make_parts("test", "test");
    source_refused(&(ReviewsOptions){.path = "set"}, "set has test texts, but no training texts");
    make_parts("train", "my-test");
    expect_counts("set", 2, 2);
    source_print("more/my-test/1", "secret");
    ReviewsOptions o = {.path = "set", .unlabelled = "more", .pretrain = true, .final = true};
    Reviews r = source_open(&o);
    ck_assert_int_ne(vocabulary_find(&r.tokens.words, "secret", 6), UNKNOWN);
    reviews_close(&r);
    source_print("more/train/1", "known");
    r = source_open(&o);
    ck_assert_int_eq(vocabulary_find(&r.tokens.words, "secret", 6), UNKNOWN);
    ck_assert_int_ne(vocabulary_find(&r.tokens.words, "known", 5), UNKNOWN);
    reviews_close(&r);
}

START_TEST(a_part_may_have_several_tables)
{
    static const char *const names[][3] = {
        {"train-00000-of-00002.csv", "train-00001-of-00002.csv", "test-00000-of-00001.csv"},
        {"train-1.csv", "train-2.csv", "test.csv"},
        {"train.csv", "train_2.csv", "x-test-1.csv"},
        {"train1.tsv", "x_train.2.csv", "Test1.csv"}};
    sources_open();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert(source_shell("rm -rf set"));
        for (size_t k = 0; k < 3; k++) {
            char path[100];
            snprintf(path, sizeof path, "set/%s", names[i][k]);
            source_print(path, "text,label\nbad,neg\ngood,pos\n");
        }
        expect_counts("set", 4, 2);
    }
    source_print("set/validation-00000-of-00001.csv", "text,label\nbad,neg\n");
    source_refused(&(ReviewsOptions){.path = "set"}, "validation-00000-of-00001.csv is of a validation part");
    ck_assert(source_shell("rm -rf set"));
    source_print("set/en.csv", "text,label\nbad,neg\ngood,pos\n"); /* nothing is said of parts */
    source_print("set/de.csv", "text,label\nschlecht,neg\ngut,pos\n");
    expect_counts("set", 4, 0);
}

START_TEST(tables_beside_the_parts_are_not_read)
{
    sources_open();
    make_parts("train", "test");
    source_print("set/meta1.csv", "x,y\n");
    source_print("set/meta2.csv", "x,y\n");
    expect_counts("set", 2, 2);
}

/* A table of texts without labels, beside others. */
START_TEST(a_test_table_is_not_pretrained_on)
{
    sources_open();
    source_print("set/train.csv", "text\ngood\n");
    source_print("set/test.csv", "text\nsecret\n");
    ReviewsOptions o = {.path = "set", .pretrain = true, .final = true};
    Reviews r = source_open(&o);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->count, 1);
    reviews_close(&r);
    o.path = NULL;
    o.unlabelled = "set";
    r = source_open(&o);
    ck_assert_int_eq(vocabulary_find(&r.tokens.words, "secret", 6), UNKNOWN);
    reviews_close(&r);
}

START_TEST(what_cannot_be_learnt_from_is_refused_in_one_line)
{
    static const struct {
        const char *path, *text, *words;
    } faults[] = {
        {"a.csv", "review,sentiment\ngood,pos\n",
         "a.csv has no column 'text'; its columns are: review, sentiment. If another column holds the texts, name it "
         "with "
         "--text-column"},
        {"a.csv", "text,sentiment\ngood,pos\n",
         "a.csv has no column 'label'; its columns are: text, sentiment. If another column holds the labels, name it "
         "with "
         "--label-column"},
        {"a.csv", "text,label\ngood,pos\n\"bad,neg\n", "a.csv, line 3: a quote is opened"},
        {"a.csv", "text,label\ngood,pos\nfine,pos\n", "all training texts are of one class, 'pos'"},
        {"a.csv", "text,label\ngood,pos\nbad,\n", "a.csv, line 3: the label '' is empty"},
        {"a.csv", "text,label\ngood,\"po\ns\"\nbad,neg\n", "the label 'po?s' holds a control character"},
        {"a.csv", "text,label\tx\ngood,pos\tx\nbad,neg\033[1m\tx\n", "a.csv has no column 'text'"},
        {"a.csv", "text,label\ngood,neg\nbad,neg\033[1m\n", "the label 'neg?[1m' holds a control character"},
        {"a.csv", "text,label\ngood,po\ts\nbad,neg\n", "the label 'po?s' holds a control character"},
        {"a.csv", "text,label\n,pos\n\" \",neg\n", "no training text has a word in it"},
        {"set/a\nb/a.txt", "alone", "the label 'a?b' holds a control character"},
        {"set/a\xc2\x9b/a.txt", "alone",
         "the label 'a?"
         "?' holds a control character"},
        {"a.csv", "text,label\n", "a.csv holds no labelled texts"},
        {"a.csv", "", "a.csv is empty"},
        {"set/notes/a.txt", "alone", "all training texts are of one class, 'notes'"},
        {"set/test/pos/a.txt", "alone", "set has test texts, but no training texts"},
        {"set/readme", "alone", "set holds no labelled texts"},
    };
    sources_open();
    source_refused(&(ReviewsOptions){.path = "nowhere"}, "nowhere: No such file");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        ck_assert(source_shell("rm -rf set a.csv"));
        source_print(faults[i].path, "%s", faults[i].text);
        source_refused(&(ReviewsOptions){.path = faults[i].path[0] == 'a' ? "a.csv" : "set"}, faults[i].words);
    }
}

START_TEST(a_label_that_training_does_not_know_is_refused_with_its_place)
{
    sources_open();
    source_print("set/train.csv", "text,label\ngood,pos\nbad,neg\n");
    source_print("set/test.csv", "text,label\n\"so\nso\",neg\nso,neutral\n");
    source_refused(&(ReviewsOptions){.path = "set"},
                   "test.csv, line 4: the label 'neutral' is not a known class; the known ones are: neg, pos");
    ck_assert(source_shell("rm -r set"));
    source_print("set/train/neg/a", "bad");
    source_print("set/train/pos/b", "good");
    source_print("set/test/neutral/c", "so");
    source_refused(&(ReviewsOptions){.path = "set"}, "test/neutral/c: the label 'neutral' is not a known class");
    static const char *const classes[] = {"neg", "neutral", "pos"};
    Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true, .classes = classes, .class_count = 3});
    ck_assert_int_eq(reviews_part(&r, SPLIT_TEST)->labels[0], 1);
    ck_assert_int_eq(reviews_part(&r, SPLIT_TRAIN)->labels[1], 2);
    reviews_close(&r);
    ck_assert(source_shell("rm -r set/train"));
    r = source_open(&(ReviewsOptions){.path = "set", .classes = classes, .class_count = 3}); /* only to be scored */
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TEST)->count, 1);
    reviews_close(&r);
}

START_TEST(labels_that_are_texts_are_noticed)
{
    sources_open();
    ck_assert(source_shell("{ echo text,label; i=0; while [ $i -lt 1100 ]; do echo a,b$i; i=$((i+1)); done; } >a.csv"));
    source_refused(&(ReviewsOptions){.path = "a.csv"}, "line 1002: the label 'b1000' is one of more than 1000");
}

START_TEST(a_class_may_be_called_as_an_unknown_word_is)
{
    sources_open();
    source_print("a.csv", "text,label\ngood,pos\nodd,<unk>\n");
    Reviews r = source_open(&(ReviewsOptions){.path = "a.csv", .final = true});
    ck_assert(r.class_count == 2 && !strcmp(r.classes[0], "<unk>"));
    reviews_close(&r);
}

START_TEST(bytes_that_are_no_text_are_replaced)
{
    sources_open();
    source_write("set/a/1", "good\xFF\xC3(film", 11);
    source_write("set/b/2", "\x80\x81", 2);
    source_write("set/b/3", "", 0);
    Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true});
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 0), "good \xEF\xBF\xBD\xEF\xBF\xBD ( film ");
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 2), "<unk> ");
    reviews_close(&r);
}

START_TEST(files_that_are_no_texts_are_refused_by_name)
{
    static const struct {
        const char *path, *bytes, *words;
        size_t size;
    } files[] = {{"set/a/Thumbs.db", "go\0od", "set: a/Thumbs.db has zero bytes in it, so it is no text", 5},
                 {"set/a/x", "\xFF\xFEg\0o\0", "set: a/x is in UTF-16: convert it to UTF-8", 6},
                 {"set/a/y", "\xFE\xFF\0g\0o", "set: a/y is in UTF-16", 6},
                 {"set/train.csv", "\xFF\xFEt\0,\0", "set: train.csv is in UTF-16", 6},
                 {"set/train/a/z", "\0", "set: train/a/z has zero bytes", 1},
                 {"set/unsup/z", "\0", "set: unsup/z has zero bytes", 1}};
    sources_open();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ck_assert(source_shell("rm -rf set"));
        source_print("set/a/1", "good");
        source_print("set/b/1", "bad");
        source_write(files[i].path, files[i].bytes, files[i].size);
        source_refused(&(ReviewsOptions){.path = "set", .pretrain = i == 5}, files[i].words);
    }
    source_write("u16.csv", "\xFF\xFEt\0,\0", 6);
    source_refused(&(ReviewsOptions){.path = "u16.csv"}, "u16.csv is in UTF-16: convert it to UTF-8");
    Reviews none;
    Error e;
    ck_assert(!reviews_open(&none, &(ReviewsOptions){.path = "u16.csv"}, &e) && !strstr(e.text, "u16.csv: "));
    source_write("a.csv", "text,label\ngo\0od,pos\nbad,neg\n", 29);
    Reviews r = source_open(&(ReviewsOptions){.path = "a.csv", .final = true});
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 0), "go od ");
    reviews_close(&r);
}

static bool open_it(void *argument, Error *e)
{
    Reviews r;
    if (!reviews_open(&r, &(ReviewsOptions){.path = argument, .length = 3, .no_cache = true}, e))
        return false;
    reviews_close(&r);
    return true;
}

START_TEST(each_failed_allocation_is_an_error)
{
    char folder[] = "set", table[] = "a.csv";
    sources_open();
    source_print("a.csv", "text,label\ngood,pos\nbad,neg\n");
    for (int i = 0; i < 6; i++) {
        char path[60];
        snprintf(path, sizeof path, "set/train/%s/%d", i % 2 ? "a" : "b", i);
        source_print(path, "some words of text %d", i);
    }
    fail_each_allocation(open_it, folder);
    fail_each_allocation(open_it, table);
}

static const Test tests[] = {TEST(the_review_dataset_is_the_same_whatever_packs_it),
                             TEST(half_an_archive_is_refused),
                             TEST(a_folder_for_each_class_may_have_any_number_of_them),
                             TEST(tables_are_read_by_the_names_of_their_columns),
                             TEST_LOOP(packed_tables_are_tables_wherever_they_are, 3),
                             TEST(a_folder_may_hold_a_table_to_train_and_one_to_test),
                             TEST(texts_without_labels_are_no_class_wherever_they_are),
                             TEST(parts_are_known_by_how_their_names_end),
                             TEST(texts_that_others_have_set_aside_are_refused),
                             TEST(a_name_that_ends_like_a_part_counts_where_there_are_both),
                             TEST(a_part_may_have_several_tables),
                             TEST(tables_beside_the_parts_are_not_read),
                             TEST(a_test_table_is_not_pretrained_on),
                             TEST(what_cannot_be_learnt_from_is_refused_in_one_line),
                             TEST(a_label_that_training_does_not_know_is_refused_with_its_place),
                             TEST(labels_that_are_texts_are_noticed),
                             TEST(a_class_may_be_called_as_an_unknown_word_is),
                             TEST(bytes_that_are_no_text_are_replaced),
                             TEST(files_that_are_no_texts_are_refused_by_name),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("classifier/source", tests, sizeof tests / sizeof *tests, argc, argv);
}
