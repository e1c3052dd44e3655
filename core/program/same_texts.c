/* See same_texts.h. */
#include "core/program/same_texts.h"

#include "base/memory.h"
#include "base/sha256.h"
#include "core/program/child.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool each_add(Each *t, const double *row, Error *e)
{
    if (!memory_grow(&t->value, &t->capacity, (t->count + 1) * t->columns, sizeof *t->value, "figures of texts", e))
        return false;
    memcpy(t->value + t->count++ * t->columns, row, t->columns * sizeof *row);
    return true;
}

void each_free(Each *t) { memory_free(t->value); }

double text_number(const void *bytes, size_t size)
{
    enum { DIGITS = 12 }; /* a double holds them exactly */
    Sha256 sum = sha256(bytes, size);
    sum.text[DIGITS] = 0;
    return (double)strtoull(sum.text, NULL, 16);
}

bool each_suits(App *a, Error *e)
{
    const SharedOptions *o = a->options;
    const char *other = o->json ? "json" : o->against ? "against" : o->dump_logits ? "dump-logits" : NULL;
    return !o->each || !other ||
           fail(e, "--each prints what each text adds, instead of the score: leave out --%s", other) || app_misused(a);
}

bool each_print(const Each *t, Error *e)
{
    Buffer b = {0};
    for (size_t i = 0; i < t->columns; i++)
        buffer_print(&b, "%s%s", i ? "\t" : "", t->names[i]);
    for (size_t i = 0; i < t->count * t->columns; i++)
        buffer_print(&b, "%s%.17g", i % t->columns ? "\t" : "\n", t->value[i]);
    buffer_print(&b, "\n");
    return app_print(&b, e);
}

/* ---- another run on the same texts */

static bool is_of_this_call(const char *name)
{
    static const char *const names[] = {"run",   "against",     "each",     "json",
                                        "quiet", "dump-logits", "mistakes", "ensemble"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* This call's command line, of another run, with --each. */
static bool other_words(Words *w, const App *a, const char *run, Error *e)
{
    const Options *o = a->command_line;
    *w = (Words){0};
    words_add(w, "%s", a->kind->name);
    words_add(w, "eval");
    words_add(w, "--each");
    words_add(w, "--quiet");
    words_add(w, "--run=%s", run);
    for (const OptionState *s = o->states; s < o->states + o->count; s++) {
        Buffer value = {0};
        if (s->source != FROM_COMMAND_LINE || is_of_this_call(s->row->name) || !options_text(s, &value))
            continue;
        if (s->row->kind == OPTION_FLAG)
            words_add(w, "--%s", s->row->name);
        else
            words_add(w, "--%s=%s", s->row->name, value.text);
        w->failed = w->failed || value.failed;
        buffer_free(&value);
    }
    return words_end(w, e);
}

/* Lines of numbers after a heading: those of the same texts? */
static bool read_each(Each *t, const Each *own, const char *run, char *text, Error *e)
{
    double *row = memory_get(t->columns, sizeof *row);
    bool same = row || memory_error(e, "figures of texts", t->columns, sizeof *row), fine = same;
    for (char *line = strchr(text, '\n'); same && line && line[1]; line = strchr(line + 1, '\n')) {
        char *at = line + 1;
        for (size_t c = 0; c < t->columns; c++)
            row[c] = strtod(at, &at);
        same = t->count < own->count && !memcmp(row, own->value + t->count * t->columns, sizeof *row);
        fine = !same || each_add(t, row, e);
        same = same && fine;
    }
    memory_free(row);
    return fine && ((same && t->count == own->count) ||
                    fail(e, "%s was scored on other texts: its data differ, or --seed drew another part of it", run));
}

bool each_of_run(Each *other, const Each *own, const App *a, const char *run, Error *e)
{
    Words w;
    Buffer out = {0};
    *other = (Each){.names = own->names, .columns = own->columns};
    if (!other_words(&w, a, run, e))
        return false;
    bool fine = child_answer(&out, &w, run, e) && read_each(other, own, run, out.text, e);
    words_free(&w);
    buffer_free(&out);
    if (!fine)
        each_free(other);
    return fine;
}

/* ---- what came of it */

void versus_print(const Versus *v)
{
    printf("%s: %s %.4f on the same texts; difference %+.4f", v->run, v->figure, v->other, v->difference);
    if (isnan(v->p) && v->difference == 0)
        printf(": no text tells the two apart\n");
    else if (isnan(v->p))
        printf(": too few texts for a test\n");
    else if (v->p < 0.0001) /* "0.0000" would say that it cannot be chance */
        printf(" (%+.4f to %+.4f), p < 0.0001\n  %s\n", v->low, v->high, v->test);
    else
        printf(" (%+.4f to %+.4f), p = %.4f\n  %s\n", v->low, v->high, v->p, v->test);
}

void versus_add(const Versus *v, Buffer *json)
{
    json_open(json, "against", '{');
    json_add_text(json, "run", v->run);
    json_add_member(json, "score", v->other);
    json_add_member(json, "difference", v->difference);
    json_add_member(json, "low", v->low);
    json_add_member(json, "high", v->high);
    json_add_member(json, "p", v->p);
    json_add_text(json, "test", v->test);
    buffer_print(json, "}");
}
