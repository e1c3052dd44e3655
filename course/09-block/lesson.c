/* Lesson 9: the block. See README.md beside this file; `make lesson-09` runs it.
 *
 *     x = x + attention(norm(x))        x = x + ff(norm(x))        ff(x) = relu(x W1^T + b1) W2^T + b2 */
#include "base/philox.h"
#include "charlm/data.h"
#include "core/nn/embedding.h"
#include "core/nn/loss.h"
#include "core/nn/stack.h"
#include "core/tensor/operations.h"
#include "course/frame/draw.h"
#include "course/frame/learner.h"
#include "course/frame/matrix.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

enum { N = 16, D = 32, H = 4, F = 128, V = 10, L = 12 }; /* words, width, heads, hidden, classes, blocks */
enum { SEEDS = 20 };

static const double epsilon = 1e-5;

static void fill(float *x, size_t n, double size, uint32_t site)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(size * philox_normal(1, 0, i, site));
}

static float largest_difference(const float *a, const float *b, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

/* Root of the mean square */
static double size_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum / (double)n);
}

/* ---- 1. what is linear: f(a + b) = f(a) + f(b) - f(0) */

typedef struct Weighted {
    float w[N * N], in[F * D], b1[F], out[D * F], b2[D];
} Weighted;

typedef void (*Step)(float *y, const float *x, const Weighted *w);

static void map(float *y, const float *x, const Weighted *w)
{
    k->linear_forward(NULL, y, false, x, w->in, w->b1, false, N, D, D);
}

static void average(float *y, const float *x, const Weighted *w)
{
    k->product(NULL, matrix(y, D), false, matrix(w->w, N), matrix(x, D), 1, 1, 1, N, D, N);
}

static void with_residual(float *y, const float *x, const Weighted *w)
{
    float f[N * D];
    map(f, x, w);
    k->add_forward(NULL, y, x, f, (Dropout){0}, NULL, N, D);
}

static void attention(float *y, const float *x, const Weighted *w)
{
    float weights[N * N];
    (void)w;
    k->product(NULL, matrix(weights, N), false, matrix(x, D), transposed(matrix(x, D)), 1 / sqrt(D), 1, 1, N, N, D);
    k->softmax_forward(NULL, weights, weights, N, N);
    k->product(NULL, matrix(y, D), false, matrix(weights, N), matrix(x, D), 1, 1, 1, N, D, N);
}

static void hidden(float *y, const float *x, const Weighted *w, bool relu)
{
    float h[N * F];
    k->linear_forward(NULL, h, false, x, w->in, w->b1, relu, N, D, F);
    k->linear_forward(NULL, y, false, h, w->out, w->b2, false, N, F, D);
}

static void feed(float *y, const float *x, const Weighted *w) { hidden(y, x, w, true); }
static void feed_without_relu(float *y, const float *x, const Weighted *w) { hidden(y, x, w, false); }

static void layer_norm(float *y, const float *x, const Weighted *w)
{
    float mean[N], rstd[N], gain[D], bias[D] = {0};
    (void)w;
    for (size_t j = 0; j < D; j++)
        gain[j] = 1;
    k->norm_forward(NULL, y, mean, rstd, x, gain, bias, epsilon, N, D);
}

/* By how much f is not linear, as a part of what it gives */
static double bend(Step f, const Weighted *w)
{
    float a[N * D], b[N * D], sum[N * D], zero[N * D] = {0}, fa[N * D], fb[N * D], fsum[N * D], fzero[N * D];
    fill(a, N * D, 1, 1);
    fill(b, N * D, 1, 2);
    k->add_forward(NULL, sum, a, b, (Dropout){0}, NULL, N, D);
    f(fa, a, w), f(fb, b, w), f(fsum, sum, w), f(fzero, zero, w);
    for (size_t i = 0; i < N * D; i++)
        fa[i] += fb[i] - fzero[i] - fsum[i];
    return size_of(fa, N * D) / size_of(fsum, N * D);
}

static void weigh(Weighted *w)
{
    fill(w->w, N * N, 1, 3);
    k->softmax_forward(NULL, w->w, w->w, N, N);
    fill(w->in, F * D, 1 / sqrt(D), 4);
    fill(w->b1, F, 0.1, 5);
    fill(w->out, D * F, 1 / sqrt(F), 6);
    fill(w->b2, D, 0.1, 7);
}

