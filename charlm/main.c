/* charlm: a causal character Transformer. */
#include "charlm/charlm.h"

#include "core/program/heads.h"

int main(int argc, char **argv)
{
    Values values;
    LookValues look;
    Options options = {0};
    Charlm c = {.app = {.kind = &charlm_kind, .o = &values.shared, .options = &options, .look = &look}, .v = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {charlm_options, charlm_option_count, &values},
                                  {look_options, look_option_count, &look}};
    return app_main(&c.app, tables, 3, argc, argv);
}
