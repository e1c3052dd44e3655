/* GPT-2's byte pairs: equal to Hugging Face's tokenizers on awkward lines (tests/fixtures/gpt2.py), lossless on any
 * bytes, and what its files may hold. */
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/text/gpt2.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

#define ENCODER "tests/fixtures/gpt2-encoder.json"
#define MERGES  "tests/fixtures/gpt2-vocab.bpe"

static Gpt2 opened(void)
{
    Gpt2 g;
    Error e;
    ck_done(gpt2_read(&g, ENCODER, MERGES, &e), e);
    return g;
}

static void expect_back(const Gpt2 *g, const char *bytes, size_t size, const Buffer *ids)
{
    Buffer back = {0};
    Error e;
    int32_t *list = memory_get(ids->size, 1);
    ck_assert_ptr_nonnull(list);
    if (ids->size)
        memcpy(list, ids->text, ids->size);
    ck_done(gpt2_decode(g, list, ids->size / sizeof *list, &back, &e), e);
    ck_assert_uint_eq(back.size, size);
    if (size)
        ck_assert_mem_eq(back.text, bytes, size);
    memory_free(list);
    buffer_free(&back);
}

START_TEST(ids_are_those_of_tokenizers)
{
    Cases cases = cases_open("gpt2");
    Gpt2 g = opened();
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i], *text = case_value(one, 0);
        Buffer ids = {0};
        Error e;
        ck_done(gpt2_encode(&g, text->text, text->size, &ids, &e), e);
        case_expect_ids(one, 1, &ids);
        expect_back(&g, text->text, text->size, &ids);
        buffer_free(&ids);
    }
    gpt2_close(&g);
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_text_is_parted_by_the_rule)
{
    static const struct {
        const char *text, *parts;
    } some[] = {
        {"", ""},
        {"Hello  world's end", "Hello| | world|'s| end|"},
        {"   ", "   |"},
        {" ", " |"},
        {" a", " a|"},
        {"  a", " | a|"},
        {"\t\na", "\t|\n|a|"},
        {" \ta", " |\t|a|"},
        {"a \n", "a| \n|"},
        {"a\xC2\xA0 b", "a|\xC2\xA0| b|"},
        {"a\xC2\xA0"
         "b",
         "a|\xC2\xA0|b|"},
        {"we'll 'll 'LL 'sx ''s", "we|'ll| '|ll| '|LL| '|sx| ''|s|"},
        {"'s't'm'd're've'll'x", "'s|'t|'m|'d|'re|'ve|'ll|'|x|"},
        {"a'", "a|'|"},
        {"x1\xC2\xBD\xE2\x85\xA0!?y", "x|1\xC2\xBD\xE2\x85\xA0|!?|y|"},
        {"e\xCC\x81", "e|\xCC\x81|"}, /* a mark is no letter */
        {"\xC3\xA9\xE4\xB8\xAD 12 ...", "\xC3\xA9\xE4\xB8\xAD| 12| ...|"},
        {"a\xFF\x80!b \xFFz", "a|\xFF\x80!|b| \xFF|z|"},
        {"\xC3", "\xC3|"},
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        char parts[200] = "";
        size_t size = strlen(some[i].text);
        for (size_t at = 0, length; at < size; at += length) {
            length = gpt2_part(some[i].text + at, size - at);
            ck_assert(length > 0 && length <= size - at);
            strncat(parts, some[i].text + at, length);
            strcat(parts, "|");
        }
        ck_assert_str_eq(parts, some[i].parts);
    }
    ck_assert_uint_eq(gpt2_part("", 0), 0);
}

START_TEST(any_bytes_come_back)
{
    enum { ROUNDS = 300, SIZE = 200 };
    Gpt2 g = opened();
    for (uint64_t i = 0; i < ROUNDS; i++) {
        char bytes[SIZE];
        size_t size = (size_t)philox_below(SIZE, 5, 0, i, 1);
        uint32_t values = i % 3 ? 256 : 40; /* or control characters and a few marks */
        for (size_t k = 0; k < size; k++)
            bytes[k] = (char)philox_below(values, 5, 1, i * SIZE + k, 1);
        Buffer ids = {0};
        Error e;
        ck_done(gpt2_encode(&g, bytes, size, &ids, &e), e);
        ck_assert_uint_le(ids.size, size * sizeof(int32_t));
        expect_back(&g, bytes, size, &ids);
        buffer_free(&ids);
    }
    gpt2_close(&g);
}

