/* Tables as text: a header with the names of the columns, then a line for each row (RFC 4180).
 *
 * Fields are separated by tabs if the header has a tab, else by commas. A field in quotes may hold both, ends of lines,
 * and quotes written twice. Where tabs separate, a quote is like any other letter unless another closes the field, and
 * such a field holds tabs or ends of lines, not both. Lines end in LF or CR LF; empty ones are no rows. */
#ifndef CORE_TEXT_CSV_H
#define CORE_TEXT_CSV_H

#include "base/error.h"

#include <stddef.h>

enum { CSV_COLUMNS = 8 }; /* that can be asked for */

typedef struct CsvField {
    const char *text; /* [size], no zero byte after it */
    size_t size;
} CsvField;

typedef struct Csv {
    const char *path; /* to be named in messages */
    char *at, *end;
    char separator;
    size_t line;   /* where the row that was read last begins, from 1 */
    size_t ending; /* where it ends */
    size_t fields; /* of each row */
    size_t wanted, place[CSV_COLUMNS];
    const char *missing; /* the wanted column for which opening failed; NULL: none */
} Csv;

/* Reads the header of a text, which is kept by the caller and written into: fields are in it. `names` are the columns
 * that are wanted. */
bool csv_open(Csv *c, const char *path, char *text, size_t size, const char *const *names, size_t wanted, Error *e);

/* The wanted fields of the next row; *row false: there is none. */
bool csv_next(Csv *c, CsvField *fields, bool *row, Error *e);

#endif
