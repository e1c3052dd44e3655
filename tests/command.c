/* See command.h. */
#define _DEFAULT_SOURCE /* wait4 */
#include "tests/command.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 96, LINE = 4096 };

const char *fresh_path(const char *name)
{
    static char paths[8][700];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static long longest_file; /* bytes that a command may write to one file; 0: any */

void command_limit_files(long bytes) { longest_file = bytes; }

/* In the child; files are opened before the fork, so that they are there however early it is killed. */
static void redirect(const int files[3])
{
    for (int i = 0; i < 3; i++)
        if (dup2(files[i], i) < 0)
            _exit(127);
    const struct rlimit limit = {(rlim_t)longest_file, (rlim_t)longest_file};
    if (longest_file && setrlimit(RLIMIT_FSIZE, &limit))
        _exit(127);
}

static const char *called = "charlm";

void command_program(const char *name) { called = name; }

static size_t processes; /* 0: no launcher */

/* More processes than processors, of any user, on any of them: what Open MPI otherwise refuses or binds. */
void command_processes(size_t count)
{
    static const char *const allowed[][2] = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
        {"UCX_LOG_LEVEL", "fatal"}}; /* it speaks of a bare root on standard output */
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        setenv(allowed[i][0], allowed[i][1], 1);
    if (count)
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* MPI's own */
    else
        unsetenv("ASAN_OPTIONS");
    processes = count;
}

static const char *input; /* for the next call */
static size_t input_size;

void command_input(const char *text, size_t size)
{
    input = text;
    input_size = size;
}

/* A file that holds what the call reads, opened. */
static int open_input(const char *folder)
{
    char path[700];
    if (!input)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/in", folder);
    write_in(folder, "in", input, input_size);
    input = NULL;
    return open(path, O_RDONLY | O_CLOEXEC);
}

static Started start(const char *format, va_list list)
{
    static char line[LINE], program[700], number[30];
    char *words[WORDS + 4] = {"mpirun", "-n", number, program};
    int first = processes ? 0 : 3, count = 4;
    Started s;
    const char *bin = getenv("ATTEND_BIN"), *folder = test_folder();
    snprintf(program, sizeof program, "%s/%s", bin ? bin : "bin", called);
    snprintf(number, sizeof number, "%zu", processes);
    snprintf(s.out, sizeof s.out, "%s/out", folder);
    snprintf(s.err, sizeof s.err, "%s/err", folder);
    ck_assert_int_lt(vsnprintf(line, sizeof line, format, list), LINE);
    for (char *word = strtok(line, " "); word && count < WORDS + 3; word = strtok(NULL, " "))
        words[count++] = word;
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    const int files[3] = {open_input(folder), open(s.out, flags, 0666), open(s.err, flags, 0666)};
    ck_assert(files[0] >= 0 && files[1] >= 0 && files[2] >= 0);
    fflush(stdout);
    s.process = fork();
    if (!s.process) {
        redirect(files);
        execvp(words[first], words + first);
        _exit(127);
    }
    for (int i = 0; i < 3; i++)
        close(files[i]);
    ck_assert_int_gt(s.process, 0);
    return s;
}

Said command_end(const Started *s)
{
    Said said = {0};
    Error e;
    int status = 0;
    size_t size;
    struct rusage use;
    while (wait4(s->process, &status, 0, &use) < 0)
        ck_assert_int_eq(errno, EINTR);
    said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    said.peak = use.ru_maxrss * 1024;
    ck_done(file_read(s->out, &said.out, &said.out_size, &e), e);
    ck_done(file_read(s->err, &said.err, &size, &e), e);
    ck_assert_msg(said.status != 127, "bin/charlm cannot be run: make it, or say in ATTEND_BIN where it is");
    return said;
}

Started command_start(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    Started s = start(format, list);
    va_end(list);
    return s;
}

void said_free(Said *s)
{
    memory_free(s->out);
    memory_free(s->err);
    *s = (Said){0};
}

Said command(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    Started s = start(format, list);
    va_end(list);
    return command_end(&s);
}

static Said must_list(const char *format, va_list list)
{
    Started s = start(format, list);
    Said said = command_end(&s);
    ck_assert_msg(said.status == 0, "`%s %s` exits with %d: %s", called, format, said.status, said.err);
    return said;
}

Said must(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    Said said = must_list(format, list);
    va_end(list);
    return said;
}

