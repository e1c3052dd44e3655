/* Where pairs of sentences come from: folders, archives, prefixes, tables, files by name; and what is refused. */
#define _XOPEN_SOURCE 700
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "core/text/archive.h"
#include "encdec/source.h"
#include "tests/encdec/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool shell(const char *words)
{
    char line[2000];
    snprintf(line, sizeof line, "cd '%s' && %s", folder_now, words);
    return system(line) == 0;
}

/* --- lines --- */

START_TEST(a_byte_order_mark_is_no_part_of_a_sentence)
{
    static const char *const tables[] = {"\357\273\277en\tde\na dog\tein Hund\n", "\357\273\277"
                                                                                  "a dog\tein Hund\n"};
    folder_now = test_folder();
    put("pairs/train.en", "\357\273\277"
                          "a dog\nthe cat\n");
    put("pairs/train.de", "\357\273\277"
                          "ein Hund\ndie Katze\n");
    put("pairs/val.en", "\357\273\277\nx\n");
    put("pairs/val.de", "y\n\357\273\277z\n");
    for (int i = 0; i < 3; i++) {
        put("pairs.tsv", tables[i % 2]);
        SourceOptions o = source_at(i == 2 ? "pairs" : "pairs.tsv");
        Sentences s = opened(&o);
        Line first = lines_at(&s.side[SPLIT_TRAIN][SOURCE], 0);
        ck_assert_msg(first.size == 5 && !memcmp(first.text, "a dog", 5), "%d: '%.*s'", i, (int)first.size, first.text);
        if (i == 2) {
            ck_assert(line_is_empty(lines_at(&s.side[SPLIT_VALID][SOURCE], 0)));
            ck_assert_uint_eq(lines_at(&s.side[SPLIT_VALID][TARGET], 1).size, 4); /* inside a text it may stay */
        }
        sentences_close(&s);
    }
}

