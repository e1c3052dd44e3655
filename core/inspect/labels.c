/* See labels.h. */
#include "core/inspect/labels.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <string.h>

static bool between(uint32_t code, uint32_t low, uint32_t high) { return code >= low && code <= high; }

static void add_code(Buffer *out, uint32_t code)
{
    char letters[4];
    buffer_add(out, letters, utf8_encode(letters, code));
}

/* Characters that leave no mark on paper, or move others: spaces of all widths, joiners, directions, line ends. */
static bool is_unseen(uint32_t code)
{
    return between(code, 0x80, 0x9f) || code == 0xad || code == 0x61c || code == 0x1680 ||
           between(code, 0x180b, 0x180e) || between(code, 0x2000, 0x200f) || between(code, 0x2028, 0x202f) ||
           between(code, 0x205f, 0x206f) || code == 0x3000 || code == 0x3164 || between(code, 0xfe00, 0xfe0f) ||
           code == 0xfeff || between(code, 0xfff0, 0xfffb) || between(code, 0xe0000, 0xe0fff) ||
           (code & 0xfffe) == 0xfffe || between(code, 0xfdd0, 0xfdef);
}

static bool is_mark(uint32_t code)
{
    return between(code, 0x300, 0x36f) || between(code, 0x483, 0x489) || between(code, 0x591, 0x5bd) ||
           between(code, 0x64b, 0x65f) || between(code, 0x1ab0, 0x1aff) || between(code, 0x1dc0, 0x1dff) ||
           between(code, 0x20d0, 0x20ff) || between(code, 0x302a, 0x302d) || between(code, 0x3099, 0x309a) ||
           between(code, 0xfe20, 0xfe2f);
}

static void show_code(Buffer *out, uint32_t code, bool first)
{
    switch (code) {
    case ' ': buffer_print(out, "␣"); return;
    case '\n': buffer_print(out, "↵"); return;
    case '\t': buffer_print(out, "⇥"); return;
    case 0xa0: buffer_print(out, "⍽"); return;
    default: break;
    }
    if (code < ' ' || code == 0x7f)
        buffer_print(out, "x%02X", (unsigned)code);
    else if (is_unseen(code))
        buffer_print(out, "U+%04X", (unsigned)code);
    else {
        if (first && is_mark(code))
            buffer_print(out, "◌");
        add_code(out, code);
    }
}

/* How a text is shown, without its blanks being seen wrongly: added to `out`. */
static void label_show(Buffer *out, const char *text, size_t size)
{
    if (!size)
        buffer_print(out, "∅");
    for (size_t at = 0; at < size;) {
        uint32_t code;
        size_t length = utf8_decode(&code, text + at, size - at);
        if (length)
            show_code(out, code, at == 0);
        else
            buffer_print(out, "x%02X", (unsigned)(unsigned char)text[at]);
        at += length ? length : 1;
    }
}

static bool separates(uint32_t code)
{
    bool ascii = code < 0x80;
    bool letter = between(code, '0', '9') || between(code, 'A', 'Z') || between(code, 'a', 'z');
    return ascii ? !letter
                 : between(code, 0x80, 0xbf) || between(code, 0x2000, 0x206f) || between(code, 0x3000, 0x303f) ||
                       between(code, 0xff01, 0xff0f) || between(code, 0xff1a, 0xff20);
}

static bool all_separate(const char *text, size_t size)
{
    bool all = true;
    for (size_t at = 0; all && at < size;) {
        uint32_t code = 0;
        size_t length = utf8_decode(&code, text + at, size - at);
        all = length && separates(code);
        at += length;
    }
    return all;
}

/* A token whose letters are in `shown` from `from` on. */
static bool add(Labels *t, const char *text, size_t size, size_t from, bool separator, Error *e)
{
    if (!memory_grow(&t->list, &t->capacity, t->count + 1, sizeof *t->list, "tokens", e))
        return false;
    t->list[t->count++] = (Label){t->raw.size, size, from, separator};
    buffer_add(&t->raw, text, size);
    buffer_add(&t->shown, "", 1);
    return !(t->raw.failed || t->shown.failed) || fail(e, "out of memory for tokens");
}

bool labels_add(Labels *t, const char *text, size_t size, bool mark, Error *e)
{
    size_t from = t->shown.size;
    label_show(&t->shown, text, size);
    return add(t, text, size, from, mark || all_separate(text, size), e);
}

bool labels_add_bytes(Labels *t, const char *text, size_t size, Error *e)
{
    static const char *const numbers[] = {"₁", "₂", "₃", "₄"};
    for (size_t at = 0; at < size;) {
        size_t length = utf8_step(text + at, size - at);
        bool separator = all_separate(text + at, length);
        for (size_t i = 0; i < length; i++) {
            size_t from = t->shown.size;
            label_show(&t->shown, text + at, length);
            if (length > 1)
                buffer_print(&t->shown, "%s", numbers[i]);
            if (!add(t, text + at + i, 1, from, separator, e))
                return false;
        }
        at += length;
    }
    return true;
}

void labels_cut(Labels *t, size_t count) { t->count = count < t->count ? count : t->count; }

void labels_close(Labels *t)
{
    memory_free(t->list);
    buffer_free(&t->raw);
    buffer_free(&t->shown);
    *t = (Labels){0};
}
