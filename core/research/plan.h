/* A sweep: which runs to train. It is a text file:
 *
 *     preset = minute                     options of all runs, as a configuration file has them
 *     lr = 1e-3 | 2e-3 | 4e-3             a list: a run for each value, and for each combination of several lists
 *     dim + heads = 64 + 2 | 128 + 4      options that change together
 *     decay = 0.01 ~ 0.3                  drawn log-uniformly, `draws` times; all drawn options change together
 *     draws = 5
 *     seeds = 3                           of each of these runs: 1, 2, 3; or a list: 1 | 7
 *
 *     [post]                              rows: what follows belongs to the row, and overrides what is above
 *     [pre]
 *     norm = pre
 *
 * A # begins a comment, as in a configuration file. */
#ifndef CORE_RESEARCH_PLAN_H
#define CORE_RESEARCH_PLAN_H

#include "base/error.h"

#include <stddef.h>

typedef struct PlanOption {
    const char *name, *value;
} PlanOption;

typedef struct PlanRun {
    char *name;         /* of its folder: "pre-lr0.002-s1" */
    size_t group;       /* runs of one group differ in their seed alone */
    PlanOption *option; /* [count], the seed among them */
    size_t count;
} PlanRun;

typedef struct Plan {
    PlanRun *run; /* [count] */
    size_t count, groups;
    struct PlanVaried {
        const char *name, *usual; /* its value above all rows; NULL: it has none there, or several */
    } * varied;                   /* [varied_count] the options in which groups differ */
    size_t varied_count;
    char *text;  /* what options point into */
    char **made; /* [made_count] values that are not in the text */
    size_t capacity, varied_capacity, made_count, made_capacity;
} Plan;

/* path names the text in errors. */
bool plan_read(Plan *p, const char *text, size_t size, const char *path, Error *e);
void plan_free(Plan *p);

/* The value of a run's option; NULL: it has none. */
const char *plan_value(const PlanRun *run, const char *name);

#endif
