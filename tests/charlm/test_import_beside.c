/* charlm import: what lies beside a model's weights, in its folder, is read or refused by name. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define LLAMA "tests/fixtures/llama-model"

static const char *copied(void)
{
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json"};
    const char *folder = fresh_path("model");
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[100];
        snprintf(path, sizeof path, LLAMA "/%s", files[i]);
        copy_in(path, folder, files[i]);
    }
    return folder;
}

START_TEST(what_would_change_its_meaning_is_refused_by_name)
{
    static const char plain[] = "{\"add_prefix_space\": false, \"add_bos_token\": null}";
    static const Edit edits[] = {
        {"config.json", "{", "{\"quantization_config\": {\"bits\": 4},", "'quantization_config' is not supported"},
        {"config.json", "{", "{\"auto_map\": {},", "'auto_map' is not supported"},
        {"config.json", "{", "{\"pruned_heads\": {\"0\": [1]},", "'pruned_heads' must be empty"},
        {"tokenizer_config.json", "\"add_prefix_space\": false", "\"add_prefix_space\": true",
         "tokenizer_config.json: 'add_prefix_space' must be false"},
        {"tokenizer_config.json", "\"add_bos_token\": null", "\"add_bos_token\": true",
         "tokenizer_config.json: 'add_bos_token' must be false"},
        {"tokenizer_config.json", "\"add_bos_token\": null", "\"add_bos_token\": 1", "'add_bos_token' must be false"},
        {"tokenizer_config.json", "{", "[", "tokenizer_config.json"},
        {"added_tokens.json", "}", ", \"<|name|>\": 9}", "added_tokens.json: '<|name|>' is not in the vocabulary"},
    };
    const char *folder = copied(), *run = fresh_path("run");
    char path[800];
    write_in(folder, "tokenizer_config.json", plain, sizeof plain - 1);
    write_in(folder, "added_tokens.json", "{\"!\": 0}", 8);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        import_refused(folder, run, &edits[i]);
    snprintf(path, sizeof path, "%s.import.vocab.json", run);
    ck_assert(!file_exists(path));
    works("import %s --out %s -q", folder, run);
}

START_TEST(one_file_of_weights_may_be_named)
{
    const char *whole = fresh_path("whole");
    works("import " LLAMA " --out %s -q", whole);
    imports_a_named_file(copied(), whole);
    refused(1, "config.json", "import /no/such/best.safetensors --out %s-2 -q", whole);
}

static const Test tests[] = {TEST(what_would_change_its_meaning_is_refused_by_name),
                             TEST(one_file_of_weights_may_be_named)};

int main(int argc, char **argv)
{
    return suite_run("charlm/import_beside", tests, sizeof tests / sizeof *tests, argc, argv);
}
