/* The table of options at work: opening it, and setting one value from one source.
 *
 * A value remembers its source and gives way only to one that ranks as high, so sources may come in any order: the
 * command line is read first, because it names the config file, the preset and the run. Reading values is value.c's,
 * the command line arguments.c's, the file config.c's. */
#include "options.h"

#include "base/memory.h"
#include "inner.h"
#include "words.h"

#include <assert.h>
#include <string.h>

static bool is_called(const Option *row, const char *name, size_t length)
{
    return strlen(row->name) == length && memcmp(row->name, name, length) == 0;
}

OptionState *option_find(const Options *o, const char *name, size_t length)
{
    OptionState *other = NULL; /* of another command: good for the message */
    for (size_t i = 0; i < o->count; i++) {
        const Option *row = o->states[i].row;
        if (!is_called(row, name, length))
            continue;
        if (o->command && row->commands & o->command->bit)
            return &o->states[i];
        other = other ? other : &o->states[i];
    }
    return other;
}

OptionState *option_find_stored(const Options *o, const char *name, size_t length)
{
    for (size_t i = 0; i < o->count; i++) {
        const Option *row = o->states[i].row;
        if (is_called(row, name, length) && row->class != OPTION_HERE)
            return &o->states[i];
    }
    return option_find(o, name, length);
}

bool option_unknown(const Options *o, const char *name, size_t length, unsigned commands, const char *dashes, Error *e)
{
    Quoted word = quoted(name, length);
    Nearest near = {.word = word.text}, negated = {.word = word.text + 3};
    bool no = strncmp(word.text, "no-", 3) == 0;
    for (size_t i = 0; i < o->count; i++) {
        const Option *row = o->states[i].row;
        if (!(row->commands & commands))
            continue;
        nearest_try(&near, row->name);
        if (no && row->kind == OPTION_YES_NO)
            nearest_try(&negated, row->name);
    }
    if (negated.name && !*dashes) /* a file's line, where no option is negated */
        return fail(e, "unknown option %s; did you mean `%s = no`?", word.text, negated.name);
    if (!near.name && negated.name)
        return fail(e, "unknown option %s%s; did you mean %sno-%s?", dashes, word.text, dashes, negated.name);
    if (near.name)
        return fail(e, "unknown option %s%s; did you mean %s%s?", dashes, word.text, dashes, near.name);
    if (*dashes && o->command)
        return fail(e, "unknown option %s%s; `%s %s --help` lists the options", dashes, word.text,
                    program_called(o->program), o->command->name);
    return fail(e, "unknown option %s%s", dashes, word.text);
}

static const Preset *preset_find(const Options *o, const char *name)
{
    for (size_t i = 0; i < o->program->preset_count; i++)
        if (strcmp(o->program->presets[i].name, name) == 0)
            return &o->program->presets[i];
    return NULL;
}

static bool preset_unknown(const Options *o, const char *name, Error *e)
{
    Quoted word = quoted(name, strlen(name));
    Nearest near = {.word = word.text};
    Buffer names = {0};
    for (size_t i = 0; i < o->program->preset_count; i++) {
        buffer_print(&names, "%s%s", i ? ", " : "", o->program->presets[i].name);
        nearest_try(&near, o->program->presets[i].name);
    }
    if (near.name)
        fail(e, "unknown preset '%s'; did you mean %s?", word.text, near.name);
    else
        fail(e, "unknown preset '%s'; the presets are: %s", word.text,
             names.size && !names.failed ? names.text : "none");
    buffer_free(&names);
    return false;
}

/* A stored run meets a value that the command line gave. */
static bool compare_with_run(OptionState *state, const char *text, Value stored, Error *e)
{
    const Option *row = state->row;
    Value given = value_get(row, state->value);
    if (value_equal(row, given, stored))
        return true;
    if (row->class == OPTION_MODEL) {
        Buffer now = {0};
        value_text(row, given, &now);
        fail(e, "--%s %s: the run has %s, which is fixed; leave the option out or start a new run", row->name,
             now.size && !now.failed ? quoted(now.text, now.size).text : "''", quoted(text, strlen(text)).text);
        buffer_free(&now);
        return false;
    }
    char *copy = memory_string(text);
    if (!copy)
        return memory_error(e, row->name, strlen(text) + 1, 1);
    memory_free(state->stored);
    state->stored = copy;
    return true;
}

/* A run that goes on has options of training, and they are not a preset's; --from takes a model's options alone, and a
 * preset for the rest. */
