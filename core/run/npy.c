/* .npy, as NumPy documents it:
 *
 *     "\x93NUMPY" | version (2 bytes) | length of the text (2 bytes, from version 2 on 4) |
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } spaces newline | data
 *
 * Our headers always have 128 bytes, so that the number of rows can be filled in at the end. */
#include "core/run/npy.h"

#include <stdio.h>
#include <string.h>

enum { HEADER = 128, PREFIX = 10 };

static const char magic[] = "\x93NUMPY";
static const char *const names[] = {[NPY_F32] = "<f4", [NPY_F64] = "<f8", [NPY_I32] = "<i4"};
static const size_t sizes[] = {[NPY_F32] = 4, [NPY_F64] = 8, [NPY_I32] = 4};

static bool make_header(char *header, const NpyWriter *w, Error *e)
{
    char text[200];
    int at = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", names[w->type]);
    for (size_t i = 0; i < w->rank; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%zu%s", w->shape[i],
                       w->rank == 1      ? ","
                       : i + 1 < w->rank ? ", "
                                         : "");
    at += snprintf(text + at, sizeof text - (size_t)at, "), }");
    if (at >= HEADER - PREFIX)
        return fail(e, "the shape of the array does not fit into the header of a .npy file");
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
static bool row_bytes(const NpyWriter *w, size_t *bytes)
{
    *bytes = sizes[w->type];
    for (size_t i = 1; i < w->rank; i++) {
        if (!is_size(w->shape[i], *bytes))
            return false;
        *bytes *= w->shape[i];
    }
    return true;
}

bool npy_open(NpyWriter *w, const char *path, NpyType type, size_t rank, const size_t *shape, Error *e)
{
    *w = (NpyWriter){.type = type, .rank = rank};
    char header[HEADER];
    size_t bytes;
    if (rank < 1 || rank > NPY_RANK)
        return fail(e, "cannot write %s: an array has 1 to %d dimensions, not %zu", path, NPY_RANK, rank);
    memcpy(w->shape + 1, shape + 1, (rank - 1) * sizeof *shape);
    if (!row_bytes(w, &bytes))
        return fail(e, "cannot write %s: its rows are too large", path);
    return make_header(header, w, e) && file_begin_through(&w->file, path, e) &&
           file_add(&w->file, header, sizeof header, e);
}

bool npy_rows(NpyWriter *w, const void *data, size_t rows, Error *e)
{
    size_t bytes;
    if (!row_bytes(w, &bytes) || !is_size(rows, bytes)) {
        npy_abandon(w);
        return fail(e, "cannot write %zu rows of a .npy file: too many", rows);
    }
    w->shape[0] += rows;
    return file_add(&w->file, data, rows * bytes, e);
}

bool npy_close(NpyWriter *w, Error *e)
{
    char header[HEADER];
    if (!make_header(header, w, e)) {
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
