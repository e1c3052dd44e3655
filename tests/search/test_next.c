/* What may continue a hypothesis, row by row: the mean of networks, prefixes, repetitions, and what is chosen of the
 * rest. */
#include "base/philox.h"
#include "core/search/next.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

enum { WORDS = 7, FINAL = 1 };

static void open_next(Next *n, const NextOptions *o)
{
    Error e;
    ck_done(next_open(n, o, WORDS, FINAL, &e), e);
}

/* Logits of a row: all different. */
static void fill(double *logits, uint32_t seed)
{
    for (size_t j = 0; j < WORDS; j++)
        logits[j] = 4 * philox_uniform(seed, 1, j, 2) - 2;
}

/* Probabilities the plain way. */
static void softmax(const double *logits, double *p)
{
    double sum = 0;
    for (size_t j = 0; j < WORDS; j++)
        sum += p[j] = exp(logits[j]);
    for (size_t j = 0; j < WORDS; j++)
        p[j] /= sum;
}

START_TEST(log_p_is_that_of_the_mean_of_probabilities)
{
    for (size_t networks = 1; networks <= 4; networks++) {
        double mean[WORDS] = {0};
        Next n;
        open_next(&n, &(NextOptions){0});
        for (size_t i = 0; i < networks; i++) {
            double logits[WORDS], p[WORDS];
            fill(logits, (uint32_t)(10 * networks + i));
            softmax(logits, p);
            for (size_t j = 0; j < WORDS; j++)
                mean[j] += p[j] / (double)networks;
            next_add(&n, logits, i, networks);
        }
        for (size_t j = 0; j < WORDS; j++)
            ck_assert_double_eq_tol(n.log_p[j], log(mean[j]), 1e-13);
        next_close(&n);
    }
}

/* Probabilities that no double holds, logits that no exponential holds, and a network that excludes a token. */
START_TEST(very_small_probabilities_have_their_logarithms)
{
    double first[WORDS] = {0, -2000, 0, -1e300, -INFINITY, 0, 0}, second[WORDS] = {1e4, 1e4, 0, 0, 0, 0, -INFINITY};
    Next n;
    open_next(&n, &(NextOptions){0});
    next_add(&n, first, 0, 2);
    ck_assert_double_eq_tol(n.log_p[1], -2000 - log(4), 1e-9);
    next_add(&n, second, 1, 2);
    ck_assert_double_eq_tol(n.log_p[0], log((0.25 + 0.5) / 2), 1e-12);
    ck_assert_double_eq_tol(n.log_p[1], log(0.5 / 2), 1e-12);
    ck_assert_double_eq_tol(n.log_p[2], log(0.25 / 2), 1e-12);
    ck_assert_double_eq_tol(n.log_p[4], -1e4 - log(2) - log(2), 1e-9);
    ck_assert_double_eq_tol(n.log_p[6], log(0.25 / 2), 1e-12);
    next_close(&n);
}

/* Of a row whose log p are known. */
static void choose(Next *n, const double *log_p, const NextRow *row, size_t count, int32_t *which, double *values)
{
    memcpy(n->log_p, log_p, WORDS * sizeof *log_p);
    next_choose(n, row, count, which, values);
}

START_TEST(the_likeliest_come_first_and_of_equal_ones_the_smaller)
{
    static const double log_p[WORDS] = {-3, -1, -1, NAN, -2, -INFINITY, -1};
    static const int32_t order[] = {1, 2, 6, 4, 0, -1, -1};
    const NextRow row = {.count = 0};
    int32_t which[WORDS];
    double values[WORDS];
    Next n;
    open_next(&n, &(NextOptions){0});
    for (size_t count = 1; count <= WORDS; count++) {
        choose(&n, log_p, &row, count, which, values);
        for (size_t i = 0; i < count; i++) {
            ck_assert_int_eq(which[i], order[i]);
            ck_assert(order[i] < 0 ? values[i] < -1e300 : fabs(values[i] - log_p[order[i]]) <= 0);
        }
    }
    next_close(&n);
}

START_TEST(a_prefix_leaves_its_next_token_alone_and_nothing_after_it)
{
    static const int32_t prefix[] = {4, 0};
    double log_p[WORDS], values[3];
    int32_t which[3];
    Next n;
    fill(log_p, 3);
    open_next(&n, &(NextOptions){.prefixes = true});
    for (size_t count = 0; count < 2; count++) {
        choose(&n, log_p, &(NextRow){.tokens = prefix, .count = count, .prefix = prefix, .prefix_count = 2}, 3, which,
               values);
        ck_assert(which[0] == prefix[count] && which[1] == -1);
        ck_assert_double_eq(values[0], log_p[prefix[count]]);
        ck_assert(n.log_p[FINAL] < -1e300);
    }
    choose(&n, log_p, &(NextRow){.tokens = prefix, .count = 2, .prefix = prefix, .prefix_count = 2}, 3, which, values);
    ck_assert(which[1] >= 0 && which[2] >= 0 && n.log_p[FINAL] > -1e300);
    next_close(&n);
}

/* Whether the last `size` of some tokens were there before, the plain way. */
static bool repeats(const int32_t *token, size_t count, size_t size)
{
    for (size_t i = 0; i + size < count; i++) {
        bool same = true;
        for (size_t j = 0; j < size; j++)
            same = same && token[i + j] == token[count - size + j];
        if (same)
            return true;
    }
    return false;
}

