/* A run that is open in the test's own process, as predict opens it. */
#ifndef TESTS_CLASSIFIER_OPENED_H
#define TESTS_CLASSIFIER_OPENED_H

#include "classifier/classifier.h"
#include "core/program/heads.h"

typedef struct Opened {
    ClassifierOptions values;
    InspectOptions inspect;
    AppKind kind;
    Program program;
    Options options;
    Classifier c;
    Trainer trainer;
} Opened;

/* network: the largest that will be run, on this many rows at once, whose memory is planned for. */
void opened_run(Opened *o, const char *run, const char *device, const char *precision, SessionNetwork network,
                size_t rows);
void opened_close(Opened *o);

#endif
