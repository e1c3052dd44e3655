/* The backend that counts: FLOP, bytes and calls, of every type, from shapes alone. */
#include "kernels/cost/cost.h"

#include "base/memory.h"
#include "tests/kernels/attending.h"

#include <string.h>

static const NumberType types[] = {NUMBER_F32, NUMBER_BF16, NUMBER_F64};

static Cost cost_of(const Stream *s, const char *operation)
{
    size_t n;
    const Cost *cost = cost_counted(s, &n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(cost[i].operation, operation))
            return cost[i];
    ck_abort_msg("measure does not know %s", operation);
    return (Cost){0};
}

static Stream *open_stream(const Kernels *k)
{
    Stream *s;
    Error e;
    ck_done(k->open(&s, 1, &e), e);
    return s;
}

/* Pointers to activations may be invented: to read or write one would end the test. */
static void *nowhere(size_t i) { return (void *)(16 + 64 * i); }

START_TEST(a_linear_map_costs_two_flop_a_product_and_three_times_that_with_its_gradients)
{
    const Kernels *k = cost_kernels(types[_i]);
    Stream *s = open_stream(k);
    const size_t n = 7, in = 5, out = 3;
    double once = 2 * 7 * 5 * 3, number = (double)k->number, real = (double)k->real;
    k->linear_forward(s, nowhere(1), false, nowhere(2), nowhere(3), nowhere(4), true, n, in, out);
    Cost forward = cost_of(s, "linear_forward");
    ck_assert(forward.calls == 1 && forward.flop == once);
    ck_assert(forward.bytes == (7 * 5 + 5 * 3 + 7 * 3) * number + 3 * real);
    k->linear_backward(s, nowhere(1), false, nowhere(2), nowhere(3), nowhere(4), nowhere(5), nowhere(6), nowhere(7),
                       false, n, in, out);
    ck_assert(cost_of(s, "linear_backward").flop == 2 * once);
    k->linear_backward(s, NULL, false, nowhere(2), NULL, nowhere(4), NULL, nowhere(6), nowhere(7), false, n, in, out);
    ck_assert(cost_of(s, "linear_backward").flop == 3 * once && cost_of(s, "linear_backward").calls == 2);
    k->linear_backward(s, NULL, false, NULL, nowhere(3), nowhere(4), NULL, nowhere(6), nowhere(7), false, n, in, out);
    ck_assert(cost_of(s, "linear_backward").flop == 3 * once && cost_of(s, "linear_backward").calls == 3);
    k->close(s);
}

/* A case's integers in memory of their own: only ids, starts, lengths and lists of blocks are real memory. */
static void integers_of(const Case *c, void *at[TENSORS])
{
    for (size_t i = 0; i < TENSORS; i++) {
        const Tensor *t = &c->tensor[i];
        if (!t->name || t->use == ABSENT)
            continue;
        at[i] = nowhere(i);
        if (t->kind != INTEGERS)
            continue;
        int32_t *values = at[i] = memory_get(t->rows + 1, sizeof *values);
        for (size_t j = 0; j < t->rows; j++)
            values[j] = (int32_t)*element(t, j, 0);
    }
}

START_TEST(attention_costs_what_is_live_counted_one_by_one)
{
    Attending a = attending_distant((uint32_t)_i);
    Case c = attending_case(&a, attending_call, (uint32_t)_i);
    void *at[TENSORS] = {0};
    integers_of(&c, at);
    Attend how = attend_of(&a, at);
    double pairs = 0;
    for (size_t b = 0; b < a.rows; b++)
        for (size_t i = 0; i < (size_t)a.queries[b]; i++)
            for (size_t j = 0; j < (size_t)a.keys[keys_of(&a, b)]; j++)
                pairs += sees(&a, b, i, j);
    double once = 2 * pairs * (double)(a.heads * (a.key_size * (a.relative ? 2 : 1) + a.value_size));

    const Kernels *k = cost_kernels(types[_i % 3]);
    Stream *s = open_stream(k);
    Strided x = {nowhere(1), 64};
    k->attention_forward(s, nowhere(2), nowhere(3), x, x, x, &how, nowhere(4));
    AttendGradients d = {.q = x, .k = x, .v = x};
    k->attention_backward(s, &d, nowhere(5), nowhere(2), nowhere(3), x, x, x, &how, nowhere(4));
    ck_assert(cost_of(s, "attention_forward").flop == once);
    ck_assert(cost_of(s, "attention_backward").flop == 2 * once);
    k->close(s);
    for (size_t i = 0; i < TENSORS; i++)
        if (c.tensor[i].kind == INTEGERS)
            memory_free(at[i]);
    case_free(&c);
}

