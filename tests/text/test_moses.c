/* Moses' tokens: equal to sacremoses on awkward lines (tests/fixtures/moses.py), and rule by rule. */
#include "base/memory.h"
#include "base/philox.h"
#include "base/utf8.h"
#include "core/text/moses.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <string.h>

static Moses of(const char *language, bool escape, bool hyphens)
{
    Moses how = {.escape = escape, .hyphens = hyphens};
    Error e;
    ck_done(moses_language(&how.language, language, &e), e);
    return how;
}

typedef bool Way(Moses how, const char *text, size_t size, Buffer *out, Error *e);

static void expect(const Json *one, size_t at, Way *way, Moses how, size_t from)
{
    const Json *text = case_value(one, from);
    Buffer out = {0};
    Error e;
    ck_done(way(how, text->text, text->size, &out, &e), e);
    case_expect_text(one, at, &out);
    buffer_free(&out);
}

START_TEST(tokens_and_texts_are_those_of_sacremoses)
{
    Cases cases = cases_open("moses");
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i];
        const char *language = case_value(one, 1)->text;
        expect(one, 2, moses_tokenise, of(language, false, false), 0);
        expect(one, 3, moses_tokenise, of(language, true, true), 0);
        expect(one, 4, moses_detokenise, of(language, true, false), 3);
        expect(one, 5, moses_detokenise, of(language, false, false), 0);
    }
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* What a word is to the next one: its dot belongs to it, or is a token. */
static bool keeps_dot(Moses how, const char *word, size_t size, const char *follows)
{
    Buffer text = {0}, out = {0};
    Error e;
    buffer_print(&text, "A %.*s. %s", (int)size, word, follows);
    ck_done(moses_tokenise(how, text.text, text.size, &out, &e), e);
    bool kept = out.size == text.size;
    buffer_free(&text);
    buffer_free(&out);
    return kept;
}

