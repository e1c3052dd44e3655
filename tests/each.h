/* What `eval --each` says of a run: numbers in lines, after a heading. */
#ifndef TESTS_EACH_H
#define TESTS_EACH_H

#include "tests/command.h"

typedef struct EachLines {
    double *value; /* [count, columns] */
    size_t count, columns;
} EachLines;

/* words: further options of eval. */
EachLines each_lines(const char *run, const char *words, const char *heading);
void each_lines_free(EachLines *t);
static inline const double *each_line(const EachLines *t, size_t i) { return t->value + i * t->columns; }

/* The member "against" of what `eval --against OTHER --json` says, and p of it. */
Json *compared(const char *run, const char *other, const char *words);
double compared_as(const Json *j, const char *key);

#endif