/* What tables of distances and biases add, to the digit: 2 heads, dk 4, 5 distances; 3 queries, 3 keys. */
START_TEST(distances_and_biases_cost_their_tables)
{
    const Kernels *k = cost_kernels(types[_i]);
    Stream *s = open_stream(k);
    int32_t start[] = {0, 3};
    Strided x = {nowhere(1), 8};
    Attend how = {.rows = 1, .queries = 3, .keys = 3, .longest_query = 3, .longest_key = 3, .heads = 2};
    how.key_size = how.value_size = 4;
    how.query_start = how.key_start = start;
    AttendGradients d = {.q = x, .k = x, .v = x};
    k->attention_forward(s, nowhere(2), nowhere(3), x, x, x, &how, nowhere(4));
    k->attention_backward(s, &d, nowhere(5), nowhere(2), nowhere(3), x, x, x, &how, nowhere(4));
    Cost forward = cost_of(s, "attention_forward"), backward = cost_of(s, "attention_backward");

    how.distances = 5, how.relative = x;
    how.distance_bias = how.content_bias = how.position_bias = nowhere(6);
    d.relative = x, d.add_relative = true;
    d.distance_bias = d.content_bias = d.position_bias = nowhere(7);
    cost_reset(s);
    k->attention_forward(s, nowhere(2), nowhere(3), x, x, x, &how, nowhere(4));
    k->attention_backward(s, &d, nowhere(5), nowhere(2), nowhere(3), x, x, x, &how, nowhere(4));
    double number = (double)k->number, real = (double)k->real, reals = 5 * 2 + 8 + 8;
    ck_assert(cost_of(s, "attention_forward").flop - forward.flop == 2 * 9 * 8);
    ck_assert(cost_of(s, "attention_forward").bytes - forward.bytes == 5 * 8 * number + reals * real);
    ck_assert(cost_of(s, "attention_backward").flop - backward.flop == 4 * 9 * 8);
    ck_assert(cost_of(s, "attention_backward").bytes - backward.bytes == 3 * 5 * 8 * number + 3 * reals * real);
    k->close(s);
}

START_TEST(a_causal_row_costs_its_triangle)
{
    int32_t start[] = {0, 4, 4, 5, 15}; /* rows of 4, 0, 1 and 10 */
    Attend how = {.rows = 4, .queries = 15, .keys = 15, .longest_query = 10, .longest_key = 10, .heads = 3};
    how.key_size = how.value_size = 8;
    how.query_start = how.key_start = start;
    how.causal = true;
    Stream *s = open_stream(cost_kernels(NUMBER_F32));
    Strided x = {nowhere(1), 24};
    cost_kernels(NUMBER_F32)->attention_forward(s, nowhere(2), nowhere(3), x, x, x, &how, nowhere(4));
    ck_assert(cost_of(s, "attention_forward").flop == 2.0 * (10 + 1 + 55) * 3 * 16);
    cost_kernels(NUMBER_F32)->close(s);
}

