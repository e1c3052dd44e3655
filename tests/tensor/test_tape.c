/* The tape: gradients that meet, views, outputs that are not read, segments, and memory as it was planned. */
#include "base/memory.h"
#include "core/nn/loss.h"
#include "core/tensor/operations.h"
#include "tests/tensor/tape_fixture.h"

#include <math.h>
#include <string.h>

static const TapeFixtureOptions smooth = {.activation = ACTIVATION_GELU};
static const TapeFixtureOptions dropping = {.activation = ACTIVATION_RELU, .dropout = 0.3};

static Tensor *input(Tape *t, const TapeFixture *l) { return embed(t, &l->embedding, &l->rows); }

/* ---- gradients that meet */

static Tensor *added_to_itself(Tape *t, const TapeFixture *l)
{
    Tensor *x = linear(t, &l->narrow, input(t, l));
    return linear_logits(t, &l->logits, add(t, x, x, (Dropout){0}));
}

static Tensor *added_to_itself_dropped(Tape *t, const TapeFixture *l)
{
    Tensor *x = linear(t, &l->narrow, input(t, l));
    return linear_logits(t, &l->logits, add(t, x, x, (Dropout){.rate = 0.5, .site = 77}));
}

static Tensor *normed_with_itself(Tape *t, const TapeFixture *l)
{
    Tensor *x = linear(t, &l->narrow, input(t, l));
    return linear_logits(t, &l->logits, add_norm(t, &l->norm, x, x, (Dropout){.rate = 0.5, .site = 77}));
}

/* x meets itself over ways of different lengths: through a map, its activation, and as it is. */
static Tensor *used_four_times(Tape *t, const TapeFixture *l)
{
    Tensor *x = linear(t, &l->narrow, input(t, l));
    Tensor *long_way = activate(t, linear(t, &l->narrow, activate(t, x, ACTIVATION_GELU)), ACTIVATION_TANH);
    Tensor *y = add(t, x, long_way, (Dropout){0});
    y = add(t, activate(t, x, ACTIVATION_SIGMOID), y, (Dropout){0});
    return linear_logits(t, &l->logits, add(t, norm(t, &l->norm, x), y, (Dropout){0}));
}

/* x x^T x, as if all positions were one row; x is both operands of one product */
static Tensor *multiplied_by_itself(Tape *t, const TapeFixture *l)
{
    enum { N = FIXTURE_POSITIONS, D = FIXTURE_DIM };
    Tensor *x = linear(t, &l->narrow, input(t, l));
    ProductShape squares = {{0, 0, N, 1}, {0, 0, D, 1}, {0, 0, 1, D}, 1, 1, N, N, D, 0.1};
    ProductShape average = {{0, 0, D, 1}, {0, 0, N, 1}, {0, 0, D, 1}, 1, 1, N, D, N, 0.3};
    return linear_logits(t, &l->logits, product(t, product(t, x, x, &squares, N, N), x, &average, N, D));
}

static Tensor *gathered(Tape *t, const TapeFixture *l)
{
    static const int32_t index[FIXTURE_POSITIONS] = {13, 0, -1, 5, 2, 1, 7, 6, 12, 11, -1, 10, 9, 3};
    Tensor *x = linear(t, &l->narrow, input(t, l));
    Tensor *y = add(t, gather(t, x, index, FIXTURE_POSITIONS), x, (Dropout){0});
    return linear_logits(t, &l->logits, y);
}

/* Positions that are not gathered have gradient 0, whatever their memory held. */
static Tensor *gathered_alone(Tape *t, const TapeFixture *l)
{
    static const int32_t index[FIXTURE_POSITIONS] = {13, 0, -1, 5, 2, 1, 7, 6, 12, 11, -1, 10, 9, 3};
    Tensor *x = gather(t, linear(t, &l->narrow, input(t, l)), index, FIXTURE_POSITIONS);
    return linear_logits(t, &l->logits, activate(t, activate(t, x, ACTIVATION_TANH), ACTIVATION_GELU));
}

