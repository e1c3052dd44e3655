/* Where values come from: presets, configuration files, stored runs; which wins, and what a bad one says. */
#include "fixture.h"

static char config_path[600];

/* Writes a configuration file and gives "train --config PATH REST". */
static const char *with_config(const char *bytes, size_t size, const char *rest)
{
    static char line[1200];
    Error e;
    snprintf(config_path, sizeof config_path, "%s/c.conf", test_folder());
    ck_assert_msg(file_write(config_path, bytes, size, &e), "%s", e.text);
    snprintf(line, sizeof line, "train --config %s %s", config_path, rest);
    return line;
}

static const char *with_lines(const char *text, const char *rest) { return with_config(text, strlen(text), rest); }

static void config_refused(const char *text, const char *words)
{
    const char *line = with_lines(text, "");
    char all[700];
    snprintf(all, sizeof all, "%s:%s", config_path, words);
    refused(line, all);
}

START_TEST(a_preset_beats_defaults_and_gives_way_to_the_command_line)
{
    Shared s = shared_after("train --dim 8 --preset tiny");
    ck_assert_uint_eq(s.dim, 8);
    ck_assert_uint_eq(s.batch, 4);
    ck_assert_double_eq(s.lr, 0.01);
    ck_assert_uint_eq(shared_after("train --preset tiny --dim 8").dim, 8);
    ck_assert(!shared_after("train -pbig").bias);
}

START_TEST(of_two_presets_only_the_last_is_applied)
{
    Shared s = shared_after("train --preset tiny --preset big");
    ck_assert_uint_eq(s.dim, 1024);
    ck_assert_uint_eq(s.batch, 32);
}

START_TEST(an_unknown_preset_names_the_nearest_or_all)
{
    refused("train --preset tyni", "unknown preset 'tyni'; did you mean tiny?");
    refused("train --preset former", "unknown preset 'former'; the presets are: tiny, big");
    refused("train --preset=", "--preset: its value is empty");
}

START_TEST(a_preset_can_be_applied_without_being_named)
{
    Call c;
    call(&c, "train --dim 8");
    ck_assert(options_preset(&c.options, "tiny", &c.error));
    ck_assert_uint_eq(c.values.shared.dim, 8);
    ck_assert_uint_eq(c.values.shared.batch, 4);
    ck_assert_int_eq(options_source(&c.options, "batch"), FROM_PRESET);
    ck_assert_int_eq(options_source(&c.options, "dim"), FROM_COMMAND_LINE);
    ck_assert_int_eq(options_source(&c.options, "lr"), FROM_PRESET);
    ck_assert_int_eq(options_source(&c.options, "bias"), FROM_DEFAULT);
    ck_assert(!options_preset(&c.options, "huge", &c.error));
    done(&c);
}

START_TEST(a_config_file_stands_between_preset_and_command_line)
{
    Shared s = shared_after(with_lines("dim = 64\nlr=0.5\nlength = 3\n", "--preset tiny --lr 0.25"));
    ck_assert_uint_eq(s.dim, 64);
    ck_assert_double_eq(s.lr, 0.25);
    ck_assert_uint_eq(s.batch, 4);
    ck_assert_uint_eq(shared_after(with_lines("preset = big\n", "")).dim, 1024);
    ck_assert_uint_eq(shared_after(with_lines("preset = big\n", "--preset tiny")).dim, 16);
}

START_TEST(comments_blanks_windows_lines_and_byte_order_marks_are_no_offence)
{
    Shared s = shared_after(
        with_lines("\xef\xbb\xbf# a recipe\r\n\r\n  dim\t=  64  # wide\r\nbias = no\r\nbatch=2", ""));
    ck_assert_uint_eq(s.dim, 64);
    ck_assert_uint_eq(s.batch, 2);
    ck_assert(!s.bias);
    Call c;
    call(&c, with_lines("data = my file#1.txt # not this = that", ""));
    ck_assert_msg(c.good, "%s", c.error.text);
    ck_assert_str_eq(c.values.shared.data, "my file#1.txt");
    done(&c);
    ck_assert_uint_eq(shared_after(with_lines("", "")).dim, 128);
    ck_assert_uint_eq(shared_after(with_lines("dim=1\ndim=2", "")).dim, 2);
}

