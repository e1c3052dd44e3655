/* See grade.h. A check runs in a child process, which writes one message into a pipe: "+", or "-" and what was wrong.
 */
#include "course/frame/grade.h"

#include "base/clock.h"
#include "base/philox.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <unistd.h>

enum {
    BLOCKS = 64,
    GUARD = 64,     /* numbers before and after each block */
    MESSAGE = 2000, /* bytes; a pipe takes this many at once */
    SECONDS = 5
};

#define UNWRITTEN      4096.0f    /* what an output holds before the call */
#define GUARDING       (-8192.5f) /* what is before and after a block, */
#define GUARDING_AGAIN 16391.25f  /* and when the check is run a second time */
#define PRINTED        (16 << 20) /* bytes that a check may print into a file */

typedef struct Block {
    const char *name;
    float *data, *copy; /* copy NULL: an output */
    size_t n;
} Block;

struct Grade {
    int report;     /* where the message goes */
    float guarding; /* what is before and after a block */
    Block block[BLOCKS];
    size_t blocks;
    double began, best; /* of a timed operation */
    int calls;
};

typedef struct Verdict {
    bool passed, said;      /* said: the check itself came to an end */
    char text[MESSAGE + 1]; /* what was wrong, and after the end of a line a hint */
} Verdict;

/* ---- in the child */

static _Noreturn void report(const Grade *g, char sign, const char *text)
{
    char message[MESSAGE];
    int size = snprintf(message, sizeof message, "%c%s", sign, text);
    size = size < MESSAGE ? size : MESSAGE - 1;
    fflush(stdout);
    ssize_t sent = write(g->report, message, (size_t)size);
    _exit(sent == size ? 0 : 1);
}

static _Noreturn void reject(const Grade *g, const char *hint, const char *found)
{
    char text[MESSAGE];
    snprintf(text, sizeof text, "%s%s%s", found, hint ? "\n" : "", hint ? hint : "");
    report(g, '-', text);
}

void expect(Grade *g, bool holds, const char *hint, const char *format, ...)
{
    char found[MESSAGE / 2];
    va_list arguments;
    if (holds)
        return;
    va_start(arguments, format);
    vsnprintf(found, sizeof found, format, arguments);
    va_end(arguments);
    reject(g, hint, found);
}

static float *new_block(Grade *g, const char *name, size_t n, bool input)
{
    float *all = malloc((n + 2 * GUARD) * sizeof *all), *copy = input ? malloc(n * sizeof *copy + 1) : NULL;
    expect(g, all && (copy || !input) && g->blocks < BLOCKS, NULL, "the check itself ran out of memory");
    for (size_t i = 0; i < n + 2 * GUARD; i++)
        all[i] = i < GUARD || i >= n + GUARD ? g->guarding : UNWRITTEN;
#ifdef __SANITIZE_ADDRESS__ /* names the line that touches a guard */
    ASAN_POISON_MEMORY_REGION(all, GUARD * sizeof *all);
    ASAN_POISON_MEMORY_REGION(all + GUARD + n, GUARD * sizeof *all);
#endif
    g->block[g->blocks++] = (Block){name, all + GUARD, copy, n};
    return all + GUARD;
}

float *grade_input(Grade *g, const char *name, size_t n, unsigned seed)
{
    float *x = new_block(g, name, n, true);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(2 * philox_uniform(seed, 0, i, 0) - 1);
    grade_seal(g);
    return x;
}

float *grade_output(Grade *g, const char *name, size_t n) { return new_block(g, name, n, false); }

void grade_seal(Grade *g)
{
    for (Block *b = g->block; b < g->block + g->blocks; b++)
        if (b->copy)
            memcpy(b->copy, b->data, b->n * sizeof *b->data);
}

double *grade_doubles(size_t n)
{
    double *x = calloc(n + 1, sizeof *x);
    if (!x)
        _exit(1);
    return x;
}

