/* What attention is made of: pad, unpad, product, mask, softmax, dropout of weights; and that together they equal it.
 */
#include "tests/kernels/attending.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pad and unpad, each other's transpose */

enum { PADDED = OWN, DPADDED };

/* Keys of an attention, as rows of longest + 1 positions: they may be shared, of length 0, and views. */
static void padding(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Attending *a = c->shape;
    size_t t = most_of(a->keys, a->key_rows) + 1, d = a->heads * a->key_size;
    k->pad(s, at[PADDED], strided_of(c, at, K), at[KEY_START], at[KEY_ROW], a->rows, t, d);
    k->unpad(s, strided_of(c, at, DK), c->add, at[DPADDED], at[KEY_START], at[KEY_ROW], a->rows, c->tensor[K].rows, t,
             d);
}

static void drop_tensors(Case *c, const int *indices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c->tensor[indices[i]].use = ABSENT;
}

static Case padding_case(const Attending *a, uint32_t seed)
{
    static const int not_used[] = {LSE, WEIGHTS, DQ, DV, Y};
    Case c = attending_case(a, padding, seed);
    drop_tensors(&c, not_used, sizeof not_used / sizeof *not_used);
    c.tensor[Y].weight = -1;
    c.tensor[DK].use = GRADIENT; /* rows that share keys are summed */
    c.tensor[DK].stores = a->rows;
    tensor(&c, PADDED, "padded", NUMBERS, WRITTEN, a->rows * (most_of(a->keys, a->key_rows) + 1),
           a->heads * a->key_size);
    output(&c, PADDED, DPADDED);
    return c;
}

START_TEST(padding_agrees_with_f64_and_unpad_is_its_gradient)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_random(200 + (uint32_t)_i);
    Case c = padding_case(&a, (uint32_t)_i);
    case_agrees(&c);
    case_differentiates(&c);
    case_ask(case_adds, c);
}

START_TEST(padded_rows_hold_their_row_and_then_zeros)
{
    Attending a = attending_random(300 + (uint32_t)_i);
    Case c = padding_case(&a, 3);
    size_t t = most_of(a.keys, a.key_rows) + 1;
    EACH_BACKEND(r, &c) {
        for (size_t line = 0; line < a.rows * t; line++)
            for (size_t d = 0; d < a.heads * a.key_size; d++) {
                size_t row = keys_of(&a, line / t), i = line % t, first = sum_of(a.keys, row);
                double x = i < (size_t)a.keys[row] ? result_at(&c, &r, K, first + i, d) : 0;
                ck_assert(result_at(&c, &r, PADDED, line, d) == x);
            }
    }
    case_free(&c);
}

/* ---- product */

enum { A, B, C, DA, DB, DC };

typedef struct Product {
    size_t outer, inner, m, n, k;
    double alpha;
    bool turned_a, turned_b, turned_c, shared_b;
    bool beside[3]; /* matrices of one outer are side by side (heads), not below one another */
} Product;

/* A matrix [rows, columns] for each outer and inner: side by side or below one another, perhaps transposed. */
static Tensor *matrices(Case *c, size_t index, const char *name, Use use, const Product *p, bool beside, bool turned,
                        size_t rows, size_t columns)
{
    size_t down = turned ? columns : rows, across = turned ? rows : columns;
    size_t lines = p->outer * down * (beside ? 1 : p->inner), width = across * (beside ? p->inner : 1);
    return tensor_strided(c, index, name, NUMBERS, use, lines, width, width + below(&c->random, 5));
}

static Operand operand(const Case *c, void *const *at, size_t index, bool beside, bool turned, size_t rows,
                       size_t columns)
{
    const Product *p = c->shape;
    size_t down = turned ? columns : rows, across = turned ? rows : columns, stride = c->tensor[index].stride;
    return (Operand){.data = at[index],
                     .outer = down * stride * (beside ? 1 : p->inner),
                     .inner = beside ? across : down * stride,
                     .row = turned ? 1 : stride,
                     .column = turned ? stride : 1};
}

static Operand turn(Operand x)
{
    size_t row = x.row;
    x.row = x.column;
    x.column = row;
    return x;
}

