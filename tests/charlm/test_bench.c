/* charlm bench: with --profile, do the parts of a step make up the whole? With --sample, is what it compares there? */
#include "tests/command.h"

#include <string.h>

#define SMALL "--dim 32 --heads 4 --depth 2 --context 32 --batch 8 --micro-batch 2 --steps 20"

/* Milliseconds of all operations. */
static double operations_of(const Json *profile)
{
    const Json *list = json_get(profile, "operations");
    double sum = 0;
    ck_assert(list && list->kind == JSON_ARRAY && list->count > 10);
    for (size_t i = 0; i < list->count; i++) {
        const Json *one = &list->items[i];
        ck_assert(json_get_text(one, "operation") && json_real(one, "calls") > 0 && json_real(one, "ms") >= 0);
        sum += json_real(one, "ms");
    }
    return sum;
}

/* What is measured where it happens cannot be more than the whole; and what remains, batches and the tape, is small
 * even here, where operations are tiny. */
START_TEST(the_parts_of_a_step_make_up_the_whole)
{
    for (int workers = 1; workers <= 3; workers++) {
        Json *j = must_json("bench " SMALL " --profile --workers %d --json", workers);
        const Json *profile = json_get(j, "profile");
        ck_assert_ptr_nonnull(profile);
        double whole = json_real(profile, "whole_ms"), rest = json_real(profile, "rest_ms");
        double measured = operations_of(profile) + json_real(profile, "waiting_ms") +
                          json_real(profile, "profiling_ms");
        ck_assert_msg(measured + rest > 0.98 * whole && measured + rest < 1.02 * whole, "%g + %g of %g ms", measured,
                      rest, whole);
        ck_assert_msg(rest > -0.02 * whole && rest < 0.6 * whole, "the rest is %g of %g ms", rest, whole);
        ck_assert(whole >= 0.9 * 1e3 * json_real(j, "fastest_s"));
        json_free(j);
    }
}

START_TEST(the_table_names_operations_and_the_rest)
{
    static const char *const words[] = {"tokens/s",  "linear_forward 32 -> 128",  "attention_backward", "adam",
                                        "GFLOP/s",   "waiting for other workers", "the rest",           "the whole",
                                        "100.00 %\n"};
    Said said = must("bench " SMALL " --profile");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(strstr(said.out, words[i]), "no '%s' in\n%s", words[i], said.out);
    said_free(&said);
}

START_TEST(without_profile_there_is_none)
{
    Json *j = must_json("bench " SMALL " --json");
    ck_assert_ptr_null(json_get(j, "profile"));
    json_free(j);
}

/* Weights of a block: query, key, value and out, and two of the feed-forward network; then the logits. */
START_TEST(sampling_is_compared_with_reading_the_weights)
{
    static const char *const ways[] = {"", "--precision bf16", "--tie", "--device plain", "--context 1"};
    const double numbers = 2 * (4 * 32 * 32 + 2 * 32 * 128) + 256 * 32;
    Json *j = must_json("bench --sample " SMALL " --json %s", ways[_i]);
    double bytes = json_real(j, "weight_bytes"), read = json_real(j, "read_bytes_per_s");
    double share = json_real(j, "share"), rate = json_real(j, "characters_per_s");
    ck_assert(bytes == numbers * (_i == 1 ? 2 : 4));
    ck_assert(rate > 0 && json_real(j, "exact_characters_per_s") > 0);
    if (_i == 3) /* its streams have no team that could read */
        ck_assert(read == 0 && share == 0);
    else
        ck_assert_msg(read > 0 && share > 0.99 * rate * bytes / read - 1e-4 &&
                          share < 1.01 * rate * bytes / read + 1e-4,
                      "%g of %g", share, rate * bytes / read);
    json_free(j);
}

START_TEST(the_profile_of_sampling_names_its_operations)
{
    static const char *const precisions[] = {"f32", "int8"};
    const char *words[] = {"characters/s",      precisions[_i], "linear_forward 32 -> 128",
                           "attention_forward", "cache_append", "the whole"};
    Said said = must("bench --sample --profile " SMALL " --precision %s", precisions[_i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(strstr(said.out, words[i]), "no '%s' in\n%s", words[i], said.out);
    ck_assert_ptr_null(strstr(said.out, "backward"));
    said_free(&said);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(the_parts_of_a_step_make_up_the_whole),
                                 TEST(the_table_names_operations_and_the_rest), TEST(without_profile_there_is_none),
                                 TEST_LOOP(sampling_is_compared_with_reading_the_weights, 5),
                                 TEST_LOOP(the_profile_of_sampling_names_its_operations, 2)};
    test_folders_in_memory();
    return suite_run("charlm/bench", tests, sizeof tests / sizeof *tests, argc, argv);
}
