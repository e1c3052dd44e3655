/* The command line of core/cli: what is read, what is refused, and in what words. */
#include "base/thread.h"
#include "fixture.h"

#include <float.h>
#include <math.h>

START_TEST(defaults_hold_where_nothing_is_given)
{
    Shared s = shared_after("train");
    ck_assert_uint_eq(s.dim, 128);
    ck_assert_double_eq(s.lr, 1e-4);
    ck_assert(s.bias && !s.quiet && !s.json);
    ck_assert_int_eq(s.activation, RELU);
    ck_assert_ptr_null(s.data);
    ck_assert_ptr_null(s.preset);
}

START_TEST(long_options_take_the_next_word_or_what_follows_equals)
{
    ck_assert_uint_eq(shared_after("train --dim 256").dim, 256);
    ck_assert_uint_eq(shared_after("train --dim=256").dim, 256);
    ck_assert_double_eq(shared_after("train --lr 3e-4").lr, 3e-4);
    ck_assert_double_eq(shared_after("train --lr=.5").lr, 0.5);
    ck_assert_int_eq(shared_after("train --activation gelu-tanh").activation, GELU_TANH);
    ck_assert_int_eq(shared_after("train --activation gelu").activation, GELU);
}

START_TEST(letters_may_be_grouped_and_hold_their_value)
{
    Shared s = shared_after("train -qjb8 -l 0.5 -agelu");
    ck_assert(s.quiet && s.json);
    ck_assert_uint_eq(s.batch, 8);
    ck_assert_double_eq(s.lr, 0.5);
    ck_assert_int_eq(s.activation, GELU);
    refused("train -z", "unknown option '-z'");
    refused("train -qb", "--batch needs a value");
    refused("train -b=8", "--batch '=8': must be a whole number, at least 1");
    refused("sample -b 8", "--batch is an option of `lm train`, not of `lm sample`");
}

START_TEST(yes_and_no_are_said_in_four_ways)
{
    ck_assert(!shared_after("train --no-bias").bias);
    ck_assert(shared_after("train --no-bias --bias").bias);
    ck_assert(!shared_after("train --bias=no").bias);
    ck_assert(shared_after("train --bias=true").bias);
    refused("train --bias=maybe", "--bias 'maybe': must be yes or no");
    refused("train --bias=", "its value is empty; it must be yes or no");
    refused("train --no-bias=yes", "--no-bias takes no value; found 'yes'");
    refused("train --quiet=yes", "--quiet takes no value");
    refused("train --no-quiet", "--quiet cannot be negated");
    refused("train --no-dim", "--dim cannot be negated");
    refused("train --bias no", "takes options only; found 'no'");
}

START_TEST(of_an_option_given_twice_the_last_wins)
{
    ck_assert_uint_eq(shared_after("train --dim 1 --dim=2 --dim 3").dim, 3);
    Call c;
    call(&c, "train --data one --data two");
    ck_assert(c.good);
    ck_assert_str_eq(c.values.shared.data, "two");
    done(&c);
}

START_TEST(sizes_are_digits_in_range_and_nothing_else)
{
    static const char *const bad[] = {"12x", "-1",  "+1",  "1e3", "0x10",  "1_000", "10k",
                                      "0",   "nan", "inf", "-",   "65537", "3.0",   "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64], words[96];
        snprintf(text, sizeof text, "train --dim %s", bad[i]);
        snprintf(words, sizeof words, "--dim '%s': must be a whole number in [1,65536]", bad[i]);
        refused(text, words);
    }
    refused("train --dim=", "--dim: its value is empty; it must be a whole number in [1,65536]");
    refused("train --dim ''", "its value is empty");
    ck_assert_uint_eq(shared_after("train --seed 18446744073709551615").seed, SIZE_MAX);
    refused("train --seed 18446744073709551616", "must be a whole number");
    refused("train --seed -5", "--seed '-5': must be a whole number, at least 0");
    ck_assert_uint_eq(shared_after("train --dim 65536").dim, 65536);
    ck_assert_uint_eq(shared_after("train --dim 0001").dim, 1);
}

START_TEST(reals_are_finite_decimals_in_range)
{
    static const char *const bad[] = {"nan", "inf", "-inf", "1e400", "12x", "0x1p3", "1e", ".", "--1", "1,5", "e5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64], words[96];
        snprintf(text, sizeof text, "train --lr %s", bad[i]);
        snprintf(words, sizeof words, "--lr '%s': must be a number such as 0.25 or 3e-4, above 0", bad[i]);
        refused(text, words);
    }
    refused("train --lr 0", "above 0");
    refused("train --lr 1e-400", "--lr '1e-400': is too small to be told from 0");
    refused("train --lr -1e-400", "too small to be told from 0");
    refused("train --lr 1e-400x", "must be a number such as 0.25 or 3e-4, above 0");
    refused("train --lr 1e-320", "too small to be told from 0");
    ck_assert(shared_after("train --lr 1e-300").lr > 0);
    refused("train --dropout 1e-400", "--dropout '1e-400': is too small to be told from 0");
    ck_assert_double_eq(shared_after("train --dropout 0e-400").dropout, 0);
    refused("train --lr -1", "--lr '-1'");
    refused("train --dropout 1", "in [0,1)");
    refused("train --dropout=-0.1", "in [0,1)");
    ck_assert_double_eq(shared_after("train --dropout 0.999").dropout, 0.999);
}

