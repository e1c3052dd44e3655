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

/* What tells whether the first two of three columns can be the pairs: numbers and scores of lines are no sentences. */
typedef struct PlainColumns {
    size_t first, now; /* columns of line 1, and of the line that was read last */
    size_t numbers[SIDES_USED], words[SIDES_USED];
} PlainColumns;

static const char *after_digits(const char *at, const char *end, bool *some)
{
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        *some = true;
    return at;
}

static const char *after_sign(const char *at, const char *end)
{
    return at < end && (*at == '+' || *at == '-') ? at + 1 : at;
}

/* "7", "-1.5", "2e-05" */
static bool is_number(const char *at, const char *end)
{
    bool some = false;
    at = after_digits(after_sign(at, end), end, &some);
    if (at < end && *at == '.')
        at = after_digits(at + 1, end, &some);
    if (some && at < end && (*at == 'e' || *at == 'E')) {
        some = false;
        at = after_digits(after_sign(at + 1, end), end, &some);
    }
    return some && at == end;
}

/* Its fields. Empty columns at the end are none. Line 1 may be names of columns. */
static bool split_plain(const char *line, const char *end, CsvField field[SIDES_USED], PlainColumns *columns,
                        bool first)
{
    size_t count = 0, used = 0;
    for (const char *at = line, *tab; at; at = tab ? tab + 1 : NULL, count++) {
        tab = memchr(at, '\t', (size_t)(end - at));
        const char *after = tab ? tab : end;
        used = after > at && !(after == at + 1 && !tab && *at == '\r') ? count + 1 : used;
        if (count >= SIDES_USED)
            continue;
        field[count] = (CsvField){at, (size_t)(after - at)};
        const bool number = is_number(at, after);
        columns->numbers[count] += number;
        columns->words[count] += !number && !first;
    }
    columns->now = used < SIDES_USED ? SIDES_USED : used;
    columns->first = first ? columns->now : columns->first;
    return count >= SIDES_USED;
}

static const char ask[] = "add a first line with %s and %s over their columns";

static bool line_is_clear(const PlainColumns *columns, const SourceOptions *o, size_t number, Error *e)
{
    char header[ASKED];
    if (columns->now <= SIDES_USED + 1)
        return true;
    if (number > 1)
        return fail(e, "%s, line %zu has %zu columns, line 1 has %zu: correct that line", o->path, number, columns->now,
                    columns->first);
    snprintf(header, sizeof header, ask, o->language[SOURCE], o->language[TARGET]);
    return fail(e, "%s, line 1 has %zu columns, but does not name them: %s", o->path, columns->now, header);
}

static bool columns_are_clear(const PlainColumns *columns, const SourceOptions *o, Error *e)
{
    char header[ASKED];
    snprintf(header, sizeof header, ask, o->language[SOURCE], o->language[TARGET]);
    for (size_t side = 0; columns->first > SIDES_USED && side < SIDES_USED; side++)
        if (columns->numbers[side] && !columns->words[side])
            return fail(e, "%s: column %zu holds nothing but numbers, and line 1 does not name the columns: %s",
                        o->path, side + 1, header);
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
        if (!line_is_clear(&columns, o, number, e))
            return false;
        for (size_t side = 0; side < SIDES_USED; side++)
            if (!lines_add(&s->side[SPLIT_TRAIN][side], field[side].text, field[side].size, e))
                return false;
    }
    return columns_are_clear(&columns, o, e);
}

bool sentences_of_table(Sentences *s, const SourceOptions *o, char *text, size_t size, Error *e)
{
    const size_t mark = utf8_mark(text, size);
    bool header;
    return find_header(o, text + mark, size - mark, &header, e) &&
           (header ? read_with_header : read_plain)(s, o, text + mark, size - mark, e);
}
