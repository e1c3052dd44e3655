/* See tokens.h. */
#include "classifier/tokens.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/text/bert_words.h"

#include <string.h>

static const char *const marks[] = {"[CLS]", "[SEP]", "[MASK]"};
enum { MARKS = sizeof marks / sizeof *marks };

/* In a run. */
static const char *file_of(TokenKind kind) { return kind == TOKEN_WORDS ? "vocabulary.tsv" : "vocab.txt"; }

static bool is_lower(TokenKind kind) { return kind != TOKEN_BERT_CASED; }

bool token_continues(const Tokens *t, int32_t id)
{
    return t->kind != TOKEN_WORDS && id >= t->first_word && strncmp(token_name(t, id), "##", 2) == 0;
}

/* Where the marks are, and the words after them. */
static void find_marks(Tokens *t)
{
    int32_t *ids[MARKS] = {&t->first, &t->separator, &t->mask};
    t->unknown = t->kind == TOKEN_WORDS ? UNKNOWN : t->subwords.unknown;
    t->first_word = t->unknown + 1;
    for (size_t i = 0; i < MARKS; i++) {
        *ids[i] = vocabulary_search(tokens_list(t), marks[i], strlen(marks[i]));
        t->first_word = *ids[i] >= t->first_word ? *ids[i] + 1 : t->first_word;
    }
}

void tokens_close(Tokens *t)
{
    vocabulary_close(&t->words);
    wordpiece_close(&t->subwords);
    *t = (Tokens){0};
}

/* --- words --- */

static bool add_all(Vocabulary *v, const Vocabulary *from, size_t first, Error *e)
{
    for (size_t i = first; i < from->count; i++) {
        const char *word = vocabulary_word(from, (int32_t)i);
        if (!vocabulary_add(v, word, strlen(word), from->counts[i], NULL, e))
            return false;
    }
    return true;
}

static bool copy_list(Vocabulary *v, const Vocabulary *from, Error *e)
{
    *v = (Vocabulary){0};
    if (add_all(v, from, 0, e))
        return true;
    vocabulary_close(v);
    return false;
}

/* <unk>, the marks, and the most frequent words. */
static bool learn_marked(Vocabulary *v, const Vocabulary *words, size_t size, Error *e)
{
    Vocabulary cut;
    if (size <= MARKS + 1)
        return fail(e, "--words %zu: <unk>, [CLS], [SEP] and [MASK] alone make %d", size, MARKS + 1);
    if (!vocabulary_cut(&cut, words, size - MARKS, NULL, e))
        return false;
    bool opened = vocabulary_open(v, e), done = opened;
    for (size_t i = 0; done && i < MARKS; i++)
        done = vocabulary_add(v, marks[i], strlen(marks[i]), 0, NULL, e);
    if (done)
        v->counts[UNKNOWN] = cut.counts[UNKNOWN];
    done = done && add_all(v, &cut, UNKNOWN + 1, e);
    vocabulary_close(&cut);
    if (opened && !done)
        vocabulary_close(v);
    return done;
}

/* --- subwords --- */

/* A word of ours may be several to BERT: "don't" is three. */
static bool add_parts(Vocabulary *parts, const char *word, uint64_t times, Error *e)
{
    bool done = true;
    for (BertWords b = bert_words_of(word, strlen(word), true); done && bert_words_next(&b);)
        done = b.characters > BERT_WORD_MOST || vocabulary_add(parts, b.word, b.length, times, NULL, e);
    return done;
}

static bool learn_subwords(WordPiece *w, const Vocabulary *words, const TokensOptions *o, size_t size, Error *e)
{
    Vocabulary parts;
    bool opened = vocabulary_open(&parts, e), done = opened;
    for (size_t i = UNKNOWN + 1; done && i < words->count; i++) {
        const char *word = vocabulary_word(words, (int32_t)i);
        if (!words->counts[i] || (o->kind != TOKEN_WORDPIECE && text_word_is_mark(word)))
            continue;
        done = o->kind == TOKEN_WORDPIECE ? add_parts(&parts, word, words->counts[i], e)
                                          : vocabulary_add(&parts, word, strlen(word), words->counts[i], NULL, e);
    }
    done = done && wordpiece_learn(w, &parts, size, is_lower(o->kind), e);
    if (opened)
        vocabulary_close(&parts);
    return done;
}

/* --- both --- */

bool tokens_learn(Tokens *t, const TokensOptions *o, const Vocabulary *words, Error *e)
{
    const size_t size = o->size ? o->size : SIZE_MAX;
    bool done;
    *t = (Tokens){.kind = o->kind};
    if (o->kind != TOKEN_WORDS)
        done = o->file ? wordpiece_read(&t->subwords, o->file, is_lower(o->kind), e)
                       : learn_subwords(&t->subwords, words, o, size, e);
    else
        done = o->marks ? learn_marked(&t->words, words, size, e) : vocabulary_cut(&t->words, words, size, NULL, e);
    if (done)
        find_marks(t);
    if (done && o->marks && !tokens_have_marks(t)) {
        done = fail(e, "%s: has no [CLS], [SEP] or [MASK]", o->file);
        tokens_close(t);
    }
    return done;
}

bool tokens_copy(Tokens *t, const Tokens *from, Error *e)
{
    *t = *from;
    t->words = t->subwords.subwords = (Vocabulary){0};
    return copy_list(t->kind == TOKEN_WORDS ? &t->words : &t->subwords.subwords, tokens_list(from), e);
}

static char *path_in(const char *folder, TokenKind kind, Error *e)
{
    char *path = path_join(folder, file_of(kind));
    if (!path)
        memory_error(e, "a path", strlen(folder), 1);
    return path;
}

bool tokens_read(Tokens *t, TokenKind kind, const char *folder, Error *e)
{
    char *path = path_in(folder, kind, e);
    *t = (Tokens){.kind = kind};
    bool done = path && (kind == TOKEN_WORDS ? vocabulary_read(&t->words, path, e)
                                             : wordpiece_read(&t->subwords, path, is_lower(kind), e));
    memory_free(path);
    if (done)
        find_marks(t);
    return done;
}

bool tokens_write(const Tokens *t, const char *folder, Error *e)
{
    char *path = path_in(folder, t->kind, e);
    bool done = path && (t->kind == TOKEN_WORDS ? vocabulary_write(&t->words, path, e)
                                                : wordpiece_write(&t->subwords, path, e));
    memory_free(path);
    return done;
}

bool tokens_of_word(const Tokens *t, const char *word, size_t size, Buffer *ids, Error *e)
{
    const size_t before = ids->size;
    if (token_words(t->kind) != WORDS_PLAIN)
        return wordpiece_encode_word(&t->subwords, word, size, ids, e);
    int32_t id = t->kind == TOKEN_WORDS ? vocabulary_find(&t->words, word, size) : t->unknown;
    if (t->kind == TOKEN_WORDPIECE && !wordpiece_encode(&t->subwords, word, size, ids, e))
        return false;
    if (ids->size == before) /* BERT leaves out characters that are not text */
        buffer_add(ids, &id, sizeof id);
    return !ids->failed || memory_error(e, "ids of a text", ids->size, 1);
}
