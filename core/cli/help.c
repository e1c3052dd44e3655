/* What --help prints, from the tables alone: 80 columns, options by class, each with its default. */
#include "inner.h"

#include <string.h>

enum { WIDTH = 80, COLUMN = 28 }; /* the page, and where descriptions begin */

/* How many columns a UTF-8 text takes, one for each character. */
static size_t columns(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static void spaces(Buffer *out, size_t n) { buffer_print(out, "%*s", (int)n, ""); }

/* Adds `text` word by word from column `at`, in lines that begin at `indent`, and ends the line. */
static void wrapped(Buffer *out, const char *text, size_t at, size_t indent)
{
    bool first = true;
    while (*text) {
        size_t size = strcspn(text, " "), width = columns(text, size);
        if (!first && at + 1 + width > WIDTH) {
            buffer_print(out, "\n");
            spaces(out, indent);
            at = indent;
            first = true;
        }
        if (!first)
            buffer_print(out, " ");
        buffer_add(out, text, size);
        at += width + !first;
        first = false;
        text += size + strspn(text + size, " ");
    }
    buffer_print(out, "\n");
}

/* One entry: `left` as it stands, the description at COLUMN, below where left is too long. */
static void entry(Buffer *out, const char *left, const char *description)
{
    size_t width = columns(left, strlen(left));
    buffer_print(out, "%s", left);
    if (width + 2 > COLUMN) {
        buffer_print(out, "\n");
        width = 0;
    }
    spaces(out, COLUMN - width);
    wrapped(out, description, COLUMN, COLUMN);
}

static void option_entry(Buffer *out, const OptionState *state)
{
    const Option *row = state->row;
    Buffer left = {0}, right = {0};
    if (row->letter)
        buffer_print(&left, "  -%c, ", row->letter);
    else
        buffer_print(&left, "      ");
    buffer_print(&left, "--%s%s", row->kind == OPTION_YES_NO ? "[no-]" : "", row->name);
    switch (row->kind) {
    case OPTION_FLAG:
    case OPTION_YES_NO: break;
    case OPTION_SIZE: buffer_print(&left, " N"); break;
    case OPTION_REAL: buffer_print(&left, " X"); break;
    case OPTION_TEXT: buffer_print(&left, " %s", row->allowed ? row->allowed : "TEXT"); break;
    case OPTION_CHOICE: buffer_print(&left, " %s", value_choices(row).text); break;
    case OPTION_PRESET: buffer_print(&left, " NAME"); break;
    case OPTION_PATH:
    case OPTION_CONFIG: buffer_print(&left, " %s", row->allowed ? row->allowed : "FILE"); break;
    }
    const bool has_default = state->standard && row->kind != OPTION_FLAG;
    const size_t size = strlen(row->help);
    const bool joins = has_default && size && row->help[size - 1] == ')'; /* "(0: all)": "(0: all; default 8)" */
    buffer_print(&right, "%.*s", (int)(size - joins), row->help);
    if (has_default)
        buffer_print(&right, "%sdefault %s)", joins ? "; " : " (", *state->standard ? state->standard : "empty");
    if (left.failed || right.failed)
        out->failed = true;
    else
        entry(out, left.text, right.text);
    buffer_free(&left);
    buffer_free(&right);
}

static void named_entry(Buffer *out, const char *name, const char *description)
{
    Buffer left = {0};
    buffer_print(&left, "  %s", name);
    if (left.failed)
        out->failed = true;
    else
        entry(out, left.text, description);
    buffer_free(&left);
}

static void options_of_class(const Options *o, OptionClass class, const char *title, Buffer *out)
{
    bool any = false;
    for (size_t i = 0; i < o->count; i++) {
        const Option *row = o->states[i].row;
        if (row->class != class || !(row->commands & o->command->bit))
            continue;
        if (!any)
            buffer_print(out, "\n%s:\n", title);
        any = true;
        option_entry(out, &o->states[i]);
    }
}

static bool takes_presets(const Options *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->states[i].row->kind == OPTION_PRESET && o->states[i].row->commands & o->command->bit)
            return o->program->preset_count > 0;
    return false;
}

static void command_help(const Options *o, Buffer *out)
{
    const Command *c = o->command;
    buffer_print(out, "Usage: %s %s [OPTION...]%s%s\n\n", program_called(o->program), c->name, c->arguments ? " " : "",
                 c->arguments ? c->arguments : "");
    wrapped(out, c->help, 0, 0);
    options_of_class(o, OPTION_MODEL, "The model (fixed in a run)", out);
    options_of_class(o, OPTION_TRAINING, "Training (stored; kept on resume unless changed)", out);
    options_of_class(o, OPTION_HERE, "This call only (not stored)", out);
    entry(out, "  -h, --help", "print this help");
    if (!takes_presets(o))
        return;
    buffer_print(out, "\nPresets:\n");
    for (size_t i = 0; i < o->program->preset_count; i++)
        named_entry(out, o->program->presets[i].name, o->program->presets[i].help);
}

void options_help(const Options *o, Buffer *out)
{
    if (o->command) {
        command_help(o, out);
        return;
    }
    const Program *p = o->program;
    buffer_print(out, "Usage: %s COMMAND [OPTION...]\n\n", program_called(p));
    wrapped(out, p->about, 0, 0);
    buffer_print(out, "\nCommands:\n");
    for (size_t i = 0; i < p->command_count; i++)
        named_entry(out, p->commands[i].name, p->commands[i].help);
    buffer_print(out, "\n`%s COMMAND --help` lists a command's options.\n`%s --version` prints the version.\n",
                 program_called(p), program_called(p));
}