/* Rows of 4, 1, 0, 6 and 3 positions as one vector each; what is pooled is read again. */
static Tensor *pooled(Tape *t, const TapeFixture *l)
{
    Tensor *x = linear(t, &l->narrow, input(t, l)), *y = NULL;
    for (int how = 0; how < POOLINGS; how++) {
        Tensor *one = linear(t, &l->narrow, pool_rows(t, x, (Pooling)how, &l->rows));
        y = y ? add(t, y, one, (Dropout){0}) : one;
    }
    return linear_logits(t, &l->logits, y);
}

/* The same position several times: its gradients are summed. */
static Tensor *gathered_again(Tape *t, const TapeFixture *l)
{
    static const int32_t index[FIXTURE_POSITIONS] = {3, 3, 0, 3, -1, 0, 13, 7, 7, 3, 1, 2, 13, 3};
    static const int32_t other[FIXTURE_POSITIONS] = {0, 1, 2, 3, 3, 3, 3, -1, -1, -1, 12, 12, 13, 7};
    Tensor *x = linear(t, &l->narrow, input(t, l));
    Tensor *y = activate(t, gather(t, x, index, FIXTURE_POSITIONS), ACTIVATION_TANH);
    return linear_logits(t, &l->logits, add(t, y, gather(t, x, other, FIXTURE_POSITIONS), (Dropout){0}));
}

/* x x and x tanh(x), where x is both operands, and one of them */
static Tensor *squared(Tape *t, const TapeFixture *l)
{
    Tensor *x = linear(t, &l->narrow, input(t, l));
    Tensor *y = mul(t, mul(t, x, x), activate(t, x, ACTIVATION_TANH));
    return linear_logits(t, &l->logits, mul(t, y, x));
}

/* Columns that are read never, once and several times; and pieces in another order, one of them twice. */
static Tensor *pieces(Tape *t, const TapeFixture *l)
{
    Tensor *x = linear(t, &l->wide, input(t, l)), *low = slice(t, x, 30, 5), *high = slice(t, x, 2, 1);
    Tensor *parts[] = {low, high, activate(t, slice(t, x, 28, 4), ACTIVATION_SIGMOID), high, slice(t, x, 33, 1)};
    Tensor *y = concat(t, parts, 5);
    ck_assert(y->rows == FIXTURE_POSITIONS && y->columns == FIXTURE_DIM);
    return linear_logits(t, &l->logits, mul(t, y, y));
}

/* Views, side by side in another order, turned round and back. */
static Tensor *turned(Tape *t, const TapeFixture *l)
{
    Tensor *view[3], *x = linear(t, &l->narrow, input(t, l));
    tape_split(t, linear(t, &l->narrow, x), view, (size_t[]){3, 8, 1}, 3);
    Tensor *parts[] = {view[1], view[2], transpose(t, transpose(t, view[0]))};
    Tensor *columns = transpose(t, concat(t, parts, 3));
    ck_assert(columns->rows == FIXTURE_DIM && columns->columns == FIXTURE_POSITIONS);
    Tensor *back = transpose(t, activate(t, columns, ACTIVATION_TANH));
    return linear_logits(t, &l->logits, add(t, back, mul(t, x, transpose(t, columns)), (Dropout){0}));
}

/* Learned vectors over all rows, and a learned matrix in a product. */
static Tensor *gated(Tape *t, const TapeFixture *l)
{
    enum { N = FIXTURE_POSITIONS, D = FIXTURE_DIM };
    const Dropout none = {0};
    ProductShape map = {{0, 0, D, 1}, {0, 0, D, 1}, {0, 0, 1, D}, 1, 1, N, D, D, 1};
    Tensor *x = linear(t, &l->narrow, input(t, l));
    Tensor *y = add(t, mul(t, tape_parameter(t, l->norm.gain), x), tape_parameter(t, l->norm.bias), none);
    y = product(t, y, tape_parameter(t, l->narrow.weight), &map, N, D);
    return linear_logits(t, &l->logits, add(t, tape_parameter(t, l->norm.bias), y, none));
}

