/* train --from a run of charlm: its tables are for its tokens, and are refused for as many others. */
#include "base/file.h"
#include "tests/charlm/tiny.h"

#include <stdio.h>

#define ONE TINY " --steps 1 --eval-every 0 -q "

/* Of which other byte pairs are learned than of the built-in text. */
static const char *other_text(void)
{
    static char path[700];
    const char *folder = fresh_path("texts");
    Buffer text = {0};
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (int i = 0; i < 600; i++)
        buffer_print(&text, "%d + %d = %d; %x\n", i, 7 * i, 8 * i, 977 * i);
    write_in(folder, "sums.txt", text.text, text.size);
    buffer_free(&text);
    snprintf(path, sizeof path, "%s/sums.txt", folder);
    return path;
}

START_TEST(as_many_tokens_that_are_others_are_refused)
{
    const char *run = fresh_path("run"), *bytes = fresh_path("bytes"), *data = other_text();
    works("train --run %s " ONE "--tokens bpe --merges 50", run);
    works("train --run %s " ONE, bytes);
    refused(1, "as many tokens as this run, but others",
            "train --run %s-a " ONE "--tokens bpe --merges 50 --data %s "
            "--from %s",
            run, data, run);
    works("train --run %s-b " ONE "--tokens bpe --merges 50 --from %s", run, run);
    works("train --run %s-c " ONE "--tokens gpt2 --vocabulary %s/encoder.json --codes %s/vocab.bpe --data %s --from %s",
          run, run, run, data, run);
    works("train --run %s-d " ONE "--data %s --from %s", run, data, bytes);
    works("train --run %s-e " ONE "--tokens bpe --merges 40 --data %s --from %s", run, data, run);
    works("train --run %s-f " ONE "--tokens bpe --merges 50 --data %s --from %s/checkpoints/00000001/model.safetensors "
          "--map token_embedding.=other.",
          run, data, run);
}

/* Rows of registers come after those of tokens. */
START_TEST(a_register_is_no_token)
{
    const char *run = fresh_path("run");
    works("train --run %s " ONE "--tokens bpe --merges 50", run);
    refused(1, "as many tokens as this run, but others",
            "train --run %s-a " ONE "--tokens bpe --merges 48 --registers 2 --from %s", run, run);
}

static const Test tests[] = {TEST(as_many_tokens_that_are_others_are_refused), TEST(a_register_is_no_token)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/from", tests, sizeof tests / sizeof *tests, argc, argv);
}
