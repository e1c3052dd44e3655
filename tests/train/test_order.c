/* The order in which texts are trained on: every epoch has each of them once, in batches that are never empty, and a
 * step's batch depends on nothing but the step. */
#include "core/train/order.h"

#include "base/memory.h"
#include "base/philox.h"
#include "tests/suite.h"

#include <string.h>

enum { TEXTS = 137, LONGEST = 23 };

/* Lengths 1 .. LONGEST, drawn. */
static void draw_lengths(size_t *start)
{
    for (size_t i = 0; i < TEXTS; i++)
        start[i + 1] = start[i] + 1 + (size_t)philox_below(LONGEST, 5, 1, i, 7);
}

static const OrderOptions ways[] = {{.rows = 4},
                                    {.rows = TEXTS + 9},
                                    {.tokens = 100},
                                    {.tokens = LONGEST},
                                    {.tokens = 1},
                                    {.tokens = 100000},
                                    {.tokens = 64, .by_length = true},
                                    {.tokens = LONGEST, .by_length = true},
                                    {.rows = 3, .by_length = true}};
enum { WAYS = sizeof ways / sizeof *ways };

START_TEST(an_epoch_has_each_text_once)
{
    size_t start[TEXTS + 1] = {0};
    Order o;
    Error e;
    draw_lengths(start);
    ck_done(order_open(&o, start, TEXTS, &ways[_i], &e), e);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        int seen[TEXTS] = {0};
        for (size_t b = 0; b < o.batches; b++) {
            size_t count, tokens = 0;
            const size_t *text = order_batch(&o, epoch * o.batches + b + 1, &count);
            ck_assert(count > 0 && count <= o.most_rows);
            for (size_t i = 0; i < count; i++) {
                seen[text[i]]++;
                tokens += start[text[i] + 1] - start[text[i]];
            }
            ck_assert(!o.options.tokens || tokens < o.options.tokens + o.longest);
            ck_assert(o.options.tokens || count <= o.options.rows);
        }
        for (size_t i = 0; i < TEXTS; i++)
            ck_assert_int_eq(seen[i], 1);
    }
    order_close(&o);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* What begins at a share's last token belongs to that share: no batch is left with nothing. */
START_TEST(the_last_batch_has_a_text)
{
    const size_t start[] = {0, 3, 6};
    Order o;
    Error e;
    ck_done(order_open(&o, start, 2, &(OrderOptions){.tokens = 4}, &e), e);
    ck_assert_uint_eq(o.batches, 2);
    for (uint64_t step = 1; step <= 4; step++) {
        size_t count;
        order_batch(&o, step, &count);
        ck_assert_uint_eq(count, 1);
    }
    order_close(&o);
}

START_TEST(texts_that_fill_their_shares_are_cut_there)
{
    const size_t start[] = {0, 2, 4, 6, 8};
    Order o;
    Error e;
    ck_done(order_open(&o, start, 4, &(OrderOptions){.tokens = 4}, &e), e);
    ck_assert_uint_eq(o.batches, 2);
    for (uint64_t step = 1; step <= 2; step++) {
        size_t count;
        order_batch(&o, step, &count);
        ck_assert_uint_eq(count, 2);
    }
    order_close(&o);
}

/* Where the first text is the shortest or the longest one, where one is empty, and where there is none. */
START_TEST(sizes_follow_from_all_texts)
{
    static const struct {
        size_t start[8], count;
        OrderOptions how;
        size_t batches, most_rows, longest, mean;
    } sizes[] = {{{9, 14, 17, 22, 27, 32, 37, 41}, 7, {.tokens = 12}, 3, 5, 5, 5},
                 {{0, 3, 8, 13, 18, 22, 26, 30}, 7, {.tokens = 12}, 3, 5, 5, 4},
                 {{0, 6, 10, 14, 18, 22, 26, 30}, 7, {.tokens = 1}, 5, 2, 6, 4},
                 {{0, 5, 5, 10, 15, 20, 25, 30}, 7, {.tokens = 5}, 6, 6, 5, 4},
                 {{0, 5, 8, 13, 18, 23, 28, 33}, 7, {.rows = 4}, 2, 4, 5, 5},
                 {{0, 5, 8, 13, 18, 23, 28, 33}, 7, {.rows = 9}, 1, 7, 5, 5},
                 {{0}, 0, {.tokens = 4}, 0, 0, 0, 0}};
    Order o;
    Error e;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_done(order_open(&o, sizes[i].start, sizes[i].count, &sizes[i].how, &e), e);
        ck_assert(o.batches == sizes[i].batches && o.most_rows == sizes[i].most_rows);
        ck_assert(o.longest == sizes[i].longest && o.mean == sizes[i].mean);
        order_close(&o);
    }
}

