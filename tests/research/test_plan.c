/* A sweep's file: which runs it means, how they are called, and what is wrong with one that means none. */
#include "base/buffer.h"
#include "base/memory.h"
#include "core/research/plan.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Plan plan_of(const char *text)
{
    Plan p;
    Error e;
    ck_done(plan_read(&p, text, strlen(text), "x.sweep", &e), e);
    return p;
}

/* "post-s1 dim=8 seed=1; ..." */
static void means(const char *text, const char *wanted)
{
    Plan p = plan_of(text);
    Buffer b = {0};
    for (size_t i = 0; i < p.count; i++) {
        buffer_print(&b, "%s%s:", i ? "; " : "", p.run[i].name);
        for (size_t k = 0; k < p.run[i].count; k++)
            if (strcmp(p.run[i].option[k].name, "seed") != 0)
                buffer_print(&b, " %s=%s", p.run[i].option[k].name, p.run[i].option[k].value);
    }
    ck_assert_str_eq(b.text, wanted);
    buffer_free(&b);
    plan_free(&p);
}

START_TEST(lists_are_combined)
{
    means("dim = 8", "s1: dim=8");
    means("", "s1:");
    means("dim = 8 | 16\nlr = 1 | 2 # more\n# none", "dim8-lr1-s1: dim=8 lr=1; dim16-lr1-s1: dim=16 lr=1; "
                                                     "dim8-lr2-s1: dim=8 lr=2; dim16-lr2-s1: dim=16 lr=2");
    means("dim=8|16 |24", "dim8-s1: dim=8; dim16-s1: dim=16; dim24-s1: dim=24");
    means("dim + heads = 8 + 2 | 16 + 4", "dim8-heads2-s1: dim=8 heads=2; dim16-heads4-s1: dim=16 heads=4");
    means("\xef\xbb\xbf"
          "betas = 0.9,0.98 | 0.9,0.999\r\n seeds = 2 \r\n",
          "betas0.9,0.98-s1: betas=0.9,0.98; betas0.9,0.98-s2: betas=0.9,0.98; "
          "betas0.9,0.999-s1: betas=0.9,0.999; betas0.9,0.999-s2: betas=0.9,0.999");
    means("seeds = 7 | 0\ndata = a/b c.txt", "s7: data=a/b c.txt; s0: data=a/b c.txt");
    means("data = /a b | c", "data_a_b-s1: data=/a b; datac-s1: data=c");
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_row_counts_instead_of_what_is_above)
{
    means("dim = 8\nnorm = post\n[post]\n[pre]\nnorm = pre\n[wide, pre]\nnorm = pre\ndim = 16 | 32\nseeds = 1",
          "post-s1: dim=8 norm=post; pre-s1: dim=8 norm=pre; wide,_pre-dim16-s1: norm=pre dim=16; "
          "wide,_pre-dim32-s1: norm=pre dim=32");
    means("dim + heads = 8 + 2\n[ a ]\n[b]\nheads + dim = 1 + 4", "a-s1: dim=8 heads=2; b-s1: heads=1 dim=4");
}

START_TEST(groups_and_what_varies)
{
    Plan p = plan_of("dim = 8\nlr = 1 | 2\nseeds = 3\n[a]\n[b]\nff = 3");
    ck_assert(p.count == 12 && p.groups == 4 && p.run[2].group == 0 && p.run[3].group == 1 && p.run[11].group == 3);
    ck_assert(p.varied_count == 2 && !strcmp(p.varied[0].name, "lr") && !strcmp(p.varied[1].name, "ff"));
    ck_assert_str_eq(plan_value(&p.run[4], "seed"), "2");
    ck_assert(!plan_value(&p.run[0], "ff") && !strcmp(plan_value(&p.run[11], "ff"), "3"));
    plan_free(&p);
}

START_TEST(draws_are_spread_over_their_range_and_come_again)
{
    static const char text[] = "lr = 1e-4 ~ 1e-2\ndecay = 1 ~ 2\ndraws = 200\nseeds = 2";
    Plan p = plan_of(text), again = plan_of(text);
    size_t low = 0;
    ck_assert_uint_eq(p.count, 400);
    for (size_t i = 0; i < p.count; i++) {
        const double lr = strtod(plan_value(&p.run[i], "lr"), NULL),
                     decay = strtod(plan_value(&p.run[i], "decay"), NULL);
        ck_assert(lr >= 1e-4 && lr <= 1e-2 && decay >= 1 && decay <= 2);
        low += lr < 1e-3;
        ck_assert_str_eq(p.run[i].name, again.run[i].name);
    }
    ck_assert(low > 140 && low < 260); /* half of them; the deviation is 7 draws */
    ck_assert_str_eq(plan_value(&p.run[0], "lr"), plan_value(&p.run[1], "lr")); /* of the same draw */
    plan_free(&p);
    plan_free(&again);
}