static void non_linearities(const Weighted *w)
{
    static const struct {
        const char *name;
        Step f;
    } parts[] = {{"linear map with bias", map},
                 {"average, weights given", average},
                 {"x + linear map", with_residual},
                 {"feed-forward without ReLU", feed_without_relu},
                 {"feed-forward", feed},
                 {"attention: weights from x", attention},
                 {"layer norm", layer_norm}};
    section("1. What is not linear");
    printf("  f(a + b) - f(a) - f(b) + f(0), as a part of f(a + b)\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        printf("  %-26s %.2f\n", parts[i].name, bend(parts[i].f, w));
}

/* ---- 2. a feed-forward network is two convolutions of width 1 */

/* y [N,out]: y[i] = bias + the sum over t of w[t] x[i + t - width/2], zeros beyond the ends; w [width,out,in] */
static void convolve(float *y, const float *x, const float *w, const float *bias, size_t width, size_t in, size_t out)
{
    for (size_t i = 0; i < N * out; i++)
        y[i] = bias[i % out];
    for (size_t t = 0; t < width; t++) {
        size_t behind = t < width / 2 ? width / 2 - t : 0, ahead = t > width / 2 ? t - width / 2 : 0;
        k->product(NULL, matrix(y + behind * out, out), true, matrix(x + ahead * in, in),
                   transposed(matrix(w + t * out * in, in)), 1, 1, 1, N - behind - ahead, out, in);
    }
}

static void convolved(float *y, const float *x, const Weighted *w)
{
    float h[N * F];
    convolve(h, x, w->in, w->b1, 1, D, F);
    k->activation_forward(NULL, h, h, ACTIVATION_RELU, N * F);
    convolve(y, h, w->out, w->b2, 1, F, D);
}

static void of_width_3(float *y, const float *x, const Weighted *w) { convolve(y, x, w->in, w->b2, 3, D, D); }

/* A letter for each word: x where the result changes if word `at` does */
static void reach(const char *name, Step f, const Weighted *w, size_t at)
{
    float x[N * D], y[N * D], changed[N * D];
    fill(x, N * D, 1, 1);
    f(y, x, w);
    for (size_t j = 0; j < D; j++)
        x[at * D + j] = -x[at * D + j];
    f(changed, x, w);
    printf("  %-26s", name);
    for (size_t i = 0; i < N; i++)
        printf(" %c", largest_difference(y + i * D, changed + i * D, D) > 1e-6f ? 'x' : '.');
    printf("\n");
}

static void width_one(const Weighted *w)
{
    float x[N * D], y[N * D], z[N * D];
    section("2. Two convolutions of width 1");
    fill(x, N * D, 1, 1);
    feed(y, x, w);
    convolved(z, x, w);
    printf("  linear, ReLU, linear and two convolutions of width 1: the same to 1e-5: %s\n\n",
           largest_difference(y, z, N * D) < 1e-5f ? "yes" : "no");
    printf("  word 5 of %d changes; which results change\n", N);
    reach("feed-forward", feed, w, 5);
    reach("convolution of width 3", of_width_3, w, 5);
    reach("attention", attention, w, 5);
}

/* ---- 3. layer norm and batch norm: what becomes of a vector among others */

/* Batch norm of x [n,D] is layer norm of its columns. */
static void batch_norm(float *y, const float *x, size_t n)
{
    float columns[D * N], mean[D], rstd[D], gain[N], bias[N] = {0};
    for (size_t i = 0; i < n; i++)
        gain[i] = 1;
    k->transpose(NULL, (Strided){columns, n}, false, (Strided){(void *)(uintptr_t)x, D}, n, D);
    k->norm_forward(NULL, columns, mean, rstd, columns, gain, bias, epsilon, D, n);
    k->transpose(NULL, (Strided){y, D}, false, (Strided){columns, n}, D, n);
}

static void neighbours(void)
{
    static const char *const who[] = {"15 others", "15 others, 3 times as large", "15 of padding (zeros)", "nobody"};
    float x[N * D], y[N * D], first[2][D];
    section("3. A vector and its neighbours");
    printf("  %-28s %22s %22s\n", "", "layer norm", "batch norm");
    printf("  %-28s %11s %10s %11s %10s\n", "in a batch with", "first", "moved by", "first", "moved by");
    for (int with = 0; with < 4; with++) {
        fill(x, D, 1, 1);
        fill(x + D, (N - 1) * D, with == 0 ? 1 : with == 1 ? 3 : 0, 2);
        printf("  %-28s", who[with]);
        for (int batch = 0; batch < 2; batch++) {
            batch ? batch_norm(y, x, with == 3 ? 1 : N) : layer_norm(y, x, NULL);
            if (with == 0)
                memcpy(first[batch], y, sizeof first[batch]);
            printf(" %11.2f %10.2f", (double)y[0] + 0.0, (double)largest_difference(y, first[batch], D));
        }
        printf("\n");
    }
}

/* ---- 4. and 5. twelve blocks, with random weights */

typedef struct Machine {
    Parameters parameters;
    Stack stack;
    Linear logits;
    Stream *stream;
    Weights weights;
    Tape tape;
    StepState state;
    Rows rows;
} Machine;

static const int32_t start[2] = {0, N};

static void open_machine(Machine *m, NormPlacement placement, uint32_t seed)
{
    Error e;
    const size_t megabyte = 1 << 20;
    const StackOptions o = {.block = {.attention = {D, H, D / H, D / H, .bias = true}, .ff = F, .norm = placement},
                            .depth = L,
                            .blocks = "blocks",
                            .norm = "norm"};
    *m = (Machine){.rows = {.positions = N, .rows = 1, .longest = N, .start = start}};
    m->state.loss[0].scale = 1.0 / N;
    m->stack = stack_new(&m->parameters, &o);
    m->logits = linear_new(&m->parameters, D, V, true, "logits");
    learner_expect(
        parameters_finish(&m->parameters, &e) && k->open(&m->stream, 1, &e) &&
            weights_open(&m->weights, k, m->stream, &m->parameters, &e) &&
            weights_init(&m->weights, m->stream, INIT_XAVIER, L, seed, &e) &&
            tape_open(&m->tape, k, m->stream, &m->weights, &(TapePlan){16 * megabyte, 4 * megabyte, megabyte}, &e),
        &e);
    m->tape.gradient = k->allocate(m->parameters.size * k->real);
    m->tape.state = &m->state;
    m->tape.training = m->tape.recording = true;
}

static void close_machine(Machine *m)
{
    k->release(m->tape.gradient);
    tape_close(&m->tape);
    weights_close(&m->weights);
    k->close(m->stream);
    stack_close(&m->stack);
    parameters_close(&m->parameters);
}

/* From what the last block gives to gradients of all weights; gradient [L]: their size in ff.in of each block */
static void backward(Machine *m, Tensor *x, float *gradient)
{
    int32_t targets[N];
    for (int32_t i = 0; i < N; i++)
        targets[i] = i * 7 % V;
    cross_entropy(&m->tape, linear_logits(&m->tape, &m->logits, x), targets, 0, 0);
    tape_backward(&m->tape);
    for (size_t i = 0; i < L; i++) {
        const Parameter *w = m->stack.block[i].ff.in.weight;
        gradient[i] = (float)(size_of(tape_gradient_of(&m->tape, w), w->count) * sqrt((double)w->count));
    }
}

/* The mean cosine between two different words */
static float alike(const float *x)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < i; j++) {
            double dot = 0;
            for (size_t l = 0; l < D; l++)
                dot += (double)x[i * D + l] * (double)x[j * D + l];
            sum += dot / (size_of(x + i * D, D) * size_of(x + j * D, D) * D);
        }
    return (float)(sum / (N * (N - 1) / 2));
}

