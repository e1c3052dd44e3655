/* See tuned.h. The file: what its choices depend on, the choices in one line, a checksum of both. */
#include "core/program/tuned.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "core/cli/version.h"
#include "kernels/cpu/tuning.h"

#include <stdio.h>
#include <string.h>

/* All that comes before the choices. */
static void add_head(Buffer *b, const char *key)
{
    char name[256];
    buffer_print(b, "attend tuning\n%s\n%s\n%s\n%s\n%s\n", processor_name(name, sizeof name), key, attend_version(),
                 attend_compiler(), attend_libraries());
}

/* NULL: there is no place, no memory, or a link. */
static char *path_of(const Buffer *head)
{
    Buffer folder = {0};
    char name[64], *path = NULL;
    folder_of_caches(&folder);
    if (folder.size && !folder.failed && !head->failed && !is_link(folder.text)) {
        snprintf(name, sizeof name, "tuning-%.24s", sha256(head->text, head->size).text);
        path = path_join(folder.text, name);
    }
    buffer_free(&folder);
    return path;
}

static void add_sum(Buffer *b)
{
    const Sha256 sum = sha256(b->text, b->size);
    buffer_print(b, "%s\n", sum.text);
}

static bool get(const char *key, Buffer *text)
{
    Buffer whole = {0};
    char *path, *bytes = NULL, *end;
    size_t size = 0;
    bool found = false;
    add_head(&whole, key);
    path = path_of(&whole);
    if (path && !is_link(path) && file_read(path, &bytes, &size, NULL) && size > whole.size &&
        !memcmp(bytes, whole.text, whole.size) && (end = memchr(bytes + whole.size, '\n', size - whole.size))) {
        buffer_add(text, bytes + whole.size, (size_t)(end - bytes) - whole.size);
        buffer_add(&whole, bytes + whole.size, (size_t)(end + 1 - bytes) - whole.size);
        if (!whole.failed)
            add_sum(&whole);
        found = !whole.failed && whole.size == size && !memcmp(bytes, whole.text, size);
    }
    if (!found)
        buffer_free(text);
    memory_free(bytes);
    memory_free(path);
    buffer_free(&whole);
    return found;
}

static void put(const char *key, const char *text)
{
    Buffer whole = {0}, folder = {0};
    add_head(&whole, key);
    char *path = path_of(&whole);
    buffer_print(&whole, "%s\n", text);
    folder_of_caches(&folder);
    if (path && !whole.failed && !folder.failed && folder_make(folder.text, NULL)) {
        add_sum(&whole);
        if (!whole.failed)
            (void)file_write(path, whole.text, whole.size, NULL);
    }
    memory_free(path);
    buffer_free(&folder);
    buffer_free(&whole);
}

void tuned_keep(void)
{
    static const TuningStore store = {get, put};
    tuning_store(&store);
}