static bool without_preset(const Options *o, const Option *row, Error *e)
{
    for (size_t i = 0; row->class == OPTION_TRAINING && i < o->count; i++) {
        const OptionState *state = &o->states[i];
        if (state->row->kind == OPTION_PRESET && state->source == FROM_COMMAND_LINE)
            return fail(e,
                        "--%s %s: a run keeps the options that it was made with, and a preset is for a new run; "
                        "leave it out",
                        state->row->name, value_get(state->row, state->value).text);
    }
    return true;
}

bool option_put(Options *o, OptionState *state, const char *text, const char *dashes, OptionSource source, Error *e)
{
    const Option *row = state->row;
    Value value;
    if (!value_read(&value, row, text, dashes, e))
        return false;
    if (row->kind == OPTION_PRESET && !preset_find(o, text))
        return preset_unknown(o, text, e);
    if (source == FROM_RUN && row->class == OPTION_HERE)
        return fail(e, "%s: this option is never stored in a run", row->name);
    if (source == FROM_RUN && !without_preset(o, row, e))
        return false;
    if (source == FROM_RUN && state->source == FROM_COMMAND_LINE)
        return compare_with_run(state, text, value, e);
    if (source < state->source)
        return true;

    char *copy = NULL;
    if (value_is_text(row) && source > FROM_DEFAULT) { /* defaults are constants of the program */
        copy = memory_string(text);
        if (!copy)
            return memory_error(e, row->name, strlen(text) + 1, 1);
        value.text = copy;
    }
    memory_free(state->text);
    state->text = copy;
    state->source = source;
    value_put(row, state->value, value);
    return true;
}

bool options_set(Options *o, const char *name, const char *text, OptionSource source, Error *e)
{
    OptionState *state = option_find_stored(o, name, strlen(name));
    if (!state)
        return option_unknown(o, name, strlen(name), ~0u, "", e);
    return option_put(o, state, text, "", source, e);
}

bool options_mean(Options *o, const char *name, const char *text, Error *e)
{
    OptionState *state = option_find_stored(o, name, strlen(name));
    Buffer had = {0};
    if (state->source == FROM_RUN && !state->stored && options_text(state, &had)) {
        state->stored = had.failed ? NULL : memory_string(had.text);
        buffer_free(&had);
        if (!state->stored)
            return memory_error(e, name, 1, 1);
    }
    return option_put(o, state, text, "", FROM_COMMAND_LINE, e);
}

bool options_lack(OptionState *state, const char *means, Error *e)
{
    const Option *row = state->row;
    Buffer now = {0};
    if (state->source == FROM_DEFAULT)
        return true;
    if (state->source <= FROM_RUN) { /* a preset's or a configuration's, before which the run goes */
        memory_free(state->text);
        state->text = NULL;
        state->source = FROM_DEFAULT;
        value_put(row, state->value, (Value){.text = NULL});
        return true;
    }
    const bool given = options_text(state, &now);
    const char *text = now.text ? now.text : "";
    bool fine = !now.failed || memory_error(e, row->name, now.size, 1);
    if (fine && given && (!means || strcmp(text, means) != 0)) {
        means = means ? means : "none";
        if (row->class == OPTION_MODEL)
            fine = fail(e, "--%s %s: the run has %s, which is fixed; leave the option out or start a new run",
                        row->name, quoted(text, strlen(text)).text, means);
        else {
            memory_free(state->stored);
            state->stored = memory_string(means);
            fine = state->stored || memory_error(e, row->name, strlen(means) + 1, 1);
        }
    }
    buffer_free(&now);
    return fine;
}

bool options_preset(Options *o, const char *name, Error *e)
{
    const Preset *preset = preset_find(o, name);
    if (!preset)
        return preset_unknown(o, name, e);
    for (const Setting *s = preset->settings; s->name; s++)
        if (!options_set(o, s->name, s->value, FROM_PRESET, e))
            return false;
    return true;
}

OptionSource options_source(const Options *o, const char *name)
{
    const OptionState *state = option_find(o, name, strlen(name));
    assert(state);
    return state->source;
}

bool options_given(const Options *o, const char *name) { return options_source(o, name) == FROM_COMMAND_LINE; }

const char *options_first_given(const Options *o, const char *const *names)
{
    while (*names && !options_given(o, *names))
        names++;
    return *names;
}

const char *options_stored(const Options *o, const char *name)
{
    const OptionState *state = option_find_stored(o, name, strlen(name));
    assert(state);
    return state->stored;
}