START_TEST(each_byte_has_a_subword_of_its_own)
{
    Gpt2 g = opened();
    for (int a = 0; a < 256; a++) {
        char byte = (char)a;
        Buffer back = {0};
        Error e;
        for (int b = 0; b < a; b++)
            ck_assert_int_ne(g.byte[a], g.byte[b]);
        ck_done(gpt2_decode(&g, &g.byte[a], 1, &back, &e), e);
        ck_assert(back.size == 1 && back.text[0] == byte);
        buffer_free(&back);
    }
    ck_assert_str_eq(vocabulary_word(&g.subwords, g.byte[' ']), "\xC4\xA0");  /* U+0120 */
    ck_assert_str_eq(vocabulary_word(&g.subwords, g.byte['\n']), "\xC4\x8A"); /* U+010A */
    ck_assert_str_eq(vocabulary_word(&g.subwords, g.byte[173]), "\xC5\x83");  /* U+0143 */
    ck_assert_str_eq(vocabulary_word(&g.subwords, g.byte[0x7F]), "\xC4\xA1"); /* U+0121 */
    ck_assert_str_eq(vocabulary_word(&g.subwords, g.byte[0xFF]), "\xC3\xBF");
    gpt2_close(&g);
}

START_TEST(special_subwords_are_names)
{
    Gpt2 g = opened();
    Buffer said = {0}, ids = {0};
    int32_t end = vocabulary_search(&g.subwords, "<|endoftext|>", 13);
    Error e;
    ck_assert_int_eq(end, (int32_t)g.subwords.count - 1);
    ck_done(gpt2_decode(&g, &end, 1, &said, &e), e);
    ck_assert_str_eq(said.text, "<|endoftext|>");
    ck_done(gpt2_encode(&g, said.text, said.size, &ids, &e), e);
    ck_assert_uint_eq(ids.size, sizeof end);
    ck_assert_mem_eq(ids.text, &end, sizeof end);
    for (int32_t wrong = -1; wrong <= end + 1; wrong += end + 2) {
        ck_assert(!gpt2_decode(&g, &wrong, 1, &said, &e));
        ck_assert_ptr_nonnull(strstr(e.text, "is out of range"));
    }
    buffer_free(&ids);
    buffer_free(&said);
    gpt2_close(&g);
}

/* The ids are those of tokenizers 0.23.3 where the separator is a special token. */
static const char separated[] = "<|endoftext|>The house  <|endoftext|>\n\n<|endoftext|><|endoftext|> <|endoftext|x"
                                "<<|endoftext|>|endoftext|>";
static const int32_t separated_ids[] = {456, 307, 439, 279, 456, 198, 198, 456, 456, 220, 27, 91, 314, 78, 69, 83, 68,
                                        87,  83,  91,  87,  27,  456, 91,  314, 78,  69,  83, 68, 87,  83, 91, 29};

START_TEST(a_separator_in_a_text_is_that_of_tokenizers)
{
    Gpt2 g = opened();
    Buffer ids = {0};
    Error e;
    ck_done(gpt2_encode(&g, separated, sizeof separated - 1, &ids, &e), e);
    ck_assert_uint_eq(ids.size, sizeof separated_ids);
    ck_assert_mem_eq(ids.text, separated_ids, sizeof separated_ids);
    expect_back(&g, separated, sizeof separated - 1, &ids);
    buffer_free(&ids);
    gpt2_close(&g);
}