static void multiply(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Product *p = c->shape;
    Operand x = operand(c, at, A, p->beside[0], p->turned_a, p->m, p->k);
    Operand y = operand(c, at, B, p->beside[1], p->turned_b, p->k, p->n);
    Operand z = operand(c, at, C, p->beside[2], p->turned_c, p->m, p->n);
    Operand dx = operand(c, at, DA, p->beside[0], p->turned_a, p->m, p->k);
    Operand dy = operand(c, at, DB, p->beside[1], p->turned_b, p->k, p->n), dz = z;
    dz.data = at[DC];
    if (p->shared_b)
        y.inner = 0;
    k->product(s, z, false, x, y, p->alpha, p->outer, p->inner, p->m, p->n, p->k);
    k->product(s, dx, c->add, dz, turn(y), p->alpha, p->outer, p->inner, p->m, p->k, p->n);
    if (!p->shared_b)
        k->product(s, dy, c->add, turn(x), dz, p->alpha, p->outer, p->inner, p->k, p->n, p->m);
}

static Case product_case(Product *p, uint32_t seed)
{
    enum { TURNED = 6 }; /* both */
    static const size_t sizes[][3] = {
        {1, 1, 1}, {5, 7, 0}, {0, 3, 2}, {64, 64, 64}, {33, 17, 65}, {1, 40, 9}, [TURNED] = {9, 7, 70}};
    Random r = {.seed = seed + 1000};
    *p = (Product){.outer = 1 + below(&r, 3), .inner = 1 + below(&r, 3), .alpha = uniform(&r)};
    p->m = 1 + below(&r, 20), p->n = 1 + below(&r, 20), p->k = 1 + below(&r, 20);
    if (seed < sizeof sizes / sizeof *sizes)
        p->m = sizes[seed][0], p->n = sizes[seed][1], p->k = sizes[seed][2];
    p->turned_a = chance(&r, 0.5), p->turned_b = chance(&r, 0.5), p->turned_c = chance(&r, 0.2);
    p->turned_a |= seed == TURNED, p->turned_b |= seed == TURNED;
    p->shared_b = chance(&r, 0.2);
    for (size_t i = 0; i < 3; i++)
        p->beside[i] = chance(&r, 0.5);
    Case c = case_new(multiply, p, seed);
    snprintf(c.words, sizeof c.words, "outer %d inner %d m %d n %d k %d%s%s%s", (int)p->outer, (int)p->inner, (int)p->m,
             (int)p->n, (int)p->k, p->turned_a ? " a'" : "", p->turned_b ? " b'" : "", p->turned_c ? " c'" : "");
    matrices(&c, A, "a", READ, p, p->beside[0], p->turned_a, p->m, p->k);
    matrices(&c, B, "b", READ, p, p->beside[1], p->turned_b, p->k, p->n);
    Tensor *z = matrices(&c, C, "c", WRITTEN, p, p->beside[2], p->turned_c, p->m, p->n);
    Tensor *da = gradient(&c, DA, "da", NUMBERS, GRADIENT, A);
    Tensor *db = gradient(&c, DB, "db", NUMBERS, p->shared_b ? ABSENT : GRADIENT, B);
    tensor_strided(&c, DC, "dc", NUMBERS, READ, z->rows, z->columns, z->stride);
    z->weight = DC;
    z->terms = p->k, da->terms = p->n, db->terms = p->m;
    z->product = da->product = db->product = true;
    z->floor = da->floor = db->floor = 1;
    return c;
}

START_TEST(products_of_every_layout_agree_with_f64)
{
    SKIP_IF_FAST(_i);
    Product p;
    case_ask(case_agrees, product_case(&p, (uint32_t)_i));
}

/* oneDNN, where it may, computes a sum over more than 64 in two parts. */
START_TEST(products_of_onednn_agree_with_f64)
{
    Product p;
    setenv("ATTEND_TUNING", "default f32-short=onednn alone=0", 1);
    case_ask(case_agrees, product_case(&p, (uint32_t)_i));
}

