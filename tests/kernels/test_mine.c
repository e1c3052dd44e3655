/* The student's backend where it cannot be had. (That it computes, tools/course.sh tries with the course's
 * solutions.) */
#include "base/file.h"
#include "kernels/kernels.h"
#include "tests/suite.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder to stand in that holds course/mine */
static void stand_in_a_folder(void)
{
    ck_assert_int_eq(chdir(test_folder()), 0);
    ck_assert_int_eq(mkdir("course", 0777), 0);
    ck_assert_int_eq(mkdir("course/mine", 0777), 0);
}

START_TEST(without_a_library_it_is_said_how_to_make_one)
{
    Error e;
    stand_in_a_folder();
    ck_assert(!kernels_find("mine", NUMBER_F32, &e));
    ck_assert_msg(strstr(e.text, "course/mine/libmine.so") && strstr(e.text, "make course"), "%s", e.text);
}

START_TEST(what_is_no_library_is_refused)
{
    Error e;
    stand_in_a_folder();
    ck_done(file_write("course/mine/libmine.so", "no library", 10, &e), e);
    ck_assert(!kernels_find("mine", NUMBER_F32, &e));
    ck_assert_msg(strstr(e.text, "make course"), "%s", e.text);
}

START_TEST(it_computes_in_f32_alone)
{
    Error e;
    ck_assert(!kernels_find("mine", NUMBER_BF16, &e));
    ck_assert_str_eq(e.text, "device mine does not support bf16; it supports f32");
    ck_assert(!kernels_find("mine", NUMBER_F64, &e));
    ck_assert_str_eq(e.text, "device mine does not support f64 (--device plain does); it supports f32");
}

static const Test tests[] = {TEST(without_a_library_it_is_said_how_to_make_one), TEST(what_is_no_library_is_refused),
                             TEST(it_computes_in_f32_alone)};

int main(int argc, char **argv) { return suite_run("kernels/mine", tests, sizeof tests / sizeof *tests, argc, argv); }
