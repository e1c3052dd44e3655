/* Pairs of sentences from tables: which columns they are, and which tables are refused. */
#include "tests/encdec/sources.h"

START_TEST(a_table_has_a_header_or_two_columns)
{
    folder_now = test_folder();
    static const char *const tables[] = {
        "a dog\tein Hund\nthe cat sleeps\tdie Katze schläft\tCC-BY\n\tnichts\nhello\thallo",
        "de\tid\ten\nein Hund\t1\ta dog\ndie Katze schläft\t2\tthe cat sleeps\n"
        "nichts\t3\t\nhallo\t4\thello\n",
        "en,de\r\na dog,ein Hund\r\nthe cat sleeps,\"die Katze schläft\"\r\n"
        ",nichts\r\n\"hello\",hallo\r\n"};
    put("pairs.tsv", tables[_i]);
    SourceOptions o = source_at("pairs.tsv");
    Sentences s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    sentences_close(&s);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Otherwise any two columns would be learned from, and the names of columns be a sentence. */
START_TEST(a_header_that_names_one_language_is_refused)
{
    folder_now = test_folder();
    static const char *const tables[] = {"id\tde\tfr\n1\tein Hund\tun chien\n", "en\tfr\r\na dog\tun chien\r\n"};
    static const char *const words[] = {"line 1 has a column de, but none named en",
                                        "line 1 has a column en, but none named de"};
    put("pairs.tsv", tables[_i]);
    SourceOptions o = source_at("pairs.tsv");
    Sentences s;
    Error e;
    ck_assert(!sentences_read(&s, &o, &e));
    ck_assert_msg(strstr(e.text, words[_i]), "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
    put("pairs.tsv", "a dog\tein Hund, de\n");
    s = opened(&o);
    sentences_close(&s);
}

/* Which of them are the pairs, only names can say. */
START_TEST(a_table_of_many_columns_needs_a_header)
{
    folder_now = test_folder();
    static const char *const tables[] = {"a dog\tein Hund\nthe cat\tdie Katze\nx\ty\tz\tby\n",
                                         "a dog\tein Hund\tby\nthe cat\t\tdie Katze\tby\n",
                                         "7\ta dog\t8\tein Hund\n7\tthe cat\t8\tdie Katze\n",
                                         "1.0834\ta dog\tein Hund\n-1.5e-3\tthe cat\tdie Katze\n+.5E2\tx\ty\n",
                                         "1\ta dog\tein Hund\n2\tthe cat\tdie Katze\n",
                                         "id\tenglish\tgerman\n1\ta dog\tein Hund\n2\tthe cat\tdie Katze\n",
                                         "a dog\t1\tein Hund\nthe cat\t2\tdie Katze"};
    static const char *const words[] = {"line 3 has 4 columns, line 1 has 2",
                                        "line 2 has 4 columns, line 1 has 3",
                                        "line 1 has 4 columns, but does not name them: add a first line with en and "
                                        "de over their columns",
                                        "column 1 holds nothing but numbers, and line 1 does not name the columns: "
                                        "add a first line with en and de over their columns",
                                        "column 1 holds nothing but numbers",
                                        "column 1 holds nothing but numbers",
                                        "column 2 holds nothing but numbers"};
    put("pairs.tsv", tables[_i]);
    SourceOptions o = source_at("pairs.tsv");
    refuse(&o, words[_i]);
    put("pairs.tsv", "1\teins\n2\tzwei\n"); /* numbers alone are sentences */
    Sentences s = opened(&o);
    expect_line(&s, SPLIT_TRAIN, SOURCE, 1, "2");
    sentences_close(&s);
    put("pairs.tsv", "1\teins\tby\ntwo\tzwei\tby\n");
    s = opened(&o);
    expect_line(&s, SPLIT_TRAIN, SOURCE, 0, "1");
    sentences_close(&s);
}

/* Editors and spreadsheets leave them. */
START_TEST(empty_columns_at_the_end_are_none)
{
    folder_now = test_folder();
    static const char *const tables[] = {"a dog\tein Hund\t\nthe cat sleeps\tdie Katze schläft\t\n\tnichts\t\n"
                                         "hello\thallo\t\t\t\n",
                                         "a dog\tein Hund\t\t\t\r\nthe cat sleeps\tdie Katze schläft\t\t\r\n"
                                         "\tnichts\r\nhello\thallo",
                                         "a dog\tein Hund\nthe cat sleeps\tdie Katze schläft\n\tnichts\t\t\n"
                                         "hello\thallo\t1"};
    put("pairs.tsv", tables[_i]);
    SourceOptions o = source_at("pairs.tsv");
    Sentences s = opened(&o);
    expect_four(&s, SPLIT_TRAIN);
    sentences_close(&s);
}

/* Its translation would be written as several lines. */
START_TEST(a_sentence_of_a_table_is_one_line)
{
    folder_now = test_folder();
    put("pairs.csv", "en,de\n\"a dog\nbarks\",ein Hund\n\"the\r\ncat\",die Katze\n");
    SourceOptions o = source_at("pairs.csv");
    Sentences s = opened(&o);
    expect_line(&s, SPLIT_TRAIN, SOURCE, 0, "a dog barks");
    expect_line(&s, SPLIT_TRAIN, SOURCE, 1, "the  cat");
    expect_line(&s, SPLIT_TRAIN, TARGET, 1, "die Katze");
    sentences_close(&s);
}

/* Quotes mean nothing where there is no header: sentences have them. */
START_TEST(plain_columns_may_have_quotes)
{
    folder_now = test_folder();
    put("pairs.txt", "\"hello\t\"hallo\n\tx\r\n");
    SourceOptions o = source_at("pairs.txt");
    Sentences s = opened(&o);
    expect_line(&s, SPLIT_TRAIN, SOURCE, 0, "\"hello");
    expect_line(&s, SPLIT_TRAIN, TARGET, 1, "x");
    sentences_close(&s);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_table_has_a_header_or_two_columns, 3),
                                 TEST_LOOP(a_header_that_names_one_language_is_refused, 2),
                                 TEST_LOOP(a_table_of_many_columns_needs_a_header, 7),
                                 TEST_LOOP(empty_columns_at_the_end_are_none, 3),
                                 TEST(a_sentence_of_a_table_is_one_line),
                                 TEST(plain_columns_may_have_quotes)};
    test_folders_in_memory();
    return suite_run("encdec/source_table", tests, sizeof tests / sizeof *tests, argc, argv);
}