/* Wherever a text ends: a name of which some is missing is text, even where the rest of it lies behind. */
START_TEST(a_separator_that_is_cut_is_text)
{
    static const size_t ends[] = {13, 37, 52, 65, 93}; /* of names */
    Gpt2 g = opened();
    Error e;
    for (size_t size = 0; size < sizeof separated; size++) {
        size_t wanted = 0, found = 0;
        Buffer ids = {0};
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            wanted += ends[i] <= size;
        ck_done(gpt2_encode(&g, separated, size, &ids, &e), e);
        for (size_t i = 0; i < ids.size / sizeof(int32_t); i++)
            found += ((const int32_t *)(const void *)ids.text)[i] == 456;
        ck_assert_msg(found == wanted, "%zu bytes: %zu separators, not %zu", size, found, wanted);
        expect_back(&g, separated, size, &ids);
        buffer_free(&ids);
    }
    gpt2_close(&g);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(without_a_separator_its_name_is_text)
{
    Gpt2 g;
    Buffer ids = {0};
    Error e;
    ck_done(gpt2_bytes(&g, &e) && gpt2_encode(&g, separated, sizeof separated - 1, &ids, &e), e);
    ck_assert_uint_eq(ids.size, (sizeof separated - 1) * sizeof(int32_t));
    buffer_free(&ids);
    gpt2_close(&g);
}

/* Joining takes time n log n even where a whole text is one part. */
START_TEST(a_huge_part_is_joined)
{
    enum { SIZE = 1 << 18 };
    char *text = memory_get(SIZE, 1);
    Gpt2 g = opened();
    Buffer ids = {0};
    Error e;
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', SIZE);
    ck_done(gpt2_encode(&g, text, SIZE, &ids, &e), e);
    ck_assert_uint_lt(ids.size / sizeof(int32_t), SIZE / 4);
    expect_back(&g, text, SIZE, &ids);
    buffer_free(&ids);
    memory_free(text);
    gpt2_close(&g);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- files --- */

/* In one folder, as long as a test runs. */
static const char *path_of(const char *name)
{
    static char paths[2][700];
    static const char *folder;
    char *path = paths[name[0] == 'e'];
    if (!folder)
        folder = test_folder();
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

/* The 256 subwords of the bytes, then those of `rest`, which begins with a comma where it is not empty. */
static void write_encoder(const char *rest)
{
    Gpt2 g = opened();
    Buffer b = {0};
    Error e;
    for (int i = 0; i < 256; i++) {
        const char *subword = vocabulary_word(&g.subwords, g.byte[i]);
        bool escaped = strchr("\"\\", *subword);
        buffer_print(&b, "%s\"%s%s\": %d", i ? ", " : "{", escaped ? "\\" : "", subword, i);
    }
    buffer_print(&b, "%s}", rest);
    ck_done(file_write(path_of("encoder.json"), b.text, b.size, &e), e);
    buffer_free(&b);
    gpt2_close(&g);
}

static void write_merges(const char *text, size_t size)
{
    Error e;
    ck_done(file_write(path_of("vocab.bpe"), text, size, &e), e);
}

static void expect_refused(const char *words)
{
    Gpt2 g;
    Error e;
    ck_assert_msg(!gpt2_read(&g, path_of("encoder.json"), path_of("vocab.bpe"), &e), "taken: %s", words);
    ck_assert_msg(strstr(e.text, words), "'%s' has no '%s'", e.text, words);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_is_no_encoder_is_refused)
{
    static const struct {
        const char *rest, *words;
    } faults[] = {{", \"ab\": 255", "have the same id 255"},
                  {", \"ab\": 257", "the id of 'ab' is not a number from 0 to 256"},
                  {", \"ab\": -1", "the id of 'ab'"},
                  {", \"ab\": 1.5", "the id of 'ab'"},
                  {", \"ab\": \"256\"", "the id of 'ab'"},
                  {", \"ab\": 256, \"ab\": 257", "appears twice"},
                  {", \"\": 256", "is empty"},
                  {", \"a\\u0000b\": 256", "zero byte"},
                  {", \"ab\": 256", "vocab.bpe"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        write_encoder(faults[i].rest);
        expect_refused(faults[i].words);
    }
    static const char *const texts[] = {"", "[]", "{}", "{\"a\": 0}", "3"};
    static const char *const words[] = {"ends too early", "not a JSON object", "not a JSON object",
                                        "no subword for byte 0, which is written as U+0100", "not a JSON object"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Error e;
        ck_done(file_write(path_of("encoder.json"), texts[i], strlen(texts[i]), &e), e);
        expect_refused(words[i]);
    }
}

START_TEST(what_are_no_merges_is_refused)
{
    static const struct {
        const char *text;
        size_t size;
        const char *words;
    } faults[] = {{"#version: 0.2\na b\nb\n", 20, "line 3: a merge is two subwords"},
                  {"#version: 0.2\n\na b\n", 19, "line 2: a merge is two subwords"},
                  {"a b c\n", 6, "line 1: a merge is two"},
                  {"a \n", 3, "line 1: a merge is two"},
                  {" a\n", 3, "line 1: a merge is two"},
                  {"a b\na b\n", 8, "line 2: this merge appears twice"},
                  {"a b\nab c\n", 9, "line 2: the encoder has no subword 'abc'"},
                  {"xy a\n", 5, "line 1: the encoder has no subword 'xy'"},
                  {"a xy\n", 5, "line 1: the encoder has no subword 'xy'"},
                  {"a\0 b\n", 5, "line 1: the encoder has no subword"}};
    write_encoder(", \"ab\": 256");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        write_merges(faults[i].text, faults[i].size);
        expect_refused(faults[i].words);
    }
}

START_TEST(merges_that_stand_first_go_first)
{
    static const char *const files[] = {"b c\na b\n", "#version: 0.2\na b\nb c\n", "", "a b\nb c\nab c"};
    static const int32_t wanted[][3] = {{'a', 257}, {256, 'c'}, {'a', 'b', 'c'}, {258}};
    static const size_t counts[] = {2, 2, 3, 1};
    write_encoder(", \"ab\": 256, \"bc\": 257, \"abc\": 258");
    for (size_t i = 0; i < 4; i++) {
        Gpt2 g;
        Buffer ids = {0};
        Error e;
        write_merges(files[i], strlen(files[i]));
        ck_done(gpt2_read(&g, path_of("encoder.json"), path_of("vocab.bpe"), &e), e);
        ck_done(gpt2_encode(&g, "abc", 3, &ids, &e), e);
        ck_assert_uint_eq(ids.size, counts[i] * sizeof(int32_t));
        ck_assert_mem_eq(ids.text, wanted[i], ids.size);
        buffer_free(&ids);
        gpt2_close(&g);
    }
}

static bool read_and_use(void *argument, Error *e)
{
    static const char text[] =
        "The house isn't ours. xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    Gpt2 g;
    Buffer ids = {0}, said = {0};
    (void)argument;
    if (!gpt2_read(&g, ENCODER, MERGES, e))
        return false;
    bool done = gpt2_encode(&g, text, strlen(text), &ids, e) &&
                gpt2_decode(&g, (const int32_t *)(const void *)ids.text, ids.size / sizeof(int32_t), &said, e);
    buffer_free(&ids);
    buffer_free(&said);
    gpt2_close(&g);
    return done;
}

/* ---- learning */

enum { LEARNED = 6000, LEARNED_MERGES = 80 };

static char *some_prose(void)
{
    char *text;
    size_t size;
    Error e;
    ck_done(file_read("data/prose.txt", &text, &size, &e), e);
    ck_assert_uint_gt(size, LEARNED);
    return text;
}

/* A text as subwords, with -1 before each part. */
static size_t lay_out(const Gpt2 *g, const char *text, size_t size, int32_t *subwords)
{
    size_t n = 0;
    for (size_t at = 0, length; at < size; at += length) {
        length = gpt2_part(text + at, size - at);
        subwords[n++] = -1;
        for (size_t i = 0; i < length; i++)
            subwords[n++] = g->byte[(unsigned char)text[at + i]];
    }
    return n;
}

static size_t times(const int32_t *subwords, size_t n, Pair pair)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < n; i++)
        count += subwords[i] == pair.left && subwords[i + 1] == pair.right;
    return count;
}

static size_t join(int32_t *subwords, size_t n, Pair pair, int32_t whole)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++)
        if (i + 1 < n && subwords[i] == pair.left && subwords[i + 1] == pair.right) {
            subwords[to++] = whole;
            i++;
        } else
            subwords[to++] = subwords[i];
    return to;
}