typedef struct Built {
    const char *name;
    bool residual, norm, ff;
} Built;

static Tensor *part(Tape *t, const Built *how, Tensor *x, const Branch *b, const Block *attends, const Block *feeds,
                    const AttentionContext *context)
{
    Tensor *h = how->norm ? norm(t, &b->norm, x) : x;
    h = attends ? multihead(t, &attends->attention, h, NULL, &context->self_mask, NULL, (RowPositions){0})
                : feedforward(t, &feeds->ff, h);
    return how->residual ? add(t, x, h, (Dropout){0}) : h;
}

/* How the words are before each block and after the last */
typedef struct Seen {
    float likeness[L + 1], size[L + 1];
} Seen;

/* seen may be NULL */
static Tensor *blocks(Tape *t, const Built *how, const Stack *s, Tensor *x, const AttentionContext *context, Seen *seen)
{
    for (size_t i = 0; i <= L; i++) {
        if (seen)
            seen->likeness[i] = alike(x->data), seen->size[i] = (float)size_of(x->data, N * D);
        if (i == L)
            break;
        const Block *b = &s->block[i];
        x = part(t, how, x, &b->branch1, b, NULL, context);
        x = how->ff ? part(t, how, x, &b->branch2, NULL, b, context) : x;
    }
    return how->norm ? norm(t, &s->norm, x) : x;
}

