/* What --help prints. */
#include "fixture.h"

static void help_of(const char *line, Buffer *out)
{
    Call c;
    call(&c, line);
    ck_assert(c.good);
    options_help(&c.options, out);
    options_close(&c.options);
    ck_assert(!out->failed);
}

START_TEST(the_program_lists_its_commands)
{
    Buffer text = {0};
    help_of("--help", &text);
    ck_assert_str_eq(text.text, "Usage: lm COMMAND [OPTION...]\n\nA language model.\n\nCommands:\n"
                                "  train                     train a model\n"
                                "  sample                    write text\n\n"
                                "`lm COMMAND --help` lists a command's options.\n`lm --version` prints the version.\n");
    buffer_free(&text);
}

START_TEST(a_command_lists_its_own_options_by_class_with_defaults)
{
    Buffer text = {0};
    help_of("sample --help", &text);
    ck_assert_str_eq(text.text, "Usage: lm sample [OPTION...] [TEXT...]\n\nwrite text\n\n"
                                "Training (stored; kept on resume unless changed):\n"
                                "      --seed N              of all random numbers (default 1)\n\n"
                                "This call only (not stored):\n"
                                "  -q, --quiet               no progress\n"
                                "  -j, --json                one object at the end\n"
                                "      --length N            bytes to write (default 600)\n"
                                "      --prompt TEXT         text to go on from (default empty)\n"
                                "  -h, --help                print this help\n");
    buffer_free(&text);
    help_of("train --help", &text);
    ck_assert_ptr_nonnull(strstr(text.text, "      --[no-]bias           biases in linear layers (default yes)\n"));
    ck_assert_ptr_nonnull(strstr(text.text, "  -a, --activation relu|gelu|gelu-tanh\n                            σ"));
    ck_assert_ptr_nonnull(strstr(text.text, "\nPresets:\n  tiny                      a minute on a laptop\n"));
    ck_assert_ptr_null(strstr(text.text, "--length"));
    buffer_free(&text);
}

START_TEST(a_default_joins_the_brackets_that_a_description_ends_with)
{
    Option row = shared_rows[0];
    row.help = "how many (0: all)";
    Shared values;
    const OptionTable table = {&row, 1, &values};
    Program bare = the_program();
    bare.preset_count = 0;
    Options o;
    Error e;
    ck_assert(options_open(&o, &bare, &table, 1, &e));
    char *const words[] = {"lm", "train", "--help", NULL};
    ck_assert(options_parse(&o, 3, words, &e));
    Buffer text = {0};
    options_help(&o, &text);
    ck_assert_ptr_nonnull(strstr(text.text, "how many (0: all; default 128)\n"));
    buffer_free(&text);
    options_close(&o);
}

START_TEST(long_descriptions_wrap_within_eighty_columns)
{
    char help[400] = "";
    for (int i = 0; i < 30; i++)
        strcat(help, i < 10 ? "größer " : "ab ");
    Option row = shared_rows[0];
    row.help = help;
    Shared values;
    const OptionTable table = {&row, 1, &values};
    const Program p = the_program();
    Program bare = p;
    bare.preset_count = 0;
    Options o;
    Error e;
    ck_assert(options_open(&o, &bare, &table, 1, &e));
    char *const words[] = {"lm", "train", "--help", NULL};
    ck_assert(options_parse(&o, 3, words, &e));
    Buffer text = {0};
    options_help(&o, &text);
    size_t longest = 0, width = 0;
    for (const char *c = text.text; *c; c++) {
        width = *c == '\n' ? 0 : width + (((unsigned char)*c & 0xc0) != 0x80);
        longest = width > longest ? width : longest;
        if (*c == '\n' && c > text.text)
            ck_assert_int_ne(c[-1], ' ');
    }
    ck_assert_uint_le(longest, 80);
    ck_assert_uint_ge(longest, 76);
    buffer_free(&text);
    options_close(&o);
}

static const Test tests[] = {
    TEST(the_program_lists_its_commands),
    TEST(a_command_lists_its_own_options_by_class_with_defaults),
    TEST(a_default_joins_the_brackets_that_a_description_ends_with),
    TEST(long_descriptions_wrap_within_eighty_columns),
};

int main(int argc, char **argv) { return suite_run("cli/help", tests, sizeof tests / sizeof *tests, argc, argv); }
