/* Muon (Jordan et al. 2024): a matrix moves by its momentum with all singular values near 1, so that directions which
 * gradients seldom have count as much as those they always have. For the maps inside of the model, [out, in] which both
 * grow with its width; embeddings, logits, vectors and tables of distances have Adam.
 *
 *     m = momentum m + (1 - momentum) g
 *     X = momentum m + (1 - momentum) g, over its norm
 *     5 times (--newton-schulz):  X = a X + b (X X^T) X + c (X X^T)^2 X,    a, b, c = 3.4445, -4.7750, 2.0315
 *     W = W - lr (0.2 sqrt(max(out, in)) X + decay W)
 *
 * Each iteration maps a singular value s to a s + b s^3 + c s^5, which brings all of (0, 1] near 1, the small ones as fast
 * as so few steps can. The factor of the step (Liu et al. 2025) makes its root mean square that of Adam's, about 0.2, so one
 * --lr and one --decay suit both.
 *
 * An iteration is three products, with the square completed: with A = X X^T + h I, h = b / 2c,
 *
 *     X = (c A A + d I) X,    d = a - b^2 / 4c
 *
 * where X X^T is X^T X, and the last product is from the right, if there are more rows than columns. X is where the
 * gradient was and where Adam has v, in turn, so a matrix takes no more memory than with Adam; A and its square are a
 * worker's own. Each matrix is one worker's. */
#include "core/train/adam.h"

#include "base/memory.h"

#include <math.h>

static const double a = 3.4445, b = -4.7750, c = 2.0315;

static size_t smaller(const Parameter *p) { return p->shape[0] < p->shape[1] ? p->shape[0] : p->shape[1]; }
static size_t larger(const Parameter *p) { return p->shape[0] < p->shape[1] ? p->shape[1] : p->shape[0]; }

static bool is_whole(const Parameter *p) { return p->role == ROLE_WEIGHT && p->edge == EDGE_NONE; }

/* What the iterations need, from the largest of all matrices. */
typedef struct Scratch {
    size_t side;   /* of A */
    size_t chunks; /* partial sums of squares */
} Scratch;

static Scratch scratch_of(const Parameters *p)
{
    Scratch scratch = {0};
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        const size_t chunks = squares_chunks(one->count);
        if (is_whole(one) && smaller(one) > scratch.side)
            scratch.side = smaller(one);
        if (is_whole(one) && chunks > scratch.chunks)
            scratch.chunks = chunks;
    }
    return scratch;
}

static double flop_of(const OptimizerOptions *o, const Parameter *p)
{
    const double side = (double)smaller(p);
    return is_whole(p) ? (double)o->iterations * 2 * side * side * (2 * (double)larger(p) + side) : 0;
}

/* Numbers that all iterations read and write, and those by which the rest moves more than Adam. */
static double moved_of(const OptimizerOptions *o, const Parameter *p)
{
    const double side = (double)smaller(p);
    return is_whole(p) ? (double)o->iterations * (4 * (double)p->count + 5 * side * side) + 4 * (double)p->count : 0;
}

static double sum_of(const OptimizerOptions *o, const Parameters *p,
                     double (*of)(const OptimizerOptions *o, const Parameter *one))
{
    double sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += of(o, p->list[i]);
    return sum;
}

static double flop(const OptimizerOptions *o, const Parameters *p) { return sum_of(o, p, flop_of); }

static double moved(const OptimizerOptions *o, const Parameters *p) { return sum_of(o, p, moved_of); }

static size_t beside(const Parameters *p, const Kernels *k, size_t workers)
{
    const Scratch scratch = scratch_of(p);
    return workers * (2 * scratch.side * scratch.side * k->number + scratch.chunks * sizeof(double)) +
           2 * scratch.side * k->number;
}

/* On the device; `squares` and `parts` have a part for each worker. */
typedef struct Muon {
    Scratch scratch;
    void *squares;     /* [workers, 2, side, side] A, and what X is multiplied by */
    void *diagonal[2]; /* [side] numbers: h and d */
    double *parts;     /* [workers, chunks] */
} Muon;

/* `count` numbers on the device. */
static void *filled(const Kernels *k, Stream *s, size_t count, double value)
{
    void *numbers = k->allocate(count * k->number), *reals = k->allocate(count * k->real),
         *host = memory_get(count, k->real);
    const bool fine = numbers && reals && host;
    for (size_t i = 0; fine && i < count; i++)
        real_put(k, host, i, value);
    if (fine) {
        k->upload(s, reals, host, count * k->real);
        k->convert(s, numbers, reals, count);
        k->finish(s, NULL); /* it has read `reals` */
    }
    memory_free(host);
    k->release(reals);
    if (!fine)
        k->release(numbers);
    return fine ? numbers : NULL;
}