/* Nothing may have changed but outputs. */
static void check_blocks(Grade *g)
{
    for (const Block *b = g->block; b < g->block + g->blocks; b++) {
#ifdef __SANITIZE_ADDRESS__
        ASAN_UNPOISON_MEMORY_REGION(b->data - GUARD, (b->n + 2 * GUARD) * sizeof *b->data);
#endif
        for (size_t i = 0; i < GUARD; i++) {
            expect(g, b->data[-1 - (long)i] == g->guarding, "an index is below 0",
                   "%s was written before its beginning", b->name);
            expect(g, b->data[b->n + i] == g->guarding,
                   "look at the bounds of the loops, and at what an index is made of",
                   "%s has %zu numbers, and number %zu was written", b->name, b->n, b->n + i);
        }
        expect(g, !b->copy || memcmp(b->copy, b->data, b->n * sizeof *b->data) == 0,
               "what is passed as const belongs to somebody else", "%s is an input, and it was changed", b->name);
    }
}

static bool agree(const float *found, const double *expected, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        if (found[i] == UNWRITTEN ||
            (!(fabs((double)found[i] - expected[i]) <= tolerance) && !(isnan(expected[i]) && isnan(found[i]))))
            return false;
    return true;
}

static double largest(const double *x, size_t n)
{
    double most = 1;
    for (size_t i = 0; i < n; i++)
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/* Mistakes that can be made anywhere; NULL: none of these */
static const char *common_mistake(const float *found, const double *expected, size_t n, size_t at, double tolerance)
{
    size_t unwritten = 0;
    for (size_t i = 0; i < n; i++)
        unwritten += found[i] == UNWRITTEN;
    if (unwritten == n)
        return "nothing was written: is the function still empty?";
    if (found[at] == UNWRITTEN)
        return "this number was never written: do the loops reach it?";
    if (fabs((double)found[at] - UNWRITTEN - expected[at]) <= 1e-3 + tolerance)
        return "the result was added to what was there before: begin a sum with 0";
    if (isnan(found[at]))
        return "NaN comes from 0/0, from infinity - infinity and from infinity * 0: which of these can arise here?";
    return NULL;
}

void expect_numbers(Grade *g, const char *name, const float *found, const double *expected, size_t n, size_t columns,
                    double tolerance, const Suspect *suspects, const char *hint)
{
    double allowed = tolerance * largest(expected, n);
    char place[80];
    size_t at = 0;
    if (agree(found, expected, n, allowed))
        return;
    check_blocks(g); /* a write beyond its blocks is reported first */
    while (agree(found + at, expected + at, 1, allowed))
        at++;
    const char *common = common_mistake(found, expected, n, at, allowed);
    hint = common ? common : hint;
    for (const Suspect *s = suspects; s && s->value; s++)
        if (agree(found, s->value, n, tolerance * largest(s->value, n)))
            hint = s->hint;
    if (columns)
        snprintf(place, sizeof place, "%s[%zu,%zu]", name, at / columns, at % columns);
    else
        snprintf(place, sizeof place, "%s[%zu]", name, at);
    expect(g, found[at] != UNWRITTEN, hint, "%s should be %.6g, and was not written", place, expected[at]);
    expect(g, false, hint, "%s is %.6g and should be %.6g", place, (double)found[at], expected[at]);
}

bool grade_again(Grade *g)
{
    double now = clock_seconds(), took = now - g->began;
    if (g->calls > 1) /* the first call warms up */
        g->best = g->calls == 2 || took < g->best ? took : g->best;
    if (g->calls++ > 200 || (g->calls > 4 && g->best * g->calls > 0.05))
        return false;
    g->began = clock_seconds();
    return true;
}

/* ---- in the parent */

/* So large a file may become: more than what standard output and standard error are already. */
static rlim_t printable(void)
{
    off_t out = lseek(STDOUT_FILENO, 0, SEEK_END), error = lseek(STDERR_FILENO, 0, SEEK_END);
    off_t size = out > error ? out : error;
    return (rlim_t)PRINTED + (rlim_t)(size > 0 ? size : 0);
}

/* Memory without end is refused; under a sanitizer, which reserves much more than it uses, it is not. */
static void limit(int seconds)
{
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)4 << 30, (rlim_t)4 << 30});
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){printable(), printable()});
    setrlimit(RLIMIT_CPU, &(struct rlimit){(rlim_t)seconds + 1, (rlim_t)seconds + 1});
}