bool options_text(const OptionState *state, Buffer *out)
{
    const Value value = value_get(state->row, state->value);
    if (state->row->kind == OPTION_SIZE && state->source > FROM_DEFAULT && value.size == 0) {
        buffer_print(out, "0"); /* which was given, and need not mean the same */
        return true;
    }
    return value_text(state->row, value, out);
}

void options_changes(const Options *o, Buffer *out)
{
    for (size_t i = 0; i < o->count; i++) {
        const OptionState *state = &o->states[i];
        if (!state->stored)
            continue;
        Buffer now = {0};
        options_text(state, &now);
        const char *text = now.text ? now.text : "";
        out->failed = out->failed || now.failed;
        if (strcmp(text, state->stored) != 0) /* what was given may have come to mean the same */
            buffer_print(out, "%s %s -> %s\n", state->row->name, state->stored, text);
        buffer_free(&now);
    }
}

/* Two rows must not answer to the same name or letter in one command; nor may a run store two of one name. */
static bool check_row(const Options *o, const Option *row, Error *e)
{
    if (strcmp(row->name, "help") == 0 || strcmp(row->name, "version") == 0 || row->letter == 'h')
        return fail(e, "option table: --%s would hide --help or --version", row->name);
    if (!value_range_is_sound(row))
        return fail(e, "option table: --%s has a malformed `allowed`: '%s'", row->name,
                    row->allowed && row->kind != OPTION_CHOICE ? row->allowed : "");
    for (size_t i = 0; i < o->count; i++) {
        const Option *other = o->states[i].row;
        bool both = other->commands & row->commands || (other->class != OPTION_HERE && row->class != OPTION_HERE);
        if (strcmp(other->name, row->name) == 0 && both)
            return fail(e, "option table: --%s appears twice", row->name);
        if (row->letter && other->letter == row->letter && other->commands & row->commands)
            return fail(e, "option table: -%c means both --%s and --%s", row->letter, other->name, row->name);
    }
    return true;
}

static bool set_default(Options *o, OptionState *state, const char *text, Error *e)
{
    state->standard = text;
    if (text)
        return option_put(o, state, text, "default of --", FROM_DEFAULT, e);
    value_put(state->row, state->value, (Value){.text = NULL});
    return true;
}

static bool add_row(Options *o, const Option *row, void *values, Error *e)
{
    if (!check_row(o, row, e))
        return false;
    OptionState *state = &o->states[o->count++];
    *state = (OptionState){.row = row, .value = (char *)values + row->offset};
    return set_default(o, state, row->standard, e);
}

/* The program's own defaults, and whether each preset names real options and good values. */
static bool check_program(Options *o, Error *e)
{
    for (const Setting *s = o->program->defaults; s && s->name; s++) {
        OptionState *state = option_find_stored(o, s->name, strlen(s->name));
        if (!state)
            return option_unknown(o, s->name, strlen(s->name), ~0u, "", e);
        if (!set_default(o, state, s->value, e))
            return false;
    }
    for (size_t i = 0; i < o->program->preset_count; i++) {
        const Preset *preset = &o->program->presets[i];
        for (const Setting *s = preset->settings; s->name; s++) {
            OptionState *state = option_find_stored(o, s->name, strlen(s->name));
            Error why;
            Value unused;
            if (state ? !value_read(&unused, state->row, s->value, "", &why)
                      : !option_unknown(o, s->name, strlen(s->name), ~0u, "", &why))
                return fail(e, "preset %s: %s", preset->name, why.text);
        }
    }
    return true;
}

bool options_open(Options *o, const Program *program, const OptionTable *tables, size_t count, Error *e)
{
    *o = (Options){.program = program};
    size_t rows = 0;
    for (size_t t = 0; t < count; t++)
        rows += tables[t].count;
    o->states = memory_get(rows, sizeof *o->states);
    if (!o->states)
        return memory_error(e, "the table of options", rows, sizeof *o->states);

    bool good = true;
    for (size_t t = 0; t < count && good; t++)
        for (size_t i = 0; i < tables[t].count && good; i++)
            good = add_row(o, &tables[t].rows[i], tables[t].values, e);
    good = good && check_program(o, e);
    if (!good)
        options_close(o);
    return good;
}

void options_close(Options *o)
{
    for (size_t i = 0; i < o->count; i++) {
        memory_free(o->states[i].text);
        memory_free(o->states[i].stored);
    }
    memory_free(o->states);
    memory_free(o->arguments);
    *o = (Options){.program = o->program};
}
