/* .npy, as NumPy documents it:
 *
 *     "\x93NUMPY" | version (2 bytes) | length of the text (2 bytes, from version 2 on 4) |
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } spaces newline | data
 *
 * Our headers always have 128 bytes, so that the number of rows can be filled in at the end. */
#include "core/run/npy.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 128, PREFIX = 10 };

static const char magic[] = "\x93NUMPY";
static const char *const names[] = {[NPY_F32] = "<f4", [NPY_F64] = "<f8", [NPY_I32] = "<i4"};
static const size_t sizes[] = {[NPY_F32] = 4, [NPY_F64] = 8, [NPY_I32] = 4};

static bool make_header(char *header, const Npy *a, Error *e)
{
    char text[200];
    int at = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", names[a->type]);
    for (size_t i = 0; i < a->rank; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%zu%s", a->shape[i],
                       a->rank == 1      ? ","
                       : i + 1 < a->rank ? ", "
                                         : "");
    at += snprintf(text + at, sizeof text - (size_t)at, "), }");
    if (at >= HEADER - PREFIX)
        return fail(e, "an array of that shape does not fit the header of a .npy file");
    memset(header, ' ', HEADER);
    memcpy(header, magic, 6);
    memcpy(header + 6, "\1\0", 2);
    header[8] = HEADER - PREFIX;
    header[9] = 0;
    memcpy(header + PREFIX, text, (size_t)at);
    header[HEADER - 1] = '\n';
    return true;
}

static bool is_size(size_t count, size_t size) { return !size || count <= PTRDIFF_MAX / size; }

/* Bytes of one row; false when there are too many. */
static bool row_bytes(const Npy *a, size_t *bytes)
{
    *bytes = sizes[a->type];
    for (size_t i = 1; i < a->rank; i++) {
        if (!is_size(a->shape[i], *bytes))
            return false;
        *bytes *= a->shape[i];
    }
    return true;
}

bool npy_open(NpyWriter *w, const char *path, NpyType type, size_t rank, const size_t *shape, Error *e)
{
    *w = (NpyWriter){.array = {.type = type, .rank = rank}};
    char header[HEADER];
    size_t bytes;
    if (rank < 1 || rank > NPY_RANK)
        return fail(e, "cannot write %s: an array has 1 to %d dimensions, not %zu", path, NPY_RANK, rank);
    memcpy(w->array.shape + 1, shape + 1, (rank - 1) * sizeof *shape);
    if (!row_bytes(&w->array, &bytes))
        return fail(e, "cannot write %s: its rows are too large", path);
    return make_header(header, &w->array, e) && file_begin_through(&w->file, path, e) &&
           file_add(&w->file, header, sizeof header, e);
}

bool npy_rows(NpyWriter *w, const void *data, size_t rows, Error *e)
{
    size_t bytes;
    if (!row_bytes(&w->array, &bytes) || !is_size(rows, bytes)) {
        npy_abandon(w);
        return fail(e, "cannot write %zu rows of a .npy file: too many", rows);
    }
    w->array.shape[0] += rows;
    return file_add(&w->file, data, rows * bytes, e);
}

bool npy_close(NpyWriter *w, Error *e)
{
    char header[HEADER];
    if (!make_header(header, &w->array, e)) {
        npy_abandon(w);
        return false;
    }
    return file_add_at(&w->file, 0, header, sizeof header, e) && file_end(&w->file, e);
}

void npy_abandon(NpyWriter *w) { file_abandon(&w->file); }

bool npy_write(const char *path, NpyType type, size_t rank, const size_t *shape, const void *data, Error *e)
{
    NpyWriter w;
    return npy_open(&w, path, type, rank, shape, e) && npy_rows(&w, data, shape[0], e) && npy_close(&w, e);
}

/* What stands behind 'KEY': in the header; NULL when it is not there. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return at + strspn(at, "'\": ");
}

static bool parse_shape(const char *text, Npy *a)
{
    if (!text || *text++ != '(')
        return false;
    for (a->rank = 0;;) {
        text += strspn(text, " ,");
        if (*text == ')')
            return a->rank > 0;
        char *end;
        if (*text < '0' || *text > '9' || a->rank == NPY_RANK)
            return false;
        unsigned long long n = strtoull(text, &end, 10);
        if (n > PTRDIFF_MAX)
            return false;
        a->shape[a->rank++] = (size_t)n;
        text = end;
    }
}

static bool parse_header(const char *header, const char *path, Npy *a, Error *e)
{
    const char *type = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    size_t i = 0;
    while (type && i < 3 && strncmp(type, names[i], 3))
        i++;
    if (!type || i == 3)
        return fail(e, "%s: the array is none of float32, float64 and int32 (little endian)", path);
    a->type = (NpyType)i;
    if (!order || strncmp(order, "False", 5))
        return fail(e, "%s: the array is stored by columns; save numpy.ascontiguousarray of it", path);
    return parse_shape(value_of(header, "'shape'"), a) ||
           fail(e, "%s: the array has no shape of 1 to %d sizes", path, NPY_RANK);
}

/* Where the header's text begins and how long it is; false when the file is none of ours. */
static bool find_header(const unsigned char *b, size_t size, size_t *start, size_t *length)
{
    if (size < PREFIX || memcmp(b, magic, 6) || b[6] < 1 || b[6] > 3)
        return false;
    *start = b[6] == 1 ? 10 : 12;
    if (size < *start)
        return false;
    *length = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] > 1)
        *length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    return *length > 0 && *length <= size - *start;
}

static bool parse(char *bytes, size_t size, const char *path, Npy *a, Error *e)
{
    size_t start = 0, length = 0, row, all;
    if (!find_header((const unsigned char *)bytes, size, &start, &length))
        return fail(e, "%s is no .npy file, or is cut off", path);
    bytes[start + length - 1] = 0; /* where the newline was */
    if (!parse_header(bytes + start, path, a, e))
        return false;
    if (!row_bytes(a, &row) || !is_size(a->shape[0], row))
        return fail(e, "%s: the array is larger than any memory", path);
    all = a->shape[0] * row;
    if (all != size - start - length)
        return fail(e, "%s has %zu bytes of data where its shape needs %zu", path, size - start - length, all);
    a->data = memory_get(all, 1); /* a copy, because the file's header need not keep the data aligned */
    if (!a->data)
        return memory_error(e, path, all, 1);
    memcpy(a->data, bytes + start + length, all);
    return true;
}

bool npy_read(Npy *array, const char *path, Error *e)
{
    *array = (Npy){0};
    char *bytes;
    size_t size;
    if (!file_read(path, &bytes, &size, e))
        return false;
    bool done = parse(bytes, size, path, array, e);
    memory_free(bytes);
    return done;
}

void npy_free(Npy *array)
{
    memory_free(array->data);
    *array = (Npy){0};
}
