/* encdec vocab and encdec subwords as a user sees them: files that subword-nmt made (tests/fixtures/bpe.py) come out of
 * ours and go into ours to the byte, for any number of threads; what is learned is as large as is said. */
#include "base/memory.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define FIXTURE(name) "tests/fixtures/bpe/" name

static void expect_same(const char *folder, const char *name, const char *as)
{
    size_t size, wanted;
    char *text = read_in(folder, name, &size), *other = read_in(".", as, &wanted);
    ck_assert_msg(text && other && size == wanted && !memcmp(text, other, size), "%s is not %s", name, as);
    memory_free(text);
    memory_free(other);
}

static void expect_output(const Said *s, const char *as)
{
    size_t size;
    char *wanted = read_in(".", as, &size);
    ck_assert_msg(s->out_size == size && !memcmp(s->out, wanted, size), "not %s", as);
    memory_free(wanted);
}

/* A folder of this test, which outlives those of its calls. */
static const char *own_folder(void)
{
    static char folder[600];
    snprintf(folder, sizeof folder, "%s", test_folder());
    return folder;
}

static size_t lines_in(const char *folder, const char *name)
{
    size_t size, count = 0;
    char *text = read_in(folder, name, &size);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    memory_free(text);
    return count;
}

START_TEST(codes_and_vocabulary_are_those_of_subword_nmt)
{
    const char *out = own_folder();
    Said s = must("vocab --type bpe --merges 700 --threads %d --out %s " FIXTURE("text") " --json", _i + 1, out);
    expect_same(out, "codes.bpe", FIXTURE("codes"));
    expect_same(out, "vocabulary.txt", FIXTURE("subwords"));
    Json *j = said_json(&s);
    double merges = json_real(j, "merges"), subwords = json_real(j, "vocabulary");
    ck_assert_double_eq(merges, (double)lines_in(".", FIXTURE("codes")) - 1);
    ck_assert_double_eq(subwords, (double)lines_in(".", FIXTURE("subwords")));
    ck_assert_double_eq(json_real(j, "ids"), subwords - 1 + 2); /* one of them is called <unk> */
    ck_assert(json_real(j, "lines") == 602 && merges != subwords);
    json_free(j);
    said_free(&s);
    s = must("vocab --codes " FIXTURE("codes") " --out %s " FIXTURE("text"), out);
    expect_same(out, "vocabulary.txt", FIXTURE("subwords"));
    ck_assert_msg(strstr(s.out, "merges      696 in " FIXTURE("codes")), "%s", s.out);
    said_free(&s);
}

START_TEST(a_text_is_cut_as_apply_bpe_cuts_it)
{
    static const struct {
        const char *text, *words, *applied;
    } ways[] = {
        {FIXTURE("text"), "--codes " FIXTURE("codes"), FIXTURE("applied")},
        {FIXTURE("text"), "--codes " FIXTURE("codes-0.1"), FIXTURE("applied-0.1")},
        {FIXTURE("hard"), "--codes " FIXTURE("hard-shuffled"), FIXTURE("hard-applied")},
        {FIXTURE("text"), "--codes " FIXTURE("codes") " --vocabulary " FIXTURE("subwords") " --vocabulary-threshold 8",
         FIXTURE("kept")},
    };
    for (int threads = 1; threads < 8; threads += 3) {
        size_t size;
        char *text = read_in(".", ways[_i].text, &size);
        command_input(text, size);
        Said s = must("subwords %s --threads %d", ways[_i].words, threads);
        memory_free(text);
        expect_output(&s, ways[_i].applied);
        said_free(&s);
        s = must("subwords %s --file %s", ways[_i].words, ways[_i].text);
        expect_output(&s, ways[_i].applied);
        said_free(&s);
    }
}

static void expect_subwords(const char *text, size_t size, const char *words, const char *wanted, size_t wanted_size)
{
    command_input(text, size);
    Said s = must("subwords %s", words);
    ck_assert_msg(s.out_size == wanted_size && !memcmp(s.out, wanted, wanted_size), "'%s'", s.out);
    said_free(&s);
}