START_TEST(each_merge_is_of_the_most_frequent_pair)
{
    static int32_t subwords[2 * LEARNED];
    char *text = some_prose();
    Gpt2 g;
    Error e;
    ck_done(gpt2_learn(&g, text, LEARNED, LEARNED_MERGES, &e), e);
    ck_assert_uint_eq(g.merges.count, LEARNED_MERGES);
    ck_assert_uint_eq(g.subwords.count, 256 + LEARNED_MERGES + 1);
    ck_assert_str_eq(vocabulary_word(&g.subwords, 0), "!");
    ck_assert_str_eq(vocabulary_word(&g.subwords, 256 + LEARNED_MERGES), GPT2_SEPARATOR);
    size_t n = lay_out(&g, text, LEARNED, subwords);
    for (size_t m = 0; m < g.merges.count; m++) {
        const size_t taken = times(subwords, n, g.merges.pair[m]);
        for (size_t i = 0; i + 1 < n; i++)
            ck_assert_uint_le(
                subwords[i] < 0 || subwords[i + 1] < 0 ? 0 : times(subwords, n, (Pair){subwords[i], subwords[i + 1]}),
                taken);
        n = join(subwords, n, g.merges.pair[m], g.merged[m]);
    }
    Buffer ids = {0};
    ck_done(gpt2_encode(&g, text, LEARNED, &ids, &e), e);
    const int32_t *encoded = (const int32_t *)(const void *)ids.text;
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        if (subwords[i] >= 0)
            ck_assert_int_eq(encoded[at++], subwords[i]);
    ck_assert_uint_eq(at * sizeof *encoded, ids.size);
    expect_back(&g, text, LEARNED, &ids);
    buffer_free(&ids);
    gpt2_close(&g);
    memory_free(text);
}