/* And so the gradient of a product is made of two products of turned operands. */
START_TEST(gradients_of_products_are_slopes_and_are_added_where_asked)
{
    SKIP_IF_FAST(_i);
    Product p;
    Case c = product_case(&p, (uint32_t)_i);
    case_differentiates(&c);
    case_ask(case_adds, c);
}

START_TEST(a_product_is_the_sum_over_k)
{
    Product p;
    Case c = product_case(&p, 4);
    p = (Product){.outer = 1, .inner = 1, .m = 33, .n = 17, .k = 65, .alpha = 0.5};
    case_free(&c);
    c = case_new(multiply, &p, 4);
    matrices(&c, A, "a", READ, &p, false, false, p.m, p.k);
    matrices(&c, B, "b", READ, &p, false, false, p.k, p.n);
    matrices(&c, C, "c", WRITTEN, &p, false, false, p.m, p.n);
    gradient(&c, DA, "da", NUMBERS, GRADIENT, A);
    gradient(&c, DB, "db", NUMBERS, GRADIENT, B);
    tensor_strided(&c, DC, "dc", NUMBERS, READ, p.m, p.n, c.tensor[C].stride);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < p.m; i++)
        for (size_t j = 0; j < p.n; j++) {
            double sum = 0;
            for (size_t l = 0; l < p.k; l++)
                sum += *element(&c.tensor[A], i, l) * *element(&c.tensor[B], l, j);
            ck_assert_double_eq_tol(result_at(&c, &r, C, i, j), sum / 2, 1e-13);
        }
    result_free(&r);
    case_free(&c);
}

/* ---- mask */

enum { SCORES = OWN };

static void masking(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    Attend how = attend_of(c->shape, at);
    k->mask(s, at[SCORES], &how);
}

START_TEST(masked_scores_are_minus_infinity_and_others_stay)
{
    SKIP_IF_FAST(_i);
    static const int not_used[] = {Y, LSE, WEIGHTS, DQ, DK, DV, DY};
    Attending a = attending_random(400 + (uint32_t)_i);
    Case c = attending_case(&a, masking, 3);
    drop_tensors(&c, not_used, sizeof not_used / sizeof *not_used);
    size_t t = most_of(a.queries, a.rows), keys = most_of(a.keys, a.key_rows);
    tensor(&c, SCORES, "scores", NUMBERS, ADDED, a.rows * a.heads * t, keys);
    if (c.tensor[SCORES].rows && keys)
        *element(&c.tensor[SCORES], 0, 0) = NAN;
    EACH_BACKEND(r, &c) {
        for (size_t line = 0; line < c.tensor[SCORES].rows; line++)
            for (size_t j = 0; j < keys; j++) {
                double x = *element(&c.tensor[SCORES], line, j), y = result_at(&c, &r, SCORES, line, j);
                if (!sees(&a, line / t / a.heads, line % t, j))
                    ck_assert(y == -INFINITY);
                else
                    ck_assert(isnan(x) ? isnan(y) : fabs(x - y) <= fabs(x) * 0x1p-8);
            }
    }
    case_ask(case_agrees, c);
}

/* ---- softmax */

enum { SOFT_Y, SOFT_X, SOFT_DX, SOFT_DY };

typedef struct Softmax {
    size_t n, columns;
} Softmax;

static void softmax(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Softmax *shape = c->shape;
    k->softmax_forward(s, at[SOFT_Y], at[SOFT_X], shape->n, shape->columns);
    k->softmax_backward(s, at[SOFT_DX], c->add, at[SOFT_DY], at[SOFT_Y], shape->n, shape->columns);
}

static Case softmax_sized(const Softmax *shape, uint32_t seed)
{
    Case c = case_new(softmax, shape, seed);
    snprintf(c.words, sizeof c.words, "softmax of %d by %d", (int)shape->n, (int)shape->columns);
    Tensor *y = tensor(&c, SOFT_Y, "y", NUMBERS, WRITTEN, shape->n, shape->columns);
    Tensor *x = tensor(&c, SOFT_X, "x", NUMBERS, READ, shape->n, shape->columns);
    for (size_t i = 0; i < shape->n; i++)
        for (size_t j = 0; j < shape->columns; j++)
            *element(x, i, j) *= 4;
    Tensor *dx = gradient(&c, SOFT_DX, "dx", NUMBERS, GRADIENT, SOFT_X);
    output(&c, SOFT_Y, SOFT_DY);
    y->terms = dx->terms = shape->columns;
    y->floor = dx->floor = 1;
    dx->stores = 3;
    return c;
}

