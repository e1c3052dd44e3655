/* Text that charlm writes: what decides it, that a cache changes nothing, and what a terminal gets to see. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include "base/memory.h"
#include "base/utf8.h"
#include "charlm/prose.h"
#include "tests/charlm/tiny.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROMPT = 20, CONTEXT = 64 };

static const char *trained(const char *data)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --context %d --steps 150 -q %s", run, CONTEXT, data);
    return run;
}

/* The text that these options give, to be freed with said_free. */
static Said sampled(const char *run, const char *words) { return must("sample --run %s -q %s", run, words); }

static void expect(const char *run, const char *one, const char *other, bool same)
{
    Said a = sampled(run, one), b = sampled(run, other);
    bool is = a.out_size == b.out_size && !memcmp(a.out, b.out, a.out_size);
    ck_assert_msg(is == same, "`%s`: %s\n`%s`: %s", one, a.out, other, b.out);
    said_free(&a);
    said_free(&b);
}

START_TEST(the_seed_decides)
{
    const char *run = trained("");
    expect(run, "--length 60 --temperature 1 --seed 7", "--length 60 --temperature 1 --seed 7", true);
    expect(run, "--length 60 --temperature 1 --seed 7", "--length 60 --temperature 1 --seed 8", false);
    expect(run, "--length 60 --temperature 1 --seed 7", "--length 60 --temperature 0.3 --seed 7", false);
}

START_TEST(temperature_zero_takes_the_likeliest)
{
    const char *run = trained("");
    expect(run, "--length 100 --temperature 0 --seed 1", "--length 100 --temperature 0 --seed 2", true);
    expect(run, "--length 100 --temperature 0", "--length 100 --temperature 1 --top-k 1 --seed 3", true);
    expect(run, "--length 100 --temperature 0", "--length 100 --temperature 1 --top-p 1e-9 --seed 3", true);
    expect(run, "--length 100 --temperature 0", "--length 100 --temperature 1 --top-k 2 --seed 3", false);
}

/* What may come before a token, or be beside it. */
static const char *const models[] = {"", "--registers 3", "--memory 9 --positions rotary --distances none",
                                     "--ngrams 4 --registers 2"};
enum { MODELS = sizeof models / sizeof *models };

/* Prompt and text fit into the context, after registers, or with a memory: both ways see the same. */
START_TEST(a_cache_changes_nothing_inside_the_context)
{
    const char *run = trained(models[_i]), *prompt = "--prompt The_step_of_a_model_ --length 40 --temperature";
    for (int t = 0; t < 2; t++) {
        char cached[200], exact[220];
        snprintf(cached, sizeof cached, "%s %d", prompt, t);
        snprintf(exact, sizeof exact, "%s --exact", cached);
        expect(run, cached, exact, true);
    }
}

START_TEST(text_goes_on_after_the_context)
{
    const char *run = trained("");
    Said s = sampled(run, "--prompt a --length 500"), exact = sampled(run, "--prompt a --length 500 --exact");
    ck_assert(s.out_size == 502 && exact.out_size == 502); /* prompt, text, newline */
    said_free(&s);
    said_free(&exact);
}

/* Products of many positions, of one, and attention are shared out among a team; prompt and text pass the context. */
START_TEST(the_text_is_the_same_whatever_workers_and_team)
{
    static const char *const teams[] = {"--workers 1", "--workers 3", "--team 1", "--team 2", "--team 3"};
    static const char *const ways[] = {"--precision f32", "--precision bf16", "--precision f32 --exact"};
    const char *run = trained("");
    for (size_t w = 0; w < 3; w++)
        for (size_t t = 0; t < 5; t++) {
            char one[200], other[240];
            snprintf(one, sizeof one, "--length 60 --temperature 1 %s", ways[w]);
            snprintf(other, sizeof other, "%s %s", one, teams[t]);
            expect(run, one, other, true);
        }
}

START_TEST(a_prompt_is_shown_and_may_come_from_a_file)
{
    const char *run = trained(""), *folder = fresh_path("folder");
    char words[800];
    write_in(folder, "prompt", "Once upon", 9);
    snprintf(words, sizeof words, "--prompt-file %s/prompt --length 10", folder);
    Said s = sampled(run, words);
    ck_assert(s.out_size == 20 && !strncmp(s.out, "Once upon", 9) && s.out[19] == '\n');
    said_free(&s);
    s = sampled(run, "--length 0"); /* none: the beginning of the validation text */
    ck_assert(s.out_size > 1);
    s.out[s.out_size - 1] = 0;
    ck_assert_ptr_nonnull(strstr((const char *)prose_text + prose_size * 9 / 10 - 10, s.out));
    said_free(&s);
}

