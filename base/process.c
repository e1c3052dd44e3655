/* See process.h. */
#define _GNU_SOURCE /* prctl is Linux's */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

const char process_self[] = "/proc/self/exe";

enum { NOT_RUN = 127 }; /* as a shell says it */

/* In the child; in, out and err are open. */
static void become(const char *path, const char *const *words, int in, int out, int err)
{
    if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(NOT_RUN);
    execv(path, (char *const *)words);
    _exit(NOT_RUN);
}

/* Reads two pipes until both end. */
static void read_pipes(const int *from, Buffer *const *into)
{
    struct pollfd pipes[2] = {{.fd = from[0], .events = POLLIN}, {.fd = from[1], .events = POLLIN}};
    for (int open_ends = 2; open_ends;) {
        if (poll(pipes, 2, -1) < 0) {
            if (errno != EINTR)
                return;
            continue; /* revents are those of the call before */
        }
        for (int i = 0; i < 2; i++) {
            char bytes[4096];
            ssize_t got = pipes[i].fd >= 0 && pipes[i].revents ? read(pipes[i].fd, bytes, sizeof bytes) : -1;
            if (got > 0)
                buffer_add(into[i], bytes, (size_t)got);
            else if (got == 0)
                pipes[i].fd = -1, open_ends--; /* poll passes over it */
        }
    }
}

static int exit_status(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) != NOT_RUN ? WEXITSTATUS(status) : -1;
}

int process_run(const char *path, const char *const *words, ProcessPrepare *prepare, Buffer *out, Buffer *err)
{
    int from_out[2], from_err[2], status = 0;
    if (pipe(from_out))
        return -1;
    if (pipe(from_err)) {
        close(from_out[0]), close(from_out[1]);
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        close(from_out[0]), close(from_err[0]);
        if (prepare)
            prepare();
        become(path, words, open("/dev/null", O_RDONLY), from_out[1], from_err[1]);
    }
    close(from_out[1]), close(from_err[1]);
    if (child > 0)
        read_pipes((int[]){from_out[0], from_err[0]}, (Buffer *const[]){out, err});
    close(from_out[0]), close(from_err[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 ? exit_status(status) : -1;
}

pid_t process_start(const char *path, const char *const *words, const char *out, const char *err, Error *e)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
        if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
            _exit(NOT_RUN);
        become(path, words, open("/dev/null", O_RDONLY), open(out, flags, 0666), open(err, flags, 0666));
    }
    if (child < 0)
        fail(e, "cannot start another process: %s", strerror(errno));
    return child;
}

pid_t process_ended(int *status)
{
    int raw = 0;
    const pid_t child = waitpid(-1, &raw, WNOHANG);
    *status = child > 0 ? exit_status(raw) : -1;
    return child > 0 ? child : 0;
}
