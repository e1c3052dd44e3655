/* The command line, as GNU programs read it:
 *
 *     PROGRAM COMMAND --dim 256 --dim=256 -b 32 -b32 --bias --no-bias -- ARGUMENT...
 *
 * Names are never abbreviated, so that a script continues working when an option is added. A value is the next word
 * whatever it looks like, unless it is itself an option of ours: that is a value forgotten. */
#include "base/memory.h"
#include "inner.h"
#include "words.h"

#include <string.h>

typedef struct Words {
    char *const *word;
    size_t count, next;
} Words;

static bool find_command(Options *o, const char *name, Error *e)
{
    const Program *p = o->program;
    Quoted word = quoted(name, strlen(name));
    Nearest near = {.word = word.text};
    for (size_t i = 0; i < p->command_count; i++) {
        if (strcmp(p->commands[i].name, name) == 0) {
            o->command = &p->commands[i];
            return true;
        }
        nearest_try(&near, p->commands[i].name);
    }
    if (name[0] == '-')
        return fail(e, "found '%s' where the command should be, as in `%s %s %s`", word.text, program_called(p),
                    p->command_count ? p->commands[0].name : "COMMAND", word.text);
    if (near.name)
        return fail(e, "unknown command '%s'; did you mean %s?", word.text, near.name);
    return fail(e, "unknown command '%s'; `%s --help` lists the commands", word.text, program_called(p));
}

static bool belongs(const Options *o, const Option *row, Error *e)
{
    if (row->commands & o->command->bit)
        return true;
    for (size_t i = 0; i < o->program->command_count; i++)
        if (row->commands & o->program->commands[i].bit)
            return fail(e, "--%s is an option of `%s %s`, not of `%s %s`", row->name, program_called(o->program),
                        o->program->commands[i].name, program_called(o->program), o->command->name);
    return fail(e, "--%s is not an option of `%s %s`", row->name, program_called(o->program), o->command->name);
}

static bool takes_value(const Option *row) { return row->kind != OPTION_FLAG && row->kind != OPTION_YES_NO; }

/* The next word as the value of `row`. */
static bool next_value(const Options *o, const Option *row, Words *words, const char **value, Error *e)
{
    if (words->next == words->count)
        return fail(e, "--%s needs a value, and nothing follows it", row->name);
    *value = words->word[words->next];
    if (strncmp(*value, "--", 2) == 0) {
        const char *name = *value + 2;
        if (option_find(o, name, strcspn(name, "=")))
            return fail(e, "--%s needs a value; found the option --%s (if you mean that text, write --%s=--%s)",
                        row->name, quoted(name, strlen(name)).text, row->name, quoted(name, strlen(name)).text);
    }
    words->next++;
    return true;
}

/* `--name`, `--name=value`, `--no-name`; `word` is after the dashes. */
static bool take_long(Options *o, const char *word, Words *words, Error *e)
{
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : NULL;
    OptionState *state = option_find(o, word, length);
    bool negated = !state && strncmp(word, "no-", 3) == 0;
    if (negated)
        state = option_find(o, word + 3, length - 3);
    if (!state)
        return option_unknown(o, word, length, o->command->bit, "--", e);

    const Option *row = state->row;
    if (!belongs(o, row, e))
        return false;
    if (negated && row->kind != OPTION_YES_NO)
        return fail(e, "--no-%s: --%s cannot be negated; leave it out instead", row->name, row->name);
    if (value && (negated || row->kind == OPTION_FLAG))
        return fail(e, "--%s takes no value; found '%s'", quoted(word, length).text, quoted(value, strlen(value)).text);
    if (!value && !takes_value(row))
        value = negated ? "no" : "yes";
    if (!value && !next_value(o, row, words, &value, e))
        return false;
    return option_put(o, state, value, "--", FROM_COMMAND_LINE, e);
}

static OptionState *find_letter(const Options *o, char letter)
{
    OptionState *other = NULL; /* of another command: good for the message */
    for (size_t i = 0; i < o->count; i++) {
        const Option *row = o->states[i].row;
        if (row->letter != letter)
            continue;
        if (row->commands & o->command->bit)
            return &o->states[i];
        other = &o->states[i];
    }
    return other;
}

/* `-q`, `-qj`, `-b 32`, `-b32`; `letters` is after the dash. */
static bool take_letters(Options *o, const char *letters, Words *words, Error *e)
{
    for (; *letters; letters++) {
        if (*letters == 'h') {
            o->asked = ASKED_HELP;
            return true;
        }
        OptionState *state = find_letter(o, *letters);
        if (!state)
            return fail(e, "unknown option '-%s'; long options start with two dashes",
                        quoted(letters, strlen(letters)).text);
        if (!belongs(o, state->row, e))
            return false;
        const char *value = "yes";
        if (takes_value(state->row)) {
            value = letters + 1;
            if (!*value && !next_value(o, state->row, words, &value, e))
                return false;
            return option_put(o, state, value, "--", FROM_COMMAND_LINE, e);
        }
        if (!option_put(o, state, value, "--", FROM_COMMAND_LINE, e))
            return false;
    }
    return true;
}

static bool take_argument(Options *o, const char *word, Error *e)
{
    if (!o->command->arguments)
        return fail(e, "`%s %s` takes options only; found '%s'", program_called(o->program), o->command->name,
                    quoted(word, strlen(word)).text);
    o->arguments[o->argument_count++] = word;
    return true;
}

static OptionsAsked asked_by(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return ASKED_HELP;
    return strcmp(word, "--version") == 0 ? ASKED_VERSION : ASKED_WORK;
}

static bool take_words(Options *o, Words *words, Error *e)
{
    bool only_arguments = false;
    while (words->next < words->count && o->asked == ASKED_WORK) {
        const char *word = words->word[words->next++];
        bool good = true;
        if (only_arguments || word[0] != '-' || word[1] == 0) /* "-" alone: standard input, by custom */
            good = take_argument(o, word, e);
        else if (strcmp(word, "--") == 0)
            only_arguments = true;
        else if (asked_by(word) != ASKED_WORK)
            o->asked = asked_by(word);
        else
            good = word[1] == '-' ? take_long(o, word + 2, words, e) : take_letters(o, word + 1, words, e);
        if (!good)
            return false;
    }
    return true;
}

/* The last --config and the last --preset; the file first, because it may name the preset. */
static bool apply_files(Options *o, Error *e)
{
    for (int presets = 0; presets < 2; presets++)
        for (size_t i = 0; i < o->count; i++) {
            const OptionState *state = &o->states[i];
            if (state->row->kind != (presets ? OPTION_PRESET : OPTION_CONFIG))
                continue;
            const char *name = value_get(state->row, state->value).text;
            if (name && !(presets ? options_preset(o, name, e) : config_read(o, name, e)))
                return false;
        }
    return true;
}

bool options_parse(Options *o, int argc, char *const *argv, Error *e)
{
    if (argc < 2)
        return fail(e, "which command? `%s --help` lists them", program_called(o->program));
    o->asked = asked_by(argv[1]);
    if (o->asked != ASKED_WORK)
        return true;
    if (!find_command(o, argv[1], e))
        return false;

    Words words = {argv, (size_t)argc, 2};
    memory_free(o->arguments);
    o->argument_count = 0;
    o->arguments = memory_get(words.count, sizeof *o->arguments);
    if (!o->arguments)
        return memory_error(e, "the command line", words.count, sizeof *o->arguments);
    return take_words(o, &words, e) && (o->asked != ASKED_WORK || apply_files(o, e));
}
