/* gpu: how fast a GPU is in products, attention and moving memory, and how near kernels/cuda comes to that.
 *
 *     gpu DEVICE [tiny] [PRECISION...]     DEVICE: cuda; or emulated, with sizes that tell nothing (tiny), to try
 *                                              the program itself; PRECISION: f32, tf32 and bf16, or some of them
 *
 * Prints lines of: what, shape, precision, microseconds, rate, its unit, share of a limit in percent; of what fails,
 * why, and continues. The limits are measured here, first, for each precision: the fastest of a few large products for
 * what computes, a copy of a large block for what moves memory. Everything else is compared with them. Times are
 * medians of rounds after a warm-up; a round asks for many runs, and waits for the last. FLOP and bytes are those of
 * kernels/cost. */
#include "base/clock.h"
#include "base/memory.h"
#include "kernels/cost/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, MATRICES = 8 };

typedef struct Job {
    const char *what;
    size_t n, in, out; /* positions and widths; `out` 0: none */
    size_t t, heads;   /* of attention: the length of each row */
} Job;

/* Memory for one job on one table. */
typedef struct Work {
    const Kernels *k;
    Stream *s;
    const Job *job;
    void *at[MATRICES];
    int32_t *start;
    StepState *state;
} Work;

/* --- what a run asks for --- */

static Strided part(const Work *w, size_t i) { return (Strided){w->at[i], w->job->in}; }

static Attend how(const Work *w)
{
    const Job *j = w->job;
    size_t rows = j->n / j->t, size = j->in / j->heads;
    return (Attend){.rows = rows,
                    .queries = j->n,
                    .longest_query = j->t,
                    .keys = j->n,
                    .longest_key = j->t,
                    .heads = j->heads,
                    .key_size = size,
                    .value_size = size,
                    .query_start = w->start,
                    .key_start = w->start,
                    .causal = true,
                    .scale = 0.125};
}

static void run_copy(const Work *w) { w->k->copy(w->s, w->at[0], w->at[1], w->job->n * w->job->in * w->k->number); }

/* Without a bias, after which there is nothing to do: as a library alone does it. */
static void run_product(const Work *w)
{
    const Job *j = w->job;
    w->k->linear_forward(w->s, w->at[0], false, w->at[1], w->at[2], NULL, false, j->n, j->in, j->out);
}

static void run_forward(const Work *w)
{
    const Job *j = w->job;
    w->k->linear_forward(w->s, w->at[0], false, w->at[1], w->at[2], w->at[3], false, j->n, j->in, j->out);
}

static void run_backward(const Work *w)
{
    const Job *j = w->job;
    w->k->linear_backward(w->s, w->at[1], false, w->at[4], w->at[3], w->at[0], w->at[0], w->at[1], w->at[2], false,
                          j->n, j->in, j->out);
}

static void run_attention(const Work *w)
{
    Attend a = how(w);
    w->k->attention_forward(w->s, w->at[0], w->at[7], part(w, 1), part(w, 2), part(w, 3), &a, w->state);
}

static void run_attention_backward(const Work *w)
{
    Attend a = how(w);
    AttendGradients d = {.q = part(w, 5), .k = part(w, 6), .v = part(w, 4)};
    w->k->attention_backward(w->s, &d, w->at[1], w->at[0], w->at[7], part(w, 1), part(w, 2), part(w, 3), &a, w->state);
}

static void run_add_norm(const Work *w)
{
    const Job *j = w->job;
    w->k->add_norm_forward(w->s, w->at[0], w->at[1], w->at[4], w->at[5], w->at[2], w->at[3], (Dropout){.rate = 0.1},
                           w->state, w->at[6], w->at[7], 1e-5, j->n, j->in);
}

static void run_adam(const Work *w)
{
    const Job *j = w->job;
    w->k->adam(w->s, w->at[0], NULL, w->at[1], w->at[2], w->at[3], w->state, (Adam){0.9, 0.999, 1e-8}, NULL, 0, 0,
               j->n * j->in);
}

