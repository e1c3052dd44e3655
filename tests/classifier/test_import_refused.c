/* classifier import: what is no model that can be read is refused, in one line that names it. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/cases.h"
#include "tests/classifier/encoders.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

static const char *copied(const char *name)
{
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json"};
    const char *folder = fresh_path("model");
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", folder_of(name), files[i]);
        copy_in(path, folder, files[i]);
    }
    return folder;
}

/* A tokenizer that is read by its file alone is what the file says. */
START_TEST(a_class_for_any_tokenizer_takes_what_its_file_says)
{
    static const char config[] = "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"do_lower_case\": false}";
    const char *folder = copied("bert-pairs");
    write_in(folder, "tokenizer_config.json", config, sizeof config - 1);
    works("import %s --out %s -q", folder, fresh_path("run"));
}

START_TEST(what_a_bert_says_that_is_not_known_is_refused)
{
    static const Edit edits[] = {
        {"config.json", "\"bert\"", "\"roberta\"", "'model_type' is roberta; bert and distilbert can be imported"},
        {"config.json", "BertForPreTraining", "BertForQuestionAnswering",
         "'architectures' is BertForQuestionAnswering; of bert"},
        {"config.json", "\"is_decoder\": false", "\"is_decoder\": true", "'is_decoder' must be false"},
        {"config.json", "\"add_cross_attention\": false", "\"add_cross_attention\": true",
         "'add_cross_attention' must"},
        {"config.json", "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\"", "'hidden_act' is mish"},
        {"config.json", "\"type_vocab_size\": 2", "\"type_vocab_size\": 3", "'type_vocab_size' must be 2"},
        {"config.json", "1e-12", "0", "'layer_norm_eps' is not a number between 0 and 1"},
        {"config.json", "\"num_attention_heads\": 3", "\"num_attention_heads\": 5",
         "'hidden_size' 12 is not a multiple of 'num_attention_heads' 5"},
        {"config.json", "\"hidden_size\": 12", "\"hidden_size\": 24", "by config.json it is [166, 24]"},
        {"config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
         "encoder.layer.2.attention.self.query.weight' is missing"},
        {"config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
         "encoder.layer.1.attention.output.LayerNorm.bias' has no place"},
        {"config.json", "\"vocab_size\": 166", "\"vocab_size\": 160",
         "the model has 160 tokens, but its files name 166"},
        {"config.json", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": 1", "'tie_word_embeddings' is not"},
        {"config.json", "{", "{\"position_embedding_type\": \"relative_key\",",
         "'position_embedding_type' must be absolute"},
        {"config.json", "{", "{\"position_embedding_type\": 7,", "'position_embedding_type' must be absolute"},
        {"config.json", "{", "{\"pruned_heads\": {\"0\": [1]},", "'pruned_heads' must be empty"},
        {"config.json", "{", "{\"quantization_config\": {},", "'quantization_config' is not supported"},
        {"config.json", "{", "{\"auto_map\": {},", "'auto_map' is not supported"},
        {"config.json", "{", "[", "config.json"},
        {"tokenizer.json", "\"strip_accents\": null", "\"strip_accents\": false",
         "'strip_accents' must be as 'lowercase'"},
        {"tokenizer.json", "\"lowercase\": true", "\"lowercase\": 1", "'lowercase' is not true or false"},
        {"tokenizer.json", "\"handle_chinese_chars\": true", "\"handle_chinese_chars\": false", "Chinese characters"},
        {"tokenizer.json", "\"clean_text\": true", "\"clean_text\": false", "'normalizer' is not BertNormalizer"},
        {"tokenizer.json", "BertPreTokenizer", "Whitespace", "'pre_tokenizer' is not BertPreTokenizer"},
        {"tokenizer.json", "\"type\": \"WordPiece\",\n    \"unk_token\"", "\"type\": \"Unigram\",\n    \"unk_token\"",
         "'model' is Unigram; WordPiece can be imported"},
        {"tokenizer.json", "\"continuing_subword_prefix\": \"##\"", "\"continuing_subword_prefix\": \"@@\"",
         "must be ##"},
        {"tokenizer.json", "\"max_input_chars_per_word\": 100", "\"max_input_chars_per_word\": 50", "must be 100"},
        {"tokenizer.json", "\"content\": \"[MASK]\"", "\"content\": \"[NAME]\"",
         "the added token '[NAME]' is none of the usual marks"},
        {"tokenizer.json", "\"[unused0]\": 1", "\"[unused0]\": 2",
         "tokenizer.json: '[unused0]' and '[CLS]' have the same id 2"},
        {"tokenizer.json", "\"[unused0]\": 1", "\"[unused0]\": 1e30",
         "the id of '[unused0]' is not a whole number from 0 to 165"},
        {"tokenizer.json", "\"[UNK]\": ", "\"[unk]\": ", "tokenizer.json (written as vocab.txt) has no"},
        {"tokenizer_config.json", "{", "{\"tokenizer_class\": \"XLNetTokenizer\"",
         "'tokenizer_class' is XLNetTokenizer; those of BERT can be"},
        {"tokenizer_config.json", "{", "{\"do_lower_case\": false",
         "'do_lower_case' of tokenizer_config.json is false, and 'lowercase' of tokenizer.json is not"},
        {"tokenizer_config.json", "{", "{\"strip_accents\": false",
         "tokenizer_config.json: 'strip_accents' must be as 'do_lower_case'"},
        {"tokenizer_config.json", "{", "{\"tokenize_chinese_chars\": false", "Chinese characters"},
        {"tokenizer_config.json", "{", "{\"cls_token\": \"the\"",
         "tokenizer_config.json: 'cls_token' is the, and only [CLS] is supported"},
        {"tokenizer_config.json", "{", "{\"sep_token\": {\"content\": \"[MASK]\"}",
         "'sep_token' is [MASK], and only [SEP]"},
        {"tokenizer_config.json", "{", "{\"bos_token\": \"the\"", "'bos_token' is the, which is none of the usual"},
        {"special_tokens_map.json", "{", "{\"mask_token\": \"the\"",
         "special_tokens_map.json: 'mask_token' is the, and only [MASK]"},
        {"special_tokens_map.json", "{", "{\"additional_special_tokens\": [\"[SEP]\", \"the\"]",
         "'additional_special_tokens' is the, which is none"},
        {"tokenizer.json", "\"[unused0]\": 1", "\"un\\nused\": 1", "has an end of a line in it"},
        {"tokenizer.json", "\"[unused0]\": 1", "\"\": 1", "is empty"},
        {"tokenizer.json", "\"vocab\"", "\"words\"", "'vocab' is missing"},
        {"added_tokens.json", "}", ", \"[NAME]\": 166}",
         "added_tokens.json: the added token '[NAME]' is none of the usual"},
        {"added_tokens.json", "{", "[", "added_tokens.json"},
    };
    const char *folder = copied("bert-pairs"), *run = fresh_path("run");
    write_in(folder, "added_tokens.json", "{\"[MASK]\": 5}", 13);
    write_in(folder, "tokenizer_config.json", "{}", 2);
    write_in(folder, "special_tokens_map.json", "{}", 2);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        import_refused(folder, run, &edits[i]);
}