/* Lines of `--count 3 --json`. */
static void texts_of(char *text[3], const char *run, const char *words)
{
    Said s = must("sample --run %s --prompt a --count 3 --temperature 1 --json -q %s", run, words);
    char *line[3] = {strtok(s.out, "\n"), strtok(NULL, "\n"), strtok(NULL, "\n")};
    ck_assert(line[2] && !strtok(NULL, "\n"));
    for (int i = 0; i < 3; i++) {
        Json *j;
        Error e;
        ck_done(json_read(&j, line[i], strlen(line[i]), "a line", &e), e);
        text[i] = memory_string(json_get_text(j, "text"));
        json_free(j);
    }
    said_free(&s);
}

static void free_texts(char *text[3])
{
    for (int i = 0; i < 3; i++)
        memory_free(text[i]);
}

START_TEST(several_texts_differ)
{
    char *text[3];
    texts_of(text, trained(""), "--length 40");
    ck_assert(strcmp(text[0], text[1]) && strcmp(text[1], text[2]) && strcmp(text[0], text[2]));
    free_texts(text);
}

/* Inside the context and beyond it, and whatever comes before a text. */
START_TEST(texts_written_together_are_those_written_alone)
{
    static const char *const ways[] = {"", "--exact", "--precision bf16", "--device plain --precision f64"};
    const char *run = trained(models[_i]);
    for (int way = 0; way < 4; way++)
        for (int length = 30; length <= 150; length += 120) {
            char alone[200], together[200];
            snprintf(alone, sizeof alone, "--count 5 --prompt The --temperature 1 --length %d %s --together 1", length,
                     ways[way]);
            for (int n = 2; n <= 8; n += 3) {
                snprintf(together, sizeof together, "%.*s%d", (int)strlen(alone) - 1, alone, n);
                expect(run, alone, together, true);
            }
        }
}

/* The prompt is read once: what an earlier text left in the cache, even over the prompt's place, does not show. */
START_TEST(a_text_does_not_depend_on_those_before_it)
{
    const char *run = trained("");
    char *shorter[3], *exact[3], *longer[3];
    texts_of(shorter, run, "--length 40 --together 1");
    texts_of(exact, run, "--length 40 --exact --together 1");
    texts_of(longer, run, "--length 300 --together 1"); /* the text outgrows the context */
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(shorter[i], exact[i]);
        ck_assert(strncmp(shorter[i], longer[i], strlen(shorter[i])) == 0);
    }
    free_texts(shorter);
    free_texts(exact);
    free_texts(longer);
}

/* How many different bytes 100 texts begin with, when all bytes are about as likely. */
static size_t different_bytes(const char *run, const char *words)
{
    size_t different = 0;
    bool seen[256] = {false};
    Said s = must("sample --run %s --prompt a --count 100 --length 1 --temperature 50 -q %s", run, words);
    ck_assert_uint_eq(s.out_size, 300); /* prompt, byte, newline */
    for (size_t i = 1; i < s.out_size; i += 3) {
        different += !seen[(unsigned char)s.out[i]];
        seen[(unsigned char)s.out[i]] = true;
    }
    said_free(&s);
    return different;
}

START_TEST(only_the_likeliest_bytes_are_drawn)
{
    const char *run = trained("");
    ck_assert_uint_gt(different_bytes(run, ""), 60);
    ck_assert_uint_eq(different_bytes(run, "--top-k 1"), 1);
    ck_assert_uint_eq(different_bytes(run, "--top-k 2"), 2);
    ck_assert_uint_eq(different_bytes(run, "--top-k 5"), 5);
    size_t share = different_bytes(run, "--top-p 0.04"); /* of 256 */
    ck_assert_msg(share >= 5 && share <= 11, "%zu", share);
    ck_assert_uint_eq(different_bytes(run, "--top-p 0.04 --top-k 3"), 1); /* the share is one of what is left */
    expect(run, "--length 60 --temperature 1", "--length 60 --temperature 1 --top-k 256 --top-p 1", true);
    expect(run, "--length 60 --temperature 1", "--length 60 --temperature 1 --top-k 1000", true);
}