START_TEST(a_bad_line_is_named_with_file_and_line)
{
    config_refused("dim = 1\n\ndmi = 2\n", "3: unknown option dmi; did you mean dim?");
    config_refused("dim = 12x\r\n", "1: dim '12x': must be a whole number in [1,65536]");
    config_refused("# a\ndim\n", "2: found 'dim' where `name = value` should be");
    config_refused("= 3", "1: no name before '='");
    config_refused("dim =", "1: dim: its value is empty");
    config_refused("--dim = 3", "1: unknown option --dim; did you mean dim?");
    config_refused("config = other", "1: config: a configuration file cannot name another");
    config_refused("preset = smal", "1: unknown preset 'smal'");
    config_refused("\xef\xbb\xbf {\"dim\": 3}",
                   " starts with '{'; a configuration file consists of lines `name = value`");
    config_refused("bias = perhaps", "1: bias 'perhaps': must be yes or no");
    config_refused("no-bias = yes", "1: unknown option no-bias; did you mean `bias = no`?");
    config_refused("no-bais = yes", "1: unknown option no-bais; did you mean `bias = no`?");
}

START_TEST(a_bad_line_is_refused_even_where_the_command_line_wins)
{
    refused(with_lines("dim = 0\n", "--dim 3"), ":1: dim '0'");
}

START_TEST(a_config_file_must_be_there_and_be_text)
{
    refused("train --config /nonexistent/c.conf", "/nonexistent/c.conf");
    refused(with_config("dim=1\n\0dim=2", 12, ""), "holds a zero byte");
}

START_TEST(a_run_beats_the_config_file_and_gives_way_to_training_options)
{
    Call c;
    call(&c, with_lines("dim = 64\nbatch = 2", "--lr 0.5 --seed 9"));
    ck_assert(c.good);
    ck_assert(options_set(&c.options, "dim", "256", FROM_RUN, &c.error));
    ck_assert(options_set(&c.options, "batch", "16", FROM_RUN, &c.error));
    ck_assert(options_set(&c.options, "lr", "0.0625", FROM_RUN, &c.error));
    ck_assert(options_set(&c.options, "lr", "0.125", FROM_RUN, &c.error));
    ck_assert(options_set(&c.options, "seed", "9", FROM_RUN, &c.error));
    ck_assert(options_set(&c.options, "data", "x y", FROM_RUN, &c.error));
    ck_assert_uint_eq(c.values.shared.dim, 256);
    ck_assert_uint_eq(c.values.shared.batch, 16);
    ck_assert_double_eq(c.values.shared.lr, 0.5);
    ck_assert_str_eq(c.values.shared.data, "x y");
    ck_assert_int_eq(options_source(&c.options, "data"), FROM_RUN);
    Buffer text = {0};
    options_changes(&c.options, &text);
    ck_assert_str_eq(text.text, "lr 0.125 -> 0.5\n");
    buffer_free(&text);
    done(&c);
}

/* As `--workers 0` does, once it has become a number. */
START_TEST(what_comes_to_mean_the_same_is_no_change)
{
    Call c;
    call(&c, "train --batch 3");
    ck_assert(options_set(&c.options, "batch", "8", FROM_RUN, &c.error));
    ck_assert(options_set(&c.options, "batch", "8", FROM_COMMAND_LINE, &c.error));
    Buffer text = {0};
    options_changes(&c.options, &text);
    ck_assert_uint_eq(text.size, 0);
    ck_assert(options_set(&c.options, "batch", "9", FROM_COMMAND_LINE, &c.error));
    options_changes(&c.options, &text);
    ck_assert_str_eq(text.text, "batch 8 -> 9\n");
    buffer_free(&text);
    done(&c);
}

START_TEST(a_model_option_cannot_change_in_a_run)
{
    Call c;
    call(&c, "train --dim 64 --no-bias --activation gelu");
    ck_assert(options_set(&c.options, "dim", "64", FROM_RUN, &c.error));
    ck_assert(options_set(&c.options, "bias", "false", FROM_RUN, &c.error));
    ck_assert(!options_set(&c.options, "dim", "256", FROM_RUN, &c.error));
    ck_assert_str_eq(c.error.text,
                     "--dim 64: the run has 256, which is fixed; leave the option out or start a new run");
    ck_assert(!options_set(&c.options, "activation", "relu", FROM_RUN, &c.error));
    ck_assert_ptr_nonnull(strstr(c.error.text, "--activation gelu: the run has relu"));
    ck_assert_uint_eq(c.values.shared.dim, 64);
    done(&c);
}

/* A new run may take another's model, and a preset for the rest. */
START_TEST(a_run_that_goes_on_takes_no_preset)
{
    Call c;
    call(&c, "train --preset tiny");
    ck_assert(options_set(&c.options, "dim", "64", FROM_RUN, &c.error));
    ck_assert(!options_set(&c.options, "batch", "8", FROM_RUN, &c.error));
    ck_assert_str_eq(c.error.text, "--preset tiny: a run keeps the options that it was made with, and a preset is for "
                                   "a new run; leave it out");
    done(&c);
}

