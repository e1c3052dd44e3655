/* Quantities as people read them: two units of time, three digits of bytes, counts in groups of three. */
#include "units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Quantity real_text(double x)
{
    Quantity q = {""};
    const bool whole = fabs(x) < 1e6 && !(floor(x) < x); /* one digit would make 3e+01 of 30 */
    for (int digits = whole ? 6 : 1; digits <= 17; digits++) {
        snprintf(q.text, sizeof q.text, "%.*g", digits, x);
        const double said = strtod(q.text, NULL);
        if (!(said < x || said > x))
            break;
    }
    return q;
}

Quantity count_text(uint64_t count)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    Quantity q = {""};
    size_t size = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            q.text[size++] = ',';
        q.text[size++] = digits[i];
    }
    return q;
}

Quantity bytes_text(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    Quantity q = {""};
    if (bytes < 1024) {
        snprintf(q.text, sizeof q.text, "%u B", (unsigned)bytes);
        return q;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    for (; value >= 1023.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    snprintf(q.text, sizeof q.text, value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return q;
}

Quantity duration_text(double seconds)
{
    Quantity q = {"?"};
    if (!(seconds >= 0 && seconds < 1e15))
        return q;
    if (seconds < 9.95) {
        snprintf(q.text, sizeof q.text, "%.1fs", seconds);
        return q;
    }
    unsigned long long s = (unsigned long long)(seconds + 0.5);
    if (s < 60)
        snprintf(q.text, sizeof q.text, "%llus", s);
    else if (s < 3600)
        snprintf(q.text, sizeof q.text, "%llum%02llus", s / 60, s % 60);
    else if (s < 86400)
        snprintf(q.text, sizeof q.text, "%lluh%02llum", s / 3600, s / 60 % 60);
    else
        snprintf(q.text, sizeof q.text, "%llud%02lluh", s / 86400, s / 3600 % 24);
    return q;
}

int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
