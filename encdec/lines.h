/* A text as lines. They end in LF or CR LF; the last one may do without an end. A byte order mark at the beginning
 * belongs to none. */
#ifndef ENCDEC_LINES_H
#define ENCDEC_LINES_H

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

typedef struct Line {
    const char *text; /* [size], no zero byte after it */
    size_t size;
} Line;

typedef struct Lines {
    size_t count;
    char *text;
    size_t *start; /* [count+1] line i is text[start[i]] .. text[start[i+1]-2]: after it is its end */
    size_t text_capacity, start_capacity;
} Lines;

/* Takes over a text that memory_free frees, also when it fails. `name` is for messages. */
bool lines_of_text(Lines *l, const char *name, char *text, size_t size, Error *e);

/* One more after those that are there. */
bool lines_add(Lines *l, const char *text, size_t size, Error *e);

/* Adds lines of a file: up to its end, `count` of them, or the one at which all together have this many bytes. An
 * error of the file itself shows in the file. */
bool lines_read(Lines *l, FILE *file, size_t count, size_t bytes, Error *e);

/* Processes that share the work (base/ranks.h) get the lines of process 0, and whether it has met the end. */
bool lines_share(Lines *l, bool *over, Error *e);

/* Puts `count` more lines of a file in the place of those that are there: as many as belong to lines of another. */
bool lines_beside(Lines *l, FILE *file, const char *name, size_t count, Error *e);

/* Leaves out a mark before the first of them: where they are the first of a file. */
void lines_skip_mark(Lines *l);

void lines_clear(Lines *l); /* none; their room stays */
void lines_close(Lines *l);

Line lines_at(const Lines *l, size_t i);

/* Whether a line has nothing but spaces. */
bool line_is_empty(Line line);

/* Words of a line: what stands between spaces, tabs and other white space of ASCII; a zero byte parts words, too. *word
 * is the first one after *at, which goes after it; false: there is none. */
bool line_word(Line line, size_t *at, Line *word);
size_t line_words(Line line);

#endif
