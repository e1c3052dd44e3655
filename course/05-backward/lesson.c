/* Lesson 5: backward. See README.md beside this file; `make lesson-05` runs it.
 *
 * A tape by hand: each operation runs at once and writes down what its gradient needs; then the nodes are walked from
 * last to first. What it finds is compared with central differences, in double and in float. */
#include "course/frame/draw.h"
#include "kernels/plain/plain.h"

#include "base/philox.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the tape */

enum { MEMORY = 1024, VALUES = 32 }; /* of a tape */

/* A matrix [rows, columns], and where the gradient of the loss by it is summed up */
typedef struct Value {
    void *data, *gradient;
    size_t rows, columns;
    bool arrived; /* gradient holds something: what comes next is added */
} Value;

typedef struct Tape Tape;
typedef struct Node Node;

struct Node {
    void (*backward)(Tape *t, Node *node);
    Value *y, *a, *b, *bias; /* output, inputs */
    double alpha;
    bool transposed; /* b was read so */
};

struct Tape {
    const Kernels *k;  /* plain_f64 or plain_f32 */
    bool forgets;      /* the mistake: each gradient is written over the one before it */
    double target[16]; /* of the loss */
    double memory[MEMORY];
    Value value[VALUES];
    Node node[VALUES];
    size_t used, values, nodes;
};

static void begin(Tape *t, const Kernels *k)
{
    t->k = k;
    t->used = t->values = t->nodes = 0;
    memset(t->memory, 0, sizeof t->memory);
}

