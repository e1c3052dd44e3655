/* BPE-dropout cuts words in each way as often as subword-nmt does (tests/fixtures/bpe_dropout.py). */
#include "core/text/bpe.h"

#include "base/memory.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 4000, THEIRS = 40000, FEW = 30, MOST = 64 };

/* What one way adds to chi squared, of two samples that may meet it with the same probability. */
static double apart(double theirs, double ours)
{
    const double ratio = sqrt((double)DRAWS / THEIRS);
    return pow(theirs * ratio - ours / ratio, 2) / (theirs + ours);
}

static void open_coder(BpeCoder *c, Bpe *b)
{
    Error e;
    ck_done(bpe_read(b, "tests/fixtures/bpe/codes", &e) && bpe_coder_open(c, b, NULL, 0, &e), e);
}

/* As a line, with spaces between subwords and without @@. */
static void cut(BpeCoder *c, const char *word, Buffer *line)
{
    Error e;
    line->size = 0;
    ck_done(bpe_encode(c, word, strlen(word), &e), e);
    for (size_t i = 0; i < c->count; i++) {
        const char *one = bpe_subword(c, i);
        const size_t size = strlen(one) - (i + 1 < c->count ? 2 : 0);
        buffer_print(line, "%s%.*s", i ? " " : "", (int)size, one);
    }
}

/* Ways that are seldom met count as one. */
START_TEST(words_are_cut_in_each_way_as_often_as_subword_nmt_does)
{
    Cases cases = cases_open("bpe_dropout");
    Buffer line = {0};
    Bpe b;
    BpeCoder coder;
    open_coder(&coder, &b);
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i];
        const size_t ways = one->count - 2;
        double met[MOST] = {0}, square = 0, seldom[2] = {0}, degrees = -1, all = 0;
        ck_assert_uint_le(ways, MOST);
        coder.dropout = (BpeDropout){.rate = case_value(one, 1)->number, .seed = 3, .step = (uint32_t)i};
        for (size_t draw = 0; draw < DRAWS; draw++) {
            size_t way = 0;
            cut(&coder, case_value(one, 0)->text, &line);
            while (way < ways && strcmp(case_value(one, 2 + way)->items[0].text, line.text) != 0)
                way++;
            met[way < ways ? way : 0] += way < ways;
            seldom[1] += way == ways;
        }
        for (size_t way = 0; way < ways; way++) {
            const double theirs = case_value(one, 2 + way)->items[1].number, ours = met[way];
            all += theirs;
            if (theirs + ours < FEW) {
                seldom[0] += theirs, seldom[1] += ours;
                continue;
            }
            square += apart(theirs, ours);
            degrees++;
        }
        if (seldom[0] + seldom[1] >= FEW)
            square += apart(seldom[0], seldom[1]), degrees++;
        ck_assert(all == THEIRS);
        ck_assert_msg(square <= degrees + 4 * sqrt(2 * degrees) + 1e-9, "%s, rate %g: %g with %g degrees of freedom",
                      case_value(one, 0)->text, case_value(one, 1)->number, square, degrees);
    }
    bpe_coder_close(&coder);
    bpe_close(&b);
    buffer_free(&line);
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_draw_depends_on_seed_step_site_and_number_alone)
{
    static const char word[] = "nakatosuminakatosumi";
    const BpeDropout first = {0.5, 1, 2, 3, 4};
    const BpeDropout others[] = {{0.5, 2, 2, 3, 4}, {0.5, 1, 1, 3, 4}, {0.5, 1, 2, 4, 4}, {0.5, 1, 2, 3, 5}};
    Buffer before = {0}, now = {0}, all = {0};
    Bpe b;
    BpeCoder coder;
    open_coder(&coder, &b);
    cut(&coder, word, &all); /* is remembered, but not with dropout */
    coder.dropout = first;
    cut(&coder, word, &before);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        coder.dropout = others[i];
        cut(&coder, word, &now);
        ck_assert_str_ne(now.text, before.text);
    }
    coder.dropout = first;
    cut(&coder, word, &now);
    ck_assert_str_eq(now.text, before.text);
    coder.dropout.rate = 0; /* nor is what was dropped */
    cut(&coder, word, &now);
    ck_assert_str_eq(now.text, all.text);
    coder.dropout.rate = 1e-300;
    cut(&coder, word, &now);
    ck_assert_str_eq(now.text, all.text);
    coder.dropout.rate = 1;
    cut(&coder, word, &now);
    ck_assert_uint_eq(now.size, 2 * strlen(word) - 1);
    bpe_coder_close(&coder);
    bpe_close(&b);
    buffer_free(&before), buffer_free(&now), buffer_free(&all);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(words_are_cut_in_each_way_as_often_as_subword_nmt_does),
                                 TEST(a_draw_depends_on_seed_step_site_and_number_alone)};
    return suite_run("text/bpe_dropout", tests, sizeof tests / sizeof *tests, argc, argv);
}
