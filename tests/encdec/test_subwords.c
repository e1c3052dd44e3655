/* Subwords that are given or learned as BERT's: their ids, their files in a run, and files that are none. What is the
 * same for words, bytes and byte pairs is in test_data.c. */
#include "base/file.h"
#include "base/memory.h"
#include "encdec/builtin.h"
#include "encdec/cutting.h"
#include "encdec/data.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define FIXTURE(name) "tests/fixtures/" name

static const SubwordsOptions bert = {
    .type = SUBWORDS_WORDPIECE, .vocabulary = FIXTURE("wordpiece-vocab.txt"), .lower = true};
static const SubwordsOptions gpt2 = {
    .type = SUBWORDS_GPT2, .vocabulary = FIXTURE("gpt2-encoder.json"), .codes = FIXTURE("gpt2-vocab.bpe")};
static const SubwordsOptions pairs = {.type = SUBWORDS_BPE, .codes = FIXTURE("bpe/codes")};
static const SubwordsOptions kept_pairs = {
    .type = SUBWORDS_BPE, .codes = FIXTURE("bpe/codes"), .vocabulary = FIXTURE("bpe/subwords"), .threshold = 8};

/* From one text, which may have lines of both sides. */
static Subwords made(const SubwordsOptions *o, const Lines *text, Pool *pool, SubwordsSeen *seen)
{
    const SubwordsText texts[] = {{text, SOURCE}};
    Subwords p;
    Error e;
    ck_done(subwords_suit(o, &e) && subwords_learn(&p, o, texts, 1, pool, seen, &e), e);
    return p;
}

static Lines lines_of(const char *text, size_t size)
{
    char *copy = memory_get(size + 1, 1);
    Lines l;
    Error e;
    memcpy(copy, text, size);
    ck_done(lines_of_text(&l, "a text", copy, size, &e), e);
    return l;
}

static Lines lines_in(const char *path)
{
    char *text;
    size_t size;
    Lines l;
    Error e;
    ck_done(file_read(path, &text, &size, &e) && lines_of_text(&l, "a text", text, size, &e), e);
    return l;
}

static Ids cut(const Subwords *p, const char *text, size_t size)
{
    Ids ids = {0};
    Cutter c;
    Error e;
    ck_done(cutter_open(&c, p, &e) && cutter_ids(&c, SOURCE, (Line){text, size}, &ids, &e), e);
    cutter_close(&c);
    return ids;
}

static void expect_names(const Subwords *p, const char *text, const char *wanted)
{
    Ids ids = cut(p, text, strlen(text));
    Buffer names = {0};
    buffer_add(&names, "", 0);
    for (size_t i = 0; i < ids.count; i++) {
        buffer_add(&names, " ", i > 0);
        subwords_name(p, SOURCE, ids.id[i], &names);
    }
    ck_assert_str_eq(names.text, wanted);
    buffer_free(&names);
    ids_close(&ids);
}

static void expect_line(const Subwords *p, const char *text, size_t size, const char *wanted, size_t wanted_size)
{
    Ids ids = cut(p, text, size);
    Buffer line = {0};
    subwords_line(p, ids.id, ids.count, &line);
    ck_assert_msg(line.size == wanted_size && (!wanted_size || !memcmp(line.text, wanted, wanted_size)),
                  "'%s' for '%s'", line.text, text);
    buffer_free(&line);
    ids_close(&ids);
}

/* --- BERT's --- */

