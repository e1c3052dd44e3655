/* charlm: a causal character Transformer. */
#include "charlm/charlm.h"

int main(int argc, char **argv)
{
    Values values;
    Options options = {0};
    Charlm c = {.app = {.kind = &charlm_kind, .o = &values.shared, .options = &options}, .v = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {charlm_options, charlm_option_count, &values}};
    return app_main(&c.app, tables, 2, argc, argv);
}
