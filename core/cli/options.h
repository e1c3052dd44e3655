/* The options of a program: a table says what each one is; command line, configuration file, preset and stored run
 * fill the same values, and whichever source ranks higher wins, in whatever order they come:
 *
 *     default  <  preset  <  config file  <  stored run  <  command line
 *
 * In main: options_open, options_parse, look at `asked`, options_close at the end (it owns the texts). On resume, the
 * stored values follow through options_set(..., FROM_RUN, ...). Nothing here prints or exits. */
#ifndef CORE_CLI_OPTIONS_H
#define CORE_CLI_OPTIONS_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum OptionKind {                /* and what the value is in the caller's struct */
                          OPTION_FLAG,   /* bool; --json */
                          OPTION_YES_NO, /* bool; --bias, --no-bias, --bias=no; in files yes, no, true, false */
                          OPTION_SIZE,   /* size_t; decimal digits only */
                          OPTION_REAL,   /* double; finite, decimal */
                          OPTION_TEXT,   /* const char *; may be empty; NULL when never given */
                          OPTION_PATH,   /* const char *; not empty */
                          OPTION_CHOICE, /* int or enum: the value that `choices` gives the name */
                          OPTION_PRESET, /* const char *: one of the program's presets, applied when it is given */
                          OPTION_CONFIG, /* const char *: a file of settings, applied when it is given */
} OptionKind;

typedef enum OptionClass {
    OPTION_MODEL,    /* fixed in a run */
    OPTION_TRAINING, /* stored; kept on resume unless given again */
    OPTION_HERE,     /* of this call; never stored */
} OptionClass;

typedef enum OptionSource { FROM_DEFAULT, FROM_PRESET, FROM_CONFIG, FROM_RUN, FROM_COMMAND_LINE } OptionSource;

/* A name and the value it stands for; a list ends with a NULL. The order is that of the help and means nothing. */
typedef struct OptionChoice {
    const char *name;
    int value;
} OptionChoice;

typedef struct Option {
    const char *name; /* long name, without dashes */
    char letter;      /* or 0 */
    OptionKind kind;
    OptionClass class;
    unsigned commands;    /* the bits of the commands that take it */
    size_t offset;        /* of the value in the table's struct */
    const char *standard; /* the default as text; NULL: zero, false or NULL, and the help line says what that means; no
                           * run stores such a size or text, or a choice without a name, that was not given */
    union {
        const char *allowed; /* numbers: "[1,]" "(0,1]" "[0,1)"; texts and paths: their name in the help, "DIR"; NULL:
                                anything */
        const OptionChoice *choices;
    };
    const char *help; /* one line, with the unit */
} Option;

typedef struct OptionTable {
    const Option *rows;
    size_t count;
    void *values; /* the struct that the rows' offsets point into */
} OptionTable;

typedef struct App App; /* what runs commands: core/program */

typedef struct Command {
    const char *name;
    unsigned bit;
    const char *arguments; /* "[TEXT...]", shown in the help; NULL: it takes options only */
    const char *help;
    bool (*run)(App *a, Error *e); /* NULL where commands are only read */
} Command;

typedef struct Setting {
    const char *name, *value;
} Setting;

typedef struct Preset {
    const char *name, *help;
    const Setting *settings; /* up to one without a name */
} Preset;

typedef struct Options Options;

typedef struct Program {
    const char *name, *about;
    const char *called;      /* under which name it was started, where that is another: attend-charlm; or NULL */
    const Command *commands; /* main's table */
    size_t command_count;
    const Preset *presets;
    size_t preset_count;
    const Setting *defaults; /* where they differ from a shared row's; up to one without a name; or NULL */
} Program;

typedef struct OptionState {
    const Option *row;
    void *value;
    const char *standard; /* the row's or the program's default */
    OptionSource source;
    char *text;   /* owned; what value points to, for texts that are not the default */
    char *stored; /* owned; what the run had, where the command line changed it */
} OptionState;

typedef enum OptionsAsked { ASKED_WORK, ASKED_HELP, ASKED_VERSION } OptionsAsked;

struct Options {
    const Program *program;
    OptionState *states; /* one a row, in the order of the tables */
    size_t count;
    OptionsAsked asked;
    const Command *command; /* NULL until one was named */
    const char **arguments; /* what is neither command nor option; points into argv */
    size_t argument_count;
};

/* What to type. */
static inline const char *program_called(const Program *p) { return p->called ? p->called : p->name; }

/* Takes the tables and sets every value to its default. A table that contradicts itself is an error too. */
bool options_open(Options *o, const Program *program, const OptionTable *tables, size_t count, Error *e);
void options_close(Options *o);

/* Reads `PROGRAM COMMAND [OPTION...] [ARGUMENT...]`, then the config file and the preset that it names. With --help or
 * --version it stops there and says so in `asked`. */
bool options_parse(Options *o, int argc, char *const *argv, Error *e);

/* Sets one value unless a higher source has set it; the text is checked in any case. FROM_RUN comes after
 * options_parse: a MODEL option that the command line gave another value is refused, a TRAINING one is remembered
 * for options_changes. A run that has TRAINING options has all of them, so a preset that the command line gave is
 * refused. */
bool options_set(Options *o, const char *name, const char *text, OptionSource source, Error *e);

/* What another option of the command line means for this one: as if it had been given, too. */
bool options_mean(Options *o, const char *name, const char *text, Error *e);

/* After options_set(..., FROM_RUN, ...): a stored run has no value of this option, which has no `standard`, because it was
 * given none. That is as if what it `means` were stored (NULL: nothing that has a name). */
bool options_lack(OptionState *state, const char *means, Error *e);

/* Applies a preset that was not asked for by name, as the built-in data does. */
bool options_preset(Options *o, const char *name, Error *e);

/* The name of a value; NULL: the list has none for it. */
const char *choice_name(const OptionChoice *list, int value);

/* Where a value comes from; the name must be in a table. */
OptionSource options_source(const Options *o, const char *name);

/* Whether the command line gives it; and the first of a list, which ends with NULL, that it gives, or NULL. */
bool options_given(const Options *o, const char *name);
const char *options_first_given(const Options *o, const char *const *names);

/* What the opened run has, where the command line gives another value; NULL: it gives none. The name must be in a
 * table. */
const char *options_stored(const Options *o, const char *name);

/* Adds the value as a text that options_set reads back to the same bits. False, and nothing added, where a text has
 * no value. */
bool options_text(const OptionState *state, Buffer *out);

/* Adds "lr 0.001 -> 0.0005", one line for each TRAINING option that the command line changed in a resumed run. */
void options_changes(const Options *o, Buffer *out);

/* Adds the help of the command named, or of the program. */
void options_help(const Options *o, Buffer *out);

#endif