typedef struct Kind {
    const char *what;
    void (*run)(const Work *w);
} Kind;

static const Kind kinds[] = {{"copy", run_copy},
                             {"product", run_product},
                             {"linear_forward", run_forward},
                             {"linear_backward", run_backward},
                             {"attention_forward", run_attention},
                             {"attention_backward", run_attention_backward},
                             {"add_norm_forward", run_add_norm},
                             {"adam", run_adam}};

static void (*run_of(const Job *j))(const Work *w)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].what, j->what))
            return kinds[i].run;
    return NULL;
}

/* --- memory --- */

/* As large as any of the job's tensors, as reals. */
static size_t room_of(const Job *j)
{
    size_t activations = j->n * (j->in > j->out ? j->in : j->out), weights = j->in * j->out;
    return (activations > weights ? activations : weights) * sizeof(float);
}

static void work_close(Work *w)
{
    for (size_t i = 0; i < MATRICES; i++)
        w->k->release(w->at[i]);
    w->k->release(w->start);
    w->k->release(w->state);
    if (w->s)
        w->k->close(w->s);
}

/* Numbers of any size would do, but zeros take less power, and a GPU runs faster on them. */
static bool fill(Work *w, size_t bytes, Error *e)
{
    unsigned char *noise = memory_get(bytes, 1);
    if (!noise)
        return memory_error(e, "numbers", bytes, 1);
    uint32_t seed = 1;
    bool half = w->k->number == 2;
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        bool top = half ? i % 2 == 1 : i % 4 == 3;
        noise[i] = (unsigned char)(top ? 0x3d | (seed >> 31 << 7) : seed >> 24); /* between 1/32 and 1/8 */
    }
    for (size_t i = 0; i < MATRICES; i++)
        w->k->upload(w->s, w->at[i], noise, bytes);
    memory_free(noise);
    return true;
}

static size_t rows_of(const Job *j) { return j->t ? j->n / j->t : 0; }

/* [rows + 1] where each row begins, in the host's memory; NULL: there is none. */
static int32_t *starts_of(const Job *j)
{
    int32_t *starts = memory_get(rows_of(j) + 1, sizeof *starts);
    for (size_t r = 0; starts && r <= rows_of(j); r++)
        starts[r] = (int32_t)(r * j->t);
    return starts;
}

static bool work_open(Work *w, const Kernels *k, const Job *j, Error *e)
{
    size_t bytes = room_of(j), rows = rows_of(j);
    int32_t *starts = starts_of(j);
    StepState state = {.learning_rate = 1e-6, .correction1 = 1, .correction2 = 1, .clip = 1, .finite = 1};
    *w = (Work){.k = k, .job = j};
    bool fine = (starts || memory_error(e, j->what, rows + 1, sizeof *starts)) && k->open(&w->s, 1, e);
    for (size_t i = 0; fine && i < MATRICES; i++)
        fine = (w->at[i] = k->allocate(bytes)) != NULL || memory_error(e, j->what, bytes, 1);
    w->start = fine ? k->allocate((rows + 1) * sizeof *starts) : NULL;
    w->state = fine ? k->allocate(sizeof state) : NULL;
    fine = fine && ((w->start && w->state) || memory_error(e, j->what, rows, sizeof *starts)) && fill(w, bytes, e);
    if (fine) {
        k->upload(w->s, w->start, starts, (rows + 1) * sizeof *starts);
        k->upload(w->s, w->state, &state, sizeof state);
        fine = k->finish(w->s, e);
    }
    memory_free(starts);
    if (!fine)
        work_close(w);
    return fine;
}

