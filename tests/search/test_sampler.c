/* Tokens drawn at random: how often each comes, what the options leave, and where a point lies. */
#include "core/search/sampler.h"
#include "tests/suite.h"

#include <math.h>

enum { TOKENS = 5, POINTS = 100000 };

static const double logits[TOKENS] = {0.5, -1, 2, -INFINITY, 1.25};

/* The shares of tokens among evenly spaced points. */
static void measure(const SamplerOptions *o, double share[TOKENS])
{
    Sampler s;
    Error e;
    ck_done(sampler_open(&s, TOKENS, &e), e);
    for (size_t i = 0; i < TOKENS; i++)
        share[i] = 0;
    for (size_t i = 0; i < POINTS; i++)
        share[sampler_draw(&s, o, logits, ((double)i + 0.5) / POINTS)] += 1.0 / POINTS;
    sampler_close(&s);
}

/* Softmax of those that `kept` has. */
static void expect(const SamplerOptions *o, const bool kept[TOKENS])
{
    double share[TOKENS], sum = 0;
    measure(o, share);
    for (size_t i = 0; i < TOKENS; i++)
        sum += kept[i] ? exp(logits[i] / o->temperature) : 0;
    for (size_t i = 0; i < TOKENS; i++)
        ck_assert_double_eq_tol(share[i], kept[i] ? exp(logits[i] / o->temperature) / sum : 0, 2.0 / POINTS);
}

START_TEST(a_token_comes_as_often_as_its_probability_says)
{
    static const double temperatures[] = {1, 0.3, 4};
    const bool all[TOKENS] = {true, true, true, false, true};
    for (size_t i = 0; i < 3; i++)
        expect(&(SamplerOptions){.temperature = temperatures[i], .top_p = 1}, all);
}

/* Shares are 0.128, 0.029, 0.573 (of logit 2), 0, and 0.271 (of 1.25). */
START_TEST(only_the_likeliest_are_left)
{
    const bool first[TOKENS] = {[2] = true}, two[TOKENS] = {[2] = true, [4] = true},
               three[TOKENS] = {true, [2] = true, [4] = true};
    expect(&(SamplerOptions){.temperature = 1, .top_k = 1, .top_p = 1}, first);
    expect(&(SamplerOptions){.temperature = 1, .top_k = 3, .top_p = 1}, three);
    expect(&(SamplerOptions){.temperature = 1, .top_p = 0.57}, first);
    expect(&(SamplerOptions){.temperature = 1, .top_p = 0.58}, two);
    expect(&(SamplerOptions){.temperature = 1, .top_p = 0.85}, three);
    /* of the two likeliest alone, the likelier has a share of 0.679 */
    expect(&(SamplerOptions){.temperature = 1, .top_k = 2, .top_p = 0.67}, first);
    expect(&(SamplerOptions){.temperature = 1, .top_k = 2, .top_p = 0.69}, two);
}

START_TEST(temperature_0_takes_the_likeliest)
{
    double share[TOKENS];
    measure(&(SamplerOptions){.temperature = 0, .top_p = 1}, share);
    ck_assert_double_eq_tol(share[2], 1, 1e-9);
}

static bool open_sampler(void *argument, Error *e)
{
    Sampler s;
    bool fine = sampler_open(&s, *(size_t *)argument, e);
    if (fine)
        sampler_close(&s);
    return fine;
}

START_TEST(a_sampler_without_memory_is_an_error)
{
    size_t count = TOKENS;
    fail_each_allocation(open_sampler, &count);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(a_token_comes_as_often_as_its_probability_says),
        TEST(only_the_likeliest_are_left),
        TEST(temperature_0_takes_the_likeliest),
        TEST(a_sampler_without_memory_is_an_error),
    };
    return suite_run("search/sampler", tests, sizeof tests / sizeof *tests, argc, argv);
}
