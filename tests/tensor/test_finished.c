/* How far back a backward pass has finished the gradients of parameters. That they do not change after that is judged by
 * tests/hunt. */
#include "kernels/plain/plain.h"
#include "tests/tensor/tape_fixture.h"

static Tensor *blocks(Tape *t, const TapeFixture *l)
{
    AttentionContext how = context_rows(&l->rows, true);
    Tensor *x = embed(t, &l->embedding, &l->rows);
    for (size_t i = 0; i < FIXTURE_BLOCKS; i++)
        x = block(t, &l->block[i], x, NULL, &how);
    return linear_logits(t, &l->logits, x);
}

/* The blocks have nearly all of the parameters. */
START_TEST(half_of_the_gradients_are_finished_about_half_way_back)
{
    TapeFixture l;
    tape_fixture_open(&l, &plain_f64, &(TapeFixtureOptions){.activation = ACTIVATION_GELU});
    Pass pass = tape_fixture_pass(&l, blocks, &(PassOptions){.keep = _i ? KEEP_INPUTS : KEEP_ALL});
    ck_assert_msg(4 * pass.left > pass.nodes && 4 * pass.left < 3 * pass.nodes, "%zu nodes of %zu left", pass.left,
                  pass.nodes);
    pass_free(&pass);
    tape_fixture_close(&l);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(half_of_the_gradients_are_finished_about_half_way_back, 2)};
    return suite_run("tensor/finished", tests, sizeof tests / sizeof *tests, argc, argv);
}
