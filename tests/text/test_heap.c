/* A heap: what comes out is sorted. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/text/heap.h"
#include "tests/suite.h"

/* Pushing and popping take turns by chance; each popped is the least of those inside, found by looking at all. */
START_TEST(the_least_comes_out_first)
{
    enum { STEPS = 3000 };
    static Rank inside[STEPS];
    size_t count = 0;
    Heap h = {0};
    Error e;
    for (uint64_t i = 0; i < STEPS; i++) {
        if (!count || philox_below(5, 1, 0, i, 1) < 3) {
            Rank new = {philox_below(20, 1, 1, i, 1), philox_below(20, 1, 2, i, 1)};
            ck_done(heap_push(&h, new, &e), e);
            inside[count++] = new;
            continue;
        }
        size_t least = 0;
        for (size_t k = 1; k < count; k++)
            if (inside[k].first < inside[least].first ||
                (inside[k].first == inside[least].first && inside[k].second < inside[least].second))
                least = k;
        Rank top = heap_pop(&h);
        ck_assert(top.first == inside[least].first && top.second == inside[least].second);
        inside[least] = inside[--count];
        ck_assert_uint_eq(h.count, count);
    }
    heap_close(&h);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool push_many(void *argument, Error *e)
{
    Heap h = {0};
    bool done = true;
    (void)argument;
    for (uint64_t i = 0; done && i < 300; i++)
        done = heap_push(&h, (Rank){300 - i, 0}, e);
    done = done && heap_pop(&h).first == 1;
    heap_close(&h);
    return done;
}

START_TEST(each_failed_allocation_is_an_error) { fail_each_allocation(push_many, NULL); }

static const Test tests[] = {TEST(the_least_comes_out_first), TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv) { return suite_run("text/heap", tests, sizeof tests / sizeof *tests, argc, argv); }
