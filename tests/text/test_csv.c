/* Tables as they are exported by whatever exports tables. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/text/csv.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static const char *const columns[] = {"text", "label"};

/* All rows as "line[text|label]"; or what is wrong. */
static const char *rows(const char *table)
{
    static char all[2000];
    char text[1000];
    size_t size = strlen(table);
    Csv c;
    Error e;
    memcpy(text, table, size);
    all[0] = 0;
    bool row = true, done = csv_open(&c, "some.csv", text, size, columns, 2, &e);
    while (done && row) {
        CsvField fields[2];
        done = csv_next(&c, fields, &row, &e);
        if (done && row)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%zu[%.*s|%.*s]", c.line, (int)fields[0].size,
                     fields[0].text, (int)fields[1].size, fields[1].text);
    }
    if (!done)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
    return all;
}

static const struct {
    const char *table, *rows;
} tables[] = {
    {"text,label\na good film,pos\na bad one,neg\n", "2[a good film|pos]3[a bad one|neg]"},
    {"label,id,text\npos,1,good\nneg,2,bad", "2[good|pos]3[bad|neg]"},
    {"text\tlabel\na, b\tpos\n", "2[a, b|pos]"},
    {"text,label\r\ngood,pos\r\n\r\nbad,neg\r\n", "2[good|pos]4[bad|neg]"},
    {"\xef\xbb\xbftext,label\ngood,pos\n", "2[good|pos]"},
    {"\"text\",\"label\"\n\"a, \"\"b\"\"\",\"pos\"\n", "2[a, \"b\"|pos]"},
    {"text,label\n\"one\ntwo\r\nthree\",pos\nnext,neg\n", "2[one\ntwo\r\nthree|pos]5[next|neg]"},
    {"text,label\n\"\",pos\n,neg\n\"\"\"\",x\n", "2[|pos]3[|neg]4[\"|x]"},
    {"text,label\na \"b\" c,pos\n", "2[a \"b\" c|pos]"},
    {"text,label\ngood,\"pos\"", "2[good|pos]"},
    {"text,label\ngood,", "2[good|]"},
    {"text,label\n", ""},
    {"text,label", ""},
    {"\n\ntext,label\ngood,pos\n", "4[good|pos]"},
    {"text,label\n\"good\"\r\n,pos\n", "some.csv, line 2: it has 1 field where the header has 2"},
    {"", "some.csv is empty: a table starts with the names of its columns"},
    {"review,sentiment,id\ngood,pos,1\n", "some.csv has no column 'text'; its columns are: review, sentiment, id"},
    {"text,Label\ngood,pos\n", "some.csv has no column 'label'; its columns are: text, Label"},
    {"text,label\ngood,pos\nbad\n", "2[good|pos]some.csv, line 3: it has 1 field where the header has 2"},
    {"\"te\nxt\",label\n", "some.csv has no column 'text'; its columns are: te?xt, label"},
    {"text,label\na,b,pos\n", "some.csv, line 2: it has 3 fields where the header has 2"},
    {"text,label\ngood,pos\n\"bad,neg\nmore,pos\n", "2[good|pos]some.csv, line 3: a quote is opened and never closed"},
    {"text,label\n\"a\nb\" c,neg\n",
     "some.csv, line 3: a field continues after its closing quote; write a quote inside a field twice"},
    {"text\tlabel\na\t\"b\nc\td\ne\tf\"\n", "2[a|\"b]3[c|d]4[e|f\"]"},
    {"text\tlabel\n\"a\"\"\tb\n\"c\"\"d\te\"\tf\n", "2[\"a\"\"|b]3[c\"d\te|f]"},
    {"text\tlabel\r\n\"a\tb\"\t\"c\"\r\nd\t\"", "2[a\tb|c]3[d|\"]"},
    {"text\tlabel\n\"great\" he said\tpos\n\"so\"\tneg\n", "2[\"great\" he said|pos]3[so|neg]"},
    {"text\tlabel\n\"first\nsecond\"\tp\nx\tn\n", "2[first\nsecond|p]4[x|n]"},
    {"text\tlabel\r\n\"a\r\n\"\"b\"\"\r\nc\"\tp\r\nx\t\"n\r\n\r\nm\"\r\n", "2[a\r\n\"b\"\r\nc|p]5[x|n\r\n\r\nm]"},
    {"text\tlabel\n\"a\nb\tp\n", "some.csv, line 2: it has 1 field where the header has 2"},
    {"text\tlabel\n\"great film\tp\nthe \"best\"\tp\n", "2[\"great film|p]3[the \"best\"|p]"},
    {"text\tlabel\nx\t\"a\nb\"", "2[x|a\nb]"},
    {"\"text,label\n", "some.csv, line 1: a quote is opened and never closed"},
};

START_TEST(tables_are_read_as_they_are_meant) { ck_assert_str_eq(rows(tables[_i].table), tables[_i].rows); }

static size_t count_rows(char *text, size_t size)
{
    Csv c;
    Error e;
    CsvField f[2];
    size_t count = 0;
    ck_done(csv_open(&c, "some.tsv", text, size, columns, 2, &e), e);
    for (bool row = true; row; count += row)
        ck_done(csv_next(&c, f, &row, &e), e);
    return count;
}

/* What a quote may belong to is looked for in the rows next to it only: with all of what follows, this takes hours. */
START_TEST(quotes_that_open_nothing_take_no_time)
{
    enum { ROWS = 400000 };
    static const char *const lines[] = {"\"\"\"x\t\"y\n", "\"x\ty\n", "x\t\"\"\"\n"};
    const size_t length = strlen(lines[_i]);
    char *text = memory_get(ROWS * length + 20, 1);
    size_t size = (size_t)sprintf(text, "text\tlabel\n");
    for (size_t i = 0; i < ROWS; i++, size += length)
        memcpy(text + size, lines[_i], length);
    ck_assert_uint_eq(count_rows(text, size), ROWS);
    memory_free(text);
}

/* Whatever the text, fields are in it, and reading ends. */
START_TEST(any_text_is_read_to_its_end_or_refused)
{
    static const char alphabet[] = "a,\"\n\r\t";
    for (uint64_t i = 0; i < 3000; i++) {
        char text[60] = "text,label\n";
        size_t size = 11 + (size_t)philox_below(40, 1, 2, i, 3), read = 0;
        for (size_t k = 11; k < size; k++)
            text[k] = alphabet[philox_below(sizeof alphabet - 1, 1, 3, i * 64 + k, 3)];
        Csv c;
        Error e;
        bool row = true;
        CsvField f[2];
        ck_done(csv_open(&c, "some.csv", text, size, columns, 2, &e), e);
        for (; csv_next(&c, f, &row, &e) && row; read++)
            for (size_t k = 0; k < 2; k++)
                ck_assert(f[k].text >= text && f[k].text + f[k].size <= text + size);
        ck_assert_uint_le(read, size);
        ck_assert(c.at <= text + size);
    }
}

static const Test tests[] = {TEST_LOOP(tables_are_read_as_they_are_meant, sizeof tables / sizeof *tables),
                             TEST_LOOP(quotes_that_open_nothing_take_no_time, 3),
                             TEST(any_text_is_read_to_its_end_or_refused)};

int main(int argc, char **argv) { return suite_run("text/csv", tests, sizeof tests / sizeof *tests, argc, argv); }