/* A shuffle leaves no text out of a place: of two, each is sometimes the first. */
START_TEST(both_orders_of_two_texts_occur)
{
    const size_t start[] = {0, 1, 2};
    size_t count, firsts[2] = {0};
    Order o;
    Error e;
    ck_done(order_open(&o, start, 2, &(OrderOptions){.rows = 1}, &e), e);
    for (uint64_t epoch = 0; epoch < 20; epoch++)
        firsts[*order_batch(&o, 2 * epoch + 1, &count)]++;
    ck_assert(firsts[0] > 0 && firsts[1] > 0);
    order_close(&o);
}

START_TEST(a_steps_batch_depends_on_the_step_alone)
{
    size_t start[TEXTS + 1] = {0}, kept[TEXTS], count, again;
    Order o, other;
    Error e;
    draw_lengths(start);
    ck_done(order_open(&o, start, TEXTS, &ways[_i], &e), e);
    ck_done(order_open(&other, start, TEXTS, &ways[_i], &e), e);
    for (uint64_t step = 3 * o.batches; step > 0; step -= step > 2 ? 2 : 1) { /* backwards, and not all */
        const size_t *text = order_batch(&o, step, &count);
        memcpy(kept, text, count * sizeof *text);
        order_batch(&other, 1, &again);
        text = order_batch(&other, step, &again);
        ck_assert_uint_eq(count, again);
        ck_assert_mem_eq(kept, text, count * sizeof *text);
    }
    order_close(&o);
    order_close(&other);
}

/* Another seed and another epoch have other batches, in another order. */
START_TEST(epochs_and_seeds_differ)
{
    size_t start[TEXTS + 1] = {0}, first[TEXTS], count, again;
    OrderOptions how = {.tokens = 64, .by_length = _i};
    Order o, other;
    Error e;
    draw_lengths(start);
    ck_done(order_open(&o, start, TEXTS, &how, &e), e);
    how.seed = 1;
    ck_done(order_open(&other, start, TEXTS, &how, &e), e);
    const size_t *text = order_batch(&o, 1, &count);
    memcpy(first, text, count * sizeof *text);
    text = order_batch(&other, 1, &again);
    ck_assert(again != count || memcmp(first, text, count * sizeof *text) != 0);
    text = order_batch(&o, o.batches + 1, &again);
    ck_assert(again != count || memcmp(first, text, count * sizeof *text) != 0);
    order_close(&o);
    order_close(&other);
}

/* A batch's texts are next to one another among all lengths: between its shortest and its longest is no text of
 * another batch, but of those very lengths. Batches come in no order of length. */
START_TEST(texts_of_like_length_are_together)
{
    size_t start[TEXTS + 1] = {0}, shortest[TEXTS], longest[TEXTS], rising = 0;
    Order o;
    Error e;
    draw_lengths(start);
    ck_done(order_open(&o, start, TEXTS, &(OrderOptions){.tokens = 64, .by_length = true}, &e), e);
    for (size_t b = 0; b < o.batches; b++) {
        size_t count;
        const size_t *text = order_batch(&o, b + 1, &count);
        shortest[b] = LONGEST, longest[b] = 0;
        for (size_t i = 0; i < count; i++) {
            size_t length = start[text[i] + 1] - start[text[i]];
            shortest[b] = length < shortest[b] ? length : shortest[b];
            longest[b] = length > longest[b] ? length : longest[b];
        }
        rising += b && shortest[b] >= shortest[b - 1];
    }
    for (size_t a = 0; a < o.batches; a++)
        for (size_t b = 0; b < o.batches; b++)
            ck_assert(a == b || longest[a] <= shortest[b] || longest[b] <= shortest[a]);
    ck_assert_msg(rising > o.batches / 4 && rising < 3 * o.batches / 4, "%zu of %zu batches are longer than the last",
                  rising, o.batches);
    order_close(&o);
}

static bool open_once(void *argument, Error *e)
{
    Order o;
    bool done = order_open(&o, argument, TEXTS, &(OrderOptions){.tokens = 64, .by_length = true}, e);
    order_close(&o);
    return done;
}

START_TEST(without_memory_there_is_no_order)
{
    size_t start[TEXTS + 1] = {0};
    draw_lengths(start);
    fail_each_allocation(open_once, start);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(an_epoch_has_each_text_once, WAYS),
                                 TEST(the_last_batch_has_a_text),
                                 TEST(texts_that_fill_their_shares_are_cut_there),
                                 TEST(sizes_follow_from_all_texts),
                                 TEST(both_orders_of_two_texts_occur),
                                 TEST_LOOP(a_steps_batch_depends_on_the_step_alone, WAYS),
                                 TEST_LOOP(epochs_and_seeds_differ, 2),
                                 TEST(texts_of_like_length_are_together),
                                 TEST(without_memory_there_is_no_order)};
    return suite_run("train/order", tests, sizeof tests / sizeof *tests, argc, argv);
}
