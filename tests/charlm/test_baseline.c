/* Counting n-grams: that it is a probability, that it is what its formula says, and that it has seen nothing it should
 * not have seen. */
#include "base/memory.h"
#include "base/philox.h"
#include "charlm/data.h"
#include "charlm/ngram.h"
#include "charlm/prose.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static Ngram learnt_from(const unsigned char *text, size_t size)
{
    Ngram g;
    Error e;
    ck_done(ngram_open(&g, size, &e), e);
    for (size_t i = 0; i < size; i++)
        ngram_learn(&g, text, i, ngram_rate(i, size), NULL);
    return g;
}

/* Bytes from 0 to `values`-1, nothing to be learned but that. */
static void fill_random(unsigned char *text, size_t size, uint32_t values)
{
    for (size_t i = 0; i < size; i++)
        text[i] = (unsigned char)philox_below(values, 1, 2, i, 3);
}

/* The probabilities of the 256 bytes that may stand at `at`. */
static void expect_sums_of_1(Ngram *g, const unsigned char *text, size_t at)
{
    NgramBits sum = {{0}, {0}};
    unsigned char tail[ORDERS];
    size_t before = at < ORDERS - 1 ? at : ORDERS - 1;
    memcpy(tail, text + at - before, before);
    for (int byte = 0; byte < 256; byte++) {
        NgramBits bits = {{0}, {0}};
        tail[before] = (unsigned char)byte;
        ngram_score(g, tail, before, &bits);
        for (size_t n = 0; n < ORDERS; n++) {
            sum.alone[n] += exp2(-bits.alone[n]);
            sum.mixed[n] += exp2(-bits.mixed[n]);
        }
    }
    for (size_t n = 0; n < ORDERS; n++) {
        ck_assert_double_eq_tol(sum.alone[n], 1, 1e-9);
        ck_assert_double_eq_tol(sum.mixed[n], 1, 1e-9);
    }
}

