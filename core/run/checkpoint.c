/* Checkpoints: written aside, synced, renamed as a folder; listed when whole; marked as best or last; removed. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/run.h"
#include "core/run/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool starve(const Run *run, Error *e) { return memory_error(e, run->path, strlen(run->path) + 64, 1); }

char *run_checkpoint_path(const Run *run, uint64_t step)
{
    char name[48];
    snprintf(name, sizeof name, "checkpoints/%08llu", (unsigned long long)step);
    return run_file(run, name);
}

static char *temporary_path(const Run *run, uint64_t step)
{
    char *path = run_checkpoint_path(run, step);
    char *temporary = path ? path_beside(path, ".tmp") : NULL;
    memory_free(path);
    return temporary;
}

bool run_checkpoint_begin(Run *run, uint64_t step, char **temporary, Error *e)
{
    char *folder = run_file(run, "checkpoints");
    *temporary = temporary_path(run, step);
    bool done = (folder && *temporary) || starve(run, e);
    done = done && run_still_there(run, e) && folder_remove(*temporary, e) && folder_make_one(folder, e) &&
           folder_make_one(*temporary, e); /* one by one: a run that is moved away right now is not made again */
    memory_free(folder);
    if (done)
        return true;
    memory_free(*temporary);
    *temporary = NULL;
    return false;
}

bool run_checkpoint_commit(Run *run, uint64_t step, Error *e)
{
    char *path = run_checkpoint_path(run, step), *temporary = temporary_path(run, step);
    bool done = path && temporary ? sums_write(temporary, e) && folder_each(temporary, file_sync, e) &&
                                        file_sync(temporary, e) && folder_replace(temporary, path, e)
                                  : starve(run, e);
    memory_free(path);
    memory_free(temporary);
    return done;
}

/* Reads a step written with at least eight digits and nothing else. */
static bool parse_step(const char *name, uint64_t *step)
{
    size_t size = strlen(name);
    if (size < 8 || size > 19 || strspn(name, "0123456789") != size || (size > 8 && name[0] == '0'))
        return false;
    *step = strtoull(name, NULL, 10);
    return true;
}

/* whole: the file is there, and as long as its header says; else why not. False only when there is no memory to find
 * out. */
static bool check_file(const char *folder, const char *name, bool *whole, Error *why, Error *e)
{
    char *path = path_join(folder, name);
    if (!path)
        return memory_error(e, folder, strlen(folder) + 32, 1);
    Safetensors *file = NULL;
    why->text[0] = 0;
    *whole = safetensors_open(&file, path, why);
    safetensors_close(file);
    memory_free(path);
    /* no memory is not the file's fault: the checkpoint must not look as if it were not there */
    if (!strncmp(why->text, "out of memory", 13))
        return fail(e, "%s", why->text);
    return true;
}

/* gone: it was removed since it was listed. */
static bool check_checkpoint(const Run *run, uint64_t step, bool *whole, bool *gone, Error *why, Error *e)
{
    char *folder = run_checkpoint_path(run, step);
    if (!folder)
        return starve(run, e);
    bool done = check_file(folder, "model.safetensors", whole, why, e) &&
                (!*whole || check_file(folder, "state.safetensors", whole, why, e));
    *gone = done && !*whole && !folder_exists(folder);
    memory_free(folder);
    return done;
}