START_TEST(odd_lines_stay_lines)
{
    static const char codes[] = "--codes " FIXTURE("codes") " --threads 3";
    expect_subwords("", 0, codes, "", 0);
    expect_subwords("\n", 1, codes, "\n", 1);
    expect_subwords("\n\n x \r\n", 7, codes, "\n\n x \r\n", 7);
    expect_subwords("x", 1, codes, "x", 1); /* no end, and none is added */
    expect_subwords("x@@ y@@\nz@@ @@ u @@\n@@a", 23, "--join", "xy\nzu \n@@a", 10);
    expect_subwords("A\n\n", 3, "--type bytes", "0x41\n\n", 6);
    expect_subwords("don't\xFF", 6, "--type wordpiece --lower --vocabulary tests/fixtures/wordpiece-vocab.txt",
                    "don ' t", 7);
}

/* Longer than what is read at once, in few lines and in many; and one without any end. */
START_TEST(long_texts_are_cut_as_short_ones)
{
    enum { SIZE = 5 << 20 };
    char *text = memory_get(SIZE, 1);
    const size_t line = (size_t[]){7, 100000, 3000000, SIZE + 1}[_i];
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (i + 1) % line ? (i % 5 ? 'x' : ' ') : '\n';
    command_input(text, SIZE);
    Said s = must("subwords --codes " FIXTURE("codes") " --threads 2"), one;
    command_input(text, SIZE);
    one = must("subwords --codes " FIXTURE("codes") " --threads 1");
    ck_assert(s.out_size == one.out_size && !memcmp(s.out, one.out, s.out_size));
    command_input(s.out, s.out_size);
    said_free(&one);
    one = must("subwords --join");
    ck_assert_uint_eq(one.out_size, SIZE);
    ck_assert(!memcmp(one.out, text, SIZE));
    said_free(&s);
    said_free(&one);
    memory_free(text);
}

START_TEST(what_is_learnt_is_as_large_as_said)
{
    const char *out = own_folder();
    Json *j = must_json("vocab --type wordpiece --size 150 --out %s --json", out);
    ck_assert(json_real(j, "vocabulary") == 150 && json_real(j, "ids") == 152 && lines_in(out, "vocab.txt") == 150);
    ck_assert(json_real(j, "valid_unknown") == 0 && json_real(j, "valid_subwords_a_word") > 1);
    json_free(j);
    Said s = must("vocab --type words --size 20 --out %s --json", out);
    j = said_json(&s);
    ck_assert(json_real(j, "vocabulary") == 20 && json_real(j, "ids") == 22 && lines_in(out, "words.txt") == 20);
    ck_assert(json_real(j, "valid_unknown") > 0.1 && json_real(j, "lines") == 2 * 8000);
    json_free(j);
    said_free(&s);
    works("train --run %s-run --preset minute --minutes 0 --steps 1 --dim 8 --heads 1 --depth 1 --ff 8 --type words "
          "--vocabulary %s/words.txt -q --json",
          out, out);
    works("info --run %s-run --json", out);
    char run[700];
    snprintf(run, sizeof run, "%s-run", out);
    ck_assert_uint_eq(lines_in(run, "vocabulary.tsv"), 22);
}

/* What `vocab` learns is what `train` would, and says so of both languages. */
START_TEST(a_run_learns_the_same_codes)
{
    const char *out = own_folder();
    size_t size, other;
    char run[700];
    snprintf(run, sizeof run, "%s/run", out);
    Said s = must("vocab --type bpe --merges 300 --tokens moses --out %s", out);
    ck_assert(strstr(s.out, "merges      300 learned, of --merges 300") && strstr(s.out, "valid  "));
    said_free(&s);
    works("train --run %s --preset minute --minutes 0 --steps 1 --dim 8 --heads 1 --depth 1 --ff 8 --type bpe "
          "--merges 300 --tokens moses -q",
          run);
    char *one = read_in(out, "codes.bpe", &size), *two = read_in(run, "codes.bpe", &other);
    ck_assert(one && two && size == other && !memcmp(one, two, size));
    memory_free(one);
    memory_free(two);
}

