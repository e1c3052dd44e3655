/* See child.h. */
#include "core/program/child.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "core/plot/logs.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

Json *object_read(const char *path)
{
    char *text = NULL;
    size_t size;
    Json *j = NULL;
    Error e;
    if (file_exists(path) && file_read(path, &text, &size, &e) && !json_read(&j, text, size, path, &e))
        j = NULL;
    memory_free(text);
    return j;
}

double object_real(const Json *j, const char *key)
{
    const Json *member = json_get(j, key);
    return member && member->kind == JSON_NUMBER ? member->number : NAN;
}

void words_add(Words *w, const char *format, ...)
{
    va_list list;
    char *word = NULL;
    va_start(list, format);
    const int size = vsnprintf(NULL, 0, format, list) + 1;
    va_end(list);
    w->failed = w->failed || !memory_grow(&w->word, &w->capacity, w->count + 2, sizeof *w->word, "", NULL) ||
                !(word = memory_get((size_t)size, 1));
    if (w->failed)
        return;
    va_start(list, format);
    vsnprintf(word, (size_t)size, format, list);
    va_end(list);
    w->word[w->count++] = word;
}

bool words_end(Words *w, Error *e)
{
    if (!w->failed)
        return true;
    memory_error(e, "a command line", w->count, 32);
    words_free(w);
    return false;
}

void words_free(Words *w)
{
    for (size_t i = 0; i < w->count; i++)
        memory_free(w->word[i]);
    memory_free(w->word);
    *w = (Words){0};
}

/* The last line that is not empty, of a text that ends there afterwards. */
static const char *last_of(char *text, size_t size)
{
    while (size && text[size - 1] == '\n')
        text[--size] = 0;
    const char *end = strrchr(text, '\n');
    return end ? end + 1 : text;
}

void child_last_words(char *line, size_t capacity, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    Error e;
    snprintf(line, capacity, "it printed nothing");
    if (file_exists(path) && file_read(path, &text, &size, &e)) {
        const char *last = last_of(text, size);
        if (*last)
            snprintf(line, capacity, "%s", last);
    }
    memory_free(text);
}

bool child_words(Words *w, const Child *c, const char *where, const char *path, Error *e)
{
    const PlanRun *run = c->run;
    const bool resume = where && !strcmp(where, "resume");
    *w = (Words){0};
    words_add(w, "%s", c->program);
    words_add(w, "train");
    words_add(w, "--json");
    if (where)
        words_add(w, "--%s=%s", where, path);
    else
        words_add(w, "--dry-run");
    if (!resume && !plan_value(run, "workers"))
        words_add(w, "--workers=%zu", c->workers);
    for (size_t i = 0; !resume && i < run->count; i++)
        words_add(w, "--%s=%s", run->option[i].name, run->option[i].value);
    return words_end(w, e);
}

/* ---- what it will take */

static bool take_cost(Cost *c, const Json *j)
{
    const double steps = object_real(j, "steps");
    *c = (Cost){object_real(j, "parameters"), object_real(j, "flop_a_step") * steps, steps, object_real(j, "minutes")};
    return !isnan(c->flop) && !isnan(c->parameters);
}

bool cost_read(Cost *c, const char *path)
{
    Json *j = object_read(path);
    bool fine = j && take_cost(c, j);
    json_free(j);
    return fine;
}

static int run_words(const Words *w, Buffer *out, Buffer *err)
{
    return process_run(process_self, (const char *const *)w->word, NULL, out, err);
}

/* What a process said last, without its name. */
static const char *last_line(Buffer *err)
{
    if (!err->size)
        return "it could not be run";
    const char *line = last_of(err->text, err->size), *colon = strstr(line, ": ");
    return colon ? colon + 2 : line;
}

bool child_answer(Buffer *out, const Words *words, const char *about, Error *e)
{
    Buffer err = {0};
    bool fine = run_words(words, out, &err) == 0 && out->size && !out->failed;
    if (!fine) {
        fail(e, "%s: %s", about, last_line(&err));
        buffer_free(out);
    }
    buffer_free(&err);
    return fine;
}

