/* See mine.h. The library exports one function, mine_table, which puts its operations into a table and returns the size
 * of the table that it was compiled for. */
#include "kernels/mine/mine.h"

#include "kernels/plain/plain.h"

#include <dlfcn.h>
#include <string.h>

#define PLACE "course/mine/libmine.so"

static Kernels theirs; /* as the library fills it */

/* The student's has both moments. */
static void adam(Stream *s, void *w, void *copy, void *m, void *v, const void *g, const StepState *state, Adam adam,
                 const Span *spans, size_t span_count, size_t first, size_t n)
{
    (v ? &theirs : &plain_f32)->adam(s, w, copy, m, v, g, state, adam, spans, span_count, first, n);
}

/* And the student's norms have a mean: an RMS norm is plain's. */
static const Kernels *of_norm(const void *mean) { return mean ? &theirs : &plain_f32; }

static void norm_forward(Stream *s, void *y, void *mean, void *rstd, const void *x, const void *gain, const void *bias,
                         double epsilon, size_t n, size_t d)
{
    of_norm(mean)->norm_forward(s, y, mean, rstd, x, gain, bias, epsilon, n, d);
}

static void norm_backward(Stream *s, void *dx, bool add, void *dgain, void *dbias, const void *dy, const void *mean,
                          const void *rstd, const void *x, const void *gain, size_t n, size_t d)
{
    of_norm(mean)->norm_backward(s, dx, add, dgain, dbias, dy, mean, rstd, x, gain, n, d);
}

static void add_norm_forward(Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f,
                             Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                             size_t n, size_t d)
{
    of_norm(mean)->add_norm_forward(s, y, sum, mean, rstd, x, f, drop, state, gain, bias, epsilon, n, d);
}

static void add_norm_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, void *dgain, void *dbias,
                              const void *dy, const void *sum, const void *mean, const void *rstd, Dropout drop,
                              const StepState *state, const void *gain, size_t n, size_t d)
{
    of_norm(mean)->add_norm_backward(s, dx, add_x, df, add_f, dgain, dbias, dy, sum, mean, rstd, drop, state, gain, n,
                                     d);
}

const Kernels *mine_find(NumberType type, Error *e)
{
    static Kernels table;
    size_t (*fill)(Kernels *) = NULL;
    if (type != NUMBER_F32) {
        fail(e, "device mine does not support %s%s; it supports f32", number_type_name(type),
             type == NUMBER_F64 ? " (--device plain does)" : "");
        return NULL;
    }
    void *library = dlopen("./" PLACE, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail(e, "device mine: cannot open %s (%s); build it with make course, in attend's folder", PLACE, dlerror());
        return NULL;
    }
    void *found = dlsym(library, "mine_table"); /* which C does not allow to be cast to a function */
    memcpy(&fill, &found, sizeof fill);
    if (!fill || fill(NULL) != sizeof(Kernels)) {
        dlclose(library);
        fail(e, "device mine: %s was built for another version of attend; rebuild it with make course", PLACE);
        return NULL;
    }
    theirs = plain_f32;
    fill(&theirs);
    table = theirs;
    table.backend = "mine";
    table.adam = adam;
    table.norm_forward = norm_forward;
    table.norm_backward = norm_backward;
    table.add_norm_forward = add_norm_forward;
    table.add_norm_backward = add_norm_backward;
    return &table;
}
