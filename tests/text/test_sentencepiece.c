/* SentencePiece: equal to the package sentencepiece on awkward lines (tests/fixtures/pieces.py), what becomes of bytes that are
 * no characters and of huge lines, and files that are damaged. */
#include "base/file.h"
#include "base/memory.h"
#include "core/text/sentencepiece.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "tests/fixtures/pieces/"
enum { MODELS = 5, UNIGRAM = 0, BYTES, BPE };
static const char *const models[MODELS] = {FOLDER "unigram.model", FOLDER "bytes.model", FOLDER "bpe.model",
                                           FOLDER "bpe-bytes.model", FOLDER "overlap.model"};

static SentencePiece opened(size_t model)
{
    SentencePiece s;
    Error e;
    ck_done(sentencepiece_read(&s, models[model], &e), e);
    return s;
}

/* Ids of a text, and the text that its pieces become. */
static void cut(const SentencePiece *s, Bytes text, Cuts *c, Buffer *ids, Buffer *back)
{
    Error e;
    ck_done(sentencepiece_cut(s, text.at, text.size, c, &e), e);
    Bytes *pieces = memory_get(c->count, sizeof *pieces);
    ck_assert_ptr_nonnull(pieces);
    ids->size = back->size = 0;
    for (size_t i = 0; i < c->count; i++) {
        buffer_add(ids, &c->list[i].id, sizeof c->list[i].id);
        pieces[i] = s->pieces[c->list[i].id].text;
    }
    ck_done(sentencepiece_join(s, pieces, c->count, back, &e), e);
    memory_free(pieces);
}

START_TEST(ids_and_texts_are_those_of_sentencepiece)
{
    Cases cases = cases_open("pieces/texts");
    SentencePiece s = opened((size_t)_i);
    Cuts c = {0};
    Buffer ids = {0}, back = {0};
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i], *text = case_value(one, 0);
        cut(&s, (Bytes){text->text, text->size}, &c, &ids, &back);
        case_expect_ids(one, 1 + 2 * (size_t)_i, &ids);
        case_expect_text(one, 2 + 2 * (size_t)_i, &back);
    }
    buffer_free(&ids);
    buffer_free(&back);
    cuts_close(&c);
    sentencepiece_close(&s);
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* What the pieces of a text are, each with a bar behind it. */
static const char *pieces_of(size_t model, const char *text, size_t size)
{
    static char all[2000];
    SentencePiece s = opened(model);
    Cuts c = {0};
    Error e;
    ck_done(sentencepiece_cut(&s, text, size, &c, &e), e);
    all[0] = 0;
    for (size_t i = 0; i < c.count; i++) {
        const size_t used = strlen(all);
        ck_assert_uint_lt(used + c.list[i].text.size + 1, sizeof all);
        snprintf(all + used, sizeof all - used, "%.*s|", (int)c.list[i].text.size, c.list[i].text.at);
    }
    cuts_close(&c);
    sentencepiece_close(&s);
    return all;
}

START_TEST(a_byte_that_is_no_character_is_the_one_that_says_so)
{
    ck_assert_str_eq(pieces_of(UNIGRAM, "a \xFF\x80 a", 6),
                     SPACE_MARK "a|" SPACE_MARK "|\xEF\xBF\xBD\xEF\xBF\xBD|" SPACE_MARK "a|");
    ck_assert_str_eq(pieces_of(BYTES, "a\xE4\xB8", 3), SPACE_MARK "a|<0xEF>|<0xBF>|<0xBD>|<0xEF>|<0xBF>|<0xBD>|");
    ck_assert_str_eq(pieces_of(BYTES, "a\0a", 3), SPACE_MARK "a|<0x00>|a|");
}

START_TEST(pieces_of_users_are_cut_before_the_rule_sees_them)
{
    ck_assert_str_eq(pieces_of(UNIGRAM, "xe.g.e\xCC\x81  the", 13), SPACE_MARK "|x|e.g.|\xC3\xA9|" SPACE_MARK "|the|");
    ck_assert_str_eq(pieces_of(UNIGRAM, "<2de>", 5), SPACE_MARK "|<|2|d|e|>|");
}

START_TEST(a_huge_line_has_the_pieces_of_its_words)
{
    enum { WORDS = 100000 };
    SentencePiece s = opened((size_t)_i);
    Cuts c = {0};
    Error e;
    char *text = memory_get(6, WORDS);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < WORDS; i++)
        memcpy(text + 6 * i, "model ", 6);
    ck_done(sentencepiece_cut(&s, "model", 5, &c, &e), e);
    const size_t each = c.count;
    const int32_t last = c.list[each - 1].id;
    ck_done(sentencepiece_cut(&s, text, 6 * WORDS - 1, &c, &e), e);
    ck_assert_uint_eq(c.count, each * WORDS);
    ck_assert_int_eq(c.list[each * WORDS - 1].id, last);
    memory_free(text);
    cuts_close(&c);
    sentencepiece_close(&s);
}

/* --- files --- */

static const char *written(const char *bytes, size_t size)
{
    static char path[700];
    Error e;
    snprintf(path, sizeof path, "%s/damaged.model", test_folder());
    ck_done(file_write(path, bytes, size, &e), e);
    return path;
}