/* --- timing --- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Seconds of one run: as many in a round as take about a twentieth of a second, tiny: one. */
static bool time_of(double *seconds, const Work *w, bool tiny, Error *e)
{
    void (*run)(const Work *w) = run_of(w->job);
    double times[ROUNDS], begin;
    run(w); /* code is loaded, memory reserved */
    if (!w->k->finish(w->s, e))
        return false;
    begin = clock_seconds();
    run(w);
    if (!w->k->finish(w->s, e))
        return false;
    double once = clock_seconds() - begin;
    size_t runs = tiny ? 1 : (size_t)(0.05 / (once + 1e-6)) + 1;
    for (size_t i = 0; i < ROUNDS; i++) {
        begin = clock_seconds();
        for (size_t r = 0; r < runs; r++)
            run(w);
        if (!w->k->finish(w->s, e))
            return false;
        times[i] = (clock_seconds() - begin) / (double)runs;
    }
    qsort(times, ROUNDS, sizeof *times, by_value);
    *seconds = times[ROUNDS / 2];
    return true;
}

/* The cost model reads where rows begin, so it has a copy in the host's memory; it touches no other. */
static bool cost_of(Cost *cost, const Work *w, Error *e)
{
    Work shapes = *w;
    shapes.k = cost_kernels(w->k->type);
    shapes.s = NULL;
    shapes.start = starts_of(w->job);
    bool fine = (shapes.start || memory_error(e, w->job->what, rows_of(w->job) + 1, sizeof *shapes.start)) &&
                shapes.k->open(&shapes.s, 1, e);
    if (fine) {
        run_of(w->job)(&shapes);
        *cost = *cost_last(shapes.s);
        shapes.k->close(shapes.s);
    }
    memory_free(shapes.start);
    return fine;
}

typedef struct Measured {
    double seconds, rate; /* FLOP a second; or bytes, where nothing else is done */
    bool flop;
} Measured;

static bool measure_job(Measured *m, const Kernels *k, const Job *j, bool tiny, Error *e)
{
    Work w;
    Cost cost;
    if (!work_open(&w, k, j, e))
        return false;
    bool fine = time_of(&m->seconds, &w, tiny, e) && cost_of(&cost, &w, e);
    if (fine) {
        m->flop = cost.flop > 0;
        m->rate = (m->flop ? cost.flop : cost.bytes) / m->seconds;
    }
    work_close(&w);
    return fine;
}

/* --- the table --- */

static const Job peaks[] = {
    {"product", 8192, 8192, 8192, 0, 0}, {"product", 16384, 4096, 8192, 0, 0}, {"product", 8192, 4096, 4096, 0, 0}};
static const Job memory = {"copy", 1 << 13, 1 << 13, 0, 0, 0};

/* charlm former, encdec base, classifier former; then attention on long rows, and what only moves memory. */
static const Job jobs[] = {{"linear_forward", 8192, 256, 768, 0, 0},
                           {"linear_forward", 8192, 256, 1024, 0, 0},
                           {"linear_forward", 8192, 1024, 256, 0, 0},
                           {"linear_backward", 8192, 256, 1024, 0, 0},
                           {"linear_forward", 25000, 512, 1536, 0, 0},
                           {"linear_forward", 25000, 512, 2048, 0, 0},
                           {"linear_backward", 25000, 512, 2048, 0, 0},
                           {"linear_forward", 4096, 512, 37000, 0, 0},
                           {"linear_forward", 2048, 128, 512, 0, 0},
                           {"attention_forward", 8192, 256, 0, 256, 8},
                           {"attention_backward", 8192, 256, 0, 256, 8},
                           {"attention_forward", 16384, 1024, 0, 4096, 16},
                           {"attention_backward", 16384, 1024, 0, 4096, 16},
                           {"attention_forward", 16384, 1024, 0, 4096, 32},
                           {"attention_backward", 16384, 1024, 0, 4096, 32},
                           {"add_norm_forward", 25000, 512, 0, 0, 0},
                           {"adam", 4096, 8192, 0, 0, 0}};

/* As small as it can be and still be of its kind. */
static Job tiny_job(Job j)
{
    size_t heads = j.heads ? 2 : 0, t = j.t ? 12 : 0;
    return (Job){j.what, t ? 2 * t : 9, heads ? 16 : 10, j.out ? 11 : 0, t, heads};
}

