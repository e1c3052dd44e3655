/* Subwords and pairs: what a network gets to see of sentences. */
#define _XOPEN_SOURCE 700
#include "base/file.h"
#include "base/memory.h"
#include "encdec/data.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

static Lines lines_of(const char *text)
{
    Lines l;
    Error e;
    ck_done(lines_of_text(&l, "a text", memory_string(text), strlen(text), &e), e);
    return l;
}

/* size: of words, or merges. */
static Subwords learnt(SubwordType type, size_t size, const char *one, const char *two)
{
    Lines source = lines_of(one), target = lines_of(two);
    const SubwordsText texts[] = {{&source, SOURCE}, {&target, TARGET}};
    Subwords p;
    Error e;
    const SubwordsOptions o = {.type = type, .size = size, .merges = size};
    ck_done(subwords_learn(&p, &o, texts, SIDES_USED, NULL, NULL, &e), e);
    lines_close(&source);
    lines_close(&target);
    return p;
}

static void expect_ids(const Subwords *p, const char *text, size_t size, const int32_t *wanted, size_t count)
{
    Ids ids = {0};
    Cutter c;
    Error e;
    ck_done(cutter_open(&c, p, &e) && cutter_ids(&c, SOURCE, (Line){text, size}, &ids, &e), e);
    cutter_close(&c);
    ck_assert_msg(ids.count == count && (!count || !memcmp(ids.id, wanted, count * sizeof *wanted)), "ids of '%s'",
                  text);
    ids_close(&ids);
}

static void expect_text(const Subwords *p, const int32_t *ids, size_t count, const char *wanted)
{
    Buffer b = {0};
    subwords_line(p, ids, count, &b);
    ck_assert_str_eq(b.text ? b.text : "", wanted);
    buffer_free(&b);
}

/* --- subwords --- */