START_TEST(a_product_costs_two_flop_a_term)
{
    const Kernels *k = cost_kernels(types[_i]);
    Stream *s = open_stream(k);
    Operand x = {nowhere(1), 1, 1, 1, 1};
    k->product(s, x, false, x, x, 1, 2, 3, 4, 5, 6);
    ck_assert(cost_of(s, "product").flop == 2 * 2 * 3 * 4 * 5 * 6);
    ck_assert(cost_of(s, "product").bytes == (double)k->number * 2 * 3 * (4 * 6 + 6 * 5 + 4 * 5));
    k->product(s, x, true, x, x, 1, 2, 3, 0, 5, 6);
    ck_assert(cost_of(s, "product").flop == 2 * 2 * 3 * 4 * 5 * 6 && cost_of(s, "product").calls == 2);
    k->close(s);
}

START_TEST(operations_that_only_move_numbers_cost_their_bytes)
{
    const Kernels *k = cost_kernels(types[_i]);
    Stream *s = open_stream(k);
    double number = (double)k->number;
    Strided y = {nowhere(1), 9}, x = {nowhere(2), 8};
    k->move(s, y, false, x, 3, 4);
    ck_assert(cost_of(s, "move").bytes == 2 * 12 * number);
    k->move(s, y, true, x, 3, 4);
    ck_assert(cost_of(s, "move").bytes == 5 * 12 * number);
    k->transpose(s, y, true, x, 3, 4);
    ck_assert(cost_of(s, "transpose").bytes == 3 * 12 * number);
    k->mul_forward(s, nowhere(1), nowhere(2), nowhere(3), 7);
    ck_assert(cost_of(s, "mul_forward").bytes == 3 * 7 * number);
    k->mul_backward(s, nowhere(1), true, nowhere(2), false, nowhere(3), nowhere(4), nowhere(5), 7);
    ck_assert(cost_of(s, "mul_backward").bytes == 6 * 7 * number);
    k->mul_backward(s, NULL, false, nowhere(2), false, nowhere(3), nowhere(4), nowhere(5), 7);
    ck_assert(cost_of(s, "mul_backward").bytes == (6 + 3) * 7 * number);
    k->gather_forward(s, nowhere(1), nowhere(2), nowhere(3), 3, 4);
    ck_assert(cost_of(s, "gather_forward").bytes == 2 * 12 * number);
    k->gather_backward(s, nowhere(1), false, nowhere(2), nowhere(3), 3, 5, 4);
    ck_assert(cost_of(s, "gather_backward").bytes == (12 + 20) * number);
    k->gather_backward(s, nowhere(1), true, nowhere(2), nowhere(3), 3, 5, 4);
    ck_assert(cost_of(s, "gather_backward").bytes == (12 + 20 + 12 + 40) * number);
    k->close(s);
}

/* Every operation of the table, once each, on pointers to nowhere. */
static void call_activations(const Kernels *k, Stream *s)
{
    void *p = nowhere(1);
    int32_t *i = nowhere(2);
    Dropout drop = {.rate = 0.1, .site = 1};
    k->embed_forward(s, p, i, i, p, p, 1, drop, p, 3, 4);
    k->embed_backward(s, p, p, p, i, i, 1, drop, p, 3, 4);
    k->linear_forward(s, p, true, p, p, NULL, false, 3, 4, 5);
    k->linear_int8(s, p, true, p, p, NULL, false, 3, 4, 5);
    k->linear_backward(s, p, true, p, p, p, p, p, p, true, 3, 4, 5);
    k->norm_forward(s, p, p, p, p, p, p, 1e-5, 3, 4);
    k->norm_backward(s, p, true, p, p, p, p, p, p, p, 3, 4);
    k->add_forward(s, p, p, p, drop, p, 3, 4);
    k->add_backward(s, p, true, p, true, p, drop, p, 3, 4);
    k->add_norm_forward(s, p, p, p, p, p, p, drop, p, p, p, 1e-5, 3, 4);
    k->add_norm_backward(s, p, true, p, true, p, p, p, p, p, p, drop, p, p, 3, 4);
    k->activation_forward(s, p, p, ACTIVATION_GELU, 12);
    k->activation_backward(s, p, false, p, p, ACTIVATION_GELU, 12);
    k->gather_forward(s, p, p, i, 3, 4);
    k->argmax(s, i, p, 3, 4);
    k->choices(s, i, p, p, p, 1, 3, 4, 2);
    k->gather_backward(s, p, true, p, i, 3, 5, 4);
    k->mul_forward(s, p, p, p, 12);
    k->mul_backward(s, p, true, NULL, false, p, p, p, 12);
    k->move(s, (Strided){p, 4}, true, (Strided){p, 5}, 3, 4);
    k->transpose(s, (Strided){p, 3}, false, (Strided){p, 5}, 3, 4);
    k->softmax_forward(s, p, p, 3, 4);
    k->softmax_backward(s, p, true, p, p, 3, 4);
    k->cross_entropy_forward(s, p, p, p, 0, p, i, 0.1, 3, 4);
    k->cross_entropy_backward(s, p, true, p, 0, p, p, i, 0.1, 3, 4);
}

