/* See disturbed.h. */
#define _DEFAULT_SOURCE /* usleep */
#include "tests/ranks/disturbed.h"

#include "base/file.h"
#include "base/memory.h"
#include "tests/same_runs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Texts of a process that the system shows, one after another, each closed by a zero byte. */
static size_t texts_of(const char *process, const char *name, char *texts, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", process, name);
    FILE *file = atoi(process) ? fopen(path, "rb") : NULL;
    const size_t found = file ? fread(texts, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    texts[found] = 0;
    return found;
}

size_t training(const char *run, pid_t *found)
{
    size_t count = 0;
    DIR *folder = opendir("/proc");
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char line[4096];
        const size_t size = texts_of(entry->d_name, "cmdline", line, sizeof line);
        bool program = strlen(line) >= 7 && !strcmp(line + strlen(line) - 7, "/charlm"), ours = false;
        for (size_t i = 0; i < size; i += strlen(line + i) + 1)
            ours = ours || !strcmp(line + i, run);
        if (program && ours && count < MOST)
            found[count++] = (pid_t)atoi(entry->d_name);
    }
    closedir(folder);
    return count;
}

size_t rank_of(pid_t process)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="};
    static char texts[1 << 17];
    char number[30];
    snprintf(number, sizeof number, "%d", (int)process);
    const size_t size = texts_of(number, "environ", texts, sizeof texts);
    for (size_t i = 0; i < size; i += strlen(texts + i) + 1)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (!strncmp(texts + i, names[k], strlen(names[k])))
                return (size_t)strtoull(texts + i + strlen(names[k]), NULL, 10);
    ck_abort_msg("process %d has no rank", (int)process);
    return 0;
}

size_t lines_of_log(const char *run)
{
    char *path = path_join(run, "log.tsv"), *text = NULL;
    size_t size = 0, lines = 0;
    Error e;
    if (file_exists(path) && !file_read(path, &text, &size, &e))
        size = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    memory_free(text);
    memory_free(path);
    return lines;
}

void expect_steps(const Started *s, const char *run, size_t steps)
{
    siginfo_t state = {.si_pid = 0};
    while (lines_of_log(run) <= steps && !state.si_pid) {
        usleep(10000);
        waitid(P_PID, (id_t)s->process, &state, WEXITED | WNOHANG | WNOWAIT);
    }
    if (state.si_pid) {
        Said said = command_end(s);
        ck_abort_msg("the run has ended by itself with %d: %s", said.status, said.err);
    }
}

Said ended(const Started *s, const char *run)
{
    pid_t process[MOST];
    Said said = command_end(s);
    while (training(run, process))
        usleep(10000);
    return said;
}

void expect_named(const Said *said, size_t rank, const char *time)
{
    char words[200], named[30];
    const char *own = strstr(said->err, "charlm: rank "), *other = own ? strstr(own + 9, ": rank ") : NULL;
    snprintf(named, sizeof named, ": rank %zu on ", rank);
    snprintf(
        words, sizeof words,
        " has not answered for %s: it has stopped, or the network has; --resume goes on from the last checkpoint\n",
        time);
    ck_assert_msg(said->status != 0 && other && !strncmp(other, named, strlen(named)) && strstr(other, words) &&
                      !strstr(own + 1, "charlm: "),
                  "%d: it was rank %zu: %s", said->status, rank, said->err);
}

void check_resumed(const char *run, size_t processes)
{
    char whole[720], name[100];
    size_t size;
    char *last = read_in(run, "last", &size);
    ck_assert_ptr_nonnull(last);
    const int step = atoi(last) + 27; /* a checkpoint may be newer than what is marked */
    memory_free(last);
    snprintf(whole, sizeof whole, "%s-whole", run);
    command_processes(processes);
    works("train --resume %s --steps %d -q --save-every 0", run, step);
    command_processes(0);
    works("train --run %s " WORDS "--steps %d --save-every 0", whole, step);
    snprintf(name, sizeof name, "checkpoints/%08d/model.safetensors", step);
    expect_same(run, whole, name);
    snprintf(name, sizeof name, "checkpoints/%08d/state.safetensors", step);
    expect_same(run, whole, name);
}