START_TEST(given_subwords_of_bert_come_after_the_two)
{
    static const char line[] = "The h\xC3\xA9llo, unaffable! \xE6\x9D\xB1 \xF0\x9F\x98\x80 [UNK] </s> <unk>";
    Subwords p = made(&bert, NULL, NULL, NULL);
    WordPiece w;
    Buffer own = {0};
    Error e;
    ck_done(wordpiece_read(&w, bert.vocabulary, true, &e) && wordpiece_encode(&w, line, strlen(line), &own, &e), e);
    ck_assert_uint_eq(p.count, w.subwords.count + 2);
    Ids ids = cut(&p, line, strlen(line));
    ck_assert_uint_eq(ids.count, own.size / sizeof(int32_t));
    size_t unknown = 0;
    for (size_t i = 0; i < ids.count; i++) {
        int32_t id;
        memcpy(&id, own.text + i * sizeof id, sizeof id);
        ck_assert_int_eq(ids.id[i], id == w.unknown ? UNKNOWN : id + 2);
        unknown += id == w.unknown;
    }
    ck_assert(unknown > 0 && unknown < ids.count);
    ids_close(&ids);
    buffer_free(&own);
    wordpiece_close(&w);
    subwords_close(&p);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(learnt_subwords_of_bert_are_as_many_as_said)
{
    static const char text[] = "low low lowest\nLow newest, widest newest!\n";
    Lines lines = lines_of(text, strlen(text));
    SubwordsOptions o = {.type = SUBWORDS_WORDPIECE, .size = 30};
    SubwordsSeen seen;
    Subwords p = made(&o, &lines, NULL, &seen);
    ck_assert_uint_eq(p.count, 30);
    ck_assert(seen.lines == 2 && seen.words == 9 && seen.different_words == 7 && seen.characters == 35);
    ck_assert_uint_eq(seen.different_characters, 12); /* l o w e s t L n i d , ! */
    expect_names(&p, "low zzz", "low <unk>");
    expect_line(&p, "Low widest, newest!", 19, "Low widest , newest !", 21);
    subwords_close(&p);
    o.lower = true;
    o.size = 0;
    p = made(&o, &lines, NULL, &seen);
    ck_assert_uint_eq(seen.different_words, 6);
    expect_names(&p, "LOW", "low");
    subwords_close(&p);
    Error e;
    o.size = 10;
    ck_assert(!subwords_learn(&p, &o, (const SubwordsText[]){{&lines, SOURCE}}, 1, NULL, NULL, &e));
    ck_assert_msg(strstr(e.text, "too small") && strstr(e.text, "--size"), "%s", e.text);
    o.size = 0;
    for (uint64_t n = 1;; n++) { /* a larger size does not help where memory is missing */
        memory_fail_at(n);
        const bool done = subwords_learn(&p, &o, (const SubwordsText[]){{&lines, SOURCE}}, 1, NULL, NULL, &e);
        memory_fail_at(0);
        if (done)
            break;
        ck_assert_msg(!strstr(e.text, "--size"), "%s", e.text);
    }
    subwords_close(&p);
    lines_close(&lines);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(moses_joins_what_bert_parts)
{
    static const char text[] = "Gut, \"sein Hund\" (3 kg).";
    Lines lines = lines_of(text, strlen(text));
    SubwordsOptions o = {.type = SUBWORDS_WORDPIECE};
    Error e;
    ck_done(tokens_open(&o.tokens, TOKENS_MOSES, (const char *[]){"en", "de"}, &e), e);
    Subwords p = made(&o, &lines, NULL, NULL);
    expect_line(&p, text, strlen(text), text, strlen(text));
    subwords_close(&p);
    lines_close(&lines);
}

/* --- GPT-2's --- */

START_TEST(subwords_of_gpt2_are_those_of_its_files_and_lose_nothing)
{
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    Subwords p = made(&gpt2, NULL, NULL, NULL);
    Gpt2 g;
    Buffer own = {0};
    Error e;
    ck_done(gpt2_read(&g, gpt2.vocabulary, gpt2.codes, &e) && gpt2_encode(&g, all, sizeof all, &own, &e), e);
    ck_assert_uint_eq(p.count, g.subwords.count + 2);
    Ids ids = cut(&p, all, sizeof all);
    ck_assert_uint_eq(ids.count, own.size / sizeof(int32_t));
    for (size_t i = 0; i < ids.count; i++) {
        int32_t id;
        memcpy(&id, own.text + i * sizeof id, sizeof id);
        ck_assert_int_eq(ids.id[i], id + 2);
    }
    ids_close(&ids);
    expect_line(&p, all, sizeof all, all, sizeof all);
    expect_line(&p, "  a\tb ", 6, "  a\tb ", 6);
    expect_line(&p, "", 0, "", 0);
    Buffer line = {0};
    subwords_line(&p, (int32_t[]){UNKNOWN, 2 + g.byte['x'], END, 5}, 4, &line);
    ck_assert_str_eq(line.text, "?x");
    buffer_free(&line);
    buffer_free(&own);
    gpt2_close(&g);
    subwords_close(&p);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- byte pairs and words that are given --- */

/* The text of fixtures/bpe.py, whose lines have no white space but spaces and ends of lines that part words here, too.
 */
START_TEST(given_byte_pairs_are_applied_as_they_are)
{
    const SubwordsOptions *o = _i ? &kept_pairs : &pairs;
    static const char *const lines[] = {"a b ab aab", "bab aabab abba", "aaaabbbb"};
    Lines text = lines_of("a b ab aab\nbab aabab abba\naaaabbbb\n", 34);
    Subwords p = made(o, &text, NULL, NULL);
    Vocabulary kept;
    BpeCoder c;
    Error e;
    ck_done(bpe_subwords_read(&kept, kept_pairs.vocabulary, &e), e);
    ck_done(bpe_coder_open(&c, &p.bpe, _i ? &kept : NULL, 8, &e), e);
    for (size_t i = 0; i < 3; i++) {
        Buffer applied = {0};
        ck_done(bpe_apply(&c, lines[i], strlen(lines[i]), &applied, &e), e);
        expect_names(&p, lines[i], applied.text);
        buffer_free(&applied);
    }
    ck_assert(p.bpe.count > 100 && (p.kept.count > 0) == (_i == 1));
    bpe_coder_close(&c);
    vocabulary_close(&kept);
    subwords_close(&p);
    lines_close(&text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(given_words_are_all_the_words)
{
    const char *folder = test_folder();
    char path[700];
    write_in(folder, "words", "b 3\r\na 9\n</s> 7\n<unk> 2\nc 3", 27);
    snprintf(path, sizeof path, "%s/words", folder);
    Subwords p = made(&(SubwordsOptions){.type = SUBWORDS_WORDS, .size = 3, .vocabulary = path}, NULL, NULL, NULL);
    ck_assert_uint_eq(p.count, 5);
    expect_names(&p, "a b c d </s>", "a b c <unk> <unk>");
    Ids ids = cut(&p, "a b c", 5);
    ck_assert_mem_eq(ids.id, ((const int32_t[]){2, 3, 4}), 3 * sizeof *ids.id);
    ids_close(&ids);
    subwords_close(&p);
}

/* --- runs --- */

START_TEST(given_subwords_are_stored_in_the_run)
{
    const SubwordsOptions *const options[] = {&bert, &gpt2, &pairs, &kept_pairs};
    SubwordsOptions o = *options[_i];
    Lines text = lines_in(FIXTURE("bpe/text"));
    const char *folder = test_folder();
    Subwords p = made(&o, &text, NULL, NULL), again;
    Error e;
    ck_done(subwords_write(&p, folder, &e), e);
    o.codes = o.codes ? "/no/such/codes" : NULL; /* a run stands on its own */
    o.vocabulary = o.vocabulary ? "/no/such/vocabulary" : NULL;
    ck_done(subwords_read(&again, &o, folder, &e), e);
    ck_assert_uint_eq(p.count, again.count);
    for (size_t i = 0; i < text.count; i++) {
        Line line = lines_at(&text, i);
        Ids one = cut(&p, line.text, line.size), other = cut(&again, line.text, line.size);
        ck_assert_uint_eq(one.count, other.count);
        ck_assert(!one.count || !memcmp(one.id, other.id, one.count * sizeof *one.id));
        ids_close(&one);
        ids_close(&other);
    }
    subwords_close(&p);
    subwords_close(&again);
    lines_close(&text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- threads --- */

static Lines builtin_lines(size_t count)
{
    Lines l = {0};
    Error e;
    for (size_t i = 0; i < count; i++) {
        Buffer english = {0}, german = {0};
        builtin_pair(&english, &german, i);
        ck_done(lines_add(&l, english.text, english.size, &e) && lines_add(&l, german.text, german.size, &e), e);
        if (i % 7 == 0)
            ck_done(lines_add(&l, "", 0, &e) && lines_add(&l, "\xFF \t x\0y (a)", 10, &e), e);
        buffer_free(&english);
        buffer_free(&german);
    }
    return l;
}

/* All ids of a text, and where each line's begin. */
static Ids cut_all(const Subwords *p, const Lines *lines, Pool *pool)
{
    Ids all = {0};
    Cutting *c;
    Error e;
    ck_done(cutting_open(&c, p, pool, &e), e);
    for (size_t first = 0, most = cutting_most(c); first < lines->count; first += most) {
        size_t many = lines->count - first < most ? lines->count - first : most;
        ck_done(cutting_run(c, SOURCE, lines, first, many, &e), e);
        for (size_t i = 0; i < many; i++) {
            size_t count;
            const int32_t *ids = cutting_ids(c, SOURCE, i, &count);
            ck_done(ids_add_all(&all, ids, count, &e) && ids_add(&all, -1, &e), e);
        }
    }
    cutting_close(c);
    return all;
}

START_TEST(any_number_of_threads_makes_the_same)
{
    static const size_t threads[] = {2, 3, 7};
    static const SubwordsOptions learnt = {.type = SUBWORDS_BPE, .merges = 200};
    static const SubwordsOptions words = {.type = SUBWORDS_WORDS, .size = 50};
    static const SubwordsOptions subwords = {.type = SUBWORDS_WORDPIECE, .size = 150};
    const SubwordsOptions *const options[] = {&learnt, &words, &subwords, &gpt2, &kept_pairs};
    SubwordsOptions o = *options[_i];
    Lines lines = builtin_lines(2500);
    Error e;
    if (_i < 2)
        ck_done(tokens_open(&o.tokens, TOKENS_MOSES, (const char *[]){"en", "de"}, &e), e);
    SubwordsSeen seen, also;
    Subwords alone = made(&o, &lines, NULL, &seen);
    Ids ids = cut_all(&alone, &lines, NULL);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        Pool *pool;
        ck_done(pool_open(&pool, threads[i], false, &e), e);
        Subwords p = made(&o, &lines, pool, &also);
        ck_assert_uint_eq(p.count, alone.count);
        ck_assert(seen.words == also.words && seen.characters == also.characters && seen.lines == also.lines);
        ck_assert_uint_eq(seen.met.count, also.met.count);
        subwords_seen_close(&also);
        ck_assert_uint_eq(p.bpe.count, alone.bpe.count);
        Ids others = cut_all(&p, &lines, pool);
        ck_assert_uint_eq(ids.count, others.count);
        ck_assert(!memcmp(ids.id, others.id, ids.count * sizeof *ids.id));
        ids_close(&others);
        subwords_close(&p);
        pool_close(pool);
    }
    Ids first = cut(&alone, lines_at(&lines, 5).text, lines_at(&lines, 5).size);
    size_t at = 0;
    for (size_t line = 0; line < 5; at++)
        line += ids.id[at] == -1;
    ck_assert(first.count && !memcmp(first.id, ids.id + at, first.count * sizeof *first.id));
    ids_close(&first);
    ids_close(&ids);
    subwords_close(&alone);
    subwords_seen_close(&seen);
    lines_close(&lines);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- files that are none --- */

typedef struct Odd {
    SubwordType type;
    const char *vocabulary, *codes; /* what is in the file; NULL: it is not given */
    const char *says;
} Odd;

static const Odd odd[] = {
    {SUBWORDS_WORDS, "", NULL, "has no words"},
    {SUBWORDS_WORDS, "a 1\nb\n", NULL, "line 2: expected a subword, a space and its count"},
    {SUBWORDS_WORDS, "a 1\nb 2\na 3\n", NULL, "line 3: 'a' appears twice"},
    {SUBWORDS_WORDS, "a 1\n\nb 2\n", NULL, "line 2"},
    {SUBWORDS_WORDS, "a 99999999999999999999999\n", NULL, "line 1"},
    {SUBWORDS_WORDPIECE, "", NULL, "has no line [UNK]"},
    {SUBWORDS_WORDPIECE, "a\n##b\n", NULL, "has no line [UNK]"},
    {SUBWORDS_WORDPIECE, "[UNK]\na\r\na\n", NULL, "line 3: 'a' appears twice, first in line 2"},
    {SUBWORDS_WORDPIECE, "[UNK]\n\na\n", NULL, "line 2: a subword is missing"},
    {SUBWORDS_WORDPIECE, "[UNK]\n\r\na\n", NULL, "line 2: a subword is missing"},
    {SUBWORDS_BPE, NULL, "", "is empty"},
    {SUBWORDS_BPE, NULL, "#version: 0.9\na b\n", "line 1"},
    {SUBWORDS_BPE, NULL, "#version: 0.2\na b\nab\n", "line 3: a merge is two subwords"},
    {SUBWORDS_BPE, NULL, "#version: 0.2\na b\n\xFF x\n", "line 3: a merge is two subwords in UTF-8"},
    {SUBWORDS_BPE, "", "#version: 0.2\na b\n", "has no subword with a count of at least 0"},
    {SUBWORDS_BPE, "a@@ 5\nb 3\na@@ 2\n", "#version: 0.2\na b\n", "line 3: 'a@@' appears twice"},
    {SUBWORDS_GPT2, "", "#version: 0.2\n", "line 1"},
    {SUBWORDS_GPT2, "{\"a\": 0", "#version: 0.2\n", "line 1"},
    {SUBWORDS_GPT2, "[1, 2]", "#version: 0.2\n", "is not a JSON object of subwords and their ids"},
    {SUBWORDS_GPT2, "{\"a\": 0, \"a\": 1}", "#version: 0.2\n", "twice"},
    {SUBWORDS_GPT2, "{\"a\": 0, \"b\": 0}", "#version: 0.2\n", "have the same id 0"},
    {SUBWORDS_GPT2, "{\"a\": 0, \"b\": 7}", "#version: 0.2\n", "is not a number from 0 to 1"},
    {SUBWORDS_GPT2, "{\"a\": 0, \"b\": 1}", "#version: 0.2\n", "has no subword for byte"},
};

START_TEST(odd_files_are_refused_in_one_line)
{
    const Odd *file = &odd[_i];
    const char *folder = test_folder();
    char vocabulary[700], codes[700];
    Subwords p;
    Error e;
    snprintf(vocabulary, sizeof vocabulary, "%s/vocabulary", folder);
    snprintf(codes, sizeof codes, "%s/codes", folder);
    write_in(folder, "vocabulary", file->vocabulary, file->vocabulary ? strlen(file->vocabulary) : 0);
    write_in(folder, "codes", file->codes, file->codes ? strlen(file->codes) : 0);
    const SubwordsOptions o = {
        .type = file->type, .vocabulary = file->vocabulary ? vocabulary : NULL, .codes = file->codes ? codes : NULL};
    ck_done(subwords_suit(&o, &e), e);
    ck_assert(!subwords_learn(&p, &o, NULL, 0, NULL, NULL, &e));
    ck_assert_msg(strstr(e.text, file->says) && strstr(e.text, folder) && !strchr(e.text, '\n'), "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* GPT-2's merges belong to its subwords; each line that does not is named. */
START_TEST(merges_of_other_subwords_are_refused)
{
    static const struct {
        const char *line, *says;
    } lines[] = {{"nowhere atall\n", "line 2: the encoder has no subword"},
                 {"h\n", "line 2: a merge is two subwords"},
                 {"h e\r\nh e\r\n", "line 3: this merge appears twice"},
                 {"\n", "line 2"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *folder = test_folder();
        char text[100], path[700];
        Subwords p;
        Error e;
        int size = snprintf(text, sizeof text, "#version: 0.2\n%s", lines[i].line);
        write_in(folder, "merges", text, (size_t)size);
        snprintf(path, sizeof path, "%s/merges", folder);
        const SubwordsOptions o = {.type = SUBWORDS_GPT2, .vocabulary = gpt2.vocabulary, .codes = path};
        ck_assert(!subwords_learn(&p, &o, NULL, 0, NULL, NULL, &e));
        ck_assert_msg(strstr(e.text, lines[i].says), "%s", e.text);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(files_that_do_not_fit_the_type_are_refused)
{
    static const struct {
        SubwordsOptions options;
        const char *says;
    } wrong[] = {{{.type = SUBWORDS_WORDS, .codes = "x"}, "--type words does not use"},
                 {{.type = SUBWORDS_BYTES, .codes = "x"}, "--type bytes does not use"},
                 {{.type = SUBWORDS_WORDPIECE, .codes = "x"}, "--type wordpiece does not use"},
                 {{.type = SUBWORDS_BYTES, .vocabulary = "x"}, "256 bytes"},
                 {{.type = SUBWORDS_BPE, .vocabulary = "x"}, "needs the --codes"},
                 {{.type = SUBWORDS_BPE, .codes = "x", .threshold = 3}, "--vocabulary-threshold"},
                 {{.type = SUBWORDS_WORDS, .vocabulary = "x", .threshold = 3}, "--vocabulary-threshold"},
                 {{.type = SUBWORDS_GPT2}, "--vocabulary encoder.json and --codes vocab.bpe"},
                 {{.type = SUBWORDS_GPT2, .codes = "x"}, "--vocabulary encoder.json and --codes vocab.bpe"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Error e;
        ck_assert(!subwords_suit(&wrong[i].options, &e));
        ck_assert_msg(strstr(e.text, wrong[i].says), "%s", e.text);
    }
}

/* --- no memory --- */

static const char *place;

static bool make_and_cut(void *argument, Error *e)
{
    const SubwordsOptions *o = argument;
    Lines text = {0};
    Subwords p = {0}, again = {0};
    Cutting *c = NULL;
    SubwordsSeen seen = {0};
    size_t count;
    bool done = lines_add(&text, "low lower", 9, e) && lines_add(&text, "a b ab, aab!", 12, e) &&
                subwords_learn(&p, o, (const SubwordsText[]){{&text, SOURCE}}, 1, NULL, &seen, e) &&
                subwords_write(&p, place, e) && subwords_read(&again, o, place, e) &&
                cutting_open(&c, &again, NULL, e) && cutting_run(c, SOURCE, &text, 0, 2, e);
    if (done) {
        Buffer line = {0};
        const int32_t *ids = cutting_ids(c, SOURCE, 1, &count);
        subwords_line(&again, ids, count, &line);
        done = !line.failed || fail(e, "no memory for a line");
        buffer_free(&line);
    }
    cutting_close(c);
    subwords_close(&p);
    subwords_seen_close(&seen);
    subwords_close(&again);
    lines_close(&text);
    return done;
}

START_TEST(without_memory_there_are_no_subwords)
{
    static const SubwordsOptions learnt = {.type = SUBWORDS_WORDPIECE, .size = 40};
    const SubwordsOptions *const options[] = {&learnt, &kept_pairs, &bert};
    SubwordsOptions o = *options[_i];
    place = test_folder();
    fail_each_allocation(make_and_cut, &o);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(given_subwords_of_bert_come_after_the_two),
                                 TEST(learnt_subwords_of_bert_are_as_many_as_said),
                                 TEST(moses_joins_what_bert_parts),
                                 TEST(subwords_of_gpt2_are_those_of_its_files_and_lose_nothing),
                                 TEST_LOOP(given_byte_pairs_are_applied_as_they_are, 2),
                                 TEST(given_words_are_all_the_words),
                                 TEST_LOOP(given_subwords_are_stored_in_the_run, 4),
                                 TEST_LOOP(any_number_of_threads_makes_the_same, 5),
                                 TEST_LOOP(odd_files_are_refused_in_one_line, sizeof odd / sizeof *odd),
                                 TEST(merges_of_other_subwords_are_refused),
                                 TEST(files_that_do_not_fit_the_type_are_refused),
                                 TEST_LOOP(without_memory_there_are_no_subwords, 3)};
    test_folders_in_memory();
    return suite_run("encdec/subwords", tests, sizeof tests / sizeof *tests, argc, argv);
}
