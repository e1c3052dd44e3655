/* Tables: rows that are read are in the input, and are the same when they are written with all fields in quotes and
 * read again. */
#include "core/text/csv.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const char *const columns[] = {"text", "label"};

static void add_field(Buffer *b, const CsvField *field)
{
    buffer_add(b, "\"", 1);
    for (size_t i = 0; i < field->size; i++) {
        buffer_add(b, field->text + i, 1);
        if (field->text[i] == '"')
            buffer_add(b, field->text + i, 1);
    }
    buffer_add(b, "\"", 1);
}

/* Reads all rows of a text, which is written into; with `out` they are written there. */
static bool read_rows(char *text, size_t size, Buffer *out, size_t *rows, Error *e)
{
    Csv c;
    CsvField fields[2];
    bool row = true;
    *rows = 0;
    if (!csv_open(&c, "table", text, size, columns, 2, e))
        return false;
    for (; csv_next(&c, fields, &row, e) && row; ++*rows)
        for (size_t i = 0; i < 2; i++) {
            DEMAND(fields[i].text >= text && fields[i].text + fields[i].size <= text + size, "a field is of the input");
            add_field(out, &fields[i]);
            buffer_add(out, i ? "\n" : ",", 1);
        }
    return !row;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Error e = {{0}};
    Buffer first = {0}, second = {0};
    size_t rows, again;
    fuzz_begin();
    char *text = memory_get(size, 1);
    memcpy(text, data, size);
    buffer_print(&first, "text,label\n");
    buffer_print(&second, "text,label\n");
    if (!read_rows(text, size, &first, &rows, &e))
        fuzz_refused(&e);
    else {
        char *copy = memory_get(first.size, 1);
        memcpy(copy, first.text, first.size);
        DEMAND(read_rows(copy, first.size, &second, &again, &e), "rows that are written can be read");
        DEMAND(rows == again && first.size == second.size && !memcmp(first.text, second.text, first.size),
               "what is read again is equal");
        memory_free(copy);
    }
    memory_free(text);
    buffer_free(&first);
    buffer_free(&second);
    fuzz_end(size);
    return 0;
}