START_TEST(in_every_context_the_probabilities_of_all_bytes_sum_to_1)
{
    static unsigned char unseen[2000];
    Ngram g = learnt_from(prose_text, 60000);
    fill_random(unseen, sizeof unseen, 256);
    for (size_t at = 0; at < 60; at++) { /* the beginning of a text, too, where orders have no context */
        expect_sums_of_1(&g, prose_text, at);
        expect_sums_of_1(&g, prose_text, 1000 + 1009 * at);
        expect_sums_of_1(&g, unseen, 7 * at);
    }
    ngram_close(&g);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- the model again, as simply as it can be said: every count is looked for in the text --- */

typedef struct Naive {
    double weight[2][ORDERS][ORDERS + 1][ORDERS][CONFIDENCES]; /* of each line: alone, mixed; of each order */
    NgramBits bits;
} Naive;

static Naive *naive_new(void)
{
    Naive *m = memory_get(1, sizeof *m);
    double *w = &m->weight[0][0][0][0][0];
    size_t half = sizeof m->weight / sizeof *w / 2;
    for (size_t i = 0; i < 2 * half; i++)
        w[i] = i < half || i < half + half / ORDERS ? 1 : 0.3; /* mixed up to order 0 is order 0 alone */
    return m;
}

/* Are the n bytes before these two the same? The last of them first: it differs most often. */
static bool same_before(const unsigned char *a, const unsigned char *b, size_t n)
{
    for (size_t i = 1; i <= n; i++)
        if (a[-(ptrdiff_t)i] != b[-(ptrdiff_t)i])
            return false;
    return true;
}

/* How often a 0 and a 1 came after these n bytes and the `known` first bits of text[at], in the first `size` bytes of
 * another text. */
static void look_for(const unsigned char *in, size_t size, const unsigned char *text, size_t at, size_t n, int known,
                     double seen[2])
{
    seen[0] = seen[1] = 0;
    for (size_t i = n; i < size && n <= at; i++)
        if ((in[i] ^ text[at]) >> (8 - known) == 0 && same_before(in + i, text + at, n))
            seen[in[i] >> (7 - known) & 1]++;
}

static size_t believed(const double seen[2])
{
    double n = seen[0] + seen[1];
    int octave = n > 1 ? (int)floor(log2(n)) : 0;
    int steps = n > 1 ? 2 * octave + (n >= 1.5 * exp2(octave)) : (int)n;
    return (size_t)(2 * steps + (seen[0] > 0 && seen[1] > 0));
}

static void naive_byte(Naive *m, const unsigned char *in, size_t size, const unsigned char *text, size_t at,
                       double rate)
{
    for (int known = 0; known < 8; known++) {
        double seen[ORDERS][2], x[ORDERS];
        int bit = text[at] >> (7 - known) & 1;
        for (size_t n = 0; n < ORDERS; n++) {
            look_for(in, size, text, at, n, known, seen[n]);
            x[n] = log((seen[n][1] + 0.4) / (seen[n][0] + 0.4));
        }
        for (size_t line = 0; line < 2 * ORDERS; line++) {
            size_t last = line % ORDERS, first = line < ORDERS ? last : 0, top = 0;
            double sum = 0, p;
            for (size_t n = first; n <= last; n++)
                top = seen[n][0] + seen[n][1] > 0 ? n + 1 : top;
            for (size_t n = first; n <= last; n++)
                sum += m->weight[line / ORDERS][last][top][n][believed(seen[n])] * x[n];
            p = 1 / (1 + exp(-sum));
            for (size_t n = first; n <= last; n++)
                m->weight[line / ORDERS][last][top][n][believed(seen[n])] += rate * (bit - p) * x[n];
            (line < ORDERS ? m->bits.alone : m->bits.mixed)[last] -= log2(bit ? p : 1 - p);
        }
    }
}

static void expect_same_bits(const NgramBits *a, const NgramBits *b)
{
    for (size_t n = 0; n < ORDERS; n++) {
        ck_assert_double_eq_tol(a->alone[n], b->alone[n], 1e-7);
        ck_assert_double_eq_tol(a->mixed[n], b->mixed[n], 1e-7);
    }
}

/* Counting and mixing while it learns, while it scores, and while it scores and continues learning. Where only four
 * bytes occur, all orders meet again what they have seen. */
START_TEST(it_is_what_counting_by_hand_gives)
{
    enum { SIZE = 400, SCORED = 100 };
    unsigned char few[SIZE + SCORED];
    fill_random(few, sizeof few, 4);
    const unsigned char *const texts[] = {prose_text + 700, few};
    for (size_t k = 0; k < 2; k++) {
        const unsigned char *text = texts[k], *next = text + SIZE;
        NgramBits learning = {{0}, {0}}, scoring = {{0}, {0}}, adapting = {{0}, {0}};
        Naive *m = naive_new();
        Ngram g;
        Error e;
        ck_done(ngram_open(&g, 1 << 20, &e), e); /* room for all: nothing is forgotten */
        for (size_t i = 0; i < SIZE; i++) {
            ngram_learn(&g, text, i, 0.02, &learning);
            naive_byte(m, text, i, text, i, 0.02);
        }
        expect_same_bits(&learning, &m->bits);
        m->bits = (NgramBits){{0}, {0}};
        for (size_t i = 0; i < SCORED; i++) {
            ngram_score(&g, next, i, &scoring);
            naive_byte(m, text, SIZE, next, i, 0);
        }
        expect_same_bits(&scoring, &m->bits);
        m->bits = (NgramBits){{0}, {0}};
        for (size_t i = SIZE; i < SIZE + SCORED; i++) {
            ngram_learn(&g, text, i, 0.01, &adapting);
            naive_byte(m, text, i, text, i, 0.01);
        }
        expect_same_bits(&adapting, &m->bits);
        ck_assert(scoring.mixed[5] > 1 && adapting.mixed[5] != scoring.mixed[5]);
        ngram_close(&g);
        memory_free(m);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(without_knowledge_a_byte_costs_8_bits)
{
    Ngram g = learnt_from(NULL, 0);
    NgramBits bits = {{0}, {0}};
    for (size_t i = 0; i < 100; i++)
        ngram_score(&g, prose_text, i, &bits);
    for (size_t n = 0; n < ORDERS; n++)
        ck_assert(bits.alone[n] == 800 && bits.mixed[n] == 800);
    ngram_close(&g);
}

START_TEST(a_uniform_text_takes_8_bits)
{
    enum { SIZE = 400000, SCORED = 20000 };
    static unsigned char text[SIZE + SCORED];
    NgramBits bits = {{0}, {0}};
    fill_random(text, sizeof text, 256);
    Ngram g = learnt_from(text, SIZE);
    for (size_t i = 1; i < SCORED; i++)
        ngram_score(&g, text + SIZE, i, &bits);
    for (size_t n = 0; n < ORDERS; n++) {
        ck_assert_double_eq_tol(bits.alone[n] / (SCORED - 1), 8, 0.02);
        ck_assert_double_eq_tol(bits.mixed[n] / (SCORED - 1), 8, 0.02);
    }
    ngram_close(&g);
}

/* A byte is the sum of the last and the third last, modulo 16: order 3 knows it, order 2 can know nothing. */
START_TEST(an_order_knows_what_it_sees_and_no_more)
{
    enum { SIZE = 200000, SCORED = 5000 };
    static unsigned char text[SIZE + SCORED];
    NgramBits bits = {{0}, {0}};
    fill_random(text, sizeof text, 16);
    for (size_t i = 3; i < SIZE + SCORED; i++)
        if (text[i] < 12) /* and one in four comes from nowhere, or it would be one cycle */
            text[i] = (text[i - 1] + text[i - 3]) % 16;
    Ngram g = learnt_from(text, SIZE);
    for (size_t i = 3; i < SCORED; i++)
        ngram_score(&g, text + SIZE, i, &bits);
    const double entropy = -(0.75 * log2(0.75) + 4 * 0.0625 * log2(0.0625)); /* where the sum is below 12 */
    double scored = SCORED - 3;
    ck_assert(bits.alone[2] / scored > 3 && bits.mixed[2] / scored > 3);
    ck_assert(bits.alone[3] / scored < entropy + 0.2 && bits.mixed[5] / scored < entropy + 0.2);
    ck_assert(bits.mixed[5] / scored > 1);
    ngram_close(&g);
}

/* A table that is full forgets; counts that are full are halved. Neither breaks what a probability is. */
START_TEST(full_tables_and_counts_do_no_harm)
{
    enum { SIZE = 400000 };
    static unsigned char text[SIZE];
    double most = 0;
    Ngram g;
    Error e;
    fill_random(text, SIZE / 2, 250); /* and then zeros */
    ck_done(ngram_open(&g, 1, &e), e);
    size_t memory = memory_in_use();
    for (size_t i = 0; i < SIZE; i++) {
        NgramBits bits = {{0}, {0}};
        ngram_learn(&g, text, i, 0.01, &bits);
        if (i > SIZE / 2 + 1000)
            most = fmax(most, fmax(bits.alone[5], bits.mixed[5]));
    }
    ck_assert_double_lt(most, 0.01);
    ck_assert_uint_eq(memory_in_use(), memory);
    for (size_t at = 0; at < 50; at++)
        expect_sums_of_1(&g, text, SIZE / 2 - 25 + at);
    ngram_close(&g);
}

START_TEST(memory_is_bounded_whatever_the_text)
{
    Ngram g;
    Error e;
    memory_peak_reset();
    ck_done(ngram_open(&g, (size_t)1 << 50, &e), e);
    ck_assert(memory_peak() <= NGRAM_MEMORY && memory_peak() > NGRAM_MEMORY / 4);
    ngram_close(&g);
}

static bool open_and_close(void *bytes, Error *e)
{
    Ngram g;
    bool done = ngram_open(&g, *(size_t *)bytes, e);
    ngram_close(&g);
    return done;
}

START_TEST(without_memory_it_says_so)
{
    size_t bytes = 100000;
    fail_each_allocation(open_and_close, &bytes);
}

/* --- the command --- */

static Json *baseline(const char *words)
{
    Said s = must("baseline --json %s", words);
    Json *j = said_json(&s);
    ck_assert_str_eq(s.err, "");
    said_free(&s);
    return j;
}

static double bits_of(const char *words)
{
    Json *j = baseline(words);
    double bits = json_real(j, "bits_per_byte");
    json_free(j);
    return bits;
}

START_TEST(more_orders_are_better)
{
    Json *j = baseline("");
    const Json *orders = json_get(j, "orders");
    ck_assert(orders && orders->kind == JSON_ARRAY && orders->count == ORDERS);
    for (size_t n = 0; n < ORDERS; n++) {
        double mixed = json_real(&orders->items[n], "mixed"), alone = json_real(&orders->items[n], "alone");
        ck_assert(json_real(&orders->items[n], "order") == (double)n && mixed > 1 && mixed < 8);
        ck_assert_msg(n < 2 || mixed < alone, "order %d: %g mixed, %g alone", (int)n, mixed, alone);
        ck_assert(n == 0 || mixed < json_real(&orders->items[n - 1], "mixed"));
    }
    ck_assert(json_real(j, "bits_per_byte") == json_real(&orders->items[ORDERS - 1], "mixed"));
    ck_assert_double_lt(json_real(j, "bits_per_byte"), 2.1); /* built-in text: counting pairs alone gives 3.4 */
    json_free(j);
}

/* The same bytes as eval scores, after the same bytes: the second of a part is foretold from the first alone. */
START_TEST(its_protocol_is_that_of_eval)
{
    static const char *const splits[] = {"train", "valid", "test", "all"};
    const size_t part = prose_size / 20, sizes[] = {prose_size - 2 * part, part, part, prose_size};
    char words[100];
    for (size_t i = 0; i < 4; i++) {
        snprintf(words, sizeof words, "--split %s", splits[i]);
        Json *j = baseline(words);
        ck_assert_str_eq(json_get_text(j, "split"), splits[i]);
        ck_assert(json_real(j, "bytes") == (double)sizes[i] - 1);
        ck_assert(json_real(j, "learnt_bytes") == (double)sizes[0]);
        ck_assert(json_get(j, "adapt")->kind == JSON_BOOL && !json_get(j, "adapt")->truth);
        json_free(j);
    }
    Ngram g = learnt_from(prose_text, sizes[0]);
    NgramBits bits = {{0}, {0}};
    ngram_score(&g, prose_text + sizes[0], 1, &bits);
    ck_assert_double_eq_tol(bits_of("--bytes 1"), bits.mixed[5], 1e-9);
    ngram_score(&g, prose_text + sizes[0], 2, &bits);
    ck_assert_double_eq_tol(bits_of("--bytes 2"), bits.mixed[5] / 2, 1e-9);
    ngram_close(&g);
}

/* Only the training part teaches: whatever stands in the test part, and whatever was scored before. */
START_TEST(it_looks_at_no_byte_that_it_is_to_foretell)
{
    static unsigned char text[40000], other[40000];
    const char *folder = fresh_path("folder");
    char words[800];
    memcpy(text, prose_text, sizeof text);
    memcpy(other, prose_text, sizeof other);
    memset(other + 38000, 'x', 2000); /* the test part */
    write_in(folder, "text", text, sizeof text);
    write_in(folder, "other", other, sizeof other);
    snprintf(words, sizeof words, "--data %s/text", folder);
    double bits = bits_of(words);
    snprintf(words, sizeof words, "--data %s/other", folder);
    ck_assert(bits_of(words) == bits);
    double one = bits_of("--bytes 100"), two = bits_of("--bytes 200"), again = bits_of("--bytes 100");
    ck_assert(one == again && one != two);

    snprintf(words, sizeof words, "--data %s/other --split test", folder);
    double strange = bits_of(words);
    snprintf(words, sizeof words, "--data %s/other --split test --adapt", folder);
    ck_assert(strange > 5 && bits_of(words) < 0.3); /* a model that goes on learning soon knows x */
}

START_TEST(the_table_says_what_was_done)
{
    Said s = must("baseline --bytes 100");
    char words[120];
    snprintf(words, sizeof words, "(valid, 100 bytes scored, orders 0 to 5 mixed, %zu bytes of training text counted)",
             prose_size - 2 * (prose_size / 20));
    ck_assert_msg(strstr(s.out, words), "%s", s.out);
    said_free(&s);
    s = must("baseline --bytes 100 --adapt");
    ck_assert_msg(strstr(s.out, "after it was scored"), "%s", s.out);
    said_free(&s);
    s = must("baseline --bytes 100 --split all");
    ck_assert_msg(strstr(s.out, "include those scored here"), "%s", s.out);
    said_free(&s);
}

START_TEST(it_refuses_what_it_cannot_do)
{
    const char *folder = fresh_path("folder");
    write_in(folder, "none", "", 0);
    write_in(folder, "few", prose_text, 39); /* one byte to validate with */
    refused(1, "0 bytes", "baseline --data %s/none", folder);
    refused(1, "1 bytes", "baseline --data %s/few", folder);
    refused(1, "nowhere", "baseline --data %s/nowhere", folder);
    refused(2, "--run", "baseline --run %s", folder);
    refused(2, "--split", "baseline --split best");
    works("baseline --data %s/few --split all", folder);
}

static const Test tests[] = {TEST(in_every_context_the_probabilities_of_all_bytes_sum_to_1),
                             TEST(it_is_what_counting_by_hand_gives),
                             TEST(without_knowledge_a_byte_costs_8_bits),
                             TEST(a_uniform_text_takes_8_bits),
                             TEST(an_order_knows_what_it_sees_and_no_more),
                             TEST(full_tables_and_counts_do_no_harm),
                             TEST(memory_is_bounded_whatever_the_text),
                             TEST(without_memory_it_says_so),
                             TEST(more_orders_are_better),
                             TEST(its_protocol_is_that_of_eval),
                             TEST(it_looks_at_no_byte_that_it_is_to_foretell),
                             TEST(the_table_says_what_was_done),
                             TEST(it_refuses_what_it_cannot_do)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/baseline", tests, sizeof tests / sizeof *tests, argc, argv);
}
