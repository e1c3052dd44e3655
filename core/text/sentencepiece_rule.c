/* The rules of SentencePiece: see sentencepiece.h. */
#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/sentencepiece.h"

#include <string.h>

static uint32_t number_at(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* precompiled_charsmap: the size of the trie in 4 bytes, the trie, and texts that a zero byte closes. */
static bool read_charsmap(TextRule *r, Bytes map, const char *path, Error *e)
{
    if (!map.size)
        return true;
    const size_t trie = map.size > 4 ? number_at(map.at) : 0;
    if (!trie || trie % 4 || trie >= map.size - 4 || map.at[map.size - 1])
        return fail(e, "%s: its rule for characters is damaged", path);
    r->trie = (Bytes){map.at + 4, trie};
    r->texts = (Bytes){map.at + 4 + trie, map.size - 4 - trie};
    return true;
}

bool rule_read(TextRule *r, Bytes spec, const char *path, Error *e)
{
    Message m = {.rest = spec};
    *r = (TextRule){.first_space = true, .fewer_spaces = true, .marked_spaces = true};
    for (Field f; protobuf_next(&m, &f);) {
        if (f.number == 2 && f.kind == FIELD_BYTES) {
            if (!read_charsmap(r, f.bytes, path, e))
                return false;
        } else if (f.kind == FIELD_INTEGER && f.number >= 3 && f.number <= 5) {
            *(f.number == 3 ? &r->first_space : f.number == 4 ? &r->fewer_spaces : &r->marked_spaces) = f.integer != 0;
        }
    }
    return !m.damaged || fail(e, "%s: its rule for texts is damaged", path);
}

/* --- the double array (darts-clone) --- */

/* Unit `at`: whether its node ends a text, where its children are, and of which byte it is a child; and as a leaf, its
 * value. */
static bool unit_at(const TextRule *r, size_t at, uint32_t *unit)
{
    if (at >= r->trie.size / 4)
        return false;
    *unit = number_at(r->trie.at + 4 * at);
    return true;
}

static bool ends_text(uint32_t unit) { return unit >> 8 & 1; }
static size_t children_of(uint32_t unit) { return (size_t)(unit >> 10) << ((unit & 1 << 9) >> 6); }
static uint32_t label_of(uint32_t unit) { return unit & (1U << 31 | 255); }

/* The longest beginning of a text that is replaced, and by what; 0: none is. */
static size_t replaced(const TextRule *r, const char *text, size_t size, Bytes *by)
{
    size_t longest = 0, at = 0;
    uint32_t unit, leaf;
    if (!unit_at(r, 0, &unit))
        return 0;
    at ^= children_of(unit);
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)text[i];
        at ^= byte;
        if (!unit_at(r, at, &unit) || label_of(unit) != byte)
            break;
        at ^= children_of(unit);
        if (!ends_text(unit) || !unit_at(r, at, &leaf) || (leaf & INT32_MAX) >= r->texts.size)
            continue;
        longest = i + 1;
        by->at = r->texts.at + (leaf & INT32_MAX);
    }
    by->size = longest ? strlen(by->at) : 0;
    return longest;
}

/* --- a text --- */

/* What a text begins with becomes `by`; how many bytes of it. What is no UTF-8 is U+FFFD. */
static size_t next(const TextRule *r, const SortedTexts *users, const char *text, size_t size, Bytes *by)
{
    static const char none[] = "\xEF\xBF\xBD";
    const SortedText *user = users ? prefixes_longest(users, text, size) : NULL;
    size_t length = user ? user->size : replaced(r, text, size, by);
    if (length && !user)
        return length;
    length = length ? length : utf8_length(text, size);
    *by = length ? (Bytes){text, length} : (Bytes){none, strlen(none)};
    return length ? length : 1;
}

static bool is_space(Bytes b) { return b.size == 1 && *b.at == ' '; }

static void add_space(const TextRule *r, Buffer *to)
{
    buffer_add(to, r->marked_spaces ? SPACE_MARK : " ", r->marked_spaces ? SPACE_MARK_SIZE : 1);
}

static void add_piece(const TextRule *r, Bytes piece, Buffer *to)
{
    for (size_t i = 0, end; i < piece.size; i = end) {
        const char *space = memchr(piece.at + i, ' ', piece.size - i);
        end = space ? (size_t)(space - piece.at) : piece.size;
        buffer_add(to, piece.at + i, end - i);
        if (space)
            add_space(r, to);
        end += space != NULL;
    }
}

static void drop_last_spaces(const TextRule *r, Buffer *to, size_t from)
{
    const char *space = r->marked_spaces ? SPACE_MARK : " ";
    const size_t length = strlen(space);
    while (to->size >= from + length && !memcmp(to->text + to->size - length, space, length))
        to->size -= length;
}

bool rule_apply(const TextRule *r, const SortedTexts *users, const char *text, size_t size, Buffer *to, Error *e)
{
    const size_t from = to->size;
    size_t at = 0;
    Bytes by = {0};
    for (size_t length; r->fewer_spaces && at < size; at += length) {
        length = next(r, users, text + at, size - at, &by);
        if (!is_space(by))
            break;
    }
    if (at == size)
        return true;
    if (r->first_space && !r->space_last)
        add_space(r, to);
    for (bool after_space = r->fewer_spaces; at < size;) {
        at += next(r, users, text + at, size - at, &by);
        for (; after_space && by.size && *by.at == ' '; by.at++)
            by.size--;
        add_piece(r, by, to);
        if (by.size)
            after_space = r->fewer_spaces && by.at[by.size - 1] == ' ';
    }
    if (r->fewer_spaces && !to->failed)
        drop_last_spaces(r, to, from);
    if (r->first_space && r->space_last)
        add_space(r, to);
    return !to->failed || memory_error(e, "a text", to->size, 1);
}
