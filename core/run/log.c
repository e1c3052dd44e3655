/* RUN/log.tsv: one line a step or an evaluation. Resuming cuts it back to the checkpoint it continues from. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "core/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Whether a line's first column is a step, and none after the last one wanted. */
static bool stays(const char *line, uint64_t step)
{
    char *end;
    if (*line < '0' || *line > '9')
        return false;
    errno = 0;
    unsigned long long at = strtoull(line, &end, 10);
    return !errno && (*end == '\t' || *end == '\n') && at <= step;
}

/* Copies the finished lines that stay, each with `more` at its end. What a crash left, bytes of 0 as well, ends no earlier
 * than its line does. */
static void cut(Buffer *out, const char *text, const char *limit, uint64_t step, const char *more)
{
    for (const char *line = text, *end; (end = memchr(line, '\n', (size_t)(limit - line))); line = end + 1)
        if (stays(line, step) && !memchr(line, 0, (size_t)(end - line)))
            buffer_print(out, "%.*s%s\n", (int)(end - line), line, more);
}

/* The cells of columns that a log lacks, because it was begun before they were added at the end. NULL: it has others. */
static const char *missing_cells(const char *header, size_t size, const char *columns)
{
    static const char empty[] = "\t\t\t\t\t\t\t\t";
    size_t missing = 0;
    if (strncmp(header, columns, size) != 0 || (columns[size] && columns[size] != '\t'))
        return NULL;
    for (const char *at = columns + size; *at; at++)
        missing += *at == '\t';
    return missing < sizeof empty ? empty + sizeof empty - 1 - missing : NULL;
}

bool run_log_renew(char *text)
{
    static const char old[] = "piece", now[] = "token";
    const char *end = strchr(text, '\n');
    bool found = false;
    for (char *at = text; (at = strstr(at, old)) && at < end; found = true)
        memcpy(at, now, sizeof now - 1);
    return found;
}

/* What the log is to begin with: the header, and the lines of an older log that stay. */
static bool prepare(const char *path, const char *columns, uint64_t step, Error *e)
{
    char *old = NULL;
    size_t size = 0;
    if (file_exists(path) && !file_read(path, &old, &size, e))
        return false;
    const bool anew = is_link(path) || (old && run_log_renew(old));
    const char *end = size ? strchr(old, '\n') : NULL,
               *more = end ? missing_cells(old, (size_t)(end - old), columns) : "";
    if (!more) {
        memory_free(old);
        return fail(e, "%s has other columns than this version writes; rename it and resume again", path);
    }
    Buffer fresh = {0};
    buffer_print(&fresh, "%s\n", columns);
    if (end)
        cut(&fresh, end + 1, old + size, step, more);
    bool done = !fresh.failed || memory_error(e, path, size, 1);
    if (done && (anew || fresh.size != size || memcmp(fresh.text, old, size)))
        done = file_write(path, fresh.text, fresh.size, e);
    buffer_free(&fresh);
    memory_free(old);
    return done;
}

bool run_log_open(Run *run, const char *columns, uint64_t step, Error *e)
{
    char *path = run_file(run, "log.tsv");
    if (!path)
        return memory_error(e, run->path, strlen(run->path) + 16, 1);
    bool done = prepare(path, columns, step, e);
    if (done) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        run->log = fd >= 0 ? fdopen(fd, "ab") : NULL;
        done = run->log || fail(e, "cannot write %s: %s", path, strerror(errno));
    }
    memory_free(path);
    return done;
}

bool run_log_line(Run *run, Error *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool done = vfprintf(run->log, format, arguments) >= 0;
    va_end(arguments);
    done = done && putc('\n', run->log) != EOF && !fflush(run->log);
    return done || fail(e, "cannot write %s/log.tsv: %s", run->path, strerror(errno));
}