static int by_step(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* What a look at all checkpoints finds. */
typedef struct Found {
    uint64_t *steps, damaged; /* damaged: the last that is not whole */
    size_t count;
    bool gone; /* something was removed meanwhile */
    Error why; /* it is damaged; empty: none is */
} Found;

static bool check_names(const Run *run, char **names, size_t count, Found *found, Error *e)
{
    found->steps = memory_get(count, sizeof *found->steps);
    if (!found->steps)
        return starve(run, e);
    for (size_t i = 0; i < count; i++) {
        uint64_t step;
        bool whole = false, gone = false;
        Error why;
        if (!parse_step(names[i], &step))
            continue;
        if (!check_checkpoint(run, step, &whole, &gone, &why, e))
            return false;
        found->gone |= gone;
        if (whole) {
            found->steps[found->count++] = step;
        } else if (!gone && (!found->why.text[0] || step > found->damaged)) {
            found->damaged = step;
            found->why = why;
        }
    }
    return true;
}

static bool look(const Run *run, Found *found, Error *e)
{
    char **names = NULL, *folder = run_file(run, "checkpoints");
    size_t count = 0;
    *found = (Found){0};
    if (!folder)
        return starve(run, e);
    bool done = (!folder_exists(folder) || folder_list(folder, &names, &count, e)) &&
                check_names(run, names, count, found, e);
    memory_free(folder);
    folder_list_free(names, count);
    if (done)
        qsort(found->steps, found->count, sizeof *found->steps, by_step);
    else
        memory_free(found->steps);
    return done;
}

/* Again where the process that writes has removed something meanwhile: what took its place may be missing, too. */
static bool look_again(const Run *run, Found *found, Error *e)
{
    enum { TRIES = 20 };
    for (int tries = 1;; tries++) {
        if (!look(run, found, e))
            return false;
        if (!found->gone || tries == TRIES)
            return true;
        memory_free(found->steps);
    }
}

bool run_checkpoint_list(const Run *run, uint64_t **steps, size_t *count, Error *e)
{
    Found found;
    bool done = look_again(run, &found, e);
    *steps = done ? found.steps : NULL;
    *count = done ? found.count : 0;
    return done;
}

bool run_checkpoint_latest(const Run *run, uint64_t *step, bool *is_there, Error *damaged, Error *e)
{
    Found found;
    if (damaged)
        damaged->text[0] = 0;
    *is_there = false;
    if (!look_again(run, &found, e))
        return false;
    *is_there = found.count > 0;
    if (*is_there)
        *step = found.steps[found.count - 1];
    if (damaged && found.why.text[0] && (!*is_there || found.damaged > *step))
        *damaged = found.why;
    memory_free(found.steps);
    return true;
}

bool run_mark(Run *run, const char *name, uint64_t step, Error *e)
{
    char text[32], *path = run_file(run, name);
    if (!path)
        return starve(run, e);
    int size = snprintf(text, sizeof text, "%08llu\n", (unsigned long long)step);
    bool done = file_write(path, text, (size_t)size, e);
    memory_free(path);
    return done;
}

bool run_marked(const Run *run, const char *name, uint64_t *step, Error *e)
{
    char *text = NULL, *path = run_file(run, name);
    size_t size;
    if (!path)
        return starve(run, e);
    bool done = false;
    if (!file_exists(path))
        fail(e, "the run %s has no checkpoint marked as %s", run->path, name);
    else if (file_read(path, &text, &size, e)) {
        text[strcspn(text, "\n")] = 0;
        done = parse_step(text, step) || fail(e, "%s does not hold a step number of eight digits", path);
    }
    memory_free(text);
    memory_free(path);
    return done;
}

bool run_find_mark(const Run *run, const char *name, bool *found, uint64_t *step, Error *e)
{
    char *path = run_file(run, name);
    *found = path && file_exists(path);
    memory_free(path);
    return path ? !*found || run_marked(run, name, step, e) : starve(run, e);
}

/* Renamed first, so that a kill while it is being removed leaves something that is cleaned, not half a checkpoint. */
static bool remove_checkpoint(const Run *run, uint64_t step, Error *e)
{
    char *path = run_checkpoint_path(run, step), *temporary = temporary_path(run, step);
    bool done = false;
    if (!path || !temporary)
        starve(run, e);
    else if (folder_remove(temporary, e))
        done = rename(path, temporary) ? fail(e, "cannot remove %s: %s", path, strerror(errno))
                                       : folder_remove(temporary, e);
    memory_free(path);
    memory_free(temporary);
    return done;
}

bool run_prune(Run *run, size_t keep, Error *e)
{
    uint64_t *steps, best = UINT64_MAX;
    size_t count;
    bool marked; /* none yet is fine; one that cannot be read is not */
    if (!keep)
        return true;
    if (!run_find_mark(run, "best", &marked, &best, e) || !run_checkpoint_list(run, &steps, &count, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i + keep < count; i++)
        if (steps[i] != best)
            done = remove_checkpoint(run, steps[i], e);
    memory_free(steps);
    return done;
}
