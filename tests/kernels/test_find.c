/* Which twins there are, and what is said where there is none. */
#include "kernels/kernels.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static const char *const devices[] = {"plain", "cpu", "emulated", "checked"};

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
            ck_assert_str_eq(k->twin, devices[d]);
            ck_assert_int_eq(k->type, type);
        }
    ck_assert_int_ge(found, 4);
}
END_TEST

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
END_TEST

START_TEST(a_type_that_a_device_lacks_is_told_with_those_it_has)
{
    Error e;
    char list[100] = "";
    for (NumberType type = 0; type < NUMBER_TYPES; type++)
        if (kernels_find("cpu", type, NULL))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     number_type_name(type));
    ck_assert(!kernels_find("cpu", NUMBER_F64, &e));
    ck_assert_msg(strstr(e.text, "cpu does not compute in f64") && strcmp(strstr(e.text, "does in ") + 8, list) == 0,
                  "%s", e.text);
}
END_TEST

/* Whether there is one for bf16 depends on the machine: tests/charlm/test_precision.c. */
START_TEST(a_note_is_one_line_and_f32_has_none)
{
    for (size_t d = 0; d < DEVICES; d++)
        for (NumberType type = 0; type < NUMBER_TYPES; type++) {
            const Kernels *k = kernels_find(devices[d], type, NULL);
            const char *note = k && k->note ? k->note() : NULL;
            ck_assert(!note || (type == NUMBER_BF16 && *note && !strchr(note, '\n')));
        }
}
END_TEST

static const Test tests[] = {TEST(a_table_is_of_the_device_and_type_that_were_asked_for),
                             TEST(a_device_that_is_not_there_is_told_with_those_that_are),
                             TEST(a_type_that_a_device_lacks_is_told_with_those_it_has),
                             TEST(a_note_is_one_line_and_f32_has_none)};

int main(int argc, char **argv) { return suite_run("kernels/find", tests, sizeof tests / sizeof *tests, argc, argv); }