/* Without tokenizer.json. */
START_TEST(what_a_vocabulary_says_that_is_not_known_is_refused)
{
    static const char plain[] = "{\"do_lower_case\": false, \"do_basic_tokenize\": true, \"never_split\": null}";
    static const Edit edits[] = {
        {"tokenizer_config.json", "\"do_basic_tokenize\": true", "\"do_basic_tokenize\": false",
         "tokenizer_config.json: 'do_basic_tokenize' must be true"},
        {"tokenizer_config.json", "\"never_split\": null", "\"never_split\": [\"a\"]",
         "tokenizer_config.json: 'never_split' must be empty"},
        {"tokenizer_config.json", "\"never_split\": null", "\"never_split\": \"a\"", "'never_split' must be empty"},
        {"added_tokens.json", "}", "\"[NAME]\": 166}",
         "added_tokens.json: the added token '[NAME]' is none of the usual"},
    };
    static const char *const files[] = {"config.json",
                                        "vocab.txt",
                                        "model.safetensors.index.json",
                                        "model-00001-of-00003.safetensors",
                                        "model-00002-of-00003.safetensors",
                                        "model-00003-of-00003.safetensors"};
    const char *folder = fresh_path("model"), *run = fresh_path("run");
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", folder_of("bert"), files[i]);
        copy_in(path, folder, files[i]);
    }
    write_in(folder, "tokenizer_config.json", plain, sizeof plain - 1);
    write_in(folder, "added_tokens.json", "{}", 2);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        import_refused(folder, run, &edits[i]);
    works("import %s --out %s -q", folder, run);
}

