/* Who computes what of a step, and the tree in which gradients are summed. */
#include "core/train/shares.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 21 };

/* Blocks hold what was summed into them, written as the sum is. */
typedef struct Blocks {
    char text[TREE_SUMS][1000];
} Blocks;

static void join_all(SumTree *t)
{
    void *to, *from;
    while (tree_join(t, &to, &from)) {
        char sum[1000];
        snprintf(sum, sizeof sum, "(%.490s+%.490s)", (char *)to, (char *)from);
        strcpy(to, sum);
    }
}

static size_t blocks(size_t shares, size_t workers, size_t w)
{
    return tree_blocks(&(Division){shares, shares, 1, 0, workers}, w);
}

/* As a trainer does it: workers sum up what they can before each share, and then one sums up what they have. */
static void sum_of(char *sum, size_t shares, size_t workers)
{
    static Blocks held[MOST + 1];
    SumTree of[MOST + 1], all = {.leaves = shares};
    for (size_t w = 0; w < workers; w++) {
        size_t first, end;
        of[w] = (SumTree){.leaves = shares};
        worker_shares(&(Division){shares, shares, 1, 0, workers}, w, &first, &end);
        for (size_t i = first; i < end; i++) {
            join_all(&of[w]);
            ck_assert_uint_lt(of[w].count, blocks(shares, workers, w));
            char *block = held[w].text[of[w].count];
            snprintf(block, sizeof *held[w].text, "%zu", i);
            tree_push(&of[w], (PartialSum){0, i, block});
        }
    }
    for (size_t w = 0; w < workers; w++)
        for (size_t i = 0; i < of[w].count; i++) {
            tree_push(&all, of[w].sum[i]);
            join_all(&all);
        }
    ck_assert_uint_eq(all.count, 1);
    strcpy(sum, all.sum[0].block);
}

START_TEST(a_sum_is_the_same_whoever_computes_its_parts)
{
    for (size_t shares = 1; shares <= MOST; shares++) {
        char one[1000], sum[1000];
        sum_of(one, shares, 1);
        for (size_t workers = 2; workers <= MOST + 1; workers++) {
            sum_of(sum, shares, workers);
            ck_assert_str_eq(sum, one);
        }
    }
}

START_TEST(neighbours_are_added_level_by_level)
{
    static const struct Case {
        size_t shares;
        const char *sum;
    } cases[] = {{1, "0"},
                 {2, "(0+1)"},
                 {3, "((0+1)+2)"},
                 {5, "(((0+1)+(2+3))+4)"},
                 {6, "(((0+1)+(2+3))+(4+5))"},
                 {8, "(((0+1)+(2+3))+((4+5)+(6+7)))"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sum[1000];
        sum_of(sum, cases[i].shares, 2);
        ck_assert_str_eq(sum, cases[i].sum);
    }
}

START_TEST(each_is_dealt_once_and_as_evenly_as_can_be)
{
    for (size_t count = 0; count < 20; count++)
        for (size_t parts = 1; parts < 25; parts++) {
            size_t next = 0, least = count, most = 0;
            for (size_t i = 0; i < parts; i++) {
                size_t first, end;
                deal(count, parts, i, &first, &end);
                ck_assert_uint_eq(first, next);
                next = end;
                least = i < count && end - first < least ? end - first : least;
                most = end - first > most ? end - first : most;
                ck_assert(i < count || first == end);
            }
            ck_assert(next == count && (!count || most - least <= 1));
        }
}

START_TEST(workers_of_all_ranks_compute_all_micro_batches_of_their_shares)
{
    for (size_t micros = 1; micros < 12; micros++)
        for (size_t shares = 1; shares <= micros; shares++)
            for (size_t ranks = 1; ranks < 6; ranks++)
                for (size_t workers = 1; workers < 14; workers++) {
                    Division d = {micros, shares, ranks, 0, workers};
                    size_t next = 0, most = 0;
                    for (; d.rank < ranks; d.rank++)
                        for (size_t w = 0; w < workers; w++) {
                            size_t first, end, from, to;
                            worker_micros(&d, w, &first, &end);
                            worker_shares(&d, w, &from, &to);
                            ck_assert(end >= first && (from < to) == (first < end) && (from == to || first == next));
                            next += end - first;
                            most = end - first > most ? end - first : most;
                        }
                    ck_assert_uint_eq(next, micros);
                    ck_assert_uint_eq(busiest_micros(&d), most);
                }
}

/* What ranks have left are sums of neighbours, and all of them together are one. */
START_TEST(sums_of_ranks_become_one)
{
    for (size_t shares = 1; shares <= 20; shares++)
        for (size_t ranks = 1; ranks < 24; ranks++) {
            const Division d = {shares, shares, ranks, 0, 1};
            SumTree all = {.leaves = shares};
            size_t others = 0;
            for (size_t rank = 0; rank < ranks; rank++) {
                const SumTree own = rank_sums(&d, rank);
                others += rank ? own.count : 0;
                for (size_t i = 0; i < own.count; i++) {
                    void *to, *from;
                    tree_push(&all, own.sum[i]);
                    while (tree_join(&all, &to, &from))
                        ;
                }
            }
            ck_assert(all.count == 1 && others <= others_sums(&d));
        }
    ck_assert_uint_eq(others_sums(&(Division){8, 8, 2, 0, 1}), 2); /* of 8 shares 4-7, but of 7 shares 3 and 4-6 */
    ck_assert_uint_eq(rank_sums(&(Division){8, 8, 3, 1, 1}, 1).count, 2); /* 2+3 and 4 */
}

/* One worker's, with one sum on each level and the share that it begins. */
START_TEST(few_blocks_hold_the_sums_of_many_shares)
{
    static const size_t expected[][3] = {{1, 1, 1}, {2, 1, 2}, {4, 1, 3}, {8, 1, 4},     {16, 1, 5},
                                         {8, 2, 3}, {8, 4, 2}, {8, 8, 1}, {1024, 1, 11}, {1024, 3, 9}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_uint_eq(blocks(expected[i][0], expected[i][1], 0), expected[i][2]);
    for (size_t workers = 1; workers < 40; workers++)
        for (size_t w = 0; w < workers; w++)
            ck_assert_uint_le(blocks(MOST_SHARES, workers, w), TREE_SUMS);
    ck_assert_uint_eq(blocks(8, 3, 2), 3); /* 5 and 6+7 are no neighbours */
    ck_assert_uint_eq(blocks(3, 5, 3), 0);
    ck_assert_uint_eq(tree_blocks(&(Division){3, 3, 5, 4, 1}, 0), 1); /* for the result */
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_sum_is_the_same_whoever_computes_its_parts),
                                 TEST(neighbours_are_added_level_by_level),
                                 TEST(each_is_dealt_once_and_as_evenly_as_can_be),
                                 TEST(workers_of_all_ranks_compute_all_micro_batches_of_their_shares),
                                 TEST(sums_of_ranks_become_one),
                                 TEST(few_blocks_hold_the_sums_of_many_shares)};
    return suite_run("train/shares", tests, sizeof tests / sizeof *tests, argc, argv);
}
