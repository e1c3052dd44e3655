/* RUN/samples/STEP.txt: a file a sample, so that each is whole whenever it is read. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool run_sample_write(const Run *run, uint64_t step, const char *text, size_t size, Error *e)
{
    char name[48];
    snprintf(name, sizeof name, "samples/%08" PRIu64 ".txt", step);
    char *folder = run_file(run, "samples"), *path = run_file(run, name);
    bool done = (folder && path) || memory_error(e, run->path, strlen(run->path) + sizeof name, 1);
    done = done && run_still_there(run, e) && folder_make_one(folder, e) && file_write(path, text, size, e);
    memory_free(folder);
    memory_free(path);
    return done;
}

/* Whether a sample is to go: of a later step, or half written by a process that was killed. */
static bool is_stale(const char *name, uint64_t step) { return name[0] == '.' || strtoull(name, NULL, 10) > step; }

static bool cut_one(const char *folder, const char *name, Error *e)
{
    char *path = path_join(folder, name);
    bool done = path || memory_error(e, folder, strlen(folder) + strlen(name) + 2, 1);
    done = done && (!remove(path) || fail(e, "cannot remove %s: %s", path, strerror(errno)));
    memory_free(path);
    return done;
}

bool run_samples_cut(const Run *run, uint64_t step, Error *e)
{
    char *folder = run_file(run, "samples"), **names = NULL;
    size_t count = 0;
    bool done = folder || memory_error(e, run->path, strlen(run->path) + 16, 1);
    if (done && folder_exists(folder))
        done = folder_list(folder, &names, &count, e);
    for (size_t i = 0; done && i < count; i++)
        done = !is_stale(names[i], step) || cut_one(folder, names[i], e);
    folder_list_free(names, count);
    memory_free(folder);
    return done;
}
