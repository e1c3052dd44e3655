/* For the tests of programs as a user sees them: calls of bin/PROGRAM, and what came of them. */
#ifndef TESTS_COMMAND_H
#define TESTS_COMMAND_H

#include "base/error.h"
#include "core/run/json.h"
#include "tests/suite.h"

#include <sys/types.h>

typedef struct Said {
    int status;      /* of exit; a signal's number, negative */
    char *out, *err; /* closed by a zero byte */
    size_t out_size;
    long peak; /* bytes of memory */
} Said;

/* A fresh place for a run; a few live at a time. */
const char *fresh_path(const char *name);

/* Calls from now on can write no more bytes than these to one file, as if the disk were full then; 0: any. */
void command_limit_files(long bytes);

/* Which program calls are of; charlm until this says otherwise. */
void command_program(const char *name);

/* Calls from now on are made by mpirun, in this number of processes; 0: as one process, by itself. */
void command_processes(size_t count);

/* What the next call reads on standard input; without this, nothing. */
void command_input(const char *text, size_t size);

/* Runs `PROGRAM WORDS`, the words split at blanks and filled in as printf does. */
Said command(const char *format, ...) __attribute__((format(printf, 1, 2)));
void said_free(Said *s);

/* The same where it must work: asserts that it exits with 0. */
Said must(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* And where what it says is of no interest. */
void works(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Asserts that such a call exits with this status, says nothing on standard output and one line on standard error, with
 * these words in it. */
void refused(int status, const char *words, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same in two parts; several run at once. */
typedef struct Started {
    pid_t process;
    char out[700], err[700]; /* files */
} Started;

Started command_start(const char *format, ...) __attribute__((format(printf, 1, 2)));
Said command_end(const Started *s);

/* The one object on the one line of standard output; to be freed with json_free. */
Json *said_json(const Said *s);
Json *must_json(const char *format, ...) __attribute__((format(printf, 1, 2)));
double json_real(const Json *j, const char *key);

/* A file's bytes, to be freed with memory_free; NULL when there is none. Its name is FOLDER/NAME. */
char *read_in(const char *folder, const char *name, size_t *size);
void write_in(const char *folder, const char *name, const void *bytes, size_t size);
void copy_in(const char *from, const char *folder, const char *name); /* of a file */

/* One text of one file becomes another. */
typedef struct Edit {
    const char *file, *from, *to, *said;
} Edit;

/* Returns the file as it was, to be put back and freed with memory_free. */
char *edit_in(const char *folder, const Edit *edit);

/* Asserts that `import FOLDER --out RUN` refuses a model's folder then with the words that are said, in one line, and makes
 * nothing; puts the text back. */
void import_refused(const char *folder, const char *run, const Edit *edit);

/* Asserts that a file of weights in a model's folder may be named: it is read with what lies beside it, instead of
 * model.safetensors, and makes the same run as the whole folder did. */
void imports_a_named_file(const char *folder, const char *whole);

#endif
