/* See groups.h. */
#include "core/train/groups.h"

#include "base/memory.h"

#include <fnmatch.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a group may say, and of which optimizer. */
static const struct Key {
    const char *name, *optimizer; /* NULL: of any; a key may have several lines */
    size_t offset;
    double below; /* values are 0 or more, and less than that */
} keys[] = {{"lr", NULL, offsetof(Motion, rate), INFINITY},       {"decay", NULL, offsetof(Motion, decay), INFINITY},
            {"beta1", "adam", offsetof(Motion, adam.beta1), 1},   {"beta2", "adam", offsetof(Motion, adam.beta2), 1},
            {"momentum", "sgd", offsetof(Motion, adam.beta1), 1}, {"beta1", "lion", offsetof(Motion, adam.beta1), 1},
            {"beta2", "lion", offsetof(Motion, adam.beta2), 1},   {"beta1", "muon", offsetof(Motion, adam.beta1), 1},
            {"beta2", "muon", offsetof(Motion, adam.beta2), 1},   {"momentum", "muon", offsetof(Motion, momentum), 1}};

/* One of "PATTERN:KEY=X,KEY=X;..." */
typedef struct Group {
    char pattern[128];
    const char *settings, *end;
} Group;

static bool next_group(const char **at, Group *g)
{
    *at += strspn(*at, "; ");
    if (!**at)
        return false;
    g->end = *at + strcspn(*at, ";");
    const char *colon = memchr(*at, ':', (size_t)(g->end - *at)), *over = colon ? colon : g->end;
    g->settings = colon ? colon + 1 : g->end;
    snprintf(g->pattern, sizeof g->pattern, "%.*s", (int)(over - *at), *at);
    *at = g->end;
    return true;
}

/* KEY=X, up to a comma or the end of the group. */
static bool set(Motion *m, const char **at, const char *optimizer, Error *e)
{
    size_t size = strcspn(*at, ",;");
    const char *text = *at, *equals = memchr(text, '=', size);
    const struct Key *key = NULL;
    char own[80] = "";
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct Key *one = &keys[i];
        if (one->optimizer && strcmp(one->optimizer, optimizer) != 0)
            continue;
        if (equals && strlen(one->name) == (size_t)(equals - text) && !strncmp(one->name, text, strlen(one->name)))
            key = one;
        if (one->optimizer)
            snprintf(own + strlen(own), sizeof own - strlen(own), "%s%s=X", own[0] ? ", " : "", one->name);
    }
    if (!key)
        return fail(e, "--groups '%.*s': expected lr=X, decay=X%s%s", (int)size, text, own[0] ? " or " : "", own);
    char *after;
    double value = strtod(equals + 1, &after);
    if (after == equals + 1 || after != text + size || !(value >= 0 && value < key->below))
        return fail(e, "--groups '%.*s': expected a number from 0 on%s", (int)size, text,
                    key->below == 1 ? " and below 1" : "");
    memcpy((char *)m + key->offset, &value, sizeof value);
    *at += size + (text[size] == ',');
    return true;
}

static bool set_all(Motion *m, const Group *g, const char *optimizer, Error *e)
{
    const char *at = g->settings;
    if (!g->pattern[0] || at == g->end)
        return fail(e, "--groups: expected PATTERN:lr=X,decay=X;PATTERN:..., and found '%s'", g->pattern);
    while (at < g->end)
        if (!set(m, &at, optimizer, e))
            return false;
    return true;
}

bool groups_read(const char *text, int kind, size_t *count, Error *e)
{
    Group g;
    Motion m;
    *count = 0;
    for (const char *at = text ? text : ""; next_group(&at, &g); ++*count)
        if (!set_all(&m, &g, optimizer_kind(kind)->name, e))
            return false;
    return true;
}

/* Blocks have the same names but for their numbers. */
typedef struct Name {
    char text[sizeof((Parameter *)NULL)->name];
} Name;

static Name without_numbers(const char *name)
{
    Name n = {""};
    for (size_t used = 0; *name; used++) {
        size_t digits = strspn(name, "0123456789"); /* of a part that is nothing else */
        bool number = digits && (!used || n.text[used - 1] == '.') && name[digits] == '.';
        n.text[used] = number ? '*' : *name;
        name += number ? digits : 1;
    }
    return n;
}

