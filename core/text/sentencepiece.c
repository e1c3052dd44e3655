/* See sentencepiece.h: the file, and pieces as a text. */
#include "core/text/sentencepiece.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- the file --- */

/* Fields of the messages. */
enum { MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_RULE = 3, MODEL_BACK = 5 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { TRAINER_TYPE = 3, TRAINER_SPACE_LAST = 24, TRAINER_BYTES = 35, TRAINER_UNKNOWN_TEXT = 44 };

static bool read_trainer(SentencePiece *s, Bytes spec, const char *path, Error *e)
{
    static const char *const types[] = {"0", "unigram", "bpe", "word", "char"};
    Message m = {.rest = spec};
    uint64_t type = 1;
    for (Field f; protobuf_next(&m, &f);) {
        if (f.number == TRAINER_TYPE && f.kind == FIELD_INTEGER)
            type = f.integer;
        else if (f.number == TRAINER_SPACE_LAST && f.kind == FIELD_INTEGER)
            s->rule.space_last = f.integer != 0;
        else if (f.number == TRAINER_BYTES && f.kind == FIELD_INTEGER)
            s->byte_fallback = f.integer != 0;
        else if (f.number == TRAINER_UNKNOWN_TEXT && f.kind == FIELD_BYTES)
            s->unknown_text = f.bytes;
    }
    if (m.damaged)
        return fail(e, "%s: what it says of its training is damaged", path);
    s->bpe = type == 2;
    return type == 1 || type == 2 ||
           fail(e, "%s: its model is of type %s; unigram and bpe can be read", path,
                type < 5 ? types[type] : "unknown");
}

static bool read_piece(SentencePiece *s, Bytes bytes, const char *path, Error *e)
{
    Message m = {.rest = bytes};
    Piece p = {.kind = PIECE_NORMAL};
    uint64_t kind = PIECE_NORMAL;
    for (Field f; protobuf_next(&m, &f);) {
        if (f.number == PIECE_TEXT && f.kind == FIELD_BYTES)
            p.text = f.bytes;
        else if (f.number == PIECE_SCORE && f.kind == FIELD_4_BYTES)
            p.score = field_float(&f);
        else if (f.number == PIECE_TYPE && f.kind == FIELD_INTEGER)
            kind = f.integer;
    }
    const size_t id = s->count;
    if (m.damaged)
        return fail(e, "%s: piece %zu is damaged", path, id);
    if (!p.text.size || memchr(p.text.at, 0, p.text.size))
        return fail(e, "%s: piece %zu is %s", path, id, p.text.size ? "no text: it has a zero byte" : "empty");
    if (kind < PIECE_NORMAL || kind > PIECE_BYTE || !isfinite(p.score))
        return fail(e, "%s: the %s of piece %zu is none", path, isfinite(p.score) ? "type" : "score", id);
    if (id >= INT32_MAX)
        return fail(e, "%s has too many pieces", path);
    p.kind = (PieceKind)kind;
    if (!memory_grow(&s->pieces, &s->capacity, id + 1, sizeof *s->pieces, path, e))
        return false;
    s->pieces[s->count++] = p;
    return true;
}

static bool read_model(SentencePiece *s, const char *path, Error *e)
{
    Message m = {.rest = {s->file, s->size}};
    Bytes trainer = {0}, rule = {0}, back = {0};
    for (Field f; protobuf_next(&m, &f);) {
        if (f.kind != FIELD_BYTES)
            continue;
        if (f.number == MODEL_PIECE && !read_piece(s, f.bytes, path, e))
            return false;
        trainer = f.number == MODEL_TRAINER ? f.bytes : trainer;
        rule = f.number == MODEL_RULE ? f.bytes : rule;
        back = f.number == MODEL_BACK ? f.bytes : back;
    }
    if (m.damaged || !s->count)
        return fail(e, "%s is %s", path, s->count ? "damaged after its pieces" : "no model of SentencePiece");
    return rule_read(&s->rule, rule, path, e) && rule_read(&s->back, back, path, e) &&
           read_trainer(s, trainer, path, e);
}

/* --- what follows from it --- */

/* The byte that <0x41> is; -1: it is none. */
static int byte_of(Bytes piece)
{
    static const char digits[] = "0123456789ABCDEF";
    if (piece.size != 6 || memcmp(piece.at, "<0x", 3) != 0 || piece.at[5] != '>')
        return -1;
    const char *high = memchr(digits, piece.at[3], 16), *low = memchr(digits, piece.at[4], 16);
    return high && low ? (int)(16 * (high - digits) + (low - digits)) : -1;
}

static bool sort_piece(SentencePiece *s, int32_t id, const char *path, Error *e)
{
    const Piece *p = &s->pieces[id];
    const bool part = p->kind == PIECE_NORMAL || p->kind == PIECE_USER || p->kind == PIECE_UNUSED;
    if (p->kind == PIECE_UNKNOWN) {
        if (s->unknown >= 0)
            return fail(e, "%s: pieces %d and %d are both unknown", path, (int)s->unknown, (int)id);
        s->unknown = id;
    } else if (p->kind == PIECE_NORMAL) {
        s->least = p->score < s->least ? p->score : s->least;
    } else if (p->kind == PIECE_UNUSED && s->bpe) {
        return fail(e, "%s: piece %d is unused, which is not supported in a model of type bpe", path, (int)id);
    } else if (p->kind == PIECE_BYTE) {
        const int byte = byte_of(p->text);
        if (byte < 0 || !s->byte_fallback)
            return fail(e, "%s: piece %d is called a byte, and is none", path, (int)id);
        s->byte[byte] = id;
    }
    return sorted_add(part ? &s->parts : &s->others, p->text.at, p->text.size, id, e) &&
           (p->kind != PIECE_USER || sorted_add(&s->users, p->text.at, p->text.size, id, e));
}

static bool sort_pieces(SentencePiece *s, const char *path, Error *e)
{
    s->unknown = -1;
    s->least = FLT_MAX;
    for (size_t i = 0; i < 256; i++)
        s->byte[i] = -1;
    for (size_t i = 0; i < s->count; i++)
        if (!sort_piece(s, (int32_t)i, path, e))
            return false;
    const SortedText *twice = sorted_finish(&s->parts);
    twice = twice ? twice : sorted_finish(&s->others);
    if (twice)
        return fail(e, "%s: piece '%.*s' is there twice", path, (int)(twice->size < 100 ? twice->size : 100),
                    twice->text);
    sorted_finish(&s->users);
    if (s->unknown < 0)
        return fail(e, "%s has no piece for what is unknown", path);
    for (size_t i = 0; s->byte_fallback && i < 256; i++)
        if (s->byte[i] < 0)
            return fail(e, "%s has no piece for byte %zu", path, i);
    return true;
}

bool sentencepiece_read(SentencePiece *s, const char *path, Error *e)
{
    static const char usual[] = " \xE2\x81\x87 ";
    *s = (SentencePiece){.unknown_text = {usual, sizeof usual - 1}};
    if (file_read(path, &s->file, &s->size, e) && read_model(s, path, e) && sort_pieces(s, path, e))
        return true;
    sentencepiece_close(s);
    return false;
}

void sentencepiece_close(SentencePiece *s)
{
    memory_free(s->file);
    memory_free(s->pieces);
    sorted_close(&s->parts);
    sorted_close(&s->users);
    sorted_close(&s->others);
    *s = (SentencePiece){0};
}

bool sentencepiece_write(const SentencePiece *s, const char *path, Error *e)
{
    return file_write(path, s->file, s->size, e);
}

/* The id of a piece by its text, that of <unk> where it is none. */
static int32_t sentencepiece_id(const SentencePiece *s, Bytes piece)
{
    const SortedText *found = sorted_find(&s->others, piece.at, piece.size);
    found = found ? found : sorted_find(&s->parts, piece.at, piece.size);
    return found ? found->id : s->unknown;
}

/* --- pieces as a text --- */

/* Bytes that stand one after the other are characters; one that is part of none is U+FFFD. */
static void add_bytes(const Buffer *bytes, Buffer *text)
{
    for (size_t at = 0, length; at < bytes->size; at += length ? length : 1) {
        length = utf8_length(bytes->text + at, bytes->size - at);
        buffer_add(text, length ? bytes->text + at : "\xEF\xBF\xBD", length ? length : 3);
    }
}

/* first: nothing of the text is there yet, and the space that it begins with is the rule's. */
static void add_piece(const SentencePiece *s, int32_t id, Bytes piece, bool *first, Buffer *text)
{
    const Piece *p = &s->pieces[id];
    if (p->kind == PIECE_CONTROL)
        return;
    if (p->kind == PIECE_UNKNOWN) {
        const bool named = piece.size == p->text.size && !memcmp(piece.at, p->text.at, piece.size);
        piece = named ? s->unknown_text : piece;
        buffer_add(text, piece.at, piece.size);
        return;
    }
    if (*first && (s->rule.first_space || s->rule.fewer_spaces) && piece.size >= SPACE_MARK_SIZE &&
        !memcmp(piece.at, SPACE_MARK, SPACE_MARK_SIZE)) {
        piece.at += SPACE_MARK_SIZE;
        piece.size -= SPACE_MARK_SIZE;
        *first = s->rule.fewer_spaces;
    }
    for (size_t i = 0; i < piece.size;) {
        const bool mark = piece.size - i >= SPACE_MARK_SIZE && !memcmp(piece.at + i, SPACE_MARK, SPACE_MARK_SIZE);
        buffer_add(text, mark ? " " : piece.at + i, 1);
        i += mark ? SPACE_MARK_SIZE : 1;
    }
}

static void join(const SentencePiece *s, const Bytes *pieces, size_t count, Buffer *text)
{
    Buffer bytes = {0};
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        const int32_t id = sentencepiece_id(s, pieces[i]);
        if (s->pieces[id].kind == PIECE_BYTE) {
            const char byte = (char)byte_of(s->pieces[id].text);
            buffer_add(&bytes, &byte, 1);
            continue;
        }
        add_bytes(&bytes, text);
        bytes.size = 0;
        first = first && !text->size;
        add_piece(s, id, pieces[i], &first, text);
    }
    add_bytes(&bytes, text);
    text->failed = text->failed || bytes.failed;
    buffer_free(&bytes);
}

bool sentencepiece_join(const SentencePiece *s, const Bytes *pieces, size_t count, Buffer *text, Error *e)
{
    Buffer joined = {0};
    join(s, pieces, count, &joined);
    if (s->back.trie.size && !joined.failed) {
        if (!rule_apply(&s->back, NULL, joined.text ? joined.text : "", joined.size, text, e))
            text->failed = true;
    } else if (joined.size)
        buffer_add(text, joined.text, joined.size);
    text->failed = text->failed || joined.failed;
    buffer_free(&joined);
    return !text->failed || memory_error(e, "a text", text->size, 1);
}