static Program *const meeting[] = {gated,
                                   pooled,
                                   gathered_alone,
                                   added_to_itself,
                                   added_to_itself_dropped,
                                   normed_with_itself,
                                   used_four_times,
                                   multiplied_by_itself,
                                   gathered,
                                   gathered_again,
                                   squared,
                                   pieces,
                                   turned};

enum { MEETING = sizeof meeting / sizeof *meeting };

START_TEST(a_tensor_that_is_used_twice_sums_its_gradients)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &smooth);
    tape_fixture_differentiate(&l, meeting[_i]);
    tape_fixture_close(&l);
}

/* The same in f32, on each backend, against f64: one tensor as both inputs of a backward pass must not confuse any. */
static void check_against_f64(Program *program, const TapeFixtureOptions *o)
{
    TapeFixture exact;
    tape_fixture_open(&exact, backend_of(NUMBER_F64, 0), o);
    Pass wanted = tape_fixture_pass(&exact, program, &(PassOptions){0});
    for (size_t i = 0; backend_of(NUMBER_F32, i); i++) {
        TapeFixture l;
        tape_fixture_open(&l, backend_of(NUMBER_F32, i), o);
        Pass found = tape_fixture_pass(&l, program, &(PassOptions){0});
        double off = 0, all = 0;
        for (size_t n = 0; n < l.parameters.size; n++) {
            double a = real_at(l.k, found.gradient, n), b = real_at(exact.k, wanted.gradient, n);
            off += (a - b) * (a - b), all += b * b;
        }
        ck_assert_msg(sqrt(off) <= 1e-5 * sqrt(all), "%s: the gradient is off by %g of %g", l.k->backend, sqrt(off),
                      sqrt(all));
        pass_free(&found);
        tape_fixture_close(&l);
    }
    pass_free(&wanted);
    tape_fixture_close(&exact);
}

START_TEST(gradients_meet_in_the_same_way_on_each_backend) { check_against_f64(meeting[_i], &dropping); }

/* ---- views */

/* Of three views that cover a tensor one is read twice, and each by another operation. */
static Tensor *viewed(Tape *t, const TapeFixture *l)
{
    enum { PADDED = FIXTURE_ROWS * 6 };
    Tensor *part[3], *padded[4];
    const int32_t *start = l->start;
    tape_split(t, linear(t, &l->wide, input(t, l)), part, (size_t[]){FIXTURE_DIM, FIXTURE_DIM, FIXTURE_DIM}, 3);
    for (size_t i = 0; i < 4; i++)
        padded[i] = pad_rows(t, part[i % 3], start, NULL, FIXTURE_ROWS, 6);
    padded[1] = activate(t, padded[1], ACTIVATION_SIGMOID);
    padded[3] = activate(t, padded[3], ACTIVATION_TANH);
    Tensor *y = add(t, add(t, padded[0], padded[1], (Dropout){0}), add(t, padded[2], padded[3], (Dropout){0}),
                    (Dropout){0});
    ck_assert_uint_eq(y->rows, PADDED);
    return linear_logits(t, &l->logits, unpad_rows(t, y, start, FIXTURE_ROWS, FIXTURE_POSITIONS, 6));
}

START_TEST(views_write_their_columns_of_one_gradient)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &smooth);
    tape_fixture_differentiate(&l, viewed);
    tape_fixture_close(&l);
    check_against_f64(viewed, &dropping);
}

START_TEST(views_of_different_widths_see_their_columns)
{
    TapeFixture l;
    Tape t;
    Error e;
    const TapePlan plan = {1 << 16, 0, 1 << 16};
    const size_t columns[] = {1, 7, 4};
    Tensor *view[3];
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &smooth);
    ck_done(tape_open(&t, l.k, l.stream, &l.weights, &plan, &e), e);
    Tensor *x = tape_tensor(&t, 5, 12, false, true);
    for (size_t i = 0; i < 60; i++)
        ((double *)x->data)[i] = (double)i;
    tape_split(&t, x, view, columns, 3);
    for (size_t v = 0, first = 0; v < 3; first += columns[v++]) {
        ck_assert(view[v]->rows == 5 && view[v]->columns == columns[v] && view[v]->stride == 12);
        for (size_t i = 0; i < 5; i++)
            ck_assert_double_eq(((double *)view[v]->data)[i * view[v]->stride], (double)(i * 12 + first));
    }
    tape_close(&t);
    tape_fixture_close(&l);
}

