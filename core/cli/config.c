/* A configuration file: one `name = value` a line, long names without dashes. A line that begins with #, and what
 * follows a # after a blank, is a comment. Windows line ends and a byte order mark are no offence. JSON, such as a run's
 * config.json, is refused. */
#include "core/cli/config.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "inner.h"
#include "words.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

char *config_trim(char *text)
{
    while (is_blank(*text))
        text++;
    size_t n = strlen(text);
    while (n && is_blank(text[n - 1]))
        text[--n] = 0;
    return text;
}

void config_cut_comment(char *line)
{
    for (char *c = line; *c; c++)
        if (*c == '#' && (c == line || is_blank(c[-1]))) {
            *c = 0;
            return;
        }
}

static bool config_line(Options *o, char *line, Error *e)
{
    config_cut_comment(line);
    char *name = config_trim(line), *equals = strchr(name, '=');
    if (!*name)
        return true;
    if (!equals)
        return fail(e, "found '%s' where `name = value` should be", quoted(name, strlen(name)).text);
    *equals = 0;
    name = config_trim(name);
    if (!*name)
        return fail(e, "no name before '='");
    const OptionState *state = option_find_stored(o, name, strlen(name));
    if (state && state->row->kind == OPTION_CONFIG)
        return fail(e, "%s: a configuration file cannot name another", name);
    return options_set(o, name, config_trim(equals + 1), FROM_CONFIG, e);
}

static bool config_lines(Options *o, const char *path, char *text, Error *e)
{
    for (size_t number = 1; text; number++) {
        char *end = strchr(text, '\n');
        if (end)
            *end = 0;
        Error why;
        if (!config_line(o, text, &why))
            return fail(e, "%s:%zu: %s", path, number, why.text);
        text = end ? end + 1 : NULL;
    }
    return true;
}

bool config_read(Options *o, const char *path, Error *e)
{
    char *bytes;
    size_t size;
    if (!file_read_any(path, &bytes, &size, e))
        return false;
    char *text = bytes + utf8_mark(bytes, size);
    size -= (size_t)(text - bytes);

    bool good;
    if (memchr(text, 0, size)) {
        good = fail(e, "%s: holds a zero byte, so it is not a text file of settings", path);
    } else if (text[strspn(text, " \t\r\n")] != '{') {
        good = config_lines(o, path, text, e);
    } else {
        good = fail(e, "%s: starts with '{'; a configuration file consists of lines `name = value`, not JSON", path);
    }
    memory_free(bytes);
    return good;
}
