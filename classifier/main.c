/* classifier: a Transformer that tells what kind of text it reads. */
#include "classifier/classifier.h"

int main(int argc, char **argv)
{
    Values values;
    Options options = {0};
    Classifier c = {.app = {.kind = &classifier_kind, .o = &values.shared, .options = &options}, .v = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {classifier_options, classifier_option_count, &values}};
    return app_main(&c.app, tables, 2, argc, argv);
}
