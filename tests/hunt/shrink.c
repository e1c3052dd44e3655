/* Networks judged in processes of their own, and made smaller; see judge.h. */
#define _GNU_SOURCE
#include "tests/hunt/judge.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time of the processor, so that a busy machine is no finding. */
static void limit_time(void)
{
    enum { SECONDS = 60 };
    setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static _Noreturn void judge_and_leave(const Sketch *s, const Kernels *const *backends, int to)
{
    char why[WHY] = "";
    limit_time();
    bool fine = judge(s, backends, why);
    ssize_t written = fine ? 0 : write(to, why, strlen(why));
    _exit(fine && written == 0 ? 0 : 1);
}

static size_t read_all(int from, char *to, size_t size)
{
    size_t n = 0;
    ssize_t got;
    while (n < size && (got = read(from, to + n, size - n)) > 0)
        n += (size_t)got;
    return n;
}

bool judge_apart(const Sketch *s, const Kernels *const *backends, char why[WHY])
{
    int ends[2], status = 0;
    if (pipe(ends))
        scene_stop("no pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        scene_stop("no process");
    if (!child) {
        close(ends[0]);
        judge_and_leave(s, backends, ends[1]);
    }
    close(ends[1]);
    why[read_all(ends[0], why, WHY - 1)] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(why, WHY, "it ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (status && !why[0])
        snprintf(why, WHY, "it ended with status %d", WEXITSTATUS(status));
    return !status;
}

/* ---- smaller ones */

static bool chooses_domain(const Op *op) { return op->what == EMBED || op->what == CONSTANT || op->what == GATHER; }

static bool chooses_columns(const Op *op)
{
    return op->what == EMBED || op->what == CONSTANT || op->what == LINEAR || op->what == SPLIT || op->what == SLICE ||
           (op->what == LOSS && op->shares < 0);
}

static bool gives_up_an_input(Op *op)
{
    if (op->inputs < 2 || (op->what != CONCAT && op->what != ATTENTION))
        return false;
    op->inputs--;
    op->cross = false;
    return true;
}

static void uncompose(Op *op)
{
    op->composed = op->again = false;
    op->weights = (WeightOptions){.cap = op->weights.cap}; /* all that fused attention knows */
    op->score = SCORE_SCALED_DOT;
}

/* A block alone, which has no values or scores of others. */
static void unstack(Op *op)
{
    op->depth = op->loops = 0, op->skip = SKIP_NONE;
    op->value_residual = op->embedding_norm = op->every_other = op->recurrent = op->again = false;
}

/* What an operation can do without: it becomes 0. */
#define PART(field)                                                                                                    \
    {                                                                                                                  \
        offsetof(Op, field), sizeof(((Op *)0)->field)                                                                  \
    }
static const struct {
    size_t at, size;
} parts[] = {PART(segment),
             PART(distances),
             PART(block),
             PART(window),
             PART(sinks),
             PART(causal),
             PART(offsets),
             PART(lengths),
             PART(bias),
             PART(relu),
             PART(smoothing),
             PART(z),
             PART(again),
             PART(agree),
             PART(positions),
             PART(across),
             PART(first),
             PART(kv_heads),
             PART(gate),
             PART(rotary),
             PART(bias_free),
             PART(qk_cosine),
             PART(macaron),
             PART(sink),
             PART(value_gate),
             PART(guided),
             PART(score),
             PART(weights.cap),
             PART(weights.top),
             PART(weights.talking),
             PART(experts),
             PART(even_load),
             PART(branch_rate),
             PART(ff_rate),
             PART(skip),
             PART(loops),
             PART(every_other),
             PART(value_residual),
             PART(embedding_norm),
             PART(recurrent),
             PART(weights.sigmoid),
             PART(weights.memory)};
#undef PART
enum { PARTS = sizeof parts / sizeof *parts };

static bool leave_out(Op *op, size_t at, size_t size)
{
    static const Op none = {.what = EMBED}; /* which is 0, as all else */
    char *part = (char *)op + at;
    if (!memcmp(part, (const char *)&none + at, size))
        return false;
    memset(part, 0, size);
    return true;
}

/* One thing less in operation k, number `which`; false: it had none. */
static bool simplify(Op *op, size_t which)
{
    if (which < PARTS)
        return leave_out(op, parts[which].at, parts[which].size);
    switch (which - PARTS) {
    case 0: return op->what != DROP && op->rate > 0 ? op->rate = 0, true : false;
    case 1: return op->shares >= 0 && op->what != LOSS ? op->shares = -1, true : false;
    case 2: return op->composed ? uncompose(op), true : false;
    case 3: return op->heads > 1 ? op->heads = 1, op->kv_heads = 0, true : false;
    case 4: return op->key_size > 1 ? op->key_size = 1, op->rotary = op->qk_norm = op->qk_cosine = false, true : false;
    case 5: return op->value_size > 1 ? op->value_size = 1, true : false;
    case 6: return chooses_domain(op) && op->domain != SIDE_0 ? op->domain = SIDE_0, true : false;
    case 7: return chooses_columns(op) && op->columns > 1 ? op->columns = 1, true : false;
    case 8: return chooses_columns(op) && op->columns > 4 ? op->columns = 4, true : false;
    case 9: return gives_up_an_input(op);
    case 10: return op->qk_norm ? op->qk_norm = op->qk_cosine = false, true : false;
    case 11: return op->norm > NORM_PRE ? op->norm = NORM_PRE, true : false;
    case 12: return op->norm_kind >= NORM_SCALE ? op->norm_kind = NORM_RMS, true : false;
    case 13: return op->depth > 1 && !op->recurrent ? op->depth--, true : false;
    case 14: return op->depth ? unstack(op), true : false;
    case 15: return op->chosen < op->experts ? op->chosen = op->experts, true : false;
    default: return false;
    }
}

enum { THINGS = PARTS + 16 };

/* One position less, or one row. */
static bool shorten(Sketch *s, size_t which)
{
    if (which == 0)
        return s->rows > 1 ? s->rows--, true : false;
    if (which < 3)
        return s->spare[which - 1] ? s->spare[which - 1] = 0, true : false;
    size_t *length = &s->length[(which - 3) % 2][(which - 3) / 2];
    bool fewer = (which - 3) / 2 < s->rows && *length > 0;
    *length = fewer ? *length > 8 ? *length / 2 : *length - 1 : *length;
    return fewer;
}

enum { SHORTER = 3 + 2 * SKETCH_ROWS };

/* Is there something wrong with it, too? Then it takes the place of what was. */
static bool still_wrong(Sketch *s, const Sketch *smaller, const Kernels *const *backends, char *why)
{
    char now[WHY] = "";
    if (!sketch_valid(smaller) || judge_apart(smaller, backends, now))
        return false;
    *s = *smaller;
    memcpy(why, now, WHY);
    return true;
}

/* Without operation k, whose readers read nothing, one of its inputs or any value before it. */
static bool drop(Sketch *s, size_t k, const Kernels *const *backends, char *why)
{
    const Op op = s->op[k];
    for (size_t i = 0; i < 1 + op.inputs + k; i++) {
        Sketch less = *s;
        size_t other = !i ? OPS : i <= op.inputs ? op.input[i - 1] : k - (i - op.inputs);
        if (sketch_drop(&less, k, other) && still_wrong(s, &less, backends, why))
            return true;
    }
    return false;
}

/* One step: false: nothing more can be left out. */
static bool shrink_once(Sketch *s, const Kernels *const *backends, char *why)
{
    bool smaller = false;
    for (size_t k = s->count; k-- > 0;) {
        smaller |= drop(s, k, backends, why);
    }
    for (size_t which = 0; which < SHORTER; which++) {
        Sketch less = *s;
        smaller |= shorten(&less, which) && still_wrong(s, &less, backends, why);
    }
    for (size_t k = 0; k < s->count; k++)
        for (size_t thing = 0; thing < THINGS; thing++) {
            Sketch less = *s;
            smaller |= simplify(&less.op[k], thing) && sketch_fit(&less) && still_wrong(s, &less, backends, why);
        }
    return smaller;
}

Sketch shrink(const Sketch *s, const Kernels *const *backends, char why[WHY])
{
    Sketch least = *s;
    while (shrink_once(&least, backends, why))
        continue;
    return least;
}
