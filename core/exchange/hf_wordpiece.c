/* WordPiece of a folder of Hugging Face's, as BERT has it (see hf_folder.h): the rules that its words must follow, and its
 * vocabulary as a vocab.txt. */
#include "core/exchange/hf_folder.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/text_file.h"

#include <stdio.h>
#include <string.h>

static const char *const marks[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", NULL};
static const char *const keys[][2] = {{"pad_token", "[PAD]"}, {"unk_token", "[UNK]"},   {"cls_token", "[CLS]"},
                                      {"sep_token", "[SEP]"}, {"mask_token", "[MASK]"}, {NULL, NULL}};

static bool is_truth(const Json *item, bool truth) { return item && item->kind == JSON_BOOL && item->truth == truth; }
static bool is_none(const Json *item) { return !item || item->kind == JSON_NULL; }

static bool is_text(const Json *of, const char *key, const char *text)
{
    const char *said = json_get_text(of, key);
    return said && !strcmp(said, text);
}

/* Words are in lower case and without accents, or neither; all else is as BERT does it. */
static bool reads_as_here(bool *lower, const Json *t, const char *name, const char *folder, Error *e)
{
    const Json *accents = json_get(t, "strip_accents"), *case_of = json_get(t, name),
               *apart = json_get(t, name[0] == 'd' ? "tokenize_chinese_chars" : "handle_chinese_chars");
    const char *file = name[0] == 'd' ? "tokenizer_config.json" : "tokenizer.json";
    if (case_of && case_of->kind != JSON_BOOL)
        return fail(e, "%s/%s: '%s' is not true or false", folder, file, name);
    *lower = !case_of || case_of->truth;
    if (!is_none(accents) && !is_truth(accents, *lower))
        return fail(e, "%s/%s: 'strip_accents' must be as '%s': no tokenizer here does only one of them", folder, file,
                    name);
    return is_none(apart) || is_truth(apart, true) ||
           fail(e, "%s/%s: no tokenizer here leaves Chinese characters together", folder, file);
}

static bool is_bert(const Json *t, const char *folder, Error *e)
{
    const Json *model = json_get(t, "model"), *normalizer = json_get(t, "normalizer"),
               *most = json_get(model, "max_input_chars_per_word"), *clean = json_get(normalizer, "clean_text");
    const char *type = json_get_text(model, "type");
    if (!type || strcmp(type, "WordPiece") != 0)
        return fail(e, "%s/tokenizer.json: 'model' is %.40s; WordPiece can be imported", folder,
                    type ? type : "missing");
    if (!is_text(normalizer, "type", "BertNormalizer") || is_truth(clean, false))
        return fail(e, "%s/tokenizer.json: 'normalizer' is not BertNormalizer with clean_text, the only one here",
                    folder);
    if (!is_text(json_get(t, "pre_tokenizer"), "type", "BertPreTokenizer"))
        return fail(e, "%s/tokenizer.json: 'pre_tokenizer' is not BertPreTokenizer, the only one here", folder);
    if (!is_text(model, "continuing_subword_prefix", "##") || !is_text(model, "unk_token", "[UNK]"))
        return fail(e, "%s/tokenizer.json: 'continuing_subword_prefix' must be ## and 'unk_token' [UNK]", folder);
    return !most || (most->kind == JSON_NUMBER && most->number > 99.5 && most->number < 100.5) ||
           fail(e, "%s/tokenizer.json: 'max_input_chars_per_word' must be 100", folder);
}

/* Each subword on the line of its id. */
static bool write_lines(const Json *words, const char *folder, const char *path, Error *e)
{
    const char **lines = memory_get(words->count, sizeof *lines);
    bool fine = lines || memory_error(e, "subwords", words->count, sizeof *lines);
    for (size_t i = 0; fine && i < words->count; i++) {
        int64_t id;
        const Json *word = &words->items[i];
        fine = (json_integer(word, &id) && id >= 0 && (uint64_t)id < words->count) ||
               fail(e, "%s/tokenizer.json: the id of '%.40s' is not a whole number from 0 to %zu", folder, word->key,
                    words->count - 1);
        if (fine && lines[id])
            fine = fail(e, "%s/tokenizer.json: '%.40s' and '%.40s' have the same id %d", folder, lines[id], word->key,
                        (int)id);
        if (fine && (!*word->key || strpbrk(word->key, "\r\n")))
            fine = fail(e, "%s/tokenizer.json: subword %zu is empty, or has an end of a line in it", folder, i);
        if (fine)
            lines[id] = word->key;
    }
    Buffer b = {0};
    for (size_t i = 0; fine && i < words->count; i++)
        buffer_print(&b, "%s\n", lines[i]);
    fine = fine && file_write_buffer(path, &b, e);
    buffer_free(&b);
    memory_free(lines);
    return fine;
}

/* Of tokenizer.json, which says all. */
static bool make_file(HfWordPiece *t, const Json *json, const HfFolder *h, const char *made, Error *e)
{
    static const char ending[] = ".vocab.txt";
    const size_t size = strlen(made) + sizeof ending;
    t->made = true;
    t->vocabulary = memory_get(size, 1);
    if (!t->vocabulary)
        return memory_error(e, "a path", size, 1);
    snprintf(t->vocabulary, size, "%s%s", made, ending);
    bool fine = is_bert(json, h->path, e) &&
                reads_as_here(&t->lower, json_get(json, "normalizer"), "lowercase", h->path, e);
    const Json *words = fine ? json_get(json_get(json, "model"), "vocab") : NULL;
    if (fine && (!words || words->kind != JSON_OBJECT || !words->count))
        fine = fail(e, "%s/tokenizer.json: 'vocab' is missing", h->path);
    return fine && write_lines(words, h->path, t->vocabulary, e);
}

/* All words are split, and by BERT's rules. */
static bool splits_as_here(const Json *t, const char *folder, Error *e)
{
    const Json *basic = json_get(t, "do_basic_tokenize"), *never = json_get(t, "never_split");
    if (!is_none(basic) && !is_truth(basic, true))
        return fail(e,
                    "%s/tokenizer_config.json: 'do_basic_tokenize' must be true: BERT's rules always split texts here",
                    folder);
    return is_none(never) || (never->kind == JSON_ARRAY && !never->count) ||
           fail(e, "%s/tokenizer_config.json: 'never_split' must be empty: no word is left whole here", folder);
}

/* vocab.txt, and what tokenizer_config.json says of it; NULL: it is not there. */
static bool find_file(HfWordPiece *t, const HfFolder *h, const Json *config, Error *e)
{
    bool there;
    if (!hf_file(&t->vocabulary, h, "vocab.txt", &there, e))
        return false;
    if (!there)
        return fail(e, "%s has neither tokenizer.json nor vocab.txt: the tokens are missing", h->path);
    return reads_as_here(&t->lower, config, "do_lower_case", h->path, e) && splits_as_here(config, h->path, e);
}

/* BERT's own classes of tokenizers take what tokenizer_config.json says, or what they do where it says nothing, for what
 * tokenizer.json says; a class for any tokenizer.json takes that alone, and so do we where tokenizer.json is alone. */
static bool classes_agree(const HfWordPiece *t, const HfFolder *h, const Json *tokenizer, const Json *config, Error *e)
{
    static const char *const classes[] = {"BertTokenizer",           "BertTokenizerFast",       "DistilBertTokenizer",
                                          "DistilBertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend"};
    enum { OWN = 4, ALL = sizeof classes / sizeof *classes };
    const char *class = json_get_text(config, "tokenizer_class");
    bool lower;
    size_t i = 0;
    while (class && i < ALL && strcmp(class, classes[i]) != 0)
        i++;
    if (!config || (tokenizer && i >= OWN && i < ALL))
        return true;
    if (i >= OWN)
        return fail(e, "%s/tokenizer_config.json: 'tokenizer_class' is %.60s; those of BERT can be imported", h->path,
                    class);
    if (!reads_as_here(&lower, config, "do_lower_case", h->path, e))
        return false;
    return lower == t->lower ||
           fail(e, "%s: 'do_lower_case' of tokenizer_config.json is %s, and 'lowercase' of tokenizer.json is not",
                h->path, json_get(config, "do_lower_case") ? lower ? "true" : "false" : "true, as it is not there");
}

static bool has_all(const HfWordPiece *t, const HfFolder *h, const Json *tokenizer, Error *e)
{
    static const char *const flags[] = {"single_word", "normalized", NULL};
    WordPiece w;
    if (!wordpiece_read(&w, t->vocabulary, t->lower, e))
        return t->made && hf_blame(e, h, t->vocabulary, "vocab.txt");
    const HfWords words = {.words = &w.subwords,
                           .named = marks,
                           .named_only = true,
                           .flags = flags,
                           .marks = keys,
                           .single = "[CLS] A [SEP]",
                           .pair = "[CLS] A [SEP] B:1 [SEP]:1"};
    const bool fine = hf_adds_as_here(h, tokenizer, &words, e);
    wordpiece_close(&w);
    return fine;
}

bool hf_wordpiece_find(HfWordPiece *t, const HfFolder *h, const char *made, Error *e)
{
    Json *tokenizer, *config = NULL;
    *t = (HfWordPiece){.lower = true};
    const bool fine = hf_json_if_there(&tokenizer, h, "tokenizer.json", e) &&
                      hf_json_if_there(&config, h, "tokenizer_config.json", e) &&
                      (tokenizer ? make_file(t, tokenizer, h, made, e) : find_file(t, h, config, e)) &&
                      classes_agree(t, h, tokenizer, config, e) && has_all(t, h, tokenizer, e);
    json_free(tokenizer);
    json_free(config);
    return fine;
}

/* ---- writing */

static void add_truth(Buffer *b, const char *key, bool truth)
{
    json_add_key(b, key);
    buffer_print(b, truth ? "true" : "false");
}

static int32_t id_of(const WordPiece *w, const char *mark)
{
    return vocabulary_search(&w->subwords, mark, strlen(mark));
}

/* [CLS] A [SEP], and of a pair A and B with [SEP] after each. */
static void add_rows(Buffer *b, const WordPiece *w)
{
    static const struct {
        const char *key, *parts[5];
    } rows[] = {{"single", {"[CLS]", "A", "[SEP]"}}, {"pair", {"[CLS]", "A", "[SEP]", "B", "[SEP]"}}};
    json_open(b, "post_processor", '{');
    json_add_text(b, "type", "TemplateProcessing");
    for (size_t r = 0; r < 2; r++) {
        json_open(b, rows[r].key, '[');
        for (size_t i = 0; i < 5 && rows[r].parts[i]; i++) {
            const char *part = rows[r].parts[i];
            buffer_print(b, "%s{\"%s\": {\"id\": \"%s\", \"type_id\": %d}}", i ? ", " : "",
                         part[1] ? "SpecialToken" : "Sequence", part, i > 2);
        }
        buffer_print(b, "]");
    }
    json_open(b, "special_tokens", '{');
    for (size_t i = 2; i < 4; i++)
        buffer_print(b, "%s\"%s\": {\"id\": \"%s\", \"ids\": [%d], \"tokens\": [\"%s\"]}", i > 2 ? ", " : "", marks[i],
                     marks[i], (int)id_of(w, marks[i]), marks[i]);
    buffer_print(b, "}}");
}

static void add_marks(Buffer *b, const WordPiece *w)
{
    bool more = false;
    json_open(b, "added_tokens", '[');
    for (size_t i = 0; marks[i]; i++) {
        if (id_of(w, marks[i]) < 0)
            continue;
        buffer_print(
            b,
            "%s{\"id\": %d, \"content\": \"%s\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
            "\"normalized\": false, \"special\": true}",
            more ? ", " : "", (int)id_of(w, marks[i]), marks[i]);
        more = true;
    }
    buffer_print(b, "]");
}

static void add_tokenizer(Buffer *b, const WordPiece *w)
{
    buffer_print(b, "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null");
    add_marks(b, w);
    buffer_print(b,
                 ", \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, "
                 "\"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": %s}, "
                 "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}",
                 w->lower ? "true" : "false");
    add_rows(b, w);
    buffer_print(b, ", \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true}, \"model\": "
                    "{\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\", "
                    "\"max_input_chars_per_word\": 100");
    json_open(b, "vocab", '{');
    for (size_t i = 0; i < w->subwords.count; i++)
        json_add_member(b, vocabulary_word(&w->subwords, (int32_t)i), (double)i);
    buffer_print(b, "}}}\n");
}

bool hf_wordpiece_write(const char *folder, const WordPiece *w, size_t context, Error *e)
{
    Buffer tokenizer = {0}, config = {0};
    char *vocabulary = path_join(folder, "vocab.txt");
    const bool fine = vocabulary ? wordpiece_write(w, vocabulary, e) : memory_error(e, "a path", strlen(folder), 1);
    memory_free(vocabulary);
    add_tokenizer(&tokenizer, w);
    buffer_print(&config, "{\"tokenizer_class\": \"BertTokenizer\"");
    add_truth(&config, "do_lower_case", w->lower);
    json_add_member(&config, "model_max_length", (double)context);
    for (size_t i = 0; keys[i][0]; i++)
        if (id_of(w, keys[i][1]) >= 0)
            json_add_text(&config, keys[i][0], keys[i][1]);
    buffer_print(&config, "}\n");
    const bool written = fine && text_file(folder, "tokenizer.json", &tokenizer, e);
    buffer_free(&tokenizer);
    const bool both = written && text_file(folder, "tokenizer_config.json", &config, e);
    buffer_free(&config);
    return both;
}
