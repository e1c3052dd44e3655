/* A run's folder inside the test's own, and files in it. */
#ifndef TESTS_RUN_PLACE_H
#define TESTS_RUN_PLACE_H

extern char folder[600]; /* the run's; not there yet */

void place_run(void);

/* The path of a file of the run; good for three more calls. */
char *in(const char *name);

void put(const char *name, const char *text);
void expect_text(const char *name, const char *text);

#endif