START_TEST(words_that_keep_a_dot_are_those_of_sacremoses)
{
    enum { ALWAYS = 1, BEFORE_NUMBERS, NEVER };
    Cases cases = cases_open("moses-dots");
    for (size_t i = 0; i < cases.list->count; i++)
        for (size_t kind = ALWAYS; kind <= NEVER; kind++) {
            const char *language = case_value(&cases.list->items[i], 0)->text;
            const char *word = case_value(&cases.list->items[i], kind)->text;
            for (size_t size; *word; word += size + (word[size] == ' ')) {
                size = strcspn(word, " ");
                ck_assert_msg(keeps_dot(of(language, false, false), word, size, "Bb") == (kind == ALWAYS) &&
                                  keeps_dot(of(language, false, false), word, size, "5") == (kind != NEVER),
                              "%s: %.*s.", language, (int)size, word);
            }
        }
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* What way a text goes, as a string that the next call overwrites. */
static const char *gone(Way *way, Moses how, const char *text, size_t size)
{
    static char all[2000];
    Buffer out = {0};
    Error e;
    ck_done(way(how, text, size, &out, &e), e);
    ck_assert_uint_lt(out.size, sizeof all);
    if (out.size)
        memcpy(all, out.text, out.size);
    all[out.size] = 0;
    buffer_free(&out);
    return all;
}

typedef struct Example {
    const char *language, *text, *becomes;
} Example;

static const Example tokens[] = {
    {"en", "", ""},
    {"en", " \t ", ""},
    {"en", "He said: \"It's 5,000 in the U.S.\"", "He said : \" It 's 5,000 in the U.S. \""},
    {"en", "The 1990's, dogs' and 'tis.", "The 1990 's , dogs ' and ' tis ."},
    {"en", "Mr. Smith met Dr. No. No. 5 was No. Sure.", "Mr. Smith met Dr. No . No. 5 was No . Sure ."},
    {"en", "vs. all; he won. then he left.", "vs. all ; he won. then he left ."},
    {"en", "On 11 Sep. 2001. J. Doe et al. said", "On 11 Sep. 2001 . J. Doe et al. said"},
    {"de", "Am 3. Mai, ca. 5 Uhr, z.B. 's geht.", "Am 3. Mai , ca. 5 Uhr , z.B. ' s geht ."},
    {"de", "Es war 1999. Dann 100. Ende 99. Mal.", "Es war 1999 . Dann 100 . Ende 99. Mal ."},
    {"de", "Heinrich VIII. kam.", "Heinrich VIII. kam ."},
    {"fr", "L'eau, qu'on a. M. Dupont etc. va", "L' eau , qu' on a . M. Dupont etc. va"},
    {"en", "wait... what?.. a.. .b", "wait ... what ? .. a .. .b"},
    {"en", "1,2,a,3 ,4, 5,", "1,2 , a , 3 , 4 , 5 ,"},
    {"en", "end.'", "end . '"},
    {"en",
     "3\xC2\xBD \xE2\x82\xAC"
     "5 a\xE2\x80\x99s",
     "3 \xC2\xBD \xE2\x82\xAC 5 a \xE2\x80\x99 s"},
    {"en",
     "a\xFF"
     "b",
     "a \xEF\xBF\xBD b"},
    {"en", "x-y\ta\r\nb", "x-y a b"},
    {"en", "a DOTMULTI DOTDOTMULTI b", "a DOTMULTI DOTDOTMULTI b"}, /* which sacremoses takes for its own marks */
    {"en", "\xE4\xB8\xAD\xE6\x96\x87 \xE3\x81\x82\xE3\x81\x84", "\xE4\xB8\xAD \xE6\x96\x87 \xE3\x81\x82\xE3\x81\x84"},
};

START_TEST(tokens_are_as_documented)
{
    const char *found = gone(moses_tokenise, of(tokens[_i].language, false, false), tokens[_i].text,
                             strlen(tokens[_i].text));
    ck_assert_str_eq(found, tokens[_i].becomes);
}

static const Example texts[] = {
    {"en", "", ""},
    {"en", "He said : \" It 's 5,000 in the U.S. \" !", "He said: \"It's 5,000 in the U.S.\"!"},
    {"en", "the Jones ' house ' a ' b", "the Jones' house 'a' b"},
    {"en", "'s ' s", "'s' s"},
    {"en", "( a [ b ] c ) $ 5 , 6 %", "(a [b] c) $5, 6%"},
    {"fr", "L' eau , qu' il ? ( non ) !", "L'eau, qu'il ? (non) !"},
    {"fr", "l' 5 d'", "l' 5 d'"},
    {"de", "\" a \" b \xE2\x80\x9E c \xE2\x80\x9C d",
     "\"a\" b \xE2\x80\x9E"
     "c\xE2\x80\x9C d"},
    {"en", "a @-@ b @-@ @-@ c @-@", "a-b-@-@ c-"},
    {"en", "\xE4\xB8\xAD \xE6\x96\x87 a \xE4\xB8\xAD", "\xE4\xB8\xAD\xE6\x96\x87 a \xE4\xB8\xAD"},
    {"en",
     "a\xC2\xA0"
     "b \xFF ,",
     "a b \xFF,"},
};

START_TEST(texts_are_as_documented)
{
    const char *found = gone(moses_detokenise, of(texts[_i].language, false, false), texts[_i].text,
                             strlen(texts[_i].text));
    ck_assert_str_eq(found, texts[_i].becomes);
}

START_TEST(entities_are_written_and_read)
{
    static const char text[] = "a&b|c<d>e'f\"g[h]i", entities[] = "a &amp; b &#124; c &lt; d &gt; e &apos;f &quot; g "
                                                                  "&#91; h &#93; i";
    Moses how = of("en", true, false);
    ck_assert_str_eq(gone(moses_tokenise, how, text, strlen(text)), entities);
    ck_assert_str_eq(gone(moses_detokenise, how, entities, strlen(entities)), "a & b | c < d > e'f \"g [h] i");
    ck_assert_str_eq(gone(moses_detokenise, how, "&amp;lt; &bar;&bra;&ket; &am", 28), "&lt; |[] &am");
    ck_assert_str_eq(gone(moses_detokenise, of("en", false, false), "&amp;", 5), "&amp;");
}

START_TEST(hyphens_are_parted_where_it_is_asked)
{
    static const char text[] = "a-b-c -d e- 1-2 x--y \xC3\xA9-\xC3\xA8";
    ck_assert_str_eq(gone(moses_tokenise, of("en", false, false), text, strlen(text)), text);
    ck_assert_str_eq(gone(moses_tokenise, of("en", false, true), text, strlen(text)),
                     "a @-@ b @-@ c -d e- 1 @-@ 2 x--y \xC3\xA9 @-@ \xC3\xA8");
}

START_TEST(a_zero_byte_and_other_controls_vanish)
{
    ck_assert_str_eq(gone(moses_tokenise, of("en", false, false),
                          "a\0b \1 c\x1C"
                          "d",
                          9),
                     "ab c d");
}

START_TEST(a_language_that_is_not_there_is_refused)
{
    MosesLanguage language;
    Error e;
    ck_assert(!moses_language(&language, "eng", &e) && !moses_language(&language, "", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "only for en, de and fr"));
    ck_assert(moses_language(&language, "fr", &e) && language == MOSES_FRENCH);
}

/* Whatever bytes come, tokens have one space between two, none at the ends; what is a token stays one; and texts that
 * were put together have all characters but spaces. */
START_TEST(any_bytes_give_tokens)
{
    static const char alphabet[] = "aB9 '.,-\"!&[\xC3\xA9\x80\xFF\xE2\x80\x99\n@";
    enum { ROUNDS = 2000, SIZE = 50 };
    for (uint64_t i = 0; i < ROUNDS; i++) {
        char bytes[SIZE], tokenised[2000];
        size_t size = (size_t)philox_below(SIZE, 7, 0, i, 1), letters[2] = {0};
        for (size_t k = 0; k < size; k++)
            bytes[k] = alphabet[philox_below(sizeof alphabet - 1, 7, 1, i * SIZE + k, 1)];
        Moses how = {.language = (MosesLanguage)(i % 3), .escape = i % 2};
        strcpy(tokenised, gone(moses_tokenise, how, bytes, size));
        size_t length = strlen(tokenised);
        ck_assert(!strstr(tokenised, "  ") && tokenised[0] != ' ' && (!length || tokenised[length - 1] != ' '));
        for (size_t at = 0, one; at < length; at += one) {
            one = utf8_length(tokenised + at, length - at);
            ck_assert_uint_gt(one, 0);
        }
        how.escape = false;
        const char *text = gone(moses_detokenise, how, tokenised, length);
        for (size_t k = 0; text[k]; k++)
            letters[0] += text[k] != ' ';
        for (size_t k = 0; k < length; k++)
            letters[1] += tokenised[k] != ' ';
        ck_assert_uint_eq(letters[0], letters[1]);
    }
}

START_TEST(a_huge_text_is_one_line)
{
    enum { SIZE = 1 << 20 };
    char *text = memory_get(SIZE, 1);
    Buffer out = {0}, back = {0};
    Error e;
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = "a.'\", .."[i % 8];
    ck_done(moses_tokenise(of("en", true, false), text, SIZE, &out, &e), e);
    ck_done(moses_detokenise(of("en", true, false), out.text, out.size, &back, &e), e);
    ck_assert(out.size > SIZE && back.size > SIZE / 2);
    buffer_free(&out);
    buffer_free(&back);
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool there_and_back(void *argument, Error *e)
{
    const char *text = argument;
    Buffer tokens_ = {0}, back = {0};
    Moses how = {.language = MOSES_ENGLISH, .escape = true, .hyphens = true};
    bool done = moses_tokenise(how, text, strlen(text), &tokens_, e) &&
                moses_detokenise(how, tokens_.text, tokens_.size, &back, e);
    buffer_free(&tokens_);
    buffer_free(&back);
    return done;
}

START_TEST(each_failed_allocation_is_an_error)
{
    static char text[] =
        "He said: \"It's 5,000 in the U.S.\" '`' ``x'' - and on-and-on it goes (for long enough), ... 'so'.";
    fail_each_allocation(there_and_back, text);
}

static const Test tests[] = {TEST(tokens_and_texts_are_those_of_sacremoses),
                             TEST(words_that_keep_a_dot_are_those_of_sacremoses),
                             TEST_LOOP(tokens_are_as_documented, sizeof tokens / sizeof *tokens),
                             TEST_LOOP(texts_are_as_documented, sizeof texts / sizeof *texts),
                             TEST(entities_are_written_and_read),
                             TEST(hyphens_are_parted_where_it_is_asked),
                             TEST(a_zero_byte_and_other_controls_vanish),
                             TEST(a_language_that_is_not_there_is_refused),
                             TEST(any_bytes_give_tokens),
                             TEST(a_huge_text_is_one_line),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv) { return suite_run("text/moses", tests, sizeof tests / sizeof *tests, argc, argv); }
