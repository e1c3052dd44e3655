/* A run that is open in the test's own process, as eval opens it. */
#ifndef TESTS_CHARLM_OPENED_H
#define TESTS_CHARLM_OPENED_H

#include "charlm/charlm.h"

typedef struct Opened {
    CharlmOptions options;
    Options command_line;
    Charlm c;
    Trainer trainer; /* with one worker, whose memory is planned for opened_logits */
} Opened;

void opened_run(Opened *o, const char *run, const char *device, const char *precision);
void opened_close(Opened *o);

/* Of all positions; self is a Charlm. */
Tensor *opened_logits(void *self, Tape *t, const Rows *rows);

#endif
