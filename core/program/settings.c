/* See settings.h. */
#include "core/program/settings.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "core/cli/version.h"
#include "core/run/json.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_value(Buffer *out, const OptionState *state, const char *text)
{
    OptionKind kind = state->row->kind;
    if (kind == OPTION_FLAG || kind == OPTION_YES_NO)
        buffer_print(out, "%s", strcmp(text, "yes") == 0 ? "true" : "false");
    else if (kind == OPTION_SIZE || kind == OPTION_REAL)
        buffer_print(out, "%s", text);
    else
        json_add_string(out, text);
}

bool settings_json(const Options *o, OptionClass class, Buffer *out, Error *e)
{
    buffer_print(out, "{");
    for (size_t i = 0; i < o->count; i++) {
        Buffer text = {0};
        if (o->states[i].row->class != class || !options_text(&o->states[i], &text))
            continue;
        json_add_key(out, o->states[i].row->name);
        add_value(out, &o->states[i], text.text ? text.text : "");
        out->failed = out->failed || text.failed;
        buffer_free(&text);
    }
    buffer_print(out, "}");
    return !out->failed || fail(e, "out of memory while writing options");
}

/* A device that is not the cpu has chosen nothing. */
void settings_add_choices(Buffer *out)
{
    const char *pinned = getenv("ATTEND_TUNING");
    const CpuLevel *level = cpu_level(NULL);
    Buffer text = {0};
    json_add_text(out, "instructions", level ? level->name : "");
    if (tuning_is_ready())
        tuning_text(&tuning_now, &text);
    json_add_text(out, "tuning", text.text ? text.text : pinned ? pinned : "");
    out->failed = out->failed || text.failed;
    buffer_free(&text);
}

bool settings_save(const Run *run, const Options *o, const DataNote *data, Error *e)
{
    Buffer b = {0};
    char name[256], bytes[32], *path = run_file(run, "config.json");
    buffer_print(&b, "{");
    json_add_text(&b, "program", o->program->name);
    json_add_key(&b, "model");
    bool fine = settings_json(o, OPTION_MODEL, &b, e);
    json_add_key(&b, "training");
    fine = fine && settings_json(o, OPTION_TRAINING, &b, e);
    json_open(&b, "data", '{');
    json_add_text(&b, "path", data->path ? data->path : *data->sha256 ? "built-in" : "none");
    snprintf(bytes, sizeof bytes, "%zu", data->bytes);
    json_add_key(&b, "bytes");
    buffer_print(&b, "%s", bytes);
    json_add_text(&b, "sha256", data->sha256);
    buffer_print(&b, "}");
    json_add_text(&b, "version", attend_version());
    json_add_text(&b, "compiler", attend_compiler());
    json_add_text(&b, "libraries", attend_libraries());
    json_add_text(&b, "processor", processor_name(name, sizeof name));
    settings_add_choices(&b);
    buffer_print(&b, "}\n");
    fine = fine && file_write_buffer(path, &b, e);
    buffer_free(&b);
    memory_free(path);
    return fine;
}

/* Nothing of a class was lost: a default in its place would be another run. What a run has only where it was given is as
 * if it were not given. */
static bool has_all(Options *o, const Json *group, OptionClass class, const char *path, Error *e)
{
    for (size_t i = 0; i < o->count; i++) {
        OptionState *state = &o->states[i];
        const char *name = state->row->name;
        if (state->row->class != class || json_get(group, name))
            continue;
        if (state->standard)
            return fail(e, "%s: '%s' is missing; if the run was made by an older version, add it (its value was %s)",
                        path, name, state->standard);
        if (!options_lack(state, run_unless_given(name), e))
            return false;
    }
    return true;
}

static bool take_over(Options *o, const Json *group, OptionClass class, const char *path, Error *e)
{
    for (size_t i = 0; group && i < group->count; i++) {
        const Json *item = &group->items[i];
        const char *text = item->kind == JSON_BOOL ? (item->truth ? "yes" : "no") : item->text;
        if (!text)
            return fail(e, "%s: '%s' is neither a number nor a string", path, item->key);
        Error why;
        if (!options_set(o, item->key, text, FROM_RUN, &why))
            return *why.text == '-' ? fail(e, "%s", why.text) /* the command line's */
                                    : fail(e, "%s: %s", path, why.text);
    }
    return group ? has_all(o, group, class, path, e) : fail(e, "%s: is not the configuration of a run", path);
}

static bool read_config(const Run *run, Json **json, char **path, Error *e)
{
    char *text = NULL;
    size_t size;
    *path = run_file(run, "config.json");
    bool fine = *path || fail(e, "out of memory while config.json was read");
    if (fine && !file_exists(*path))
        fine = fail(e, "the run %s has no config.json: it ended before its first step. Start it again with --run",
                    run->path);
    fine = fine && file_read(*path, &text, &size, e) && json_read(json, text, size, *path, e);
    memory_free(text);
    return fine;
}

bool settings_load(const Run *run, Options *o, char *hash, Error *e)
{
    char *path = NULL;
    Json *json = NULL;
    bool fine = read_config(run, &json, &path, e);
    const char *program = fine ? json_get_text(json, "program") : NULL;
    if (fine && (!program || strcmp(program, o->program->name) != 0))
        fine = fail(e, "%s: a run of %s, not of %s", path, program ? program : "something else", o->program->name);
    fine = fine && take_over(o, json_get(json, "model"), OPTION_MODEL, path, e) &&
           take_over(o, json_get(json, "training"), OPTION_TRAINING, path, e);
    const char *stored = fine ? json_get_text(json_get(json, "data"), "sha256") : NULL;
    if (hash)
        snprintf(hash, 65, "%s", stored ? stored : "");
    json_free(json);
    memory_free(path);
    return fine;
}

