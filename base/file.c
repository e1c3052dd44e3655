/* Files as a run needs them: read whole, written so that a crash leaves the old one or the new one. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What has no size may have no end: a device such as /dev/zero is given up early, a pipe before it fills the memory. */
static size_t most_to_read(const struct stat *s)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return S_ISCHR(s->st_mode)                             ? (size_t)1 << 26
           : S_ISFIFO(s->st_mode) && pages > 0 && page > 0 ? (size_t)pages / 2 * (size_t)page
                                                           : SIZE_MAX;
}

/* Reads until the end: the size that the system names is a hint only (a pipe has none, a file may grow). */
static bool read_all(FILE *f, const char *path, size_t hint, size_t most, char **bytes, size_t *size, Error *e)
{
    size_t capacity = hint + 1, used = 0;
    char *text = memory_get(capacity, 1);
    if (!text)
        return memory_error(e, path, capacity, 1);
    for (;;) {
        used += fread(text + used, 1, capacity - used, f);
        if (used < capacity)
            break;
        const bool endless = used > most &&
                             !fail(e, "cannot read %s: it does not end: %zu MiB have been read", path, used >> 20);
        if (endless || !memory_grow(&text, &capacity, capacity + 1, 1, path, e)) {
            memory_free(text);
            return false;
        }
    }
    if (ferror(f)) {
        memory_free(text);
        return fail(e, "cannot read %s: %s", path, strerror(errno));
    }
    text[used] = 0;
    *bytes = text;
    *size = used;
    return true;
}

static bool cannot_open(const char *path, Error *e) { return fail(e, "cannot open %s: %s", path, strerror(errno)); }

bool file_read_any(const char *path, char **bytes, size_t *size, Error *e)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return cannot_open(path, e);
    struct stat s = {0};
    bool regular = !fstat(fileno(f), &s) && S_ISREG(s.st_mode) && s.st_size > 0;
    bool done = read_all(f, path, regular ? (size_t)s.st_size : 4096, most_to_read(&s), bytes, size, e);
    fclose(f);
    return done;
}

bool file_read(const char *path, char **bytes, size_t *size, Error *e)
{
    struct stat s;
    if (stat(path, &s))
        return cannot_open(path, e);
    if (!S_ISREG(s.st_mode))
        return fail(e, "cannot read %s: it is %s", path, S_ISDIR(s.st_mode) ? "a folder" : "not a regular file");
    return file_read_any(path, bytes, size, e);
}

bool file_lines(const char *path, bool (*take)(void *context, const FileLine *line, Error *e), void *context, Error *e)
{
    char *text;
    size_t size;
    if (!file_read(path, &text, &size, e))
        return false;
    bool done = true;
    FileLine line = {.path = path, .text = text, .number = 1};
    for (const char *end = text + size; done && line.text < end; line.text += line.size + 1, line.number++) {
        const char *close = memchr(line.text, '\n', (size_t)(end - line.text));
        line.ended = close != NULL;
        line.size = (size_t)((close ? close : end) - line.text);
        done = take(context, &line, e);
    }
    memory_free(text);
    return done;
}

/* The file a path stands for: for a link the file it names, else the path itself. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    char *copy = memory_string(real ? real : path);
    free(real);
    return copy;
}

/* A file that is new: what has its name, a link perhaps, goes first. */
static FILE *create(const char *path)
{
    int fd = unlink(path) && errno != ENOENT ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

/* straight: into what is there already. */
static bool begin(FileWriter *w, const char *path, bool through, bool straight, Error *e)
{
    w->path = through && !straight ? resolve(path) : memory_string(path);
    if (w->path && !straight)
        w->temporary = path_beside(w->path, ".tmp");
    if (!w->path || (!straight && !w->temporary)) {
        file_abandon(w);
        return memory_error(e, path, strlen(path) + 8, 1);
    }
    w->stream = straight ? fopen(w->path, "wb") : create(w->temporary);
    if (w->stream)
        return true;
    int why = errno;
    memory_free(w->temporary); /* nothing to remove */
    w->temporary = NULL;
    file_abandon(w);
    return fail(e, "cannot write %s: %s", path, strerror(why));
}

bool file_begin(FileWriter *w, const char *path, Error *e)
{
    struct stat s;
    *w = (FileWriter){0};
    if (!lstat(path, &s) &&
        (S_ISDIR(s.st_mode) || S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode))) /* /dev/null is everybody's */
        return fail(e, "cannot write %s: it is a %s", path, S_ISDIR(s.st_mode) ? "folder" : "device");
    return begin(w, path, false, false, e);
}

