/* Pairs of sentences from a table: see source.h. One whose first line names both languages is read by these names;
 * otherwise, its first column is the source and its second the target. */
#include "encdec/source.h"

#include "base/utf8.h"
#include "core/text/csv.h"

#include <stdio.h>
#include <string.h>

enum { ASKED = 200 };

/* Which sides' languages are columns of the first line, between these marks. */
static void find_sides(const SourceOptions *o, const char *text, size_t size, const char *marks, bool found[SIDES_USED])
{
    const char *end = memchr(text, '\n', size), *at = text;
    end = end ? end : text + size;
    while (at < end) {
        size_t length = strcspn(at, marks);
        length = length < (size_t)(end - at) ? length : (size_t)(end - at);
        for (size_t side = 0; side < SIDES_USED; side++)
            found[side] |= strlen(o->language[side]) == length && !memcmp(at, o->language[side], length);
        at += length + 1;
    }
}

/* Whether the first line names both languages: then it is a header. One that names the other column something else is
 * none to learn from: it would be a sentence, and any two columns would be taken. */
static bool find_header(const SourceOptions *o, const char *text, size_t size, bool *header, Error *e)
{
    bool found[SIDES_USED] = {false}, alone[SIDES_USED] = {false};
    find_sides(o, text, size, "\t,\r\n\"", found);
    find_sides(o, text, size, "\t\r\n", alone);
    *header = found[SOURCE] && found[TARGET];
    if (*header || (!alone[SOURCE] && !alone[TARGET]) || !memchr(text, '\t', strcspn(text, "\n")))
        return true;
    return fail(e, "%s, line 1 has a column %s, but none named %s: a header names both languages", o->path,
                o->language[alone[SOURCE] ? SOURCE : TARGET], o->language[alone[SOURCE] ? TARGET : SOURCE]);
}

/* Adds a field as a sentence. Ends of lines in it become spaces: sentences are written one a line. */
static bool add_field(Lines *l, const CsvField *field, Error *e)
{
    if (!lines_add(l, field->text, field->size, e))
        return false;
    char *text = l->text + l->start[l->count - 1];
    for (size_t i = 0; i < field->size; i++)
        if (text[i] == '\n') {
            text[i] = ' ';
            if (i && text[i - 1] == '\r')
                text[i - 1] = ' ';
        }
    return true;
}

static bool read_with_header(Sentences *s, const SourceOptions *o, char *text, size_t size, Error *e)
{
    Csv csv;
    CsvField field[SIDES_USED];
    bool row;
    if (!csv_open(&csv, o->path, text, size, o->language, SIDES_USED, e))
        return false;
    for (;;) {
        if (!csv_next(&csv, field, &row, e))
            return false;
        if (!row)
            return true;
        for (size_t side = 0; side < SIDES_USED; side++)
            if (!add_field(&s->side[SPLIT_TRAIN][side], &field[side], e))
                return false;
    }
}

/* What tells whether the first two of three columns can be the pairs: numbers of lines are no sentences. */
typedef struct PlainColumns {
    size_t most; /* columns of a line */
    size_t numbers[SIDES_USED], words[SIDES_USED];
} PlainColumns;

/* Its fields; `most` counts the columns after them, too. Line 1 may be names of columns. */
static bool split_plain(const char *line, const char *end, CsvField field[SIDES_USED], PlainColumns *columns,
                        bool first)
{
    size_t count = 0;
    for (const char *at = line, *tab; at; at = tab ? tab + 1 : NULL, count++) {
        tab = memchr(at, '\t', (size_t)(end - at));
        if (count >= SIDES_USED)
            continue;
        const size_t size = (size_t)((tab ? tab : end) - at);
        field[count] = (CsvField){at, size};
        const bool number = size && strspn(at, "0123456789") >= size;
        columns->numbers[count] += number;
        columns->words[count] += !number && !first;
    }
    columns->most = count > columns->most ? count : columns->most;
    return count >= SIDES_USED;
}

static bool columns_are_clear(const PlainColumns *columns, const SourceOptions *o, size_t number, Error *e)
{
    static const char ask[] = "line 1 names none: give it a header with %s and %s";
    char header[ASKED];
    snprintf(header, sizeof header, ask, o->language[SOURCE], o->language[TARGET]);
    if (columns->most > SIDES_USED + 1)
        return fail(e, "%s, line %zu has %zu columns and %s", o->path, number, columns->most, header);
    for (size_t side = 0; number == 0 && columns->most > SIDES_USED && side < SIDES_USED; side++)
        if (columns->numbers[side] && !columns->words[side])
            return fail(e, "%s: column %zu holds nothing but numbers and %s", o->path, side + 1, header);
    return true;
}

static bool no_tab(const SourceOptions *o, const char *text, size_t number, Error *e)
{
    if (number == 1 && text[strspn(text, " \t\r\n")] == '(')
        return fail(e, "%s, line 1 has no tab, and begins like a tree: a treebank is read with --trees", o->path);
    return fail(e, "%s, line %zu has no tab: a table of pairs has two columns, or a header with the columns %s and %s",
                o->path, number, o->language[SOURCE], o->language[TARGET]);
}

/* Source, a tab, target; what stands after another tab, such as who wrote them, is not read. */
static bool read_plain(Sentences *s, const SourceOptions *o, char *text, size_t size, Error *e)
{
    PlainColumns columns = {0};
    size_t number = 1;
    for (const char *line = text, *end; line < text + size; line = end + 1, number++) {
        CsvField field[SIDES_USED];
        end = memchr(line, '\n', (size_t)(text + size - line));
        end = end ? end : text + size;
        if (!split_plain(line, end, field, &columns, number == 1))
            return no_tab(o, text, number, e);
        if (!columns_are_clear(&columns, o, number, e))
            return false;
        for (size_t side = 0; side < SIDES_USED; side++)
            if (!lines_add(&s->side[SPLIT_TRAIN][side], field[side].text, field[side].size, e))
                return false;
    }
    return columns_are_clear(&columns, o, 0, e);
}

bool sentences_of_table(Sentences *s, const SourceOptions *o, char *text, size_t size, Error *e)
{
    const size_t mark = utf8_mark(text, size);
    bool header;
    return find_header(o, text + mark, size - mark, &header, e) &&
           (header ? read_with_header : read_plain)(s, o, text + mark, size - mark, e);
}
