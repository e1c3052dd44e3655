/* What charlm is for: it predicts text better than counting does. The rival counts the n-grams of order 0 to 2 of the
 * same training text (charlm baseline); both are scored on the test part, which neither has seen. */
#include "tests/charlm/tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double bits_of_counting(void)
{
    Json *j = must_json("baseline --split test --json");
    double bits = json_real(&json_get(j, "orders")->items[2], "mixed");
    json_free(j);
    return bits;
}

/* The preset for one minute, with a number of steps instead of the minute, so that it does not depend on the machine.
 */
START_TEST(a_minute_of_learning_beats_counting)
{
    const char *run = fresh_path("run");
    double counted = bits_of_counting();
    Said train = must("train --run %s --preset prose --minutes 0 --steps 500 -q", run);
    Json *j = must_json("eval --run %s --split test --json", run);
    double learnt = json_real(j, "bits_per_byte");
    ck_assert_msg(counted > 2 && counted < 3, "%.4f bits/byte by counting", counted);
    ck_assert_msg(learnt < counted, "%.4f bits/byte learnt, %.4f by counting", learnt, counted);
    if (getenv("VERBOSE"))
        printf("%.4f bits/byte learnt, %.4f by counting\n", learnt, counted);
    json_free(j);
    said_free(&train);
}

/* Another score than a dot product learns, and a run knows which one it has. */
START_TEST(a_score_with_parameters_learns)
{
    static const char *const scores[] = {"bilinear", "additive"};
    const char *run = fresh_path("run");
    Said train = must("train --run %s " TINY " --distances none --attention composed --score %s --steps 60 --json", run,
                      scores[_i]);
    Said eval = must("eval --run %s --bytes 300 --json", run), info = must("info --run %s", run);
    Json *trained = said_json(&train), *scored = said_json(&eval);
    ck_assert_msg(json_real(trained, "best") < 5, "%.4f bits/byte after 60 steps, 8 before",
                  json_real(trained, "best"));
    ck_assert_double_eq_tol(json_real(scored, "bits_per_byte"), json_real(trained, "best"), 1e-4);
    ck_assert_ptr_nonnull(strstr(info.out, "blocks.0.attention.score.query.weight"));
    ck_assert((strstr(info.out, "blocks.0.attention.score.out.weight") != NULL) == _i);
    json_free(trained);
    json_free(scored);
    said_free(&train);
    said_free(&eval);
    said_free(&info);
}

static const Test tests[] = {TEST_LEARNS(a_minute_of_learning_beats_counting, 0, 300),
                             TEST_LOOP(a_score_with_parameters_learns, 2)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/learning", tests, sizeof tests / sizeof *tests, argc, argv);
}
