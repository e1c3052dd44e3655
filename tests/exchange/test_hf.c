/* core/exchange/hf_folder: what a folder adds to its tokens is what is done here, or is refused by name. */
#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/hf_folder.h"
#include "core/exchange/hf_tokens.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

/* A folder with config.json and tokens as we write them. */
static const char *begun(void)
{
    const char *folder = fresh_path("model");
    Error e;
    ck_done(folder_make(folder, &e), e);
    write_in(folder, "config.json", "{}", 2);
    return folder;
}

static const char *byte_pairs(void)
{
    static const char text[] = "the words of the words, the other words";
    const char *folder = begun();
    Gpt2 g;
    Error e;
    ck_done(gpt2_learn(&g, text, sizeof text - 1, 4, &e) && hf_tokens_write(folder, &g, 16, &e), e);
    gpt2_close(&g);
    return folder;
}

static const char *pieces(void)
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n";
    const char *folder = begun();
    WordPiece w;
    char path[800];
    Error e;
    write_in(folder, "vocab.txt", words, sizeof words - 1);
    snprintf(path, sizeof path, "%s/vocab.txt", folder);
    ck_done(wordpiece_read(&w, path, true, &e) && hf_wordpiece_write(folder, &w, 16, &e), e);
    wordpiece_close(&w);
    return folder;
}

static bool reads(const char *folder, bool bytes, Error *e)
{
    HfFolder h;
    HfTokens t = {.made = false};
    HfWordPiece w = {.made = false};
    char *made = path_join(folder, "made");
    bool found;
    const bool fine = hf_open(&h, folder, "", e) &&
                      (bytes ? hf_tokens_find(&t, &h, made, &found, e) : hf_wordpiece_find(&w, &h, made, e));
    hf_close(&h);
    memory_free(t.vocabulary);
    memory_free(t.merges);
    memory_free(w.vocabulary);
    memory_free(made);
    return fine;
}

/* said: what is said of an edit; NULL: nothing. */
static void expect(const char *folder, bool bytes, const Edit *edit)
{
    Error e = {{0}};
    char *text = edit_in(folder, edit);
    const bool fine = reads(folder, bytes, &e);
    ck_assert_msg(edit->said ? !fine && strstr(e.text, edit->said) : fine, "%s: %s", edit->to, e.text);
    write_in(folder, edit->file, text, strlen(text));
    memory_free(text);
}

#define SPECIAL(id, name)       "{\"id\": " id ", \"content\": \"" name "\", \"special\": true}"
#define DECODER(id, name, more) "{\"added_tokens_decoder\": {\"" id "\": {\"content\": \"" name "\"" more "}}, "
#define ADDED                   "\"added_tokens\": ["
#define AROUND                  "\"post_processor\": {"

START_TEST(byte_pairs_have_no_token_that_a_text_here_has_not)
{
    static const Edit edits[] = {
        {"tokenizer.json", ADDED, ADDED SPECIAL("261", "<pad>") ", ", NULL},
        {"tokenizer.json", "\"special\": true", "\"special\": false", NULL},
        {"tokenizer.json", ADDED, ADDED "{\"id\": 97, \"content\": \"a\", \"special\": false}, ",
         "tokenizer.json: the added token 'a' is not special"},
        {"tokenizer.json", ADDED, ADDED "{\"content\": \"<pad>\", \"special\": true}, ",
         "tokenizer.json: '<pad>' is not in the vocabulary"},
        {"tokenizer.json", ADDED, ADDED "7, ", "tokenizer.json: added token 0 has no 'content'"},
        {"tokenizer.json", "\"id\": 260,", "\"id\": 7,", "the id of '<|endoftext|>' is not 260, as in the vocabulary"},
        {"tokenizer.json", "\"lstrip\": false", "\"lstrip\": true", "'lstrip' of '<|endoftext|>' must be false"},
        {"tokenizer.json", "\"rstrip\": false", "\"rstrip\": true", "'rstrip' of '<|endoftext|>' must be false"},
        {"tokenizer.json", "\"single_word\": false", "\"single_word\": true", "'single_word' of '<|endoftext|>'"},
        {"tokenizer_config.json", "{", DECODER("260", "<|endoftext|>", ", \"special\": true"), NULL},
        {"tokenizer_config.json", "{", DECODER("261", "<|endoftext|>", ", \"special\": true"),
         "tokenizer_config.json: the id of '<|endoftext|>' is not 260"},
        {"tokenizer_config.json", "{", DECODER("260x", "<|endoftext|>", ", \"special\": true"), "is not 260"},
        {"tokenizer_config.json", "{", DECODER("261", "<pad>", ", \"special\": true"),
         "tokenizer_config.json: '<pad>' is not in the vocabulary"},
        {"tokenizer_config.json", "{", DECODER("97", "a", ""), "the added token 'a' is not special"},
        {"added_tokens.json", "260", "261", "added_tokens.json: the id of '<|endoftext|>' is not 260"},
    };
    const char *folder = byte_pairs();
    write_in(folder, "added_tokens.json", "{\"<|endoftext|>\": 260}", 22);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        expect(folder, true, &edits[i]);
}

