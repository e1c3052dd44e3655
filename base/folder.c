/* Folders: made with their parents, listed in order, removed whole, replaced at once. */
#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool folder_exists(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

bool folder_make_one(const char *path, Error *e)
{
    int why = mkdir(path, 0777) ? errno : 0;
    return !why || folder_exists(path) ||
           fail(e, "cannot make the folder %s: %s", path, why == EEXIST ? "a file has that name" : strerror(why));
}

bool folder_make(const char *path, Error *e)
{
    char *part = memory_string(path);
    bool made = true;
    if (!part)
        return memory_error(e, path, strlen(path) + 1, 1);
    for (char *c = part + (*part != 0);; c++) {
        if (*c && *c != '/')
            continue;
        char was = *c;
        *c = 0;
        made = folder_make_one(part, e);
        *c = was;
        if (!was || !made)
            break;
    }
    memory_free(part);
    return made;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Reads the names of an open folder; on failure false, and what was read so far stays in the list. */
static bool read_names(DIR *d, const char *path, char ***names, size_t *count, Error *e)
{
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(d);
        if (!entry)
            return !errno || fail(e, "cannot list %s: %s", path, strerror(errno));
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (!memory_grow(names, &capacity, *count + 1, sizeof **names, path, e))
            return false;
        if (!((*names)[*count] = memory_string(entry->d_name)))
            return memory_error(e, path, strlen(entry->d_name) + 1, 1);
        ++*count;
    }
}

bool folder_list(const char *path, char ***names, size_t *count, Error *e)
{
    *names = NULL;
    *count = 0;
    DIR *d = opendir(path);
    if (!d)
        return fail(e, "cannot list %s: %s", path, strerror(errno));
    bool done = read_names(d, path, names, count, e);
    closedir(d);
    if (!done) {
        folder_list_free(*names, *count);
        *names = NULL;
        *count = 0;
    } else if (*count)
        qsort(*names, *count, sizeof **names, by_name);
    return done;
}

void folder_list_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memory_free(names[i]);
    memory_free(names);
}

bool folder_each(const char *path, bool (*call)(const char *inner, Error *e), Error *e)
{
    char **names;
    size_t count;
    if (!folder_list(path, &names, &count, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < count; i++) {
        char *inner = path_join(path, names[i]);
        done = inner ? call(inner, e) : memory_error(e, path, strlen(path), 1);
        memory_free(inner);
    }
    folder_list_free(names, count);
    return done;
}

bool folder_remove(const char *path, Error *e)
{
    struct stat s;
    if (lstat(path, &s))
        return errno == ENOENT || fail(e, "cannot remove %s: %s", path, strerror(errno));
    if (S_ISDIR(s.st_mode)) {
        if (!folder_each(path, folder_remove, e))
            return false;
        if (!rmdir(path))
            return true;
    } else if (!unlink(path))
        return true;
    return errno == ENOENT || fail(e, "cannot remove %s: %s", path, strerror(errno));
}

static bool replace(const char *temporary, const char *path, const char *old, const char *parent, Error *e)
{
    struct stat s;
    bool there = !lstat(path, &s);
    if (there && (!folder_remove(old, e) || rename(path, old)))
        return fail(e, "cannot rename %s away: %s", path, strerror(errno));
    if (rename(temporary, path)) {
        int why = errno;
        if (there && rename(old, path))
            return fail(e, "cannot rename %s to %s: %s; what was there is now %s", temporary, path, strerror(why), old);
        return fail(e, "cannot rename %s to %s: %s", temporary, path, strerror(why));
    }
    return file_sync(parent, e) && (!there || folder_remove(old, e));
}

bool folder_replace(const char *temporary, const char *path, Error *e)
{
    char *old = path_beside(path, ".old");
    char *parent = memory_string(path);
    bool done = false;
    if (old && parent) {
        char *slash = strrchr(parent, '/');
        if (slash)
            slash[slash == parent] = 0;
        done = replace(temporary, path, old, slash ? parent : ".", e);
    } else
        memory_error(e, path, strlen(path), 1);
    memory_free(old);
    memory_free(parent);
    return done;
}

void folder_of_caches(Buffer *b)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        buffer_print(b, "%s/attend", cache);
    else if (home && *home == '/')
        buffer_print(b, "%s/.cache/attend", home);
}
