/* Runs of several processes that something happens to while they train, and whether what is left of them goes on. */
#ifndef TESTS_RANKS_DISTURBED_H
#define TESTS_RANKS_DISTURBED_H

#include "tests/command.h"

/* A small run of charlm that has a step every few milliseconds; one that does not end by itself. */
#define WORDS                                                                                                          \
    "--minutes 0 --dim 16 --heads 2 --depth 1 --context 16 --batch 8 --micro-batch 1 --eval-bytes 300 --eval-every 0 " \
    "--workers 1 --team 1 --dropout 0.1 --schedule constant --lr 1e-2 -q "
#define ENDLESS "--steps 1000000000 "

enum { MOST = 16 };

/* Processes that train this run, the launcher's own left out. */
size_t training(const char *run, pid_t *found);

/* The number that the launcher has given to one of them. */
size_t rank_of(pid_t process);

/* Waits until a run's log has this many steps; its lines now, of which the first names its columns. */
size_t lines_of_log(const char *run);
void expect_steps(const Started *s, const char *run, size_t steps);

/* What it said; and waits until none of its processes is left. */
Said ended(const Started *s, const char *run);

/* That one line names the rank that has stopped, and for how long the others have waited. */
void expect_named(const Said *said, size_t rank, const char *time);

/* Goes on in so many processes (0: without a launcher): some steps after its last checkpoint it is the run that nothing
 * disturbed, to the bit. */
void check_resumed(const char *run, size_t processes);

#endif
