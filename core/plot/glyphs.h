/* Which characters the fonts of this machine can draw.
 *
 * Where no font has a character, gnuplot 5.4's cairo terminals (PNG, PDF) draw a box for it that is as large as the
 * picture. So what cannot be drawn is written by its number instead, U+2401, in the data that gnuplot reads. */
#ifndef CORE_PLOT_GLYPHS_H
#define CORE_PLOT_GLYPHS_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdint.h>

/* Characters that fonts have: fontconfig's lists of ranges as `fc-list -f '%{charset}\n'` prints them, "20-7e a0-17f",
 * all lines of it. */
typedef struct Glyphs {
    unsigned char *has; /* a bit for each code point */
} Glyphs;

bool glyphs_read(Glyphs *g, const char *ranges, Error *e);
void glyphs_close(Glyphs *g);

/* Adds a text with numbers in place of what is not there; whether there was any. */
bool glyphs_replace(const Glyphs *g, Buffer *out, const char *text, size_t size);

/* The same by the fonts of this machine. replaced: whether anything was; if not, nothing was added to `out`, as where
 * fontconfig's fc-list is not there to ask. */
bool glyphs_suit(Buffer *out, const char *text, size_t size, bool *replaced, Error *e);

#endif