/* Also into a file or a pipe. */
START_TEST(bytes_come_as_they_are_chosen)
{
    const char *run = trained("");
    Started s = command_start("sample --run %s --prompt a --exact --length 4000 -q", run);
    siginfo_t info = {0};
    size_t sizes = 0;
    long last = 0;
    while (!info.si_pid) {
        struct stat file;
        ck_assert_int_eq(waitid(P_PID, (id_t)s.process, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        if (stat(s.out, &file) == 0 && file.st_size > last) {
            sizes++;
            last = (long)file.st_size;
        }
    }
    Said said = command_end(&s);
    ck_assert_int_eq(said.status, 0);
    ck_assert_msg(sizes > 3, "%zu sizes were seen", sizes); /* a buffer would show it as one */
    said_free(&said);
}

/* --- characters of several bytes --- */

/* A run that has learned to write such, though not always whole ones. */
static const char *trained_on_accents(void)
{
    static const char word[] = "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 na\xc3\xafve ";
    const char *folder = fresh_path("folder");
    char text[6000], data[800];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = word[i % (sizeof word - 1)];
    write_in(folder, "text", text, sizeof text);
    snprintf(data, sizeof data, "--data %s/text", folder);
    return trained(data);
}

/* Bytes at the end that begin a character and do not finish it; bytes that are not UTF-8 fail. */
static size_t half_a_character(const char *text, size_t size)
{
    while (size) {
        size_t length = utf8_length(text, size);
        if (!length) {
            ck_assert_msg(size < 4, "no UTF-8: %.20s", text);
            return size;
        }
        text += length;
        size -= length;
    }
    return 0;
}

/* `charlm sample --run RUN -q WORDS` with a terminal for its standard output. */
static pid_t on_terminal(int *master, const char *run, const char *words)
{
    static char program[700], all[1000];
    char *word[32] = {"charlm"};
    int count = 1;
    const char *bin = getenv("ATTEND_BIN");
    snprintf(program, sizeof program, "%s/charlm", bin ? bin : "bin");
    snprintf(all, sizeof all, "sample --run %s -q %s", run, words);
    for (char *w = strtok(all, " "); w && count < 31; w = strtok(NULL, " "))
        word[count++] = w;
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(*master >= 0 && grantpt(*master) == 0 && unlockpt(*master) == 0);
    const char *name = ptsname(*master);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        int slave = open(name, O_RDWR | O_NOCTTY);
        if (slave < 0 || dup2(slave, 1) < 0)
            _exit(127);
        close(*master);
        execv(program, word);
        _exit(127);
    }
    return child;
}

/* What a terminal gets; whenever we look, what came so far is whole characters. */
typedef struct Seen {
    char text[8000];
    size_t size;
    int reads;
} Seen;

static void look(Seen *seen, const char *run, const char *words)
{
    int master, status = 0, halves = 0;
    pid_t child = on_terminal(&master, run, words);
    int keep = open(ptsname(master), O_RDWR | O_NOCTTY); /* so that the end is not an error before it is read */
    fcntl(master, F_SETFL, O_NONBLOCK);
    *seen = (Seen){.size = 0};
    for (bool over = false, drained = false; !drained && seen->size < sizeof seen->text - 1;) {
        over = over || waitpid(child, &status, WNOHANG) == child;
        ssize_t count = read(master, seen->text + seen->size, sizeof seen->text - 1 - seen->size);
        drained = over && count <= 0;
        if (count <= 0)
            continue;
        seen->size += (size_t)count;
        seen->reads++;
        halves += half_a_character(seen->text, seen->size) > 0;
    }
    close(keep);
    close(master);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_msg(halves == 0, "%d of %d times", halves, seen->reads);
    ck_assert(seen->size && seen->text[seen->size - 1] == '\n');
}

/* A terminal shows what a file gets, but for bytes that are no character. */
static void expect_same_text(const Seen *seen, const Said *file)
{
    const char *shown = seen->text, *at = file->out, *end = at + file->out_size;
    while (at < end) {
        size_t length = utf8_length(at, (size_t)(end - at));
        const char *expected = length ? at : "\xef\xbf\xbd";
        shown += *shown == '\r'; /* which a terminal puts before a line's end */
        ck_assert_msg(memcmp(shown, expected, length ? length : 3) == 0, "%.20s: %.20s", shown, at);
        shown += length ? length : 3;
        at += length ? length : 1;
    }
    ck_assert(shown == seen->text + seen->size);
}

START_TEST(a_terminal_never_gets_half_a_character)
{
    static const char *const temperatures[] = {"0.5", "1.5", "20"};
    const char *run = trained_on_accents();
    Seen seen;
    for (size_t i = 0; i < 3; i++) {
        char words[100];
        snprintf(words, sizeof words, "--length 2000 --exact --temperature %s", temperatures[i]); /* exact: slowly */
        seen.reads = 0;
        for (int turn = 0; turn < 10 && seen.reads <= 3;
             turn++) /* on a busy machine it may write all before it is read */
            look(&seen, run, words);
        ck_assert_msg(seen.reads > 3 && seen.size > 2000, "%d reads of %d bytes", seen.reads, (int)seen.size);
        if (i > 0)
            continue; /* control bytes come, too */
        Said s = sampled(run, words);
        expect_same_text(&seen, &s);
        said_free(&s);
    }
}

/* What a terminal shows of a prompt alone, without the line's end. */
static void expect_shown(const char *run, const char *prompt, size_t size, const char *shown)
{
    const char *folder = fresh_path("folder");
    char words[800];
    Seen seen;
    write_in(folder, "prompt", prompt, size);
    snprintf(words, sizeof words, "--length 0 --prompt-file %s/prompt", folder);
    look(&seen, run, words);
    seen.text[seen.size - 2] = 0; /* which a terminal makes "\r\n" */
    ck_assert_str_eq(seen.text, shown);
}

START_TEST(a_terminal_gets_whole_characters_of_a_prompt)
{
    const char *run = trained("");
#define NONE "\xef\xbf\xbd"
    expect_shown(run, "\xa9t\xc3\xa9", 4, "t\xc3\xa9");         /* its beginning is cut off */
    expect_shown(run, "\x98\x80 a", 4, " a");                   /* more of it */
    expect_shown(run, "a\xe2\x82\xac", 4, "a\xe2\x82\xac");     /* whole */
    expect_shown(run, "a\xe2\x82", 3, "a" NONE NONE);           /* an end that nothing completes */
    expect_shown(run, "a\xffz\xc3z", 5, "a" NONE "z" NONE "z"); /* what never was a character */
    expect_shown(run, "a\x1b[2J\x07z\xc2\x9bz", 10, "a" NONE "[2J" NONE "z" NONE "z"); /* what steers terminals */
    expect_shown(run, "a\tb", 3, "a\tb");
#undef NONE
}

/* The validation part begins and ends the default prompt anywhere in a character. */
START_TEST(the_default_prompt_is_whole_characters)
{
    static const char euro[] = "\xf0\x9f\x98\x80";
    char text[4003];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = euro[i % 4];
    for (size_t shift = 0; shift < 4; shift++) {
        const char *folder = fresh_path("folder");
        char run[800];
        snprintf(run, sizeof run, "%s/run", folder);
        write_in(folder, "text", text + shift, sizeof text - 3);
        works("train --run %s " TINY " --steps 0 -q --data %s/text", run, folder);
        Said s = must("sample --run %s --length 0 -q", run); /* to a file as well */
        ck_assert_uint_eq(half_a_character(s.out, s.out_size), 0);
        ck_assert_uint_ge(s.out_size, 1 + 100 - 6);
        said_free(&s);
    }
}

START_TEST(json_is_valid_whatever_the_bytes_are)
{
    const char *run = trained_on_accents();
    Json *j = must_json("sample --run %s --length 300 --temperature 20 --json -q", run);
    const char *text = json_get_text(j, "text");
    ck_assert_uint_eq(half_a_character(text, strlen(text)), 0);
    ck_assert(strstr(text, "\xef\xbf\xbd") && json_real(j, "characters") > 200);
    json_free(j);
}

START_TEST(a_file_gets_the_bytes_as_they_are)
{
    const char *run = trained_on_accents();
    Said s = must("sample --run %s --prompt a --length 300 --temperature 20 -q", run);
    size_t never = 0; /* bytes that no UTF-8 has */
    for (size_t i = 0; i < s.out_size; i++)
        never += (unsigned char)s.out[i] >= 0xf5;
    ck_assert(s.out_size == 302 && never > 0);
    said_free(&s);
}

static const Test tests[] = {TEST(the_seed_decides),
                             TEST(temperature_zero_takes_the_likeliest),
                             TEST_LOOP(a_cache_changes_nothing_inside_the_context, MODELS),
                             TEST(text_goes_on_after_the_context),
                             TEST(a_prompt_is_shown_and_may_come_from_a_file),
                             TEST(the_text_is_the_same_whatever_workers_and_team),
                             TEST(several_texts_differ),
                             TEST_LOOP(texts_written_together_are_those_written_alone, MODELS),
                             TEST(a_text_does_not_depend_on_those_before_it),
                             TEST(only_the_likeliest_bytes_are_drawn),
                             TEST(bytes_come_as_they_are_chosen),
                             TEST(a_terminal_never_gets_half_a_character),
                             TEST(a_terminal_gets_whole_characters_of_a_prompt),
                             TEST(the_default_prompt_is_whole_characters),
                             TEST(json_is_valid_whatever_the_bytes_are),
                             TEST(a_file_gets_the_bytes_as_they_are)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/sampling", tests, sizeof tests / sizeof *tests, argc, argv);
}