/* All but one token, which the rule knows by what the row is about. */
static void forbid_but(const void *rule, const NextRow *row, double *log_p)
{
    for (int32_t i = 0; i < *(const int32_t *)rule; i++)
        if (i != *(const int32_t *)row->about)
            log_p[i] = (double)-INFINITY;
}

START_TEST(what_a_rule_forbids_is_not_taken_and_a_prefix_is_whatever_it_says)
{
    static const int32_t words = WORDS, wanted = 3, prefix[] = {1};
    double log_p[WORDS], values[3];
    int32_t which[3];
    Next n;
    fill(log_p, 3);
    open_next(&n, &(NextOptions){.prefixes = true, .rule = {forbid_but, &words}});
    choose(&n, log_p, &(NextRow){.about = &wanted}, 3, which, values);
    ck_assert(which[0] == wanted && which[1] == -1);
    ck_assert_double_eq(values[0], log_p[wanted]);
    choose(&n, log_p, &(NextRow){.about = &wanted, .prefix = prefix, .prefix_count = 1}, 3, which, values);
    ck_assert(which[0] == 1 && which[1] == -1);
    next_close(&n);
}

START_TEST(exactly_those_tokens_are_blocked_that_would_repeat_n_in_a_row)
{
    enum { LONG = 12 };
    size_t blocked = 0;
    for (uint32_t seed = 0; seed < 300; seed++) {
        int32_t token[LONG + 1];
        const size_t size = 1 + seed % 4, count = seed % (LONG + 1);
        double log_p[WORDS], values[WORDS];
        int32_t which[WORDS];
        Next n;
        for (size_t i = 0; i < count; i++) { /* of few, so that many repeat; never </s> */
            token[i] = (int32_t)philox_below(3, seed, 7, i, 1);
            token[i] = token[i] == FINAL ? 3 : token[i];
        }
        fill(log_p, seed);
        open_next(&n, &(NextOptions){.no_repeat = size});
        choose(&n, log_p, &(NextRow){.tokens = token, .count = count}, WORDS, which, values);
        for (int32_t j = 0; j < WORDS; j++) {
            token[count] = j;
            const bool forbidden = repeats(token, count + 1, size);
            ck_assert_msg((n.log_p[j] < -1e300) == forbidden, "seed %u: token %d after %zu, n %zu", seed, j, count,
                          size);
            ck_assert(forbidden || n.log_p[j] == log_p[j]);
            blocked += forbidden;
        }
        ck_assert(n.log_p[FINAL] > -1e300);
        next_close(&n);
    }
    ck_assert(blocked > 100);
}

/* It draws for all slots in the first step, later for its own; what is blocked never comes. */
START_TEST(what_is_drawn_depends_on_seed_sentence_step_and_slot)
{
    const NextOptions o = {.drawn = true, .how = {.temperature = 1, .top_p = 1}, .seed = 4};
    double log_p[WORDS], values[64];
    int32_t first[64], which[64], tokens[64] = {0};
    size_t others = 0, count[WORDS] = {0};
    Next n;
    fill(log_p, 8);
    log_p[5] = -INFINITY;
    open_next(&n, &o);
    choose(&n, log_p, &(NextRow){.count = 0}, 64, first, values);
    for (size_t i = 0; i < 64; i++) {
        count[first[i]]++;
        ck_assert_double_eq(values[i], log_p[first[i]]);
    }
    ck_assert(!count[5] && count[0] && count[2] + count[3] + count[4] + count[6] > 0);
    choose(&n, log_p, &(NextRow){.count = 0}, 64, which, values);
    ck_assert_mem_eq(first, which, sizeof first);
    for (uint32_t slot = 0; slot < 64; slot++) {
        choose(&n, log_p, &(NextRow){.tokens = tokens, .count = 3, .slot = slot}, 1, which, values);
        others += which[0] != first[slot];
    }
    ck_assert_uint_gt(others, 16);
    others = 0;
    choose(&n, log_p, &(NextRow){.sentence = 1}, 64, which, values);
    for (size_t i = 0; i < 64; i++)
        others += which[i] != first[i];
    ck_assert_uint_gt(others, 16);
    for (size_t j = 0; j < WORDS; j++)
        log_p[j] = NAN;
    choose(&n, log_p, &(NextRow){.count = 0}, 2, which, values);
    ck_assert(which[0] == -1 && which[1] == -1);
    next_close(&n);
}

static bool open_and_close(void *argument, Error *e)
{
    Next n;
    bool fine = next_open(&n, argument, WORDS, FINAL, e);
    next_close(&n);
    return fine;
}

START_TEST(without_memory_it_is_an_error) { fail_each_allocation(open_and_close, &(NextOptions){.drawn = true}); }

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(log_p_is_that_of_the_mean_of_probabilities),
        TEST(very_small_probabilities_have_their_logarithms),
        TEST(the_likeliest_come_first_and_of_equal_ones_the_smaller),
        TEST(a_prefix_leaves_its_next_token_alone_and_nothing_after_it),
        TEST(what_a_rule_forbids_is_not_taken_and_a_prefix_is_whatever_it_says),
        TEST(exactly_those_tokens_are_blocked_that_would_repeat_n_in_a_row),
        TEST(what_is_drawn_depends_on_seed_sentence_step_and_slot),
        TEST(without_memory_it_is_an_error),
    };
    return suite_run("search/next", tests, sizeof tests / sizeof *tests, argc, argv);
}