static double get(const Tape *t, const void *data, size_t i)
{
    return t->k == &plain_f32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void set(const Tape *t, void *data, size_t i, double x)
{
    t->k == &plain_f32 ? (void)(((float *)data)[i] = (float)x) : (void)(((double *)data)[i] = x);
}

static Value *value(Tape *t, size_t rows, size_t columns)
{
    Value *x = &t->value[t->values++];
    *x = (Value){t->memory + t->used, t->memory + t->used + rows * columns, rows, columns, false};
    t->used += 2 * rows * columns;
    return x;
}

static Value *record(Tape *t, Node node)
{
    t->node[t->nodes++] = node;
    return node.y;
}

/* Where a gradient goes, and whether it is added to what is there */
static void *gradient(const Tape *t, Value *x, bool *add)
{
    *add = x->arrived && !t->forgets;
    x->arrived = true;
    return x->gradient;
}

static void backward(Tape *t)
{
    for (size_t i = t->nodes; i > 0; i--)
        t->node[i - 1].backward(t, &t->node[i - 1]);
}

/* ---- operations */

static Operand operand(void *data, size_t columns, bool transposed)
{
    return (Operand){.data = data, .row = transposed ? 1 : columns, .column = transposed ? columns : 1};
}

/* y [N,O] = a [N,I] b^T + bias, b [O,I] */
static void linear_back(Tape *t, Node *n)
{
    bool add;
    void *da = gradient(t, n->a, &add);
    t->k->linear_backward(NULL, da, add, n->b->gradient, n->bias ? n->bias->gradient : NULL, n->y->gradient, NULL,
                          n->a->data, n->b->data, false, n->a->rows, n->a->columns, n->y->columns);
}

static Value *linear(Tape *t, Value *a, Value *b, Value *bias)
{
    Value *y = value(t, a->rows, b->rows);
    t->k->linear_forward(NULL, y->data, false, a->data, b->data, bias ? bias->data : NULL, false, a->rows, a->columns,
                         b->rows);
    return record(t, (Node){.backward = linear_back, .y = y, .a = a, .b = b, .bias = bias});
}

/* y = alpha a B, with B = b or b^T.  da = alpha dy B^T,  dB = alpha a^T dy */
static void product_back(Tape *t, Node *n)
{
    size_t rows = n->y->rows, columns = n->y->columns, inner = n->a->columns;
    bool add;
    Operand dy = operand(n->y->gradient, columns, false);
    Operand da = operand(gradient(t, n->a, &add), inner, false);
    Operand b_transposed = operand(n->b->data, n->b->columns, !n->transposed);
    t->k->product(NULL, da, add, dy, b_transposed, n->alpha, 1, 1, rows, inner, columns);
    Operand db = operand(gradient(t, n->b, &add), n->b->columns, n->transposed);
    Operand a_transposed = operand(n->a->data, inner, true);
    t->k->product(NULL, db, add, a_transposed, dy, n->alpha, 1, 1, inner, columns, rows);
}

static Value *product(Tape *t, Value *a, Value *b, bool transposed, double alpha)
{
    Value *y = value(t, a->rows, transposed ? b->rows : b->columns);
    t->k->product(NULL, operand(y->data, y->columns, false), false, operand(a->data, a->columns, false),
                  operand(b->data, b->columns, transposed), alpha, 1, 1, y->rows, y->columns, a->columns);
    return record(t,
                  (Node){.backward = product_back, .y = y, .a = a, .b = b, .alpha = alpha, .transposed = transposed});
}

static void softmax_back(Tape *t, Node *n)
{
    bool add;
    void *da = gradient(t, n->a, &add);
    t->k->softmax_backward(NULL, da, add, n->y->gradient, n->y->data, n->y->rows, n->y->columns);
}

static Value *softmax(Tape *t, Value *a)
{
    Value *y = value(t, a->rows, a->columns);
    t->k->softmax_forward(NULL, y->data, a->data, a->rows, a->columns);
    return record(t, (Node){.backward = softmax_back, .y = y, .a = a});
}

/* Half the squared distance of a from the target: its gradient is the distance itself. Every backward pass begins here. */
static void distance_back(Tape *t, Node *n)
{
    for (size_t i = 0; i < n->a->rows * n->a->columns; i++)
        set(t, n->a->gradient, i, get(t, n->a->data, i) - t->target[i]);
}

static double distance(Tape *t, Value *a)
{
    double sum = 0;
    for (size_t i = 0; i < a->rows * a->columns; i++)
        sum += pow(get(t, a->data, i) - t->target[i], 2) / 2;
    record(t, (Node){.backward = distance_back, .a = a});
    return sum;
}

/* ---- models: what a loss is computed from */

enum { INPUTS = 6, MOST = 12 };

typedef struct Input {
    const char *name;
    size_t rows, columns;
    double numbers[MOST];
} Input;

typedef struct Model {
    Value *(*forward)(Tape *t, Value **in);
    Input input[INPUTS];
    size_t inputs;
    double target[MOST];
} Model;

/* Runs a model and gives its loss; in [inputs] are its inputs on the tape */
static double run(Tape *t, const Kernels *k, const Model *m, Value **in)
{
    begin(t, k);
    memcpy(t->target, m->target, sizeof m->target);
    for (size_t i = 0; i < m->inputs; i++) {
        in[i] = value(t, m->input[i].rows, m->input[i].columns);
        for (size_t j = 0; j < m->input[i].rows * m->input[i].columns; j++)
            set(t, in[i]->data, j, m->input[i].numbers[j]);
    }
    return distance(t, m->forward(t, in));
}

static double rounded(const Kernels *k, double x) { return k == &plain_f32 ? (double)(float)x : x; }

/* (L(x + h) - L(x - h)) / 2h by one number of an input. What is divided by is the step that was taken: x + h is rounded
 * to a number that there is. `once`: (L(x + h) - L(x)) / h */
static double slope(const Kernels *k, Model *m, size_t input, size_t number, double h, bool once)
{
    static Tape t;
    Value *in[INPUTS];
    double *x = &m->input[input].numbers[number], before = *x;
    double right = rounded(k, before + h), left = once ? before : rounded(k, before - h);
    *x = right;
    double above = run(&t, k, m, in);
    *x = left;
    double below = run(&t, k, m, in);
    *x = before;
    return (above - below) / (right - left);
}

/* ---- 1. one layer */

static Value *layer(Tape *t, Value **in) { return linear(t, in[0], in[1], in[2]); }

static void print_values(const Tape *t, const char *title, const void *data, size_t rows, size_t columns)
{
    float x[64];
    for (size_t i = 0; i < rows * columns; i++)
        x[i] = (float)get(t, data, i);
    print_matrix(title, x, rows, columns, NULL, NULL);
}

static void one_layer(void)
{
    static Tape t;
    Value *in[INPUTS];
    Model m = {.forward = layer,
               .inputs = 3,
               .input = {{"x", 2, 2, {1, 2, 3, -1}}, {"w", 2, 2, {1, -1, 0.5, 2}}, {"bias", 1, 2, {0.5, -0.5}}},
               .target = {0, 2, 3.5, 0}};
    section("1. One layer: y = x w^T + bias");
    double loss = run(&t, &plain_f64, &m, in);
    backward(&t);
    print_values(&t, "y", t.node[0].y->data, 2, 2);
    print_values(&t, "dy = y - target", t.node[0].y->gradient, 2, 2);
    printf("  loss %.3f\n\n  number        tape  difference\n", loss);
    for (size_t i = 0; i < m.inputs; i++)
        for (size_t j = 0; j < m.input[i].rows * m.input[i].columns; j++)
            printf("  %4s[%zu,%zu]  %8.4f    %8.4f\n", m.input[i].name, j / m.input[i].columns, j % m.input[i].columns,
                   get(&t, in[i]->gradient, j), slope(&plain_f64, &m, i, j, 1e-3, false));
}

/* ---- 2. attention */

enum { N = 4, D = 3, DK = 2, DV = 2 };

/* y = softmax(q k^T / sqrt(dk)) v */
static Value *attend(Tape *t, Value *q, Value *k, Value *v)
{
    Value *s = product(t, q, k, true, 1 / sqrt((double)q->columns));
    return product(t, softmax(t, s), v, false, 1);
}

/* x, wq, wk, wv: x is used three times */
static Value *head(Tape *t, Value **in)
{
    Value *q = linear(t, in[0], in[1], NULL), *k = linear(t, in[0], in[2], NULL), *v = linear(t, in[0], in[3], NULL);
    return attend(t, q, k, v);
}

/* The same with three copies of x: after the matrices */
static Value *head_of_three(Tape *t, Value **in)
{
    Value *q = linear(t, in[3], in[0], NULL), *k = linear(t, in[4], in[1], NULL), *v = linear(t, in[5], in[2], NULL);
    return attend(t, q, k, v);
}

static Input noise(const char *name, size_t rows, size_t columns, uint32_t site)
{
    Input x = {name, rows, columns, {0}};
    for (size_t i = 0; i < rows * columns; i++)
        x.numbers[i] = (double)(float)philox_normal(5, 0, i, site);
    return x;
}

static Model head_model(void)
{
    Model m = {.forward = head, .inputs = 4, .target = {0}};
    m.input[0] = noise("x", N, D, 1), m.input[1] = noise("wq", DK, D, 2);
    m.input[2] = noise("wk", DK, D, 3), m.input[3] = noise("wv", DV, D, 4);
    for (size_t i = 0; i < N * DV; i++)
        m.target[i] = philox_normal(5, 0, i, 5);
    return m;
}

/* The largest distance of a gradient on the tape t, which is one of doubles, from differences with step h. NaN where a
 * step is lost: 0 is divided by 0 */
static double farthest(const Tape *t, const Kernels *k, Model *m, size_t input, Value **in, double h, bool once)
{
    double most = 0;
    for (size_t i = 0; i < m->input[input].rows * m->input[input].columns; i++) {
        double error = fabs(get(t, in[input]->gradient, i) - slope(k, m, input, i, h, once));
        if (isnan(error))
            return NAN;
        most = fmax(most, error);
    }
    return most;
}

static double largest(const Tape *t, const Value *x)
{
    double most = 0;
    for (size_t i = 0; i < x->rows * x->columns; i++)
        most = fmax(most, fabs(get(t, x->gradient, i)));
    return most;
}

static void compare(const Tape *t, Model *m, Value **in)
{
    printf("  by  largest gradient  farthest from differences\n");
    for (size_t i = 0; i < m->inputs; i++)
        printf("  %2s  %16.4f  %25.4f\n", m->input[i].name, largest(t, in[i]),
               farthest(t, &plain_f64, m, i, in, 1e-4, false));
    printf("\n");
}

static void attention(void)
{
    static Tape t;
    Value *in[INPUTS];
    Model m = head_model();
    section("2. Attention");
    run(&t, &plain_f64, &m, in);
    backward(&t);
    const Node *scores = &t.node[3], *weights = &t.node[4];
    print_values(&t, "weights", weights->y->data, N, N);
    print_values(&t, "dL/dweights = dy v^T", weights->y->gradient, N, N);
    print_values(&t, "dL/dscores = weights (dweights - sum of weights dweights)", scores->y->gradient, N, N);
    compare(&t, &m, in);
    size_t numbers = 0;
    for (size_t i = 0; i < m.inputs; i++)
        numbers += m.input[i].rows * m.input[i].columns;
    printf("  %zu numbers: by differences %zu runs forward; by the tape one forward, one backward\n\n", numbers,
           2 * numbers);
}

/* The gradient by x[0] of each of three copies, their sum, and what differences say of the one x that is all three */
static void three_uses(void)
{
    static const char *const rows[] = {"as a query", "as a key", "as a value", "sum", "differences"};
    static const char *const columns[] = {"x[0,0]", "x[0,1]", "x[0,2]"};
    static Tape t;
    Value *in[INPUTS];
    Model m = head_model(), apart = {.forward = head_of_three, .inputs = 6};
    float table[5][D] = {{0}};
    for (size_t i = 0; i < 6; i++)
        apart.input[i] = m.input[i < 3 ? i + 1 : 0];
    memcpy(apart.target, m.target, sizeof m.target);
    run(&t, &plain_f64, &apart, in);
    backward(&t);
    for (size_t j = 0; j < D; j++) {
        for (size_t use = 0; use < 3; use++) {
            table[use][j] = (float)get(&t, in[3 + use]->gradient, j);
            table[3][j] += table[use][j];
        }
        table[4][j] = (float)slope(&plain_f64, &m, 0, j, 1e-4, false);
    }
    print_matrix("the gradient by x[0], which is used three times", table[0], 5, D, rows, columns);
}

/* ---- 3. how long a step is */

enum { STEPS = 12, WAYS = 3 };

static void steps(void)
{
    static Tape t;
    Value *in[INPUTS];
    Model m = head_model();
    float h[STEPS], error[WAYS][STEPS];
    section("3. How long a step");
    double loss = run(&t, &plain_f64, &m, in);
    backward(&t);
    printf("  the loss is %.2f; the largest gradient by x is %.2f\n", loss, largest(&t, in[0]));
    printf("  from 1 to the next float %.1e, cube root %.1e\n", (double)FLT_EPSILON, cbrt((double)FLT_EPSILON));
    printf("  from 1 to the next double %.1e, cube root %.1e, square root %.1e\n\n", DBL_EPSILON, cbrt(DBL_EPSILON),
           sqrt(DBL_EPSILON));
    printf("  farthest from the gradient by x\n  step   central, float  central, double  one side, double\n");
    for (int i = 0; i < STEPS; i++) {
        double step = pow(10, -i);
        h[i] = (float)step;
        error[0][i] = (float)farthest(&t, &plain_f32, &m, 0, in, step, false);
        error[1][i] = (float)farthest(&t, &plain_f64, &m, 0, in, step, false);
        error[2][i] = (float)farthest(&t, &plain_f64, &m, 0, in, step, true);
        printf("  1e-%-2d", i);
        isnan(error[0][i]) ? printf("  %14s", "no step") : printf("  %14.1e", (double)error[0][i]);
        printf("  %15.1e  %16.1e\n", (double)error[1][i], (double)error[2][i]);
    }
    printf("\n");
    const Curve curves[WAYS] = {{"float, both sides", h, error[0], STEPS},
                                {"double, both sides", h, error[1], STEPS},
                                {"one side, double", h, error[2], STEPS}};
    draw_curves(&(Plot){"05-step", "what differences are worth, by the step", "step h", "error", true, true}, curves,
                WAYS);
}

/* ---- 4. what goes wrong */

static void forgotten(void)
{
    static Tape t;
    Value *in[INPUTS];
    Model m = head_model();
    section("4. What goes wrong");
    printf("  a tape that writes over gradients:\n\n");
    run(&t, &plain_f64, &m, in);
    t.forgets = true;
    backward(&t);
    compare(&t, &m, in);
    t.forgets = false;
}

/* A step over a kink: the ReLU at x = 0.001 has slope 1 */
static void kink(void)
{
    static const double step[] = {0.01, 0.0005};
    for (size_t i = 0; i < 2; i++) {
        double x[2] = {0.001 + step[i], 0.001 - step[i]}, y[2];
        plain_f64.activation_forward(NULL, y, x, ACTIVATION_RELU, 2);
        printf("  ReLU at 0.001, step %-6g: slope %.2f\n", step[i], (y[0] - y[1]) / (x[0] - x[1]));
    }
    printf("\n");
}

/* What is added to a large number, and what of it arrives */
static void arrives(void)
{
    static const float at[] = {1, 1000, 100000};
    for (size_t i = 0; i < 3; i++) {
        volatile float right = at[i] + 0.001f;
        printf("  %g + 0.001 is in float %.6f more\n", (double)at[i], (double)right - (double)at[i]);
    }
}

int main(void)
{
    one_layer();
    attention();
    three_uses();
    steps();
    forgotten();
    kink();
    arrives();
    return 0;
}
