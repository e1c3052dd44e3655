/* Lines that other tools read. */
#include "core/search/answer.h"
#include "tests/suite.h"

#include <string.h>

static AnswerText text(const char *t) { return (AnswerText){t, strlen(t)}; }

/* ln 2, so that fairseq's numbers are round */
#define LN2 0.69314718055994530942

static const int32_t tokens[] = {7, 8};
static const double logs[] = {-LN2, -2 * LN2, -0.5 * LN2}, none[] = {-0.125};
static const Hypothesis hypotheses[] = {{2, tokens, logs, -3.5 * LN2, -1.75 * LN2}, {0, NULL, none, -0.125, -0.25}};

static void check(AnswerFormat format, bool scores, size_t count, const char *wanted)
{
    const Answer answers[] = {{text("gu@@ t ."), text("gut."), &hypotheses[0]}, {text(""), text(""), &hypotheses[1]}};
    Buffer b = {0};
    answer_add(&b, format, scores, 12, text("a  source\t"), answers, count);
    ck_assert(!b.failed);
    ck_assert_str_eq(b.text, wanted);
    ck_assert_uint_eq(b.size, strlen(wanted));
    buffer_free(&b);
}

START_TEST(plain_is_the_text_and_before_it_the_score)
{
    check(ANSWER_PLAIN, false, 1, "gut.\n");
    check(ANSWER_PLAIN, false, 2, "gut.\n\n");
    check(ANSWER_PLAIN, true, 2, "-1.213008\tgut.\n-0.250000\t\n");
    check(ANSWER_PLAIN, true, 0, "0.000000\t\n");
    check(ANSWER_PLAIN, false, 0, "\n");
}

START_TEST(nbest_is_what_marian_writes)
{
    check(ANSWER_NBEST, false, 2,
          "12 ||| gut. ||| F0= -2.426015 ||| -1.213008\n12 |||  ||| F0= -0.125000 ||| -0.250000\n");
    check(ANSWER_NBEST, false, 0, "12 |||  ||| F0= 0.000000 ||| 0.000000\n");
}

START_TEST(fairseq_counts_in_bits)
{
    check(ANSWER_FAIRSEQ, true, 2,
          "S-12\ta  source\t\nH-12\t-1.750000\tgu@@ t .\nD-12\t-1.750000\tgut.\nP-12\t-1.0000 -2.0000 -0.5000\n"
          "H-12\t-0.360674\t\nD-12\t-0.360674\t\nP-12\t-0.1803\n");
    check(ANSWER_FAIRSEQ, true, 0, "S-12\ta  source\t\nH-12\t0.000000\t\nD-12\t0.000000\t\nP-12\t0.0000\n");
}

START_TEST(any_bytes_stay_as_they_are)
{
    static const char bytes[] = {'%', 's', 0, '\xff', '\xc3', '\r', '%', 'n'};
    const Answer a = {{bytes, sizeof bytes}, {bytes, sizeof bytes}, &hypotheses[1]};
    Buffer b = {0};
    answer_add(&b, ANSWER_PLAIN, false, 0, text(""), &a, 1);
    ck_assert_uint_eq(b.size, sizeof bytes + 1);
    ck_assert(memcmp(b.text, bytes, sizeof bytes) == 0 && b.text[sizeof bytes] == '\n');
    buffer_free(&b);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(plain_is_the_text_and_before_it_the_score), TEST(nbest_is_what_marian_writes),
                                 TEST(fairseq_counts_in_bits), TEST(any_bytes_stay_as_they_are)};
    return suite_run("search/answer", tests, sizeof tests / sizeof *tests, argc, argv);
}