static bool matches_nothing(const char *pattern, const Parameters *p, Error *e)
{
    Buffer names = {0};
    for (size_t i = 0; i < p->count; i++) { /* each name once */
        const Name name = without_numbers(p->list[i]->name);
        bool new = p->list[i]->role != ROLE_CONSTANT;
        for (size_t j = 0; new &&j < i; j++)
            new = strcmp(without_numbers(p->list[j]->name).text, name.text) != 0;
        if (new)
            buffer_print(&names, "%s%s", names.size ? ", " : "", name.text);
    }
    fail(e, "--groups '%s': no tensor that an earlier pattern does not take has such a name; there are %.370s%s",
         pattern, names.text && !names.failed ? names.text : "others", names.size > 370 ? "..." : "");
    buffer_free(&names);
    return false;
}

/* Puts those that no earlier group has taken into this one. */
static bool take(Motion *motions, const Parameters *p, const Group *g, size_t number, const char *optimizer, Error *e)
{
    bool some = false;
    for (size_t i = 0; i < p->count; i++) {
        if (motions[i].group || p->list[i]->role == ROLE_CONSTANT || fnmatch(g->pattern, p->list[i]->name, 0) != 0)
            continue;
        some = true;
        motions[i].group = number;
        if (!set_all(&motions[i], g, optimizer, e))
            return false;
    }
    return some || matches_nothing(g->pattern, p, e);
}

/* muP, of `named` groups and what is in none. SGD's steps grow with gradients, which shrink with the width; the largest
 * singular value of Muon's grows with its root, and so do weights, and Adafactor's steps with them, shrink. */
static size_t suit_width(Motion *motions, const Parameters *p, size_t named, const OptimizerKind *kind)
{
    size_t groups = named;
    for (size_t i = 0; i < p->count; i++) {
        const double wider = p->list[i]->wider, rate = (kind->of_gradient ? p->wider : 1) /
                                                       (motions[i].whole || kind->of_weights ? sqrt(wider) : wider);
        if (rate < 1 || rate > 1)
            motions[i].group += named + 1;
        motions[i].rate *= rate;
        motions[i].decay /= rate;
        groups = motions[i].group > groups ? motions[i].group : groups;
    }
    return groups;
}

Motion *groups_motions(const OptimizerOptions *o, const Parameters *p, size_t *groups, Error *e)
{
    const OptimizerKind *kind = optimizer_kind(o->kind);
    Motion *motions = memory_get(p->count, sizeof *motions);
    bool fine = (motions || memory_error(e, "how parameters move", p->count, sizeof *motions)) &&
                groups_read(o->groups, o->kind, groups, e);
    for (size_t i = 0; fine && i < p->count; i++)
        motions[i] = (Motion){.rate = 1,
                              .decay = p->list[i]->rank == 2 ? o->decay : 0,
                              .adam = o->adam,
                              .whole = kind->is_whole && kind->is_whole(p->list[i]),
                              .momentum = o->momentum};
    const char *at = o->groups ? o->groups : "";
    Group g;
    for (size_t number = 1; fine && next_group(&at, &g); number++)
        fine = take(motions, p, &g, number, kind->name, e);
    if (fine && p->wider > 0)
        *groups = suit_width(motions, p, *groups, kind);
    if (!fine)
        memory_free(motions);
    return fine ? motions : NULL;
}

enum { SHOWN = 5 }; /* names of a group */

/* Group `group` of `all`; muP's of it, too. */
static void report_group(Buffer *out, const Parameters *p, const Motion *motions, size_t group, size_t all)
{
    Buffer names = {0};
    size_t tensors = 0, numbers = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (p->list[i]->role == ROLE_CONSTANT || motions[i].group % all != group)
            continue;
        if (tensors++ < SHOWN)
            buffer_print(&names, "%s%s", tensors > 1 ? ", " : ": ", p->list[i]->name);
        numbers += p->list[i]->count;
    }
    buffer_print(out, ": %zu tensor%s of %zu numbers%s%s\n", tensors, tensors == 1 ? "" : "s", numbers,
                 names.text ? names.text : "", tensors > SHOWN ? ", .." : "");
    out->failed = out->failed || names.failed;
    buffer_free(&names);
}

bool groups_report(const OptimizerOptions *o, const Parameters *p, Buffer *out, Error *e)
{
    size_t number = 0, named, groups;
    Motion *motions = groups_read(o->groups, o->kind, &named, e) ? groups_motions(o, p, &groups, e) : NULL;
    if (!motions)
        return false;
    const char *at = o->groups ? o->groups : "";
    Group g;
    while (next_group(&at, &g)) {
        buffer_print(out, "  %s %.*s", g.pattern, (int)(g.end - g.settings), g.settings);
        report_group(out, p, motions, ++number, named + 1);
    }
    if (number) {
        buffer_print(out, "  the rest");
        report_group(out, p, motions, 0, named + 1);
    }
    memory_free(motions);
    return !out->failed || fail(e, "out of memory for a report of --groups");
}
