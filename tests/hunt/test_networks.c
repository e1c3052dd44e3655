/* Random networks come out right on every backend; and when one is broken, the hunt sees it and says where. */
#include "kernels/plain/plain.h"
#include "tests/hunt/judge.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS = 20, NETWORKS = 15 };

START_TEST(random_networks_come_out_right)
{
    size_t networks = test_is_fast() ? 2 : NETWORKS;
    for (uint32_t n = 0; n < networks; n++) {
        uint32_t seed = (uint32_t)_i * NETWORKS + n;
        Taste taste = sketch_taste(seed);
        Sketch s = sketch_draw(seed, &taste);
        char why[WHY], text[SKETCH_TEXT];
        if (judge_apart(&s, judged_backends(), why))
            continue;
        s = shrink(&s, judged_backends(), why);
        sketch_print(&s, text);
        ck_abort_msg("seed %u: %s\n%s", seed, why, text);
    }
}

/* ---- backends with a fault */

static void mul_backward(Stream *s, void *da, bool add_a, void *db, bool add_b, const void *dy, const void *a,
                         const void *b, size_t n)
{
    plain_f32.mul_backward(s, da, add_a, db, false, dy, a, b, n); /* forgets what is there */
    (void)add_b;
}

static void gather_backward(Stream *s, void *dx, bool add, const void *dy, const int32_t *index, size_t n, size_t m,
                            size_t d)
{
    plain_f32.gather_backward(s, dx, add, dy, index, n > 1 ? n - 1 : n, m, d); /* forgets the last one */
}

static void norm_backward(Stream *s, void *dx, bool add, void *dgain, void *dbias, const void *dy, const void *mean,
                          const void *rstd, const void *x, const void *gain, size_t n, size_t d)
{
    (void)d, (void)n, (void)gain, (void)x, (void)rstd, (void)mean, (void)dy, (void)dbias, (void)dgain, (void)add;
    (void)dx, (void)s;
    abort();
}

static void keep_largest(Stream *s, void *x, size_t n, size_t columns, size_t k)
{
    plain_f32.keep_largest(s, x, n, columns, k + 1);
}

static void route_backward(Stream *s, void *dscores, bool add, const void *dweights, const int32_t *expert,
                           const void *scores, size_t n, size_t experts, size_t k)
{
    plain_f32.route_backward(s, dscores, add, dweights, expert, scores, n, experts, k);
    for (size_t e = 0; k < experts && e < experts; e++)
        ((float *)dscores)[e] = 0; /* of the first position, where some are not chosen */
}

/* The smallest network that shows a fault needs what it reads, the operation itself and a loss. */
static void check_found(const Kernels *broken, What what, size_t most)
{
    const Kernels *const backends[] = {broken, NULL};
    for (uint32_t seed = 0; seed < 200; seed++) {
        Taste taste = sketch_taste(seed);
        Sketch s = sketch_draw(seed, &taste);
        char why[WHY], text[SKETCH_TEXT];
        bool has = false;
        if (judge_apart(&s, backends, why))
            continue;
        s = shrink(&s, backends, why);
        sketch_print(&s, text);
        for (size_t k = 0; k < s.count; k++)
            has |= s.op[k].what == what ||
                   (what != MUL && what != GATHER && s.op[k].what == BLOCK); /* has the others */
        ck_assert_msg(has && s.count <= most, "%s\n%s", why, text);
        return;
    }
    ck_abort_msg("200 networks did not show it");
}

START_TEST(a_backend_with_a_fault_is_found_and_the_network_made_small)
{
    Kernels k = plain_f32;
    switch (_i) {
    case 0:
        k.mul_backward = mul_backward;
        check_found(&k, MUL, 3);
        break;
    case 1:
        k.gather_backward = gather_backward;
        check_found(&k, GATHER, 3);
        break;
    case 2:
        k.norm_backward = norm_backward;
        check_found(&k, NORM, 3);
        break;
    case 3:
        k.keep_largest = keep_largest;
        check_found(&k, ATTENTION, 3);
        break;
    default:
        k.route_backward = route_backward;
        check_found(&k, BLOCK, 3);
        break;
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(random_networks_come_out_right, GROUPS),
        TEST_LOOP(a_backend_with_a_fault_is_found_and_the_network_made_small, 5),
    };
    return suite_run("hunt/networks", tests, sizeof tests / sizeof *tests, argc, argv);
}
