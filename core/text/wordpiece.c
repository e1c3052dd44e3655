/* See wordpiece.h: the file, and how it is applied. wordpiece_learn.c makes one. */
#include "core/text/wordpiece.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/text/bert_words.h"
#include "core/text/wordpiece_inner.h"

#include <string.h>

/* --- the file --- */

bool wordpiece_add(WordPiece *w, const char *subword, size_t length, int32_t *id, Error *e)
{
    if (!vocabulary_add(&w->subwords, subword, length, 0, id, e))
        return false;
    if (length > w->longest)
        w->longest = length;
    return true;
}

static bool read_line(void *context, const FileLine *line, Error *e)
{
    WordPiece *w = context;
    size_t length = line->size;
    int32_t id;
    while (length && line->text[length - 1] == '\r')
        length--;
    if (!length || memchr(line->text, 0, length))
        return fail(e, "%s, line %zu: a subword is missing; a vocabulary has one on each line", line->path,
                    line->number);
    if (!wordpiece_add(w, line->text, length, &id, e))
        return false;
    return (size_t)id + 1 == line->number ||
           fail(e, "%s, line %zu: '%.*s' appears twice, first in line %d", line->path, line->number,
                (int)(length < 100 ? length : 100), line->text, (int)id + 1);
}

bool wordpiece_read(WordPiece *w, const char *path, bool lower, Error *e)
{
    *w = (WordPiece){.lower = lower};
    bool done = file_lines(path, read_line, w, e);
    w->unknown = vocabulary_search(&w->subwords, WORDPIECE_UNKNOWN, strlen(WORDPIECE_UNKNOWN));
    if (done && w->unknown < 0)
        done = fail(e, "%s has no line %s: is it a WordPiece vocabulary?", path, WORDPIECE_UNKNOWN);
    if (!done)
        wordpiece_close(w);
    return done;
}

bool wordpiece_write(const WordPiece *w, const char *path, Error *e)
{
    Buffer b = {0};
    for (size_t i = 0; i < w->subwords.count; i++)
        buffer_print(&b, "%s\n", vocabulary_word(&w->subwords, (int32_t)i));
    return file_write_buffer(path, &b, e);
}

void wordpiece_close(WordPiece *w)
{
    vocabulary_close(&w->subwords);
    *w = (WordPiece){0};
}

/* --- applied --- */

static const char more[] = "##";
enum { MORE = sizeof more - 1 };

/* The longest subword that a word continues with from `at`, and its end; -1: there is none. Its ## is written over what
 * is in front of it, which is done with, or over the room for it in front of `word`. */
static int32_t longest_subword(const WordPiece *w, char *word, size_t at, size_t size, size_t *end)
{
    size_t before = at ? MORE : 0, length = size - at;
    char *from = word + at - before;
    int32_t id = -1;
    if (length + before > w->longest)
        length = w->longest > before ? w->longest - before : 0;
    memcpy(from, more, before);
    for (; length && id < 0; length--) /* an end inside a character is in no vocabulary */
        id = vocabulary_search(&w->subwords, from, before + length);
    *end = at + length + 1;
    return id;
}

bool wordpiece_encode_word(const WordPiece *w, const char *text, size_t length, Buffer *ids, Error *e)
{
    char with_marks[MORE + 4 * BERT_WORD_MOST + 1], *word = with_marks + MORE;
    const size_t before = ids->size;
    bool known = length <= 4 * BERT_WORD_MOST;
    memcpy(word, text, known ? length : 0);
    for (size_t at = 0, end; known && at < length; at = end) {
        int32_t id = longest_subword(w, word, at, length, &end);
        known = id >= 0;
        buffer_add(ids, &id, sizeof id);
    }
    if (!known && !ids->failed) {
        ids->size = before;
        buffer_add(ids, &w->unknown, sizeof w->unknown);
    }
    return !ids->failed || memory_error(e, "ids of a text", ids->size, 1);
}

bool wordpiece_encode(const WordPiece *w, const char *text, size_t size, Buffer *ids, Error *e)
{
    bool done = true;
    for (BertWords words = bert_words_of(text, size, w->lower); done && bert_words_next(&words);) {
        const bool known = words.characters <= BERT_WORD_MOST;
        done = wordpiece_encode_word(w, known ? words.word : WORDPIECE_UNKNOWN,
                                     known ? words.length : strlen(WORDPIECE_UNKNOWN), ids, e);
    }
    return done;
}

bool wordpiece_decode(const WordPiece *w, const int32_t *ids, size_t count, Buffer *text, Error *e)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= w->subwords.count)
            return fail(e, "id %d is out of range: the vocabulary has ids 0 to %zu", (int)ids[i],
                        w->subwords.count - 1);
        const char *subword = vocabulary_word(&w->subwords, ids[i]);
        if (i && !strncmp(subword, more, MORE))
            subword += MORE;
        else if (i)
            buffer_add(text, " ", 1);
        buffer_add(text, subword, strlen(subword));
    }
    return !text->failed || memory_error(e, "a text", text->size, 1);
}

bool wordpiece_count(Vocabulary *words, const char *text, size_t size, bool lower, Error *e)
{
    for (BertWords w = bert_words_of(text, size, lower); bert_words_next(&w);)
        if (w.characters <= BERT_WORD_MOST && !vocabulary_add(words, w.word, w.length, 1, NULL, e))
            return false;
    return true;
}