START_TEST(choices_must_be_in_the_list_whole)
{
    refused("train --activation gel", "--activation 'gel': must be one of relu|gelu|gelu-tanh");
    refused("train --activation relu|gelu", "must be one of");
    refused("train --activation gelux", "must be one of");
    refused("train --activation=", "its value is empty; it must be relu|gelu|gelu-tanh");
}

START_TEST(a_forgotten_value_is_named)
{
    refused("train --dim", "--dim needs a value, and nothing follows it");
    refused("train --data --quiet", "--data needs a value; found the option --quiet");
    Call c;
    call(&c, "train --data=--quiet");
    ck_assert(c.good);
    ck_assert_str_eq(c.values.shared.data, "--quiet");
    done(&c);
}

START_TEST(a_misspelled_option_names_the_nearest)
{
    refused("train --dmi 3", "unknown option --dmi; did you mean --dim?");
    refused("train --Dim=3", "unknown option --Dim; did you mean --dim?");
    refused("train --activaton x", "did you mean --activation?");
    refused("train --drop 0", "did you mean --dropout?");
    refused("train --no-bais", "unknown option --no-bais; did you mean --no-bias?");
    refused("train --elephant", "unknown option --elephant; `lm train --help` lists the options");
    refused("train --=3", "unknown option --;");
    refused("train ---dim 3", "did you mean --dim?");
    refused("sample --lenght 3", "did you mean --length?");
}

START_TEST(an_option_of_another_command_says_so)
{
    refused("sample --dim 3", "--dim is an option of `lm train`, not of `lm sample`");
    refused("train --length 3", "--length is an option of `lm sample`, not of `lm train`");
    refused("sample --no-bias", "--bias is an option of `lm train`");
}

START_TEST(the_command_comes_first_and_must_exist)
{
    refused("", "which command? `lm --help` lists them");
    refused("tarin", "unknown command 'tarin'; did you mean train?");
    refused("elephant", "unknown command 'elephant'; `lm --help`");
    refused("--dim 3 train", "found '--dim' where the command should be, as in `lm train --dim`");
    refused("''", "unknown command ''");
    Call c;
    call(&c, "train");
    ck_assert(!options_parse(&c.options, 0, NULL, &c.error));
    done(&c);
}

START_TEST(arguments_are_collected_and_two_dashes_end_options)
{
    Call c;
    call(&c, "sample one --length 3 - -- --length -q");
    ck_assert_msg(c.good, "%s", c.error.text);
    ck_assert_uint_eq(c.options.argument_count, 4);
    ck_assert_str_eq(c.options.arguments[0], "one");
    ck_assert_str_eq(c.options.arguments[1], "-");
    ck_assert_str_eq(c.options.arguments[2], "--length");
    ck_assert_str_eq(c.options.arguments[3], "-q");
    ck_assert_uint_eq(c.values.own.length, 3);
    ck_assert_str_eq(c.options.command->name, "sample");
    done(&c);

    call(&c, "sample --");
    ck_assert(c.good && c.options.argument_count == 0);
    done(&c);
    refused("train one", "`lm train` takes options only; found 'one'");
    refused("train -- --dim", "found '--dim'");
    refused("train -", "found '-'");
}

START_TEST(a_text_may_be_empty_but_a_path_may_not)
{
    Call c;
    call(&c, "sample --prompt=");
    ck_assert(c.good);
    ck_assert_str_eq(c.values.own.prompt, "");
    ck_assert_int_eq(options_source(&c.options, "prompt"), FROM_COMMAND_LINE);
    done(&c);
    refused("train --data=", "--data: its value is empty");
    refused("train --data \033[31mred", "--data '?[31mred': a name with a control character");
    refused("train --data red\177", "--data 'red?': a name with a control character");
}

