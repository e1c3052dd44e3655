/* See ranks.h. Every message is sent and received without blocking, and polled, because only so can a rank say for which
 * other it has waited too long. */
#define _DEFAULT_SOURCE /* gethostname, dup */
#include "base/ranks.h"

#include "base/clock.h"
#include "base/memory.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_MPI
#include <mpi.h>
#endif

enum { HOST = 64, A_MINUTE = 60 };

static struct {
    const char *program;
    bool (*stopped)(void);
    size_t own, count; /* count 0: not opened */
    double seconds;    /* how long to wait for another, */
    double wanted;     /* when all is opened */
    double waited, sent;
    char (*hosts)[HOST]; /* [count] */
    FILE *errors;        /* where a rank without a standard error says why all end */
} ranks;

size_t ranks_own(void) { return ranks.own; }
size_t ranks_count(void) { return ranks.count ? ranks.count : 1; }
const char *ranks_host(size_t rank) { return ranks.hosts ? ranks.hosts[rank] : "this machine"; }
void ranks_at_work(void) { ranks.seconds = ranks.wanted; }
double ranks_patience(void) { return ranks.seconds; }
double ranks_waited(void) { return ranks.waited; }
double ranks_sent(void) { return ranks.sent; }

size_t ranks_before_here(void)
{
    size_t before = 0;
    for (size_t i = 0; i < ranks.own && ranks.hosts; i++)
        before += !strcmp(ranks.hosts[i], ranks.hosts[ranks.own]);
    return before;
}

bool ranks_entry(const char *list, size_t before, char *to, size_t size)
{
    if (!list)
        return snprintf(to, size, "%zu", before) > 0;
    for (; before > 0; before--, list++)
        if (!(list = strchr(list, ',')))
            return false;
    const int length = (int)strcspn(list, ",");
    return length > 0 && snprintf(to, size, "%.*s", length, list) > 0;
}

/* How launchers tell a process: Open MPI, MPICH and srun --mpi=pmi2, srun --mpi=pmix. */
static const char *const launchers[][2] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

/* Such variables may be old, or have another meaning: a number that is none, or no rank of that many, comes from no launcher. */
static bool number_in(const char *variable, size_t most, size_t *number)
{
    const char *text = getenv(variable);
    const size_t digits = text ? strspn(text, "0123456789") : 0;
    if (!digits || text[digits] || digits > 9)
        return false;
    *number = (size_t)strtoul(text, NULL, 10);
    return *number <= most;
}

bool ranks_launched(size_t *own, size_t *count)
{
    *own = 0;
    *count = 1;
    for (size_t i = 0; i < LAUNCHERS; i++) {
        size_t rank, all;
        if (!number_in(launchers[i][1], INT_MAX, &all) || all < 2 || !number_in(launchers[i][0], all - 1, &rank))
            continue;
        *own = rank;
        *count = all;
        return true;
    }
    return false;
}

void ranks_forget(void)
{
    for (size_t i = 0; i < LAUNCHERS; i++) {
        unsetenv(launchers[i][0]);
        unsetenv(launchers[i][1]);
    }
}

static _Noreturn void end_alone(const char *why)
{
    fprintf(stderr, "%s\n", why);
    _exit(1);
}

#ifdef HAVE_MPI

bool ranks_possible(void) { return true; }

/* A message has at most this many bytes: MPI counts them in an int. */
enum { LONGEST = 1 << 30, SPINS = 200 };

/* Data have a tag of their own where a rank computes while they are under way. Beside data, ranks send each other a byte: whether a rank that has sent nothing for long is waiting, too; that it is; and
 * that the sender ends all. */
enum { TAG_DATA, TAG_AHEAD, TAG_ASK, TAG_ALIVE, TAG_END };

