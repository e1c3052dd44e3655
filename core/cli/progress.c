/* The progress line. A report is put together in one buffer and written at once, so that lines of several processes
 * do not mix. It is no error if standard error cannot be written to. */
#include "progress.h"

#include "base/clock.h"
#include "base/units.h"
#include "core/cli/stop.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct Line {
    char text[512];
    size_t size;
} Line;

static void line_add(Line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line_add(Line *line, const char *format, ...)
{
    size_t capacity = sizeof line->text - line->size;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line->text + line->size, capacity, format, arguments);
    va_end(arguments);
    if (n > 0)
        line->size += (size_t)n < capacity ? (size_t)n : capacity - 1;
}

/* What a narrow terminal must not cut off comes first. */
static void line_fill(Line *line, const Report *r)
{
    Quantity step = count_text(r->step), total = count_text(r->total);
    const char *counted = r->counted ? r->counted : "step";
    if (r->total)
        line_add(line, "%s %*s/%s", counted, (int)strlen(total.text), step.text, total.text);
    else
        line_add(line, "%s %9s", counted, step.text);
    if (r->unit)
        line_add(line, "  loss %7.4f %s", r->loss, r->unit);
    if (r->seconds_left >= 0)
        line_add(line, "  left %6s", duration_text(r->seconds_left).text);
    if (r->tokens_per_second >= 0 && r->tokens_per_second < 1e18)
        line_add(line, "  %9s tokens/s", count_text((uint64_t)(r->tokens_per_second + 0.5)).text);
    if (!(r->norm < 0)) /* NaN is shown */
        line_add(line, "  norm %6.3f", r->norm);
    if (!(r->rate < 0))
        line_add(line, "  lr %.2e", r->rate);
    if (r->mark)
        line_add(line, "  %s", r->mark);
}

Progress progress_open(FILE *out, bool quiet)
{
    const char *kind = getenv("TERM");
    bool terminal = isatty(fileno(out)) && kind && *kind && strcmp(kind, "dumb") != 0;
    return (Progress){.out = out, .quiet = quiet, .terminal = terminal};
}

static size_t terminal_width(FILE *out)
{
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        return size.ws_col;
#endif
    (void)out;
    return 80;
}

static void watch_show(void *self, const Report *report, bool stays)
{
    (stays ? progress_report : progress_between)(self, report);
}

static void watch_say(void *self, const char *text) { progress_note(self, "%s", text); }

Watch progress_watch(Progress *p) { return (Watch){p, watch_show, watch_say, stop_requested}; }

void progress_close(Progress *p)
{
    if (p->unfinished)
        fputs("\r\033[K", p->out);
    p->unfinished = false;
    fflush(p->out);
}

void progress_report(Progress *p, const Report *report)
{
    if (p->quiet)
        return;
    Line line = {.size = 0};
    line_fill(&line, report);
    fprintf(p->out, "%s%s\n", p->unfinished ? "\r\033[K" : "", line.text);
    p->unfinished = false;
    fflush(p->out);
}

void progress_between(Progress *p, const Report *report)
{
    double now = clock_seconds();
    if (p->quiet || !p->terminal || (p->unfinished && now - p->rewritten < 0.1))
        return;
    Line line = {.size = 0};
    line_fill(&line, report);
    size_t width = terminal_width(p->out); /* a line that wraps could not be taken back */
    fprintf(p->out, "\r%.*s\033[K", (int)(width - 1), line.text);
    p->unfinished = true;
    p->rewritten = now;
    fflush(p->out);
}

void progress_note(Progress *p, const char *format, ...)
{
    if (p->quiet)
        return;
    if (p->unfinished)
        fputs("\r\033[K", p->out);
    p->unfinished = false;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(p->out, format, arguments);
    va_end(arguments);
    fputc('\n', p->out);
    fflush(p->out);
}
