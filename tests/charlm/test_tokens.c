/* charlm with byte pairs: a run has its tokens, goes on with them, scores the same bytes as others, and writes text. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/charlm/tiny.h"
#include "tests/each.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FILES "--vocabulary tests/fixtures/gpt2-encoder.json --codes tests/fixtures/gpt2-vocab.bpe"

START_TEST(a_run_has_its_tokens)
{
    const char *run = fresh_path("run"), *whole = fresh_path("whole");
    size_t size, other;
    works("train --run %s " TINY " --tokens bpe --merges 50 --steps 6 --eval-every 3 -q", run);
    works("train --resume %s --steps 12 -q", run);
    works("train --run %s " TINY " --tokens bpe --merges 50 --steps 12 --eval-every 3 -q", whole);
    char *a = read_in(run, "checkpoints/00000012/model.safetensors", &size),
         *b = read_in(whole, "checkpoints/00000012/model.safetensors", &other);
    ck_assert(a && b && size == other && memcmp(a, b, size) == 0);
    memory_free(a);
    memory_free(b);
    a = read_in(run, "encoder.json", &size);
    ck_assert(a && strstr(a, "\"!\": 0") && strstr(a, "\"<|endoftext|>\": 306"));
    memory_free(a);
    Said s = must("info --run %s", run);
    ck_assert_msg(strstr(s.out, "[307, 16]"), "%s", s.out);
    said_free(&s);
}

/* Fewer merges make other tokens of the same vocabulary. */
START_TEST(tokens_that_are_not_what_was_saved_are_refused)
{
    const char *run = fresh_path("run");
    size_t size;
    works("train --run %s " TINY " --tokens bpe --merges 50 --steps 3 --eval-every 0 -q", run);
    works("eval --run %s --bytes 2000", run);
    char *merges = read_in(run, "vocab.bpe", &size);
    write_in(run, "vocab.bpe", merges, (size_t)(strchr(strchr(merges, '\n') + 1, '\n') + 1 - merges)); /* one is left */
    memory_free(merges);
    refused(1, "vocab.bpe is damaged or belongs to another run", "eval --run %s --bytes 2000", run);
    refused(1, "vocab.bpe is damaged or belongs to another run", "sample --run %s --length 3", run);
    refused(1, "vocab.bpe is damaged or belongs to another run", "train --resume %s --steps 5 -q", run);
    char *sums = path_join(run, "SHA256SUMS");
    ck_assert_int_eq(remove(sums), 0);
    memory_free(sums);
    works("eval --run %s --bytes 2000", run);
}

/* Which bytes are scored does not depend on tokens, but for the first token's and the last one's. */
START_TEST(figures_are_of_bytes)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --tokens bpe --merges 50 --steps 3 --eval-every 0 -q", run);
    Json *j = must_json("eval --run %s --bytes 2000 --json", run);
    const double bytes = json_real(j, "bytes"), tokens = json_real(j, "tokens"), nats = json_real(j, "nats_per_token");
    ck_assert(bytes <= 2000 && bytes > 1980 && tokens < bytes && tokens > bytes / 3);
    ck_assert(fabs(json_real(j, "bits_per_byte") - nats * tokens / bytes / log(2)) < 1e-9);
    json_free(j);
    Said s = must("eval --run %s --bytes 2000", run);
    ck_assert_msg(strstr(s.out, "bytes scored as ") && strstr(s.out, "; perplexity of a token "), "%s", s.out);
    said_free(&s);
    double sum = 0, of[2] = {0, 0};
    s = must("eval --run %s --bytes 5000 --each", run);
    size_t lines = 0;
    for (const char *line = strchr(s.out, '\n') + 1; *line; line = strchr(line, '\n') + 1, lines++) {
        ck_assert_int_eq(sscanf(line, "%*s\t%lf\t%lf", &of[0], &of[1]), 2);
        ck_assert(of[0] >= 1000 && of[0] < 2000);
        sum += of[0];
    }
    ck_assert_msg(lines == 4 && sum <= 5000 && sum > 4980, "%zu lines, %g bytes", lines, sum);
    said_free(&s);
}

