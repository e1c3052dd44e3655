/* What a folder of Hugging Face's adds to its vocabulary (see hf_folder.h): tokens that a text is cut at before all else, and
 * tokens around a text; and which tokens it takes for marks. */
#include "core/exchange/hf_folder.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokens */

static bool is_true(const Json *of, const char *key)
{
    const Json *said = json_get(of, key);
    return said && said->truth;
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

/* says: what is said of it; NULL: nothing. */
static bool is_known(const HfFolder *h, const HfWords *w, const char *file, const char *token, int64_t id,
                     const Json *says, Error *e)
{
    const bool named = is_among(token, w->named);
    if (!named && (w->named_only || (says && !is_true(says, "special"))))
        return fail(e, "%s/%s: the added token '%.40s' is %s: splitting texts at it is not supported", h->path, file,
                    token, w->named_only ? "none of the usual marks" : "not special");
    const int32_t here = vocabulary_search(w->words, token, strlen(token));
    if (here < 0)
        return fail(e, "%s/%s: '%.40s' is not in the vocabulary, to which no token can be added here", h->path, file,
                    token);
    const int32_t theirs = w->theirs ? w->theirs[here] : here;
    if (id != theirs)
        return fail(e, "%s/%s: the id of '%.40s' is not %d, as in the vocabulary", h->path, file, token, (int)theirs);
    for (const char *const *flag = w->flags; says && named && *flag; flag++)
        if (is_true(says, *flag))
            return fail(e, "%s/%s: '%s' of '%.40s' must be false", h->path, file, *flag, token);
    return true;
}

static int64_t id_of(const Json *number)
{
    int64_t id;
    return json_integer(number, &id) ? id : -1;
}

/* The id is a member's name: "50256": {"content": "<|endoftext|>", ...} */
static int64_t id_of_key(const char *key)
{
    char *end;
    const long long id = strtoll(key, &end, 10);
    return *key && !*end ? id : -1;
}

static bool knows_added(const HfFolder *h, const HfWords *w, const Json *added, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && added && added->kind == JSON_OBJECT && i < added->count; i++)
        fine = is_known(h, w, "added_tokens.json", added->items[i].key, id_of(&added->items[i]), NULL, e);
    return fine;
}

/* list: an array, or an object whose members' names are ids. */
static bool knows_described(const HfFolder *h, const HfWords *w, const char *file, const Json *list, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && list && i < list->count; i++) {
        const Json *one = &list->items[i];
        const char *token = json_get_text(one, "content");
        fine = token ? is_known(h, w, file, token, one->key ? id_of_key(one->key) : id_of(json_get(one, "id")), one, e)
                     : fail(e, "%s/%s: added token %zu has no 'content'", h->path, file, i);
    }
    return fine;
}

/* ---- what is around a text */

enum { MOST = 1000 }; /* bytes; what is longer is nothing that is put there here */

static void add_part(Buffer *b, const char *name, bool second)
{
    buffer_print(b, "%s%s%s", b->size ? " " : "", name, second ? ":1" : "");
}

/* A token by its id: whatever it is called there. */
static void add_token(Buffer *b, const HfWords *w, const Json *number, bool second)
{
    const int64_t id = id_of(number);
    add_part(b, id >= 0 && id < (int64_t)w->words->count ? vocabulary_word(w->words, (int32_t)id) : "?", second);
}

static void add_template(Buffer *b, const HfWords *w, const Json *processor, const char *key)
{
    const Json *parts = json_get(processor, key), *tokens = json_get(processor, "special_tokens");
    for (size_t i = 0; parts && i < parts->count && b->size < MOST; i++) {
        const Json *token = json_get(&parts->items[i], "SpecialToken"),
                   *part = token ? token : json_get(&parts->items[i], "Sequence");
        const char *id = json_get_text(part, "id");
        const bool second = id_of(json_get(part, "type_id")) > 0;
        const Json *ids = token && id ? json_get(json_get(tokens, id), "ids") : NULL;
        for (size_t k = 0; ids && k < ids->count && b->size < MOST; k++)
            add_token(b, w, &ids->items[k], second);
        if (!ids)
            add_part(b, id && !token ? id : "?", second);
    }
    if (!parts || !parts->count)
        add_part(b, "?", false);
}

/* Each mark is an array of its name and its id. */
static void add_marks(Buffer *b, const HfWords *w, const Json *processor, bool pair, bool roberta)
{
    const Json *cls = json_get(processor, "cls"), *sep = json_get(processor, "sep"),
               *begin = cls && cls->count == 2 ? &cls->items[1] : NULL,
               *end = sep && sep->count == 2 ? &sep->items[1] : NULL;
    add_token(b, w, begin, false);
    add_part(b, "A", false);
    add_token(b, w, end, false);
    if (pair && roberta)
        add_token(b, w, end, false);
    if (pair) {
        add_part(b, "B", !roberta);
        add_token(b, w, end, !roberta);
    }
}

