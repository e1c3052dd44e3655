/* See lines.h. */
#include "encdec/lines.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "base/utf8.h"
#include "core/text/archive.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

bool lines_of_text(Lines *l, const char *name, char *text, size_t size, Error *e)
{
    size_t count = size && text[size - 1] != '\n', next = 0;
    if (!text_in_utf8(name, text, size, e)) {
        *l = (Lines){0};
        memory_free(text);
        return false;
    }
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    *l = (Lines){.count = count, .text = text, .text_capacity = size, .start_capacity = count + 1};
    l->start = memory_get(count + 1, sizeof *l->start);
    if (!l->start) {
        lines_close(l);
        return memory_error(e, "lines of a text", count + 1, sizeof *l->start);
    }
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            l->start[++next] = i + 1;
    if (next < count)
        l->start[count] = size + 1; /* as if there were an end */
    lines_skip_mark(l);
    return true;
}

void lines_skip_mark(Lines *l)
{
    if (l->count)
        l->start[0] = utf8_mark(l->text, l->start[1] - 1);
}

static bool grow(Lines *l, size_t size, Error *e)
{
    size_t used = l->count ? l->start[l->count] : 0;
    return memory_grow(&l->text, &l->text_capacity, used + size + 1, 1, "lines of a text", e) &&
           memory_grow(&l->start, &l->start_capacity, l->count + 2, sizeof *l->start, "lines of a text", e);
}

bool lines_add(Lines *l, const char *text, size_t size, Error *e)
{
    if (!grow(l, size, e))
        return false;
    size_t at = l->start[l->count];
    if (size)
        memcpy(l->text + at, text, size);
    l->text[at + size] = '\n';
    l->start[++l->count] = at + size + 1;
    return true;
}

/* The bytes up to the next end of a line, which is read, too; false where there are none and no end. */
static bool read_line(Buffer *line, FILE *file)
{
    int byte;
    line->size = 0;
    while ((byte = getc(file)) != EOF && byte != '\n') {
        const char letter = (char)byte;
        buffer_add(line, &letter, 1);
    }
    return byte != EOF || ((line->size || line->failed) && !ferror(file));
}

bool lines_read(Lines *l, FILE *file, size_t count, size_t bytes, Error *e)
{
    Buffer line = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < count && (!l->count || l->start[l->count] < bytes) && read_line(&line, file); i++)
        fine = (!line.failed || memory_error(e, "a line", line.size, 1)) && lines_add(l, line.text, line.size, e);
    buffer_free(&line);
    return fine;
}

bool lines_share(Lines *l, bool *over, Error *e)
{
    size_t sizes[] = {l->count, l->count ? l->start[l->count] : 0, *over};
    if (ranks_count() == 1)
        return true;
    ranks_share(sizes, sizeof sizes);
    if (!memory_grow(&l->text, &l->text_capacity, sizes[1], 1, "lines", e) ||
        !memory_grow(&l->start, &l->start_capacity, sizes[0] + 1, sizeof *l->start, "lines", e))
        return false;
    if (!l->count)
        l->start[0] = 0;
    ranks_share(l->text, sizes[1]);
    ranks_share(l->start, (sizes[0] + 1) * sizeof *l->start);
    l->count = sizes[0];
    *over = sizes[2];
    return true;
}

bool lines_beside(Lines *l, FILE *file, const char *name, size_t count, Error *e)
{
    lines_clear(l);
    if (!lines_read(l, file, count, SIZE_MAX, e))
        return false;
    if (ferror(file))
        return fail(e, "cannot read %s: %s", name, strerror(errno));
    return l->count == count || fail(e, "%s has fewer lines than there are sentences", name);
}

void lines_clear(Lines *l)
{
    l->count = 0;
    if (l->start)
        l->start[0] = 0;
}

void lines_close(Lines *l)
{
    memory_free(l->text);
    memory_free(l->start);
    *l = (Lines){0};
}

Line lines_at(const Lines *l, size_t i)
{
    size_t from = l->start[i], size = l->start[i + 1] - 1 - from;
    return (Line){l->text + from, size - (size && l->text[from + size - 1] == '\r')};
}

/* isspace of the C locale, whatever the locale is. */
static bool parts_words(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == 0; }

bool line_word(Line line, size_t *at, Line *word)
{
    size_t from = *at;
    while (from < line.size && parts_words(line.text[from]))
        from++;
    size_t to = from;
    while (to < line.size && !parts_words(line.text[to]))
        to++;
    *at = to;
    *word = (Line){line.text + from, to - from};
    return to > from;
}

size_t line_words(Line line)
{
    size_t at = 0, count = 0;
    for (Line word; line_word(line, &at, &word);)
        count++;
    return count;
}

bool line_is_empty(Line line)
{
    size_t at = 0;
    Line word;
    return !line_word(line, &at, &word);
}
