/* classifier: a Transformer that tells what kind of text it reads. */
#include "classifier/classifier.h"

#include "core/program/heads.h"

int main(int argc, char **argv)
{
    ClassifierOptions values;
    InspectOptions look;
    Options options = {0};
    Classifier c = {
        .app = {.kind = &classifier_kind, .options = &values.shared, .command_line = &options, .inspect = &look},
        .options = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {classifier_options, classifier_option_count, &values},
                                  {inspect_options, inspect_option_count, &look}};
    return app_main(&c.app, tables, 3, argc, argv);
}
