/* One option's value: read from text, checked against what its row allows, printed so that it reads back.
 *
 * Strict on purpose: no spaces, signs, hexadecimal or trailing letters are forgiven, because "12x" is a mistake that
 * should be named before a night of training, not after it. */
#include "inner.h"
#include "words.h"

#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Range {
    double low, high;
    bool low_open, high_open;
} Range;

/* Reads "[0,1)"; a side without a number has no limit. */
static bool range_read(Range *range, const char *text)
{
    *range = (Range){.low = -HUGE_VAL, .high = HUGE_VAL};
    if (!text)
        return true;
    if (*text != '[' && *text != '(')
        return false;
    range->low_open = *text++ == '(';
    char *end;
    if (*text != ',') {
        range->low = strtod(text, &end);
        text = end;
    }
    if (*text++ != ',')
        return false;
    if (*text != ']' && *text != ')') {
        range->high = strtod(text, &end);
        text = end;
    }
    range->high_open = *text == ')';
    return (*text == ']' || *text == ')') && text[1] == 0 && range->low <= range->high;
}

static bool range_holds(const Range *range, double x)
{
    return (range->low_open ? x > range->low : x >= range->low) &&
           (range->high_open ? x < range->high : x <= range->high);
}

static bool is_number(const Option *row) { return row->kind == OPTION_SIZE || row->kind == OPTION_REAL; }

/* Each name and each value once, and one at least; all of them have space in a message. */
static bool choices_are_sound(const OptionChoice *list)
{
    size_t size = 0;
    for (const OptionChoice *a = list; a && a->name; a++) {
        size += strlen(a->name) + 1;
        for (const OptionChoice *b = list; b < a; b++)
            if (strcmp(a->name, b->name) == 0 || a->value == b->value)
                return false;
    }
    return size && size <= sizeof(ChoiceNames);
}

bool value_range_is_sound(const Option *row)
{
    Range range;
    if (is_number(row))
        return range_read(&range, row->allowed);
    return row->kind != OPTION_CHOICE || choices_are_sound(row->choices);
}

/* Says what is allowed: "a whole number, at least 1". */
static Quoted allowed(const Option *row)
{
    Quoted q = {"yes or no"};
    if (!is_number(row))
        return q;
    const char *what = row->kind == OPTION_SIZE ? "a whole number" : "a number such as 0.25 or 3e-4";
    const char *least = row->kind == OPTION_SIZE ? ", at least 0" : "";
    Range range;
    range_read(&range, row->allowed);
    if (!row->allowed)
        snprintf(q.text, sizeof q.text, "%s%s", what, least);
    else if (range.high < HUGE_VAL)
        snprintf(q.text, sizeof q.text, "%s in %s", what, row->allowed);
    else
        snprintf(q.text, sizeof q.text, "%s, %s %.12g", what, range.low_open ? "above" : "at least", range.low);
    return q;
}

static bool size_read(size_t *size, const char *text)
{
    if (!*text || text[strspn(text, "0123456789")])
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    *size = (size_t)value;
    return errno == 0 && value <= SIZE_MAX;
}

/* vanished: it is another number than 0, and too small to be told from it; and 0 often means something of its own. */
static bool real_read(double *real, const char *text, bool *vanished)
{
    *vanished = false;
    if (!*text || text[strspn(text, "0123456789+-.eE")]) /* neither spaces, hexadecimal, inf nor nan */
        return false;
    char *end;
    errno = 0;
    *real = strtod(text, &end);
    *vanished = errno == ERANGE && *end == 0 && !(*real < 0) && !(*real > 0); /* 1e-320, too: see thread_flush */
    return end != text && *end == 0 && isfinite(*real) && !*vanished;
}

static bool yes_read(bool *yes, const char *text)
{
    *yes = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;
    return *yes || strcmp(text, "no") == 0 || strcmp(text, "false") == 0;
}

static bool choice_read(int *choice, const char *text, const OptionChoice *list)
{
    for (; list->name; list++)
        if (strcmp(list->name, text) == 0) {
            *choice = list->value;
            return true;
        }
    return false;
}

const char *choice_name(const OptionChoice *list, int value)
{
    while (list->name && list->value != value)
        list++;
    return list->name;
}

