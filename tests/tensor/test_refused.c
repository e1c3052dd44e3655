/* What the tape refuses, because it would be read as something else: views where a matrix is read whole, and widths
 * that do not fit. */
#include "core/tensor/operations.h"
#include "tests/tensor/tape_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static Tensor *input(Tape *t, const TapeFixture *l) { return embed(t, &l->embedding, &l->rows); }

static Tensor *view_into_linear(Tape *t, const TapeFixture *l, Tensor *view) { return linear(t, &l->narrow, view); }
static Tensor *view_into_norm(Tape *t, const TapeFixture *l, Tensor *view) { return norm(t, &l->norm, view); }
static Tensor *view_into_pool(Tape *t, const TapeFixture *l, Tensor *view)
{
    return pool_rows(t, view, POOLING_MEAN, &l->rows);
}
static Tensor *view_into_add(Tape *t, const TapeFixture *l, Tensor *view)
{
    return add(t, input(t, l), view, (Dropout){0});
}
static Tensor *view_into_add_norm(Tape *t, const TapeFixture *l, Tensor *view)
{
    return add_norm(t, &l->norm, input(t, l), view, (Dropout){0});
}

static Tensor *wide_into_narrow(Tape *t, const TapeFixture *l, Tensor *view)
{
    return linear(t, &l->narrow, view->base);
}
static Tensor *wide_onto_narrow(Tape *t, const TapeFixture *l, Tensor *view)
{
    return add(t, input(t, l), view->base, (Dropout){0});
}

static Tensor *(*const refused[])(Tape *, const TapeFixture *,
                                  Tensor *) = {view_into_linear,   view_into_norm,   view_into_pool,  view_into_add,
                                               view_into_add_norm, wide_into_narrow, wide_onto_narrow};

enum { REFUSED = sizeof refused / sizeof *refused };

/* In a process of its own, which stops there. */
static void refuse(const TapeFixture *l, size_t which)
{
    const TapePlan plan = {1 << 18, 1 << 18, 1 << 18};
    Tape t;
    Error e;
    Tensor *view[3];
    ck_done(tape_open(&t, l->k, l->stream, &l->weights, &plan, &e), e);
    tape_split(&t, linear(&t, &l->wide, input(&t, l)), view, (size_t[]){FIXTURE_DIM, FIXTURE_DIM, FIXTURE_DIM}, 3);
    if (freopen("/dev/null", "w", stderr))
        refused[which](&t, l, view[1]);
    _exit(0);
}

START_TEST(a_view_is_refused_where_a_whole_matrix_is_read_and_a_width_that_does_not_fit)
{
    TapeFixture l;
    int status;
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &(TapeFixtureOptions){0});
    fflush(NULL);
    pid_t child = fork();
    ck_assert(child >= 0);
    if (!child)
        refuse(&l, (size_t)_i);
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    tape_fixture_close(&l);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(a_view_is_refused_where_a_whole_matrix_is_read_and_a_width_that_does_not_fit, REFUSED),
    };
    return suite_run("tensor/refused", tests, sizeof tests / sizeof *tests, argc, argv);
}
