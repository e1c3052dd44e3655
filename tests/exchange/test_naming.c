/* core/exchange/naming and sayable: what is written under other names and in other layouts is read again as it was. */
#include "base/memory.h"
#include "core/exchange/naming.h"
#include "core/exchange/sayable.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 2, D = 4, F = 3 };

static const Naming rows[] = {
    {.theirs = "table", .ours = {"table.weight"}},
    {.theirs = "h.#.qkv", .ours = {"b.#.q.weight", "b.#.k.weight", "b.#.v.weight"}, .layout = LAYOUT_TRANSPOSED},
    {.theirs = "h.#.qkv_b", .ours = {"b.#.q.bias", "b.#.k.bias", "b.#.v.bias"}},
    {.theirs = "h.#.pairs", .ours = {"b.#.k.weight"}, .layout = LAYOUT_PAIRS},
    {.theirs = "h.#.norm", .ours = {"b.#.norm.weight"}},
    {.theirs = "h.#.maybe", .ours = {"b.#.maybe.bias"}, .optional = true},
};

static NamingTable table(void)
{
    return (NamingTable){
        .rows = rows, .count = sizeof rows / sizeof *rows, .blocks = BLOCKS, .dim = D, .head_size = 5, .rotated = 4};
}

/* Values that say where they are: the number of the tensor, its row, its column. */
static void add(Tensors *t, const char *name, size_t number, size_t height, size_t width)
{
    Error e;
    float *values = tensor_values(name, height, width, &e);
    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i < height * (width ? width : 1); i++)
        values[i] = (float)(100 * number + i);
    ck_done(tensors_add(t, name, values, height, width, &e), e);
}

static Tensors ours(bool biases)
{
    static const char *const parts[] = {"q", "k", "v"};
    static const size_t heights[] = {2, 10, 3};
    Tensors t = {0};
    add(&t, "table.weight", 1, 7, D);
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < 3; i++) {
            char name[64];
            snprintf(name, sizeof name, "b.%zu.%s.weight", b, parts[i]);
            add(&t, name, 2 + 10 * b + i, heights[i], D);
            snprintf(name, sizeof name, "b.%zu.%s.bias", b, parts[i]);
            if (biases)
                add(&t, name, 5 + 10 * b + i, heights[i], 0);
        }
    return t;
}

static const float *values_of(const Tensors *t, const char *name, size_t height, size_t width)
{
    const SafeTensor *one = tensors_find(t, name);
    ck_assert_msg(one, "%s", name);
    ck_assert_uint_eq(one->rank, width ? 2 : 1);
    ck_assert_uint_eq(one->shape[0], height);
    ck_assert_uint_eq(one->shape[1], width);
    return tensor_floats(one);
}

START_TEST(layouts_are_theirs)
{
    Tensors mine = ours(true), theirs = {0};
    const NamingTable t = table();
    Error e;
    ck_done(naming_write(&t, &mine, &theirs, &e), e);
    ck_assert_uint_eq(theirs.count, 1 + BLOCKS * 4);
    const float *qkv = values_of(&theirs, "h.1.qkv", D, 15), *bias = values_of(&theirs, "h.1.qkv_b", 15, 0),
                *pairs = values_of(&theirs, "h.0.pairs", 10, D);
    for (size_t c = 0; c < D; c++) {
        ck_assert(qkv[c * 15 + 1] == (float)(1200 + D + c));         /* row 1 of q */
        ck_assert(qkv[c * 15 + 2 + 9] == (float)(1300 + 9 * D + c)); /* row 9 of k */
        ck_assert(qkv[c * 15 + 12] == (float)(1400 + c));            /* row 0 of v */
        /* of each head of 5 rows, 4 of them rotated: 0 2 | 1 3 | 4 */
        for (size_t row = 0; row < 10; row++)
            ck_assert(pairs[row * D + c] == (float)(300 + (row / 5 * 5 + (size_t[]){0, 2, 1, 3, 4}[row % 5]) * D + c));
    }
    ck_assert(bias[0] == 1500 && bias[2] == 1600 && bias[14] == 1702);
    tensors_close(&mine);
    tensors_close(&theirs);
}

START_TEST(never_transposed_is_as_it_is)
{
    Tensors mine = ours(true), theirs = {0};
    NamingTable t = table();
    Error e;
    t.never_transposed = true;
    ck_done(naming_write(&t, &mine, &theirs, &e), e);
    ck_assert(values_of(&theirs, "h.0.qkv", 15, D)[2 * D + 1] == 301);
    tensors_close(&mine);
    tensors_close(&theirs);
}

START_TEST(absent_biases_are_zeros_and_gains_ones)
{
    Tensors mine = ours(false), theirs = {0};
    const NamingTable t = table();
    Error e;
    ck_done(naming_write(&t, &mine, &theirs, &e), e);
    const float *bias = values_of(&theirs, "h.0.qkv_b", 15, 0), *gain = values_of(&theirs, "h.1.norm", D, 0);
    for (size_t i = 0; i < 15; i++)
        ck_assert(bias[i] == 0);
    for (size_t i = 0; i < D; i++)
        ck_assert(gain[i] == 1);
    ck_assert_ptr_null(tensors_find(&theirs, "h.0.maybe"));
    tensors_close(&theirs);
    mine.count--; /* the weight of the last value */
    theirs = (Tensors){0};
    ck_assert(!naming_write(&t, &mine, &theirs, &e));
    ck_assert_msg(strstr(e.text, "the model has no 'b.1.v.weight'"), "%s", e.text);
    mine.count++;
    tensors_close(&mine);
    tensors_close(&theirs);
}

/* ---- reading */

typedef struct FromTensors {
    Source source; /* first */
    const Tensors *t;
} FromTensors;