bool cost_ask(Cost *c, const Child *child, const char *path, int *status, Error *e)
{
    Buffer out = {0}, err = {0};
    Json *j = NULL;
    Words w;
    Error why = {{0}};
    if (!child_words(&w, child, NULL, NULL, e))
        return false;
    *status = run_words(&w, &out, &err);
    bool fine = *status == 0 && !out.failed && json_read(&j, out.text ? out.text : "", out.size, "its plan", &why) &&
                take_cost(c, j) && (!path || file_write(path, out.text, out.size, &why));
    if (!fine)
        fail(e, "%s", *status == 0 && why.text[0] ? why.text : last_line(&err));
    json_free(j);
    buffer_free(&out);
    buffer_free(&err);
    words_free(&w);
    return fine;
}

/* The size of all files in a folder. */
static double folder_bytes(const char *path)
{
    char **names;
    size_t count = 0;
    double bytes = 0;
    struct stat about;
    Error e;
    if (!folder_list(path, &names, &count, &e))
        return 0;
    for (size_t i = 0; i < count; i++) {
        char *inner = path_join(path, names[i]);
        bytes += inner && !stat(inner, &about) ? (double)about.st_size : 0;
        memory_free(inner);
    }
    folder_list_free(names, count);
    return bytes;
}

/* The run with as many steps as it takes to measure one. */
static bool short_run(PlanRun *to, const PlanRun *from, Error *e)
{
    static const PlanOption instead[] = {{"steps", "4"}, {"epochs", "0"}, {"minutes", "0"}, {"keep", "0"}};
    enum { INSTEAD = sizeof instead / sizeof *instead };
    *to = (PlanRun){.name = from->name, .option = memory_get(from->count + INSTEAD, sizeof *to->option)};
    if (!to->option)
        return memory_error(e, "options of a run", from->count, sizeof *to->option);
    for (size_t i = 0; i < from->count; i++) {
        bool replaced = false;
        for (size_t k = 0; k < INSTEAD; k++)
            replaced = replaced || !strcmp(from->option[i].name, instead[k].name);
        if (!replaced)
            to->option[to->count++] = from->option[i];
    }
    for (size_t k = 0; k < INSTEAD; k++)
        to->option[to->count++] = instead[k];
    return true;
}

bool cost_probe(const Cost *c, const Child *child, const char *folder, double *speed, double *bytes, Error *e)
{
    char *checkpoint = path_join(folder, "checkpoints/00000000");
    PlanRun run = {0};
    const Child probe = {child->program, &run, child->workers};
    Words w = {0};
    Buffer said = {0};
    Log log = {0};
    Error ignored;
    *speed = *bytes = NAN;
    bool fine = (checkpoint || memory_error(e, "a path", 1, strlen(folder))) && folder_remove(folder, e) &&
                short_run(&run, child->run, e) && child_words(&w, &probe, "run", folder, e);
    if (fine && run_words(&w, &said, &said) == 0 && log_read_run(&log, folder, &ignored) &&
        log.count > 1) { /* the first step also takes what is made once */
        const LogLine *first = log.line, *last = first + log.count - 1;
        *speed = c->flop / c->steps * (last->step - first->step) / (last->seconds - first->seconds);
        *bytes = folder_bytes(checkpoint) / c->parameters;
    }
    folder_remove(folder, &ignored);
    log_free(&log);
    words_free(&w);
    buffer_free(&said);
    memory_free(run.option);
    memory_free(checkpoint);
    return fine;
}

bool run_cost(RunCost *c, const char *program, const char *run, Error *e)
{
    Words words = {0};
    Buffer out = {0};
    Json *j = NULL;
    words_add(&words, "%s", program);
    words_add(&words, "info");
    words_add(&words, "--run=%s", run);
    words_add(&words, "--json");
    if (!words_end(&words, e))
        return false;
    bool fine = child_answer(&out, &words, run, e) && json_read(&j, out.text, out.size, run, e);
    *c = (RunCost){object_real(j, "parameters"), object_real(j, "flop_a_step") / object_real(j, "tokens_a_step")};
    fine = fine && (c->flop_a_token > 0 || fail(e, "%s: the FLOP of its steps are unknown", run));
    json_free(j);
    buffer_free(&out);
    words_free(&words);
    return fine;
}

double cost_seconds(const Cost *c, double speed)
{
    const double computed = c->flop / speed, limit = c->minutes > 0 ? 60 * c->minutes : INFINITY;
    return isnan(computed) ? limit : fmin(computed, limit);
}
