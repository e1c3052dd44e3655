/* See together.h. */
#include "core/program/together.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "base/sha256.h"
#include "core/cli/version.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/tuning.h"

#include <stdio.h>
#include <string.h>

enum { THINGS = 8, VALUE = 65 };
static const char *const things[THINGS] = {"another byte order",         "another version of the program",
                                           "another executable file",    "other instructions (ATTEND_CPU)",
                                           "other options of its model", "other options of training",
                                           "other options of this call", "other content of its data"};

typedef struct Hello {
    char value[THINGS][VALUE];
    char tuning[512]; /* of rank 0, for all */
} Hello;

static void put_sum(char *value, const void *bytes, size_t size)
{
    const Sha256 sum = sha256(bytes, size);
    snprintf(value, VALUE, "%s", sum.text);
}

/* What each process may have of its own is left out: how many workers a machine has. */
static bool put_options(char *value, const Options *o, OptionClass class, Error *e)
{
    Buffer all = {0};
    for (size_t i = 0; i < o->count; i++) {
        const Option *row = o->states[i].row;
        Buffer text = {0};
        if (row->class != class || !strcmp(row->name, "workers") || !strcmp(row->name, "team"))
            continue;
        if (options_text(&o->states[i], &text))
            buffer_print(&all, "%s=%s\n", row->name, text.text ? text.text : "");
        all.failed = all.failed || text.failed;
        buffer_free(&text);
    }
    bool fine = !all.failed || fail(e, "out of memory for a list of options");
    if (fine)
        put_sum(value, all.text ? all.text : "", all.size);
    buffer_free(&all);
    return fine;
}

/* A program that another file has replaced while it runs cannot be read; then its version must do. */
static void put_executable(char *value)
{
    char *bytes = NULL;
    size_t size;
    Error unread;
    if (file_read("/proc/self/exe", &bytes, &size, &unread))
        put_sum(value, bytes, size);
    memory_free(bytes);
}

static bool introduce(Hello *h, const App *a, const DataNote *data, Error *e)
{
    const CpuLevel *level = cpu_level(NULL);
    const unsigned order = 0x01020304;
    char version[1000];
    snprintf(version, sizeof version, "%s, %s, %s", attend_version(), attend_compiler(), attend_libraries());
    put_sum(h->value[0], &order, sizeof order);
    put_sum(h->value[1], version, strlen(version));
    put_executable(h->value[2]);
    snprintf(h->value[3], VALUE, "%s", level ? level->name : "");
    snprintf(h->value[7], VALUE, "%s", data ? data->sha256 : "");
    return put_options(h->value[4], a->command_line, OPTION_MODEL, e) &&
           put_options(h->value[5], a->command_line, OPTION_TRAINING, e) &&
           put_options(h->value[6], a->command_line, OPTION_HERE, e);
}

/* Each process could have measured otherwise, and another choice rounds otherwise: all take those of rank 0. */
static bool introduce_tuning(Hello *h, const App *a, Error *e)
{
    Buffer text = {0};
    if (strcmp(device_name(a->options->device), "cpu") != 0)
        return true;
    bool fine = tuning_ready(e);
    if (fine)
        tuning_text(&tuning_now, &text);
    fine = fine && (!text.failed || fail(e, "out of memory for what processes share"));
    snprintf(h->tuning, sizeof h->tuning, "%s", fine ? text.text : "");
    buffer_free(&text);
    return fine;
}

bool together_agree(const App *a, const DataNote *data, Error *e)
{
    Hello *all = ranks_count() > 1 ? memory_get(ranks_count(), sizeof *all) : NULL;
    if (ranks_count() == 1)
        return true;
    bool fine = (all || memory_error(e, "what processes say of themselves", ranks_count(), sizeof *all)) &&
                introduce(&all[ranks_own()], a, data, e) && introduce_tuning(&all[ranks_own()], a, e);
    if (fine)
        ranks_gather(all, sizeof *all);
    for (size_t rank = 1; fine && rank < ranks_count(); rank++)
        for (size_t i = 0; fine && i < THINGS; i++)
            if (strncmp(all[rank].value[i], all[0].value[i], VALUE) != 0)
                fine = fail(e, "rank %zu on %s has %s than rank 0 on %s", rank, ranks_host(rank), things[i],
                            ranks_host(0));
    fine = fine && (!*all[0].tuning || tuning_adopt(all[0].tuning, e));
    memory_free(all);
    return fine;
}