static Case softmax_case(Softmax *shape, uint32_t seed)
{
    static const size_t sizes[][2] = {{0, 3}, {3, 0}, {1, 1}, {7, 2}, {3, 1000}, {50, 17}, {4, 33}};
    Random r = {.seed = seed + 1000};
    *shape = (Softmax){below(&r, 20), below(&r, 50)};
    if (seed < sizeof sizes / sizeof *sizes)
        *shape = (Softmax){sizes[seed][0], sizes[seed][1]};
    Case c = softmax_sized(shape, seed);
    for (size_t i = 0; i < shape->n; i++) { /* as a mask leaves them */
        bool dead = chance(&c.random, 0.1);
        for (size_t j = 0; j < shape->columns; j++)
            if (dead || chance(&c.random, 0.2))
                *element(&c.tensor[SOFT_X], i, j) = -INFINITY;
    }
    return c;
}

START_TEST(softmax_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Softmax shape;
    case_ask(case_agrees, softmax_case(&shape, (uint32_t)_i));
}

START_TEST(gradients_of_softmax_are_slopes_and_are_added_where_asked)
{
    Softmax shape = {.n = 3, .columns = 1 + 4 * (size_t)_i};
    Case c = softmax_sized(&shape, (uint32_t)_i);
    case_differentiates(&c);
    case_ask(case_adds, c);
}

START_TEST(softmax_of_numbers_sums_to_1_and_of_minus_infinities_is_0)
{
    Softmax shape;
    Case c = softmax_case(&shape, 5);
    for (size_t j = 0; j < shape.columns; j++)
        *element(&c.tensor[SOFT_X], 9, j) = -INFINITY;
    *element(&c.tensor[SOFT_X], 10, 16) = 1;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < shape.n; i++) {
            double sum = 0, live = 0;
            for (size_t j = 0; j < shape.columns; j++) {
                live += *element(&c.tensor[SOFT_X], i, j) > -INFINITY;
                sum += result_at(&c, &r, SOFT_Y, i, j);
                ck_assert(*element(&c.tensor[SOFT_X], i, j) > -INFINITY || result_at(&c, &r, SOFT_Y, i, j) == 0);
            }
            ck_assert_double_eq_tol(sum, live > 0, r.k->type == NUMBER_BF16 ? 0x1p-8 : 1e-6);
            ck_assert(i != 9 || sum == 0);
        }
    }
    case_free(&c);
}

START_TEST(softmax_of_huge_numbers_chooses_the_largest)
{
    static const double huge[] = {1e4, 1e30, -1e30};
    Softmax shape = {.n = 1, .columns = 5};
    Case c = softmax_sized(&shape, 5);
    tensor_fill(&c.tensor[SOFT_X], huge[_i]);
    *element(&c.tensor[SOFT_X], 0, 3) = huge[_i] + fabs(huge[_i]) / 2;
    EACH_BACKEND(r, &c) {
        for (size_t j = 0; j < 5; j++)
            ck_assert(result_at(&c, &r, SOFT_Y, 0, j) == (j == 3));
    }
    case_free(&c);
}

/* In company, alone among masked scores, first, last, and as a whole row: NaN is never a clean 0. */
START_TEST(softmax_of_nan_is_nan)
{
    static const double rows[][4] = {{NAN, 1, 2, 3},
                                     {1, 2, 3, NAN},
                                     {NAN, -INFINITY, -INFINITY, -INFINITY},
                                     {-INFINITY, -INFINITY, -INFINITY, NAN},
                                     {NAN, NAN, NAN, NAN},
                                     {1, INFINITY, 2, 3}};
    Softmax shape = {.n = 6, .columns = 4};
    Case c = softmax_sized(&shape, 5);
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 4; j++)
            *element(&c.tensor[SOFT_X], i, j) = rows[i][j];
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < 6; i++) {
            double sum = 0;
            for (size_t j = 0; j < 4; j++)
                sum += result_at(&c, &r, SOFT_Y, i, j);
            ck_assert_msg(isnan(sum), "row %d sums to %g", (int)i, sum);
        }
    }
    case_free(&c);
}

