/* What must not matter to a network: how its rows are split over batches, in which order they come, in which order the
 * positions of a row come where no place counts, and keys that are not valid. Each is tried on random networks of a
 * kind for which it holds, on every backend in f64 and f32. */
#include "kernels/plain/plain.h"
#include "tests/hunt/judge.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

enum { GROUPS = 4, NETWORKS = 12 };

static const Kernels *backend(size_t i)
{
    const Kernels *const *backends = judged_backends();
    for (; i && *backends; backends++)
        i -= (*backends)->type == NUMBER_F32 && i;
    return i ? NULL : backends == judged_backends() ? &plain_f64 : backends[-1];
}

/* a and b came from the same rows. Where each loss is computed by the same sums (`exact`), plain gives the same bits; a
 * backend that computes several numbers at once may take others for the last ones. Gradients are summed in any order. */
static void check_same(const Scene *c, const Kernels *k, const Outcome *a, const Outcome *b, bool exact,
                       const char *what)
{
    const double rounding = k->type == NUMBER_F64 ? 1e-12 : 1e-5;
    char text[SKETCH_TEXT];
    double largest = 0, off = losses_apart(a, b), unit = 1 + losses_apart(a, NULL);
    sketch_print(c->s, text);
    exact = exact && !strcmp(k->backend, "plain");
    ck_assert_msg(exact ? off == 0 : off <= rounding * unit, "seed %u, %s %s, %s: a loss is off by %g\n%s", c->s->seed,
                  k->backend, number_type_name(k->type), what, off, text);
    for (size_t i = 0; i < c->parameters.count; i++) {
        const Parameter *p = c->parameters.list[i];
        double one = p->role == ROLE_CONSTANT ? 0 : gradient_apart(p, a, NULL);
        largest = one > largest ? one : largest;
    }
    for (size_t i = 0; i < c->parameters.count; i++) {
        const Parameter *p = c->parameters.list[i];
        double apart = p->role == ROLE_CONSTANT ? 0 : gradient_apart(p, a, b);
        ck_assert_msg(apart <= 4 * rounding * largest, "seed %u, %s %s, %s: the gradient of %s is off by %g\n%s",
                      c->s->seed, k->backend, number_type_name(k->type), what, p->name, apart, text);
    }
}

/* One network in two ways. */
typedef Outcome Other(const Scene *c, const Kernels *k);

/* Networks of a taste, as they are and in another way. needed: of that operation some must have one. */
static void check_networks(int group, Taste taste, What needed, bool exact, Other *other, const char *what)
{
    size_t found = 0, networks = test_is_fast() ? 4 : NETWORKS;
    for (uint32_t n = 0, seed = (uint32_t)group * 1000; n < networks; seed++) {
        Scene c;
        taste.smooth = true;
        Sketch s = sketch_draw(seed, &taste);
        if (sketch_narrow(&s)) /* which magnifies rounding */
            continue;
        n++;
        for (size_t k = 0; k < s.count; k++)
            found += s.op[k].what == needed && (!taste.memory || (s.op[k].inputs == 2));
        scene_open(&c, &s);
        for (size_t i = 0; backend(i); i++) {
            Outcome a = scene_run(&c, &(Way){.k = backend(i)}), b = other(&c, backend(i));
            check_same(&c, backend(i), &a, &b, exact, what);
            outcome_free(&a);
            outcome_free(&b);
        }
        scene_close(&c);
    }
    ck_assert_msg(found >= networks / 4 || test_is_fast(), "there is hardly a network to try it on");
}

/* ---- batches */

/* Rows from .. to-1, counted on from those before. */
static Part rows_of(const Sketch *s, size_t from, size_t to)
{
    Part part = part_whole(s);
    for (size_t b = 0; b < from; b++) {
        part.first[SIDE_0] += (uint32_t)s->length[0][b];
        part.first[SIDE_1] += (uint32_t)s->length[1][b];
        part.first[POOLED]++;
    }
    part.rows = to - from;
    for (size_t b = from; b < to; b++)
        part.row[b - from] = b;
    return part;
}

static Outcome in_batches_of_one(const Scene *c, const Kernels *k)
{
    Outcome sum = {0};
    for (size_t b = 0; b < c->s->rows; b++) {
        Part part = rows_of(c->s, b, b + 1);
        Outcome o = scene_run(c, &(Way){.k = k, .part = &part});
        if (!b) {
            sum = o;
            continue;
        }
        sum.loss += o.loss;
        for (size_t i = 0; i < LOSSES_ALL; i++)
            sum.losses[i] += o.losses[i]; /* elsewhere 0 */
        for (size_t i = 0; i < c->parameters.size; i++)
            sum.gradient[i] += o.gradient[i];
        outcome_free(&o);
    }
    return sum;
}

