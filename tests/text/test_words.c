/* Words of a text, as words.h says them. */
#include "base/philox.h"
#include "base/utf8.h"
#include "core/text/words.h"
#include "tests/suite.h"

#include <string.h>

/* All words of a text, each with '|' after it. */
static const char *words(const char *text, size_t size)
{
    static char all[4000];
    Words w = words_of(text, size);
    all[0] = 0;
    while (words_next(&w)) {
        ck_assert_uint_eq(w.length, strlen(w.word));
        ck_assert_uint_lt(strlen(all) + w.length + 1, sizeof all);
        strcat(strcat(all, w.word), "|");
    }
    return all;
}

static const struct {
    const char *text, *words;
} examples[] = {
    {"", ""},
    {" \t\r\n\v", ""},
    {"A good Film", "a|good|film|"},
    {"I don't know; it's 'so' BAD.", "i|don't|know|;|it's|'|so|'|bad|.|"},
    {"the actors' rock'n'roll '90s", "the|actors|'|rock'n'roll|'|90s|"},
    {"7/10, 7.5 or 1,000 at 10:30.", "7/10|,|7.5|or|1,000|at|10:30|.|"},
    {"1. first 2, second and/or a.b 3.x", "1|.|first|2|,|second|and|/|or|a|.|b|3|.|x|"},
    {"no!!!!!! ... .. ?! --", "no|!!!|...|..|?|!|--|"},
    {"one<br />two<br /><br />three</p>", "one|two|three|"},
    {"a < b, <3 and <unk> 1<2", "a|<|b|,|<|3|and|1|<|2|"},
    {"<b", "<|b|"},
    {"x <i <b>bold</b>", "x|<|i|bold|"},
    {"Tom &amp; Jerry &quot;now&quot; &lt;b&gt; a&nbsp;b I&#39;m &co;", "tom|&|jerry|\"|now|\"|<|b|>|a|b|i'm|&|co|;|"},
    {"_The_ (film)*", "_|the|_|(|film|)|*|"},
    {"\xC3\x89mile \xC3\x96L na\xC3\xAFve \xC5\xB8 \xC5\x81 \xC5\xBD \xCE\xA3 \xD0\x96 \xD0\x81",
     "\xC3\xA9mile|\xC3\xB6l|na\xC3\xAFve|\xC3\xBF|\xC5\x82|\xC5\xBE|\xCF\x83|\xD0\xB6|\xD1\x91|"},
    {"\xC4\x80 \xC4\xB9 \xC4\xB0", "\xC4\x81|\xC4\xBA|\xC4\xB0|"},
    {"\u0218i \u01AF \u1EC6 \u0490 \u038C \u018F \u1E9E", "\u0219i|\u01B0|\u1EC7|\u0491|\u03CC|\u0259|\u00DF|"},
    {"\xE2\x80\x9CI don\xE2\x80\x99t\xE2\x80\x9D\xE2\x80\x94no\xE2\x80\xA6", "\"|i|don't|\"|-|no|.|"},
    {"a\xC2\xA0"
     "b\xC2\x85"
     "c\xE3\x80\x80"
     "d\xE2\x80\x83"
     "e",
     "a|b|c|d|e|"},
    {"2\xC3\x97"
     "3 \xC2\xA1ol\xC3\xA9! \xE2\x82\xAC"
     "5",
     "2|\xC3\x97|3|\xC2\xA1|ol\xC3\xA9|!|\xE2\x82\xAC|5|"},
    {"\u00B2\u00AA\u00B5\u00BA \u00F7a\u3001b\uFF01\uFF21\U0001F600 \u2190z \u0131\u0138\u0149",
     "\u00B2|\u00AA\u00B5\u00BA|\u00F7|a|\u3001|b|\uFF01|\uFF41|\U0001F600|\u2190|z|\u0131\u0138\u0149|"},
    {"bad\xFFone\x80\x80\xC3", "bad|\xEF\xBF\xBD|one|\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD|"},
    {"\xC0\xAF\xED\xA0\x80z",
     "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD|z|"}, /* overlong, and half a pair: five bytes, of which three stay */
};

START_TEST(words_are_as_documented)
{
    ck_assert_str_eq(words(examples[_i].text, strlen(examples[_i].text)), examples[_i].words);
}

START_TEST(a_zero_byte_parts_words) { ck_assert_str_eq(words("a\0b", 3), "a|b|"); }

START_TEST(long_words_go_on_as_others_and_lose_nothing)
{
    char text[1000], joined[1100] = "";
    for (size_t size = 40; size < 200; size += 7) {
        Words w;
        memset(text, 'x', size);
        joined[0] = 0;
        for (w = words_of(text, size); words_next(&w);) {
            ck_assert_uint_le(w.length, WORD_MOST);
            strcat(joined, w.word);
        }
        text[size] = 0;
        ck_assert_str_eq(joined, text);
    }
    for (size_t i = 0; i + 2 < sizeof text; i += 2) /* characters stay whole */
        memcpy(text + i, "\xC3\xA9", 2);
    for (Words w = words_of(text, 998); words_next(&w);)
        for (size_t i = 0; i < w.length; i += 2)
            ck_assert_mem_eq(w.word + i, "\xC3\xA9", 2);
}

START_TEST(a_long_word_does_not_end_in_an_apostrophe)
{
    for (int letters = 1; letters < 80; letters++) {
        char text[100];
        memset(text, 'x', sizeof text);
        memcpy(text + letters, "'yz", 4);
        for (Words w = words_of(text, strlen(text)); words_next(&w);)
            ck_assert_msg(w.length == 1 || w.word[w.length - 1] != '\'', "%d: %s", letters, w.word);
    }
}

/* Words of any bytes are valid UTF-8, have no blank and no markup's letter lost, and are words of themselves. */
START_TEST(any_bytes_give_valid_words_that_stay_what_they_are)
{
    static const char alphabet[] = "aB9 '.,/<>&;\xC3\xA9\x80\xFF\xE2\x80\x99\xEF\n!";
    char text[60];
    for (uint64_t i = 0; i < 2000; i++) {
        size_t size = (size_t)philox_below(sizeof text, 1, 2, i, 3);
        for (size_t k = 0; k < size; k++)
            text[k] = alphabet[philox_below(sizeof alphabet - 1, 1, 3, i * sizeof text + k, 3)];
        for (Words w = words_of(text, size); words_next(&w);) {
            ck_assert(w.length > 0 && w.length <= WORD_MOST && w.at <= size);
            for (size_t at = 0, length; at < w.length; at += length) {
                length = utf8_length(w.word + at, w.length - at);
                ck_assert_uint_gt(length, 0);
            }
            ck_assert_ptr_null(strpbrk(w.word, " \n\t"));
            Words again = words_of(w.word, w.length);
            ck_assert(words_next(&again));
            ck_assert_str_eq(again.word, w.word);
        }
    }
}

static const Test tests[] = {TEST_LOOP(words_are_as_documented, sizeof examples / sizeof *examples),
                             TEST(a_zero_byte_parts_words), TEST(long_words_go_on_as_others_and_lose_nothing),
                             TEST(a_long_word_does_not_end_in_an_apostrophe),
                             TEST(any_bytes_give_valid_words_that_stay_what_they_are)};

int main(int argc, char **argv) { return suite_run("text/words", tests, sizeof tests / sizeof *tests, argc, argv); }
