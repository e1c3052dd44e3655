/* A server of files over HTTP/1.1, one connection after another, with the faults that downloads meet. */
#define _XOPEN_SOURCE 700
#include "base/file.h"
#include "base/memory.h"
#include "tests/data/fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void send_all(int to, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(to, bytes, size);
        if (n <= 0)
            return;
        bytes += n;
        size -= (size_t)n;
    }
}

/* Reads up to the empty line; the path that is asked for without its slash, and where to begin. */
static bool read_request(int from, char *path, size_t *begin)
{
    static char text[8192];
    size_t used = 0;
    text[0] = 0;
    while (!strstr(text, "\r\n\r\n")) {
        ssize_t n = read(from, text + used, sizeof text - 1 - used);
        if (n <= 0)
            return false;
        used += (size_t)n;
        text[used] = 0;
    }
    const char *range = strstr(text, "ange: bytes=");
    *begin = range ? strtoull(range + strlen("ange: bytes="), NULL, 10) : 0;
    return sscanf(text, "%*s /%500s", path) == 1;
}

static void note(const char *folder, const char *path, size_t begin)
{
    char name[1200];
    snprintf(name, sizeof name, "%s/requests", folder);
    FILE *file = fopen(name, "a");
    if (file) {
        fprintf(file, "%s %zu\n", path, begin);
        fclose(file);
    }
}

static void answer(int to, const char *folder, const Faults *faults, bool faulty, pid_t server)
{
    char path[600] = "", name[1200], head[300], *bytes;
    size_t begin, size;
    if (!read_request(to, path, &begin))
        return;
    note(folder, path, begin);
    snprintf(name, sizeof name, "%s/%s", folder, path);
    if (!file_exists(name) || !file_read(name, &bytes, &size, NULL)) {
        snprintf(head, sizeof head, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        send_all(to, head, strlen(head));
        return;
    }
    if (faults->whole)
        begin = 0;
    if (begin && begin >= size)
        snprintf(head, sizeof head,
                 "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */%zu\r\nContent-Length: 0\r\n"
                 "Connection: close\r\n\r\n",
                 size);
    else if (begin)
        snprintf(head, sizeof head,
                 "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %zu-%zu/%zu\r\nContent-Length: %zu\r\n"
                 "Connection: close\r\n\r\n",
                 begin, size - 1, size, size - begin);
    else
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", size);
    send_all(to, head, strlen(head));
    size_t end = faulty && faults->cut < size ? faults->cut : size;
    if (begin < end)
        send_all(to, bytes + begin, end - begin);
    memory_free(bytes);
    while (faulty && faults->stall && getppid() == server) /* as long as there is one */
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static void serve(int door, const char *folder, const Faults *faults)
{
    pid_t server = getpid();
    for (int n = 0;; n++) {
        int one = accept(door, NULL, NULL);
        if (one < 0)
            _exit(1);
        if (fork() == 0) { /* a stalled connection keeps no other one waiting */
            answer(one, folder, faults, n < faults->connections, server);
            _exit(0);
        }
        close(one);
    }
}

Server server_start(const char *folder, Faults faults)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    Server s;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert(door >= 0 && bind(door, (struct sockaddr *)&address, sizeof address) == 0 && listen(door, 16) == 0);
    ck_assert_int_eq(getsockname(door, (struct sockaddr *)&address, &size), 0);
    s.port = ntohs(address.sin_port);
    s.process = fork();
    if (!s.process) {
        signal(SIGPIPE, SIG_IGN);
        signal(SIGCHLD, SIG_IGN);
        serve(door, folder, &faults);
    }
    ck_assert_int_gt(s.process, 0);
    close(door);
    return s;
}

void server_stop(Server *s)
{
    kill(s->process, SIGKILL);
    waitpid(s->process, NULL, 0);
}
