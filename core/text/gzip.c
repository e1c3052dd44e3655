/* See gzip.h. */
#ifdef HAVE_LIBARCHIVE
#include "core/text/gzip.h"

#include "base/file.h"
#include "base/memory.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 16, HEADER = 10, TRAILER = 8, AHEAD = 4096 };

/* What a member should come to that ends here. */
typedef struct Mark {
    uint32_t crc, size;
} Mark;

struct Gzip {
    char *path;
    const char *bytes; /* NULL: the file's */
    size_t length;
    bool empty; /* nothing was packed, which libarchive does not tell from damage */
    struct archive *packed;
    Mark *marks; /* in the order of the file; its end is the last */
    size_t count, capacity;
    size_t first; /* of the marks, the one that is next */
    uint32_t table[256], crc;
    uint64_t size; /* of this member so far, and its CRC */
    char block[BLOCK];
};

static uint32_t number_at(const unsigned char *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static bool add_mark(Gzip *g, const unsigned char *trailer, Error *e)
{
    if (!memory_grow(&g->marks, &g->capacity, g->count + 1, sizeof *g->marks, g->path, e))
        return false;
    g->marks[g->count++] = (Mark){number_at(trailer), number_at(trailer + 4)};
    return true;
}

/* Goes through the file; `block` keeps the end of what was there before in front of what is read. */
static bool find_marks(Gzip *g, FILE *f, Error *e)
{
    unsigned char *block = (unsigned char *)g->block;
    size_t kept = 0, got;
    bool done = true;
    while (done && (got = fread(block + kept, 1, BLOCK - kept, f)) > 0) {
        size_t size = kept + got;
        for (size_t i = TRAILER; done && i + 4 <= size; i++) /* the fourth: flags that there are */
            if (block[i] == 0x1f && block[i + 1] == 0x8b && block[i + 2] == 8 && block[i + 3] < 0x20)
                done = add_mark(g, block + i - TRAILER, e);
        kept = size < TRAILER + 3 ? size : TRAILER + 3;
        memmove(block, block + size - kept, kept);
    }
    if (done && ferror(f))
        return fail(e, "cannot read %s: %s", g->path, strerror(errno));
    return done && (kept < TRAILER || add_mark(g, block + kept - TRAILER, e));
}

/* Whether all of a file is members that gzip makes of nothing: a header, perhaps with a name, a block of no bytes, and
 * their CRC and number, which are 0. */
static bool holds_nothing(FILE *f)
{
    enum { MOST = 4096, NAMED = 8 };
    static const char rest[2 + TRAILER] = {3};
    char b[MOST];
    const size_t size = fread(b, 1, MOST, f);
    size_t at = 0;
    rewind(f);
    while (at + HEADER <= size && size < MOST) {
        const char flags = b[at + 3], *name = b + at + HEADER, *end = name;
        if (memcmp(b + at, "\x1f\x8b\x08", 3) || (flags && flags != NAMED))
            return false;
        if (flags) {
            end = memchr(name, 0, (size_t)(b + size - name));
            if (!end++)
                return false;
        }
        if ((size_t)(b + size - end) < sizeof rest || memcmp(end, rest, sizeof rest))
            return false;
        at = (size_t)(end - b) + sizeof rest;
    }
    return size && at == size;
}

static void make_table(uint32_t *table)
{
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
}

/* How many bytes more a mark's member would have; 0 where it is past, or is this empty one. */
static uint32_t missing(const Gzip *g, size_t mark) { return g->marks[mark].size - (uint32_t)g->size; }

/* A member ends where it has as many bytes as a mark says, and their CRC. An empty one ends at the next mark or not at
 * all: zeros stand in many places. */
static void find_end(Gzip *g)
{
    for (size_t i = g->first, end = g->size ? g->first + AHEAD : g->first + 1; i < g->count && i < end; i++)
        if (!missing(g, i) && g->marks[i].crc == ~g->crc) {
            g->first = end = i + 1;
            g->size = 0;
            g->crc = ~0u;
            end++;
        }
}

static void take(Gzip *g, const unsigned char *bytes, size_t size)
{
    while (size) {
        size_t now = size;
        for (size_t i = g->first; i < g->count && i < g->first + AHEAD; i++)
            if (missing(g, i) && missing(g, i) < now)
                now = missing(g, i);
        for (size_t i = 0; i < now; i++)
            g->crc = g->table[(g->crc ^ bytes[i]) & 255] ^ g->crc >> 8;
        g->size += now;
        bytes += now;
        size -= now;
        find_end(g);
    }
}

const char *unpacking_failed_because(struct archive *a)
{
    const char *why = archive_error_string(a);
    return why ? why : "it is damaged or truncated";
}

/* The next block of what was packed; libarchive's words where it cannot be unpacked are the archive's. */
static la_ssize_t next_block(struct archive *a, void *of, const void **block)
{
    Gzip *g = of;
    la_ssize_t n = g->empty ? 0 : archive_read_data(g->packed, g->block, BLOCK);
    if (n < 0)
        archive_set_error(a, archive_errno(g->packed), "%s", unpacking_failed_because(g->packed));
    else
        take(g, (unsigned char *)g->block, (size_t)n);
    *block = g->block;
    return n;
}

static bool open_packed(Gzip *g, Error *e)
{
    struct archive_entry *entry;
    if (!(g->packed = archive_read_new()))
        return memory_error(e, "libarchive", 1, 1);
    archive_read_support_filter_gzip(g->packed);
    archive_read_support_format_raw(g->packed);
    const int opened = g->bytes ? archive_read_open_memory(g->packed, g->bytes, g->length)
                                : archive_read_open_filename(g->packed, g->path, BLOCK);
    if (opened != ARCHIVE_OK || archive_read_next_header(g->packed, &entry) != ARCHIVE_OK ||
        archive_filter_count(g->packed) < 2)
        return fail(e, "cannot unpack %s: it is damaged or truncated", g->path);
    return archive_filter_count(g->packed) == 2 || fail(e, "%s is compressed with gzip twice: unpack it once", g->path);
}

FILE *packed_stream(const char *path, const char *bytes, size_t size, Error *e)
{
    FILE *f = bytes ? fmemopen((void *)(uintptr_t)bytes, size, "rb") : fopen(path, "rb");
    if (!f)
        fail(e, "cannot open %s: %s", path, strerror(errno));
    return f;
}

bool gzip_open(Gzip **out, const char *path, const char *bytes, size_t size, Error *e)
{
    Gzip *g = memory_get(1, sizeof *g);
    FILE *f = packed_stream(path, bytes, size, e);
    *out = g;
    if (!f)
        return false;
    if (g) {
        g->bytes = bytes;
        g->length = size;
    }
    bool done = g && (g->path = memory_string(path)) ? (g->empty = holds_nothing(f)) || find_marks(g, f, e)
                                                     : memory_error(e, path, 1, sizeof *g);
    fclose(f);
    if (done && g->empty)
        return true;
    if (!done || !open_packed(g, e))
        return false;
    make_table(g->table);
    g->crc = ~0u;
    find_end(g);
    return true;
}

int gzip_archive(Gzip *g, struct archive *a)
{
    if (g->empty)
        archive_read_support_format_empty(a);
    return archive_read_open(a, g, NULL, next_block, NULL);
}

bool gzip_end(Gzip *g, Error *e)
{
    la_ssize_t n;
    if (g->empty)
        return true;
    while ((n = archive_read_data(g->packed, g->block, BLOCK)) > 0)
        take(g, (unsigned char *)g->block, (size_t)n);
    if (n < 0)
        return fail(e, "cannot unpack %s: %s", g->path, unpacking_failed_because(g->packed));
    return (g->first == g->count && !g->size) ||
           fail(e, "cannot unpack %s: its checksum or length is wrong, so it is damaged; download it again", g->path);
}

void gzip_close(Gzip *g)
{
    if (!g)
        return;
    if (g->packed)
        archive_read_free(g->packed);
    memory_free(g->marks);
    memory_free(g->path);
    memory_free(g);
}

#else
typedef int gzip_needs_libarchive;
#endif
