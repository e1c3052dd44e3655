/* See npz.h. */
#include "core/exchange/npz.h"

#include "base/crc.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sizes and places in the records of an archive. */
enum { END_SIZE = 22, ENTRY_SIZE = 46, LOCAL_SIZE = 30, NAME_MOST = 200 };

static size_t number(const Npz *z, size_t at, size_t bytes)
{
    size_t value = 0;
    for (size_t i = bytes; i-- > 0;)
        value = value << 8 | (unsigned char)z->file[at + i];
    return value;
}

static bool is_at(const Npz *z, size_t at, const char *mark, size_t size)
{
    return at <= z->size && z->size - at >= size && !memcmp(z->file + at, mark, 4);
}

/* ---- an array: its header is a text such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */

static const char *after(const char *text, const char *key)
{
    const char *found = strstr(text, key);
    return found ? found + strlen(key) : NULL;
}

static bool read_shape(NpzArray *a, const char *text)
{
    const char *at = after(text, "'shape': (");
    a->elements = 1;
    for (; at && *at != ')';) {
        char *end;
        const unsigned long long value = strtoull(at, &end, 10);
        if (end == at || a->rank == 4 || value > SIZE_MAX / 8 || (value && a->elements > SIZE_MAX / 8 / value))
            return false;
        a->shape[a->rank++] = (size_t)value;
        a->elements *= (size_t)value;
        at = end + strspn(end, ", ");
    }
    return at != NULL;
}

static bool read_header(NpzArray *a, const char *text)
{
    const char *type = after(text, "'descr': '"), *order = after(text, "'fortran_order': ");
    if (!type || !*type || !order || strncmp(order, "False", 5) != 0 || !read_shape(a, text))
        return false;
    type += strchr("<|=", *type) != NULL;
    const size_t size = strcspn(type, "'");
    if (size != 2)
        return false;
    memcpy(a->type, type, 2);
    const size_t each = (size_t)(a->type[1] - '0');
    return each >= 1 && each <= 8 && a->elements * each <= a->bytes;
}

static bool read_array(NpzArray *a, const char *bytes, size_t size)
{
    char text[1000];
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return false;
    const unsigned char *b = (const unsigned char *)bytes;
    const size_t begin = b[6] == 1 ? 10 : 12;
    const size_t header = b[8] | (size_t)b[9] << 8 | (begin == 12 ? (size_t)b[10] << 16 | (size_t)b[11] << 24 : 0);
    if (header >= sizeof text || header > size - begin)
        return false;
    memcpy(text, bytes + begin, header);
    text[header] = 0;
    a->data = bytes + begin + header;
    a->bytes = size - begin - header;
    return read_header(a, text);
}

/* ---- the archive */

/* Whether the last array has bytes that another has, too. */
static bool is_alone(const Npz *z, Error *e)
{
    const NpzArray *last = &z->array[z->count - 1];
    for (const NpzArray *a = z->array; a < last; a++)
        if (a->data < last->data + last->bytes && last->data < a->data + a->bytes)
            return fail(e, "%s: '%s' and '%s' overlap", z->path, a->name, last->name);
    return true;
}

/* One entry of its directory, at `at`; moves on to the next. */
static bool read_entry(Npz *z, size_t *at, Error *e)
{
    char name[NAME_MOST];
    if (!is_at(z, *at, "PK\1\2", ENTRY_SIZE))
        return fail(e, "%s: its directory is damaged", z->path);
    const size_t method = number(z, *at + 10, 2), packed = number(z, *at + 20, 4), bytes = number(z, *at + 24, 4),
                 crc = number(z, *at + 16, 4), length = number(z, *at + 28, 2),
                 more = number(z, *at + 30, 2) + number(z, *at + 32, 2), local = number(z, *at + 42, 4);
    if (length < 5 || length >= sizeof name || z->size - *at - ENTRY_SIZE < length)
        return fail(e, "%s: its directory is damaged", z->path);
    memcpy(name, z->file + *at + ENTRY_SIZE, length);
    name[length - 4] = 0; /* .npy */
    *at += ENTRY_SIZE + length + more;
    if (method || packed != bytes)
        return fail(e, "%s: '%s' is compressed; save it with numpy.savez", z->path, name);
    if (!is_at(z, local, "PK\3\4", LOCAL_SIZE))
        return fail(e, "%s: '%s' is not where the directory says", z->path, name);
    const size_t begin = local + LOCAL_SIZE + number(z, local + 26, 2) + number(z, local + 28, 2);
    if (begin > z->size || bytes > z->size - begin)
        return fail(e, "%s: '%s' ends after the file", z->path, name);
    if (crc_of(CRC_ZIP, z->file + begin, bytes) != crc)
        return fail(e, "%s: '%s' is damaged: its checksum is another", z->path, name);
    if (npz_find(z, name))
        return fail(e, "%s: '%s' is there twice", z->path, name);
    if (!memory_grow(&z->array, &z->capacity, z->count + 1, sizeof *z->array, z->path, e))
        return false;
    NpzArray *a = &z->array[z->count++];
    a->name = memory_string(name);
    if (!a->name)
        return memory_error(e, "a name", length, 1);
    if (!read_array(a, z->file + begin, bytes))
        return fail(e, "%s: '%s' is no array that can be read", z->path, name);
    return is_alone(z, e);
}

/* The directory is named by a record at the end, which only a comment may follow. */
static bool read_directory(Npz *z, Error *e)
{
    size_t end = z->size < END_SIZE ? 0 : z->size - END_SIZE;
    while (end && !is_at(z, end, "PK\5\6", END_SIZE))
        end--;
    if (!is_at(z, end, "PK\5\6", END_SIZE))
        return fail(e, "%s is no archive of arrays (.npz)", z->path);
    size_t at = number(z, end + 16, 4);
    for (size_t i = 0, count = number(z, end + 10, 2); i < count; i++)
        if (!read_entry(z, &at, e))
            return false;
    return true;
}

bool npz_open(Npz *z, const char *path, Error *e)
{
    *z = (Npz){.path = memory_string(path)};
    if ((z->path || memory_error(e, "a path", strlen(path), 1)) && file_read(path, &z->file, &z->size, e) &&
        read_directory(z, e))
        return true;
    npz_close(z);
    return false;
}

void npz_close(Npz *z)
{
    for (size_t i = 0; i < z->count; i++)
        memory_free(z->array[i].name);
    memory_free(z->array);
    memory_free(z->file);
    memory_free(z->path);
    *z = (Npz){.path = NULL};
}

NpzArray *npz_find(const Npz *z, const char *name)
{
    for (size_t i = 0; i < z->count; i++)
        if (!strcmp(z->array[i].name, name))
            return &z->array[i];
    return NULL;
}
