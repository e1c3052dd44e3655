/* See archive.h. */
#include "core/text/archive.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/text/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* What is to be unpacked: a file, or bytes in memory that have been read of one. */
typedef struct Packed {
    const char *name; /* of the file; for bytes, in messages */
    const char *kind;
    const char *bytes; /* NULL: the file's */
    size_t size;
    uint64_t most; /* that may come of the bytes */
    bool again;    /* they were packed, too */
} Packed;

/* What may come of a byte that is packed, and of any file. Texts pack to a third, or to a tenth; what is far smaller
 * than what it holds was made to fill the memory (a "zip bomb"). */
enum { MOST_TIMES = 200, ALWAYS_ALLOWED = 1 << 26 };

static uint64_t most_of(uint64_t size)
{
    return size > ALWAYS_ALLOWED / MOST_TIMES ? size * MOST_TIMES : ALWAYS_ALLOWED;
}

/* The kind of packed file that begins like this; NULL: a plain text. */
static const char *packing(const unsigned char *start, size_t size)
{
    static const struct {
        const char *name;
        size_t at, size;
        const char *bytes;
    } kinds[] = {
        {"zip", 0, 4, "PK\003\004"},     {"zip", 0, 4, "PK\005\006"},   {"gzip", 0, 3, "\x1f\x8b\x08"},
        {"bzip2", 4, 6, "1AY&SY"}, /* after BZh and a digit; the next: nothing is packed */
        {"bzip2", 4, 6, "\x17rE8P\x90"}, {"xz", 0, 6, "\xfd\x37zXZ\0"}, {"zstd", 0, 4, "\x28\xb5\x2f\xfd"},
        {"tar", 257, 5, "ustar"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (size >= kinds[i].at + kinds[i].size && !memcmp(start + kinds[i].at, kinds[i].bytes, kinds[i].size))
            return kinds[i].name;
    return NULL;
}

/* The ending by which a name speaks of a packed file, and the kind; NULL: none. */
static const char *const *named_ending(const char *path)
{
    static const char *const endings[][2] = {{".zip", "zip"},   {".gz", "gzip"},    {".tgz", "gzip"},
                                             {".bz2", "bzip2"}, {".tbz2", "bzip2"}, {".xz", "xz"},
                                             {".txz", "xz"},    {".zst", "zstd"},   {".tar", "tar"}};
    const char *end = strrchr(path, '.');
    for (size_t i = 0; end && i < sizeof endings / sizeof *endings; i++)
        if (!strcasecmp(end, endings[i][0]))
            return endings[i];
    return NULL;
}

static const char *named_packing(const char *path)
{
    const char *const *ending = named_ending(path);
    return ending ? ending[1] : NULL;
}

size_t text_packed_ending(const char *name)
{
    const char *const *ending = named_ending(name);
    return ending && strlen(ending[0]) < strlen(name) ? strlen(ending[0]) : 0;
}

static bool misnamed(const char *path, const char *named, Error *e)
{
    return fail(e,
                "%s is named as %s, but its first bytes are not: it is damaged, or it is a plain text, which needs "
                "another name",
                path, named);
}

/* The kind of a file. A pipe or the like cannot be read twice: what it is shows when it has been read. */
static bool find_packing(const char *path, const char **kind, Error *e)
{
    struct stat s;
    *kind = NULL;
    if (stat(path, &s) || !S_ISREG(s.st_mode))
        return true; /* reading it will report what is wrong */
    FILE *f = fopen(path, "rb");
    if (!f)
        return fail(e, "cannot open %s: %s", path, strerror(errno));
    unsigned char start[512];
    size_t got = fread(start, 1, sizeof start, f);
    fclose(f);
    *kind = packing(start, got);
    const char *named = named_packing(path);
    return *kind || !named || misnamed(path, named, e);
}

bool text_is_plain(const char *path, Error *e)
{
    const char *kind;
    return find_packing(path, &kind, e) && (!kind || fail(e, "%s is packed (%s): unpack it first", path, kind));
}

bool text_in_utf8(const char *name, const char *bytes, size_t size, Error *e)
{
    const bool marked = size >= 2 && (!memcmp(bytes, "\xFF\xFE", 2) || !memcmp(bytes, "\xFE\xFF", 2));
    return !marked || fail(e, "%.400s is in UTF-16: convert it to UTF-8", name);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* --- archives --- */

#ifdef HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

bool text_reads_archives(void) { return true; }

/* A file being unpacked, whose memory the next one reuses. */
typedef struct Unpacked {
    char *text;
    size_t size, capacity;
    uint64_t total, most; /* of all files so far; of what the archive may hold */
} Unpacked;

static bool wrong(struct archive *a, const char *path, Error *e)
{
    return fail(e, "cannot unpack %s: %s", path, unpacking_failed_because(a));
}

static Unpacked unpacking(const Packed *p)
{
    struct stat s;
    uint64_t size = !p->bytes && !stat(p->name, &s) && s.st_size > 0 ? (uint64_t)s.st_size : 0;
    return (Unpacked){.most = p->bytes ? p->most : most_of(size)};
}

/* Unpacks the entry that was just found, and closes it with a zero byte. */
static bool read_entry(struct archive *a, struct archive_entry *entry, const char *path, Unpacked *r, Error *e)
{
    int64_t hint = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
    if (hint < 0 || hint > 1 << 24)
        hint = 1 << 24; /* it is only that: an archive may lie about it */
    r->size = 0;
    if (!memory_grow(&r->text, &r->capacity, (size_t)hint + 1, 1, path, e))
        return false;
    for (;;) {
        la_ssize_t n = archive_read_data(a, r->text + r->size, r->capacity - r->size);
        if (n < 0)
            return wrong(a, path, e);
        r->size += (size_t)n;
        if ((r->total += (uint64_t)n) > r->most)
            return fail(e, "%s unpacks to more than %d times its own size, which no text does; unpack it yourself",
                        path, MOST_TIMES);
        if (n == 0 && r->size < r->capacity)
            break;
        if (!memory_grow(&r->text, &r->capacity, r->size + 1, 1, path, e))
            return false;
    }
    r->text[r->size] = 0;
    return true;
}

/* Whether nothing was packed: that is one text, an empty one, though libarchive shows no entry. */
static bool is_empty(struct archive *a) { return archive_format(a) == ARCHIVE_FORMAT_EMPTY; }

static bool make_empty(const char *path, Unpacked *r, Error *e)
{
    if (!memory_grow(&r->text, &r->capacity, 1, 1, path, e))
        return false;
    r->text[r->size = 0] = 0;
    return true;
}

static bool is_raw(struct archive *a) { return archive_format(a) == ARCHIVE_FORMAT_RAW; }

/* Goes to the next plain file; *entry NULL: there is none. `folders` counts what else is met. */
static bool next_file(struct archive *a, const char *path, struct archive_entry **entry, size_t *folders, Error *e)
{
    int status;
    while ((status = archive_read_next_header(a, entry)) == ARCHIVE_OK || status == ARCHIVE_WARN) {
        if (archive_entry_filetype(*entry) == AE_IFREG || is_raw(a))
            return true;
        ++*folders;
    }
    *entry = NULL;
    return status == ARCHIVE_EOF || wrong(a, path, e);
}

/* Walks all entries: reads the first plain file and counts the others, so that what is refused is refused with its
 * number, and so that damage after the first one is seen. */
static bool read_only_file(struct archive *a, const char *path, void *context, Error *e)
{
    Unpacked *unpacked = context;
    struct archive_entry *entry;
    size_t files = 0, folders = 0;
    for (;;) {
        if (!next_file(a, path, &entry, &folders, e))
            return false;
        if (!entry)
            break;
        if (++files == 1 && !read_entry(a, entry, path, unpacked, e))
            return false;
    }
    if (is_empty(a))
        return make_empty(path, unpacked, e);
    if (files == 0)
        return fail(e, "%s holds no file (%zu folders or links)", path, folders);
    return files == 1 ||
           fail(e, "%s holds %zu files where one text is needed; unpack it and give the one you mean", path, files);
}

/* A packed archive that was cut off is noticed by its packing, a .zip by its parts. A .tar that ends where a file ends
 * is noticed by nothing but its missing end, which is zeros. */
static bool tar_has_end(const Packed *p, Error *e)
{
    unsigned char last[512] = {1};
    FILE *f = packed_stream(p->name, p->bytes, p->size, e);
    if (!f)
        return false;
    bool zeros = !fseek(f, -(long)sizeof last, SEEK_END) && fread(last, 1, sizeof last, f) == sizeof last;
    fclose(f);
    for (size_t i = 0; i < sizeof last; i++)
        zeros &= last[i] == 0;
    return zeros || fail(e, "cannot unpack %s: it is truncated", p->name);
}

static int open_packed(struct archive *a, const Packed *p)
{
    return p->bytes ? archive_read_open_memory(a, p->bytes, p->size) : archive_read_open_filename(a, p->name, 1 << 16);
}

/* Opens an archive and does something with its entries. */
static bool with_archive(const Packed *p, bool (*act)(struct archive *a, const char *path, void *context, Error *e),
                         void *context, Error *e)
{
    const char *path = p->name, *kind = p->kind;
    struct archive *a = archive_read_new();
    Gzip *gzip = NULL;
    if (!a)
        return memory_error(e, "libarchive", 1, 1);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_format_zip(a);
    archive_read_support_format_tar(a);
    const bool packed = strcmp(kind, "zip") && strcmp(kind, "tar"); /* perhaps a text that is no archive */
    if (packed)
        archive_read_support_format_raw(a);
    bool done = (strcmp(kind, "tar") || tar_has_end(p, e)) &&
                (strcmp(kind, "gzip") || gzip_open(&gzip, path, p->bytes, p->size, e));
    if (done && (gzip ? gzip_archive(gzip, a) : open_packed(a, p)) != ARCHIVE_OK)
        done = wrong(a, path, e);
    if (done && packed && !gzip && archive_filter_code(a, 0) == ARCHIVE_FILTER_NONE) /* it only begins like one */
        done = fail(e, "cannot unpack %s: it is damaged or truncated", path);
    done = done && act(a, path, context, e) && (!gzip || gzip_end(gzip, e));
    archive_read_free(a);
    gzip_close(gzip);
    return done;
}

static bool unpack(const Packed *p, char **bytes, size_t *size, Error *e)
{
    Unpacked unpacked = unpacking(p);
    bool done = with_archive(p, read_only_file, &unpacked, e);
    Packed inner = {.name = p->name, .bytes = unpacked.text, .size = unpacked.size, .again = true};
    *bytes = NULL;
    *size = 0;
    inner.most = unpacked.most - (done ? unpacked.total : 0);
    inner.kind = done ? packing((const unsigned char *)unpacked.text, unpacked.size) : NULL;
    if (inner.kind)
        done = p->again ? fail(e, "%s is packed several times: unpack it once", p->name)
                        : unpack(&inner, bytes, size, e);
    if (done && !inner.kind) {
        *bytes = unpacked.text;
        *size = unpacked.size;
    } else
        memory_free(unpacked.text);
    return done;
}

/* Whether some part of a path begins with a dot. */
static bool is_hidden(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/'), part = part ? part + 1 : NULL)
        if (*part == '.')
            return true;
    return false;
}

/* A file of an archive may be packed by itself. */
static bool show_entry(const Entries *entries, const char *name, bool raw, const Packed *p, Unpacked *u, Error *e)
{
    char where[1000], *text = NULL;
    size_t size;
    snprintf(where, sizeof where, raw ? "%s" : "%s in %s", raw ? p->name : name, p->name);
    const char *named = raw ? NULL : named_packing(name);
    const Packed inner = {where, packing((const unsigned char *)u->text, u->size), u->text, u->size, u->most - u->total,
                          raw};
    if (!inner.kind)
        return (!named || misnamed(where, named, e)) && entries->take(entries->context, name, u->text, u->size, e);
    bool done = unpack(&inner, &text, &size, e);
    u->total += done ? size : 0;
    done = done && entries->take(entries->context, name, text, size, e);
    memory_free(text);
    return done;
}

typedef struct Show {
    const Packed *packed;
    const Entries *entries;
} Show;

static bool show_files(struct archive *a, const char *path, void *context, Error *e)
{
    const Show *show = context;
    const Entries *entries = show->entries;
    struct archive_entry *entry;
    size_t folders = 0;
    Unpacked unpacked = unpacking(show->packed);
    bool done;
    while ((done = next_file(a, path, &entry, &folders, e)) && entry) {
        const bool raw = is_raw(a);
        const char *name = raw ? base_name(path) : archive_entry_pathname(entry);
        while (name && name[0] == '.' && name[1] == '/')
            name += 2;
        if (!name || is_hidden(name) || (entries->wanted && !entries->wanted(entries->context, name)))
            continue;
        done = read_entry(a, entry, path, &unpacked, e) && show_entry(entries, name, raw, show->packed, &unpacked, e);
        if (!done)
            break;
    }
    const char *name = base_name(path);
    if (done && is_empty(a) && (!entries->wanted || entries->wanted(entries->context, name)))
        done = make_empty(path, &unpacked, e) && show_entry(entries, name, true, show->packed, &unpacked, e);
    memory_free(unpacked.text);
    return done;
}

static bool show_archive(const Packed *p, const Entries *entries, Error *e)
{
    return with_archive(p, show_files, &(Show){p, entries}, e);
}

#else

bool text_reads_archives(void) { return false; }

static bool no_libarchive(const Packed *p, Error *e)
{
    return fail(e, "%s is packed (%s), and this build has no libarchive; unpack it, or run 'make deps' and build again",
                p->name, p->kind);
}

static bool unpack(const Packed *p, char **bytes, size_t *size, Error *e)
{
    *bytes = NULL;
    *size = 0;
    return no_libarchive(p, e);
}

static bool show_archive(const Packed *p, const Entries *entries, Error *e)
{
    (void)entries;
    return no_libarchive(p, e);
}

#endif

/* --- folders and plain files --- */

/* What comes out of bytes that have been read, if they are packed, takes their place. named: as what their name speaks
 * of them, or NULL. */
static bool unpack_bytes(const char *path, const char *named, char **bytes, size_t *size, Error *e)
{
    char *text = NULL;
    size_t length = 0;
    const Packed p = {path, packing((const unsigned char *)*bytes, *size), *bytes, *size, most_of(*size), false};
    if (!p.kind && !named)
        return true;
    bool done = p.kind ? unpack(&p, &text, &length, e) : misnamed(path, named, e);
    memory_free(*bytes);
    *bytes = text;
    *size = length;
    return done;
}

static bool read_member(const char *path, char **bytes, size_t *size, Error *e)
{
    return file_read(path, bytes, size, e) && unpack_bytes(path, named_packing(path), bytes, size, e);
}

/* What a user named, whose name find_packing has looked at where it says something: a pipe may hold what is packed. */
static bool read_named(const char *path, char **bytes, size_t *size, Error *e)
{
    return file_read_any(path, bytes, size, e) && unpack_bytes(path, NULL, bytes, size, e);
}

/* read: read_member or read_named. */
static bool show_file(const char *path, const char *name, bool (*read)(const char *, char **, size_t *, Error *),
                      const Entries *entries, Error *e)
{
    char *bytes;
    size_t size;
    if (entries->wanted && !entries->wanted(entries->context, name))
        return true;
    if (!read(path, &bytes, &size, e))
        return false;
    bool done = entries->take(entries->context, name, bytes, size, e);
    memory_free(bytes);
    return done;
}

/* Whether these are the names in the folder of a run of attend's (core/run): none of its files is a text. */
static bool is_run(char *const *names, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += !strcmp(names[i], "config.json") || !strcmp(names[i], "checkpoints");
    return found == 2;
}

/* All of a folder, whose name in the source is `name` ("": it is the source itself). */
static bool show_folder(const char *path, const char *name, int depth, const Entries *entries, Error *e);

static bool show_member(const char *path, const char *name, int depth, const Entries *entries, Error *e)
{
    return folder_exists(path) ? show_folder(path, name, depth, entries, e)
                               : show_file(path, name, read_member, entries, e);
}

static bool show_folder(const char *path, const char *name, int depth, const Entries *entries, Error *e)
{
    enum { DEEPEST = 20 };
    char **names;
    size_t count;
    if (depth > DEEPEST)
        return fail(e, "%s is nested in more than %d folders; does a link lead back?", path, DEEPEST);
    if (!folder_list(path, &names, &count, e))
        return false;
    bool done = true;
    const bool passed = depth > 0 && is_run(names, count); /* what was named itself is read */
    for (size_t i = 0; done && i < count; i++) {
        if (passed || names[i][0] == '.')
            continue;
        char *inner = path_join(path, names[i]), *inner_name = *name ? path_join(name, names[i]) : NULL;
        done = inner && (inner_name || !*name)
                   ? show_member(inner, inner_name ? inner_name : names[i], depth + 1, entries, e)
                   : memory_error(e, path, strlen(path) + strlen(names[i]) + 2, 1);
        memory_free(inner);
        memory_free(inner_name);
    }
    folder_list_free(names, count);
    return done;
}

bool text_read(const char *path, char **bytes, size_t *size, Error *e)
{
    const char *kind;
    if (!find_packing(path, &kind, e))
        return false;
    return kind ? unpack(&(Packed){.name = path, .kind = kind}, bytes, size, e) : read_named(path, bytes, size, e);
}

bool entries_read(const char *path, const Entries *entries, Error *e)
{
    const char *kind;
    if (folder_exists(path))
        return show_folder(path, "", 0, entries, e);
    if (!find_packing(path, &kind, e))
        return false;
    return kind ? show_archive(&(Packed){.name = path, .kind = kind}, entries, e)
                : show_file(path, base_name(path), read_named, entries, e);
}
