/* encdec: the Transformer of "Attention Is All You Need", which translates. */
#include "encdec/encdec.h"

int main(int argc, char **argv)
{
    Values values;
    Options options = {0};
    EncDec c = {.app = {.kind = &encdec_kind, .o = &values.shared, .options = &options}, .v = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {encdec_options, encdec_option_count, &values}};
    return app_main(&c.app, tables, 2, argc, argv);
}