/* ---- classes */

static Tensor *classified(Tape *t, const TapeFixture *l)
{
    Tensor *logits = linear_logits(t, &l->logits, linear(t, &l->narrow, input(t, l)));
    const int32_t *classes = likeliest(t, logits);
    for (size_t i = 0; t->k == l->k && i < logits->rows; i++)
        for (size_t j = 0; j < FIXTURE_WORDS; j++)
            ck_assert(real_at(l->k, logits->data, i * FIXTURE_WORDS + j) <=
                      real_at(l->k, logits->data, i * FIXTURE_WORDS + (size_t)classes[i]));
    return logits;
}

START_TEST(likeliest_classes_have_the_largest_logits_and_no_gradient)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &smooth);
    tape_fixture_differentiate(&l, classified);
    tape_fixture_close(&l);
    for (size_t i = 0; backend_of(NUMBER_BF16, i); i++) {
        tape_fixture_open(&l, backend_of(NUMBER_BF16, i), &smooth);
        Pass pass = tape_fixture_pass(&l, classified, &(PassOptions){0});
        ck_assert(pass.used.memory == pass.planned.memory);
        pass_free(&pass);
        tape_fixture_close(&l);
    }
}

/* ---- what is not wanted */

typedef struct CountNode {
    Node node;
    Tensor *x;
    size_t *calls;
} CountNode;

static size_t read_calls, unread_calls;

static void count_back(Tape *t, Node *node)
{
    CountNode *n = (CountNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    ++*n->calls;
    t->k->add_backward(t->stream, NULL, false, dx, add_x, node->y->gradient, (Dropout){0}, t->state, n->x->rows,
                       n->x->columns);
}

/* y = x, and how often it runs backward */
static Tensor *counted(Tape *t, Tensor *x, size_t *calls)
{
    Tensor *y = tape_tensor(t, x->rows, x->columns, false, x->wanted);
    t->k->copy(t->stream, y->data, x->data, x->rows * x->columns * t->k->number);
    CountNode *n = tape_node(t, sizeof *n, count_back, y);
    if (n)
        n->x = x, n->calls = calls;
    return y;
}

static Tensor *with_something_unread(Tape *t, const TapeFixture *l)
{
    Tensor *x = input(t, l);
    counted(t, counted(t, x, &unread_calls), &unread_calls);
    Tensor *y = counted(t, x, &read_calls);
    linear(t, &l->wide, y);
    return linear_logits(t, &l->logits, y);
}

START_TEST(an_output_that_nobody_reads_does_not_run_backward)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &smooth);
    Pass p = tape_fixture_pass(&l, with_something_unread, &(PassOptions){0}); /* over shapes, and with numbers */
    ck_assert_uint_eq(unread_calls, 0);
    ck_assert_uint_eq(read_calls, 2);
    const Parameter *wide = l.wide.weight;
    for (size_t i = 0; i < wide->count; i++)
        ck_assert_double_eq(real_at(l.k, p.gradient, wide->offset + i), 0);
    pass_free(&p);
    tape_fixture_differentiate(&l, with_something_unread);
    tape_fixture_close(&l);
}

START_TEST(evaluation_records_nothing)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &dropping);
    Pass p = tape_fixture_pass(&l, used_four_times, &(PassOptions){.evaluation = true});
    Pass q = tape_fixture_pass(&l, used_four_times, &(PassOptions){0});
    ck_assert_uint_eq(p.nodes, 0);
    ck_assert_uint_gt(q.nodes, 10);
    ck_assert_uint_eq(p.used.gradients, 0);
    pass_free(&q);
    tape_fixture_close(&l);
}

