/* encdec: the Transformer of "Attention Is All You Need", which translates. */
#include "encdec/encdec.h"

#include "core/program/heads.h"

int main(int argc, char **argv)
{
    EncdecOptions values;
    InspectOptions look;
    Options options = {0};
    EncDec c = {.app = {.kind = &encdec_kind, .options = &values.shared, .command_line = &options, .inspect = &look},
                .options = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {encdec_options, encdec_option_count, &values},
                                  {inspect_options, inspect_option_count, &look}};
    return app_main(&c.app, tables, 3, argc, argv);
}