Json *must_json(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    Said said = must_list(format, list);
    va_end(list);
    Json *j = said_json(&said);
    said_free(&said);
    return j;
}

void works(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    Said said = must_list(format, list);
    va_end(list);
    said_free(&said);
}

void refused(int status, const char *words, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    Started s = start(format, list);
    va_end(list);
    Said said = command_end(&s);
    const char *end = strchr(said.err, '\n');
    ck_assert_msg(said.status == status, "`%s %s` exits with %d: %s", called, format, said.status, said.err);
    ck_assert_msg(said.out_size == 0, "`%s %s` says %s", called, format, said.out);
    ck_assert_msg(strncmp(said.err, called, strlen(called)) == 0 && said.err[strlen(called)] == ':' && end && !end[1],
                  "`%s %s` says %s", called, format, said.err);
    ck_assert_msg(strstr(said.err, words) != NULL, "`%s %s` says %s", called, format, said.err);
    said_free(&said);
}

Json *said_json(const Said *s)
{
    Json *j;
    Error e;
    const char *end = strchr(s->out, '\n');
    ck_assert_msg(end && !end[1], "not one line: %s", s->out);
    ck_done(json_read(&j, s->out, s->out_size, "standard output", &e), e);
    ck_assert_int_eq(j->kind, JSON_OBJECT);
    return j;
}

double json_real(const Json *j, const char *key)
{
    const Json *item = json_get(j, key);
    ck_assert_msg(item && item->kind == JSON_NUMBER, "there is no number '%s'", key);
    return item->number;
}

char *read_in(const char *folder, const char *name, size_t *size)
{
    char *path = path_join(folder, name);
    struct {
        char *bytes; /* a member, because gcc 12 warns of a dangling pointer to a variable here */
    } file = {NULL};
    Error e;
    if (file_exists(path))
        ck_done(file_read(path, &file.bytes, size, &e), e);
    memory_free(path);
    return file.bytes;
}

void write_in(const char *folder, const char *name, const void *bytes, size_t size)
{
    char *path = path_join(folder, name);
    Error e;
    ck_done(folder_make(folder, &e) && file_write(path, bytes, size, &e), e);
    memory_free(path);
}

void copy_in(const char *from, const char *folder, const char *name)
{
    char *bytes;
    size_t size;
    Error e;
    ck_done(file_read(from, &bytes, &size, &e), e);
    write_in(folder, name, bytes, size);
    memory_free(bytes);
}

char *edit_in(const char *folder, const Edit *edit)
{
    size_t size;
    char *text = read_in(folder, edit->file, &size);
    Buffer edited = {0};
    ck_assert_msg(text && strstr(text, edit->from), "%s", edit->from);
    const size_t before = (size_t)(strstr(text, edit->from) - text);
    buffer_add(&edited, text, before);
    buffer_print(&edited, "%s%s", edit->to, text + before + strlen(edit->from));
    write_in(folder, edit->file, edited.text, edited.size);
    buffer_free(&edited);
    return text;
}

void import_refused(const char *folder, const char *run, const Edit *edit)
{
    char *text = edit_in(folder, edit);
    Said s = command("import %s --out %s -q", folder, run);
    ck_assert_msg((s.status == 1 || s.status == 2) && strstr(s.err, edit->said) && !s.out[0], "%s: %s", edit->to,
                  s.err);
    ck_assert_msg(strchr(s.err, '\n') == s.err + strlen(s.err) - 1, "one line: %s", s.err);
    said_free(&s);
    ck_assert(!folder_exists(run));
    write_in(folder, edit->file, text, strlen(text));
    memory_free(text);
}

void imports_a_named_file(const char *folder, const char *whole)
{
    const char *run = fresh_path("one");
    size_t size, other;
    char *weights = read_in(folder, "model.safetensors", &size);
    write_in(folder, "best.safetensors", weights, size);
    write_in(folder, "model.safetensors", "", 0);
    memory_free(weights);
    refused(1, "other.safetensors", "import %s/other.safetensors --out %s -q", folder, run);
    works("import %s/best.safetensors --out %s -q", folder, run);
    char *a = read_in(whole, "checkpoints/00000000/model.safetensors", &size),
         *b = read_in(run, "checkpoints/00000000/model.safetensors", &other);
    ck_assert(a && b && size == other && !memcmp(a, b, size));
    memory_free(a);
    memory_free(b);
}
