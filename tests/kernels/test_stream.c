/* What a worker's stream on the CPU hands out: scratch memory, and parts of work. */
#include "base/memory.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/tuning.h"
#include "tests/suite.h"

#include <stdatomic.h>
#include <string.h>

START_TEST(scratch_memory_that_is_not_there_fails_the_stream)
{
    Stream *s;
    Error e;
    ck_done(stream_open(&s, 1, &e), e);
    ck_assert_ptr_nonnull(stream_scratch(s, 100));
    ck_done(stream_finish(s, &e), e);
    memory_fail_at(1);
    ck_assert_ptr_null(stream_scratch(s, 100000));
    memory_fail_at(0);
    ck_assert(!stream_finish(s, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "memory"));
    ck_assert_ptr_nonnull(stream_scratch(s, 100)); /* the smaller piece is gone, and can be had again */
    stream_close(s);
}

enum { MOST = 300 };

typedef struct Parts {
    size_t n, grain;
    int done[MOST];
} Parts;

static void work(void *argument, size_t member, size_t first, size_t end)
{
    (void)member;
    Parts *p = argument;
    bool fits = first < end && end <= p->n && first % p->grain == 0 && (end % p->grain == 0 || end == p->n);
    for (size_t i = first; i < end && i < MOST; i++)
        p->done[i] += fits ? 1 : MOST;
}

START_TEST(each_piece_of_work_is_done_once_whoever_does_it)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 64, MOST}, grains[] = {1, 8, 100};
    Stream *s;
    Error e;
    static const char memory[2 * MOST];
    ck_done(stream_open(&s, (size_t)_i + 1, &e), e);
    ck_done(tuning_adopt("alone=0", &e), e);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
            Parts p = {.n = sizes[k], .grain = grains[g]};
            const Shared all = {p.n, p.grain, 1, work, &p};
            stream_share(s, all);
            stream_share_on(s, memory, p.n, all); /* and once more, from the other end */
            stream_share_on(s, memory + p.n, p.n, all);
            for (size_t i = 0; i < MOST; i++)
                ck_assert_int_eq(p.done[i], i < p.n ? 3 : 0);
        }
    stream_close(s);
}

/* Which members have worked, as bits */
static void note_member(void *argument, size_t member, size_t first, size_t end)
{
    (void)first, (void)end;
    atomic_fetch_or((atomic_uint *)argument, 1u << member);
}

/* Who shares work, when the team is awake; it is woken by the first call. */
static unsigned who_shares(Stream *s, size_t size, bool on)
{
    atomic_uint members = 0;
    const Shared all = {2, 1, size, note_member, &members};
    for (int call = 0; call < 100000 && members != 3; call++)
        if (on)
            stream_share_on(s, &members, sizeof members, all);
        else
            stream_share(s, all);
    return members;
}

START_TEST(what_is_too_little_to_share_is_done_by_the_thread_that_calls)
{
    Stream *s;
    Error e;
    ck_done(stream_open(&s, 2, &e), e);
    ck_done(tuning_adopt("alone=7", &e), e);
    for (int on = 0; on < 2; on++) {
        ck_assert_uint_eq(who_shares(s, 6999, on), 1);
        ck_assert_uint_eq(who_shares(s, 7000, on), 3);
    }
    stream_close(s);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(what_is_too_little_to_share_is_done_by_the_thread_that_calls),
                                 TEST(scratch_memory_that_is_not_there_fails_the_stream),
                                 TEST_LOOP(each_piece_of_work_is_done_once_whoever_does_it, 4)};
    return suite_run("kernels/stream", tests, sizeof tests / sizeof *tests, argc, argv);
}
