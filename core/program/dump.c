/* See dump.h. */
#include "core/program/dump.h"

#include <stdio.h>
#include <string.h>

/* FILE.npy gives FILE.ids.npy */
static void ids_path(char *path, size_t size, const char *file)
{
    size_t stem = strlen(file);
    stem -= stem > 4 && strcmp(file + stem - 4, ".npy") == 0 ? 4 : 0;
    snprintf(path, size, "%.*s.ids.npy", (int)stem, file);
}

bool dump_open(Dump *d, const char *file, size_t columns, Error *e)
{
    char path[4096];
    ids_path(path, sizeof path, file);
    if (!npy_open(&d->logits, file, NPY_F32, 2, (size_t[]){0, columns}, e))
        return false;
    if (npy_open(&d->ids, path, NPY_I32, 1, (size_t[]){0}, e))
        return true;
    npy_abandon(&d->logits);
    return false;
}

bool dump_rows(Dump *d, const float *logits, const int32_t *ids, size_t rows, Error *e)
{
    return npy_rows(&d->logits, logits, rows, e) && npy_rows(&d->ids, ids, rows, e);
}

bool dump_close(Dump *d, bool fine, Error *e)
{
    if (!fine) {
        npy_abandon(&d->logits);
        npy_abandon(&d->ids);
        return false;
    }
    bool closed = npy_close(&d->logits, e);
    return npy_close(&d->ids, closed ? e : NULL) && closed;
}