START_TEST(help_and_version_stop_the_reading)
{
    static const struct {
        const char *line;
        OptionsAsked asked;
        bool command;
    } cases[] = {{"--help", ASKED_HELP, false},       {"-h", ASKED_HELP, false},
                 {"--version", ASKED_VERSION, false}, {"train --help --nonsense", ASKED_HELP, true},
                 {"train -qh", ASKED_HELP, true},     {"train --dim 3 --version", ASKED_VERSION, true},
                 {"train", ASKED_WORK, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Call c;
        call(&c, cases[i].line);
        ck_assert_msg(c.good, "%s", c.error.text);
        ck_assert_int_eq(c.options.asked, cases[i].asked);
        ck_assert_int_eq(c.options.command != NULL, cases[i].command);
        done(&c);
    }
    refused("train --nonsense --help", "unknown option --nonsense");
}

START_TEST(very_long_and_odd_words_give_one_short_line)
{
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "--dim=\n\x1b", 8);
    Call c;
    call(&c, "train");
    char *const words[] = {"lm", "train", text, NULL};
    ck_assert(!options_parse(&c.options, 3, words, &c.error));
    ck_assert_ptr_nonnull(strstr(c.error.text, "--dim '??xxx"));
    ck_assert_ptr_null(strchr(c.error.text, '\n'));
    ck_assert_uint_lt(strlen(c.error.text), 200);

    text[5] = 'y'; /* no '=': an unknown option */
    ck_assert(!options_parse(&c.options, 3, words, &c.error));
    ck_assert_uint_lt(strlen(c.error.text), 200);

    memcpy(text, "--data=x", 8); /* a text is kept whole */
    ck_assert(options_parse(&c.options, 3, words, &c.error));
    ck_assert_uint_eq(strlen(c.values.shared.data), sizeof text - 1 - 7);
    done(&c);
}

START_TEST(a_cut_text_ends_between_characters)
{
    Call c;
    call(&c, "train");
    char value[200] = "--dim=x";
    for (size_t i = 0; i < 60; i++)
        strcat(value, "é");
    char *const words[] = {"lm", "train", value, NULL};
    ck_assert(!options_parse(&c.options, 3, words, &c.error));
    ck_assert_ptr_nonnull(strstr(c.error.text, "é...'"));
    done(&c);
}

START_TEST(a_value_printed_reads_back_to_the_same_bits)
{
    static const double reals[] = {0.1,     1e-4, 1.0 / 3, DBL_MAX, DBL_MIN, 5e-324, 123456789.123456789, 1,
                                   0x1p-53, 3e22, 1e23,    2,       1e300,   1e-300, 0.30000000000000004};
    Call c;
    thread_flush(false); /* or 5e-324 is 0 */
    call(&c, "train");
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        Buffer text = {0};
        c.values.shared.lr = reals[i];
        for (size_t k = 0; k < c.options.count; k++)
            if (strcmp(c.options.states[k].row->name, "lr") == 0)
                ck_assert(options_text(&c.options.states[k], &text));
        c.values.shared.lr = 0;
        ck_assert(options_set(&c.options, "lr", text.text, FROM_COMMAND_LINE, &c.error));
        ck_assert_int_eq(memcmp(&c.values.shared.lr, &reals[i], sizeof reals[i]), 0);
        buffer_free(&text);
    }
    done(&c);
    thread_flush(true);
}

START_TEST(every_value_prints_as_it_is_written)
{
    Call c;
    call(&c, "train --lr 0.00010 --no-bias --activation gelu-tanh --batch 007");
    Buffer text = {0};
    for (size_t k = 0; k < c.options.count; k++) {
        buffer_print(&text, " %s=", c.options.states[k].row->name);
        if (!options_text(&c.options.states[k], &text))
            buffer_print(&text, "NONE");
    }
    ck_assert_str_eq(text.text, " dim=128 bias=no activation=gelu-tanh batch=7 lr=0.0001 dropout=0 seed=1 data=NONE "
                                "quiet=no json=no preset=NONE config=NONE length=600 prompt=");
    buffer_free(&text);
    done(&c);
}

START_TEST(an_error_may_be_unwanted)
{
    Call c;
    call(&c, "train");
    char *const words[] = {"lm", "train", "--dmi", NULL};
    ck_assert(!options_parse(&c.options, 3, words, NULL));
    ck_assert(!options_set(&c.options, "", "", FROM_CONFIG, NULL));
    done(&c);
}

static const Test tests[] = {
    TEST(defaults_hold_where_nothing_is_given),
    TEST(long_options_take_the_next_word_or_what_follows_equals),
    TEST(letters_may_be_grouped_and_hold_their_value),
    TEST(yes_and_no_are_said_in_four_ways),
    TEST(of_an_option_given_twice_the_last_wins),
    TEST(sizes_are_digits_in_range_and_nothing_else),
    TEST(reals_are_finite_decimals_in_range),
    TEST(choices_must_be_in_the_list_whole),
    TEST(a_forgotten_value_is_named),
    TEST(a_misspelled_option_names_the_nearest),
    TEST(an_option_of_another_command_says_so),
    TEST(the_command_comes_first_and_must_exist),
    TEST(arguments_are_collected_and_two_dashes_end_options),
    TEST(a_text_may_be_empty_but_a_path_may_not),
    TEST(help_and_version_stop_the_reading),
    TEST(very_long_and_odd_words_give_one_short_line),
    TEST(a_cut_text_ends_between_characters),
    TEST(a_value_printed_reads_back_to_the_same_bits),
    TEST(every_value_prints_as_it_is_written),
    TEST(an_error_may_be_unwanted),
};

int main(int argc, char **argv) { return suite_run("cli/options", tests, sizeof tests / sizeof *tests, argc, argv); }