static void send_byte(size_t rank, int tag)
{
    static char byte;
    MPI_Request request;
    if (MPI_Isend(&byte, 1, MPI_BYTE, (int)rank, tag, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
        MPI_Request_free(&request);
}

static bool take_byte(int tag, size_t *from)
{
    char byte;
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there)
        return false;
    *from = (size_t)status.MPI_SOURCE;
    return MPI_Recv(&byte, 1, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* Another says why all end, and then ends this one. */
static _Noreturn void end_silently(void)
{
    for (int i = 0; i < 600; i++)
        clock_sleep(0.1);
    _exit(1);
}

/* What MPI does without us cannot be polled, so an alarm ends it. What it says then is written before. */
static char too_late[256];
static int too_late_to;

static void end_late(int signal_number)
{
    (void)signal_number;
    _exit(write(too_late_to, too_late, strlen(too_late)) > 0 ? 1 : 2);
}

/* The lowest says it: the launcher ends the others when it has ended. */
static void limit(double seconds, const char *what)
{
    char host[HOST];
    size_t own, count;
    ranks_launched(&own, &count);
    if (gethostname(host, HOST) != 0)
        snprintf(host, HOST, "a host without a name");
    host[HOST - 1] = 0;
    snprintf(too_late, sizeof too_late,
             "%s: rank %zu of %zu on %s: another process has not %s for %.0f s: it has stopped, or the network has\n",
             ranks.program, own, count, host, what, seconds);
    too_late_to = ranks.errors ? fileno(ranks.errors) : STDERR_FILENO;
    signal(SIGALRM, end_late);
    alarm((unsigned)seconds + (unsigned)(own < A_MINUTE ? own : A_MINUTE));
}

/* One line is said: by the first that has something to say, and of several at once by the lowest. The others hear of it,
 * or that the launcher ends them. */
void ranks_end(const char *why)
{
    size_t from;
    if (ranks.count < 2)
        end_alone(why);
    const bool stopped = ranks.stopped(); /* by a user or a scheduler, long before */
    if (take_byte(TAG_END, &from))
        end_silently();
    for (size_t i = 0; i < ranks.count; i++)
        if (i != ranks.own)
            send_byte(i, TAG_END);
    for (size_t i = 0; i < 2 + 10 * (ranks.own < 6 ? ranks.own : 6); i++) {
        clock_sleep(0.05);
        while (take_byte(TAG_END, &from))
            if (from < ranks.own)
                end_silently();
        if (ranks.own && !stopped && ranks.stopped())
            _exit(1);
    }
    FILE *to = ranks.errors ? ranks.errors : stderr;
    fprintf(to, "%s: rank %zu of %zu on %s: %s\n", ranks.program, ranks.own, ranks.count, ranks_host(ranks.own), why);
    fflush(to);
    signal(SIGALRM, SIG_DFL);
    alarm(A_MINUTE);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

static void check(int status, const char *what)
{
    char why[MPI_MAX_ERROR_STRING], text[MPI_MAX_ERROR_STRING + 100];
    int size = 0;
    if (status == MPI_SUCCESS)
        return;
    MPI_Error_string(status, why, &size);
    snprintf(text, sizeof text, "%s: %.*s", what, size, why);
    ranks_end(text);
}

static _Noreturn void waited_too_long(size_t rank)
{
    char text[256];
    snprintf(
        text, sizeof text,
        "rank %zu on %s has not answered for %.0f s: it has stopped, or the network has; --resume goes on from the "
        "last checkpoint",
        rank, ranks_host(rank), ranks.seconds);
    ranks_end(text);
}

typedef struct RankMessage {
    MPI_Request request;
    size_t rank;
} Message;

/* For whom a rank waits that has sent nothing. */
typedef struct Patience {
    double waited; /* after something came, or the other said that it waits, too */
    double looked; /* when */
    bool asked;
    int answers; /* that it waits, one after another */
} Patience;

enum { ANSWERS = 8, A_SECOND = 1 };

/* Half of the time over, the other is asked: one that waits for a third does not end anybody, because the one that waits
 * for the culprit will. Only so often, as all could wait for each other. Time in which this process itself was stopped, as a
 * scheduler does with a whole job, is none that it waited. */
static void be_patient(Patience *p, size_t rank)
{
    size_t from;
    if (take_byte(TAG_END, &from))
        end_silently();
    while (take_byte(TAG_ASK, &from))
        send_byte(from, TAG_ALIVE);
    while (take_byte(TAG_ALIVE, &from))
        if (p->asked && from == rank && p->answers++ < ANSWERS)
            p->waited = 0, p->asked = false;
    const double now = clock_seconds(), more = now - p->looked;
    p->waited += more < A_SECOND ? more : A_SECOND;
    p->looked = now;
    if (p->waited > ranks.seconds)
        waited_too_long(rank);
    if (p->waited > ranks.seconds / 2 && !p->asked) {
        send_byte(rank, TAG_ASK);
        p->asked = true;
    }
}

/* Polls often while an answer is likely to be near, and then leaves the core to others. */
static void wait_all(Message *m, size_t count)
{
    const double start = clock_seconds();
    Patience patience = {.looked = start};
    for (size_t i = 0, spins = 0; i < count; spins++) {
        int done = 0;
        check(MPI_Test(&m[i].request, &done, MPI_STATUS_IGNORE), "a message between processes failed");
        if (done) {
            i++;
            if (spins > SPINS)
                patience = (Patience){.looked = clock_seconds()};
            continue;
        }
        if (spins > SPINS) {
            be_patient(&patience, m[i].rank);
            clock_sleep(50e-6);
        }
    }
    ranks.waited += clock_seconds() - start;
}

static size_t messages_of(const RankPiece *p, size_t count)
{
    size_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += (p[i].bytes + LONGEST - 1) / LONGEST;
    return all;
}

/* Receives first: what arrives then goes to its place at once. */
static size_t begin(Message *m, const RankPiece *p, size_t count, int tag, bool out)
{
    size_t begun = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t from = 0, n; from < p[i].bytes; from += n, begun++) {
            n = p[i].bytes - from < LONGEST ? p[i].bytes - from : LONGEST;
            char *data = (char *)p[i].data + from;
            m[begun].rank = p[i].rank;
            check(out ? MPI_Isend(data, (int)n, MPI_BYTE, (int)p[i].rank, tag, MPI_COMM_WORLD, &m[begun].request)
                      : MPI_Irecv(data, (int)n, MPI_BYTE, (int)p[i].rank, tag, MPI_COMM_WORLD, &m[begun].request),
                  "a message between processes failed");
            ranks.sent += out ? (double)n : 0;
        }
    return begun;
}

void ranks_exchange(const RankPiece *out, size_t outs, const RankPiece *in, size_t ins)
{
    enum { FEW = 64 };
    Message few[FEW], *m = few;
    size_t count = messages_of(out, outs) + messages_of(in, ins);
    if (count > FEW && !(m = memory_get(count, sizeof *m)))
        ranks_end("out of memory for messages between processes");
    count = begin(m, in, ins, TAG_DATA, false);
    count += begin(m + count, out, outs, TAG_DATA, true);
    wait_all(m, count);
    if (m != few)
        memory_free(m);
}

void ranks_begin(RankMessages *m, const RankPiece *out, size_t outs, const RankPiece *in, size_t ins)
{
    const size_t count = messages_of(out, outs) + messages_of(in, ins);
    if (!memory_grow(&m->list, &m->capacity, m->count + count, sizeof *m->list, "", NULL))
        ranks_end("out of memory for messages between processes");
    m->count += begin(m->list + m->count, in, ins, TAG_AHEAD, false);
    m->count += begin(m->list + m->count, out, outs, TAG_AHEAD, true);
}

void ranks_attend(void)
{
    size_t from;
    if (take_byte(TAG_END, &from))
        end_silently();
}

void ranks_finish(RankMessages *m)
{
    wait_all(m->list, m->count);
    memory_free(m->list);
    *m = (RankMessages){0};
}

void ranks_gather_parts(void *block, const size_t *at)
{
    RankPiece *pieces = memory_get(2 * ranks_count(), sizeof *pieces);
    size_t others = 0;
    if (!pieces)
        ranks_end("out of memory for messages between processes");
    RankPiece *in = pieces + ranks_count();
    for (size_t i = 0; i < ranks_count(); i++)
        if (i != ranks.own) {
            pieces[others] = (RankPiece){i, (char *)block + at[ranks.own], at[ranks.own + 1] - at[ranks.own]};
            in[others++] = (RankPiece){i, (char *)block + at[i], at[i + 1] - at[i]};
        }
    ranks_exchange(pieces, others, in, others);
    memory_free(pieces);
}

void ranks_gather(void *all, size_t bytes)
{
    size_t *at = memory_get(ranks_count() + 1, sizeof *at);
    if (!at)
        ranks_end("out of memory for messages between processes");
    for (size_t i = 0; i <= ranks_count(); i++)
        at[i] = i * bytes;
    ranks_gather_parts(all, at);
    memory_free(at);
}

void ranks_share(void *data, size_t bytes)
{
    const RankPiece from = {0, data, bytes};
    for (size_t i = 1; !ranks.own && i < ranks_count(); i++)
        ranks_exchange(&(RankPiece){i, data, bytes}, 1, NULL, 0);
    if (ranks.own)
        ranks_exchange(NULL, 0, &from, 1);
}

char *ranks_collect(const void *own, size_t bytes, size_t *at)
{
    at[0] = 0;
    at[ranks.own + 1] = bytes;
    ranks_gather(at + 1, sizeof *at);
    for (size_t i = 0; i < ranks_count(); i++)
        at[i + 1] += at[i];
    char *all = memory_get(at[ranks_count()] + 1, 1);
    if (!all)
        ranks_end("out of memory for messages between processes");
    if (bytes)
        memcpy(all + at[ranks.own], own, bytes);
    ranks_gather_parts(all, at);
    return all;
}

static bool gather_hosts(Error *e)
{
    ranks.hosts = memory_get(ranks.count, sizeof *ranks.hosts);
    if (!ranks.hosts)
        return memory_error(e, "the names of hosts", ranks.count, sizeof *ranks.hosts);
    for (size_t i = 0; i < ranks.count; i++)
        snprintf(ranks.hosts[i], HOST, "a host that has not said its name");
    if (gethostname(ranks.hosts[ranks.own], HOST) != 0)
        snprintf(ranks.hosts[ranks.own], HOST, "a host without a name");
    ranks.hosts[ranks.own][HOST - 1] = 0;
    ranks_gather(ranks.hosts, HOST);
    return true;
}

/* Rank 0 alone speaks; the others keep a copy of their standard error for what ends all. */
static void be_silent(void)
{
    int copy = dup(STDERR_FILENO);
    ranks.errors = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        return; /* then it speaks, too */
}

bool ranks_open(const char *program, double seconds, bool (*stopped)(void), Error *e)
{
    size_t own, count;
    int level, rank, size;
    ranks_launched(&own, &count);
    ranks.seconds = seconds > A_MINUTE ? seconds : A_MINUTE;
    ranks.wanted = seconds;
    ranks.program = program;
    ranks.stopped = stopped;
    limit(ranks.seconds, "started");
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS || level < MPI_THREAD_FUNNELED)
        return fail(e, "MPI does not start in a program with threads");
    alarm(0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if ((size_t)size != count)
        return fail(
            e,
            "a launcher says that it has started %zu processes, but MPI here knows of %d: this program was built "
            "with another MPI (`make probe && make` builds it anew), or the launcher's variables are old",
            count, size);
    ranks.own = (size_t)rank;
    ranks.count = (size_t)size;
    if (rank)
        be_silent();
    return gather_hosts(e);
}

void ranks_close(void)
{
    if (!ranks.count)
        return;
    ranks_any(false);
    limit(ranks.seconds + A_MINUTE, "ended");
    MPI_Finalize();
    alarm(0);
    memory_free(ranks.hosts);
    ranks.hosts = NULL;
    ranks.count = ranks.own = 0;
}

bool ranks_any(bool own)
{
    char *all = ranks_count() > 1 ? memory_get(ranks_count(), 1) : NULL;
    bool any = own;
    if (ranks_count() == 1)
        return own;
    if (!all)
        ranks_end("out of memory for messages between processes");
    all[ranks.own] = own;
    ranks_gather(all, 1);
    for (size_t i = 0; i < ranks.count; i++)
        any = any || all[i];
    memory_free(all);
    return any;
}

#else

bool ranks_possible(void) { return false; }

void ranks_end(const char *why) { end_alone(why); }

bool ranks_open(const char *program, double seconds, bool (*stopped)(void), Error *e)
{
    size_t own, count;
    (void)program, (void)seconds, (void)stopped;
    ranks_launched(&own, &count);
    return fail(e, "a launcher has started %zu processes, but this program was built without MPI: make deps, make",
                count);
}

void ranks_close(void) {}
void ranks_exchange(const RankPiece *out, size_t outs, const RankPiece *in, size_t ins)
{
    (void)out, (void)outs, (void)in, (void)ins;
}
void ranks_begin(RankMessages *m, const RankPiece *out, size_t outs, const RankPiece *in, size_t ins)
{
    (void)m, (void)out, (void)outs, (void)in, (void)ins;
}
void ranks_attend(void) {}
void ranks_finish(RankMessages *m) { (void)m; }
void ranks_gather(void *all, size_t bytes) { (void)all, (void)bytes; }
void ranks_gather_parts(void *block, const size_t *at) { (void)block, (void)at; }
void ranks_share(void *data, size_t bytes) { (void)data, (void)bytes; }
char *ranks_collect(const void *own, size_t bytes, size_t *at)
{
    char *all = memory_get(bytes + 1, 1);
    if (!all)
        ranks_end("out of memory for messages between processes");
    if (bytes)
        memcpy(all, own, bytes);
    at[0] = 0, at[1] = bytes;
    return all;
}
bool ranks_any(bool own) { return own; }

#endif
