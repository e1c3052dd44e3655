/* A text's words as a treebank has them, as treebank_words.h says. */
#include "base/philox.h"
#include "core/text/treebank_words.h"
#include "tests/suite.h"

#include <string.h>

static const char *words(const char *text, size_t size)
{
    static char all[2000];
    Buffer out = {0};
    treebank_words(text, size, &out);
    ck_assert(!out.failed && out.text && out.size < sizeof all);
    memcpy(all, out.text, out.size + 1);
    buffer_free(&out);
    return all;
}

static const struct {
    const char *text, *words;
} examples[] = {
    {"", ""},
    {" \t\r\n", ""},
    {".", "."},
    {"\"They can't,\" she said (in the U.S.).", "`` They ca n't , '' she said -LRB- in the U.S. -RRB- ."},
    {"Mr. Vinken is chairman of Elsevier N.V., the Dutch group.",
     "Mr. Vinken is chairman of Elsevier N.V. , the Dutch group ."},
    {"It's 1,000 at 10:30: $1.5 or US$2, 8.04% of \xC2\xA3"
     "3.",
     "It 's 1,000 at 10:30 : $ 1.5 or US$ 2 , 8.04 % of \xC2\xA3"
     "3 ."},
    {"She said: \"No.\"", "She said : `` No . ''"},
    {"(\"No!\" [he said; \"yes?\"])", "-LRB- `` No ! '' [ he said ; `` yes ? '' ] -RRB-"},
    {"AT&T and P & L, a@b.org & <x>", "AT&T and P & L , a@b.org & < x >"},
    {"a 62%-owned unit--of 1/2 of S&P* {x}", "a 62%-owned unit -- of 1\\/2 of S&P\\* -LCB- x -RCB-"},
    {"1\\/2 --- well...", "1\\/2 -- well ..."},
    {"It has 62%--half of it 62%-owned.", "It has 62 % -- half of it 62%-owned ."},
    {"wait.... Oh", "wait ... . Oh"},
    {"I'm he'd WE'LL you're they've didn't CAN'T isn't", "I 'm he 'd WE 'LL you 're they 've did n't CA N'T is n't"},
    {"shouldn't've", "should n't 've"},
    {"Cannot gimme gonna gotta lemme wanna 'Tis 'twas", "Can not gim me gon na got ta lem me wan na 'T is 't was"},
    {"the funds' '90s 'em rock 'n roll", "the funds ' '90s 'em rock 'n roll"},
    {"'she speaks' 'it's' '", "` she speaks ' ` it 's ' '"},
    {"\u201CI don\u2019t\u201D \u2014 \u2018no\u2019\u2026", "`` I do n't '' -- ` no ' ..."},
    {"\u00ABnon\u00BB \u201Enein\u201C 5\u20136", "`` non '' `` nein `` 5 -- 6"},
    {"na\u00EFve caf\u00E9.", "na\u00EFve caf\u00E9 ."},
    {"n't 's", "n't 's"},
};

START_TEST(words_are_as_documented)
{
    ck_assert_str_eq(words(examples[_i].text, strlen(examples[_i].text)), examples[_i].words);
}

START_TEST(a_zero_byte_parts_words) { ck_assert_str_eq(words("a\0b", 3), "a b"); }

START_TEST(words_are_added_after_those_that_are_there)
{
    Buffer out = {0};
    buffer_add(&out, "x|", 2);
    treebank_words("can't", 5, &out);
    ck_assert_str_eq(out.text, "x|ca n't");
    buffer_free(&out);
}

/* Of any bytes: one space between two words, no brackets that a tree could not hold, letters as they were, and splitting
 * words again changes nothing. */
START_TEST(any_bytes_give_words_that_stay_what_they_are)
{
    static const char alphabet[] = "aB9  '`\".,:;/*<([{)]}>&@%$#-\xC3\xA9\x80\xFF\xE2\x80\x99\n!";
    char text[60];
    for (uint64_t i = 0; i < 20000; i++) {
        size_t size = (size_t)philox_below(sizeof text, 1, 2, i, 3), letters = 0, found = 0;
        for (size_t k = 0; k < size; k++) {
            text[k] = alphabet[philox_below(sizeof alphabet - 1, 1, 3, i * sizeof text + k, 3)];
            letters += text[k] == 'a' || text[k] == '9';
        }
        char first[1000];
        ck_assert_uint_lt(strlen(words(text, size)), sizeof first);
        strcpy(first, words(text, size));
        ck_assert_msg(!strstr(first, "  ") && first[0] != ' ' && !strpbrk(first, "(){}\n"), "%s", first);
        for (const char *c = first; *c; c++)
            found += *c == 'a' || *c == '9';
        ck_assert_uint_eq(found, letters);
        ck_assert_str_eq(words(first, strlen(first)), first);
    }
}

static const Test tests[] = {TEST_LOOP(words_are_as_documented, sizeof examples / sizeof *examples),
                             TEST(a_zero_byte_parts_words), TEST(words_are_added_after_those_that_are_there),
                             TEST(any_bytes_give_words_that_stay_what_they_are)};

int main(int argc, char **argv)
{
    return suite_run("text/treebank_words", tests, sizeof tests / sizeof *tests, argc, argv);
}
