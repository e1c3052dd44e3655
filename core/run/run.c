/* The run directory: made, locked, opened, cleaned. */
#define _DEFAULT_SOURCE  /* flock, with glibc and musl */
#define _DARWIN_C_SOURCE /* and elsewhere */
#include "core/run/run.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *run_file(const Run *run, const char *name) { return path_join(run->path, name); }

/* The path of a folder of the run to write into; NULL and an Error where it is a link, which leads out of the run. */
static char *run_folder(const Run *run, const char *name, Error *e)
{
    char *path = run_file(run, name);
    if (!path)
        memory_error(e, run->path, strlen(run->path) + 16, 1);
    else if (is_link(path)) {
        fail(e, "%s is a symbolic link: a run must be a real folder; put the folder itself there", path);
        memory_free(path);
        path = NULL;
    }
    return path;
}

bool run_is_there(const char *path)
{
    char *config = path_join(path, "config.json");
    const bool is = config && file_exists(config);
    memory_free(config);
    return is;
}

bool run_default_path(char **path, const char *program, Error *e)
{
    if (!folder_make("runs", e))
        return false;
    size_t size = strlen(program) + 32;
    *path = memory_get(size, 1);
    if (!*path)
        return memory_error(e, "the path of the run", size, 1);
    for (unsigned long n = 1;; n++) {
        snprintf(*path, size, "runs/%s-%lu", program, n);
        if (!mkdir(*path, 0777)) /* made, not looked for: two programs that start together get two runs */
            return true;
        if (errno != EEXIST)
            break;
    }
    fail(e, "cannot make the folder %s: %s", *path, strerror(errno));
    memory_free(*path);
    *path = NULL;
    return false;
}

/* A process that looks whether the run is busy holds the lock for a moment, too. */
static bool lock_soon(int file)
{
    enum { TRIES = 20 };
    int tries = 1;
    while (flock(file, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK || tries++ == TRIES)
            return false;
        clock_sleep(0.005);
    }
    return true;
}

/* The lock goes with its process, however that ends; the file stays. */
static bool take_lock(Run *run, Error *e)
{
    char *path = run_file(run, "lock");
    if (!path)
        return memory_error(e, run->path, strlen(run->path), 1);
    run->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    int why = errno;
    memory_free(path);
    if (run->lock < 0)
        return fail(e, "cannot write to the run %s: %s", run->path, strerror(why));
    if (lock_soon(run->lock))
        return true;
    if (errno == EWOULDBLOCK)
        return fail(e, "another process is writing the run %s; wait until it ends, or use another --run", run->path);
    return fail(e, "cannot lock the run %s: %s", run->path, strerror(errno));
}

bool run_still_there(const Run *run, Error *e)
{
    struct stat ours, now;
    char *path = run_file(run, "lock");
    if (!path)
        return memory_error(e, run->path, strlen(run->path) + 8, 1);
    bool there = !fstat(run->lock, &ours) && !stat(path, &now) && ours.st_dev == now.st_dev &&
                 ours.st_ino == now.st_ino;
    memory_free(path);
    return there || fail(e, "the run %s has vanished: its folder was removed or moved during training", run->path);
}

