/* Cuts many lines into subwords, by many threads; what comes of it does not depend on how many. */
#ifndef ENCDEC_CUTTING_H
#define ENCDEC_CUTTING_H

#include "encdec/subwords.h"

typedef struct Cutting Cutting;

/* pool: NULL: the caller alone. Subwords and pool must outlive it. */
bool cutting_open(Cutting **c, const Subwords *p, Pool *pool, Error *e);
void cutting_close(Cutting *c);

/* How many lines are worth cutting together. */
size_t cutting_most(const Cutting *c);

/* Cuts lines first .. first + count - 1 of one side; what this side had before is gone. */
bool cutting_run(Cutting *c, size_t side, const Lines *lines, size_t first, size_t count, Error *e);

/* Ids of line first + i of that side, without </s>. */
const int32_t *cutting_ids(const Cutting *c, size_t side, size_t i, size_t *count);

#endif