/* ---- dropout of weights, and attention composed of it all */

enum { QP = OWN, KP, VP, S, P, PD, YP, DYP, DPD, DS, DQP, DKP, DVP };

typedef struct Parts {
    size_t t, s, heads, key_size, value_size;
} Parts;

static Parts parts_of(const Attending *a)
{
    return (Parts){most_of(a->queries, a->rows), most_of(a->keys, a->key_rows), a->heads, a->key_size, a->value_size};
}

/* [B, length, H*size] as matrices [length, size], and [B,H,T,S] as matrices [T,S]. */
static Operand heads_of(void *x, size_t length, size_t heads, size_t size)
{
    return (Operand){x, length * heads * size, size, heads * size, 1};
}

static Operand scores_of(void *x, Parts p) { return (Operand){x, p.heads * p.t * p.s, p.t * p.s, p.s, 1}; }

static void composed_forward(const Kernels *k, Stream *s, void *const *at, const StepState *state, const Case *c)
{
    const Attending *a = c->shape;
    Attend how = attend_of(a, at);
    Parts p = parts_of(a);
    size_t b = a->rows, h = p.heads;
    k->pad(s, at[QP], strided_of(c, at, Q), how.query_start, NULL, b, p.t, h * p.key_size);
    k->pad(s, at[KP], strided_of(c, at, K), how.key_start, how.key_row, b, p.s, h * p.key_size);
    k->pad(s, at[VP], strided_of(c, at, V), how.key_start, how.key_row, b, p.s, h * p.value_size);
    Operand q = heads_of(at[QP], p.t, h, p.key_size), keys = heads_of(at[KP], p.s, h, p.key_size);
    k->product(s, scores_of(at[S], p), false, q, turn(keys), a->scale, b, h, p.t, p.s, p.key_size);
    k->mask(s, at[S], &how);
    k->softmax_forward(s, at[P], at[S], b * h * p.t, p.s);
    k->dropout_weights(s, at[PD], false, at[P], &how, state);
    k->product(s, heads_of(at[YP], p.t, h, p.value_size), false, scores_of(at[PD], p),
               heads_of(at[VP], p.s, h, p.value_size), 1, b, h, p.t, p.value_size, p.s);
    k->unpad(s, (Strided){at[Y], h * p.value_size}, false, at[YP], how.query_start, NULL, b, how.queries, p.t,
             h * p.value_size);
}

static void composed_backward(const Kernels *k, Stream *s, void *const *at, const StepState *state, const Case *c)
{
    const Attending *a = c->shape;
    Attend how = attend_of(a, at);
    Parts p = parts_of(a);
    size_t b = a->rows, h = p.heads;
    Operand q = heads_of(at[QP], p.t, h, p.key_size), keys = heads_of(at[KP], p.s, h, p.key_size);
    Operand values = heads_of(at[VP], p.s, h, p.value_size), dy = heads_of(at[DYP], p.t, h, p.value_size);
    Operand ds = scores_of(at[DS], p), dpd = scores_of(at[DPD], p);
    k->pad(s, at[DYP], (Strided){at[DY], h * p.value_size}, how.query_start, NULL, b, p.t, h * p.value_size);
    k->product(s, dpd, false, dy, turn(values), 1, b, h, p.t, p.s, p.value_size);
    k->product(s, heads_of(at[DVP], p.s, h, p.value_size), false, turn(scores_of(at[PD], p)), dy, 1, b, h, p.s,
               p.value_size, p.t);
    k->dropout_weights(s, at[S], false, at[DPD], &how, state); /* scores are not needed again */
    k->softmax_backward(s, at[DS], false, at[S], at[P], b * h * p.t, p.s);
    k->product(s, heads_of(at[DQP], p.t, h, p.key_size), false, ds, keys, a->scale, b, h, p.t, p.key_size, p.s);
    k->product(s, heads_of(at[DKP], p.s, h, p.key_size), false, turn(ds), q, a->scale, b, h, p.s, p.key_size, p.t);
    k->unpad(s, strided_of(c, at, DQ), c->add, at[DQP], how.query_start, NULL, b, how.queries, p.t, h * p.key_size);
    k->unpad(s, strided_of(c, at, DK), c->add, at[DKP], how.key_start, how.key_row, b, how.keys, p.s, h * p.key_size);
    k->unpad(s, strided_of(c, at, DV), c->add, at[DVP], how.key_start, how.key_row, b, how.keys, p.s, h * p.value_size);
}