START_TEST(words_are_numbered_by_how_frequent_they_are)
{
    Subwords p = learnt(SUBWORDS_WORDS, 0, "b a c\nb", "b </s> a <unk>");
    ck_assert_uint_eq(p.count, 5); /* and neither </s> nor <unk> of the text is a word */
    expect_ids(&p, "b a c", 5, (int32_t[]){2, 3, 4}, 3);
    expect_ids(&p, " never  b ", 10, (int32_t[]){UNKNOWN, 2}, 2);
    expect_ids(&p, "a </s> <unk>", 12, (int32_t[]){3, UNKNOWN, UNKNOWN}, 3);
    expect_ids(&p, "a\0b", 3, (int32_t[]){3, 2}, 2);
    expect_ids(&p, "", 0, (int32_t[]){0}, 0);
    expect_text(&p, (int32_t[]){2, 4, UNKNOWN, END, 3}, 5, "b c <unk>");
    expect_text(&p, (int32_t[]){END}, 1, "");
    subwords_close(&p);
    p = learnt(SUBWORDS_WORDS, 4, "b a c\nb", "b a");
    ck_assert_uint_eq(p.count, 4); /* the most frequent ones */
    expect_ids(&p, "b a c", 5, (int32_t[]){2, 3, UNKNOWN}, 3);
    subwords_close(&p);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(bytes_are_all_there_and_come_back)
{
    char all[256];
    int32_t wanted[256];
    Subwords p = learnt(SUBWORDS_BYTES, 0, "x", "y");
    ck_assert_uint_eq(p.count, 258);
    for (int i = 0; i < 256; i++) {
        all[i] = (char)i;
        wanted[i] = i + 2;
    }
    expect_ids(&p, all, 256, wanted, 256);
    Buffer b = {0};
    subwords_line(&p, wanted, 256, &b);
    ck_assert(b.size == 256 && !memcmp(b.text, all, 256));
    buffer_free(&b);
    expect_text(&p, (int32_t[]){'a' + 2, UNKNOWN, END, 'b' + 2}, 4, "a?");
    subwords_close(&p);
}

START_TEST(byte_pairs_cut_words_and_join_them_again)
{
    Subwords p = learnt(SUBWORDS_BPE, 3, "low low lowest\nlow", "newest\twidest newest\n");
    static const char *const lines[] = {"low newest", "lowlow  west </s>", "", "new x low", "west\tlow"};
    static const char *const joined[] = {"low newest", "lowlow west", "", "new <unk> low", "west low"};
    for (size_t i = 0; i < 5; i++) {
        Ids ids = {0};
        Cutter c;
        Error e;
        Buffer b = {0};
        ck_done(cutter_open(&c, &p, &e) && cutter_ids(&c, SOURCE, (Line){lines[i], strlen(lines[i])}, &ids, &e), e);
        subwords_line(&p, ids.id, ids.count, &b);
        ck_assert_msg(!strncmp(b.text ? b.text : "", joined[i], strlen(joined[i])), "'%s' for '%s'", b.text, lines[i]);
        for (size_t k = 0; k < ids.count; k++)
            ck_assert(ids.id[k] != END && (size_t)ids.id[k] < p.count);
        buffer_free(&b);
        cutter_close(&c);
        ids_close(&ids);
    }
    subwords_close(&p);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Raw text in, raw text out, in each side's own way: 's is a word in English alone. */
START_TEST(marks_are_words_of_moses_and_join_their_words_again)
{
    static const char *const lines[SIDES_USED] = {"Well, \"the man's dog\" isn't mine.",
                                                  "Gut, \"sein Hund\" (3,5 kg)."};
    Lines source = lines_of(lines[SOURCE]), target = lines_of(lines[TARGET]);
    const SubwordsText texts[] = {{&source, SOURCE}, {&target, TARGET}};
    const size_t words[] = {12, 11};
    SubwordsOptions o = {.type = (SubwordType)_i, .merges = 100};
    Subwords p;
    Error e;
    ck_done(tokens_open(&o.tokens, TOKENS_MOSES, (const char *[]){"en", "de"}, &e) &&
                subwords_learn(&p, &o, texts, SIDES_USED, NULL, NULL, &e),
            e);
    for (size_t side = 0; side < SIDES_USED; side++) {
        Cutter c;
        Ids ids = {0};
        ck_done(cutter_open(&c, &p, &e) && cutter_ids(&c, side, lines_at(texts[side].lines, 0), &ids, &e), e);
        if (_i == SUBWORDS_WORDS)
            ck_assert_uint_eq(ids.count, words[side]);
        for (size_t i = 0; i < ids.count; i++)
            ck_assert_int_gt(ids.id[i], END);
        if (side == TARGET)
            expect_text(&p, ids.id, ids.count, lines[TARGET]);
        ids_close(&ids);
        cutter_close(&c);
    }
    subwords_close(&p);
    lines_close(&source);
    lines_close(&target);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_language_that_moses_does_not_know_is_refused)
{
    Tokens t;
    Error e;
    ck_assert(!tokens_open(&t, TOKENS_MOSES, (const char *[]){"en", "cs"}, &e));
    ck_assert(strstr(e.text, "'cs'") && strstr(e.text, "--tokens spaces"));
    ck_done(tokens_open(&t, TOKENS_SPACES, (const char *[]){"en", "cs"}, &e), e);
}

START_TEST(subwords_have_names)
{
    static const char *const words[] = {"<unk>", "</s>", "b", "a"}, *const bytes[] = {"<unk>", "</s>", "0x00", "0x01"};
    Subwords p[] = {learnt(SUBWORDS_WORDS, 0, "b a", "b"), learnt(SUBWORDS_BYTES, 0, "", "")};
    for (int32_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 2; k++) {
            Buffer b = {0};
            subwords_name(&p[k], TARGET, i, &b);
            ck_assert_str_eq(b.text, k ? bytes[i] : words[i]);
            buffer_free(&b);
        }
    subwords_close(&p[0]);
    subwords_close(&p[1]);
}

START_TEST(subwords_are_stored_in_the_run)
{
    const char *folder = test_folder();
    Error e;
    for (int type = SUBWORDS_WORDS; type <= SUBWORDS_BPE; type++) {
        Subwords p = learnt((SubwordType)type, 0, "b a c\nb", "ä b \xff"), again;
        ck_done(subwords_write(&p, folder, &e), e);
        ck_done(subwords_read(&again, &(SubwordsOptions){.type = (SubwordType)type}, folder, &e), e);
        ck_assert_uint_eq(p.count, again.count);
        for (size_t i = 0; i < p.count; i++) {
            Buffer one = {0}, other = {0};
            subwords_name(&p, SOURCE, (int32_t)i, &one);
            subwords_name(&again, SOURCE, (int32_t)i, &other);
            ck_assert_str_eq(one.text, other.text);
            buffer_free(&one);
            buffer_free(&other);
        }
        subwords_close(&p);
        subwords_close(&again);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_vocabulary_without_an_end_of_sentence_is_refused)
{
    const char *folder = test_folder();
    static const char *const files[] = {"<unk>\t0\n", "<unk>\t0\na\t3\n", "a\t3\n", ""};
    Subwords p;
    Error e;
    for (size_t i = 0; i < 4; i++) {
        write_in(folder, "vocabulary.tsv", files[i], strlen(files[i]));
        ck_assert(!subwords_read(&p, &(SubwordsOptions){.type = SUBWORDS_WORDS}, folder, &e));
        ck_assert_msg(strstr(e.text, "vocabulary"), "%s", e.text);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- pairs --- */

static const char *folder;

static BitextOptions data_of(const char *source, const char *target)
{
    static char path[700];
    folder = test_folder();
    snprintf(path, sizeof path, "%s", folder);
    write_in(folder, "train.en", source, strlen(source));
    write_in(folder, "train.de", target, strlen(target));
    write_in(folder, "val.en", "a b\n\na\n", 7);
    write_in(folder, "val.de", "x\ny y\n\n", 7);
    return (BitextOptions){.source = {.path = path, .language = {"en", "de"}}, .longest = 3, .context = 5};
}

static void open_text(Bitext *b, const BitextOptions *o)
{
    Error e;
    ck_done(bitext_open(b, o, &e), e);
}

START_TEST(each_side_ends_in_the_end_of_a_sentence)
{
    BitextOptions o = data_of("a b\na\n", "x\nx y z\n");
    Bitext b;
    open_text(&b, &o);
    const SentencePairs *p = &b.parts[SPLIT_TRAIN];
    const Vocabulary *v = &b.subwords->vocabulary;
    int32_t id[5];
    for (size_t i = 0; i < 5; i++)
        id[i] = vocabulary_find(v, (const char[]){"abxyz"[i], 0}, 1);
    ck_assert_uint_eq(p->count, 2);
    const int32_t source[] = {id[0], id[1], END, id[0], END}, target[] = {id[2], END, id[2], id[3], id[4], END};
    ck_assert_mem_eq(p->ids[SOURCE], source, sizeof source);
    ck_assert_mem_eq(p->ids[TARGET], target, sizeof target);
    ck_assert(p->start[SOURCE][1] == 3 && p->start[SOURCE][2] == 5 && p->start[TARGET][1] == 2);
    ck_assert(p->length[1] == 3 && p->length[2] == 3 + 4); /* of each pair its longer side */
    ck_assert(pairs_ids(p, SOURCE) == 5 && pairs_ids(p, TARGET) == 6 && p->words == 6 && p->unknown == 0);
    ck_assert_uint_eq(b.longest, 4);
    bitext_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_decoder_reads_the_target_one_subword_late)
{
    BitextOptions o = data_of("a b\na\n", "x\nx y z\n");
    Bitext b;
    open_text(&b, &o);
    const SentencePairs *p = &b.parts[SPLIT_TRAIN];
    Batch batch;
    Error e;
    ck_done(batch_open(&batch, &(BatchSize){SIDES_USED, 2, {9, 9}, 0, 0}, &e), e);
    pairs_row(p, 1, &batch);
    pairs_row(p, 0, &batch);
    const int32_t a = p->ids[SOURCE][0], x = p->ids[TARGET][0], y = p->ids[TARGET][3], z = p->ids[TARGET][4];
    const int32_t source[] = {a, END, a, p->ids[SOURCE][1], END}, read[] = {END, x, y, z, END, x};
    const int32_t said[] = {x, y, z, END, x, END}, none[] = {-1, -1, -1, -1, -1};
    ck_assert(batch.side[SOURCE].positions == 5 && batch.side[TARGET].positions == 6);
    ck_assert_mem_eq(batch.side[SOURCE].ids, source, sizeof source);
    ck_assert_mem_eq(batch.side[SOURCE].targets, none, sizeof none);
    ck_assert_mem_eq(batch.side[TARGET].ids, read, sizeof read);
    ck_assert_mem_eq(batch.side[TARGET].targets, said, sizeof said);
    batch_close(&batch);
    bitext_close(&b);
}

/* Zero bytes, bytes that are not UTF-8, and a line of a million bytes: all are read, and nothing else is made of them.
 * */
START_TEST(any_bytes_are_a_sentence)
{
    enum { LONG = 1 << 20 };
    char all[300], *line = memory_get(LONG + 1, 1);
    size_t size = 0;
    for (int i = 0; i < 256; i++)
        if (i != '\n')
            all[size++] = (char)i;
    all[size++] = '\n';
    memset(line, 'a', LONG);
    line[LONG] = '\n';
    BitextOptions o = data_of("", "");
    for (size_t side = 0; side < SIDES_USED; side++) {
        char *both = memory_get(size + LONG + 1, 1);
        memcpy(both, all, size);
        memcpy(both + size, line, LONG + 1);
        write_in(folder, side ? "train.de" : "train.en", both, size + LONG + 1);
        memory_free(both);
    }
    o.subwords = (SubwordsOptions){.type = (SubwordType)_i, .merges = 50};
    o.longest = LONG, o.context = LONG + 2;
    Bitext b;
    open_text(&b, &o);
    const SentencePairs *p = &b.parts[SPLIT_TRAIN];
    ck_assert_uint_eq(p->count, 2);
    for (size_t i = 0; i < pairs_ids(p, SOURCE); i++)
        ck_assert(p->ids[SOURCE][i] > UNKNOWN && (size_t)p->ids[SOURCE][i] < b.subwords->count);
    Buffer said = {0};
    subwords_line(b.subwords, p->ids[SOURCE] + p->start[SOURCE][1], p->start[SOURCE][2] - p->start[SOURCE][1], &said);
    ck_assert(said.size == LONG && !memcmp(said.text, line, LONG));
    buffer_free(&said);
    if (_i == SUBWORDS_BYTES) {
        subwords_line(b.subwords, p->ids[SOURCE], p->start[SOURCE][1], &said);
        ck_assert(said.size == size - 1 && !memcmp(said.text, all, size - 1));
        buffer_free(&said);
    }
    bitext_close(&b);
    memory_free(line);
    ck_assert_uint_eq(memory_in_use(), 0);
}

enum { ROWS = 5 };

/* Of all rows of a text, cut anew for a step with byte pairs that are dropped. */
static void cut_rows(Bitext *b, double rate, uint64_t step, size_t context, Batch *batch)
{
    Recut r;
    Error e;
    ck_done(recut_open(&r, b->subwords, rate, 1, context, &e), e);
    batch_clear(batch);
    for (size_t i = 0; i < b->parts[SPLIT_TRAIN].count; i++)
        recut_row(&r, &b->parts[SPLIT_TRAIN], i, step, batch);
    recut_close(&r);
}

static size_t length_of(const Batch *batch, size_t side, size_t row)
{
    return (size_t)(batch->side[side].start[row + 1] - batch->side[side].start[row]);
}

static void text_of(const Bitext *b, const Batch *batch, size_t side, size_t row, Buffer *line)
{
    const Side *s = &batch->side[side];
    const int32_t *ids = side == TARGET ? s->targets : s->ids;
    const size_t first = side == SOURCE ? b->subwords->registers : 0;
    line->size = 0;
    subwords_line(b->subwords, ids + s->start[row] + first, length_of(batch, side, row) - first, line);
}

/* With registers, too; and with a vocabulary that lacks some of what comes of it. */
START_TEST(rows_are_cut_anew_in_each_step_and_mean_the_same)
{
    static const char source[] = "the lowest the lower newest widest newer\nthe newest low newer lower "
                                 "wide\nlow\nlow\nthe newest low newer lower wide\n";
    static const char target[] = "die die niedrigste niedriger neueste weiteste\nneueste niedrig niedriger "
                                 "weit\nneu\nneu\nneueste niedrig niedriger weit\n";
    BitextOptions o = data_of(source, target);
    Bitext b;
    Batch batch[3];
    Buffer line = {0}, again = {0};
    Error e;
    o.subwords = (SubwordsOptions){.type = SUBWORDS_BPE, .merges = 25, .dropout = _i < 2, .registers = _i == 1 ? 2 : 0};
    o.longest = 60, o.context = 64;
    open_text(&b, &o);
    const SentencePairs *p = &b.parts[SPLIT_TRAIN];
    for (size_t i = 0; i < 3; i++)
        ck_done(batch_open(&batch[i], &(BatchSize){SIDES_USED, ROWS, {ROWS * 64, ROWS * 64}, 0, 0}, &e), e);
    cut_rows(&b, 0.3, 1, 64, &batch[0]), cut_rows(&b, 0.3, 2, 64, &batch[1]), cut_rows(&b, 0.3, 1, 64, &batch[2]);
    for (size_t side = 0; side < SIDES_USED; side++) {
        const Side *s[] = {&batch[0].side[side], &batch[1].side[side], &batch[2].side[side]};
        const size_t bytes = s[0]->positions * sizeof *s[0]->ids;
        ck_assert(s[0]->positions >= pairs_ids(p, side) + (_i < 2) && s[0]->positions == s[2]->positions);
        ck_assert(memcmp(s[0]->ids, s[2]->ids, bytes) == 0);
        ck_assert(_i == 2 || s[0]->positions != s[1]->positions || memcmp(s[0]->ids, s[1]->ids, bytes) != 0);
        for (size_t row = 0; row < ROWS; row++) {
            text_of(&b, &batch[0], side, row, &line);
            text_of(&b, &batch[1], side, row, &again);
            ck_assert_str_eq(line.text, again.text);
            line.size = 0;
            const size_t first = p->start[side][row] + (side == SOURCE ? o.subwords.registers : 0);
            subwords_line(b.subwords, p->ids[side] + first, p->start[side][row + 1] - first, &line);
            ck_assert_str_eq(line.text, again.text);
            for (int32_t at = s[0]->start[row]; at < s[0]->start[row + 1]; at++)
                ck_assert(s[0]->ids[at] != UNKNOWN);
        }
    }
    cut_rows(&b, 1e-300, 1, 64, &batch[0]);
    for (size_t side = 0; side < SIDES_USED; side++)
        ck_assert_uint_eq(batch[0].side[side].positions, pairs_ids(p, side));
    for (uint64_t step = 1; step <= 300; step++) { /* half as many more at most */
        cut_rows(&b, 0.05, step, 64, &batch[0]);
        for (size_t row = 0; row < ROWS; row++)
            ck_assert_uint_le(length_of(&batch[0], SOURCE, row),
                              (p->start[SOURCE][row + 1] - p->start[SOURCE][row]) * 3 / 2);
    }
    cut_rows(&b, 1, 1, 64, &batch[0]); /* characters */
    for (size_t side = 0; side < SIDES_USED && _i < 2; side++)
        for (size_t row = 0; row < ROWS; row++) {
            size_t letters = side == SOURCE ? o.subwords.registers + 1 : 1;
            text_of(&b, &batch[0], side, row, &line);
            for (size_t at = 0; at < line.size; at++)
                letters += line.text[at] != ' ';
            ck_assert_uint_eq(length_of(&batch[0], side, row), letters);
        }
    cut_rows(&b, 1, 1, b.longest, &batch[0]); /* which do not fit now: the longest rows are as they are */
    for (size_t side = 0; side < SIDES_USED; side++)
        for (size_t row = 0; row < ROWS; row++)
            ck_assert_uint_le(length_of(&batch[0], side, row), b.longest);
    const Side *s = &batch[1].side[SOURCE]; /* of two equal sentences each has draws of its own */
    ck_assert(_i == 2 || length_of(&batch[1], SOURCE, 1) != length_of(&batch[1], SOURCE, 4) ||
              memcmp(s->ids + s->start[1], s->ids + s->start[4], length_of(&batch[1], SOURCE, 1) * sizeof *s->ids) !=
                  0);
    for (size_t i = 0; i < 3; i++)
        batch_close(&batch[i]);
    buffer_free(&line), buffer_free(&again);
    bitext_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(empty_and_long_pairs_are_counted_and_not_trained_on)
{
    BitextOptions o = data_of("a b c\na b c d\n \na\n\na\n", "x\nx\nx\n\t\n\nx x x x\n");
    Bitext b;
    open_text(&b, &o);
    const SentencePairs *p = &b.parts[SPLIT_TRAIN];
    ck_assert(p->count == 1 && p->line[0] == 0);
    ck_assert_uint_eq(p->empty, 3);
    ck_assert_uint_eq(p->too_long, 2);
    bitext_close(&b);
}

/* What is scored has every line, but for those that do not fit. */
START_TEST(empty_lines_are_scored)
{
    BitextOptions o = data_of("a b\na\n", "x\ny\n");
    Bitext b;
    open_text(&b, &o);
    const SentencePairs *p = &b.parts[SPLIT_VALID];
    ck_assert(p->count == 3 && p->empty == 2 && p->too_long == 0);
    ck_assert(p->start[SOURCE][2] - p->start[SOURCE][1] == 1 && p->ids[SOURCE][3] == END);
    ck_assert_uint_eq(p->words, 1 + 2 + 3);
    bitext_close(&b);
    write_in(folder, "val.en", "a b c d e\na b c d\n", 18);
    write_in(folder, "val.de", "x\ny\n", 4);
    open_text(&b, &o);
    ck_assert(b.parts[SPLIT_VALID].count == 1 && b.parts[SPLIT_VALID].line[0] == 1 &&
              b.parts[SPLIT_VALID].too_long == 1);
    ck_assert_uint_eq(b.longest, 5);
    bitext_close(&b);
}

START_TEST(a_vocabulary_is_that_of_the_training_part)
{
    BitextOptions o = data_of("a\n", "x\n");
    Bitext b;
    open_text(&b, &o);
    ck_assert_uint_eq(b.subwords->count, 4);
    ck_assert_uint_eq(b.parts[SPLIT_VALID].unknown, 3); /* b, y and y */
    Subwords other = learnt(SUBWORDS_WORDS, 0, "y b", "x a");
    o.known = &other;
    Bitext again;
    open_text(&again, &o);
    ck_assert(again.subwords == &other && again.parts[SPLIT_VALID].unknown == 0);
    bitext_close(&again);
    bitext_close(&b);
    subwords_close(&other);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(parts_without_pairs_are_no_use)
{
    BitextOptions o = data_of("a b c d\n\n", "x\ny\n");
    Bitext b;
    open_text(&b, &o);
    Error e;
    ck_assert(!bitext_suits(&b, SPLIT_TRAIN, &e));
    ck_assert_msg(strstr(e.text, "1 have an empty side, 1 have more"), "%s", e.text);
    ck_assert(!bitext_suits(&b, SPLIT_TEST, &e) && strstr(e.text, "--test-source"));
    ck_assert(bitext_suits(&b, SPLIT_VALID, &e));
    bitext_close(&b);
}

static bool open_once(void *argument, Error *e)
{
    Bitext b;
    bool done = bitext_open(&b, argument, e);
    if (done)
        bitext_close(&b);
    return done;
}

START_TEST(a_training_part_without_lines_is_said_to_have_none)
{
    Bitext b = {0};
    Error e;
    ck_assert(!bitext_suits(&b, SPLIT_TRAIN, &e));
    ck_assert_msg(strstr(e.text, "the training part has no lines") && strstr(e.text, "--data"), "%s", e.text);
}

START_TEST(without_memory_there_are_no_pairs)
{
    BitextOptions o = data_of("a b\na\n\nb b\n", "x\ny\nz\nx\n");
    o.subwords = (SubwordsOptions){
        .type = (SubwordType)(_i % 3), .merges = 5, .tokens = {.rule = (TokensRule)(_i / 3)}};
    o.longest = 9;
    o.context = 99;
    fail_each_allocation(open_once, &o);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(words_are_numbered_by_how_frequent_they_are),
                                 TEST(bytes_are_all_there_and_come_back),
                                 TEST(byte_pairs_cut_words_and_join_them_again),
                                 TEST_LOOP(marks_are_words_of_moses_and_join_their_words_again, 3),
                                 TEST(a_language_that_moses_does_not_know_is_refused),
                                 TEST(subwords_have_names),
                                 TEST(subwords_are_stored_in_the_run),
                                 TEST(a_vocabulary_without_an_end_of_sentence_is_refused),
                                 TEST(each_side_ends_in_the_end_of_a_sentence),
                                 TEST(a_decoder_reads_the_target_one_subword_late),
                                 TEST_LOOP(any_bytes_are_a_sentence, 3),
                                 TEST_LOOP(rows_are_cut_anew_in_each_step_and_mean_the_same, 3),
                                 TEST(empty_and_long_pairs_are_counted_and_not_trained_on),
                                 TEST(empty_lines_are_scored),
                                 TEST(a_vocabulary_is_that_of_the_training_part),
                                 TEST(parts_without_pairs_are_no_use),
                                 TEST(a_training_part_without_lines_is_said_to_have_none),
                                 TEST_LOOP(without_memory_there_are_no_pairs, 6)};
    test_folders_in_memory();
    return suite_run("encdec/data", tests, sizeof tests / sizeof *tests, argc, argv);
}
