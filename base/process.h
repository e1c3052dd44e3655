/* Other programs, run by this one. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include "buffer.h"
#include "error.h"

#include <sys/types.h>

/* What a child does before it becomes the program; may be NULL. */
typedef void ProcessPrepare(void);

/* Runs a program that reads nothing, to its end: what it writes to standard output and standard error is added to out
 * and err. words ends with a NULL. Its exit status; -1: it did not run, or a signal ended it. */
int process_run(const char *path, const char *const *words, ProcessPrepare *prepare, Buffer *out, Buffer *err);

/* Starts one whose output goes to files. It is asked to stop (SIGTERM) when this program dies, and is in a process group
 * of its own, so that Ctrl-C does not reach it. -1: an Error. */
pid_t process_start(const char *path, const char *const *words, const char *out, const char *err, Error *e);

/* Which of those that were started has ended; 0: none yet. status: its exit status, -1: a signal ended it. */
pid_t process_ended(int *status);

/* The path of this program, for another call of it. */
extern const char process_self[];

#endif