static void say(Verdict *v, const char *found, const char *hint)
{
    snprintf(v->text, sizeof v->text, "%.*s%s%s", MESSAGE / 2, found, *hint ? "\n" : "", hint);
}

static void explain_signal(Verdict *v, int number)
{
    char text[100];
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
        say(v, "it crashed: memory was touched that is not there",
            "an index beyond the end, or a pointer to nothing (make MODE=sanitize grade-NN names the line)");
        break;
    case SIGFPE: say(v, "it crashed: a whole number was divided by 0", "which size can be 0?"); break;
    case SIGXCPU: say(v, "it ran out of time", "does every loop end?"); break;
    case SIGXFSZ: say(v, "it printed without end", "a printf in a loop that does not end?"); break;
    case SIGABRT:
        say(v, "it gave up (abort)", "an assert, or memory that was freed twice or written beyond its end");
        break;
    default: snprintf(text, sizeof text, "it was ended by signal %d", number), say(v, text, "");
    }
}

static volatile pid_t running; /* the child, and the number of its process group; 0: none */

/* What a check has started outlives neither the check nor the grader. */
static void stop_group(void)
{
    if (running > 0)
        kill(-running, SIGKILL);
}

static void stop_all(int number)
{
    stop_group();
    signal(number, SIG_DFL);
    raise(number);
}

/* Whether the child has ended; it is not waited for, so its number is still its own */
static bool has_ended(pid_t child)
{
    siginfo_t it = {0};
    return waitid(P_PID, (id_t)child, &it, WEXITED | WNOHANG | WNOWAIT) == 0 && it.si_pid == child;
}

/* Reads the child's message until the child ends, whoever else holds the pipe; false: it took longer than `seconds`. */
static bool listen(pid_t child, int pipe, char *message, size_t *size, int seconds)
{
    double end = clock_seconds() + seconds;
    struct pollfd one = {.fd = pipe, .events = POLLIN};
    *size = 0;
    for (bool ended = false; clock_seconds() < end;) {
        int ready = poll(&one, 1, ended ? 0 : one.fd < 0 ? 1 : 20);
        if (ready <= 0 && ended)
            return true;
        ssize_t got = ready > 0 ? read(pipe, message + *size, MESSAGE - *size) : -1;
        *size += got > 0 ? (size_t)got : 0;
        if (got == 0)
            one.fd = -1; /* nobody writes any more, or there is no more room */
        ended = has_ended(child);
    }
    return false;
}

/* Waits for the child and says what became of it. */
static Verdict judge(pid_t child, int pipe, int seconds)
{
    Verdict v = {0};
    char message[MESSAGE + 1] = "", text[100];
    size_t size;
    int status = 0;
    bool in_time = listen(child, pipe, message, &size, seconds);
    stop_group();
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    running = 0;
    message[size] = 0;
    if (!in_time) {
        snprintf(text, sizeof text, "it was not done after %d seconds", seconds);
        say(&v, text, "does every loop end? (size_t is never below 0: `i >= 0` always holds)");
    } else if (WIFSIGNALED(status)) {
        explain_signal(&v, WTERMSIG(status));
    } else if (message[0] == '+' || message[0] == '-') {
        v.said = true;
        v.passed = message[0] == '+';
        memcpy(v.text, message + 1, size);
    } else {
        snprintf(text, sizeof text, "it ended the program (exit status %d)", WEXITSTATUS(status));
        say(&v, text, "a function returns, whatever happens");
    }
    return v;
}

