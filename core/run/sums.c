/* SHA256SUMS: what the files of a checkpoint are, or those that a run begins with, a line each, as sha256sum writes and
 * checks it. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "core/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEXADECIMAL = 64, GAP = 2 /* blanks before a name */, WINDOW = 1 << 24 /* whole pages */ };

static const char sums_name[] = "SHA256SUMS";

/* The file is mapped, because copying it first would take a sixth longer. Files of a run are replaced, never cut short,
 * so its pages stay. A piece at a time, because memory may be limited. */
static bool file_sum(const char *path, Sha256 *sum, Error *e)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about = {0};
    Sha256Sum s;
    sha256_begin(&s);
    bool done = file >= 0 && !fstat(file, &about);
    const size_t size = (size_t)about.st_size;
    for (size_t at = 0; done && at < size; at += WINDOW) {
        const size_t part = size - at < WINDOW ? size - at : WINDOW;
        void *bytes = mmap(NULL, part, PROT_READ, MAP_SHARED, file, (off_t)at);
        done = bytes != MAP_FAILED;
        if (done) {
            sha256_add(&s, bytes, part);
            munmap(bytes, part);
        }
    }
    *sum = sha256_end(&s);
    if (!done)
        fail(e, "cannot read %s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return done;
}

/* A file with something in it: no folder, and no lock. */
static bool has_bytes(const char *path)
{
    struct stat s;
    return !lstat(path, &s) && S_ISREG(s.st_mode) && s.st_size > 0;
}

/* What training writes again and again. It may be there before a run begins: of one that was killed when it began. */
static bool is_rewritten(const char *name)
{
    static const char *const names[] = {sums_name, "best", "last", "config.json", "log.tsv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool sums_write(const char *folder, Error *e)
{
    char **names = NULL, *path = path_join(folder, sums_name);
    size_t count = 0;
    Buffer b = {0};
    bool done = path ? folder_list(folder, &names, &count, e) : memory_error(e, folder, strlen(folder) + 16, 1);
    for (size_t i = 0; done && i < count; i++) {
        Sha256 sum;
        char *file = path_join(folder, names[i]);
        if (!file)
            done = memory_error(e, folder, strlen(folder), 1);
        else if (!is_rewritten(names[i]) && has_bytes(file) && (done = file_sum(file, &sum, e)))
            buffer_print(&b, "%s  %s\n", sum.text, names[i]);
        memory_free(file);
    }
    folder_list_free(names, count);
    if (done && (b.size || b.failed))
        done = file_write_buffer(path, &b, e);
    buffer_free(&b);
    memory_free(path);
    return done;
}

/* The line of a file; NULL: there is none. */
static const char *line_of(const char *text, size_t size, const char *name)
{
    for (const char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + size - line))); line = end + 1)
        if ((size_t)(end - line) == HEXADECIMAL + GAP + strlen(name) &&
            !memcmp(line + HEXADECIMAL + GAP, name, strlen(name)))
            return line;
    return NULL;
}

bool sums_match(const char *file, Error *e)
{
    const char *name = path_name(file);
    size_t size = 0, folder = (size_t)(name - file);
    char *text = NULL, *path = memory_get(folder + sizeof sums_name, 1);
    Sha256 sum;
    if (!path)
        return memory_error(e, file, folder + sizeof sums_name, 1);
    memcpy(path, file, folder);
    memcpy(path + folder, sums_name, sizeof sums_name);
    bool done = !file_exists(path) || file_read(path, &text, &size, e); /* checkpoints of older versions have none */
    const char *line = done && text ? line_of(text, size, name) : NULL;
    if (line)
        done = file_sum(file, &sum, e) &&
               (!memcmp(line, sum.text, HEXADECIMAL) ||
                fail(e,
                     "%s is damaged or belongs to another %s: its checksum is not the one in "
                     "%s; if you changed it on purpose, remove that file",
                     file, strstr(file, "checkpoints/") ? "checkpoint" : "run", path));
    memory_free(text);
    memory_free(path);
    return done;
}

typedef struct Both {
    const char *file;
    bool (*work)(void *, Error *);
    void *context;
    bool done[2];
    Error error[2];
} Both;

static void work_or_sum(void *argument, size_t worker)
{
    Both *b = argument;
    Error *e = &b->error[worker];
    b->done[worker] = worker ? sums_match(b->file, e) : b->work(b->context, e);
}

bool sums_match_while(const char *file, bool (*work)(void *, Error *), void *context, Error *e)
{
    Both b = {.file = file, .work = work, .context = context};
    Pool *pool;
    if (!pool_open(&pool, 2, false, e))
        return false;
    pool_run(pool, work_or_sum, &b);
    pool_close(pool);
    for (int i = 0; i < 2; i++)
        if (!b.done[i]) {
            *e = b.error[i];
            return false;
        }
    return true;
}

bool sums_match_all(const char *folder, Error *e)
{
    char **names;
    size_t count;
    bool done = folder_list(folder, &names, &count, e);
    if (!done)
        return false;
    for (size_t i = 0; done && i < count; i++) {
        char *file = path_join(folder, names[i]);
        done = file ? !has_bytes(file) || sums_match(file, e) : memory_error(e, folder, strlen(folder), 1);
        memory_free(file);
    }
    folder_list_free(names, count);
    return done;
}