static void composed(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    composed_forward(k, s, at, state, c);
    if (at[DQ])
        composed_backward(k, s, at, state, c);
}

static Case composed_case(const Attending *a, uint32_t seed)
{
    Case c = attending_case(a, composed, seed);
    c.tensor[LSE].use = c.tensor[WEIGHTS].use = ABSENT;
    Parts p = parts_of(a);
    size_t b = a->rows, h = a->heads;
    static const int of_keys[] = {KP, DKP}, of_values[] = {VP, DVP}, of_queries[] = {QP, DQP}, of_y[] = {YP, DYP};
    static const int of_scores[] = {S, P, PD, DPD, DS};
    for (size_t i = 0; i < 2; i++) {
        tensor(&c, (size_t)of_queries[i], "padded q", NUMBERS, SPOILED, b * p.t, h * p.key_size);
        tensor(&c, (size_t)of_keys[i], "padded k", NUMBERS, SPOILED, b * p.s, h * p.key_size);
        tensor(&c, (size_t)of_values[i], "padded v", NUMBERS, SPOILED, b * p.s, h * p.value_size);
        tensor(&c, (size_t)of_y[i], "padded y", NUMBERS, SPOILED, b * p.t, h * p.value_size);
    }
    for (size_t i = 0; i < sizeof of_scores / sizeof *of_scores; i++)
        tensor(&c, (size_t)of_scores[i], "scores", NUMBERS, SPOILED, b * h * p.t, p.s);
    return c;
}

static void nearly_equal(const Case *c, const Result *a, const Result *b, size_t index, double tolerance)
{
    const Tensor *t = &c->tensor[index];
    for (size_t i = 0; a->value[index] && i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++) {
            double x = result_at(c, a, index, i, j), y = result_at(c, b, index, i, j);
            ck_assert_msg(fabs(x - y) <= tolerance, "%s: %s[%d,%d] is %.17g and %.17g", c->words, t->name, (int)i,
                          (int)j, x, y);
        }
}

START_TEST(attention_equals_its_composition_with_dropout_and_gradients)
{
    SKIP_IF_FAST(_i);
    static const int compared[] = {Y, DQ, DK, DV};
    Attending a = attending_random((uint32_t)_i);
    a.drop.rate = _i % 3 ? 0.3 : 0;
    Case fused = attending_case(&a, attending_call, (uint32_t)_i), parts = composed_case(&a, (uint32_t)_i);
    Result x = case_run(&fused, &plain_f64, NUMBER_F64), y = case_run(&parts, &plain_f64, NUMBER_F64);
    for (size_t t = 0; t < 4; t++)
        nearly_equal(&fused, &x, &y, (size_t)compared[t], 1e-12);
    for (size_t i = 0; a.weights && i < parts.tensor[P].rows; i++)
        for (size_t j = 0; j < parts.tensor[P].columns; j++)
            ck_assert_double_eq_tol(result_at(&fused, &x, WEIGHTS, i, j), result_at(&parts, &y, P, i, j), 1e-13);
    result_free(&x);
    result_free(&y);
    for (size_t k = 0; backend(k); k++) { /* and every backend by its own composition, within a few roundings */
        Result f = case_run(&fused, backend(k), backend(k)->type), p = case_run(&parts, backend(k), backend(k)->type);
        for (size_t t = 0; t < 4; t++)
            nearly_equal(&fused, &f, &p, (size_t)compared[t], backend(k)->type == NUMBER_BF16 ? 0.2 : 1e-4);
        result_free(&f);
        result_free(&p);
    }
    case_free(&fused);
    case_free(&parts);
}

