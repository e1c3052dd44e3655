/* Pictures: gnuplot runs a script of plots/ over a file of data.
 *
 * The data are written first, into a file that stays. So, whether or not gnuplot is there, the picture can be made again
 * or adjusted by hand: gnuplot -c plots/SCRIPT.gp DATA OUT. */
#ifndef CORE_PLOT_PICTURE_H
#define CORE_PLOT_PICTURE_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>

enum { PICTURE_MORE = 5 };

typedef struct Picture {
    const char *script;             /* "loss" runs plots/loss.gp */
    const char *data;               /* the file it draws: its ARG1 */
    const char *out;                /* OUT.png, .svg, .pdf, .txt; NULL: text on standard output */
    const char *size;               /* "8.5cm", "16cmx9cm", "900x540"; NULL: the script's own */
    const char *terminal;           /* gnuplot's instead of the one that out's ending means: "sixelgd"; or NULL */
    const char *more[PICTURE_MORE]; /* what the script takes besides: its ARG5 to ARG9; up to a NULL */
} Picture;

/* Whether out, size and terminal can be: to be asked before any work. */
bool picture_sound(const Picture *p, Error *e);

/* Draws. said (may be NULL): what gnuplot had to say although it drew, as text. Without gnuplot the error is one line
 * on how to get it, and where the data are. */
bool picture_draw(const Picture *p, Buffer *said, Error *e);

/* Adds a field of a data file: foreign text so that gnuplot shows it as it is, in one line and one column. Tabs, line
 * ends and other control bytes become signs for them, quotes (which gnuplot drops) curly ones, bytes that are no UTF-8
 * U+FFFD. token: blanks are shown, too, and nothing at all as an empty box, so that a label can be seen. */
void picture_text(Buffer *b, const char *text, size_t size, bool token);

/* The same of a token that is shown, with two backslashes for one: of two, gnuplot shows one. */
void picture_label(Buffer *b, const char *shown);

#endif
