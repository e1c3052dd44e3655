/* The tokens that the axes of a picture show, each so that nothing of it is lost or in the way: blanks, ends of lines
 * and other invisible characters are shown as a visible one.
 *
 *     space ␣, line feed ↵, tab ⇥, no-break space ⍽, nothing at all ∅
 *     other control characters by their value, x00; other invisible characters by their number, U+200B
 *     bytes that are no UTF-8 by their value, xE4; a combining mark on a circle
 *
 * Where tokens are bytes, those of a character of several are this character with numbers: 中₁ 中₂ 中₃. */
#ifndef CORE_INSPECT_LABELS_H
#define CORE_INSPECT_LABELS_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdint.h>

typedef struct Label {
    size_t raw, raw_size; /* in Labels.raw: as the network's program has it */
    size_t shown;         /* in Labels.shown, closed by a zero byte */
    bool separator;       /* punctuation or white space alone, or marked as such */
} Label;

typedef struct Labels {
    Label *list; /* [count] */
    size_t count, capacity;
    Buffer raw, shown;
} Labels;

/* One token. mark: it separates, whatever it looks like, as the end of a sentence does. */
bool labels_add(Labels *t, const char *text, size_t size, bool mark, Error *e);

/* Each byte of a text as a token. */
bool labels_add_bytes(Labels *t, const char *text, size_t size, Error *e);

/* The first `count` alone. */
void labels_cut(Labels *t, size_t count);
void labels_close(Labels *t);

static inline const char *label_shown(const Labels *t, size_t i) { return t->shown.text + t->list[i].shown; }

#endif
