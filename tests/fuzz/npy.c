/* .npy: an array that is read, written and read again is equal, whether it was written whole or row by row. */
#include "core/run/npy.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static size_t bytes_of(const Npy *a, size_t from)
{
    size_t bytes = a->type == NPY_F64 ? 8 : 4;
    for (size_t i = a->rank; i-- > from;)
        bytes *= a->shape[i];
    return bytes;
}

static void expect_same(const Npy *a, const char *path)
{
    Npy b;
    Error e;
    DEMAND(npy_read(&b, path, &e), "what is written is read");
    DEMAND(a->type == b.type && a->rank == b.rank && !memcmp(a->shape, b.shape, a->rank * sizeof *a->shape),
           "the shape that is read again is equal");
    DEMAND(!memcmp(a->data, b.data, bytes_of(a, 0)), "what is read again is equal");
    npy_free(&b);
}

static void write_whole(const Npy *a)
{
    Error e = {{0}};
    if (npy_write(fuzz_place(), a->type, a->rank, a->shape, a->data, &e))
        expect_same(a, fuzz_place());
    else /* sizes of twenty digits */
        DEMAND(strstr(e.text, "does not fit the header"), "what was read can be written");
}

static void write_rows(const Npy *a)
{
    NpyWriter w;
    Error e;
    DEMAND(npy_open(&w, fuzz_place(), a->type, a->rank, a->shape, &e), "a file of rows is begun");
    for (size_t i = 0; i < a->shape[0]; i++)
        DEMAND(npy_rows(&w, (const char *)a->data + i * bytes_of(a, 1), 1, &e), "a row is written");
    DEMAND(npy_close(&w, &e), "a file of rows is closed");
    expect_same(a, fuzz_place());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Npy a;
    Error e = {{0}};
    fuzz_begin();
    if (npy_read(&a, fuzz_file(data, size), &e)) {
        DEMAND(a.rank >= 1 && a.rank <= NPY_RANK && a.data, "an array has a shape and data");
        DEMAND(bytes_of(&a, 0) <= size, "the data come from the file");
        write_whole(&a);
        if (a.shape[0] > 0 && a.shape[0] < 8 && bytes_of(&a, 1) > 0)
            write_rows(&a);
        npy_free(&a);
    } else {
        DEMAND(!a.data, "what is refused gives no data");
        fuzz_refused(&e);
    }
    fuzz_end(size);
    return 0;
}