START_TEST(what_was_learned_is_read_again)
{
    static const char odd[] = "\xff\xfe  a\0b a\0b \xc2\xa0\xc2\xa0 <|endoftext|> <|endoftext|>\n\n\n\n";
    char encoder[700], merges[700];
    const char *folder = test_folder();
    snprintf(encoder, sizeof encoder, "%s/encoder.json", folder);
    snprintf(merges, sizeof merges, "%s/vocab.bpe", folder);
    Gpt2 g, again;
    Error e;
    ck_done(gpt2_learn(&g, odd, sizeof odd - 1, 1000, &e), e);
    ck_done(gpt2_write(&g, encoder, merges, &e) && gpt2_read(&again, encoder, merges, &e), e);
    ck_assert_uint_eq(g.merges.count, again.merges.count);
    Buffer a = {0}, b = {0};
    ck_done(gpt2_encode(&g, odd, sizeof odd - 1, &a, &e) && gpt2_encode(&again, odd, sizeof odd - 1, &b, &e), e);
    ck_assert_uint_eq(a.size, b.size);
    ck_assert_mem_eq(a.text, b.text, a.size);
    expect_back(&again, odd, sizeof odd - 1, &b);
    buffer_free(&a);
    buffer_free(&b);
    gpt2_close(&g);
    gpt2_close(&again);
    static const char *const nothing[] = {"", GPT2_SEPARATOR GPT2_SEPARATOR "a" GPT2_SEPARATOR "b" GPT2_SEPARATOR};
    for (size_t i = 0; i < 2; i++) { /* to learn: the bytes alone */
        ck_done(gpt2_learn(&g, nothing[i], strlen(nothing[i]), 1000, &e), e);
        ck_assert_uint_eq(g.subwords.count, 257);
        gpt2_close(&g);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool learn_and_close(void *text, Error *e)
{
    Gpt2 g;
    const bool fine = gpt2_learn(&g, text, 300, 20, e);
    if (fine)
        gpt2_close(&g);
    return fine;
}

START_TEST(each_failed_allocation_of_learning_is_an_error)
{
    char *text = some_prose();
    fail_each_allocation(learn_and_close, text);
    memory_free(text);
}

START_TEST(each_failed_allocation_is_an_error) { fail_each_allocation(read_and_use, NULL); }

static const Test tests[] = {TEST(ids_are_those_of_tokenizers),
                             TEST(a_text_is_parted_by_the_rule),
                             TEST(any_bytes_come_back),
                             TEST(each_byte_has_a_subword_of_its_own),
                             TEST(special_subwords_are_names),
                             TEST(a_separator_in_a_text_is_that_of_tokenizers),
                             TEST(a_separator_that_is_cut_is_text),
                             TEST(without_a_separator_its_name_is_text),
                             TEST(a_huge_part_is_joined),
                             TEST(what_is_no_encoder_is_refused),
                             TEST(what_are_no_merges_is_refused),
                             TEST(merges_that_stand_first_go_first),
                             TEST(each_merge_is_of_the_most_frequent_pair),
                             TEST(what_was_learned_is_read_again),
                             TEST(each_failed_allocation_of_learning_is_an_error),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("text/gpt2", tests, sizeof tests / sizeof *tests, argc, argv);
}
