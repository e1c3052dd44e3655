/* See npy.h. */
#include "tests/npy.h"

#include "base/memory.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 128 };

Npy npy_read(const char *path)
{
    static const char *const types[] = {[NPY_F32] = "'<f4'", [NPY_F64] = "'<f8'", [NPY_I32] = "'<i4'"};
    char *bytes;
    size_t size;
    Error e;
    Npy a = {0};
    ck_done(file_read(path, &bytes, &size, &e), e);
    ck_assert(size >= HEADER && memcmp(bytes, "\x93NUMPY\1\0\x76\0{'descr': ", 20) == 0 && bytes[HEADER - 1] == '\n');
    bytes[HEADER - 1] = 0;
    while (memcmp(bytes + 20, types[a.type], 5) != 0)
        ck_assert(++a.type <= NPY_I32);
    static const char before[] = ", 'fortran_order': False, 'shape': (";
    ck_assert(memcmp(bytes + 25, before, strlen(before)) == 0);
    size_t all = a.type == NPY_F64 ? 8 : 4;
    for (char *at = bytes + 25 + strlen(before); *at != ')'; at += strspn(at, ", ")) {
        ck_assert(a.rank < NPY_RANK && *at >= '0' && *at <= '9');
        all *= a.shape[a.rank++] = (size_t)strtoull(at, &at, 10);
    }
    ck_assert_uint_eq(size - HEADER, all);
    memmove(bytes, bytes + HEADER, all);
    a.data = bytes;
    return a;
}

void npy_free(Npy *a)
{
    memory_free(a->data);
    *a = (Npy){0};
}
