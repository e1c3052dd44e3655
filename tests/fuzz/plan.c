/* A sweep: runs have names of their own that are safe as folders, and a seed each; a file that is not a sweep gives
 * one line. */
#include "core/research/plan.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { ENOUGH = 500 }; /* a few bytes ask for 10,000 runs, which takes its time and memory */

/* Whether a number of four digits or more asks for that. */
static bool is_large(const uint8_t *data, size_t size)
{
    size_t digits = 0, lists = 0;
    for (size_t i = 0; i < size; i++) {
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
        lists += data[i] == '|';
        if (digits > 2 || lists > 8)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Plan p;
    Error e;
    if (is_large(data, size))
        return 0;
    fuzz_begin();
    if (plan_read(&p, (const char *)data, size, "x.sweep", &e)) {
        DEMAND(p.groups <= p.count, "a group has runs");
        for (size_t i = 0; i < p.count && i < ENOUGH; i++) {
            const char *name = p.run[i].name;
            DEMAND(*name && strlen(name) <= 200 && !strchr(name, '/'), "a run has a name");
            for (const char *at = name; *at; at++)
                DEMAND(*at > ' ' && *at < 127, "a name is plain");
            DEMAND(plan_value(&p.run[i], "seed") != NULL, "a run has a seed");
            for (size_t k = 0; k < i; k++)
                DEMAND(strcmp(name, p.run[k].name) != 0, "names differ");
        }
        plan_free(&p);
    } else {
        fuzz_refused(&e);
    }
    fuzz_end(size);
    return 0;
}
