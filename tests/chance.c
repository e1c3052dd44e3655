/* See chance.h. */
#include "tests/chance.h"

#include "base/philox.h"

double uniform(Random *r) { return 2 * philox_uniform(r->seed, 0, r->drawn++, 1) - 1; }
size_t below(Random *r, size_t n) { return (size_t)philox_below(n, r->seed, 0, r->drawn++, 2); }
bool chance(Random *r, double p) { return philox_uniform(r->seed, 0, r->drawn++, 3) < p; }
