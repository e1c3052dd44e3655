/* Which kernels were launched, in which order of threads, and how often: each process says so at its end, a line for
 * each, to the file that ATTEND_LAUNCHES names. tools/launches.sh reads it. */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/emulator.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINES = 2048 };

typedef struct Line {
    const char *kernel;
    Order order;
    bool checked;
    uint64_t times;
} Line;

/* More than MOST_LINES are left out, which tools/launches.sh would call never launched. */
static struct {
    bool begun;
    char path[4096]; /* empty: not asked for */
    Line line[MOST_LINES];
    uint32_t count;
} tally;

/* One write for each line: processes that run side by side do not mix theirs. */
static void tally_tell(void)
{
    static const char *const orders[ORDERS] = {"forward", "backward", "random", "greedy"};
    int fd = open(tally.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    for (uint32_t i = 0; fd >= 0 && i < tally.count; i++) {
        const Line *l = &tally.line[i];
        char text[300];
        int length = snprintf(text, sizeof text, "%s\t%s\t%s\t%llu\n", l->kernel, l->checked ? "checked" : "emulated",
                              orders[l->order], (unsigned long long)l->times);
        if (length < 0 || (size_t)length >= sizeof text || write(fd, text, (size_t)length) != length)
            break;
    }
    if (fd >= 0)
        close(fd);
}

static void tally_begin(void)
{
    const char *path = getenv("ATTEND_LAUNCHES");
    tally.begun = true;
    if (path && strlen(path) < sizeof tally.path && atexit(tally_tell) == 0)
        strcpy(tally.path, path);
}

void emulator_tally(Order order, const Launch *launch)
{
    uint32_t i = 0;
    if (!tally.begun)
        tally_begin();
    if (!tally.path[0])
        return;
    while (i < tally.count && (tally.line[i].order != order || tally.line[i].checked != launch->checked ||
                               strcmp(tally.line[i].kernel, launch->kernel) != 0))
        i++;
    if (i == MOST_LINES)
        return;
    if (i == tally.count)
        tally.line[tally.count++] = (Line){launch->kernel, order, launch->checked, 0};
    tally.line[i].times++;
}