/* ---- the largest of each row */

typedef struct Rows {
    size_t n, columns, k;
} Rows;

static void keep(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Rows *r = c->shape;
    k->keep_largest(s, at[Y], r->n, r->columns, r->k);
}

/* Small integers, so that there are equal ones in every type, and some infinite. */
START_TEST(the_largest_numbers_of_each_row_stay_and_their_equals)
{
    static const size_t columns[] = {1, 2, 7, 31, 32, 33, 100};
    Rows rows = {5, columns[_i % 7], 1 + (size_t)_i / 7 * 2};
    Case c = case_new(keep, &rows, (uint32_t)_i);
    Tensor *x = tensor(&c, Y, "x", NUMBERS, ADDED, rows.n, rows.columns);
    for (size_t i = 0; i < rows.n; i++)
        for (size_t j = 0; j < rows.columns; j++) {
            size_t chance = below(&c.random, 12);
            *element(x, i, j) = i == 0 || chance == 0 ? -INFINITY : chance == 1 && i == 4 ? INFINITY : (double)chance;
        }
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < rows.n; i++)
            for (size_t j = 0; j < rows.columns; j++) {
                size_t larger = 0;
                for (size_t l = 0; l < rows.columns; l++)
                    larger += *element(x, i, l) > *element(x, i, j);
                ck_assert(result_at(&c, &r, Y, i, j) == (larger < rows.k ? *element(x, i, j) : -INFINITY));
            }
    }
    case_free(&c);
}

static void dropping(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    Attend how = attend_of(c->shape, at);
    k->dropout_weights(s, at[PD], false, at[P], &how, state);
    k->dropout_weights(s, at[DS], c->add, at[DPD], &how, state);
}

START_TEST(dropout_of_weights_agrees_with_f64_and_is_its_own_gradient)
{
    static const int not_used[] = {Y, LSE, WEIGHTS, DQ, DK, DV, DY};
    Attending a = attending_random(500 + (uint32_t)_i);
    a.drop.rate = 0.4;
    Case c = attending_case(&a, dropping, (uint32_t)_i);
    drop_tensors(&c, not_used, sizeof not_used / sizeof *not_used);
    c.tensor[Y].weight = -1;
    Parts p = parts_of(&a);
    tensor(&c, P, "p", NUMBERS, READ, a.rows * a.heads * p.t, p.s);
    tensor(&c, PD, "dropped", NUMBERS, WRITTEN, a.rows * a.heads * p.t, p.s);
    gradient(&c, DS, "dp", NUMBERS, GRADIENT, P);
    output(&c, PD, DPD);
    case_agrees(&c);
    case_differentiates(&c);
    case_ask(case_adds, c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(padding_agrees_with_f64_and_unpad_is_its_gradient, 16),
                                 TEST_LOOP(padded_rows_hold_their_row_and_then_zeros, 6),
                                 TEST_LOOP(products_of_every_layout_agree_with_f64, 40),
                                 TEST_LOOP(gradients_of_products_are_slopes_and_are_added_where_asked, 16),
                                 TEST_LOOP(products_of_onednn_agree_with_f64, 16),
                                 TEST(a_product_is_the_sum_over_k),
                                 TEST_LOOP(masked_scores_are_minus_infinity_and_others_stay, 24),
                                 TEST_LOOP(softmax_agrees_with_f64, 24),
                                 TEST_LOOP(gradients_of_softmax_are_slopes_and_are_added_where_asked, 4),
                                 TEST(softmax_of_numbers_sums_to_1_and_of_minus_infinities_is_0),
                                 TEST_LOOP(softmax_of_huge_numbers_chooses_the_largest, 3),
                                 TEST(softmax_of_nan_is_nan),
                                 TEST_LOOP(attention_equals_its_composition_with_dropout_and_gradients, 60),
                                 TEST_LOOP(the_largest_numbers_of_each_row_stay_and_their_equals, 21),
                                 TEST_LOOP(dropout_of_weights_agrees_with_f64_and_is_its_own_gradient, 8)};
    return suite_run("kernels/composed", tests, sizeof tests / sizeof *tests, argc, argv);
}