/* "other" keeps the rest of what was there. */
START_TEST(byte_pairs_have_nothing_around_them)
{
    static const Edit edits[] = {
        {"tokenizer.json", AROUND, "\"post_processor\": null, \"other\": {", NULL},
        {"tokenizer.json", AROUND, "\"other\": {", NULL},
        {"tokenizer.json", AROUND,
         AROUND "\"type\": \"TemplateProcessing\", \"single\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], "
                "\"pair\": [], \"special_tokens\": {}}, \"other\": {",
         NULL},
        {"tokenizer.json", AROUND,
         AROUND "\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"x\", \"type_id\": 0}}, "
                "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"special_tokens\": {\"x\": {\"ids\": [260]}}}, "
                "\"other\": {",
         "'post_processor' makes '<|endoftext|> A' of a text, but only 'A' is supported"},
        {"tokenizer.json", AROUND,
         AROUND "\"type\": \"RobertaProcessing\", \"sep\": [\"s\", 66], \"cls\": [\"c\", 65]}, \"other\": {",
         "makes 'b A c' of a text"},
        {"tokenizer.json", AROUND, AROUND "\"type\": \"TemplateProcessing\", \"single\": []}, \"other\": {",
         "makes '?' of a text"},
        {"tokenizer.json", AROUND, AROUND "\"type\": \"Other\"}, \"other\": {", "makes 'Other' of a text"},
    };
    const char *folder = byte_pairs();
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        expect(folder, true, &edits[i]);
}

START_TEST(pieces_have_the_usual_marks_alone)
{
    static const Edit edits[] = {
        {"tokenizer.json", ADDED, ADDED SPECIAL("5", "a") ", ", "the added token 'a' is none of the usual marks"},
        {"tokenizer.json", "\"id\": 4,", "\"id\": 5,", "the id of '[MASK]' is not 4"},
        {"tokenizer.json", "\"single_word\": false", "\"single_word\": true", "'single_word' of '[PAD]' must be false"},
        {"tokenizer.json", "\"normalized\": false", "\"normalized\": true", "'normalized' of '[PAD]' must be false"},
        {"tokenizer_config.json", "{", DECODER("4", "[MASK]", ""), NULL},
        {"tokenizer_config.json", "{", DECODER("7", "[MASK]", ""), "the id of '[MASK]' is not 4"},
        {"tokenizer_config.json", "{", DECODER("7", "[NAME]", ", \"special\": true"), "'[NAME]' is none of the usual"},
        {"added_tokens.json", "}", ", \"a\": 5}", "added_tokens.json: the added token 'a' is none of the usual marks"},
    };
    const char *folder = pieces();
    write_in(folder, "added_tokens.json", "{\"[MASK]\": 4}", 13);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        expect(folder, false, &edits[i]);
}

START_TEST(pieces_have_marks_around_them_as_a_BERT_has)
{
    static const Edit edits[] = {
        {"tokenizer.json", AROUND, "\"post_processor\": null, \"other\": {", NULL},
        {"tokenizer.json", AROUND,
         AROUND "\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 3], \"cls\": [\"[CLS]\", 2]}, \"other\": {", NULL},
        {"tokenizer.json", AROUND,
         AROUND "\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 4], \"cls\": [\"[CLS]\", 2]}, \"other\": {",
         "makes '[CLS] A [MASK]' of a text, but only '[CLS] A [SEP]' is supported"},
        {"tokenizer.json", AROUND,
         AROUND "\"type\": \"RobertaProcessing\", \"sep\": [\"[SEP]\", 3], \"cls\": [\"[CLS]\", 2]}, \"other\": {",
         "makes '[CLS] A [SEP] [SEP] B [SEP]' of two texts, but only '[CLS] A [SEP] B:1 [SEP]:1'"},
        {"tokenizer.json", AROUND, AROUND "\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\"]}, \"other\": {",
         "makes '? A ?' of a text"},
        {"tokenizer.json", AROUND, AROUND "\"type\": \"ByteLevel\"}, \"other\": {", "makes 'A' of a text"},
        {"tokenizer.json", "\"ids\": [2]", "\"ids\": [3]", "makes '[SEP] A [SEP]' of a text"},
        {"tokenizer.json", "\"ids\": [2]", "\"ids\": [2, 2]", "makes '[CLS] [CLS] A [SEP]' of a text"},
        {"tokenizer.json", "\"ids\": [2]", "\"ids\": [2000]", "makes '? A [SEP]' of a text"},
        {"tokenizer.json", "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}",
         "{\"Sequence\": {\"id\": \"A\", \"type_id\": 1}}", "makes '[CLS] A:1 [SEP]' of a text"},
        {"tokenizer.json", "\"type_id\": 1", "\"type_id\": 0", "makes '[CLS] A [SEP] B [SEP]:1' of two texts"},
        {"tokenizer.json", AROUND,
         AROUND "\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"}, {\"type\": \"BertProcessing\", "
                "\"sep\": [\"[SEP]\", 3], \"cls\": [\"[CLS]\", 2]}]}, \"other\": {",
         NULL},
    };
    const char *folder = pieces();
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        expect(folder, false, &edits[i]);
}

static const Test tests[] = {TEST(byte_pairs_have_no_token_that_a_text_here_has_not),
                             TEST(byte_pairs_have_nothing_around_them), TEST(pieces_have_the_usual_marks_alone),
                             TEST(pieces_have_marks_around_them_as_a_BERT_has)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("exchange/hf", tests, sizeof tests / sizeof *tests, argc, argv);
}
