/* charlm: a causal character Transformer. */
#include "charlm/charlm.h"

#include "core/program/heads.h"

int main(int argc, char **argv)
{
    CharlmOptions values;
    InspectOptions look;
    Options options = {0};
    Charlm c = {.app = {.kind = &charlm_kind, .options = &values.shared, .command_line = &options, .inspect = &look},
                .options = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {charlm_options, charlm_option_count, &values},
                                  {inspect_options, inspect_option_count, &look}};
    return app_main(&c.app, tables, 3, argc, argv);
}