static void run(const Built *how, Seen *seen, float *gradient)
{
    Machine m;
    float words[N * D];
    open_machine(&m, NORM_PRE, 1);
    fill(words, N * D, 1, 1);
    AttentionContext context = context_rows(&m.rows, false);
    Tensor *x = blocks(&m.tape, how, &m.stack, tape_outside(&m.tape, words, N, D), &context, seen);
    backward(&m, x, gradient);
    close_machine(&m);
}

enum { WAYS = 6 };

static const Built ways[WAYS] = {{"whole", true, true, true},
                                 {"ff left out", true, true, false},
                                 {"norm left out", true, false, true},
                                 {"residual left out", false, true, true},
                                 {"attention alone", false, false, false},
                                 {"both left out", false, false, true}};

static void without(void)
{
    static float depth[L + 1], gradient[WAYS][L];
    static Seen seen[WAYS];
    Curve curves[WAYS];
    section("4. What breaks without each");
    for (size_t w = 0; w < WAYS; w++) {
        run(&ways[w], &seen[w], gradient[w]);
        curves[w] = (Curve){ways[w].name, depth, seen[w].likeness, L + 1};
    }
    for (int what = 0; what < 2; what++) {
        printf("  %s\n  %-20s", what ? "size of a number" : "cosine of two words", "after block");
        for (size_t i = 0; i <= L; i += 2)
            printf(" %8zu", i);
        for (size_t w = 0; w < WAYS; w++) {
            printf("\n  %-20s", ways[w].name);
            for (size_t i = 0; i <= L; i += 2)
                printf(what ? " %8.2g" : " %8.2f", (double)(what ? seen[w].size : seen[w].likeness)[i]);
        }
        printf("\n\n");
    }
    printf("  gradient of ff.in       block 1    block %d\n", L);
    for (size_t w = 0; w < WAYS; w++)
        if (ways[w].ff)
            printf("  %-20s %10.2g %10.2g\n", ways[w].name, (double)gradient[w][0], (double)gradient[w][L - 1]);
    printf("\n");
    for (size_t i = 0; i <= L; i++)
        depth[i] = (float)i;
    draw_curves(&(Plot){"09-alike", "how alike the words become", "block", "cosine", false, false}, curves, WAYS);
}

/* Adds what one machine with random weights gives to gradient [L]. */
static void add_gradients(NormPlacement placement, uint32_t seed, float *gradient)
{
    Machine m;
    float words[N * D], one[L];
    open_machine(&m, placement, seed);
    fill(words, N * D, 1, 1);
    AttentionContext context = context_rows(&m.rows, false);
    backward(&m, stack(&m.tape, &m.stack, tape_outside(&m.tape, words, N, D), NULL, &context), one);
    for (size_t i = 0; i < L; i++)
        gradient[i] += one[i] / SEEDS;
    close_machine(&m);
}

static void pre_and_post(void)
{
    static float depth[L], post[L], pre[L];
    section("5. Pre-norm and post-norm");
    printf("  gradient of ff.in of each block, mean of %d machines with random weights\n", SEEDS);
    printf("  block    post-norm  pre-norm\n");
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        add_gradients(NORM_POST, seed, post);
        add_gradients(NORM_PRE, seed, pre);
    }
    for (size_t i = 0; i < L; i++) {
        depth[i] = (float)i + 1;
        printf("  %5zu  %11.2f %9.2f\n", i + 1, (double)post[i], (double)pre[i]);
    }
    printf("\n");
    const Curve curves[] = {{"after the sum (post-norm)", depth, post, L},
                            {"before the part (pre-norm)", depth, pre, L}};
    draw_curves(
        &(Plot){"09-gradients", "gradients before the first step", "block", "size of the gradient", false, false},
        curves, 2);
}

/* ---- 6. the same machines, trained: to say the next character of a text */

enum { BATCH = 8, CONTEXT = 32, CHARACTERS = 256 };

typedef struct Reader {
    Learner learner;
    Built how;
    Embedding embedding;
    Stack stack;
    Linear logits;
    Part text;
} Reader;