/* A second time, what is printed has been seen; and memory from malloc that nobody has written is not the first's. */
static void change_surroundings(void)
{
    int nothing = open("/dev/null", O_WRONLY);
    if (nothing >= 0) {
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
    }
#ifdef __GLIBC__
    mallopt(M_PERTURB, 0x80); /* bytes of 0x7f: 3.4e38 as a float */
#endif
}

/* Calls `work` in a process of its own, with this beside its blocks. */
static Verdict apart(void (*work)(Grade *g, const void *what), const void *what, int seconds, float guarding)
{
    Verdict v = {0};
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0) {
        say(&v, "there is no pipe to be had", strerror(errno));
        return v;
    }
    sigset_t stops, before; /* who is stopped here must know whom to end */
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT), sigaddset(&stops, SIGTERM), sigaddset(&stops, SIGHUP);
    sigprocmask(SIG_BLOCK, &stops, &before);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_SETMASK, &before, NULL);
        signal(SIGTTOU, SIG_IGN), signal(SIGTTIN, SIG_IGN); /* not in the foreground, it may still print */
        close(ends[0]);
        limit(seconds);
        if (guarding == GUARDING_AGAIN)
            change_surroundings();
        Grade g = {.report = ends[1], .guarding = guarding};
        work(&g, what);
        report(&g, '+', "");
    }
    close(ends[1]);
    if (child > 0) {
        setpgid(child, child); /* whichever of the two comes first */
        running = child;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child > 0)
        v = judge(child, ends[0], seconds);
    if (child < 0)
        say(&v, "there is no process to be had", strerror(errno));
    close(ends[0]);
    return v;
}

static void run_check(Grade *g, const void *check)
{
    ((const Check *)check)->run(g);
    check_blocks(g);
}

static Verdict run(const Check *c, float guarding)
{
    return apart(run_check, c, c->seconds ? c->seconds : SECONDS, guarding);
}

/* Runs the check twice, with other numbers beside the blocks, and fresh memory that holds something else: no result may
 * depend on these. Where it does, and comes out alike in the same surroundings, that is what the hint says. */
static Verdict grade(const Check *c)
{
    static const char *const hint = "something beside its array was read, or memory from malloc that "
                                    "nobody had written: look at the bounds of the loops (make MODE=sanitize grade-NN "
                                    "names the line)";
    Verdict first = run(c, GUARDING), second = first.said ? run(c, GUARDING_AGAIN) : first;
    if (!strcmp(first.text, second.text) || (!first.passed && strcmp(first.text, run(c, GUARDING).text) != 0))
        return first;
    Verdict told = {0};
    char *found = first.passed ? second.text : first.text;
    found[strcspn(found, "\n")] = 0;
    say(&told, found, hint);
    return told;
}

/* ---- what is printed */

/* Points, the property, and where it does not hold what was found, with a hint. */
static void print_verdict(const Check *c, Verdict *v)
{
    printf("  %2d/%d  %s: %s\n", v->passed ? c->points : 0, c->points, c->function, c->property);
    if (v->passed)
        return;
    char *hint = strchr(v->text, '\n');
    if (hint)
        *hint++ = 0;
    printf("        %s\n", v->text);
    if (hint && *hint)
        printf("        hint: %s\n", hint);
}

static int grade_in_words(const Lesson *lesson)
{
    int points = 0, all = 0;
    printf("%s\n\n", lesson->title);
    for (const Check *c = lesson->checks; c < lesson->checks + lesson->count; c++) {
        Verdict v = grade(c);
        print_verdict(c, &v);
        points += v.passed ? c->points : 0;
        all += c->points;
    }
    printf("\n%d of %d points%s\n", points, all, points == all ? ": all of it." : "");
    return points == all ? 0 : 1;
}

typedef struct Outcome {
    bool passed[64];
    int points, all;
} Outcome;

static Outcome grade_silently(const Lesson *lesson)
{
    Outcome o = {0};
    for (size_t i = 0; i < lesson->count && i < 64; i++) {
        o.passed[i] = grade(&lesson->checks[i]).passed;
        o.points += o.passed[i] ? lesson->checks[i].points : 0;
        o.all += lesson->checks[i].points;
    }
    return o;
}