START_TEST(a_run_with_bad_values_is_refused)
{
    Call c;
    call(&c, "train");
    ck_assert(!options_set(&c.options, "dim", "-4", FROM_RUN, &c.error));
    ck_assert(!options_set(&c.options, "dims", "4", FROM_RUN, &c.error));
    ck_assert(!options_set(&c.options, "quiet", "yes", FROM_RUN, &c.error));
    ck_assert_str_eq(c.error.text, "quiet: this option is never stored in a run");
    done(&c);
}

START_TEST(a_lower_source_never_overwrites_a_higher_one)
{
    for (OptionSource high = FROM_DEFAULT; high <= FROM_COMMAND_LINE; high++)
        for (OptionSource low = FROM_DEFAULT; low <= high; low++) {
            Call c;
            call(&c, "train");
            ck_assert(options_set(&c.options, "batch", "5", high, &c.error));
            ck_assert(options_set(&c.options, "data", "five", high, &c.error));
            ck_assert(options_set(&c.options, "batch", "6", low, &c.error));
            ck_assert(options_set(&c.options, "data", "six", low, &c.error));
            ck_assert_uint_eq(c.values.shared.batch, low == high ? 6 : 5);
            ck_assert_str_eq(c.values.shared.data, low == high ? "six" : "five");
            ck_assert_int_eq(options_source(&c.options, "batch"), high);
            done(&c);
        }
}

