/* Opens safetensors and reads their tensors. The header may have been written by anybody: each number is checked before
 * it is used, and the tensors must cover the data without overlap and without a hole. */
#include "base/bf16.h"
#include "base/memory.h"
#include "core/run/json.h"
#include "core/run/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_MAX = 100000000 };

struct Safetensors {
    char *path;
    Json *header; /* names and metadata point into it */
    const Json *metadata;
    char **renamed;      /* names that are not the header's; NULL: none */
    SafeTensor *tensors; /* by where they are */
    size_t count;
    uint64_t start; /* where the data begin in the file */
    int fd;
};

/* Reads exactly that many bytes at an offset; a read of the system may give fewer, above 2 GiB it always does. */
static bool read_at(const Safetensors *file, uint64_t at, void *out, size_t size, Error *e)
{
    char *bytes = out;
    while (size) {
        ssize_t n = pread(file->fd, bytes, size < 1 << 30 ? size : 1 << 30, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(e, "cannot read %s: %s", file->path, strerror(errno));
        if (n == 0)
            return fail(e, "%s ends too early: %zu bytes are missing", file->path, size);
        bytes += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

static bool parse_type(const Json *entry, SafeType *type)
{
    const char *name = json_get_text(entry, "dtype");
    for (size_t i = 0; name && i < SAFE_TYPES; i++)
        if (!strcmp(name, safe_type_name((SafeType)i))) {
            *type = (SafeType)i;
            return true;
        }
    return false;
}

/* The shape, and its bytes, without overflow; a size of 0 anywhere makes it 0 bytes, so the sizes are checked alone. */
static bool parse_shape(const Json *shape, SafeTensor *t, uint64_t *bytes)
{
    if (!shape || shape->kind != JSON_ARRAY || shape->count > SAFE_RANK)
        return false;
    *bytes = safe_type_size(t->type);
    t->rank = shape->count;
    bool empty = false;
    for (size_t i = 0; i < t->rank; i++) {
        int64_t n;
        if (!json_integer(&shape->items[i], &n) || n < 0 || (uint64_t)n > PTRDIFF_MAX)
            return false;
        t->shape[i] = (size_t)n;
        empty |= n == 0;
    }
    for (size_t i = 0; i < t->rank && !empty; i++) {
        if (t->shape[i] > PTRDIFF_MAX / *bytes)
            return false;
        *bytes *= t->shape[i];
    }
    if (empty)
        *bytes = 0;
    return true;
}

static bool parse_tensor(const Safetensors *file, const Json *entry, SafeTensor *t, Error *e)
{
    *t = (SafeTensor){.name = entry->key};
    uint64_t bytes;
    if (!parse_type(entry, &t->type))
        return fail(e, "%s: tensor '%s' has an unknown dtype", file->path, t->name);
    if (!parse_shape(json_get(entry, "shape"), t, &bytes))
        return fail(e, "%s: tensor '%s' has a broken shape", file->path, t->name);
    const Json *offsets = json_get(entry, "data_offsets");
    int64_t from, to;
    if (!offsets || offsets->kind != JSON_ARRAY || offsets->count != 2 || !json_integer(&offsets->items[0], &from) ||
        !json_integer(&offsets->items[1], &to) || from < 0 || to < from)
        return fail(e, "%s: tensor '%s' has broken data_offsets", file->path, t->name);
    if ((uint64_t)(to - from) != bytes)
        return fail(e, "%s: tensor '%s' has %lld bytes where its shape needs %llu", file->path, t->name,
                    (long long)(to - from), (unsigned long long)bytes);
    t->from = (uint64_t)from;
    t->to = (uint64_t)to;
    return true;
}

static int by_offset(const void *a, const void *b)
{
    const SafeTensor *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool check_cover(const Safetensors *file, uint64_t size, Error *e)
{
    uint64_t at = 0;
    for (size_t i = 0; i < file->count; i++) {
        const SafeTensor *t = &file->tensors[i];
        if (t->from != at)
            return fail(e, "%s: tensor '%s' %s", file->path, t->name,
                        t->from < at ? "overlaps another" : "comes after a gap");
        at = t->to;
    }
    if (at > size)
        return fail(e, "%s ends too early: %llu bytes of data are missing", file->path,
                    (unsigned long long)(at - size));
    return at == size ||
           fail(e, "%s: %llu bytes at the end belong to no tensor", file->path, (unsigned long long)(size - at));
}

static bool parse_metadata(Safetensors *file, const Json *entry, Error *e)
{
    bool good = entry->kind == JSON_OBJECT;
    for (size_t i = 0; good && i < entry->count; i++)
        good = entry->items[i].kind == JSON_STRING;
    file->metadata = entry;
    return good || fail(e, "%s: __metadata__ holds a value that is not a string", file->path);
}

static bool parse_header(Safetensors *file, uint64_t data_size, Error *e)
{
    const Json *header = file->header; /* an object: it begins with { */
    file->tensors = memory_get(header->count, sizeof *file->tensors);
    if (!file->tensors)
        return memory_error(e, file->path, header->count, sizeof *file->tensors);
    for (size_t i = 0; i < header->count; i++) {
        const Json *entry = &header->items[i];
        if (!strcmp(entry->key, "__metadata__")) {
            if (!parse_metadata(file, entry, e))
                return false;
        } else if (!parse_tensor(file, entry, &file->tensors[file->count++], e))
            return false;
    }
    if (file->count)
        qsort(file->tensors, file->count, sizeof *file->tensors, by_offset);
    return check_cover(file, data_size, e);
}

static bool read_header(Safetensors *file, Error *e)
{
    struct stat s;
    uint64_t length;
    if (fstat(file->fd, &s) || !S_ISREG(s.st_mode))
        return fail(e, "%s is not a regular file", file->path);
    uint64_t size = (uint64_t)s.st_size;
    if (size < sizeof length + 2)
        return fail(e, "%s is not a safetensors file: it has only %llu bytes", file->path, (unsigned long long)size);
    if (!read_at(file, 0, &length, sizeof length, e))
        return false;
    if (length > HEADER_MAX || length > size - sizeof length)
        return fail(e, "%s is not a safetensors file, or is truncated: its header would have %llu bytes", file->path,
                    (unsigned long long)length);
    char *text = memory_get((size_t)length + 1, 1);
    if (!text)
        return memory_error(e, file->path, (size_t)length, 1);
    file->start = sizeof length + length;
    bool done = read_at(file, sizeof length, text, (size_t)length, e);
    if (done && text[0] != '{')
        done = fail(e, "%s is not a safetensors file: its header is not a JSON object", file->path);
    done = done && json_read(&file->header, text, (size_t)length, file->path, e);
    memory_free(text);
    return done && parse_header(file, size - file->start, e);
}

bool safetensors_open(Safetensors **out, const char *path, Error *e)
{
    *out = NULL;
    Safetensors *file = memory_get(1, sizeof *file);
    char *name = memory_string(path);
    if (!file || !name) {
        memory_free(file);
        memory_free(name);
        return memory_error(e, path, 1, sizeof *file);
    }
    file->path = name;
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, not waited for */
    if (file->fd < 0) {
        fail(e, "cannot open %s: %s", path, strerror(errno));
        safetensors_close(file);
        return false;
    }
    if (!read_header(file, e)) {
        safetensors_close(file);
        return false;
    }
    *out = file;
    return true;
}

void safetensors_close(Safetensors *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    json_free(file->header);
    for (size_t i = 0; file->renamed && i < file->count; i++)
        memory_free(file->renamed[i]);
    memory_free(file->renamed);
    memory_free(file->tensors);
    memory_free(file->path);
    memory_free(file);
}

size_t safetensors_count(const Safetensors *file) { return file->count; }
const SafeTensor *safetensors_at(const Safetensors *file, size_t i) { return &file->tensors[i]; }

const SafeTensor *safetensors_find(const Safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (!strcmp(file->tensors[i].name, name))
            return &file->tensors[i];
    return NULL;
}

/* One of "OLD=NEW,OLD=NEW": sizes of both sides, and where NEW begins; false: there is none any more. */
typedef struct Pair {
    const char *old, *new;
    size_t old_size, new_size;
} Pair;

static bool next_pair(const char **map, Pair *pair)
{
    const char *at = *map, *equals = strchr(at, '=');
    if (!*at || !equals)
        return false;
    size_t size = strcspn(at, ",");
    *pair = (Pair){at, equals + 1, (size_t)(equals - at), (size_t)(at + size - equals) - 1};
    *map = at + size + (at[size] == ',');
    return true;
}

bool safetensors_map_reads(const char *map, Error *e)
{
    for (const char *at = map;; at++) {
        size_t size = strcspn(at, ",");
        const char *equals = memchr(at, '=', size);
        if (!equals || memchr(equals + 1, '=', (size_t)(at + size - equals) - 1))
            return fail(e, "'%s' is not a list of pairs OLD=NEW, separated by commas", map);
        at += size;
        if (!*at)
            return true;
    }
}

/* Each pair is good for something. */
static bool pairs_fit(const Safetensors *file, const char *map, Error *e)
{
    for (Pair p; next_pair(&map, &p);) {
        bool fits = false;
        for (size_t i = 0; i < file->count && !fits; i++)
            fits = !strncmp(file->tensors[i].name, p.old, p.old_size);
        if (!fits)
            return fail(e, "%s: no tensor has a name that starts with '%.*s'", file->path, (int)p.old_size, p.old);
    }
    return true;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static bool names_differ(const Safetensors *file, Error *e)
{
    const char **names = memory_get(file->count, sizeof *names);
    bool fine = names || memory_error(e, file->path, file->count, sizeof *names);
    for (size_t i = 0; fine && i < file->count; i++)
        names[i] = file->tensors[i].name;
    if (fine && file->count)
        qsort(names, file->count, sizeof *names, by_name);
    for (size_t i = 1; fine && i < file->count; i++)
        fine = strcmp(names[i - 1], names[i]) || fail(e, "%s: two tensors would be named %s", file->path, names[i]);
    memory_free(names);
    return fine;
}

bool safetensors_rename(Safetensors *file, const char *map, Error *e)
{
    if (!safetensors_map_reads(map, e) || !pairs_fit(file, map, e))
        return false;
    file->renamed = memory_get(file->count, sizeof *file->renamed);
    if (!file->renamed)
        return memory_error(e, file->path, file->count, sizeof *file->renamed);
    for (size_t i = 0; i < file->count; i++) {
        SafeTensor *t = &file->tensors[i];
        const char *at = map;
        Pair p;
        bool fits = false;
        while (!fits && next_pair(&at, &p))
            fits = !strncmp(t->name, p.old, p.old_size);
        if (!fits)
            continue;
        size_t rest = strlen(t->name + p.old_size) + 1;
        char *name = file->renamed[i] = memory_get(p.new_size + rest, 1);
        if (!name)
            return memory_error(e, file->path, p.new_size + rest, 1);
        memcpy(name, p.new, p.new_size);
        memcpy(name + p.new_size, t->name + p.old_size, rest);
        t->name = name;
    }
    return names_differ(file, e);
}

const char *safetensors_text(const Safetensors *file, const char *key) { return json_get_text(file->metadata, key); }

/* IEEE's half: 1 sign, 5 exponent, 10 fraction bits. */
static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

/* One element through double, which holds each of the four types exactly. The bytes have no type of their own yet. */
static double element(const char *from, size_t i, SafeType type)
{
    double f64 = 0;
    float f32 = 0;
    Bf16 bf16 = {0};
    uint16_t half;
    switch (type) {
    case SAFE_F16: memcpy(&half, from + i * sizeof half, sizeof half); return half_value(half);
    case SAFE_F64: memcpy(&f64, from + i * sizeof f64, sizeof f64); return f64;
    case SAFE_F32: memcpy(&f32, from + i * sizeof f32, sizeof f32); return (double)f32;
    default: memcpy(&bf16, from + i * sizeof bf16, sizeof bf16); return (double)bf16_to_float(bf16);
    }
}

static void convert(void *to, SafeType to_type, const char *from, SafeType from_type, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = element(from, i, from_type);
        if (to_type == SAFE_F64)
            ((double *)to)[i] = x;
        else if (to_type == SAFE_F32)
            ((float *)to)[i] = (float)x;
        else
            ((Bf16 *)to)[i] = bf16_from_float((float)x);
    }
}

static bool is_real(SafeType type) { return type == SAFE_F64 || type == SAFE_F32 || type == SAFE_BF16; }
static bool is_readable(SafeType type) { return is_real(type) || type == SAFE_F16; }

bool safetensors_read(const Safetensors *file, const SafeTensor *t, SafeType as, void *out, size_t elements, Error *e)
{
    size_t has = (size_t)(t->to - t->from) / safe_type_size(t->type);
    if (has != elements)
        return fail(e, "%s: tensor '%s' has %zu elements where %zu are needed", file->path, t->name, has, elements);
    if (t->type == as)
        return read_at(file, file->start + t->from, out, elements * safe_type_size(as), e);
    if (!is_readable(t->type) || !is_real(as))
        return fail(e, "%s: tensor '%s' is %s where %s is needed", file->path, t->name, safe_type_name(t->type),
                    safe_type_name(as));
    char chunk[1 << 14];
    const size_t at_once = sizeof chunk / safe_type_size(t->type);
    for (size_t done = 0; done < elements;) {
        size_t n = elements - done < at_once ? elements - done : at_once;
        if (!read_at(file, file->start + t->from + done * safe_type_size(t->type), chunk, n * safe_type_size(t->type),
                     e))
            return false;
        convert((char *)out + done * safe_type_size(as), as, chunk, t->type, n);
        done += n;
    }
    return true;
}

/* All bits of an exponent are set in infinities and NaN. Integers cannot trap, and the loops have no way out, so compilers
 * make vectors of them. */
static bool all_finite(SafeType type, const char *values, size_t count)
{
    const uint64_t last = 0x7ffULL << 52;
    const uint32_t last_float = 0xffU << 23;
    const size_t floats = type == SAFE_F64 ? 0 : count, doubles = count - floats;
    uint32_t bad = 0;
    for (size_t i = 0; i < doubles; i++) {
        uint64_t bits;
        memcpy(&bits, values + i * sizeof bits, sizeof bits);
        bad |= (bits & last) == last;
    }
    for (size_t i = 0; i < floats; i++) {
        uint32_t bits;
        memcpy(&bits, values + i * sizeof bits, sizeof bits);
        bad |= (bits & last_float) == last_float;
    }
    return !bad;
}

size_t safe_nonfinite(SafeType type, const void *values, size_t count)
{
    const char *at = values;
    size_t i = 0;
    if (all_finite(type, at, count))
        return count;
    while (all_finite(type, at + i * safe_type_size(type), 1))
        i++;
    return i;
}