static float *read(Source *s, const char *name, size_t height, size_t width, Error *e)
{
    const float *values = values_of(((FromTensors *)s)->t, name, height, width);
    float *copy = tensor_values(name, height, width, e);
    if (copy)
        memcpy(copy, values, height * (width ? width : 1) * sizeof *copy);
    return copy;
}

static Parameters model_of(const Tensors *t)
{
    Parameters p = {0};
    Error e;
    for (size_t i = 0; i < t->count; i++)
        parameters_add(&p, ROLE_WEIGHT, t->list[i].shape[0], t->list[i].shape[1], "%s", t->list[i].name);
    ck_done(parameters_finish(&p, &e), e);
    return p;
}

START_TEST(what_was_written_is_read)
{
    for (int biases = 0; biases < 2; biases++) {
        Tensors mine = ours(biases), theirs = {0}, again = {0};
        Parameters model = model_of(&mine);
        const NamingTable t = table();
        FromTensors from = {.source = {read, "theirs"}, .t = &theirs};
        Error e;
        ck_done(naming_write(&t, &mine, &theirs, &e) && naming_read(&t, &from.source, &model, &again, &e), e);
        ck_assert_uint_eq(again.count, mine.count + BLOCKS); /* k is in two of theirs */
        for (size_t i = 0; i < mine.count; i++) {
            const SafeTensor *one = &mine.list[i];
            for (size_t k = 0; k < again.count; k++)
                if (!strcmp(again.list[k].name, one->name)) {
                    ck_assert_uint_eq(again.list[k].shape[0], one->shape[0]);
                    ck_assert_mem_eq(again.list[k].data, one->data, safe_elements(one) * sizeof(float));
                }
            ck_assert_ptr_nonnull(tensors_find(&again, one->name));
        }
        tensors_close(&mine);
        tensors_close(&theirs);
        tensors_close(&again);
        parameters_close(&model);
    }
}

START_TEST(a_number_that_is_not_finite_is_named_as_theirs)
{
    Tensors mine = ours(true), theirs = {0}, again = {0};
    Parameters model = model_of(&mine);
    const NamingTable t = table();
    FromTensors from = {.source = {read, "the file"}, .t = &theirs};
    Error e;
    char said[200];
    ck_done(naming_write(&t, &mine, &theirs, &e), e);
    ((float *)(uintptr_t)theirs.list[1].data)[2] = -INFINITY;
    ck_assert(!naming_read(&t, &from.source, &model, &again, &e));
    snprintf(said, sizeof said, "the file: value 2 of tensor '%s' is not finite", theirs.list[1].name);
    ck_assert_str_eq(e.text, said);
    tensors_close(&mine);
    tensors_close(&theirs);
    tensors_close(&again);
    parameters_close(&model);
}

START_TEST(memory_that_runs_out_is_said)
{
    for (uint64_t n = 1, met = 1; met; n++) {
        Tensors mine = ours(true), theirs = {0}, again = {0};
        Parameters model = model_of(&mine);
        const NamingTable t = table();
        FromTensors from = {.source = {read, "theirs"}, .t = &theirs};
        Error e = {{0}};
        const size_t before = memory_in_use();
        const uint64_t asked = memory_requests();
        memory_fail_at(n);
        const bool fine = naming_write(&t, &mine, &theirs, &e) && naming_read(&t, &from.source, &model, &again, &e);
        met = memory_requests() - asked >= n;
        memory_fail_at(0);
        ck_assert_msg(fine != (bool)met && (fine || strstr(e.text, "memory")), "%u: %s", (unsigned)n, e.text);
        tensors_close(&theirs);
        tensors_close(&again);
        ck_assert_uint_eq(memory_in_use(), before);
        tensors_close(&mine);
        parameters_close(&model);
    }
}

/* ---- options */

START_TEST(what_a_format_cannot_say_is_refused)
{
    static const Sayable says[] = {{"dim", NULL}, {"norm", "pre|post"}, {"bias", "yes"}, {NULL, NULL}};
    static const struct {
        const char *model, *said;
    } cases[] = {
        {"{\"dim\": 64, \"norm\": \"post\", \"bias\": true}", NULL},
        {"{\"norm\": \"sandwich\"}", "--format f cannot express --norm sandwich, only pre|post"},
        {"{\"norm\": \"pr\"}", "cannot express --norm pr"},
        {"{\"bias\": false}", "cannot express --bias no, only yes"},
        {"{\"bias\": null}", "cannot express --bias null"},
        {"{\"loops\": 1}", NULL},
        {"{\"loops\": 2}", "--format f cannot express --loops 2"},
        {"{\"gate\": false, \"qk-norm\": false, \"skip\": \"none\"}", NULL},
        {"{\"something-new\": 0}", "cannot express --something-new 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Json *model;
        Error e;
        ck_done(json_read(&model, cases[i].model, strlen(cases[i].model), "model", &e), e);
        const bool fine = sayable_all(model, says, "f", &e);
        ck_assert_msg(fine == !cases[i].said && (fine || strstr(e.text, cases[i].said)), "%s: %s", cases[i].model,
                      fine ? "fine" : e.text);
        json_free(model);
    }
}

static const Test tests[] = {TEST(layouts_are_theirs),
                             TEST(never_transposed_is_as_it_is),
                             TEST(absent_biases_are_zeros_and_gains_ones),
                             TEST(what_was_written_is_read),
                             TEST(a_number_that_is_not_finite_is_named_as_theirs),
                             TEST(memory_that_runs_out_is_said),
                             TEST(what_a_format_cannot_say_is_refused)};

int main(int argc, char **argv)
{
    return suite_run("exchange/naming", tests, sizeof tests / sizeof *tests, argc, argv);
}
