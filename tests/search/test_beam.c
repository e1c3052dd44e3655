/* Beam search over toy languages, whose next token depends on all before it: against a list of all sequences, against a
 * search that copies whole hypotheses, sorts all continuations and never stops early (for groups, too), and against
 * greedy search. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/search/beam.h"
#include "tests/slow.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 12, WORDS = 12, SENTENCES = 5, MOST_SEQUENCES = 128, BEAM = 128 };

typedef struct Toy {
    uint32_t seed;
    size_t words; /* </s> among them */
    int32_t end;
    double lean;   /* added to the logit of </s> */
    double spread; /* of logits */
    bool coarse;   /* of two values, so that much is equal */
} Toy;

/* log p of each next token after a prefix of sentence s */
static void toy_next(void *self, size_t s, const int32_t *prefix, size_t n, double *log_p)
{
    const Toy *t = self;
    uint32_t key = (uint32_t)s + 1;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        key = key * 2654435761u + (uint32_t)prefix[i] + 7;
    for (size_t j = 0; j < t->words; j++) {
        double u = philox_uniform(t->seed, key, j, 9);
        log_p[j] = t->coarse ? (u < 0.5) : t->spread * u;
        log_p[j] += (int32_t)j == t->end ? t->lean : 0;
        sum += exp(log_p[j]);
    }
    for (size_t j = 0; j < t->words; j++)
        log_p[j] -= log(sum);
}

static Language language_of(Toy *t) { return (Language){t, t->words, toy_next}; }

/* ---- the search under test */

/* The `beam` likeliest tokens, as the operation `choices` gives them. */
static void choose(const double *log_p, size_t words, size_t beam, int32_t *which, double *values)
{
    bool used[WORDS] = {false};
    for (size_t m = 0; m < beam; m++) {
        int32_t best = -1;
        for (size_t j = 0; j < words; j++)
            if (!used[j] && (best < 0 || log_p[j] > log_p[best]))
                best = (int32_t)j;
        which[m] = best;
        values[m] = best >= 0 ? log_p[best] : -INFINITY;
        if (best >= 0)
            used[best] = true;
    }
}

/* What a decoder keeps of each slot: here the tokens themselves. */
typedef struct Decoder {
    Beams b;
    int32_t (*prefix)[LONGEST]; /* [slots] */
    int32_t *which;
    double *values, *ends;
    size_t rows; /* that were computed, in all steps */
} Decoder;

static void decoder_open(Decoder *d, const BeamOptions *o, size_t sentences)
{
    Error e;
    size_t slots = sentences * o->beam;
    ck_done(beams_open(&d->b, o, sentences, LONGEST, &e), e);
    d->prefix = memory_get(slots, sizeof *d->prefix);
    d->which = memory_get(slots * beam_choices(o), sizeof *d->which);
    d->values = memory_get(slots * beam_choices(o), sizeof *d->values);
    d->ends = memory_get(slots, sizeof *d->ends);
    d->rows = 0;
    ck_assert(d->prefix && d->which && d->values && d->ends);
}

static void decoder_close(Decoder *d)
{
    beams_close(&d->b);
    memory_free(d->prefix);
    memory_free(d->which);
    memory_free(d->values);
    memory_free(d->ends);
}

static void make_moves(Decoder *d)
{
    const Beams *b = &d->b;
    for (size_t i = 0; i < b->move_count; i++) {
        for (size_t j = 0; j < b->move_count; j++)
            ck_assert(b->move[i].from != b->move[j].to && (i == j || b->move[i].to != b->move[j].to));
        ck_assert(b->move[i].from / b->options.beam == b->move[i].to / b->options.beam);
        memcpy(d->prefix[b->move[i].to], d->prefix[b->move[i].from], sizeof *d->prefix);
    }
}