START_TEST(what_wants_no_gradient_gets_none)
{
    TapeFixture l;
    Tape t;
    Error e;
    double memory[12] = {0};
    bool add_x = true;
    const TapePlan plan = {1 << 16, 1 << 16, 1 << 16};
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &smooth);
    ck_done(tape_open(&t, l.k, l.stream, &l.weights, &plan, &e), e);
    t.training = t.recording = true;
    Tensor *x = tape_outside(&t, memory, 1, 12);
    Tensor *y = activate(&t, x, ACTIVATION_TANH); /* from nothing that is learned */
    ck_assert(!x->wanted && !y->wanted && !t.last);
    ck_assert_ptr_null(tensor_gradient(&t, x, &add_x));
    ck_assert(!add_x);
    tape_close(&t);
    tape_fixture_close(&l);
}

/* ---- segments */

static Tensor *blocks(Tape *t, const TapeFixture *l)
{
    AttentionContext how = context_rows(&l->rows, true);
    Tensor *x = input(t, l);
    for (size_t i = 0; i < FIXTURE_BLOCKS; i++)
        x = block(t, &l->block[i], x, NULL, &how);
    return linear_logits(t, &l->logits, x);
}

static Tensor *two_blocks(Tape *t, const void *args, Tensor *const *inputs)
{
    const TapeFixture *l = *(const TapeFixture *const *)args;
    AttentionContext how = context_rows(&l->rows, true);
    return block(t, &l->block[1], block(t, &l->block[0], inputs[0], NULL, &how), NULL, &how);
}

/* Segments in a segment, and the same weights twice. */
static Tensor *nested(Tape *t, const TapeFixture *l)
{
    Tensor *x = input(t, l);
    x = tape_segment(t, two_blocks, &l, sizeof l, &x, 1);
    x = tape_segment(t, two_blocks, &l, sizeof l, &x, 1);
    return linear_logits(t, &l->logits, norm(t, &l->norm, x));
}

static Tensor *joined(Tape *t, const void *args, Tensor *const *inputs)
{
    const TapeFixture *l = *(const TapeFixture *const *)args;
    Tensor *x = linear_relu(t, &l->narrow, inputs[1]);
    return add_norm(t, &l->norm, inputs[0], x, (Dropout){.rate = 0.4, .site = 70});
}

/* Several inputs, one of them read by two segments and by what is between. */
static Tensor *shared(Tape *t, const TapeFixture *l)
{
    Tensor *x = input(t, l), *memory = linear(t, &l->narrow, x);
    x = tape_segment(t, joined, &l, sizeof l, (Tensor *[]){x, memory}, 2);
    x = add(t, x, memory, (Dropout){0});
    x = tape_segment(t, joined, &l, sizeof l, (Tensor *[]){memory, x}, 2);
    return linear_logits(t, &l->logits, tape_segment(t, joined, &l, sizeof l, (Tensor *[]){x, x}, 2));
}

static Tensor *unread_segment(Tape *t, const TapeFixture *l)
{
    Tensor *x = input(t, l);
    tape_segment(t, two_blocks, &l, sizeof l, &x, 1);
    return linear_logits(t, &l->logits, x);
}

/* Its output begins so near the mark that it overlaps with where it would be copied to. */
static Tensor *near_the_mark(Tape *t, const void *args, Tensor *const *inputs)
{
    (void)args;
    tape_reals(t, 20);
    return activate(t, inputs[0], ACTIVATION_TANH);
}

static Tensor *near(Tape *t, const TapeFixture *l)
{
    Tensor *x = input(t, l);
    for (size_t i = 0; i < 3; i++)
        x = tape_segment(t, near_the_mark, &l, sizeof l, &x, 1);
    return linear_logits(t, &l->logits, x);
}

/* Returns the one in the middle of three; beside it are the last and the first. */
static Tensor *three(Tape *t, const void *args, Tensor *const *inputs)
{
    const TapeFixture *l = *(const TapeFixture *const *)args;
    Tensor *first = activate(t, inputs[0], ACTIVATION_TANH), *y = linear(t, &l->narrow, first),
           *last = mul(t, y, first);
    y->beside = last;
    last->beside = first;
    return y;
}