static bool muon_open(Optimizer *o, Stream *s, Error *e)
{
    const Kernels *k = o->k;
    const Scratch scratch = scratch_of(o->parameters);
    if (!adam_open(o, s, e))
        return false;
    Muon *muon = ((AdamOwn *)o->own)->beside = memory_get(1, sizeof *muon);
    if (muon) {
        *muon = (Muon){
            .scratch = scratch,
            .squares = k->allocate(o->workers * 2 * scratch.side * scratch.side * k->number),
            .diagonal = {filled(k, s, scratch.side, b / (2 * c)), filled(k, s, scratch.side, a - b * b / (4 * c))},
            .parts = k->allocate(o->workers * scratch.chunks * sizeof *muon->parts)};
    }
    return (muon && muon->squares && muon->diagonal[0] && muon->diagonal[1] && muon->parts) ||
           memory_error(e, "squares of matrices", beside(o->parameters, k, o->workers), 1);
}

static void muon_close(Optimizer *o)
{
    Muon *muon = o->own ? ((AdamOwn *)o->own)->beside : NULL;
    if (muon) {
        o->k->release(muon->squares);
        o->k->release(muon->diagonal[0]);
        o->k->release(muon->diagonal[1]);
        o->k->release(muon->parts);
    }
    memory_free(muon);
    adam_close(o);
}

static Operand matrix(void *data, size_t columns) { return (Operand){.data = data, .row = columns, .column = 1}; }

static Operand transposed(Operand x) { return (Operand){.data = x.data, .row = x.column, .column = x.row}; }

/* Y = one iteration of X [rows, columns]. */
static void iterate(const Optimizer *o, Stream *s, const Muon *muon, size_t worker, const Parameter *p, void *y_,
                    void *x_)
{
    const Kernels *k = o->k;
    const size_t rows = p->shape[0], columns = p->shape[1], side = smaller(p),
                 all = muon->scratch.side * muon->scratch.side;
    const bool wide = rows <= columns;
    char *first = (char *)muon->squares + worker * 2 * all * k->number, *second = first + all * k->number;
    const Operand x = matrix(x_, columns), y = matrix(y_, columns), square = matrix(first, side),
                  factor = matrix(second, side), left = wide ? x : transposed(x);

    k->product(s, square, false, left, transposed(left), 1, 1, 1, side, side, larger(p));
    k->move(s, (Strided){first, side + 1}, true, (Strided){muon->diagonal[0], 1}, side, 1);
    k->product(s, factor, false, square, square, c, 1, 1, side, side, side);
    k->move(s, (Strided){second, side + 1}, true, (Strided){muon->diagonal[1], 1}, side, 1);
    k->product(s, y, false, wide ? factor : x, wide ? x : factor, 1, 1, 1, rows, columns, side);
}

static void orthogonal_step(const Optimizer *o, Stream *s, const OptimizerStep *step, size_t i)
{
    const Kernels *k = o->k;
    const Parameter *p = o->parameters->list[i];
    const Motion *motion = &o->motions[i];
    const Muon *muon = ((const AdamOwn *)o->own)->beside;
    const StepState *state = optimizer_state(o, step, motion);
    double *parts = muon->parts + step->number * muon->scratch.chunks;
    void *g = parameter_in(p, step->gradient, k->real), *x = optimizer_at(o, 1, p->offset), *y = g;

    k->momentum(s, optimizer_at(o, 0, p->offset), g, state, motion->momentum, p->count);
    k->squares(s, parts, g, p->count);
    k->unit(s, x, g, parts, squares_chunks(p->count), p->count);
    for (size_t t = 0; t < o->options.iterations; t++) {
        iterate(o, s, muon, step->number, p, y, x);
        void *last = x;
        x = y;
        y = last;
    }
    const Weights *w = step->weights;
    k->descend(s, parameter_in(p, w->reals, k->real),
               w->numbers == w->reals ? NULL : parameter_in(p, w->numbers, k->number), x, state,
               0.2 * sqrt((double)larger(p)), motion->decay, p->count);
}

static double own_flop(const Optimizer *o, const Parameter *p)
{
    size_t from, end;
    optimizer_own(o, p, &from, &end);
    return end > from ? flop_of(&o->options, p) : 0;
}

/* Of all that has to be computed a worker takes the matrices whose middle is in its part. */
static void muon_step(Optimizer *o, Stream *s, const OptimizerStep *step)
{
    double all = 0, before = 0;
    for (size_t i = 0; i < o->parameters->count; i++)
        all += own_flop(o, o->parameters->list[i]);
    adam_step(o, s, step);
    for (size_t i = 0; i < o->parameters->count; i++) {
        const double own = own_flop(o, o->parameters->list[i]);
        const bool mine = own > 0 && (size_t)((before + own / 2) / all * (double)step->workers) == step->number;
        if (mine && o->motions[i].rate > 0)
            orthogonal_step(o, s, step, i);
        before += own;
    }
}

static void configure(OptimizerOptions *o)
{
    o->momentum = o->momentum > 0 ? o->momentum : 0.95;
    o->iterations = o->iterations ? o->iterations : 5;
}

const OptimizerKind muon_optimizer = {.name = "muon",
                                      .holds = "Muon's momentum",
                                      .blocks = 2,
                                      .saved = {"muon.m.", "muon.v."},
                                      .traffic = 6,
                                      .is_whole = is_whole,
                                      .flop = flop,
                                      .moved = moved,
                                      .beside = beside,
                                      .configure = configure,
                                      .open = muon_open,
                                      .close = muon_close,
                                      .begin = adam_begin,
                                      .step = muon_step,
                                      .flush = adam_flush,
                                      .after_load = adam_after_load};