static void decode(Decoder *d, Toy *t, const size_t *most, size_t count)
{
    Beams *b = &d->b;
    double log_p[WORDS];
    const size_t choices = beam_choices(&b->options);
    beams_begin(b, most, count);
    while (b->row_count) {
        make_moves(d);
        for (size_t r = 0; r < b->row_count; r++) {
            const BeamRow *row = &b->row[r];
            ck_assert(r == 0 || row->slot > row[-1].slot);
            if (b->steps)
                d->prefix[row->slot][b->steps - 1] = row->token;
            toy_next(t, row->slot / b->options.beam, d->prefix[row->slot], b->steps, log_p);
            choose(log_p, t->words, choices, d->which + r * choices, d->values + r * choices);
            d->ends[r] = log_p[t->end];
        }
        d->rows += b->row_count;
        beams_step(b, d->which, d->values, d->ends);
    }
}

/* Every hypothesis is what the model says of its tokens; and those found are `wanted`, in that order. */
static void check(const Decoder *d, Toy *t, size_t s, const Sequence *wanted, size_t count, const char *what)
{
    int32_t tokens[LONGEST];
    double each[LONGEST + 1], log_p[WORDS];
    ck_assert_msg(beams_found(&d->b, s) == count, "%s: seed %u: found %zu, not %zu", what, t->seed,
                  beams_found(&d->b, s), count);
    for (size_t i = 0; i < count; i++) {
        Hypothesis h = beams_hypothesis(&d->b, s, i, tokens, each);
        double sum = 0;
        for (size_t n = 0; n <= h.length; n++) {
            toy_next(t, s, tokens, n, log_p);
            ck_assert_double_eq(each[n], log_p[n < h.length ? tokens[n] : t->end]);
            sum += each[n];
        }
        ck_assert_double_eq(h.log_p, sum);
        ck_assert_double_eq_tol(h.score, slow_score(sum, h.length, d->b.options.alpha), 1e-12);
        ck_assert_msg(h.length == wanted[i].length &&
                          memcmp(tokens, wanted[i].tokens, h.length * sizeof *tokens) == 0 &&
                          fabs(h.score - wanted[i].score) < 1e-12,
                      "%s: seed %u, sentence %zu, best %zu: score %.17g, not %.17g", what, t->seed, s, i, h.score,
                      wanted[i].score);
    }
}

/* ---- all sequences */

