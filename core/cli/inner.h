/* What the files that implement options.h share: reading and printing one value, finding and setting one option. */
#ifndef CORE_CLI_INNER_H
#define CORE_CLI_INNER_H

#include "options.h"

typedef union Value {
    bool yes;
    size_t size;
    double real;
    int choice;
    const char *text;
} Value;

/* value.c. The error says what was found and what is allowed; `dashes`, "--" or "", goes before the name. */
bool value_read(Value *value, const Option *row, const char *text, const char *dashes, Error *e);
Value value_get(const Option *row, const void *at);
void value_put(const Option *row, void *at, Value value);
bool value_equal(const Option *row, Value a, Value b);
bool value_is_text(const Option *row);
bool value_text(const Option *row, Value value, Buffer *out);

/* "relu|gelu": what a choice may be. */
typedef struct ChoiceNames {
    char text[160];
} ChoiceNames;
ChoiceNames value_choices(const Option *row);

/* Whether `allowed` is a range that can be read, and a choice has names and values that differ. */
bool value_range_is_sound(const Option *row);

/* options.c. `name` need not end at `length`. Commands may have options of one name that have nothing else in common;
 * what the command line means is the command's own, what a run or a configuration means is the one that is stored. */
OptionState *option_find(const Options *o, const char *name, size_t length);
OptionState *option_find_stored(const Options *o, const char *name, size_t length);
bool option_put(Options *o, OptionState *state, const char *text, const char *dashes, OptionSource source, Error *e);

/* "unknown option --dpeth; did you mean --depth?"; looks among the options of `commands` first. */
bool option_unknown(const Options *o, const char *name, size_t length, unsigned commands, const char *dashes, Error *e);

/* config.c */
bool config_read(Options *o, const char *path, Error *e);

#endif
