/* Presets are the models that they are named after. */
#include "tests/command.h"

START_TEST(each_preset_has_the_parameters_of_its_model)
{
    static const struct {
        const char *preset;
        double parameters;
    } models[] = {{"former", 9664768}, {"former-wide", 31684864}};
    for (size_t i = 0; i < 2; i++) {
        Said s = must("info --preset %s --json", models[i].preset);
        Json *j = said_json(&s);
        ck_assert_double_eq(json_real(j, "parameters"), models[i].parameters);
        ck_assert_double_eq(json_real(j, "tokens_a_step"), 32 * 256);
        json_free(j);
        said_free(&s);
    }
}
END_TEST

static const Test tests[] = {TEST(each_preset_has_the_parameters_of_its_model)};

int main(int argc, char **argv) { return suite_run("charlm/presets", tests, sizeof tests / sizeof *tests, argc, argv); }