static void read_batch(void *self, uint64_t step, Batch *b)
{
    training_batch(((const Reader *)self)->text, (Lead){0}, CONTEXT, BATCH, 1, step, b);
}

static Tensor *read_loss(void *self, Tape *t, const Rows *rows)
{
    const Reader *r = self;
    AttentionContext context = context_rows(rows, true);
    Tensor *x = embed(t, &r->embedding, rows);
    if (r->how.norm && !r->stack.normed)
        x = stack(t, &r->stack, x, NULL, &context); /* post-norm */
    else
        x = blocks(t, &r->how, &r->stack, x, &context, NULL);
    return cross_entropy(t, linear_logits(t, &r->logits, x), rows->targets, 0, 0);
}

/* bits [steps / every]: what a character costs, mean of each `every` steps */
static void train(const Built *how, NormPlacement placement, Part text, double rate, size_t steps, size_t every,
                  float *bits)
{
    Reader r = {.how = *how, .text = text};
    const StackOptions o = {.block = {.attention = {D, H, D / H, D / H, .bias = true}, .ff = F, .norm = placement},
                            .depth = L,
                            .blocks = "blocks",
                            .norm = "norm"};
    const EmbeddingOptions words = {
        .vocabulary = CHARACTERS, .context = CONTEXT, .dim = D, .positions = POSITIONS_LEARNED, .scale = 1};
    Parameters *p = &r.learner.parameters;
    r.embedding = embedding_new(p, &words, "words", "positions");
    r.stack = stack_new(p, &o);
    r.logits = linear_new(p, D, CHARACTERS, true, "logits");
    r.learner.task = (Task){
        .self = &r, .sides = 1, .most_rows = BATCH, .longest = {CONTEXT}, .batch = read_batch, .loss = read_loss};
    learner_open(&r.learner, INIT_XAVIER, L, 1);
    memset(bits, 0, steps / every * sizeof *bits);
    for (size_t step = 0; step < steps; step++)
        bits[step / every] += (float)(learner_step(&r.learner, step + 1, rate * fmin(1, (double)(step + 1) / 50)) /
                                      log(2) / (double)every);
    learner_close(&r.learner);
    stack_close(&r.stack);
}

static void trained(void)
{
    enum { POINTS = 20, TRAINED = 5, RATES = 3, LOST = 99 /* what stands for no number */ };
    static const char *const names[TRAINED] = {"whole (pre-norm)", "post-norm", "ff left out", "norm left out",
                                               "residual left out"};
    static const size_t way[TRAINED] = {0, 0, 1, 2, 3};
    static const double rates[RATES] = {0.001, 0.003, 0.01};
    static float at[POINTS], bits[RATES][TRAINED][POINTS];
    Curve curves[TRAINED];
    Text text;
    Error e;
    const size_t steps = lesson_is_fast() ? 20 : 300, every = steps / POINTS;
    section("6. Trained");
    learner_expect(text_open(&text, NULL, &e), &e);
    printf("  they learn to say the next character of a book, %zu steps; bits a character\n", steps);
    printf("  learning rate         0.001   0.003    0.01\n");
    for (size_t i = 0; i < POINTS; i++)
        at[i] = (float)((i + 1) * every);
    for (size_t w = 0; w < TRAINED; w++) {
        printf("  %-20s", names[w]);
        for (size_t r = 0; r < RATES; r++) {
            float *b = bits[r][w];
            train(&ways[way[w]], w == 1 ? NORM_POST : NORM_PRE, text_part(&text, SPLIT_TRAIN), rates[r], steps, every,
                  b);
            printf(" %7.2f", fmin((double)b[POINTS - 1], LOST));
            for (size_t i = 0; i < POINTS; i++)
                b[i] = b[i] < 8 ? b[i] : NAN; /* more than knowing nothing costs: not drawn */
        }
        printf("\n");
        curves[w] = (Curve){names[w], at, bits[1][w], POINTS};
    }
    printf("\n");
    draw_curves(&(Plot){"09-trained", "twelve blocks, learning rate 0.003", "step", "bits a character", false, false},
                curves, TRAINED);
    text_close(&text);
}

int main(void)
{
    static Weighted w;
    weigh(&w);
    non_linearities(&w);
    width_one(&w);
    neighbours();
    without();
    pre_and_post();
    trained();
    return 0;
}
