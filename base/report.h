/* How far long work is: the function that does it reports to a Watch. */
#ifndef BASE_REPORT_H
#define BASE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Report {   /* a number below zero is left out */
    uint64_t step, total; /* total 0: not known */
    const char *counted;  /* what these are; NULL: "step" */
    double loss;
    const char *unit; /* of the loss, "bits/byte"; NULL: no loss to show */
    double norm;      /* of the gradient */
    double rate;      /* learning rate */
    double tokens_per_second;
    double seconds_left;
    const char *mark; /* "new best", or NULL */
} Report;

/* Receives the reports. In the calls below a watch may be NULL: no one wants them. */
typedef struct Watch {
    void *self;
    void (*report)(void *self, const Report *report, bool stays); /* stays: otherwise the next may take its place */
    void (*note)(void *self, const char *text);
    bool (*stop)(void); /* whether an end was requested */
} Watch;

void watch_report(const Watch *w, const Report *report, bool stays);
void watch_note(const Watch *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool watch_stop(const Watch *w);

#endif