static void call_rest(const Kernels *k, Stream *s)
{
    void *p = nowhere(1);
    int32_t start[] = {0, 2, 3}, length[] = {1, 0}, out[2];
    Strided x = {p, 8};
    Operand a = {p, 1, 1, 1, 1};
    Attend how = {.rows = 2, .queries = 3, .longest_query = 2, .keys = 3, .longest_key = 2, .heads = 1};
    how.key_size = how.value_size = 4;
    how.query_start = how.key_start = start;
    k->attention_forward(s, p, p, x, x, x, &how, p);
    k->attention_backward(s, &(AttendGradients){.q = x}, p, p, p, x, x, x, &how, p);
    k->softcap_forward(s, p, p, 30, 3);
    k->softcap_backward(s, p, true, p, p, 30, 3);
    k->sink_forward(s, p, p, p, &how);
    k->sink_backward(s, p, p, p, p, p, &how);
    k->span_forward(s, p, p, p, 8, 2, 0, 3, 2);
    k->span_backward(s, p, p, p, p, 1, 8, 2, 0, 3, 2);
    k->cache_lengths(s, out, length, start, 2);
    ck_assert(out[0] == 3 && out[1] == 1); /* lengths are real: later calls read them */
    k->cache_append(s, p, length, 8, x, start, 2, 4);
    k->pool_forward(s, p, out, p, POOLING_MAX, start, 2, 4);
    k->pool_backward(s, p, true, p, out, POOLING_MAX, start, 2, 3, 4);
    k->pad(s, p, x, start, NULL, 2, 2, 4);
    k->unpad(s, x, true, p, start, NULL, 2, 3, 2, 4);
    k->product(s, a, true, a, a, 1, 1, 2, 2, 2, 4);
    k->mask(s, p, &how);
    k->keep_largest(s, p, 2, 2, 1);
    k->dropout_weights(s, p, false, p, &how, p);
    k->route_forward(s, p, p, p, p, p, p, 3, 4, 2);
    k->route_backward(s, p, true, p, p, p, 3, 4, 2);
    k->experts_forward(s, p, p, p, p, 6, 4, 5, 4);
    k->experts_backward(s, p, true, p, p, p, p, p, 6, 4, 5, 4);
    k->load_loss_forward(s, p, p, p, 0, p, p, 0.1, p, p, 2, 3, 4, 2);
    k->load_loss_backward(s, p, true, p, 0, p, p, p, 2, 3, 4);
    k->z_loss_forward(s, p, p, 0, p, 0.1, 3);
    k->z_loss_backward(s, p, true, p, 0, p, p, 0.1, 3, 4);
    k->agreement_forward(s, p, p, p, 0, p, p, p, 0.5, 3, 4);
    k->agreement_backward(s, p, true, p, false, p, 0, p, p, p, p, 0.5, 3, 4);
    k->accumulate(s, p, p, 5);
    k->convert(s, p, p, 5);
    k->widen(s, p, p, 5);
    k->clamp(s, p, 0, 1, 5);
    k->squares(s, p, p, 5);
    k->clip(s, p, p, 1, 1);
    k->adam(s, p, p, p, p, p, p, (Adam){0.9, 0.98, 1e-9}, NULL, 0, 0, 5);
    k->adam_rows(s, p, p, p, NULL, p, NULL, p, (Adam){0.9, 0.98, 1e-9}, 0, 0, 2, 5);
    k->adam_flush(s, p, p, NULL, (Adam){0.9, 0.98, 1e-9}, 0, 2, 5);
    k->lion(s, p, p, p, p, NULL, p, (Adam){0.9, 0.98, 1e-9}, 0, 0, 2, 5);
    k->momentum(s, p, p, p, 0.95, 5);
    k->unit(s, p, p, p, 1, 5);
    k->descend(s, p, p, p, p, 1, 0, 5);
    k->factors(s, p, p, NULL, p, 0, 2, 2, 5);
    k->adafactor(s, p, p, p, p, p, NULL, p, 0, 0, 2, 2, 5);
    k->copy(s, p, p, 40);
    k->zero(s, p, 40);
}