START_TEST(samples_are_text)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --tokens bpe --merges 50 --steps 3 --eval-every 3 -q", run);
    Said cached = must("sample --run %s -q --length 12 --prompt The_sea --temperature 1", run),
         exact = must("sample --run %s -q --length 12 --prompt The_sea --temperature 1 --exact", run);
    ck_assert_str_eq(cached.out, exact.out);
    ck_assert(strncmp(cached.out, "The_sea", 7) == 0 && strlen(cached.out) > 7 + 12);
    said_free(&cached);
    said_free(&exact);
    works("sample --run %s -q --length 60 --prompt x --top-k 3", run); /* past the context */
    works("sample --run %s -q --length 3 --top-p 0.5", run);
    Said s = must("heads --run %s --text the_sea --json", run);
    said_free(&s);
}

/* Of a folder, every byte of a document is scored, because the first token is a separator. */
START_TEST(documents_are_learned_scored_and_continued)
{
    const char *folder = fresh_path("texts"), *run = fresh_path("run");
    char text[64];
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (int i = 0; i < 40; i++) {
        char name[8];
        snprintf(name, sizeof name, "%02d", i);
        const int size = snprintf(text, sizeof text, "the file %d is one of many files", i);
        write_in(folder, name, text, (size_t)size);
    }
    works("train --run %s " TINY " --tokens bpe --merges 20 --data %s --steps 6 --eval-every 3 -q", run, folder);
    works("train --resume %s --steps 8 -q", run);
    works("sample --run %s -q --length 5", run);
    Said s = must("eval --run %s --split all --json", run);
    Json *j = said_json(&s);
    ck_assert_double_eq(json_real(j, "bytes"), 10 * 31 + 30 * 32);
    ck_assert_double_eq_tol(json_real(j, "perplexity_of_a_word"), /* 40 documents of 8 words */
                            exp(json_real(j, "bits_per_byte") * log(2) * (10 * 31 + 30 * 32) / (40 * 8)), 1e-3);
    json_free(j);
    said_free(&s);
    EachLines each = each_lines(run, "--split all --bytes 310", "text\tbytes\tbits"); /* to the end of a document */
    ck_assert(each.count == 1 && each_line(&each, 0)[1] == 310);
    each_lines_free(&each);
    s = must("eval --run %s --data tests/fixtures/gpt2-vocab.bpe --json", run); /* one file: no separator */
    said_free(&s);
    works("baseline --data %s", folder);
}

START_TEST(files_of_gpt2_are_read_and_kept)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --tokens gpt2 " FILES " --steps 2 --eval-every 0 -q", run);
    works("eval --run %s --bytes 500 -q", run);
    works("train --resume %s --steps 3 -q", run);
    refused(2, "already has its tokens", "train --resume %s --steps 4 " FILES, run);
}

START_TEST(what_cannot_be_is_said)
{
    refused(2, "are the files of --tokens gpt2", "train " TINY " --tokens bpe " FILES);
    refused(2, "are the files of --tokens gpt2", "train " TINY " --codes x");
    refused(2, "needs both files", "train " TINY " --tokens gpt2 --codes x");
    refused(1, "needs its files", "train " TINY " --tokens gpt2");
    refused(1, "--eval-bytes 1:", "train --run %s " TINY " --tokens bpe --merges 300 --eval-bytes 1",
            fresh_path("never"));
    refused(1, "no-such.json", "train " TINY " --tokens gpt2 --vocabulary no-such.json --codes x");
    Said s = must("info --dim 16 --heads 2 --depth 1 --context 16 --tokens gpt2");
    ck_assert_msg(strstr(s.out, "[50257, 16]"), "%s", s.out);
    said_free(&s);
}

static const Test tests[] = {TEST(a_run_has_its_tokens),
                             TEST(tokens_that_are_not_what_was_saved_are_refused),
                             TEST(figures_are_of_bytes),
                             TEST(samples_are_text),
                             TEST(documents_are_learned_scored_and_continued),
                             TEST(files_of_gpt2_are_read_and_kept),
                             TEST(what_cannot_be_is_said)};

int main(int argc, char **argv) { return suite_run("charlm/tokens", tests, sizeof tests / sizeof *tests, argc, argv); }