START_TEST(lines_end_in_lf_or_crlf_and_the_last_may_not)
{
    static const struct {
        const char *text;
        size_t size, count;
        const char *lines[3];
    } cases[] = {{"", 0, 0, {NULL}},         {"\n", 1, 1, {""}},
                 {"a", 1, 1, {"a"}},         {"a\r\nb\r\n", 6, 2, {"a", "b"}},
                 {"\r\n\r", 3, 2, {"", ""}}, {"a\n\nb", 4, 3, {"a", "", "b"}},
                 {"a\rb\n", 4, 1, {"a\rb"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Lines l;
        Error e;
        char *text = memory_get(cases[i].size + 1, 1);
        memcpy(text, cases[i].text, cases[i].size);
        ck_done(lines_of_text(&l, "a", text, cases[i].size, &e), e);
        ck_assert_uint_eq(l.count, cases[i].count);
        for (size_t k = 0; k < l.count; k++) {
            Line line = lines_at(&l, k);
            ck_assert_msg(line.size == strlen(cases[i].lines[k]) && !memcmp(line.text, cases[i].lines[k], line.size),
                          "case %zu, line %zu", i, k);
        }
        lines_close(&l);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(words_stand_between_white_space)
{
    static const char text[] = " a\t b\0c\v\f\rd\302\240e  "; /* a no-break space parts no words */
    const Line line = {text, sizeof text - 1};
    static const char *const words[] = {"a", "b", "c", "d\302\240e"};
    size_t at_byte = 0, i = 0;
    for (Line word; line_word(line, &at_byte, &word); i++)
        ck_assert(i < 4 && word.size == strlen(words[i]) && !memcmp(word.text, words[i], word.size));
    ck_assert_uint_eq(i, 4);
    ck_assert_uint_eq(line_words(line), 4);
    ck_assert(line_is_empty((Line){" \t\r", 3}) && line_is_empty((Line){"", 0}) && !line_is_empty(line));
}

/* --- places --- */

START_TEST(a_folder_has_parts_by_name)
{
    folder_now = test_folder();
    put("set/train.en", english);
    put("set/train.de", german);
    put("set/val.en", "one\ntwo");
    put("set/val.de", "eins\nzwei");
    put("set/test_2017.en", "other");
    put("set/test_2017.de", "andere");
    put("set/test_2016.en", "x");
    put("set/test_2016.de", "y");
    put("set/train.fr", "trop court");
    put("set/notes.en", "no part");
    SourceOptions o = source_at("set");
    Sentences s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    expect_line(&s, SPLIT_VALID, TARGET, 1, "zwei");
    expect_line(&s, SPLIT_TEST, SOURCE, 0, "x"); /* the first by name */
    ck_assert(!s.held_out);
    sentences_close(&s);
    o.language[0] = "de", o.language[1] = "en"; /* the other way round */
    s = opened(&o);
    expect_line(&s, SPLIT_TRAIN, SOURCE, 0, "ein Hund");
    sentences_close(&s);
    o.test = false;
    s = opened(&o);
    ck_assert_uint_eq(s.side[SPLIT_TEST][SOURCE].count, 0);
    sentences_close(&s);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A folder beside them may hold an older version of them, or other files. */
START_TEST(of_several_files_that_in_the_fewest_folders_is_taken)
{
    folder_now = test_folder();
    put("set/train.en", english);
    put("set/train.de", german);
    put("set/old/train.en", "x"); /* read before the chosen ones */
    put("set/old/train.de", "y");
    put("set/version_1/train.en", "x"); /* and after them */
    put("set/version_1/train.de", "y");
    put("set/a/b/test.en", "deep");
    put("set/a/b/test.de", "tief");
    put("set/z/test.en", "shallow");
    put("set/z/test.de", "flach");
    put("set/z/test_2.en", "second");
    put("set/z/test_2.de", "zweite");
    SourceOptions o = source_at("set");
    Sentences s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    expect_line(&s, SPLIT_TEST, SOURCE, 0, "shallow");
    sentences_close(&s);
    if (text_reads_archives()) {
        ck_assert(shell("tar cf it.tar -C set old version_1 a z ./train.en ./train.de"));
        o = source_at("it.tar");
        s = opened(&o);
        expect_four(&s, SPLIT_TRAIN);
        sentences_close(&s);
    }
}

START_TEST(several_training_parts_in_as_many_folders_are_refused_unless_they_are_named)
{
    folder_now = test_folder();
    static const char *const names[] = {"a/train.en", "a/train.de", "b/train.en", "b/train.de"};
    for (size_t i = 0; i < 4; i++) {
        char name[40];
        snprintf(name, sizeof name, "set/%s", names[i]);
        put(name, i % 2 ? german : english);
    }
    SourceOptions o = source_at("set");
    refuse(&o, "holds a/train.en and b/train.en: say which one is meant with --train-source and --train-target");
    put("set/a/train.en.gz", "");
    refuse(&o, "holds a/train.en and b/train.en: say which one is meant");
    o.file[SPLIT_TRAIN][SOURCE] = at("set/b/train.en");
    refuse(&o, "say which one");
    o.file[SPLIT_TRAIN][TARGET] = at("set/b/train.de");
    Sentences s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    sentences_close(&s);
}

START_TEST(of_several_validation_parts_the_first_by_name_is_taken)
{
    folder_now = test_folder();
    put("set/train.en", english);
    put("set/train.de", german);
    put("set/valid.en", "a\nb");
    put("set/valid.de", "c\nd");
    put("set/dev.en", "one\n");
    put("set/dev.de", "eins\n");
    SourceOptions o = source_at("set");
    Sentences s = opened(&o);
    expect_line(&s, SPLIT_VALID, TARGET, 0, "eins");
    sentences_close(&s);
}

/* As gunzip -k leaves them. */
START_TEST(of_a_file_packed_and_unpacked_the_unpacked_one_is_taken)
{
    static const char *const ways[] = {"mv set it", "tar cf it -C set train.en.gz train.en train.de train.de.gz",
                                       "tar cf it -C set train.en train.en.gz train.de.gz train.de"};
    folder_now = test_folder();
    if (!text_reads_archives())
        return test_skip("of_a_file_packed_and_unpacked_the_unpacked_one_is_taken", "no libarchive");
    put("set/train.en", "old");
    put("set/train.de", "alt");
    ck_assert(shell("gzip -k set/train.en set/train.de"));
    put("set/train.en", english);
    put("set/train.de", german);
    ck_assert(shell(ways[_i]));
    SourceOptions o = source_at("it");
    Sentences s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    sentences_close(&s);
}

START_TEST(however_they_are_packed_they_are_the_same)
{
    folder_now = test_folder();
    static const char *const ways[] = {"gzip -k set/train.en set/val.de && rm set/train.en set/val.de && mv set it",
                                       "tar czf it set",
                                       "tar cf it -C set .",
                                       "sed -i 's/$/\\r/' set/train.en && mv set it",
                                       "gzip set/train.en && mv set/train.en.gz set/train.en.GZ && mv set it",
                                       "gzip set/train.en && xz set/val.de && tar cf it set"};
    char sum[65];
    if (!text_reads_archives())
        return test_skip("however_they_are_packed_they_are_the_same", "no libarchive");
    put("set/train.en", english);
    put("set/train.de", german);
    put("set/val.en", "one\ntwo");
    put("set/val.de", "eins\nzwei");
    SourceOptions o = source_at("set");
    Sentences s = opened(&o);
    memcpy(sum, s.sha256, sizeof sum);
    sentences_close(&s);
    ck_assert(shell(ways[_i]));
    o = source_at("it");
    s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    expect_line(&s, SPLIT_VALID, TARGET, 0, "eins");
    ck_assert(_i == 3 || !strcmp(sum, s.sha256)); /* other ends of lines are other bytes */
    sentences_close(&s);
}

START_TEST(a_prefix_is_a_training_part)
{
    folder_now = test_folder();
    put("corpus.de-en.en", english);
    put("corpus.de-en.de", german);
    SourceOptions o = source_at("corpus.de-en");
    Sentences s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    ck_assert(s.held_out && s.side[SPLIT_VALID][SOURCE].count == 0); /* four are too few */
    sentences_close(&s);
}

START_TEST(files_by_name_come_before_others)
{
    folder_now = test_folder();
    put("set/train.en", "x\ny");
    put("set/train.de", "u\nv");
    put("e", english);
    put("g", german);
    SourceOptions o = source_at("set");
    o.file[SPLIT_VALID][SOURCE] = at("e");
    o.file[SPLIT_VALID][TARGET] = at("g");
    Sentences s = opened(&o);
    expect_line(&s, SPLIT_TRAIN, SOURCE, 1, "y");
    expect_four(&s, SPLIT_VALID);
    sentences_close(&s);
    o = (SourceOptions){.language = {"en", "de"}, .file = {{at("e"), at("g")}, {at("e"), at("g")}, {at("e"), at("g")}}};
    o.test = true;
    s = opened(&o);
    for (size_t part = 0; part < SPLITS; part++)
        expect_four(&s, (Split)part);
    sentences_close(&s);
}

/* --- what is held out --- */

static void write_many(size_t count)
{
    Buffer e = {0}, g = {0};
    for (size_t i = 0; i < count; i++) {
        buffer_print(&e, "word %zu\n", i);
        buffer_print(&g, "Wort %zu\n", i);
    }
    put("many.en", e.text);
    put("many.de", g.text);
    buffer_free(&e);
    buffer_free(&g);
}

START_TEST(one_pair_in_twenty_is_held_out)
{
    folder_now = test_folder();
    static const size_t counts[][2] = {{19, 0}, {20, 1}, {100, 5}, {30000, 1000}};
    write_many(counts[_i][0]);
    SourceOptions o = source_at("many");
    Sentences s = opened(&o), again = opened(&o);
    size_t train = s.side[SPLIT_TRAIN][SOURCE].count, valid = s.side[SPLIT_VALID][SOURCE].count, moved = 0;
    ck_assert(valid == counts[_i][1] && train + valid == counts[_i][0]);
    bool *seen = memory_get(counts[_i][0], sizeof *seen);
    for (size_t part = 0; part < SPLIT_TEST; part++)
        for (size_t i = 0; i < s.side[part][SOURCE].count; i++) {
            Line source = lines_at(&s.side[part][SOURCE], i), target = lines_at(&s.side[part][TARGET], i);
            size_t number = strtoul(source.text + 5, NULL, 10);
            ck_assert_uint_eq(number, strtoul(target.text + 5, NULL, 10)); /* pairs stay together */
            ck_assert(!seen[number]);
            seen[number] = true;
            moved += part == SPLIT_VALID && number >= valid;
        }
    ck_assert(valid < 5 || moved); /* not just the first ones */
    const Lines *first = &s.side[SPLIT_VALID][SOURCE], *second = &again.side[SPLIT_VALID][SOURCE];
    ck_assert(!valid || !memcmp(first->text, second->text, first->start[valid])); /* the seed says which */
    memory_free(seen);
    sentences_close(&s);
    sentences_close(&again);
}

START_TEST(another_seed_holds_out_others)
{
    folder_now = test_folder();
    write_many(400);
    SourceOptions o = source_at("many");
    Sentences s = opened(&o);
    o.seed = 2;
    Sentences other = opened(&o);
    const Lines *a = &s.side[SPLIT_VALID][SOURCE], *b = &other.side[SPLIT_VALID][SOURCE];
    ck_assert(a->start[20] != b->start[20] || memcmp(a->text, b->text, a->start[20]));
    ck_assert_str_eq(s.sha256, other.sha256); /* the data are the same */
    sentences_close(&s);
    sentences_close(&other);
}

/* --- what is refused --- */

START_TEST(unequal_counts_are_refused_with_the_line_where_one_ends)
{
    folder_now = test_folder();
    put("set/train.en", english);
    put("set/train.de", "eins\nzwei\ndrei");
    SourceOptions o = source_at("set");
    refuse(&o, "the train side (de) of");
    refuse(&o, "ends after line 3, but the train side (en) of");
    refuse(&o, "has 4 lines");
    put("set/train.de", german);
    put("v.en", "one\ntwo\n");
    put("v.de", "");
    o.file[SPLIT_VALID][SOURCE] = at("v.en");
    o.file[SPLIT_VALID][TARGET] = at("v.de");
    refuse(&o, "v.de ends after line 0, but");
}

START_TEST(what_is_no_source_is_refused)
{
    folder_now = test_folder();
    SourceOptions o = source_at("nowhere");
    refuse(&o, "is neither a folder nor a file, and there is no");
    put("nowhere.en", "x");
    refuse(&o, "nowhere.de");
    put("empty/notes", "x");
    o = source_at("empty");
    refuse(&o, "holds no train.en and train.de");
    put("half/train.en", "x");
    o = source_at("half");
    refuse(&o, "holds train.en, but not its counterpart, a file of the same name that ends in .de");
    put("half/train.de", "y");
    put("half/val.en", "x");
    put("half/dev.de", "x");
    refuse(&o, "holds val.en and dev.de, whose names differ; give the files with --valid-source");
    put("two/cs-en/train.en", "x"); /* which no German belongs to */
    put("two/de-en/train.en", "x");
    put("two/de-en/train.de", "y");
    o = source_at("two");
    refuse(&o,
           "holds cs-en/train.en and de-en/train.en: say which one is meant with --train-source and --train-target");
    put("pairs.tsv", "one\teins\ntwo\n");
    o = source_at("pairs.tsv");
    refuse(&o, "pairs.tsv, line 2 has no tab");
    put("pairs.csv", "en\tde\none\teins\ntwo\n");
    o = source_at("pairs.csv");
    refuse(&o, "pairs.csv, line 3");
    o = source_at(NULL);
    o.language[1] = "fr";
    refuse(&o, "the built-in sentences are in en and de, not in en and fr");
    o.file[SPLIT_TRAIN][SOURCE] = at("nowhere.en");
    refuse(&o, "--train-source is given, but not --train-target");
    o.file[SPLIT_TRAIN][TARGET] = at("never");
    refuse(&o, "never");
}

/* Each line would be read as other characters, a zero byte before or after each. */
START_TEST(utf_16_is_refused_by_name)
{
    folder_now = test_folder();
    put("set/train.en", english);
    put("set/train.de", "\xFF\xFE"
                        "e");
    SourceOptions o = source_at("set");
    refuse(&o, "train.de is in UTF-16: convert it to UTF-8");
    put("pairs.tsv", "\xFE\xFF"
                     "e\td\n");
    o = source_at("pairs.tsv");
    refuse(&o, "pairs.tsv is in UTF-16: convert it to UTF-8");
    if (text_reads_archives()) {
        ck_assert(shell("tar cf it.tar set"));
        o = source_at("it.tar");
        refuse(&o, "set/train.de is in UTF-16");
    }
    put("trees.mrg", "\xFF\xFE(");
    o = source_at("trees.mrg");
    o.treebank = true;
    refuse(&o, "trees.mrg is in UTF-16");
}

START_TEST(where_trees_are_the_option_is_named)
{
    folder_now = test_folder();
    put("w.mrg", "\n (S (NN dog))\n");
    put("bank/w.mrg", "(S (NN dog))\n");
    SourceOptions o = source_at("w.mrg");
    refuse(&o, "line 1 has no tab, and begins like a tree: a treebank is read with --trees");
    o = source_at("bank");
    refuse(&o, "holds files of trees (.mrg): they are read with --trees");
    if (text_reads_archives()) {
        ck_assert(shell("tar cf bank.tar bank"));
        o = source_at("bank.tar");
        refuse(&o, "holds files of trees (.mrg): they are read with --trees");
    }
}

START_TEST(one_language_for_both_sides_is_refused_but_where_files_are_named)
{
    folder_now = test_folder();
    put("set/train.en", english);
    put("set/train.de", german);
    put("pairs.tsv", "en\tde\na dog\tein Hund\n");
    static const char *const places[] = {"set", "pairs.tsv", NULL};
    static const char *const words[] = {"--source and --target are both de", "--source and --target are both de",
                                        "the built-in sentences are in en and de, not in de and de"};
    SourceOptions o;
    for (size_t i = 0; i < 3; i++) {
        o = source_at(places[i]);
        o.language[SOURCE] = o.language[TARGET] = "de";
        refuse(&o, words[i]);
    }
    o.file[SPLIT_TRAIN][SOURCE] = at("set/train.en");
    refuse(&o, "--train-source is given, but not --train-target");
    o.file[SPLIT_TRAIN][TARGET] = at("set/train.de");
    Sentences s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    sentences_close(&s);
    o.path = at("set");
    s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    sentences_close(&s);
    put("set/valid.de", german); /* which would be its own translation */
    refuse(&o, "--source and --target are both de");
}

START_TEST(half_a_file_is_refused)
{
    folder_now = test_folder();
    if (!text_reads_archives())
        return test_skip("half_a_file_is_refused", "no libarchive");
    write_many(2000);
    ck_assert(shell("gzip many.en && head -c 2000 many.en.gz > x && mv x many.en.gz"));
    SourceOptions o = source_at("many");
    refuse(&o, "many.en.gz");
}

/* --- the built-in sentences --- */

START_TEST(built_in_sentences_are_english_and_german_in_either_order)
{
    SourceOptions o = source_at(NULL);
    Sentences s = opened(&o);
    o.language[0] = "de", o.language[1] = "en";
    Sentences back = opened(&o);
    for (size_t part = 0; part < SPLITS; part++) {
        const Lines *there = s.side[part], *here = back.side[part];
        ck_assert(there[SOURCE].count > 100 && there[SOURCE].count == there[TARGET].count);
        ck_assert(!memcmp(there[SOURCE].text, here[TARGET].text, here[TARGET].start[here[TARGET].count]));
        ck_assert(!memcmp(there[TARGET].text, here[SOURCE].text, here[SOURCE].start[here[SOURCE].count]));
    }
    expect_line(&s, SPLIT_TRAIN, SOURCE, 0, "the dogs see the girl .");
    expect_line(&s, SPLIT_TRAIN, TARGET, 0, "die Hunde sehen das Mädchen .");
    sentences_close(&s);
    sentences_close(&back);
}

/* What agrees with a noun's gender, number and case, and where verbs stand. */
START_TEST(built_in_german_agrees_and_ends_clauses_in_verbs)
{
    static const char *const wrong[] = {"der Frau",  "die Hund ",  "das Baum ",   " einen Kind",
                                        "den Katze", "ein große ", "der kleiner", "einige kleinen"};
    static const char *const right[] = {"einen kleinen Hund", "ein kleines Kind", "den alten Mann",   "das alte Haus",
                                        "einige neue Bilder", "die neuen Bilder", "ein junger Lehrer"};
    static const char *const endings[] = {" will ", " wollen "};
    SourceOptions o = source_at(NULL);
    Sentences s = opened(&o);
    const Lines *german_lines = &s.side[SPLIT_TRAIN][TARGET];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!strstr(german_lines->text, wrong[i]), "'%s' is there", wrong[i]);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        ck_assert_msg(strstr(german_lines->text, right[i]), "'%s' is not there", right[i]);
    size_t modals = 0;
    for (size_t i = 0; i < german_lines->count; i++) {
        Line line = lines_at(german_lines, i);
        char text[400];
        snprintf(text, sizeof text, "%.*s", (int)line.size, line.text);
        const char *clause = strstr(text, ", dass ");
        for (size_t k = 0; clause && k < 2; k++)
            if (strstr(clause, endings[k])) {
                const char *last = text + strlen(text) - strlen(endings[k]) - 1;
                ck_assert_msg(!strncmp(last, endings[k], strlen(endings[k])), "'%s'", text);
                modals++;
            }
    }
    ck_assert_uint_gt(modals, 50);
    sentences_close(&s);
}

static bool open_once(void *argument, Error *e)
{
    Sentences s;
    bool done = sentences_read(&s, argument, e);
    if (done)
        sentences_close(&s);
    return done;
}

START_TEST(without_memory_nothing_is_read)
{
    folder_now = test_folder();
    put("set/train.en", english);
    put("set/train.de", german);
    put("pairs.tsv", "one\teins\ntwo\tzwei\n");
    SourceOptions o = source_at(_i == 0 ? "set" : "pairs.tsv");
    fail_each_allocation(open_once, &o);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_byte_order_mark_is_no_part_of_a_sentence),
                                 TEST(lines_end_in_lf_or_crlf_and_the_last_may_not),
                                 TEST(words_stand_between_white_space),
                                 TEST(a_folder_has_parts_by_name),
                                 TEST(of_several_files_that_in_the_fewest_folders_is_taken),
                                 TEST(several_training_parts_in_as_many_folders_are_refused_unless_they_are_named),
                                 TEST(of_several_validation_parts_the_first_by_name_is_taken),
                                 TEST_LOOP(of_a_file_packed_and_unpacked_the_unpacked_one_is_taken, 3),
                                 TEST_LOOP(however_they_are_packed_they_are_the_same, 6),
                                 TEST(a_prefix_is_a_training_part),
                                 TEST(files_by_name_come_before_others),
                                 TEST_LOOP(one_pair_in_twenty_is_held_out, 4),
                                 TEST(another_seed_holds_out_others),
                                 TEST(unequal_counts_are_refused_with_the_line_where_one_ends),
                                 TEST(what_is_no_source_is_refused),
                                 TEST(utf_16_is_refused_by_name),
                                 TEST(where_trees_are_the_option_is_named),
                                 TEST(one_language_for_both_sides_is_refused_but_where_files_are_named),
                                 TEST(half_a_file_is_refused),
                                 TEST(built_in_sentences_are_english_and_german_in_either_order),
                                 TEST(built_in_german_agrees_and_ends_clauses_in_verbs),
                                 TEST_LOOP(without_memory_nothing_is_read, 2)};
    test_folders_in_memory();
    return suite_run("encdec/source", tests, sizeof tests / sizeof *tests, argc, argv);
}