/* It opens, and cuts a text; or it is refused in one line. */
static bool survives(const char *bytes, size_t size)
{
    static const char text[] = "The models' weights,  fi\xEF\xAC\x81 \xE4\xB8\xAD \xFF the<br />";
    SentencePiece s;
    Cuts c = {0};
    Error e = {{0}};
    const char *path = written(bytes, size);
    const bool fine = sentencepiece_read(&s, path, &e);
    ck_assert(fine || (strstr(e.text, path) && !strchr(e.text, '\n')));
    if (fine) {
        ck_done(sentencepiece_cut(&s, text, sizeof text - 1, &c, &e), e);
        cuts_close(&c);
        sentencepiece_close(&s);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
    return fine;
}

START_TEST(files_that_are_cut_off_or_changed_are_refused_in_one_line_or_read_safely)
{
    char *bytes;
    size_t size, refused = 0;
    Error e;
    ck_done(file_read(models[_i], &bytes, &size, &e), e);
    static char changed[20000];
    ck_assert_uint_lt(size, sizeof changed);
    memcpy(changed, bytes, size);
    memory_free(bytes);
    for (size_t cut_at = 0; cut_at < size; cut_at += 37)
        refused += !survives(changed, cut_at);
    ck_assert_uint_gt(refused, size / 37 / 2);
    for (size_t at = 0; at < size; at += 29) {
        const char before = changed[at];
        changed[at] = (char)(before ^ (1 << at % 8));
        survives(changed, size);
        changed[at] = before;
    }
}

/* A message: pieces and, after them, what the trainer says. */
#define UNK "\x0A\x07\x0A\x03<u>\x18\x02"
#define A                                                                                                              \
    "\x0A\x03\x0A\x01"                                                                                                 \
    "a"
#define TRAINED  "\x12\x02\x18"
#define RULED(s) "\x1A" s

START_TEST(what_is_no_model_is_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } faults[] = {{"", 0, "is no model of SentencePiece"},
                  {"hello", 5, "is no model of SentencePiece"},
                  {A, 5, "has no piece for what is unknown"},
                  {UNK UNK A, 23, "pieces 0 and 1 are both unknown"},
                  {UNK A A, 19, "piece 'a' is there twice"},
                  {UNK "\x0A\x02\x0A\x00", 13, "piece 1 is empty"},
                  {UNK "\x0A\x03\x0A\x01\x00", 14, "piece 1 is no text"},
                  {UNK A TRAINED "\x03", 18, "its model is of type word; unigram and bpe can be read"},
                  {UNK A TRAINED "\x63", 18, "its model is of type unknown"},
                  {UNK "\x0A\x08\x0A\x01"
                       "a\x15\x00\x00\xC0\x7F",
                   19, "the score of piece 1 is none"},
                  {UNK "\x0A\x05\x0A\x01"
                       "a\x18\x09",
                   16, "the type of piece 1 is none"},
                  {UNK "\x0A\x05\x0A\x01"
                       "a\x18\x06",
                   16, "piece 1 is called a byte, and is none"},
                  {UNK "\x0A\x05\x0A\x01"
                       "a\x18\x05" TRAINED "\x02",
                   20, "piece 1 is unused"},
                  {UNK A "\x12\x03\x98\x02\x01", 19, "has no piece for byte 0"},
                  {UNK A RULED("\x04\x12\x02xx"), 20, "its rule for characters is damaged"},
                  {UNK A RULED("\x02\x12\x09"), 18, "its rule for texts is damaged"},
                  {UNK A "\x1A\x09", 16, "is damaged after its pieces"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        SentencePiece s;
        Error e;
        const char *path = written(faults[i].bytes, faults[i].size);
        ck_assert_msg(!sentencepiece_read(&s, path, &e), "fault %zu was taken", i);
        ck_assert_msg(strstr(e.text, faults[i].words) && strstr(e.text, path), "fault %zu: '%s'", i, e.text);
        ck_assert_uint_eq(memory_in_use(), 0);
    }
}

static bool read_and_cut(void *context, Error *e)
{
    SentencePiece s;
    Cuts c = {0};
    Buffer back = {0};
    const Bytes bytes = {"<0x41>", 6};
    if (!sentencepiece_read(&s, context, e))
        return false;
    const bool fine = sentencepiece_cut(&s, "the word \xFF", 10, &c, e) && sentencepiece_join(&s, &bytes, 1, &back, e);
    buffer_free(&back);
    cuts_close(&c);
    sentencepiece_close(&s);
    return fine;
}

START_TEST(each_failed_allocation_is_an_error) { fail_each_allocation(read_and_cut, (void *)(uintptr_t)models[_i]); }

static const Test tests[] = {
    TEST_LOOP(ids_and_texts_are_those_of_sentencepiece, MODELS),
    TEST(a_byte_that_is_no_character_is_the_one_that_says_so),
    TEST(pieces_of_users_are_cut_before_the_rule_sees_them),
    TEST_LOOP(a_huge_line_has_the_pieces_of_its_words, 3),
    TEST_LOOP(files_that_are_cut_off_or_changed_are_refused_in_one_line_or_read_safely, MODELS),
    TEST(what_is_no_model_is_refused),
    TEST_LOOP(each_failed_allocation_is_an_error, MODELS)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("text/sentencepiece", tests, sizeof tests / sizeof *tests, argc, argv);
}
