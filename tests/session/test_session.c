/* core/session: answers of a network on every backend and type, and that a session ends. */
#include "core/session/session.h"

#include "base/memory.h"
#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "tests/trainer_fixture.h"

enum { WORDS = 11, DIM = 6, CLASSES = 5, LONGEST = 7, POSITIONS = LONGEST + 3 };

typedef struct Small {
    Parameters parameters;
    Embedding embedding;
    Linear logits;
    Batch batch; /* two rows */
    TrainerFixture fixture;
} Small;

static Tensor *logits(const void *model, Tape *t, const Rows *rows)
{
    const Small *s = model;
    return linear_logits(t, &s->logits, embed(t, &s->embedding, rows));
}

static Tensor *network(void *self, Tape *t, const Rows *rows) { return logits(self, t, rows); }

static void small_open(Small *s, const Kernels *k)
{
    static const size_t lengths[] = {LONGEST, 3};
    Error e;
    *s = (Small){0};
    s->embedding = embedding_new(&s->parameters, &(EmbeddingOptions){.vocabulary = WORDS, .dim = DIM, .scale = 1},
                                 "embedding.weight", "");
    s->logits = linear_new(&s->parameters, DIM, CLASSES, true, "logits");
    ck_done(parameters_finish(&s->parameters, &e) && batch_open(&s->batch, &(BatchSize){1, 2, {POSITIONS}, 0, 0}, &e),
            e);
    for (size_t r = 0; r < 2; r++) {
        size_t at = batch_row(&s->batch, 0, lengths[r]);
        for (size_t i = at; i < at + lengths[r]; i++) {
            s->batch.side[0].ids[i] = (int32_t)((3 * i + r) % WORDS);
            s->batch.side[0].targets[i] = 0;
        }
    }
    const Network n = {.model = s, .parameters = &s->parameters, .logits = logits, .sides = 1};
    trainer_fixture_open(&s->fixture, k, &n, &s->batch, 1, &(Training){0});
    trainer_fixture_draw(&s->fixture, 3);
}

static void small_close(Small *s)
{
    trainer_fixture_close(&s->fixture);
    batch_close(&s->batch);
    parameters_close(&s->parameters);
}

/* Parts of an answer are asked for, too. */
static void check_answers(Small *s)
{
    enum { ALL = POSITIONS * CLASSES, FIRST = 13, COUNT = 22 };
    double *wanted = trainer_fixture_logits(&s->fixture, &s->batch), doubles[ALL] = {0};
    float floats[COUNT] = {0};
    Worker *w = &s->fixture.trainer.worker[0];
    const Tensor *answer = session_run(w, &s->batch, network, s);
    ck_assert(answer->rows == POSITIONS && answer->columns == CLASSES);
    Error e;
    ck_done(session_doubles(w, answer, 0, ALL, doubles, &e) && session_floats(w, answer, FIRST, COUNT, floats, &e), e);
    session_end(w);
    for (size_t i = 0; i < ALL; i++)
        ck_assert_msg(doubles[i] == wanted[i] && doubles[i] != 0, "number %zu is %g, not %g", i, doubles[i], wanted[i]);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(floats[i] == (float)wanted[FIRST + i]);
    memory_free(wanted);
}

START_TEST(answers_are_the_network_s_logits_as_doubles_and_as_floats)
{
    const Kernels *k;
    for (size_t i = 0; (k = backend_of((NumberType)_i, i)); i++) {
        Small s;
        small_open(&s, k);
        check_answers(&s);
        small_close(&s);
    }
}

/* A tape has memory for one pass: a session that does not give it back meets its end in the second. */
START_TEST(a_session_that_has_ended_leaves_the_tape_as_it_was)
{
    Small s;
    small_open(&s, plain_of((NumberType)_i));
    Worker *w = &s.fixture.trainer.worker[0];
    const size_t memory = w->tape.memory.used, host = w->tape.host.used;
    for (int turn = 0; turn < 3; turn++) {
        session_run(w, &s.batch, network, &s);
        ck_assert_uint_gt(w->tape.memory.used, memory);
        session_end(w);
        ck_assert(w->tape.memory.used == memory && w->tape.host.used == host);
    }
    trainer_fixture_step(&s.fixture, 1, 0.1); /* and may train */
    small_close(&s);
}

/* More than pass through memory of the host at once. */
START_TEST(long_downloads_are_whole)
{
    enum { MANY = 9001 };
    const Kernels *k = plain_of((NumberType)_i);
    Stream *s;
    Error e;
    double *doubles = memory_get(MANY, sizeof *doubles);
    float *floats = memory_get(MANY, sizeof *floats);
    void *reals = memory_get(MANY, k->real);
    ck_assert(doubles && floats && reals);
    ck_done(k->open(&s, 1, &e), e);
    for (size_t i = 0; i < MANY; i++)
        real_put(k, reals, i, 1 / (double)(i + 3));
    download_doubles(k, s, doubles, reals, MANY);
    download_floats(k, s, floats, reals, MANY);
    for (size_t i = 0; i < MANY; i++)
        ck_assert(doubles[i] == real_at(k, reals, i) && floats[i] == (float)(1 / (double)(i + 3)));
    k->close(s);
    memory_free(doubles), memory_free(floats), memory_free(reals);
}

static const Test tests[] = {TEST_LOOP(answers_are_the_network_s_logits_as_doubles_and_as_floats, NUMBER_F64 + 1),
                             TEST_LOOP(a_session_that_has_ended_leaves_the_tape_as_it_was, NUMBER_F64 + 1),
                             TEST_LOOP(long_downloads_are_whole, NUMBER_F64 + 1)};

int main(int argc, char **argv)
{
    return suite_run("session/session", tests, sizeof tests / sizeof *tests, argc, argv);
}