static void print_what(const Kernels *k, const Job *j)
{
    printf("%s\t", j->what);
    if (j->t)
        printf("%zu x %zu, %zu heads of %zu", j->n / j->t, j->t, j->heads, j->in / j->heads);
    else if (j->out)
        printf("%zu x %zu -> %zu", j->n, j->in, j->out);
    else
        printf("%zu x %zu", j->n, j->in);
    printf("\t%s", number_type_name(k->type));
}

/* limit: of rates of this kind; 0: none is known, because what measures it has failed */
static void print_row(const Kernels *k, const Job *j, const Measured *m, double limit)
{
    print_what(k, j);
    printf("\t%.1f\t%.1f\t%s\t", 1e6 * m->seconds, m->rate * (m->flop ? 1e-12 : 1e-9), m->flop ? "TFLOP/s" : "GB/s");
    if (limit > 0)
        printf("%.0f", 100 * m->rate / limit);
    printf("\t\n");
    fflush(stdout);
}

static void print_failure(const Kernels *k, const Job *j, const char *why)
{
    print_what(k, j);
    printf("\t-\t-\t-\t-\tmissing: %s\n", why);
    fflush(stdout);
}

/* The limits of one precision: what products reach, and copies. */
typedef struct Limits {
    double flop, bytes;
} Limits;

/* Measures, and prints beside the limits; `limits` NULL: it is one itself. */
static bool measure_and_print(Measured *m, const Kernels *k, Job j, const Limits *limits, bool tiny)
{
    Error e;
    j = tiny ? tiny_job(j) : j;
    if (!measure_job(m, k, &j, tiny, &e)) {
        print_failure(k, &j, e.text);
        return false;
    }
    print_row(k, &j, m, !limits ? m->rate : m->flop ? limits->flop : limits->bytes);
    return true;
}

/* How many could not be measured. */
static size_t cost_table(const Kernels *k, bool tiny)
{
    Limits limits = {0, 0};
    Measured m;
    size_t failures = 0;
    if (measure_and_print(&m, k, memory, NULL, tiny))
        limits.bytes = m.rate;
    else
        failures++;
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
        if (!measure_and_print(&m, k, peaks[i], NULL, tiny))
            failures++;
        else if (m.rate > limits.flop)
            limits.flop = m.rate;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        failures += !measure_and_print(&m, k, jobs[i], &limits, tiny);
    return failures;
}

/* A GPU may be too old for a precision. */
static bool measure_precision(const char *device, NumberType type, bool tiny)
{
    Error e;
    const Kernels *k = kernels_find(device, type, &e);
    size_t failures = k ? cost_table(k, tiny) : 0;
    if (!k)
        fprintf(stderr, "gpu: %s\n", e.text);
    else if (failures)
        fprintf(stderr, "gpu: %zu of them could not be measured in %s\n", failures, number_type_name(type));
    return k && !failures;
}

static bool is_wanted(const char *precision, int count, char **names)
{
    bool wanted = count == 0;
    for (int i = 0; i < count; i++)
        wanted = wanted || !strcmp(names[i], precision);
    return wanted;
}

int main(int argc, char **argv)
{
    static const NumberType types[] = {NUMBER_F32, NUMBER_TF32, NUMBER_BF16};
    bool tiny = argc > 2 && !strcmp(argv[2], "tiny"), fine = true;
    int first = tiny ? 3 : 2, known = 0;
    for (size_t i = 0; argc >= 2 && i < sizeof types / sizeof *types; i++)
        for (int a = first; a < argc; a++)
            known += !strcmp(argv[a], number_type_name(types[i]));
    if (argc < 2 || known != argc - first) {
        fprintf(stderr, "gpu DEVICE [tiny] [f32] [tf32] [bf16]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_wanted(number_type_name(types[i]), argc - first, argv + first))
            fine = measure_precision(argv[1], types[i], tiny) && fine;
    return !fine;
}
