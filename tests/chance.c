/* See chance.h. */
#include "tests/chance.h"

#include "base/philox.h"

#include <errno.h>
#include <stdlib.h>

double uniform(Random *r) { return 2 * philox_uniform(r->seed, 0, r->drawn++, 1) - 1; }
size_t below(Random *r, size_t n) { return (size_t)philox_below(n, r->seed, 0, r->drawn++, 2); }
bool chance(Random *r, double p) { return philox_uniform(r->seed, 0, r->drawn++, 3) < p; }

bool chance_number(const char *text, unsigned long most, unsigned long *n)
{
    char *end;
    errno = 0;
    *n = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *n <= most;
}