ChoiceNames value_choices(const Option *row)
{
    ChoiceNames q = {""};
    for (const OptionChoice *c = row->choices; c->name; c++) {
        size_t size = strlen(q.text);
        snprintf(q.text + size, sizeof q.text - size, "%s%s", size ? "|" : "", c->name);
    }
    return q;
}

bool value_is_text(const Option *row)
{
    return row->kind == OPTION_TEXT || row->kind == OPTION_PATH || row->kind == OPTION_PRESET ||
           row->kind == OPTION_CONFIG;
}

static bool holds_control(const char *text)
{
    while (*text && (unsigned char)*text >= ' ' && *text != 0x7f)
        text++;
    return *text != 0;
}

bool value_read(Value *value, const Option *row, const char *text, const char *dashes, Error *e)
{
    Quoted found = quoted(text, strlen(text));
    if (!*text && row->kind != OPTION_TEXT)
        return value_is_text(row) ? fail(e, "%s%s: its value is empty", dashes, row->name)
                                  : fail(e, "%s%s: its value is empty; it must be %s", dashes, row->name,
                                         row->kind == OPTION_CHOICE ? value_choices(row).text : allowed(row).text);
    if (row->kind == OPTION_PATH && holds_control(text)) /* messages print it */
        return fail(e, "%s%s '%s': a name with a control character", dashes, row->name, found.text);
    bool good = true, vanished = false;
    Range range;
    switch (row->kind) {
    case OPTION_FLAG:
    case OPTION_YES_NO: good = yes_read(&value->yes, text); break;
    case OPTION_SIZE:
        range_read(&range, row->allowed);
        good = size_read(&value->size, text) && range_holds(&range, (double)value->size);
        break;
    case OPTION_REAL:
        range_read(&range, row->allowed);
        good = real_read(&value->real, text, &vanished) && range_holds(&range, value->real);
        if (vanished)
            return fail(e, "%s%s '%s': is too small to be told from 0", dashes, row->name, found.text);
        break;
    case OPTION_CHOICE:
        if (choice_read(&value->choice, text, row->choices))
            break;
        return fail(e, "%s%s '%s': must be one of %s", dashes, row->name, found.text, value_choices(row).text);
    case OPTION_TEXT:
    case OPTION_PATH:
    case OPTION_PRESET:
    case OPTION_CONFIG: value->text = text; break;
    }
    return good || fail(e, "%s%s '%s': must be %s", dashes, row->name, found.text, allowed(row).text);
}

static size_t value_size(const Option *row)
{
    switch (row->kind) {
    case OPTION_FLAG:
    case OPTION_YES_NO: return sizeof(bool);
    case OPTION_SIZE: return sizeof(size_t);
    case OPTION_REAL: return sizeof(double);
    case OPTION_CHOICE: return sizeof(int);
    default: return sizeof(const char *);
    }
}

Value value_get(const Option *row, const void *at)
{
    Value value = {.text = NULL};
    memcpy(&value, at, value_size(row)); /* copied, so that an enum may hold a choice */
    return value;
}

void value_put(const Option *row, void *at, Value value) { memcpy(at, &value, value_size(row)); }

bool value_equal(const Option *row, Value a, Value b)
{
    if (value_is_text(row))
        return a.text && b.text ? strcmp(a.text, b.text) == 0 : a.text == b.text;
    if (row->kind == OPTION_REAL)
        return !(a.real < b.real) && !(a.real > b.real);
    return memcmp(&a, &b, value_size(row)) == 0;
}

bool value_text(const Option *row, Value value, Buffer *out)
{
    if (value_is_text(row)) {
        if (value.text)
            buffer_add(out, value.text, strlen(value.text));
        return value.text != NULL;
    }
    if (row->kind == OPTION_REAL) {
        buffer_print(out, "%s", real_text(value.real).text);
    } else if (row->kind == OPTION_SIZE) {
        if (!row->standard && value.size == 0)
            return false;
        buffer_print(out, "%zu", value.size);
    } else if (row->kind == OPTION_CHOICE) {
        const char *name = choice_name(row->choices, value.choice);
        if (!name)
            return false;
        buffer_print(out, "%s", name);
    } else {
        buffer_print(out, "%s", value.yes ? "yes" : "no");
    }
    return true;
}