START_TEST(one_file_of_weights_may_be_named) { imports_a_named_file(copied("distilbert"), imported("distilbert")); }

START_TEST(what_a_classifier_says_of_its_classes_must_be_names)
{
    static const Edit edits[] = {
        {"config.json", "\"1\": \"so so\"", "\"1\": \"bad\"", "'1' is the name of two classes"},
        {"config.json", "\"2\": \"good\"", "\"3\": \"good\"", "'2' is missing"},
        {"config.json", "\"1\": \"so so\"", "\"1\": \"so\\tso\"", "'1' holds a control character"},
        {"config.json", "\"0\": \"bad\",\n    \"1\": \"so so\",", "", "1 classes; a classifier has from 2"},
        {"config.json", ",\n    \"2\": \"good\"", "", "tensor 'classifier.weight' is of another shape"},
        {"config.json", "{", "{\"problem_type\": \"regression\",",
         "'problem_type' must be single_label_classification"},
    };
    const char *folder = copied("bert-classes"), *run = fresh_path("run");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        import_refused(folder, run, &edits[i]);
}

START_TEST(a_folder_that_is_not_whole_is_refused)
{
    const char *folder = copied("distilbert-masked"), *run = fresh_path("run");
    char path[800];
    size_t size;
    char *weights = read_in(folder, "model.safetensors", &size);
    write_in(folder, "model.safetensors", weights, size - 1);
    refused(1, "model.safetensors", "import %s --out %s -q", folder, run);
    write_in(folder, "model.safetensors", weights, size);
    memory_free(weights);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    ck_assert_int_eq(remove(path), 0);
    refused(1, "has neither tokenizer.json nor vocab.txt", "import %s --out %s -q", folder, run);
    write_in(folder, "vocab.txt", "[UNK]\na\n", 8);
    refused(1, "has no [CLS], [SEP] or [MASK]", "import %s --out %s -q", folder, run);
    write_in(folder, "tokenizer_config.json", "{\"strip_accents\": false}", 24);
    refused(1, "tokenizer_config.json: 'strip_accents' must be as 'do_lower_case'", "import %s --out %s -q", folder,
            run);
    refused(2, "Give --out RUN", "import %s", folder);
    refused(2, "Name one folder", "import --out %s", run);
    refused(1, "config.json", "import /no/such --out %s", run);
    refused(1, "is no folder: name the model's folder", "import README.md --out %s", run);
    ck_assert(!folder_exists(run));
    snprintf(path, sizeof path, "%s.import.vocab.txt", run);
    ck_assert(!file_exists(path));
}

static const Test tests[] = {
    TEST(a_class_for_any_tokenizer_takes_what_its_file_says),  TEST(what_a_bert_says_that_is_not_known_is_refused),
    TEST(what_a_vocabulary_says_that_is_not_known_is_refused), TEST(one_file_of_weights_may_be_named),
    TEST(what_a_classifier_says_of_its_classes_must_be_names), TEST(a_folder_that_is_not_whole_is_refused)};

int main(int argc, char **argv)
{
    command_program("classifier");
    return suite_run("classifier/import_refused", tests, sizeof tests / sizeof *tests, argc, argv);
}
