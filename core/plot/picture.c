/* See picture.h. The scripts are written into a folder that lives as long as gnuplot runs, because one loads
 * another. */
#define _DEFAULT_SOURCE /* TIOCGWINSZ */
#include "core/plot/picture.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/utf8.h"
#include "core/plot/glyphs.h"
#include "core/plot/scripts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- what is asked for */

/* A length of a size, "8.5cm": where it ends, or NULL where it is none, or no picture is so small. */
static const char *length_end(const char *text)
{
    static const struct {
        const char *name;
        double least;
    } units[] = {{"cm", 2}, {"mm", 20}, {"in", 0.8}, {"", 10}};
    char *end;
    if (strspn(text, "0123456789.") == 0)
        return NULL;
    double value = strtod(text, &end);
    if (end == text || strspn(text, "0123456789.") != (size_t)(end - text) || value > 1e5)
        return NULL;
    size_t unit = 0;
    while (strncmp(end, units[unit].name, strlen(units[unit].name)) != 0)
        unit++;
    return value >= units[unit].least ? end + strlen(units[unit].name) : NULL;
}

static bool size_sound(const char *size)
{
    const char *end = length_end(size);
    if (end && *end == 'x')
        end = length_end(end + 1);
    return end && !*end;
}

bool picture_sound(const Picture *p, Error *e)
{
    if (p->out && strchr(p->out, '\n'))
        return fail(e, "the picture's name contains a line end: choose another --out");
    const char *rest = p->out && *p->out ? p->out + 1 : ""; /* a name is more than its ending */
    if (p->out && !p->terminal && !name_ends(rest, ".png") && !name_ends(rest, ".svg") && !name_ends(rest, ".pdf") &&
        !name_ends(rest, ".txt"))
        return fail(e, "--out %s: expected a name that ends in .png, .svg, .pdf or .txt", p->out);
    if (p->size && !size_sound(p->size))
        return fail(e, "--size '%s': expected a width, or width x height, such as 8.5cm, 16cmx9cm or 900x540", p->size);
    if (p->terminal && (!p->terminal[0] || strpbrk(p->terminal, "\n`;$@\\")))
        return fail(e, "--terminal '%s': expected a gnuplot terminal, such as sixelgd, 'dumb ansi' or qt", p->terminal);
    return true;
}

/* ---- where gnuplot is */

static bool found_in(char *path, size_t size, const char *folder, size_t length)
{
    int written = snprintf(path, size, "%.*s/gnuplot", length ? (int)length : 1, length ? folder : ".");
    return written > 0 && (size_t)written < size && access(path, X_OK) == 0;
}

/* In PATH, or where `make deps` puts things without root. */
static bool find(char *path, size_t size)
{
    const char *folders = getenv("PATH");
    for (const char *at = folders; at && *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        if (found_in(path, size, at, length))
            return true;
        at += length;
    }
    return found_in(path, size, ".deps/bin", 9);
}

/* ---- running it */

/* A folder with all scripts in it; its path to be freed with memory_free. */
static bool unpack(char **folder, Error *e)
{
    const char *place = getenv("TMPDIR");
    bool done = true;
    *folder = path_join(place && *place ? place : "/tmp", "attend-XXXXXX");
    if (!*folder)
        return memory_error(e, "a path", 64, 1);
    if (!mkdtemp(*folder)) {
        fail(e, "cannot make a folder for gnuplot's scripts, %s: %s", *folder, strerror(errno));
        memory_free(*folder);
        *folder = NULL;
        return false;
    }
    for (const Embedded *one = plot_scripts; done && one->name; one++) {
        char *path = path_join(*folder, one->name);
        done = path ? file_write(path, one->text, one->size, e) : memory_error(e, "a path", 64, 1);
        memory_free(path);
    }
    return done;
}

/* What ends this program waits until the folder is gone. */
static void hold_stops(sigset_t *before)
{
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    sigprocmask(SIG_BLOCK, &stops, before);
}

/* gnuplot is not to wait, and where letters are not UTF-8 it would warn of its degree sign each time. */
static void prepare(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (unsetenv("LC_ALL") || setenv("LC_CTYPE", "C.UTF-8", 1))
        _exit(1);
}

/* The line of gnuplot's complaint that says what is wrong: it shows the place first, and its own line number. */
static void complaint(const Buffer *said, char *line, size_t size)
{
    const char *best = "no reason given";
    size_t length = strlen(best);
    for (const char *at = said->size ? said->text : ""; *at;) {
        size_t width = strcspn(at, "\n");
        if (width && strspn(at, " \t^") < width)
            best = at, length = width;
        at += width + (at[width] == '\n');
    }
    for (const char *mark = memchr(best, ':', length); *best == '"' && mark; mark = NULL) {
        length -= (size_t)(mark + 1 - best);
        best = mark + 1;
    }
    while (length && *best == ' ')
        best++, length--;
    snprintf(line, size, "%.*s", (int)(length < 300 ? length : 300), best);
}

/* As wide and high as the window is, less a line for the prompt. Coloured text on a terminal. */
static void suit_terminal(Picture *p, char *size, size_t capacity)
{
    struct winsize w;
    if (p->out || !isatty(STDOUT_FILENO))
        return;
    p->terminal = p->terminal ? p->terminal : "dumb ansi";
    if (p->size || strncmp(p->terminal, "dumb", 4) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || w.ws_col < 20)
        return;
    snprintf(size, capacity, "%ux%u", w.ws_col - 1U, w.ws_row > 12 ? w.ws_row - 2U : 24U);
    p->size = size;
}

