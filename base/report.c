/* See report.h. */
#include "base/report.h"

#include <stdarg.h>
#include <stdio.h>

void watch_report(const Watch *w, const Report *report, bool stays)
{
    if (w)
        w->report(w->self, report, stays);
}

void watch_note(const Watch *w, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (w)
        w->note(w->self, text);
}

bool watch_stop(const Watch *w) { return w && w->stop(); }