/* All three of a segment are read, or one beside it alone, or the other. */
static Tensor *beside(Tape *t, const TapeFixture *l)
{
    Tensor *x = input(t, l), *y = tape_segment(t, three, &l, sizeof l, &x, 1);
    Tensor *all = add(t, mul(t, y, y->beside), y->beside->beside, (Dropout){0});
    Tensor *z = tape_segment(t, three, &l, sizeof l, &all, 1);
    Tensor *u = tape_segment(t, three, &l, sizeof l, &z->beside, 1);
    return linear_logits(t, &l->logits, add(t, u, u->beside->beside, (Dropout){0}));
}

static Program *const segmented[] = {blocks, nested, shared, unread_segment, near, beside};

enum { SEGMENTED = sizeof segmented / sizeof *segmented, KINDS_OF_FIXTURE = 4 };

static TapeFixtureOptions tape_fixture_kind(int i)
{
    return (TapeFixtureOptions){.dropout = 0.3,
                                .composed = i % 2,
                                .norm = i < 2 ? NORM_POST : NORM_PRE,
                                .activation = i < 2 ? ACTIVATION_RELU : ACTIVATION_GELU};
}

START_TEST(segments_kept_and_computed_again_give_the_same_bits)
{
    TapeFixtureOptions o = tape_fixture_kind(_i % KINDS_OF_FIXTURE);
    Program *program = segmented[_i / KINDS_OF_FIXTURE];
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            TapeFixture l;
            tape_fixture_open(&l, backend_of((NumberType)type, i), &o);
            Pass kept = tape_fixture_pass(&l, program, &(PassOptions){.keep = KEEP_ALL});
            Pass again = tape_fixture_pass(&l, program, &(PassOptions){.keep = KEEP_INPUTS});
            ck_assert(memcmp(&kept.loss, &again.loss, sizeof kept.loss) == 0);
            ck_assert_msg(memcmp(kept.gradient, again.gradient, l.parameters.size * l.k->real) == 0,
                          "%s %s: gradients differ", l.k->backend, number_type_name(l.k->type));
            pass_free(&kept);
            pass_free(&again);
            tape_fixture_close(&l);
        }
}

START_TEST(segments_differentiate)
{
    TapeFixtureOptions o = {.dropout = 0.3, .activation = ACTIVATION_GELU};
    TapeFixture l;
    if (segmented[_i] == shared) /* reads a ReLU, but far from its kink */
        o.dropout = 0;
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &o);
    tape_fixture_differentiate(&l, segmented[_i]);
    tape_fixture_close(&l);
}

START_TEST(segments_computed_again_need_less_memory_and_evaluation_least)
{
    TapeFixtureOptions o = tape_fixture_kind(_i);
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F32, 0), &o);
    for (size_t i = 0; i < 2; i++) { /* blocks, nested */
        Pass kept = tape_fixture_pass(&l, segmented[i], &(PassOptions){.keep = KEEP_ALL});
        Pass again = tape_fixture_pass(&l, segmented[i], &(PassOptions){.keep = KEEP_INPUTS});
        Pass read = tape_fixture_pass(&l, segmented[i], &(PassOptions){.evaluation = true});
        ck_assert_uint_lt(again.used.memory, kept.used.memory / 2);
        ck_assert_uint_lt(read.used.memory, again.used.memory);
        ck_assert_uint_le(again.used.gradients, kept.used.gradients);
        ck_assert_uint_lt(read.used.host, again.used.host);
        pass_free(&kept);
        pass_free(&again);
    }
    tape_fixture_close(&l);
}

/* Four blocks or forty: an evaluation has the same memory. */
static Tensor *deep(Tape *t, const TapeFixture *l)
{
    AttentionContext how = context_rows(&l->rows, true);
    Tensor *x = input(t, l);
    for (size_t i = 0; i < 10 * FIXTURE_BLOCKS; i++)
        x = block(t, &l->block[i % FIXTURE_BLOCKS], x, NULL, &how);
    return linear_logits(t, &l->logits, x);
}

