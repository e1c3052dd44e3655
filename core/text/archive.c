/* Text as it is published. What a file is, its first bytes say, not its name. */
#include "core/text/archive.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The kind of packed file that begins like this; NULL: a plain text. */
static const char *packing(const unsigned char *start, size_t size)
{
    static const struct {
        const char *name;
        size_t at, size;
        const char *bytes;
    } kinds[] = {
        {"zip", 0, 4, "PK\003\004"}, {"zip", 0, 4, "PK\005\006"},   {"gzip", 0, 3, "\x1f\x8b\x08"},
        {"bzip2", 0, 3, "BZh"},      {"xz", 0, 6, "\xfd\x37zXZ\0"}, {"zstd", 0, 4, "\x28\xb5\x2f\xfd"},
        {"tar", 257, 5, "ustar"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (size >= kinds[i].at + kinds[i].size && !memcmp(start + kinds[i].at, kinds[i].bytes, kinds[i].size))
            return kinds[i].name;
    return NULL;
}

#ifdef HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

bool text_reads_archives(void) { return true; }

/* libarchive's own words, with the path. */
static bool wrong(struct archive *a, const char *path, Error *e)
{
    const char *why = archive_error_string(a);
    return fail(e, "cannot unpack %s: %s", path, why ? why : "it is damaged or cut off");
}

/* Unpacks the entry that was just found. */
static bool read_entry(struct archive *a, const char *path, size_t hint, char **bytes, size_t *size, Error *e)
{
    size_t capacity = hint + 1, used = 0; /* the hint is only that: an archive may lie about it */
    char *text = memory_get(capacity, 1);
    if (!text)
        return memory_error(e, path, capacity, 1);
    for (;;) {
        la_ssize_t n = archive_read_data(a, text + used, capacity - used);
        if (n < 0) {
            memory_free(text);
            return wrong(a, path, e);
        }
        used += (size_t)n;
        if (n == 0 && used < capacity)
            break;
        if (used < capacity)
            continue;
        char *more = memory_resize(text, capacity, 2);
        if (!more) {
            memory_free(text);
            return memory_error(e, path, capacity, 2);
        }
        text = more;
        capacity *= 2;
    }
    text[used] = 0;
    *bytes = text;
    *size = used;
    return true;
}

/* Walks all entries: reads the first plain file and counts the others, so that what is refused is refused with its
 * number, and so that damage behind the first one is seen. */
static bool read_entries(struct archive *a, const char *path, char **bytes, size_t *size, Error *e)
{
    struct archive_entry *entry;
    size_t files = 0, folders = 0;
    int status;
    while ((status = archive_read_next_header(a, &entry)) == ARCHIVE_OK || status == ARCHIVE_WARN) {
        bool raw = archive_format(a) == ARCHIVE_FORMAT_RAW;
        if (raw && archive_filter_code(a, 0) == ARCHIVE_FILTER_NONE) /* it begins like a packed file, and is none */
            return fail(e, "cannot unpack %s: it is damaged or cut off", path);
        if (archive_entry_filetype(entry) != AE_IFREG && !raw) {
            folders++;
            continue;
        }
        int64_t hint = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
        if (hint < 0 || hint > 1 << 24)
            hint = 1 << 24;
        if (++files == 1 && !read_entry(a, path, (size_t)hint, bytes, size, e))
            return false;
    }
    if (status != ARCHIVE_EOF)
        return wrong(a, path, e);
    if (files == 0)
        return fail(e, "%s holds no file (%zu folders or links)", path, folders);
    return files == 1 ||
           fail(e, "%s holds %zu files where one text is needed; unpack it and name the one", path, files);
}

static bool unpack(const char *path, const char *kind, char **bytes, size_t *size, Error *e)
{
    struct archive *a = archive_read_new();
    if (!a)
        return memory_error(e, "libarchive", 1, 1);
    archive_read_support_filter_all(a);
    archive_read_support_format_zip(a);
    archive_read_support_format_tar(a);
    if (strcmp(kind, "zip") && strcmp(kind, "tar")) /* a packed text that is no archive */
        archive_read_support_format_raw(a);
    *bytes = NULL;
    bool done = archive_read_open_filename(a, path, 1 << 16) == ARCHIVE_OK ? read_entries(a, path, bytes, size, e)
                                                                           : wrong(a, path, e);
    archive_read_free(a);
    if (!done) {
        memory_free(*bytes);
        *bytes = NULL;
    }
    return done;
}

#else

bool text_reads_archives(void) { return false; }

static bool unpack(const char *path, const char *kind, char **bytes, size_t *size, Error *e)
{
    (void)bytes, (void)size;
    return fail(e, "%s is packed (%s), and this build has no libarchive; unpack it, or run 'make deps' and build again",
                path, kind);
}

#endif

bool text_read(const char *path, char **bytes, size_t *size, Error *e)
{
    struct stat s;
    if (stat(path, &s) || !S_ISREG(s.st_mode)) /* from a pipe nothing can be read twice */
        return file_read(path, bytes, size, e);
    FILE *f = fopen(path, "rb");
    if (!f)
        return fail(e, "cannot open %s: %s", path, strerror(errno));
    unsigned char start[512];
    size_t got = fread(start, 1, sizeof start, f);
    fclose(f);
    const char *kind = packing(start, got);
    return kind ? unpack(path, kind, bytes, size, e) : file_read(path, bytes, size, e);
}
