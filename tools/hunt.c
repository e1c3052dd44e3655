/* hunt FIRST SEEDS SECONDS: judges random networks (tests/hunt) from a seed on, until this many were judged or this
 * much time has gone by (0: no limit), and prints the smallest network of each seed that comes out wrong. */
#include "base/clock.h"
#include "tests/chance.h"
#include "tests/hunt/judge.h"

#include <stdio.h>
#include <stdlib.h>

static bool hunt(uint32_t seed)
{
    Taste taste = sketch_taste(seed);
    Sketch s = sketch_draw(seed, &taste);
    char why[WHY], text[SKETCH_TEXT];
    if (judge_apart(&s, judged_backends(), why))
        return true;
    printf("seed %u: %s\n", seed, why);
    fflush(stdout);
    s = shrink(&s, judged_backends(), why);
    sketch_print(&s, text);
    printf("  at its smallest: %s\n%s\n", why, text);
    return false;
}

int main(int argc, char **argv)
{
    unsigned long first, seeds, seconds, n = 0, wrong = 0;
    if (argc != 4 || !chance_number(argv[1], UINT32_MAX, &first) || !chance_number(argv[2], UINT32_MAX, &seeds) ||
        !chance_number(argv[3], UINT32_MAX, &seconds)) {
        fprintf(stderr, "usage: hunt FIRST SEEDS SECONDS (0: no limit)\n");
        return 2;
    }
    setenv("ATTEND_TUNING", "alone=0", 0); /* a team shares the least work */
    double began = clock_seconds();
    for (; (!seeds || n < seeds) && (!seconds || clock_seconds() - began < (double)seconds); n++)
        wrong += !hunt((uint32_t)(first + n));
    printf("%lu networks from seed %lu on, %lu wrong\n", n, first, wrong);
    return wrong != 0;
}