bool run_busy(const char *path)
{
    char *lock = path_join(path, "lock");
    int file = lock ? open(lock, O_RDONLY | O_CLOEXEC) : -1;
    bool busy = file >= 0 && flock(file, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (file >= 0)
        close(file);
    memory_free(lock);
    return busy;
}

/* One of them, or .NAME.tmp of one. */
static bool is_one_of(const char *name, const char *const *names)
{
    const size_t size = strlen(name);
    const bool written = size > 5 && name[0] == '.' && !strcmp(name + size - 4, ".tmp");
    bool is = false;
    for (; *names && !is; names++)
        is = !strcmp(name, *names) || (written && strlen(*names) == size - 5 && !memcmp(name + 1, *names, size - 5));
    return is;
}

/* only: the folder, if it is there, holds nothing but these names, or those. */
static bool holds_only(const char *folder, const char *const *names, const char *const *more, bool *only, Error *e)
{
    char **inside = NULL;
    size_t count = 0;
    if (folder_exists(folder) && !folder_list(folder, &inside, &count, e))
        return false;
    for (size_t i = 0; *only && i < count; i++)
        *only = is_one_of(inside[i], names) || is_one_of(inside[i], more);
    folder_list_free(inside, count);
    return true;
}

/* What is left of a run that ended before its configuration was written, which comes last: the files that its program
 * begins it with, then step 0. */
static bool is_beginning(const Run *run, const char *const *files, bool *is, Error *e)
{
    static const char *const nothing[] = {NULL};
    static const char *const names[] = {"lock", "checkpoints", "best", "last", ".config.json.tmp", "SHA256SUMS", NULL};
    static const char *const checkpoints[] = {"00000000", ".00000000.old", NULL};
    char *lock = run_file(run, "lock"), *inner = run_file(run, "checkpoints");
    bool done = false;
    *is = true;
    if (!lock || !inner)
        memory_error(e, run->path, strlen(run->path) + 16, 1);
    else
        done = (file_exists(lock) ? holds_only(run->path, names, files ? files : nothing, is, e)
                                  : holds_only(run->path, nothing, nothing, is, e)) &&
               holds_only(inner, checkpoints, nothing, is, e);
    memory_free(lock);
    memory_free(inner);
    return done;
}

/* A run is made where there is nothing, or the beginning of one. */
static bool is_free(const Run *run, const char *const *files, Error *e)
{
    bool is;
    if (!is_beginning(run, files, &is, e))
        return false;
    if (is)
        return true;
    char *config = run_file(run, "config.json");
    bool is_run = config && file_exists(config);
    memory_free(config);
    return fail(e, "the folder %s is not empty: %s choose another folder", run->path,
                is_run ? "it holds a run. Continue it with --resume, or" : "it holds something other than a run;");
}

static bool new_run(Run **out, const char *path, Error *e)
{
    *out = NULL;
    Run *run = memory_get(1, sizeof *run);
    char *copy = memory_string(path);
    if (!run || !copy) {
        memory_free(run);
        memory_free(copy);
        return memory_error(e, path, strlen(path) + sizeof *run, 1);
    }
    run->path = copy;
    run->lock = -1;
    *out = run;
    return true;
}

static bool give_up(Run **run)
{
    run_close(*run);
    *run = NULL;
    return false;
}

/* Syncs the run's folder and the one it is in, so that its name lasts. */
static bool sync_run(const Run *run, Error *e)
{
    char *parent = run_file(run, "..");
    if (!parent)
        return memory_error(e, run->path, strlen(run->path) + 4, 1);
    bool done = file_sync(run->path, e) && file_sync(parent, e);
    memory_free(parent);
    return done;
}

static bool make_checkpoints(const Run *run, Error *e)
{
    char *folder = run_folder(run, "checkpoints", e), *samples = folder ? run_folder(run, "samples", e) : NULL;
    bool done = samples && folder_make(folder, e); /* the other one when there is a sample, but looked at now */
    memory_free(folder);
    memory_free(samples);
    return done;
}

/* .NAME.tmp was never finished. .NAME.old is the checkpoint that another was just taking the place of: it gets its name
 * back if that is still free. */
static bool clean_one(const char *folder, const char *name, Error *e)
{
    if (name[0] != '.' || !(name_ends(name + 1, ".tmp") || name_ends(name + 1, ".old")))
        return true;
    char *stale = path_join(folder, name);
    char *final = path_join(folder, name + 1);
    bool done = false;
    if (!stale || !final)
        memory_error(e, folder, strlen(folder) + strlen(name), 1);
    else {
        final[strlen(final) - 4] = 0;
        if (name_ends(name, ".old") && !folder_exists(final))
            done = !rename(stale, final) || fail(e, "cannot rename %s: %s", stale, strerror(errno));
        else
            done = folder_remove(stale, e);
    }
    memory_free(stale);
    memory_free(final);
    return done;
}

static bool clean(const char *folder, Error *e)
{
    char **names;
    size_t count;
    bool done = true;
    if (!folder_list(folder, &names, &count, e))
        return false;
    for (size_t i = 0; done && i < count; i++)
        done = clean_one(folder, names[i], e);
    folder_list_free(names, count);
    return done;
}

/* A run has a lock, or at least a configuration: no folder named by mistake is cleaned. */
static bool is_run(const Run *run, Error *e)
{
    char *lock = run_file(run, "lock"), *config = run_file(run, "config.json");
    bool is = false;
    if (!lock || !config)
        memory_error(e, run->path, strlen(run->path) + 16, 1);
    else if (!folder_exists(run->path))
        fail(e, "there is no run %s: no such folder", run->path);
    else if (!(is = file_exists(lock) || file_exists(config)))
        fail(e, "the folder %s is not a run: it has no config.json. Give a folder that train made", run->path);
    memory_free(lock);
    memory_free(config);
    return is;
}

static bool clean_run(const Run *run, Error *e)
{
    char *checkpoints = run_file(run, "checkpoints");
    if (!checkpoints)
        return memory_error(e, run->path, strlen(run->path) + 16, 1);
    bool done = clean(run->path, e) && clean(checkpoints, e);
    memory_free(checkpoints);
    return done;
}

bool run_may_begin(const char *path, const char *const *files, Error *e)
{
    Run *run;
    bool may = new_run(&run, path, e) && is_free(run, files, e);
    run_close(run);
    return may;
}

bool run_create(Run **run, const char *path, const char *const *files, Error *e)
{
    if (!new_run(run, path, e))
        return false;
    if (!is_free(*run, files, e) || !folder_make(path, e)) /* before a lock is put into a folder of another purpose */
        return give_up(run);
    if (!take_lock(*run, e) || !is_free(*run, files, e) || !make_checkpoints(*run, e) || !clean_run(*run, e) ||
        !sync_run(*run, e))
        return give_up(run);
    return true;
}

bool run_open(Run **run, const char *path, bool to_write, Error *e)
{
    if (!new_run(run, path, e))
        return false;
    if (!is_run(*run, e))
        return give_up(run);
    if (to_write && (!take_lock(*run, e) || !make_checkpoints(*run, e) || !clean_run(*run, e)))
        return give_up(run);
    return true;
}

void run_close(Run *run)
{
    if (!run)
        return;
    if (run->log)
        fclose(run->log);
    if (run->lock >= 0)
        close(run->lock);
    memory_free(run->path);
    memory_free(run);
}

const RunRare run_rare[] = {
    {"kv-heads", "all"},
    {"norm-kind", "layer"},
    {"norm-epsilon", "0"},
    {"gate", "no"},
    {"qk-norm", "no"},
    {"qk-norm-kind", "rms"},
    {"macaron", "no"},
    {"residual-scores", "no"},
    {"bias-free", "no"},
    {"value-residual", "no"},
    {"skip", "none"},
    {"branch-init", "same"},
    {"parametrization", "standard"},
    {"base-width", "0"},
    {"tokens", "bytes"},
    {"merges", "0"},
    {"groups", "none"},
    {"lr-end", "its own"},
    {"lr-patience", "3"},
    {"ema", "0"},
    {"z-loss", "0"},
    {"word-dropout", "0"},
    {"loops", "1"},
    {"window-pattern", "S"},
    {"embedding-norm", "no"},
    {"pooler", "none"},
    {"branch-dropout", "0"},
    {"rotary-base", "0"},
    {"rotary-share", "0"},
    {"rotary-stretch", "0"},
    {"rotary-scaling", "linear"},
    {"sinks", "0"},
    {"sparse", "none"},
    {"stride", "root of context times block"},
    {"sparse-block", "1"},
    {"alibi-heads", "all"},
    {"adaptive-span", "0"},
    {"normalize-punctuation", "no"},
    {"span-loss", "0"},
    {"score-cap", "0"},
    {"logit-cap", "0"},
    {"sink-score", "no"},
    {"value-gate", "no"},
    {"talking-heads", "no"},
    {"top-keys", "all"},
    {"sigmoid-attention", "no"},
    {"memory-keys", "0"},
    {"segments", "no"},
    {"marks", "no"},
    {"next-sentence", "no"},
    {"objective", "classes"},
    {"trees", "no"},
    {"leaves", "tags"},
    {"word-positions", "no"},
    {"plain-embeddings", "no"},
    {"logits-bias", "no"},
    {"two-vocabularies", "no"},
    {"keep-outer", "no"},
    {"keep-functions", "no"},
    {"keep-traces", "no"},
    {"registers", "0"},
    {"memory", "0"},
    {"ngrams", "0"},
    {"ngram-rows", "65536"},
    {"ngram-dropout", "0"},
    {"experts", "0"},
    {"chosen-experts", "2"},
    {"load-loss", "0"},
    {"r-drop", "0"},
    {NULL, NULL},
};

const char *run_unless_given(const char *option)
{
    const RunRare *rare = run_rare;
    while (rare->option && strcmp(rare->option, option) != 0)
        rare++;
    return rare->means;
}