static int by_score(const void *a, const void *b)
{
    const Sequence *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

/* Adds all that begin with h; returns how many there are now. */
static size_t add_all(Toy *t, size_t s, double alpha, size_t most, Sequence h, Sequence *all, size_t count)
{
    double log_p[WORDS];
    toy_next(t, s, h.tokens, h.length, log_p);
    ck_assert(count < MOST_SEQUENCES);
    all[count] = h;
    all[count].log_p += log_p[t->end];
    all[count].score = slow_score(all[count].log_p, h.length, alpha);
    count++;
    for (size_t j = 0; j < t->words && h.length < most; j++)
        if ((int32_t)j != t->end) {
            Sequence child = h;
            child.tokens[child.length++] = (int32_t)j;
            child.log_p += log_p[j];
            count = add_all(t, s, alpha, most, child, all, count);
        }
    return count;
}

static const double alphas[] = {0, 0.6, 1, 3}, leans[] = {-6, 0, 1, 6};

/* 200 models at each strength of the penalty; </s> from very unlikely to very likely. Of four tokens there are 121
 * sequences of up to 4 tokens, of three 127 of up to 6. */
START_TEST(a_beam_that_holds_everything_finds_what_is_best_of_all)
{
    static const size_t mosts[2][SENTENCES] = {{4, 0, 2, 1, 3}, {6, 5, 0, 1, 3}};
    static Sequence all[MOST_SEQUENCES];
    const BeamOptions o = {.beam = BEAM, .best = (size_t[]){1, 2, 5, BEAM}[_i / 4], .alpha = alphas[_i % 4], .end = 2};
    Decoder d;
    decoder_open(&d, &o, SENTENCES);
    for (uint32_t seed = 0; seed < (test_is_fast() ? 4 : 50); seed++) {
        Toy t = {seed, 2 + seed % 3, 1 + (int32_t)(seed % 2), leans[seed % 16 / 4], 3, false};
        const size_t *most = mosts[t.words < 4];
        if (t.words == 2)
            t.end = 1;
        d.b.options.end = t.end;
        decode(&d, &t, most, SENTENCES);
        for (size_t s = 0; s < SENTENCES; s++) {
            size_t count = add_all(&t, s, o.alpha, most[s], (Sequence){.length = 0}, all, 0);
            qsort(all, count, sizeof *all, by_score);
            check(&d, &t, s, all, count < o.best ? count : o.best, "all sequences");
        }
    }
    decoder_close(&d);
}

/* Narrow beams: what is pruned, what is equal (coarse), and that stopping early changes nothing. A beam of 21 with
 * alpha 0.3 is what parsing takes. */
START_TEST(a_narrow_beam_finds_what_a_slow_search_finds)
{
    static const size_t most[SENTENCES] = {12, 0, 7, 1, 3}, beams[] = {1, 2, 3, 4, 5, 8, 12, 16, 21};
    Sequence wanted[SLOW_BEAM];
    size_t rows = 0;
    for (uint32_t seed = 0; seed < (test_is_fast() ? 30 : 300); seed++) {
        Toy t = {seed, 3 + seed % 10, (int32_t)(seed % 3), leans[seed % 4], 1 + seed % 5, seed % 2};
        BeamOptions o = {.beam = beams[_i], .best = 1 + seed % beams[_i], .alpha = alphas[seed / 4 % 4], .end = t.end};
        if (o.beam == 21)
            o.alpha = 0.3;
        Language l = language_of(&t);
        Decoder d;
        decoder_open(&d, &o, SENTENCES);
        decode(&d, &t, most, SENTENCES);
        for (size_t s = 0; s < SENTENCES; s++) {
            size_t count = slow_search(&l, s, &o, most[s], wanted);
            check(&d, &t, s, wanted, count, "a slow search");
        }
        rows += d.rows;
        decoder_close(&d);
    }
    ck_assert(rows > 0);
}

/* Groups, which avoid what those before them took; </s> among it. */
START_TEST(a_diverse_beam_finds_what_a_slow_search_finds)
{
    static const size_t most[SENTENCES] = {12, 0, 7, 1, 3}, beams[] = {2, 4, 6, 6, 8, 12},
                        groups[] = {2, 2, 2, 3, 8, 4};
    static const double diversity[] = {0, 0.2, 1, 20};
    Sequence wanted[SLOW_BEAM];
    for (uint32_t seed = 0; seed < (test_is_fast() ? 30 : 300); seed++) {
        Toy t = {seed, 3 + seed % 10, (int32_t)(seed % 3), leans[seed % 4], 1 + seed % 5, seed % 2};
        BeamOptions o = {.beam = beams[_i],
                         .best = 1 + seed % beams[_i],
                         .alpha = alphas[seed / 4 % 4],
                         .end = t.end,
                         .groups = groups[_i],
                         .diversity = diversity[seed / 3 % 4]};
        Language l = language_of(&t);
        Decoder d;
        decoder_open(&d, &o, SENTENCES);
        decode(&d, &t, most, SENTENCES);
        for (size_t s = 0; s < SENTENCES; s++) {
            size_t count = slow_search(&l, s, &o, most[s], wanted);
            check(&d, &t, s, wanted, count, "a slow diverse search");
        }
        decoder_close(&d);
    }
}

/* A group alone, whatever diversity says, is a beam of its width; without diversity all groups find the same. */
START_TEST(groups_that_avoid_nothing_find_the_same)
{
    const size_t most = LONGEST;
    Toy t = {5, 9, 4, 0, 2, false};
    const BeamOptions o = {.beam = 6, .best = 6, .alpha = 0.6, .end = t.end, .groups = 3},
                      narrow = {.beam = 2, .best = 2, .alpha = 0.6, .end = t.end};
    Language l = language_of(&t);
    Sequence wanted[2], all[6];
    Decoder d;
    ck_assert_uint_eq(slow_search(&l, 0, &narrow, most, wanted), 2);
    for (size_t i = 0; i < 6; i++)
        all[i] = wanted[i / 3];
    decoder_open(&d, &o, 1);
    decode(&d, &t, &most, 1);
    check(&d, &t, 0, all, 6, "three times the same");
    decoder_close(&d);
}

/* ---- a beam that stays full */

typedef struct Continued {
    Sequence of;
    int32_t token;
    double log_p;
    size_t parent;
} Continued;

static int by_log_p(const void *a, const void *b)
{
    const Continued *x = a, *y = b;
    if (x->log_p < y->log_p || x->log_p > y->log_p)
        return x->log_p > y->log_p ? -1 : 1;
    return x->token != y->token ? (x->token > y->token) - (x->token < y->token)
                                : (x->parent > y->parent) - (x->parent < y->parent);
}

/* Keeps the best `beam`; of equal ones the earlier. */
static void keep_ended(Sequence *ended, size_t *count, size_t beam, Sequence h)
{
    size_t at = *count;
    for (; at > 0 && ended[at - 1].score < h.score; at--)
        if (at < beam)
            ended[at] = ended[at - 1];
    if (at < beam)
        ended[at] = h;
    *count += *count < beam;
}

/* All continuations are sorted in each step; what transformers does, in words of its own. */
static size_t slow_full(Toy *t, size_t s, const BeamOptions *o, size_t most, Sequence *ended)
{
    static Continued all[SLOW_BEAM * WORDS];
    Sequence live[SLOW_BEAM] = {{.length = 0}};
    size_t living = 1, found = 0;
    for (size_t n = 0; living; n++) {
        size_t count = 0, next = 0;
        for (size_t i = 0; i < living; i++) {
            double log_p[WORDS];
            toy_next(t, s, live[i].tokens, n, log_p);
            for (size_t j = 0; j < t->words; j++)
                if (n < most || (int32_t)j == t->end)
                    all[count++] = (Continued){live[i], (int32_t)j, live[i].log_p + (n < most ? log_p[j] : 0), i};
        }
        qsort(all, count, sizeof *all, by_log_p);
        for (size_t i = 0; i < count && i < 2 * o->beam; i++) {
            const bool ends = all[i].token == t->end;
            Sequence h = all[i].of;
            h.log_p = all[i].log_p;
            h.score = h.log_p / pow((double)n + 1, o->alpha);
            if (ends && i < o->beam)
                keep_ended(ended, &found, o->beam, h);
            h.tokens[h.length++] = all[i].token;
            if (!ends && next < o->beam)
                live[next++] = h;
        }
        living = next;
        if (found == o->beam && next && live[0].log_p / pow((double)n + 1, o->alpha) <= ended[found - 1].score)
            break;
    }
    return found < o->best ? found : o->best;
}

START_TEST(a_beam_that_stays_full_finds_what_a_slow_search_finds)
{
    static const size_t most[SENTENCES] = {12, 0, 7, 1, 3}, beams[] = {1, 2, 3, 5, 8, 16};
    static Sequence wanted[SLOW_BEAM];
    for (uint32_t seed = 0; seed < (test_is_fast() ? 30 : 300); seed++) {
        Toy t = {seed, 3 + seed % 10, (int32_t)(seed % 3), leans[seed % 4], 1 + seed % 5, false};
        const BeamOptions o = {
            .beam = beams[_i], .best = 1 + seed % beams[_i], .alpha = alphas[seed / 4 % 4], .end = t.end, .full = true};
        int32_t tokens[LONGEST];
        double each[LONGEST + 1];
        Decoder d;
        decoder_open(&d, &o, SENTENCES);
        decode(&d, &t, most, SENTENCES);
        for (size_t s = 0; s < SENTENCES; s++) {
            const size_t count = slow_full(&t, s, &o, most[s], wanted);
            ck_assert_uint_eq(beams_found(&d.b, s), count);
            for (size_t i = 0; i < count; i++) {
                const Hypothesis h = beams_hypothesis(&d.b, s, i, tokens, each);
                ck_assert_double_eq_tol(h.score, wanted[i].score, 1e-12);
                ck_assert_uint_eq(h.length, wanted[i].length);
                ck_assert_mem_eq(tokens, wanted[i].tokens, h.length * sizeof *tokens);
            }
        }
        decoder_close(&d);
    }
}

/* What is drawn continues a hypothesis as it is, however unlikely: here always token 2, 1, 0 in turn. */
START_TEST(what_is_drawn_is_not_searched_for)
{
    const BeamOptions o = {.beam = 3, .best = 3, .end = 0, .drawn = true};
    const size_t most = 2;
    int32_t tokens[2];
    double each[3];
    Error e;
    Beams b;
    ck_done(beams_open(&b, &o, 1, 2, &e), e);
    beams_begin(&b, &most, 1);
    beams_step(&b, (int32_t[]){2, 2, 1}, (double[]){-9, -9, -1}, (double[]){-0.5});
    ck_assert_uint_eq(b.row_count, 3);
    beams_tokens(&b, 0, tokens);
    ck_assert_int_eq(tokens[0], 1); /* the likeliest of them comes first */
    beams_step(&b, (int32_t[]){0, 1, 2, 2, 0, 0, 1, 0, 0}, (double[]){-7, 0, 0, -3, 0, 0, -4, 0, 0},
               (double[]){-0.1, -0.1, -0.1});
    ck_assert_uint_eq(b.row_count, 2);
    beams_step(&b, (int32_t[]){2, 2, 2, 2, 2, 2}, (double[]){-1, -1, -1, -1, -1, -1}, (double[]){-0.25, -0.5});
    ck_assert_uint_eq(b.row_count, 0);
    ck_assert_uint_eq(beams_found(&b, 0), 3);
    static const double log_p[] = {-8, -12.25, -13.5};
    static const int32_t all[][2] = {{1, 0}, {2, 2}, {2, 1}};
    for (size_t i = 0; i < 3; i++) {
        const Hypothesis h = beams_hypothesis(&b, 0, i, tokens, each);
        ck_assert_double_eq(h.log_p, log_p[i]);
        ck_assert_uint_eq(h.length, i ? 2 : 1);
        ck_assert(tokens[0] == all[i][0] && (!i || tokens[1] == all[i][1]));
    }
    beams_close(&b);
}

START_TEST(a_beam_of_one_is_greedy_search)
{
    for (uint32_t seed = 0; seed < 200; seed++) {
        Toy t = {seed, 9, 4, leans[seed % 4], 2, false};
        const BeamOptions o = {.beam = 1, .best = 1, .alpha = 0.6, .end = t.end};
        Language l = language_of(&t);
        size_t most = LONGEST;
        Sequence h = slow_greedy(&l, 0, &o, most);
        Decoder d;
        decoder_open(&d, &o, 1);
        decode(&d, &t, &most, 1);
        check(&d, &t, 0, &h, 1, "greedy search");
        decoder_close(&d);
    }
}

/* Rows that are computed in searches for the best, and for as many as there are. */
START_TEST(a_search_stops_when_nothing_can_change)
{
    size_t rows[2], most = LONGEST;
    for (size_t i = 0; i < 2; i++) {
        Toy t = {3, 10, 0, 9, 1, false}; /* </s> nearly always */
        Decoder d;
        decoder_open(&d, &(BeamOptions){.beam = 4, .best = i ? 4 : 1, .end = t.end}, 1);
        decode(&d, &t, &most, 1);
        rows[i] = d.rows;
        ck_assert_uint_eq(beams_found(&d.b, 0), i ? 4 : 1);
        decoder_close(&d);
    }
    ck_assert_uint_eq(rows[0], 1); /* the empty one has won in the first step */
    ck_assert_uint_ge(rows[1], 4);
}

/* The bound is met, not passed: of equal scores the one that ended earlier stays. */
START_TEST(a_score_that_can_only_be_reached_ends_a_search)
{
    const BeamOptions o = {.beam = 2, .best = 1};
    const size_t most = 5;
    Error e;
    Beams b;
    ck_done(beams_open(&b, &o, 1, 5, &e), e);
    beams_begin(&b, &most, 1);
    beams_step(&b, (int32_t[]){0, 1}, (double[]){-0.5, -0.5}, (double[]){-0.5});
    ck_assert_uint_eq(b.row_count, 0);
    beams_begin(&b, &most, 1);
    beams_step(&b, (int32_t[]){1, 0}, (double[]){-0.25, -0.5}, (double[]){-0.5});
    ck_assert_uint_eq(b.row_count, 1);
    beams_close(&b);
}

START_TEST(what_is_no_number_is_never_chosen)
{
    const BeamOptions o = {.beam = 3, .best = 3, .alpha = 0.6};
    const size_t most[] = {2, 2, 2};
    int32_t tokens[2];
    double each[3];
    Error e;
    Beams b;
    ck_done(beams_open(&b, &o, 3, 2, &e), e);
    beams_begin(&b, most, 3);
    /* nothing at all; one token, and it is worth more than certain; NaN and nothing beside a token */
    beams_step(&b, (int32_t[]){1, 2, 0, 4, -1, -1, 5, 6, -1},
               (double[]){NAN, -INFINITY, NAN, 1e-9, 0, 0, NAN, -1, INFINITY}, (double[]){NAN, NAN, NAN});
    ck_assert_uint_eq(b.row_count, 2);
    ck_assert(b.row[0].token == 4 && b.row[1].token == 6);
    ck_assert_uint_eq(beams_found(&b, 0), 0);
    beams_step(&b, (int32_t[]){0, 4, 5, 0, 6, 1}, (double[]){-1, -INFINITY, NAN, -1, -2, -1e308}, (double[]){-1, -1});
    ck_assert_uint_eq(b.row_count, 2); /* both of the third sentence */
    beams_step(&b, (int32_t[]){0, 0, 0, 0, 0, 0}, (double[]){0, 0, 0, 0, 0, 0}, (double[]){NAN, -1e308});
    ck_assert_uint_eq(b.row_count, 0);
    ck_assert_uint_eq(beams_found(&b, 0), 0);
    ck_assert_uint_eq(beams_found(&b, 1), 1);
    ck_assert_uint_eq(beams_found(&b, 2), 1);
    Hypothesis h = beams_hypothesis(&b, 1, 0, tokens, each);
    ck_assert(h.length == 1 && tokens[0] == 4 && each[0] == 0 && h.log_p == -1);
    beams_close(&b);
}

static bool open_beams(void *argument, Error *e)
{
    Beams b;
    bool fine = beams_open(&b, argument, 3, 4, e);
    if (fine)
        beams_close(&b);
    return fine;
}

START_TEST(a_search_without_memory_is_an_error_and_leaves_nothing)
{
    fail_each_allocation(open_beams, &(BeamOptions){.beam = 2, .best = 1, .alpha = 0.6, .groups = 2});
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(a_beam_that_holds_everything_finds_what_is_best_of_all, 16),
        TEST_LOOP(a_narrow_beam_finds_what_a_slow_search_finds, 9),
        TEST_LOOP(a_diverse_beam_finds_what_a_slow_search_finds, 6),
        TEST_LOOP(a_beam_that_stays_full_finds_what_a_slow_search_finds, 6),
        TEST(groups_that_avoid_nothing_find_the_same),
        TEST(what_is_drawn_is_not_searched_for),
        TEST(a_beam_of_one_is_greedy_search),
        TEST(a_search_stops_when_nothing_can_change),
        TEST(a_score_that_can_only_be_reached_ends_a_search),
        TEST(what_is_no_number_is_never_chosen),
        TEST(a_search_without_memory_is_an_error_and_leaves_nothing),
    };
    return suite_run("search/beam", tests, sizeof tests / sizeof *tests, argc, argv);
}