START_TEST(what_is_no_sweep_is_said_with_its_line)
{
    static const char *const cases[][2] = {
        {"dim 8", "x.sweep:1: expected `name = value`, or [a row]"},
        {"\n\ndim = ", "x.sweep:3: a value is missing"},
        {"dim = 8 | | 3", "x.sweep:1: a value is missing"},
        {"= 8", "x.sweep:1: a name is missing"},
        {"dim + heads = 8 | 3 + 4", "x.sweep:1: 2 options change together, and here they have 1 value"},
        {"dim + heads = 8 + 4 + 2", "x.sweep:1: 2 options change together, and here they have 3 values"},
        {"dim + dim = 8 + 4", "x.sweep:1: dim appears twice"},
        {"dim = 1\ndim = 2", "x.sweep:2: dim appears twice"},
        {"seed = 3", "x.sweep:1: the number of seeds is `seeds`, not `seed`"},
        {"run = x", "x.sweep:1: run is set by the sweep itself"},
        {"[a]\n[b]\n[a]", "x.sweep:3: a second row [a]"},
        {"[a", "x.sweep:1: a row's name ends in ]"},
        {"[ ]", "x.sweep:1: a row without a name"},
        {"[a b]\n[a_b]", "x.sweep: two runs would be called a_b-s1"},
        {"dim = 8 | 8", "x.sweep: two runs would be called dim8-s1"},
        {"seeds = 3 | 3", "x.sweep: two runs would be called s3"},
        {"seeds = 0", "x.sweep: seeds = 0: expected how many"},
        {"seeds = -1", "x.sweep: seeds = -1: expected how many"},
        {"seeds = 1 | a", "x.sweep: seeds: 'a' is not a seed"},
        {"seeds = 99999999999999999999", "x.sweep: seeds = 99999999999999999999: expected how many"},
        {"lr = 1 ~ 2", "x.sweep: values are drawn: how often?"},
        {"draws = 3", "x.sweep: draws = N says how often"},
        {"lr = 0 ~ 2\ndraws = 2", "x.sweep:1: '0 ~ 2': expected two numbers"},
        {"lr = 2 ~ 1\ndraws = 2", "x.sweep:1: '2 ~ 1': expected two numbers"},
        {"lr = a ~ 1\ndraws = 2", "x.sweep:1: 'a ~ 1': expected two numbers"},
        {"lr = 1 ~ inf\ndraws = 2", "x.sweep:1: '1 ~ inf': expected two numbers"},
        {"lr = 1 ~ 2\ndraws = 1 | 2", "x.sweep: draws: expected one number"},
        {"lr = 1 ~ 2\ndraws = 5000\nseeds = 3", "x.sweep: more than 10000 runs"},
        {"dim + heads = 8 + 2\n[a]\ndim = 3",
         "x.sweep: [a] changes some of the options that change together in line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Plan p;
        Error e;
        ck_assert_msg(!plan_read(&p, cases[i][0], strlen(cases[i][0]), "x.sweep", &e), "%s", cases[i][0]);
        ck_assert_msg(strstr(e.text, cases[i][1]) == e.text && !strchr(e.text, '\n'), "%s: %s", cases[i][0], e.text);
        ck_assert_uint_eq(memory_in_use(), 0);
    }
    Plan p;
    Error e;
    ck_assert(!plan_read(&p, "dim = 8\0x", 9, "x.sweep", &e));
    ck_assert_str_eq(e.text, "x.sweep: holds a zero byte, so it is not a sweep");
}

static bool read_and_free(void *text, Error *e)
{
    Plan p;
    if (!plan_read(&p, text, strlen(text), "x", e))
        return false;
    plan_free(&p);
    return true;
}

START_TEST(each_failed_allocation_is_an_error)
{
    char text[] = "lr = 1 | 2\ndecay = 1 ~ 2\ndraws = 2\nseeds = 2\n[a]\n[b]\nff = 3";
    fail_each_allocation(read_and_free, text);
}

static const Test tests[] = {
    TEST(lists_are_combined),
    TEST(a_row_counts_instead_of_what_is_above),
    TEST(groups_and_what_varies),
    TEST(draws_are_spread_over_their_range_and_come_again),
    TEST(what_is_no_sweep_is_said_with_its_line),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv) { return suite_run("research/plan", tests, sizeof tests / sizeof *tests, argc, argv); }
