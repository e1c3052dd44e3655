/* For tests of programs that starve: a program's main is called in this process, where base/memory can be told which
 * allocation is to fail.
 *
 *     int charlm_main(int argc, char **argv);
 *     #define main charlm_main
 *     #include "charlm/main.c"
 *     #undef main */
#ifndef TESTS_STARVING_H
#define TESTS_STARVING_H

#include "tests/suite.h"

#include <stdint.h>
#include <sys/resource.h>

enum { STARVING_LINE = 1000, STARVING_OUTPUT = 1 << 14 };

/* Whose main is called from now on, as which name; and where what it says is kept meanwhile: a folder. */
void starving_program(const char *name, int (*program)(int argc, char **argv), const char *folder);

typedef struct Outcome {
    int status;
    bool met; /* the allocation that was to fail was asked for */
    long kept;
    int open; /* files that were left open */
    char out[STARVING_OUTPUT], err[STARVING_OUTPUT];
} Outcome;

/* One call with these words while allocation `failing` fails (0: none), and this many files may be open (0: any). */
void starving_call(Outcome *o, uint64_t failing, rlim_t files, const char *words);
void must_work(const char *words);

/* The last line of what it says is an error with these words. */
bool starving_says(const char *err, const char *what);

/* The lowest number that a file would get. */
int next_file(void);

typedef struct Ways {
    void (*before)(void); /* each call; or NULL */
    void (*after)(uint64_t n);
    uint64_t every; /* one of the chosen allocations in this many fails; 0: each */
} Ways;

/* Calls it again and again, each time with another allocation failing, at last with none: each ends with a line that says
 * so and a status that is not 0, and keeps neither memory nor open files. Of the allocations that are reached through the
 * same calls, such as those of a loop, the first, the second and the last fail. */
void starve(Ways ways, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
