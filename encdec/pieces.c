/* See pieces.h. */
#include "encdec/pieces.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static const char end[] = "</s>", vocabulary_file[] = "vocabulary.tsv";

bool ids_add(Ids *ids, int32_t id, Error *e)
{
    if (ids->count == ids->room) {
        size_t room = ids->room ? 2 * ids->room : 1024;
        int32_t *more = memory_resize(ids->id, room, sizeof *more);
        if (!more)
            return memory_error(e, "ids of a text", room, sizeof *more);
        ids->id = more;
        ids->room = room;
    }
    ids->id[ids->count++] = id;
    return true;
}

void ids_close(Ids *ids)
{
    memory_free(ids->id);
    *ids = (Ids){0};
}

/* --- words --- */

static bool count_words(Vocabulary *v, const Lines *text, Error *e)
{
    for (size_t i = 0; i < text->count; i++) {
        size_t at = 0;
        for (Line word; line_word(lines_at(text, i), &at, &word);)
            if (!vocabulary_add(v, word.text, word.size, 1, NULL, e))
                return false;
    }
    return true;
}

/* <unk>, </s>, and then the most frequent of all that were counted. A word of the text that is written as one of those
 * two is not in it. */
static bool choose_words(Pieces *p, const Vocabulary *counted, size_t size, uint64_t lines, Error *e)
{
    Vocabulary ranked;
    if (!vocabulary_cut(&ranked, counted, size ? size - 1 : SIZE_MAX, NULL, e))
        return false;
    bool done = vocabulary_add(&p->vocabulary, end, strlen(end), lines, NULL, e);
    p->vocabulary.counts[UNKNOWN] = ranked.counts[UNKNOWN];
    for (size_t i = 1; done && i < ranked.count; i++) {
        const char *word = vocabulary_word(&ranked, (int32_t)i);
        done = strcmp(word, end) == 0 || vocabulary_add(&p->vocabulary, word, strlen(word), ranked.counts[i], NULL, e);
    }
    vocabulary_close(&ranked);
    return done;
}

static bool learn_words(Pieces *p, size_t size, const Lines *const *texts, size_t count, Error *e)
{
    Vocabulary counted;
    uint64_t lines = 0;
    if (!vocabulary_open(&p->vocabulary, e) || !vocabulary_open(&counted, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < count; i++) {
        done = count_words(&counted, texts[i], e);
        lines += texts[i]->count;
    }
    done = done && choose_words(p, &counted, size, lines, e);
    p->count = p->vocabulary.count;
    vocabulary_close(&counted);
    return done;
}

static bool word_ids(const Pieces *p, Line line, Ids *ids, Error *e)
{
    size_t at = 0;
    for (Line word; line_word(line, &at, &word);) {
        int32_t id = vocabulary_find(&p->vocabulary, word.text, word.size);
        if (!ids_add(ids, id == END ? UNKNOWN : id, e))
            return false;
    }
    return true;
}

static void words_line(const Pieces *p, const int32_t *ids, size_t count, Buffer *line)
{
    for (size_t i = 0; i < count; i++)
        buffer_print(line, "%s%s", i ? " " : "", vocabulary_word(&p->vocabulary, ids[i]));
}

/* --- bytes --- */

static bool byte_ids(Line line, Ids *ids, Error *e)
{
    for (size_t i = 0; i < line.size; i++)
        if (!ids_add(ids, FIRST_PIECE + (unsigned char)line.text[i], e))
            return false;
    return true;
}

static void bytes_line(const int32_t *ids, size_t count, Buffer *line)
{
    for (size_t i = 0; i < count; i++) {
        char byte = ids[i] < FIRST_PIECE ? '?' : (char)(unsigned char)(ids[i] - FIRST_PIECE);
        buffer_add(line, &byte, 1);
    }
}

/* --- all kinds --- */

bool pieces_learn(Pieces *p, const PiecesOptions *o, const Lines *const *texts, size_t count, Error *e)
{
    *p = (Pieces){.type = o->type, .count = FIRST_PIECE + 256};
    bool done = o->type == PIECES_BYTES || learn_words(p, o->size, texts, count, e);
    if (!done)
        pieces_close(p);
    return done;
}

void pieces_close(Pieces *p)
{
    vocabulary_close(&p->vocabulary);
    *p = (Pieces){0};
}

bool pieces_write(const Pieces *p, const char *folder, Error *e)
{
    if (p->type == PIECES_BYTES)
        return true;
    char *path = path_join(folder, vocabulary_file);
    bool done = (path || memory_error(e, "a path", strlen(folder), 1)) && vocabulary_write(&p->vocabulary, path, e);
    memory_free(path);
    return done;
}

bool pieces_read(Pieces *p, PieceType type, const char *folder, Error *e)
{
    *p = (Pieces){.type = type, .count = FIRST_PIECE + 256};
    if (type == PIECES_BYTES)
        return true;
    char *path = path_join(folder, vocabulary_file);
    bool done = (path || memory_error(e, "a path", strlen(folder), 1)) && vocabulary_read(&p->vocabulary, path, e);
    p->count = p->vocabulary.count;
    if (done && (p->count <= END || strcmp(vocabulary_word(&p->vocabulary, END), end) != 0))
        done = fail(e, "%s, line 2: the second word of a vocabulary for translation is %s", path, end);
    memory_free(path);
    if (!done)
        pieces_close(p);
    return done;
}

bool pieces_ids(const Pieces *p, Line line, Ids *ids, Error *e)
{
    return p->type == PIECES_BYTES ? byte_ids(line, ids, e) : word_ids(p, line, ids, e);
}

void pieces_line(const Pieces *p, const int32_t *ids, size_t count, Buffer *line)
{
    size_t before_end = 0;
    while (before_end < count && ids[before_end] != END)
        before_end++;
    if (p->type == PIECES_BYTES)
        bytes_line(ids, before_end, line);
    else
        words_line(p, ids, before_end, line);
}

void pieces_name(const Pieces *p, int32_t id, Buffer *name)
{
    if (p->type == PIECES_BYTES && id >= FIRST_PIECE)
        buffer_print(name, "0x%02x", (unsigned)(id - FIRST_PIECE));
    else
        buffer_print(name, "%s", id == UNKNOWN ? "<unk>" : id == END ? end : vocabulary_word(&p->vocabulary, id));
}