/* With dropout, whose masks belong to positions of the step. */
START_TEST(rows_in_batches_of_their_own_give_the_same_losses_and_gradient)
{
    check_networks(_i, (Taste){.rowwise = true}, ATTENTION, true, in_batches_of_one, "row by row");
}

/* ---- order */

static Outcome last_row_first(const Scene *c, const Kernels *k)
{
    Part part = part_whole(c->s);
    for (size_t b = 0; b < part.rows; b++)
        part.row[b] = part.rows - 1 - b;
    return scene_run(c, &(Way){.k = k, .part = &part});
}

START_TEST(rows_in_another_order_give_the_same_losses_and_gradient)
{
    check_networks(_i, (Taste){.rowwise = true, .still = true}, ATTENTION, true, last_row_first, "last row first");
}

static Outcome backwards(const Scene *c, const Kernels *k)
{
    Part part = part_whole(c->s);
    part.turned = true;
    return scene_run(c, &(Way){.k = k, .part = &part});
}

START_TEST(where_positions_do_not_count_another_order_keeps_the_losses)
{
    Taste taste = {.rowwise = true, .still = true, .orderless = true};
    check_networks(_i, taste, ATTENTION, false, backwards, "backwards");
}

/* So that the test before could fail. */
START_TEST(where_positions_count_their_order_matters)
{
    size_t differ = 0;
    for (uint32_t seed = 0; seed < 20; seed++) {
        Taste taste = {.rowwise = true, .still = true};
        Sketch s = sketch_draw(seed, &taste);
        Scene c;
        scene_open(&c, &s);
        Outcome a = scene_run(&c, &(Way){.k = &plain_f64}), b = backwards(&c, &plain_f64);
        differ += losses_apart(&a, &b) > 1e-6;
        outcome_free(&a);
        outcome_free(&b);
        scene_close(&c);
    }
    ck_assert_uint_gt(differ, 5);
}

/* ---- keys */

static Outcome with_longer_memory(const Scene *c, const Kernels *k)
{
    Part part = part_whole(c->s);
    part.longer = LONGER;
    return scene_run(c, &(Way){.k = k, .part = &part});
}

START_TEST(a_longer_memory_of_which_no_more_is_valid_gives_the_same_losses_and_gradient)
{
    Taste taste = {.rowwise = true, .still = true, .memory = true};
    check_networks(_i, taste, ATTENTION, true, with_longer_memory, "with a longer memory");
}

/* ---- ways to compute the same */

/* What only one of the two ways to compute attention knows. */
static bool has_one_way(const Op *op)
{
    const WeightOptions *w = &op->weights;
    return !score_is_dot(op->score) || op->sink || w->talking || w->top || w->sigmoid || w->memory ||
           (op->what == BLOCK && op->again);
}

/* Fused attention composed, and the other way round. */
static Outcome otherwise_composed(const Scene *c, const Kernels *k)
{
    Sketch s = *c->s;
    Scene other;
    for (size_t i = 0; i < s.count; i++)
        if (!has_one_way(&s.op[i]))
            s.op[i].composed = !s.op[i].composed && !s.op[i].distances.kind && s.op[i].distances.span_ramp <= 0;
    scene_open(&other, &s);
    Outcome o = scene_run(&other, &(Way){.k = k});
    scene_close(&other);
    return o;
}

/* With dropout, which both draw alike. */
START_TEST(fused_and_composed_attention_give_the_same_losses_and_gradient)
{
    check_networks(_i, (Taste){0}, ATTENTION, false, otherwise_composed, "composed or fused");
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(rows_in_batches_of_their_own_give_the_same_losses_and_gradient, GROUPS),
        TEST_LOOP(rows_in_another_order_give_the_same_losses_and_gradient, GROUPS),
        TEST_LOOP(where_positions_do_not_count_another_order_keeps_the_losses, GROUPS),
        TEST(where_positions_count_their_order_matters),
        TEST_LOOP(a_longer_memory_of_which_no_more_is_valid_gives_the_same_losses_and_gradient, GROUPS),
        TEST_LOOP(fused_and_composed_attention_give_the_same_losses_and_gradient, GROUPS),
    };
    return suite_run("hunt/invariance", tests, sizeof tests / sizeof *tests, argc, argv);
}