/* Whether all checks of an operation passed; a function that is no operation is not in `timed`. */
static bool passes(const Lesson *lesson, const Outcome *o, const char *operation)
{
    bool tried = false, all = true;
    for (size_t i = 0; i < lesson->count && i < 64; i++)
        if (!strcmp(lesson->checks[i].function, operation)) {
            tried = true;
            all = all && o->passed[i];
        }
    return tried && all;
}

typedef struct Race {
    const Timed *timed;
    const Kernels *k;
} Race;

static void run_race(Grade *g, const void *race)
{
    const Race *r = race;
    Stream *s = NULL;
    Error e = {{0}};
    char text[40];
    if (!r->k->open(&s, 1, &e))
        reject(g, NULL, e.text);
    r->timed->call(g, r->k, s);
    snprintf(text, sizeof text, "%.9f", g->best);
    report(g, '+', text);
}

/* Microseconds of one call; below 0: it did not end well. */
static double race(const Timed *timed, const Kernels *k)
{
    Race r = {timed, k};
    Verdict v = apart(run_race, &r, SECONDS, GUARDING);
    return v.passed ? 1e6 * atof(v.text) : -1;
}

static int print_table(const Lesson *lesson)
{
    Outcome o = grade_silently(lesson);
    const Kernels *plain = kernels_find("plain", NUMBER_F32, NULL), *cpu = kernels_find("cpu", NUMBER_F32, NULL);
    printf("lesson\t%s\t%d\t%d\n", lesson->title, o.points, o.all);
    for (size_t i = 0; plain && i < lesson->timed_count; i++) {
        const Timed *t = &lesson->timed[i];
        Kernels mine = *plain;
        bool passed = passes(lesson, &o, t->operation);
        lesson->mine(&mine);
        printf("operation\t%s\t%s\t%.1f\t%.1f\t%.1f\n", t->operation, passed ? "yes" : "no",
               passed ? race(t, &mine) : -1, race(t, plain), cpu ? race(t, cpu) : -1);
    }
    return o.points == o.all ? 0 : 1;
}

static int print_operations(const Lesson *lesson)
{
    Outcome o = grade_silently(lesson);
    for (size_t i = 0; i < lesson->timed_count; i++)
        if (passes(lesson, &o, lesson->timed[i].operation))
            printf("%s\n", lesson->timed[i].operation);
    return o.points == o.all ? 0 : 1;
}

/* What an answer has started before main, or in another group than its check's: whatever lost its parent has become the
 * grader's. Each turn ends those that are known; more may turn up when these have ended. */
static void stop_rest(void)
{
    enum { TURNS = 100 };
    char text[4096];
    for (int turn = 0; turn < TURNS; turn++) {
        FILE *f = fopen("/proc/thread-self/children", "r");
        size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
        if (f)
            fclose(f);
        text[size] = 0;
        char *at = text, *end;
        for (long child; (child = strtol(at, &end, 10)) > 0; at = end)
            if (!kill((pid_t)child, SIGKILL))
                waitpid((pid_t)child, NULL, 0);
        if (at == text)
            return;
    }
}

static int grade_as_asked(const Lesson *lesson, int argc, char **argv)
{
    if (argc == 1)
        return grade_in_words(lesson);
    if (argc == 2 && !strcmp(argv[1], "operations"))
        return print_operations(lesson);
    if (argc == 2 && !strcmp(argv[1], "table"))
        return print_table(lesson);
    fprintf(stderr, "usage: %s [operations | table]\n", argv[0]);
    return 2;
}

int grade_main(const Lesson *lesson, int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, stop_all), signal(SIGTERM, stop_all), signal(SIGHUP, stop_all);
    prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
    const int status = grade_as_asked(lesson, argc, argv);
    stop_rest();
    return status;
}