static void table_refused(Program program, const Option *rows, size_t count, const char *words)
{
    Shared values;
    Options o;
    Error e;
    const OptionTable table = {rows, count, &values};
    ck_assert(!options_open(&o, &program, &table, 1, &e));
    ck_assert_msg(strstr(e.text, words) != NULL, "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Commands may mean different things by one name; a run means what it stores. */
START_TEST(commands_may_have_options_of_one_name)
{
    static const Option other = {"dim", 0, OPTION_TEXT, OPTION_HERE, SAMPLE, offsetof(Own, prompt), "", NULL, "light"};
    const Program program = {.name = "lm", .commands = commands, .command_count = 2};
    for (size_t first = 0; first < 2; first++)
        for (size_t which = 0; which < 2; which++) {
            Values v;
            Options o;
            Error e;
            const OptionTable one = {shared_rows, 1, &v.shared}, two = {&other, 1, &v.own};
            const OptionTable tables[] = {first ? two : one, first ? one : two};
            char name[] = "lm", train[] = "train", sample[] = "sample", given[] = "--dim=7";
            char *words[] = {name, which ? sample : train, given};
            ck_done(options_open(&o, &program, tables, 2, &e) && options_parse(&o, 3, words, &e), e);
            ck_assert_uint_eq(v.shared.dim, which ? 128 : 7);
            ck_assert_str_eq(v.own.prompt, which ? "7" : "");
            ck_done(options_set(&o, "dim", which ? "9" : "7", FROM_RUN, &e), e);
            ck_assert_uint_eq(v.shared.dim, which ? 9 : 7);
            ck_assert_str_eq(v.own.prompt, which ? "7" : "");
            options_close(&o);
        }
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_table_that_contradicts_itself_is_refused)
{
    Program p = {.name = "lm", .commands = commands, .command_count = 2};
    Option twice[] = {shared_rows[0], shared_rows[0]};
    table_refused(p, twice, 2, "--dim appears twice");
    twice[1].commands = SAMPLE; /* a run would have two values of one name */
    table_refused(p, twice, 2, "--dim appears twice");
    Option letter[] = {shared_rows[0], shared_rows[3]};
    letter[0].letter = 'b';
    table_refused(p, letter, 2, "-b means both --dim and --batch");
    Option row = shared_rows[0];
    row.standard = "0";
    table_refused(p, &row, 1, "default of --dim '0': must be");
    row.name = "help";
    table_refused(p, &row, 1, "--help would hide");
    static const char *const ranges[] = {"1,2]", "[1", "[1,2", "[2,1]", "[1,2]x", "", "[a,b]"};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        row = shared_rows[0];
        row.allowed = ranges[i];
        table_refused(p, &row, 1, "a malformed `allowed`");
    }
    static const OptionChoice none[] = {{NULL, 0}}, names[] = {{"relu", 0}, {"relu", 1}, {NULL, 0}},
                              values[] = {{"relu", 1}, {"gelu", 1}, {NULL, 0}};
    for (size_t i = 0; i < 4; i++) {
        row = shared_rows[2];
        row.choices = (const OptionChoice *[]){NULL, none, names, values}[i];
        table_refused(p, &row, 1, "--activation has a malformed `allowed`");
    }
    static const Setting wrong[] = {{"dmi", "3"}, {NULL, NULL}}, bad[] = {{"dim", "x"}, {NULL, NULL}};
    const Preset first = {"odd", "", wrong}, second = {"odd", "", bad};
    p.presets = &first, p.preset_count = 1;
    table_refused(p, shared_rows, 1, "preset odd: unknown option dmi; did you mean dim?");
    p.presets = &second;
    table_refused(p, shared_rows, 1, "preset odd: dim 'x'");
    p.preset_count = 0, p.defaults = wrong;
    table_refused(p, shared_rows, 1, "unknown option dmi");
}

START_TEST(a_program_may_have_defaults_of_its_own)
{
    static const Setting defaults[] = {{"dim", "512"}, {"data", "own.txt"}, {NULL, NULL}};
    Call c = {.program = the_program()};
    c.program.defaults = defaults;
    ck_assert(open_options(&c.options, &c.program, &c.values, &c.error));
    ck_assert_uint_eq(c.values.shared.dim, 512);
    ck_assert_str_eq(c.values.shared.data, "own.txt");
    ck_assert_int_eq(options_source(&c.options, "dim"), FROM_DEFAULT);
    ck_assert(options_set(&c.options, "dim", "4", FROM_PRESET, &c.error));
    ck_assert_uint_eq(c.values.shared.dim, 4);
    done(&c);
}

static bool whole_life(const char *line, Error *e)
{
    Call c = {.program = the_program()};
    split(&c.line, line);
    if (!open_options(&c.options, &c.program, &c.values, e))
        return false;
    bool good = options_parse(&c.options, c.line.count, c.line.word, e) &&
                options_set(&c.options, "data", "other", FROM_RUN, e);
    Buffer out = {0};
    options_changes(&c.options, &out);
    options_help(&c.options, &out);
    good = good && (!out.failed || fail(e, "out of memory"));
    buffer_free(&out);
    options_close(&c.options);
    return good;
}

START_TEST(any_failed_allocation_is_an_error_and_leaks_nothing)
{
    char line[1200];
    snprintf(line, sizeof line, "%s", with_lines("data = one\nlr = 0.5\npreset = big\n", "--data two --data three"));
    uint64_t n = 1;
    for (;; n++) {
        Error e = {""};
        uint64_t before = memory_requests();
        memory_fail_at(n);
        bool good = whole_life(line, &e);
        bool reached = memory_requests() - before >= n;
        memory_fail_at(0);
        ck_assert_uint_eq(memory_in_use(), 0);
        if (!reached) {
            ck_assert_msg(good, "%s", e.text);
            break;
        }
        ck_assert_msg(!good && strstr(e.text, "memory"), "allocation %d: \"%s\"", (int)n, e.text);
    }
    ck_assert_uint_gt(n, 8);
}

static const Test tests[] = {
    TEST(a_preset_beats_defaults_and_gives_way_to_the_command_line),
    TEST(of_two_presets_only_the_last_is_applied),
    TEST(an_unknown_preset_names_the_nearest_or_all),
    TEST(a_preset_can_be_applied_without_being_named),
    TEST(a_config_file_stands_between_preset_and_command_line),
    TEST(comments_blanks_windows_lines_and_byte_order_marks_are_no_offence),
    TEST(a_bad_line_is_named_with_file_and_line),
    TEST(a_bad_line_is_refused_even_where_the_command_line_wins),
    TEST(a_config_file_must_be_there_and_be_text),
    TEST(a_run_beats_the_config_file_and_gives_way_to_training_options),
    TEST(what_comes_to_mean_the_same_is_no_change),
    TEST(a_model_option_cannot_change_in_a_run),
    TEST(a_run_that_goes_on_takes_no_preset),
    TEST(a_run_with_bad_values_is_refused),
    TEST(a_lower_source_never_overwrites_a_higher_one),
    TEST(commands_may_have_options_of_one_name),
    TEST(a_table_that_contradicts_itself_is_refused),
    TEST(a_program_may_have_defaults_of_its_own),
    TEST(any_failed_allocation_is_an_error_and_leaks_nothing),
};

int main(int argc, char **argv) { return suite_run("cli/sources", tests, sizeof tests / sizeof *tests, argc, argv); }
