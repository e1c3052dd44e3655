/* The directory of a sweep: its paths, its lock, the file that it was made for, and what is known of its runs. */
#define _DEFAULT_SOURCE /* flock */
#include "core/program/sweep.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

char *sweep_path(const Sweep *s, const char *folder, const char *name, const char *ending)
{
    Buffer b = {0};
    buffer_print(&b, "%s/%s%s%s%s", s->folder, folder, *folder ? "/" : "", name, ending);
    char *path = b.failed ? NULL : memory_string(b.text);
    buffer_free(&b);
    return path;
}

size_t sweep_count(const Sweep *s, State state)
{
    size_t count = 0;
    for (size_t i = 0; i < s->plan.count; i++)
        count += s->item[i].state == state;
    return count;
}

Child sweep_child(const Sweep *s, size_t run)
{
    const size_t workers = s->cores / s->a->options->jobs;
    return (Child){s->a->kind->name, &s->plan.run[run], workers ? workers : 1};
}

/* ---- opening */

/* What is known of a run from an earlier call. */
void sweep_find_state(Item *i)
{
    Json *j = run_is_there(i->run) ? object_read(i->out) : NULL;
    const Json *finished = json_get(j, "finished");
    i->best = object_real(j, "best");
    if (finished && finished->truth)
        i->state = DONE;
    json_free(j);
}

static bool open_items(Sweep *s, Error *e)
{
    const size_t count = s->plan.count;
    s->item = memory_get(count, sizeof *s->item);
    s->cost = memory_get(s->plan.groups, sizeof *s->cost);
    bool fine = s->item && s->cost;
    for (size_t i = 0; fine && i < count; i++) {
        Item *item = &s->item[i];
        const char *name = s->plan.run[i].name;
        item->run = sweep_path(s, "", name, "");
        item->out = sweep_path(s, "state", name, ".out");
        item->err = sweep_path(s, "state", name, ".err");
        fine = item->run && item->out && item->err;
        if (fine)
            sweep_find_state(item);
    }
    return fine || memory_error(e, "the runs of a sweep", count, sizeof *s->item);
}

static bool has_run(const Plan *p, const PlanRun *run)
{
    for (size_t i = 0; i < p->count; i++) {
        bool same = !strcmp(p->run[i].name, run->name) && p->run[i].count == run->count;
        for (size_t k = 0; same && k < run->count; k++) {
            const char *value = plan_value(&p->run[i], run->option[k].name);
            same = value && !strcmp(value, run->option[k].value);
        }
        if (same)
            return true;
    }
    return false;
}

/* The file that the folder was made for: all of its runs are in this one, too, or it is another sweep. */
static bool is_the_same(const Sweep *s, const char *path, Error *e)
{
    char *text;
    size_t size;
    Plan old;
    if (!file_read(path, &text, &size, e))
        return false;
    bool fine = plan_read(&old, text, size, path, e);
    memory_free(text);
    if (!fine)
        return false;
    for (size_t i = 0; fine && i < old.count; i++)
        if (!has_run(&s->plan, &old.run[i]))
            fine = fail(e,
                        "%s holds another sweep: its run %s is not in %s, or with other options; choose another --run",
                        s->folder, old.run[i].name, s->file);
    plan_free(&old);
    return fine;
}

/* Several processes may work on one sweep: what they share is written by one at a time. */
bool sweep_lock(const Sweep *s, Error *e)
{
    while (flock(s->lock, LOCK_EX))
        if (errno != EINTR)
            return fail(e, "cannot lock %s: %s", s->folder, strerror(errno));
    return true;
}

void sweep_unlock(const Sweep *s) { flock(s->lock, LOCK_UN); }

/* Whether a folder holds nothing, or a sweep: its lock comes first. (It is looked for last, because another process may
 * begin the sweep meanwhile.) */
static bool is_ours(const char *folder, const char *lock_path)
{
    char **names;
    size_t count = 0;
    Error e;
    if (!folder_list(folder, &names, &count, &e))
        return true;
    folder_list_free(names, count);
    return count == 0 || file_exists(lock_path);
}

/* Makes the folder, and locks it. A dry run makes none. What an earlier call found out about a file that it refused is of
 * no use. */
static bool open_folder(Sweep *s, Error *e)
{
    char *copy = sweep_path(s, "", "sweep.txt", ""), *state = sweep_path(s, "state", "", ""),
         *path = sweep_path(s, "", "lock", "");
    const bool dry = s->a->options->dry_run;
    bool fine = (copy && state && path) || memory_error(e, "a path", 3, 64);
    if (fine && !is_ours(s->folder, path))
        fine = fail(e, "%s is not empty and holds no sweep: choose another --run", s->folder);
    if (fine && !dry && (fine = folder_make(s->folder, e))) {
        s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        fine = (s->lock >= 0 || fail(e, "cannot open %s: %s", path, strerror(errno))) && sweep_lock(s, e);
    }
    if (fine && file_exists(copy))
        fine = is_the_same(s, copy, e);
    else if (fine && !dry)
        fine = folder_remove(state, e);
    fine = fine && (dry || folder_make(state, e));
    memory_free(copy);
    memory_free(state);
    memory_free(path);
    return fine;
}

/* No run's data has the sweep's folder in it, else later runs would learn from what this one writes. */
static bool is_apart(const Sweep *s, Error *e)
{
    App *a = s->a;
    bool fine = true;
    for (const char *const *name = a->kind->whole; fine && name && *name; name++)
        for (size_t i = 0; fine && i < s->plan.count; i++) {
            const char *data = plan_value(&s->plan.run[i], *name);
            fine = !data || app_is_apart(a, s->folder, *name, data, e);
        }
    return fine;
}

/* From now on the folder is of this file. */
bool sweep_keep_file(const Sweep *s, Error *e)
{
    char *copy = sweep_path(s, "", "sweep.txt", "");
    bool fine = copy ? file_write(copy, s->text, s->size, e) : memory_error(e, "a path", 1, 64);
    memory_free(copy);
    return fine;
}

/* runs/NAME of FOLDER/NAME.ENDING */
static char *standard_folder(const char *file)
{
    const char *name = path_name(file), *dot = strrchr(name, '.');
    Buffer b = {0};
    buffer_print(&b, "runs/%.*s", (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name)), name);
    char *path = b.failed ? NULL : memory_string(b.text);
    buffer_free(&b);
    return path;
}

bool sweep_open(Sweep *s, Error *e)
{
    const SharedOptions *o = s->a->options;
    if (s->a->command_line->argument_count != 1)
        return fail(e, "expected one file that describes a sweep") || app_misused(s->a);
    s->file = s->a->command_line->arguments[0];
    if (!file_read_any(s->file, &s->text, &s->size, e))
        return false;
    s->folder = o->run ? memory_string(o->run) : standard_folder(s->file);
    return (s->folder || memory_error(e, "a path", 1, strlen(s->file))) &&
           plan_read(&s->plan, s->text, s->size, s->file, e) && is_apart(s, e) && open_folder(s, e) && open_items(s, e);
}

void sweep_close(Sweep *s)
{
    if (s->lock >= 0)
        close(s->lock);
    for (size_t i = 0; s->item && i < s->plan.count; i++) {
        memory_free(s->item[i].run);
        memory_free(s->item[i].out);
        memory_free(s->item[i].err);
        buffer_free(&s->item[i].row);
    }
    memory_free(s->item);
    memory_free(s->cost);
    memory_free(s->folder);
    memory_free(s->text);
    plan_free(&s->plan);
}
