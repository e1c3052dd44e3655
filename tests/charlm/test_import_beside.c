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

/* With what lies beside it, and instead of model.safetensors. */
START_TEST(one_file_of_weights_may_be_named)
{
    const char *folder = copied(), *whole = fresh_path("whole"), *run = fresh_path("one");
    size_t size, other;
    works("import " LLAMA " --out %s -q", whole);
    char *weights = read_in(folder, "model.safetensors", &size);
    write_in(folder, "best.safetensors", weights, size);
    write_in(folder, "model.safetensors", "", 0);
    memory_free(weights);
    refused(1, "other.safetensors", "import %s/other.safetensors --out %s -q", folder, run);
    refused(1, "config.json", "import /no/such/best.safetensors --out %s -q", run);
    works("import %s/best.safetensors --out %s -q", folder, run);
    char *a = read_in(whole, "checkpoints/00000000/model.safetensors", &size),
         *b = read_in(run, "checkpoints/00000000/model.safetensors", &other);
    ck_assert(a && b && size == other && !memcmp(a, b, size));
    memory_free(a);
    memory_free(b);
}

static const Test tests[] = {TEST(what_would_change_its_meaning_is_refused_by_name),
                             TEST(one_file_of_weights_may_be_named)};

int main(int argc, char **argv)
{
    return suite_run("charlm/import_beside", tests, sizeof tests / sizeof *tests, argc, argv);
}
