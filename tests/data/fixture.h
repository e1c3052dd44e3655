/* For the tests of data/fetch and data/check: copies of the scripts beside a table of the test's own, and what came of
 * a call. */
#ifndef TESTS_DATA_FIXTURE_H
#define TESTS_DATA_FIXTURE_H

#include "base/error.h"
#include "tests/suite.h"

#include <sys/types.h>

/* Goes to a fresh folder where data/ holds the scripts and the table, as they are in the repository. */
void fixture_open(void);

/* A file there; the second fills in the words. */
void fixture_write(const char *path, const void *bytes, size_t size);
void fixture_print(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fixture_has(const char *path);

/* Runs a line of shell, filled in as printf does: its exit status. What it says on both ways is in fixture_said(). */
int fixture_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *fixture_said(void);

/* The same where it must end with this status and say these words. */
#define expect_run(status, words, ...)                                                                                 \
    do {                                                                                                               \
        int found = fixture_run(__VA_ARGS__);                                                                          \
        ck_assert_msg(found == (status) && strstr(fixture_said(), words), "%s: status %d, '%s'", #__VA_ARGS__, found,  \
                      fixture_said());                                                                                 \
    } while (0)

/* A folder "tools" with all programs of this system but these, for PATH=tools. */
void fixture_tools_without(const char *names);

/* An HTTP server on this machine for the files of a folder. FOLDER/requests gets a line for each request: its path, and
 * where in the file it wants to begin. */
typedef struct Faults {
    int connections; /* the first this many have the fault, and no others */
    size_t cut;      /* the answer ends after this many bytes of the file */
    bool stall;      /* and the connection stays open */
    bool whole;      /* requests for a part are answered with the whole (all connections) */
} Faults;

typedef struct Server {
    pid_t process;
    int port;
} Server;

Server server_start(const char *folder, Faults faults);
void server_stop(Server *s);

#endif