/* Its codes say what its ids mean. */
START_TEST(the_files_of_a_run_are_not_written_over)
{
    static const char *const types[] = {"--type bpe --merges 3", "--type words --size 9"};
    const char *out = own_folder();
    size_t size, other;
    works("train --run %s/run --preset minute --minutes 0 --steps 1 --dim 8 --heads 1 --depth 1 --ff 8 --type bpe "
          "--merges 50 -q",
          out);
    char run[700];
    snprintf(run, sizeof run, "%s/run", out);
    char *before = read_in(run, "codes.bpe", &size);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        refused(1, "holds a run", "vocab %s --out %s " FIXTURE("text"), types[i], run);
    char *after = read_in(run, "codes.bpe", &other), *words = read_in(run, "words.txt", &other);
    ck_assert(before && after && !words && !strcmp(before, after));
    memory_free(before);
    memory_free(after);
    snprintf(run, sizeof run, "%s/model", out);
    write_in(run, "config.json", "{\"model_type\": \"marian\"}\n", 25); /* somebody else's, and no run */
    works("vocab %s --out %s " FIXTURE("text"), types[0], run);
}

START_TEST(moses_needs_to_know_the_language_of_a_file)
{
    const char *out = own_folder();
    write_in(out, "a.de.txt", "Gut, sagt er.\n", 14);
    write_in(out, "plain", "x y\n", 4);
    Said s = must("vocab --type words --size 5 --tokens moses --out %s %s/a.de.txt", out, out);
    ck_assert_uint_eq(lines_in(out, "words.txt"), 5); /* Gut , sagt er . */
    said_free(&s);
    refused(2, "its language is unknown", "vocab --tokens moses %s/plain", out);
    refused(2, "'cs'", "vocab --tokens moses --source cs %s/plain", out);
}

START_TEST(what_cannot_be_learnt_or_cut_is_refused)
{
    refused(2, "vocab learns --type words, bpe or wordpiece", "vocab --type bytes");
    refused(2, "vocab learns --type words, bpe or wordpiece", "vocab --type shapes");
    refused(2, "nothing to learn", "vocab --type wordpiece --vocabulary x");
    refused(1, "/no/such/file", "vocab /no/such/file");
    refused(1, "/no/such/data", "vocab --data /no/such/data");
    refused(1, "too small", "vocab --type wordpiece --size 9");
    refused(2, "the merges to split with", "subwords");
    refused(2, "leave out --json", "subwords --json --codes " FIXTURE("codes"));
    refused(2, "the subwords to split into", "subwords --type words");
    refused(2, "--join", "subwords --join --type words");
    refused(1, "/no/such/codes", "subwords --codes /no/such/codes");
    refused(1, "/no/such/text", "subwords --join --file /no/such/text");
    refused(
        1, "none would be allowed",
        "subwords --codes " FIXTURE("codes") " --vocabulary " FIXTURE("subwords") " --vocabulary-threshold 1000000");
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(codes_and_vocabulary_are_those_of_subword_nmt, 3),
                                 TEST_LOOP(a_text_is_cut_as_apply_bpe_cuts_it, 4),
                                 TEST(odd_lines_stay_lines),
                                 TEST_LOOP(long_texts_are_cut_as_short_ones, 4),
                                 TEST(what_is_learnt_is_as_large_as_said),
                                 TEST(a_run_learns_the_same_codes),
                                 TEST(the_files_of_a_run_are_not_written_over),
                                 TEST(moses_needs_to_know_the_language_of_a_file),
                                 TEST(what_cannot_be_learnt_or_cut_is_refused)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/vocab", tests, sizeof tests / sizeof *tests, argc, argv);
}