/* Nothing where no tokens are added. */
static void add_processor(Buffer *b, const HfWords *w, const Json *processor, bool pair)
{
    const char *said = json_get_text(processor, "type"), *type = said ? said : "?";
    const Json *list = json_get(processor, "processors");
    if (!strcmp(type, "Sequence") && list)
        for (size_t i = 0; i < list->count; i++)
            add_processor(b, w, &list->items[i], pair);
    else if (!strcmp(type, "TemplateProcessing"))
        add_template(b, w, processor, pair ? "pair" : "single");
    else if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing"))
        add_marks(b, w, processor, pair, type[0] == 'R');
    else if (strcmp(type, "ByteLevel") != 0)
        add_part(b, type, false);
}

/* Without a post_processor a tokenizer's class adds what the model was trained with. */
static bool surrounds_as_here(const HfFolder *h, const Json *tokenizer, const HfWords *w, Error *e)
{
    const Json *processor = json_get(tokenizer, "post_processor");
    bool fine = true;
    for (int pair = 0; fine && pair < 2 && processor && processor->kind != JSON_NULL; pair++) {
        const char *wanted = pair ? w->pair : w->single;
        Buffer made = {0};
        add_processor(&made, w, processor, pair);
        if (!made.size)
            add_part(&made, pair ? "A B" : "A", false);
        fine = (!made.failed || memory_error(e, "a post_processor", made.size, 1)) &&
               (!wanted || !strcmp(made.text, wanted) ||
                fail(e, "%s/tokenizer.json: 'post_processor' makes '%.80s' of %s, but only '%s' is supported", h->path,
                     made.text, pair ? "two texts" : "a text", wanted));
        buffer_free(&made);
    }
    return fine;
}

/* ---- marks */

/* A token is its text, or an object that describes it. */
static const char *text_of(const Json *token)
{
    return token->kind == JSON_STRING ? token->text : json_get_text(token, "content");
}

static bool is_mark(const HfFolder *h, const HfWords *w, const char *file, const char *key, const Json *said, Error *e)
{
    const char *token = text_of(said);
    const char *const(*mark)[2] = w->marks;
    while (token && mark && (*mark)[0] && strcmp((*mark)[0], key) != 0)
        mark++;
    const char *wanted = token && mark ? (*mark)[1] : NULL;
    if (wanted && strcmp(token, wanted) != 0)
        return fail(e, "%s/%s: '%s' is %.40s, and only %s is supported", h->path, file, key, token, wanted);
    return !token || wanted || !w->named_only || is_among(token, w->named) ||
           fail(e, "%s/%s: '%s' is %.40s, which is none of the usual marks", h->path, file, key, token);
}

/* "cls_token": "[CLS]", and lists of more. */
static bool marks_as_here(const HfFolder *h, const HfWords *w, const char *file, const Json *said, Error *e)
{
    static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens", NULL};
    bool fine = true;
    for (size_t i = 0; fine && said && said->kind == JSON_OBJECT && i < said->count; i++) {
        const Json *item = &said->items[i];
        if (is_among(item->key, lists))
            for (size_t k = 0; fine && k < item->count; k++)
                fine = is_mark(h, w, file, item->key, &item->items[k], e);
        else if (name_ends(item->key, "_token"))
            fine = is_mark(h, w, file, item->key, item, e);
    }
    return fine;
}

bool hf_adds_as_here(const HfFolder *h, const Json *tokenizer, const HfWords *w, Error *e)
{
    static const char config[] = "tokenizer_config.json", map[] = "special_tokens_map.json";
    Json *added = NULL, *said = NULL, *marks = NULL;
    const bool fine = hf_json_if_there(&added, h, "added_tokens.json", e) && hf_json_if_there(&said, h, config, e) &&
                      hf_json_if_there(&marks, h, map, e) && marks_as_here(h, w, config, said, e) &&
                      marks_as_here(h, w, map, marks, e) && knows_added(h, w, added, e) &&
                      knows_described(h, w, config, json_get(said, "added_tokens_decoder"), e) &&
                      knows_described(h, w, "tokenizer.json", json_get(tokenizer, "added_tokens"), e) &&
                      surrounds_as_here(h, tokenizer, w, e);
    json_free(added);
    json_free(said);
    json_free(marks);
    return fine;
}
