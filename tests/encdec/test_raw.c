/* Text as people write it, from end to end. */
#define _XOPEN_SOURCE 700
#include "base/buffer.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define SMALL                                                                                                          \
    "--preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 512 --micro-tokens 256 "          \
    "--workers 2 --dropout 0 --eval-every 0 --context 48 --longest 40 -q "

/* Raw text in, raw text out: what is learned by heart comes back with its marks where they stood. */
START_TEST(raw_text_comes_back_raw)
{
    char folder[600];
    Buffer source = {0}, target = {0};
    snprintf(folder, sizeof folder, "%s", test_folder());
    const char *run = fresh_path("run");
    for (size_t i = 0; i < 60; i++) {
        buffer_print(&source, "Yes, \"it's\" so.\n");
        buffer_print(&target, "Ja, \"es ist\" so (3,5 kg).\n");
    }
    write_in(folder, "raw.en", source.text, source.size);
    write_in(folder, "raw.de", target.text, target.size);
    works("train --run %s " SMALL " --type bpe --merges 50 --tokens moses --steps 300 --warmup 100 "
          "--train-source %s/raw.en --train-target %s/raw.de",
          run, folder, folder);
    command_input("Yes, \"it's\" so.\n", 16);
    Said s = must("translate --run %s --weights last -q", run);
    ck_assert_str_eq(s.out, "Ja, \"es ist\" so (3,5 kg).\n");
    said_free(&s);
    s = command("train --run %s-2 --tokens moses --target cs --steps 1", run);
    ck_assert_int_eq(s.status, 2);
    ck_assert_msg(strstr(s.err, "'cs'") && strstr(s.err, "--tokens spaces"), "%s", s.err);
    said_free(&s);
    buffer_free(&source);
    buffer_free(&target);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(raw_text_comes_back_raw)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/raw", tests, sizeof tests / sizeof *tests, argc, argv);
}