START_TEST(every_operation_counts_its_calls_without_touching_a_number)
{
    const Kernels *k = cost_kernels(types[_i]);
    Stream *s = open_stream(k);
    static const size_t numbers[] = {4, 2, 8}, reals[] = {4, 4, 8};
    ck_assert(k->type == types[_i] && k->number == numbers[_i] && k->real == reals[_i]);
    for (uint64_t times = 1; times <= 3; times++) {
        call_activations(k, s);
        call_rest(k, s);
        size_t n;
        const Cost *cost = cost_counted(s, &n);
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(cost[i].calls == times, "%s: %d calls instead of %d", cost[i].operation, (int)cost[i].calls,
                          (int)times);
    }
    Error e;
    ck_done(k->finish(s, &e), e);
    k->close(s);
}

START_TEST(a_reset_stream_has_cost_nothing)
{
    Stream *s = open_stream(cost_kernels(NUMBER_F32));
    call_activations(cost_kernels(NUMBER_F32), s);
    call_rest(cost_kernels(NUMBER_F32), s);
    cost_reset(s);
    size_t n;
    const Cost *cost = cost_counted(s, &n);
    for (size_t i = 0; i < n; i++)
        ck_assert(cost[i].operation && cost[i].calls == 0 && cost[i].flop == 0 && cost[i].bytes == 0);
    cost_kernels(NUMBER_F32)->close(s);
}

static bool open_and_close(void *argument, Error *e)
{
    const Kernels *k = argument;
    Stream *s;
    if (!k->open(&s, 2, e))
        return false;
    k->close(s);
    return true;
}

START_TEST(a_stream_that_finds_no_memory_says_so)
{
    Kernels copy = *cost_kernels(types[_i]);
    fail_each_allocation(open_and_close, &copy);
    copy = types[_i] == NUMBER_F64 ? plain_f64 : types[_i] == NUMBER_F32 ? plain_f32 : plain_bf16;
    fail_each_allocation(open_and_close, &copy);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(a_linear_map_costs_two_flop_a_product_and_three_times_that_with_its_gradients, 3),
        TEST_LOOP(attention_costs_what_is_live_counted_one_by_one, 30),
        TEST_LOOP(distances_and_biases_cost_their_tables, 3),
        TEST(a_causal_row_costs_its_triangle),
        TEST_LOOP(a_product_costs_two_flop_a_term, 3),
        TEST_LOOP(operations_that_only_move_numbers_cost_their_bytes, 3),
        TEST_LOOP(every_operation_counts_its_calls_without_touching_a_number, 3),
        TEST(a_reset_stream_has_cost_nothing),
        TEST_LOOP(a_stream_that_finds_no_memory_says_so, 3)};
    return suite_run("kernels/cost", tests, sizeof tests / sizeof *tests, argc, argv);
}