/* gnuplot would run a name that begins with < or |, and knows others that are no files. */
static char *plain_path(const char *path)
{
    return *path == '/' || *path == '.' ? memory_string(path) : path_join(".", path);
}

/* Whether characters that no font has have to be kept from gnuplot. */
static bool is_cairo(const Picture *p)
{
    return p->terminal ? strstr(p->terminal, "cairo") != NULL
                       : p->out && (name_ends(p->out, ".png") || name_ends(p->out, ".pdf"));
}

/* The data that gnuplot is to read, to be freed with memory_free: p's own, or where fonts lack some of its characters a
 * copy in the folder; NULL: an Error. */
static char *data_to_draw(const Picture *p, const char *folder, Error *e)
{
    Buffer b = {0};
    char *text = NULL, *path = NULL;
    size_t size;
    bool replaced = false;
    if (is_cairo(p) && file_exists(p->data) &&
        !(file_read(p->data, &text, &size, e) && glyphs_suit(&b, text, size, &replaced, e)))
        path = NULL;
    else if (!(path = replaced ? path_join(folder, "data.tsv") : plain_path(p->data)))
        memory_error(e, "a path", 1, strlen(p->data));
    if (path && replaced && !file_write(path, b.text, b.size, e)) {
        memory_free(path);
        path = NULL;
    }
    buffer_free(&b);
    memory_free(text);
    return path;
}

/* Takes the picture to where it is asked for. gnuplot itself does not say when a disk is full. */
static bool deliver(const Picture *p, const Buffer *drawn, Error *e)
{
    if (drawn->failed)
        return fail(e, "out of memory for a picture");
    if (!p->out)
        fwrite(drawn->text, 1, drawn->size, stdout); /* a failure is found when the program ends */
    return !p->out || file_write_through(p->out, drawn->text, drawn->size, e);
}

/* Runs the script; what came of it. */
static bool run_script(const Picture *p, const char *gnuplot, const char *folder, Buffer *noise, Error *e)
{
    enum { FIXED = 10 };
    char name[128], reason[320];
    Buffer drawn = {0};
    snprintf(name, sizeof name, "%s.gp", p->script);
    char *data = data_to_draw(p, folder, e), *script = path_join(folder, name);
    const char *words[FIXED + PICTURE_MORE + 1] = {"gnuplot",
                                                   "-d",
                                                   "-e",
                                                   "to_stdout = 1",
                                                   "-c",
                                                   script,
                                                   data,
                                                   p->out ? p->out : "-",
                                                   p->size ? p->size : "-",
                                                   p->terminal ? p->terminal : "-"};
    for (size_t i = 0; i < PICTURE_MORE && p->more[i]; i++)
        words[FIXED + i] = p->more[i];
    bool done = data && (script || memory_error(e, "a path", 1, 64));
    if (done && process_run(gnuplot, words, prepare, &drawn, noise) != 0) {
        complaint(noise, reason, sizeof reason);
        done = fail(e, "gnuplot could not draw %s from %s: %s", p->out ? p->out : p->script, p->data, reason);
    }
    done = done && deliver(p, &drawn, e);
    buffer_free(&drawn);
    memory_free(script);
    memory_free(data);
    return done;
}

bool picture_draw(const Picture *picture, Buffer *said, Error *e)
{
    char gnuplot[4096], size[32], *folder = NULL;
    Picture p = *picture;
    Buffer noise = {0};
    sigset_t before;
    if (!picture_sound(&p, e))
        return false;
    if (!find(gnuplot, sizeof gnuplot))
        return fail(e, "gnuplot was not found; `make deps` installs it; the data is in %s", p.data);
    suit_terminal(&p, size, sizeof size);
    hold_stops(&before);
    bool done = unpack(&folder, e) && run_script(&p, gnuplot, folder, &noise, e);
    if (folder && !folder_remove(folder, done ? e : NULL))
        done = false;
    sigprocmask(SIG_SETMASK, &before, NULL);
    memory_free(folder);
    if (done && said && noise.size)
        buffer_add(said, noise.text, noise.size);
    buffer_free(&noise);
    return done;
}

/* ---- text */

/* A sign for a character that would end a field or vanish from it; NULL: it stays. */
static const char *sign(char c, bool token)
{
    switch (c) {
    case '\t': return "\u21e5";
    case '\n': return "\u21b5";
    case '"': return "\u201d";
    case ' ': return token ? "\u2423" : NULL;
    default: return NULL;
    }
}

void picture_text(Buffer *b, const char *text, size_t size, bool token)
{
    if (!size && token)
        buffer_print(b, "\u25a1");
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length(text + i, size - i);
        const char *shown = sign(text[i], token);
        if (shown)
            buffer_print(b, "%s", shown);
        else if (!length)
            buffer_print(b, "\ufffd");
        else if (length == 1 && ((unsigned char)text[i] < ' ' || text[i] == 0x7f)) /* few fonts have pictures of them */
            buffer_print(b, "x%02X", (unsigned)text[i]);
        else
            buffer_add(b, text + i, length);
        i += length ? length : 1;
    }
}

void picture_label(Buffer *b, const char *shown)
{
    for (size_t part; *shown; shown += part) {
        part = strcspn(shown, "\\");
        picture_text(b, shown, part, part > 0);
        if (shown[part])
            buffer_print(b, "\\\\");
        part += shown[part] != 0;
    }
}
