/* Processes that compute one thing together, each with a number, its rank: those that mpirun or srun has started. A
 * process that was started alone is rank 0 of one, and so is every process of a build without MPI.
 *
 * All ranks make the same calls in the same order, each from the thread that called ranks_open. A rank that waits for
 * another longer than it may ends them all, with one line that names the other, its host and what it did: so nothing
 * waits for ever when a process stops or a network fails. */
#ifndef BASE_RANKS_H
#define BASE_RANKS_H

#include "base/error.h"

#include <stddef.h>

/* Whether this build has MPI. */
bool ranks_possible(void);

/* How many processes a launcher says that it has started, and which of them this one is. False: one, by itself. */
bool ranks_launched(size_t *own, size_t *count);

/* So that no process that is started from now on takes itself for one of them. */
void ranks_forget(void);

/* Joins the others; program: what lines begin with; seconds: how long to wait for another; stopped: whether a signal to
 * end has come, as it does from the launcher when another rank has ended all. From here on, only rank 0 has a standard output and error. */
bool ranks_open(const char *program, double seconds, bool (*stopped)(void), Error *e);

/* From now on that is how long; before, while each opens what it needs, it is a minute at least. */
void ranks_at_work(void);

/* Waits for the others and leaves. To end them all instead, with a line that says why: */
void ranks_close(void);
void ranks_end(const char *why) __attribute__((noreturn));

size_t ranks_own(void);
size_t ranks_count(void);
const char *ranks_host(size_t rank);
size_t ranks_before_here(void); /* of lower rank on this host */
double ranks_patience(void);    /* the seconds of ranks_open */

/* Which of a list's entries, "2,3,7", is that of a process before which `before` others have taken theirs; false: there
 * are too few, and `to` is as it was. NULL is the list of all numbers. */
bool ranks_entry(const char *list, size_t before, char *to, size_t size);

/* Bytes that go to a rank, or come from it. */
typedef struct RankPiece {
    size_t rank;
    void *data;
    size_t bytes;
} RankPiece;

/* Sends the ones and receives the others. What one rank sends another arrives in the order of their lists. */
void ranks_exchange(const RankPiece *out, size_t outs, const RankPiece *in, size_t ins);

/* The same in two parts, between which a rank computes: what is begun moves while it calls ranks_attend or waits for
 * others. What one rank sends another is received in the order in which it is begun, whatever is exchanged meanwhile.
 * ranks_finish waits for all of it, and forgets it. */
typedef struct RankMessages {
    struct RankMessage *list;
    size_t count, capacity;
} RankMessages;

void ranks_begin(RankMessages *m, const RankPiece *out, size_t outs, const RankPiece *in, size_t ins);
void ranks_attend(void);
void ranks_finish(RankMessages *m);

/* Each rank has filled in its `bytes` of all [ranks, bytes], and gets those of the others. */
void ranks_gather(void *all, size_t bytes);

/* The bytes that rank 0 has. */
void ranks_share(void *data, size_t bytes);

/* Bytes at[i] .. at[i + 1]-1 of a block are rank i's, which all get. */
void ranks_gather_parts(void *block, const size_t *at);

/* Each rank's bytes, as many as it likes, for all: rank i's are at[i] .. at[i + 1]-1 (at: [ranks + 1]) of what is returned,
 * for memory_free. */
char *ranks_collect(const void *own, size_t bytes, size_t *at);

/* Whether it holds for any rank. */
bool ranks_any(bool own);

/* Seconds in which this rank has waited for others, in all; and bytes that it has sent. */
double ranks_waited(void);
double ranks_sent(void);

#endif
