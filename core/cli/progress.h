/* The progress of a run on standard error: one aligned line a report,
 *
 *     step  1,200/10,000  loss  1.3431 bits/byte  left  1h02m     12,345 tokens/s  norm  0.812  lr 3.00e-04  new best
 *
 * and, on a terminal only, a line rewritten in place between reports. What takes long between steps counts by another
 * word: "scored  3/40". */
#ifndef CORE_CLI_PROGRESS_H
#define CORE_CLI_PROGRESS_H

#include "base/report.h"

#include <stdio.h>

typedef struct Progress {
    FILE *out;
    bool quiet;
    bool terminal;    /* it can rewrite its line */
    bool unfinished;  /* a rewritten line stands there */
    double rewritten; /* when, in clock_seconds */
} Progress;

/* out: stderr, as a rule; whether it is a terminal is found out. */
Progress progress_open(FILE *out, bool quiet);

/* A line that stays. */
void progress_report(Progress *p, const Report *report);

/* The line that is rewritten, ten times a second at most: to be called after every step. */
void progress_between(Progress *p, const Report *report);

/* Any other message, on a line of its own. */
void progress_note(Progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Shows what is reported to a watch, which stops when a signal asks for it; p must outlive it. */
Watch progress_watch(Progress *p);

/* Takes a rewritten line away, so that what others print begins on a clean one. */
void progress_close(Progress *p);

#endif