bool file_begin_through(FileWriter *w, const char *path, Error *e)
{
    struct stat s;
    *w = (FileWriter){0};
    bool there = !stat(path, &s);
    if (there && S_ISDIR(s.st_mode))
        return fail(e, "cannot write %s: it is a folder", path);
    return begin(w, path, true, there && !S_ISREG(s.st_mode), e);
}

static bool give_up(FileWriter *w, Error *e)
{
    fail(e, "cannot write %s: %s", w->path ? w->path : "an earlier write failed", strerror(errno));
    file_abandon(w);
    return false;
}

bool file_add(FileWriter *w, const void *bytes, size_t size, Error *e)
{
    if (!w->stream || (size && fwrite(bytes, 1, size, w->stream) != size))
        return give_up(w, e);
    return true;
}

bool file_add_at(FileWriter *w, uint64_t offset, const void *bytes, size_t size, Error *e)
{
    if (!w->stream || offset > INT64_MAX || fseeko(w->stream, (off_t)offset, SEEK_SET) ||
        fwrite(bytes, 1, size, w->stream) != size || fseeko(w->stream, 0, SEEK_END))
        return give_up(w, e);
    return true;
}

/* Syncs the folder a path is in, so that its name lasts. */
static bool sync_parent(const char *path, Error *e)
{
    const char *slash = strrchr(path, '/');
    char *parent = memory_string(slash ? path : ".");
    if (!parent)
        return memory_error(e, path, strlen(path), 1);
    if (slash)
        parent[slash == path ? 1 : slash - path] = 0;
    bool done = file_sync(parent, e);
    memory_free(parent);
    return done;
}

bool file_end(FileWriter *w, Error *e)
{
    if (!w->stream || fflush(w->stream) || (w->temporary && fsync(fileno(w->stream))))
        return give_up(w, e);
    int closed = fclose(w->stream);
    w->stream = NULL;
    if (closed || (w->temporary && rename(w->temporary, w->path)))
        return give_up(w, e);
    bool done = !w->temporary || sync_parent(w->path, e);
    memory_free(w->temporary);
    w->temporary = NULL;
    file_abandon(w);
    return done;
}

void file_abandon(FileWriter *w)
{
    if (w->stream)
        fclose(w->stream);
    if (w->temporary)
        unlink(w->temporary);
    memory_free(w->temporary);
    memory_free(w->path);
    *w = (FileWriter){0};
}

bool file_write(const char *path, const void *bytes, size_t size, Error *e)
{
    FileWriter w;
    return file_begin(&w, path, e) && file_add(&w, bytes, size, e) && file_end(&w, e);
}

bool file_write_buffer(const char *path, Buffer *text, Error *e)
{
    bool done = path && !text->failed ? file_write(path, text->text, text->size, e)
                                      : memory_error(e, path ? path : "a path", text->size, 1);
    buffer_free(text);
    return done;
}

bool file_write_through(const char *path, const void *bytes, size_t size, Error *e)
{
    FileWriter w;
    return file_begin_through(&w, path, e) && file_add(&w, bytes, size, e) && file_end(&w, e);
}

bool file_sync(const char *path, Error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(e, "cannot open %s: %s", path, strerror(errno));
    bool done = !fsync(fd) || errno == EINVAL; /* some file systems sync no folders */
    if (!done)
        fail(e, "cannot sync %s: %s", path, strerror(errno));
    close(fd);
    return done;
}

bool file_exists(const char *path)
{
    struct stat s;
    return !stat(path, &s) && !S_ISDIR(s.st_mode);
}

bool is_link(const char *path)
{
    struct stat s;
    return !lstat(path, &s) && S_ISLNK(s.st_mode);
}

bool is_same_file(const char *path, const char *other)
{
    struct stat one, two;
    return !stat(path, &one) && !stat(other, &two) && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool name_ends(const char *name, const char *ending)
{
    const size_t size = strlen(name), tail = strlen(ending);
    return size >= tail && strcmp(name + size - tail, ending) == 0;
}

char *path_join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = memory_get(size, 1);
    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

char *path_beside(const char *path, const char *ending)
{
    const char *slash = strrchr(path, '/');
    int parent = slash ? (int)(slash - path) + 1 : 0;
    size_t size = strlen(path) + strlen(ending) + 2;
    char *beside = memory_get(size, 1);
    if (beside)
        snprintf(beside, size, "%.*s.%s%s", parent, path, path + parent, ending);
    return beside;
}
