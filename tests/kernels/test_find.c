/* Which backends there are, and what is said where there is none. */
#include "kernels/kernels.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const devices[] = {"plain", "cpu", "cuda", "emulated", "checked"};

enum { DEVICES = sizeof devices / sizeof *devices };

START_TEST(a_table_is_of_the_device_and_type_that_were_asked_for)
{
    int found = 0;
    for (size_t d = 0; d < DEVICES; d++)
        for (NumberType type = 0; type < NUMBER_TYPES; type++) {
            const Kernels *k = kernels_find(devices[d], type, NULL);
            if (!k)
                continue;
            found++;
            ck_assert_str_eq(k->backend, devices[d]);
            ck_assert_int_eq(k->type, type);
        }
    ck_assert_int_ge(found, 4);
}

/* The list is what can be found, no more and no less. */
START_TEST(a_device_that_is_not_there_is_told_with_those_that_are)
{
    Error e;
    char list[100] = "";
    for (size_t d = 0; d < DEVICES; d++)
        if (kernels_find(devices[d], NUMBER_F32, NULL))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "", devices[d]);
    ck_assert(!kernels_find("abacus", NUMBER_F32, &e));
    ck_assert_msg(strstr(e.text, "'abacus'") && strcmp(strstr(e.text, "it has ") + 7, list) == 0, "%s", e.text);
}

START_TEST(a_type_that_a_device_lacks_is_told_with_those_it_has)
{
    Error e;
    char list[100] = "";
    for (NumberType type = 0; type < NUMBER_TYPES; type++)
        if (kernels_find("cpu", type, NULL))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     number_type_name(type));
    ck_assert(!kernels_find("cpu", NUMBER_F64, &e));
    ck_assert_msg(strstr(e.text, "cpu does not support f64 (--device plain does);") &&
                      strcmp(strstr(e.text, "it supports ") + 12, list) == 0,
                  "%s", e.text);
}

/* The emulator's device can be any: 7.5 has no bf16, and there may be none. */
START_TEST(a_gpu_that_is_missing_or_too_old_is_one_line)
{
    Error e;
    if (!kernels_find("emulated", NUMBER_F32, NULL))
        return; /* nothing to ask */
    setenv("ATTEND_GPU", "none", 1);
    ck_assert(!kernels_find("emulated", NUMBER_F32, &e));
    ck_assert_msg(strstr(e.text, "device emulated: there is no GPU here") && !strchr(e.text, '\n'), "%s", e.text);
    ck_assert(!kernels_find("abacus", NUMBER_F32, &e));
    ck_assert_msg(!strstr(e.text, "emulated"), "%s", e.text);
    setenv("ATTEND_GPU", "7.5", 1);
    ck_assert(kernels_find("emulated", NUMBER_F32, NULL));
    ck_assert(!kernels_find("emulated", NUMBER_BF16, &e));
    ck_assert_msg(strstr(e.text, "bf16 needs a GPU of capability 8.0 or newer, this one has 7.5"), "%s", e.text);
    setenv("ATTEND_GPU", "8.0", 1);
    ck_assert(kernels_find("emulated", NUMBER_BF16, NULL));
    unsetenv("ATTEND_GPU");
}

START_TEST(an_operation_that_is_missing_is_plains_or_said)
{
    Error e;
    Kernels k = *kernels_find("cpu", NUMBER_BF16, &e);
    k.softmax_forward = NULL;
    k.adam_flush = NULL; /* which a backend may do without */
    k.on_host = true;
    ck_assert(kernels_complete(&k, &e));
    ck_assert(k.softmax_forward == kernels_find("plain", NUMBER_BF16, &e)->softmax_forward && !k.adam_flush);
    k.softmax_forward = NULL;
    k.on_host = false;
    ck_assert(!kernels_complete(&k, &e));
    ck_assert_str_eq(e.text, "device cpu lacks the operation softmax_forward, so it cannot run a network");
}

/* This machine has one, or says so in a line. */
START_TEST(cuda_is_there_or_a_line_says_why_not)
{
    Error e;
    const Kernels *k = kernels_find("cuda", NUMBER_F32, &e);
    ck_assert_msg(k ? !strcmp(k->backend, "cuda")
                    : (strstr(e.text, "device cuda: ") || strstr(e.text, "no device 'cuda' in this build")) &&
                          !strchr(e.text, '\n'),
                  "%s", k ? k->backend : e.text);
}

/* Whether there is one for bf16 depends on the machine: tests/charlm/test_precision.c. */
START_TEST(a_note_is_one_line_and_f32_has_none)
{
    for (size_t d = 0; d < DEVICES; d++)
        for (NumberType type = 0; type < NUMBER_TYPES; type++) {
            const Kernels *k = kernels_find(devices[d], type, NULL);
            const char *note = k && k->note ? k->note() : NULL;
            bool any = !strcmp(devices[d], "cuda"); /* may lack cuBLAS in each type */
            ck_assert(!note || ((any || type == NUMBER_BF16) && *note && !strchr(note, '\n')));
        }
}

static const Test tests[] = {TEST(a_table_is_of_the_device_and_type_that_were_asked_for),
                             TEST(a_device_that_is_not_there_is_told_with_those_that_are),
                             TEST(a_type_that_a_device_lacks_is_told_with_those_it_has),
                             TEST(an_operation_that_is_missing_is_plains_or_said),
                             TEST(a_gpu_that_is_missing_or_too_old_is_one_line),
                             TEST(cuda_is_there_or_a_line_says_why_not),
                             TEST(a_note_is_one_line_and_f32_has_none)};

int main(int argc, char **argv) { return suite_run("kernels/find", tests, sizeof tests / sizeof *tests, argc, argv); }