static void say_other(const char *what, const char *kept, const char *now)
{
    fprintf(stderr, "this run was trained with %s %s: it continues with %s, and may differ in the last bits\n", what,
            kept, now);
}

/* What the environment pins counts. A run without a record is of a version that had these choices and no others. */
static bool keep_tuning(const char *path, const char *kept, Error *e)
{
    const char *pinned = getenv("ATTEND_TUNING");
    Tuning t = tuning_default;
    Buffer before = {0}, text = {0};
    Error why;
    if (!tuning_parse(&t, kept ? kept : "default", &why))
        return fail(e, "%s, 'tuning': %s", path, why.text);
    tuning_text(&t, &before);
    if (pinned && !tuning_parse(&t, pinned, &why)) {
        buffer_free(&before);
        return fail(e, "ATTEND_TUNING: %s", why.text);
    }
    tuning_text(&t, &text);
    bool fine = (!before.failed && !text.failed) || fail(e, "out of memory for a run's choices");
    if (fine && strcmp(before.text, text.text) != 0)
        say_other("the choices", before.text, text.text);
    if (fine)
        setenv("ATTEND_TUNING", text.text, 1);
    buffer_free(&before);
    buffer_free(&text);
    return fine;
}

bool settings_keep_level(const Run *run, Error *e)
{
    char *path = NULL;
    Json *json = NULL;
    const CpuLevel *now = cpu_level(e), *l = cpu_levels;
    bool fine = now && read_config(run, &json, &path, e);
    const char *kept = fine ? json_get_text(json, "instructions") : NULL;
    while (kept && l->name && strcmp(l->name, kept) != 0)
        l++;
    if (kept && *kept && strcmp(kept, now->name) != 0) {
        if (!getenv("ATTEND_CPU") && l->name && !cpu_lacks(l))
            setenv("ATTEND_CPU", kept, 1);
        else
            say_other("the instructions", kept, now->name);
    }
    fine = fine && keep_tuning(path, json_get_text(json, "tuning"), e);
    json_free(json);
    memory_free(path);
    return fine;
}

static bool is_among(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list;
}

static OptionState *state_of(Options *o, const char *name)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->states[i].row->class == OPTION_MODEL && !strcmp(o->states[i].row->name, name))
            return &o->states[i];
    return NULL;
}

bool settings_begin_with(const Run *run, Options *o, const char *const *but, bool *ours, Error *e)
{
    char *path = NULL;
    Json *json = NULL;
    bool fine = read_config(run, &json, &path, e);
    const char *program = fine ? json_get_text(json, "program") : NULL;
    const Json *model = fine ? json_get(json, "model") : NULL;
    *ours = program && model && !strcmp(program, o->program->name);
    for (size_t i = 0; fine && *ours && i < model->count; i++) {
        const Json *item = &model->items[i];
        const char *text = item->kind == JSON_BOOL ? (item->truth ? "yes" : "no") : item->text;
        OptionState *state = state_of(o, item->key);
        Buffer given = {0};
        if (!state || !text || is_among(but, item->key))
            continue;
        if (state->source != FROM_COMMAND_LINE)
            fine = options_set(o, item->key, text, FROM_RUN, e);
        else if (!strcmp(item->key, "dim") && options_text(state, &given) && !given.failed && strcmp(given.text, text))
            fine = fail(e, "--dim %s: the model of --from %s is %s wide, and none of its tensors fits another width",
                        given.text, run->path, text);
        buffer_free(&given);
    }
    for (size_t i = 0; fine && *ours && i < o->count; i++) { /* what the run was not given is not a preset's either */
        OptionState *state = &o->states[i];
        const char *name = state->row->name;
        if (state->row->class == OPTION_MODEL && !state->standard && state->source != FROM_COMMAND_LINE &&
            !json_get(model, name) && !is_among(but, name))
            fine = options_lack(state, NULL, e);
    }
    json_free(json);
    memory_free(path);
    return fine;
}

bool settings_of_run(const char *path, Options *o, bool *ours, Error *e)
{
    static const char *const none[] = {NULL};
    Run *run = NULL;
    const bool fine = run_open(&run, path, false, e) && settings_begin_with(run, o, none, ours, e);
    run_close(run);
    return fine;
}

bool settings_other_tokens(const char *from, Error *e)
{
    return fail(e,
                "--from %s: it has as many tokens as this run, but others: the rows of its tables would be taken for "
                "these",
                from);
}

/* The option that is named at the start of a text, as in "--dim 16 is ..."; NULL: none. */
static const OptionState *option_named(const Options *o, const char *text)
{
    const size_t size = strspn(text + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
    for (size_t i = 0; i < o->count; i++) {
        const char *name = o->states[i].row->name;
        if (strlen(name) == size && memcmp(name, text + 2, size) == 0)
            return &o->states[i];
    }
    return NULL;
}

bool settings_blamed(const Run *run, const Options *o, Error *e)
{
    const OptionState *first = strncmp(e->text, "--", 2) == 0 ? option_named(o, e->text) : NULL;
    bool stored = run && first && first->source == FROM_RUN;
    for (const char *at = e->text; stored && (at = strstr(at, "--")); at += 2) {
        const OptionState *other = option_named(o, at);
        stored = !other || other->source != FROM_COMMAND_LINE;
    }
    return stored && !fail(e, "%s/config.json: %s", run->path, e->text);
}
