/* See csv.h. */
#include "core/text/csv.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <string.h>

/* A field in quotes: its text is moved together where quotes were doubled. c->at ends after the closing quote. */
static bool quoted_field(Csv *c, CsvField *field, Error *e)
{
    char *to = ++c->at;
    size_t opened = c->ending;
    field->text = to;
    for (; c->at < c->end; c->at++) {
        if (*c->at == '"' && ++c->at < c->end && *c->at != '"')
            break;
        if (c->at == c->end) {
            field->size = (size_t)(to - field->text);
            return true; /* the quote was the text's last byte */
        }
        c->ending += *c->at == '\n';
        *to++ = *c->at;
    }
    field->size = (size_t)(to - field->text);
    if (c->at == c->end)
        return fail(e, "%s, line %zu: a quote is opened and never closed", c->path, opened);
    return *c->at == c->separator || *c->at == '\n' || *c->at == '\r' ||
           fail(e, "%s, line %zu: a field continues after its closing quote; write a quote inside a field twice",
                c->path, c->ending);
}

/* Whether the quote at c->at opens a field in quotes. Tables with tabs are often written without any, and then one that
 * a text begins with would take in the rows after it: what has ends of lines and tabs in it is rows. So the search ends
 * soon. */
static bool opens_field(const Csv *c)
{
    if (c->separator != '\t')
        return true;
    bool tab = false, line = false;
    for (const char *at = c->at + 1; at < c->end && !(tab && line); at++) {
        if (*at == '"' && (++at == c->end || *at != '"'))
            return at == c->end || *at == '\t' || *at == '\n' || *at == '\r';
        tab |= *at == '\t';
        line |= *at == '\n';
    }
    return false;
}

static void plain_field(Csv *c, CsvField *field)
{
    field->text = c->at;
    while (c->at < c->end && *c->at != c->separator && *c->at != '\n')
        c->at++;
    field->size = (size_t)(c->at - field->text);
    if (field->size && c->at[-1] == '\r' && (c->at == c->end || *c->at == '\n'))
        field->size--;
}

/* One field; *last: the row ends after it. */
static bool read_field(Csv *c, CsvField *field, bool *last, Error *e)
{
    if (c->at < c->end && *c->at == '"' && opens_field(c)) {
        if (!quoted_field(c, field, e))
            return false;
    } else
        plain_field(c, field);
    *last = c->at == c->end || *c->at != c->separator;
    if (c->at < c->end)
        c->ending += *c->at++ == '\n';
    return true;
}

/* Goes to the beginning of the next row; false: there is none. */
static bool find_row(Csv *c)
{
    while (c->at < c->end && (*c->at == '\n' || *c->at == '\r'))
        c->ending += *c->at++ == '\n';
    c->line = c->ending;
    return c->at < c->end;
}

/* Finds the wanted columns among those of the header. */
static bool read_header(Csv *c, const char *const *names, Buffer *there, Error *e)
{
    bool found[CSV_COLUMNS] = {false};
    for (bool last = false; !last; c->fields++) {
        CsvField field;
        if (!read_field(c, &field, &last, e))
            return false;
        buffer_print(there, "%s%.*s", c->fields ? ", " : "", (int)field.size, field.text);
        for (size_t i = 0; i < c->wanted; i++)
            if (!found[i] && strlen(names[i]) == field.size && !memcmp(names[i], field.text, field.size)) {
                c->place[i] = c->fields;
                found[i] = true;
            }
    }
    if (there->failed)
        return memory_error(e, c->path, there->size, 1);
    utf8_hide_controls(there->text, there->size);
    for (size_t i = 0; i < c->wanted; i++)
        if (!found[i]) {
            c->missing = names[i];
            return fail(e, "%s has no column '%s'; its columns are: %.300s", c->path, names[i], there->text);
        }
    return true;
}

bool csv_open(Csv *c, const char *path, char *text, size_t size, const char *const *names, size_t wanted, Error *e)
{
    Buffer there = {0};
    size_t mark = utf8_mark(text, size);
    *c = (Csv){.path = path, .at = text + mark, .end = text + size, .ending = 1, .wanted = wanted};
    if (!find_row(c))
        return fail(e, "%s is empty: a table starts with the names of its columns", path);
    const char *line = memchr(c->at, '\n', (size_t)(c->end - c->at));
    c->separator = memchr(c->at, '\t', (size_t)((line ? line : c->end) - c->at)) ? '\t' : ',';
    bool done = read_header(c, names, &there, e);
    buffer_free(&there);
    return done;
}

bool csv_next(Csv *c, CsvField *fields, bool *row, Error *e)
{
    size_t count = 0;
    *row = find_row(c);
    if (!*row)
        return true;
    for (bool last = false; !last; count++) {
        CsvField field;
        if (!read_field(c, &field, &last, e))
            return false;
        for (size_t i = 0; i < c->wanted; i++)
            if (c->place[i] == count)
                fields[i] = field;
    }
    return count == c->fields || fail(e, "%s, line %zu: it has %zu field%s where the header has %zu", c->path, c->line,
                                      count, count == 1 ? "" : "s", c->fields);
}
