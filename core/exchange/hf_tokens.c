/* See hf_tokens.h. */
#include "core/exchange/hf_tokens.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/text_file.h"
#include "core/run/json.h"

#include <string.h>

static void add_separator(Buffer *b, int32_t id)
{
    json_add_key(b, "added_tokens");
    buffer_print(b, "[");
    if (id >= 0) {
        buffer_print(b, "{\"id\": %d", (int)id);
        json_add_text(b, "content", GPT2_SEPARATOR);
        buffer_print(b, ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
                        "\"special\": true}");
    }
    buffer_print(b, "]");
}

static void add_model(Buffer *b, const Gpt2 *g)
{
    json_add_key(b, "model");
    buffer_print(b, "{\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, \"continuing_subword_prefix\": null, "
                    "\"end_of_word_suffix\": null, \"fuse_unk\": false, \"byte_fallback\": false");
    json_add_key(b, "vocab");
    buffer_print(b, "{");
    for (size_t i = 0; i < g->subwords.count; i++)
        json_add_member(b, vocabulary_word(&g->subwords, (int32_t)i), (double)i);
    buffer_print(b, "}");
    json_add_key(b, "merges");
    buffer_print(b, "[");
    for (size_t i = 0; i < g->merges.count; i++) {
        const Pair *pair = &g->merges.pair[i];
        json_add_key(b, NULL);
        buffer_print(b, "[");
        json_add_string(b, vocabulary_word(&g->subwords, pair->left));
        json_add_key(b, NULL);
        json_add_string(b, vocabulary_word(&g->subwords, pair->right));
        buffer_print(b, "]");
    }
    buffer_print(b, "]}");
}

static void add_tokenizer(Buffer *b, const Gpt2 *g, int32_t separator)
{
    static const char bytes[] =
        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": true}";
    buffer_print(b, "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null");
    add_separator(b, separator);
    buffer_print(b, ", \"normalizer\": null, \"pre_tokenizer\": %s, \"post_processor\": %s, \"decoder\": %s", bytes,
                 bytes, bytes);
    add_model(b, g);
    buffer_print(b, "}\n");
}

static void add_config(Buffer *b, size_t context, bool separated)
{
    buffer_print(b, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"clean_up_tokenization_spaces\": false");
    json_add_member(b, "model_max_length", (double)context);
    if (separated) {
        json_add_text(b, "bos_token", GPT2_SEPARATOR);
        json_add_text(b, "eos_token", GPT2_SEPARATOR);
    }
    buffer_print(b, "}\n");
}

bool hf_tokens_write(const char *folder, const Gpt2 *g, size_t context, Error *e)
{
    const int32_t separator = vocabulary_search(&g->subwords, GPT2_SEPARATOR, strlen(GPT2_SEPARATOR));
    char *vocabulary = path_join(folder, "vocab.json"), *merges = path_join(folder, "merges.txt");
    Buffer tokenizer = {0}, config = {0};
    bool fine = (vocabulary && merges) || memory_error(e, "a path", strlen(folder), 2);
    fine = fine && gpt2_write(g, vocabulary, merges, e);
    memory_free(vocabulary);
    memory_free(merges);
    add_tokenizer(&tokenizer, g, separator);
    add_config(&config, context, separator >= 0);
    const bool written = fine && text_file(folder, "tokenizer.json", &tokenizer, e);
    buffer_free(&tokenizer);
    fine = written && text_file(folder, "tokenizer_config.json", &config, e);
    buffer_free(&config);
    return fine;
}