START_TEST(evaluation_of_a_deep_network_keeps_one_tensor_a_block)
{
    TapeFixtureOptions o = tape_fixture_kind(_i);
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F32, 0), &o);
    Pass shallow = tape_fixture_pass(&l, blocks, &(PassOptions){.evaluation = true});
    Pass much = tape_fixture_pass(&l, deep, &(PassOptions){.evaluation = true});
    size_t blocks_more = 9 * FIXTURE_BLOCKS, tensor = aligned(FIXTURE_POSITIONS * FIXTURE_DIM * sizeof(float));
    ck_assert_uint_le(much.used.memory, shallow.used.memory + blocks_more * tensor);
    tape_fixture_close(&l);
}

/* ---- memory */

static void check_plan(const Pass *p, const TapeFixture *l, const char *how)
{
    ck_assert_msg(p->planned.memory == p->used.memory, "%s %s %s: %zu bytes of activations planned, %zu used",
                  l->k->backend, number_type_name(l->k->type), how, p->planned.memory, p->used.memory);
    ck_assert_msg(p->planned.gradients == p->used.gradients, "%s %s %s: %zu bytes of gradients planned, %zu used",
                  l->k->backend, number_type_name(l->k->type), how, p->planned.gradients, p->used.gradients);
    ck_assert_msg(p->planned.host == p->used.host, "%s %s %s: %zu bytes of nodes planned, %zu used", l->k->backend,
                  number_type_name(l->k->type), how, p->planned.host, p->used.host);
}

START_TEST(a_walk_over_shapes_finds_exactly_the_memory_that_is_used)
{
    TapeFixtureOptions o = tape_fixture_kind(_i % KINDS_OF_FIXTURE);
    Program *program = segmented[_i / KINDS_OF_FIXTURE];
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            TapeFixture l;
            tape_fixture_open(&l, backend_of((NumberType)type, i), &o);
            Pass kept = tape_fixture_pass(&l, program, &(PassOptions){.keep = KEEP_ALL});
            Pass again = tape_fixture_pass(&l, program, &(PassOptions){.keep = KEEP_INPUTS});
            Pass read = tape_fixture_pass(&l, program, &(PassOptions){.evaluation = true});
            check_plan(&kept, &l, "kept");
            check_plan(&again, &l, "computed again");
            check_plan(&read, &l, "in evaluation");
            pass_free(&kept);
            pass_free(&again);
            tape_fixture_close(&l);
        }
}

static bool open_tape(void *argument, Error *e)
{
    const TapePlan plan = {1000, 1000, 1000};
    const TapeFixture *l = argument;
    Tape t;
    if (!tape_open(&t, l->k, l->stream, &l->weights, &plan, e))
        return false;
    tape_close(&t);
    return true;
}

START_TEST(a_tape_without_memory_is_an_error_and_leaves_nothing)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F32, 0), &smooth);
    fail_each_allocation(open_tape, &l);
    tape_fixture_close(&l);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(a_tensor_that_is_used_twice_sums_its_gradients, MEETING),
        TEST_LOOP(gradients_meet_in_the_same_way_on_each_backend, MEETING),
        TEST(views_write_their_columns_of_one_gradient),
        TEST(views_of_different_widths_see_their_columns),
        TEST(likeliest_classes_have_the_largest_logits_and_no_gradient),
        TEST(an_output_that_nobody_reads_does_not_run_backward),
        TEST(evaluation_records_nothing),
        TEST(what_wants_no_gradient_gets_none),
        TEST_LOOP(segments_kept_and_computed_again_give_the_same_bits, SEGMENTED * KINDS_OF_FIXTURE),
        TEST_LOOP(segments_differentiate, SEGMENTED),
        TEST_LOOP(segments_computed_again_need_less_memory_and_evaluation_least, KINDS_OF_FIXTURE),
        TEST_LOOP(evaluation_of_a_deep_network_keeps_one_tensor_a_block, KINDS_OF_FIXTURE),
        TEST_LOOP(a_walk_over_shapes_finds_exactly_the_memory_that_is_used, SEGMENTED * KINDS_OF_FIXTURE),
        TEST(a_tape_without_memory_is_an_error_and_leaves_nothing),
    };
    return suite_run("tensor/tape", tests, sizeof tests / sizeof *tests, argc, argv);
}
