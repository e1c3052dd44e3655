/* A run directory: all that a run is, whatever program runs.
 *
 *     RUN/config.json, log.tsv, ...     RUN/lock                held by the process that writes
 *     RUN/samples/STEP.txt                                      what the model gave then
 *     RUN/checkpoints/STEP/{model,state}.safetensors            STEP: eight digits
 *     RUN/checkpoints/STEP/SHA256SUMS                           checksums of both
 *     RUN/SHA256SUMS                                            checksums of what the run begins with: its vocabulary
 *     RUN/best, RUN/last                                        one line: a step
 *
 * Whatever moment a process dies at, each file and each checkpoint is the old one or the new one. */
#ifndef CORE_RUN_RUN_H
#define CORE_RUN_RUN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Run {
    char *path;
    int lock;  /* descriptor; -1: opened to read */
    FILE *log; /* NULL: not open */
} Run;

/* Makes the first folder runs/PROGRAM-N, N = 1, 2, .., that is not there yet; its path to be freed with memory_free. */
bool run_default_path(char **path, const char *program, Error *e);

/* Makes a run and takes its lock. A folder that holds anything is refused, but for what is left of a run that ended
 * before its config.json was there: a program writes that last, when a checkpoint of step 0 is whole, so what has a
 * configuration can be read and resumed. files: names of what the program begins its runs with, up to a NULL; or NULL. */
bool run_create(Run **run, const char *path, const char *const *files, Error *e);

/* Whether it would be refused, without making anything: before work is put into what a run begins with. */
bool run_may_begin(const char *path, const char *const *files, Error *e);

/* Opens a run that is there; to write: takes the lock and removes what a killed process left half done. */
bool run_open(Run **run, const char *path, bool to_write, Error *e);
void run_close(Run *run); /* NULL is fine */

/* Whether a folder is a run: it has a configuration. */
bool run_is_there(const char *path);

/* Whether a process writes the run now. */
bool run_busy(const char *path);

/* The path of a file in the run, to be freed with memory_free; NULL when there is no memory. */
char *run_file(const Run *run, const char *name);

/* Whether the run's folder is still the one that was opened to write: it may have been removed. */
bool run_still_there(const Run *run, Error *e);

/* Begins a checkpoint: an empty folder, to write files into; its path to be freed with memory_free. Committing
 * adds their checksums, syncs all in it and gives it its name, in the place of one already there. */
bool run_checkpoint_begin(Run *run, uint64_t step, char **temporary, Error *e);
bool run_checkpoint_commit(Run *run, uint64_t step, Error *e);

/* The steps of all whole checkpoints (both files there, of the length their headers say), in order; to be freed with
 * memory_free. Another process may write and prune meanwhile. */
bool run_checkpoint_list(const Run *run, uint64_t **steps, size_t *count, Error *e);

/* The last of them; found says whether there is one. damaged (may be NULL): why a later one is not whole; empty where
 * there is none. */
bool run_checkpoint_latest(const Run *run, uint64_t *step, bool *found, Error *damaged, Error *e);

/* Writes the checksums of all files in a folder, beside them; and whether a file, or each of the folder, still has the
 * one that stands there, if one does. */
bool sums_write(const char *folder, Error *e);
bool sums_match(const char *file, Error *e);
bool sums_match_all(const char *folder, Error *e);

/* sums_match, and meanwhile work(context): computing a checksum takes about as long as reading the file. */
bool sums_match_while(const char *file, bool (*work)(void *context, Error *e), void *context, Error *e);

/* The folder of a checkpoint, to be freed with memory_free; NULL when there is no memory. */
char *run_checkpoint_path(const Run *run, uint64_t step);

/* Writes and reads RUN/NAME ("best" or "last"). */
bool run_mark(Run *run, const char *name, uint64_t step, Error *e);
bool run_marked(const Run *run, const char *name, uint64_t *step, Error *e);

/* The same where there need not be one: found says whether there is. */
bool run_find_mark(const Run *run, const char *name, bool *found, uint64_t *step, Error *e);

/* Removes checkpoints but the last `keep` and the best; 0 keeps all. */
bool run_prune(Run *run, size_t keep, Error *e);

/* Options that config.json may lack, because only runs that were given one have it, or those of today; and
 * what they mean then. The last is NULL. */
typedef struct RunRare {
    const char *option, *means;
} RunRare;

extern const RunRare run_rare[];
const char *run_unless_given(const char *option); /* NULL: it is none of these */

/* Puts the first line of a log into the words of today: older logs call a token a piece. Whether it had to. */
bool run_log_renew(char *text);

/* Opens RUN/log.tsv to add lines. `columns` is its first line: names with units between tabs; the first is the step.
 * Lines of later steps than this one are dropped, and so is a last line that a killed process left unfinished. */
bool run_log_open(Run *run, const char *columns, uint64_t step, Error *e);

/* Adds a line (the newline comes by itself), readable by others at once. */
bool run_log_line(Run *run, Error *e, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes RUN/samples/STEP.txt; and removes those of later steps than this one, which will come again. */
bool run_sample_write(const Run *run, uint64_t step, const char *text, size_t size, Error *e);
bool run_samples_cut(const Run *run, uint64_t step, Error *e);

#endif
