/* core/search/translate.h where tokens are limited or drawn, and with ensembles: against the same done plainly, without
 * caches, batches and workers. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"
#include "tests/nn/translate_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DRAWN = 5 };

/* Two networks, a prefix for every second sentence, and n tokens that may not be repeated. */
typedef struct Limited {
    TranslateFixture s, other;
    bool ensemble;
    size_t no_repeat;
} Limited;

static bool occurs_before(const int32_t *tokens, size_t n, size_t size)
{
    for (size_t i = 0; i + size < n; i++)
        if (!memcmp(tokens + i, tokens + n - size, size * sizeof *tokens))
            return true;
    return false;
}

/* log p as `next`, of the mean of networks, and without what is not allowed. */
static void next_limited(void *self, size_t i, const int32_t *prefix, size_t n, double *log_p)
{
    Limited *l = self;
    const Sentence *sentence = &l->s.sentence[i];
    const size_t words = l->s.m.options.target;
    double other[WORDS];
    int32_t tokens[SLOW_LONGEST + 1];
    next_slowly(&l->s, i, prefix, n, log_p);
    if (l->ensemble)
        next_slowly(&l->other, i, prefix, n, other);
    memcpy(tokens, prefix, n * sizeof *tokens);
    for (size_t j = 0; j < words; j++) {
        tokens[n] = (int32_t)j;
        log_p[j] = l->ensemble ? log((exp(log_p[j]) + exp(other[j])) / 2) : log_p[j];
        const bool allowed = n < sentence->prefix_length
                                 ? sentence->prefix[n] == (int32_t)j
                                 : !l->no_repeat || j == 2 || !occurs_before(tokens, n + 1, l->no_repeat);
        log_p[j] = allowed ? log_p[j] : (double)-INFINITY;
    }
}

/* Draws each of the translations alone: the first tokens, the likeliest of which takes the first slot, and so on. */
static size_t slow_draws(const Language *l, size_t s, const TranslateOptions *o, size_t most, Sequence *found)
{
    Sequence live[DRAWN] = {{.length = 0}};
    size_t lives = DRAWN, count = 0;
    Sampler sampler;
    Error e;
    double log_p[WORDS];
    ck_done(sampler_open(&sampler, l->words, &e), e);
    for (size_t step = 0; step <= most && lives; step++) {
        size_t still = 0;
        for (uint32_t i = 0; i < lives; i++) {
            Sequence h = live[i];
            l->next(l->self, s, h.tokens, step, log_p);
            double point = philox_uniform(o->next.seed, (uint32_t)s, step, SITE_SAMPLER + (step ? h.slot : i));
            int32_t token = step == most ? o->beam.end : sampler_draw(&sampler, &o->next.how, log_p, point);
            h.log_p += log_p[token];
            h.last = token;
            live[i] = h;
        }
        for (size_t i = 1; i < lives; i++) /* the likelier first; of equal ones the smaller token, then the first */
            for (size_t j = i; j > 0 && (live[j].log_p > live[j - 1].log_p ||
                                         (live[j].log_p >= live[j - 1].log_p && live[j].last < live[j - 1].last));
                 j--) {
                Sequence swap = live[j];
                live[j] = live[j - 1];
                live[j - 1] = swap;
            }
        for (size_t i = 0; i < lives; i++) {
            Sequence h = live[i];
            if (h.last == o->beam.end) {
                h.score = slow_score(h.log_p, h.length, o->beam.alpha);
                size_t at = count++;
                for (; at > 0 && found[at - 1].score < h.score; at--)
                    found[at] = found[at - 1];
                found[at] = h;
            } else {
                h.tokens[h.length++] = h.last;
                h.slot = step ? h.slot : (uint32_t)still;
                live[still++] = h;
            }
        }
        lives = still;
    }
    sampler_close(&sampler);
    return count;
}

typedef struct Way {
    const char *name;
    bool prefixes, ensemble;
    size_t no_repeat, groups;
    double diversity;
    bool drawn;
} Way;

static const Way ways[] = {
    {.name = "prefixes", .prefixes = true},
    {.name = "no repetition", .no_repeat = 2},
    {.name = "an ensemble", .ensemble = true},
    {.name = "groups", .groups = 2, .diversity = 0.7},
    {.name = "draws", .drawn = true},
    {.name = "all of a search", .prefixes = true, .ensemble = true, .no_repeat = 1, .groups = 2, .diversity = 3},
    {.name = "all of draws", .prefixes = true, .ensemble = true, .no_repeat = 1, .drawn = true},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* The other network is of another kind, as deep as it likes. */
static void limited_open(Limited *l, const Way *way, const Kernels *k)
{
    static const int32_t prefix[] = {3, 9, 9, 4};
    EncDecOptions one = random_kind(0), two = random_kind(2);
    two.encoder = 1, two.decoder = 3;
    translate_fixture_open(&l->s, &one, k, 71);
    translate_fixture_open(&l->other, &two, k, 72);
    l->ensemble = way->ensemble;
    l->no_repeat = way->no_repeat;
    for (size_t i = 0; i < SENTENCES; i++) {
        Sentence *s = &l->s.sentence[i];
        memcpy(l->other.ids[i], l->s.ids[i], sizeof l->s.ids[i]);
        l->other.sentence[i] = *s;
        if (way->prefixes && i % 2) { /* one as long as all that is allowed */
            s->prefix = prefix;
            s->prefix_length = i % 5 < s->most ? i % 5 : s->most;
            s->most = i == 3 ? s->prefix_length : s->most;
        }
    }
}

static TranslateOptions limited_options(Limited *l, const Way *way, TranslateMember *member)
{
    TranslateOptions o = search_options(way->drawn ? DRAWN : 4, way->drawn ? DRAWN : 3);
    o.beam.groups = way->groups;
    o.beam.diversity = way->diversity;
    o.beam.drawn = way->drawn;
    o.next = (NextOptions){.prefixes = way->prefixes,
                           .no_repeat = way->no_repeat,
                           .drawn = way->drawn,
                           .how = {.temperature = 0.7, .top_k = 9, .top_p = 0.9},
                           .seed = 12};
    o.words = WORDS;
    *member = (TranslateMember){l->other.n, &l->other.t.trainer.weights};
    o.other = way->ensemble ? member : NULL;
    o.other_count = way->ensemble;
    return o;
}

START_TEST(translations_that_are_limited_are_those_of_a_plain_search)
{
    const Way *way = &ways[_i];
    for (size_t t = 0; search_backend(t); t++) {
        Limited l;
        TranslateMember member;
        Translation found[SENTENCES], again[SENTENCES];
        limited_open(&l, way, search_backend(t));
        TranslateOptions o = limited_options(&l, way, &member);
        const Language language = {&l, WORDS, next_limited};
        translate_all(&l.s, &o, found);
        o.sentences = 2, o.workers = 2; /* other batches */
        translate_all(&l.s, &o, again);
        ck_assert_uint_eq(compare_translations(found, again, search_rounding(search_backend(t))), 0);
        for (size_t i = 0; i < SENTENCES; i += search_backend(t)->type == NUMBER_F64 && !test_is_fast() ? 1 : 3) {
            char what[96];
            Sequence wanted[SLOW_BEAM];
            snprintf(what, sizeof what, "%s, %s %s, sentence %zu", way->name, search_backend(t)->backend,
                     number_type_name(search_backend(t)->type), i);
            size_t count = way->drawn ? slow_draws(&language, i, &o, l.s.sentence[i].most, wanted)
                                      : slow_search(&language, i, &o.beam, l.s.sentence[i].most, wanted);
            check_translation(&found[i], wanted, count, search_rounding(search_backend(t)), what);
        }
        translations_close(found, SENTENCES);
        translations_close(again, SENTENCES);
        translate_fixture_close(&l.s);
        translate_fixture_close(&l.other);
    }
}

static bool run_limited(void *argument, Error *e)
{
    Limited *l = argument;
    TranslateMember member;
    TranslateOptions o = limited_options(l, &ways[WAYS - 1], &member);
    Translator *t = NULL;
    Translation found[SENTENCES];
    size_t bytes;
    bool fine = translator_bytes(&bytes, &l->s.n, &l->s.t.trainer.weights, &o, e) &&
                translator_open(&t, &l->s.n, &l->s.t.trainer.weights, &o, e) &&
                translator_run(t, l->s.sentence, 2, found, e);
    if (fine)
        translations_close(found, 2);
    translator_close(t);
    return fine;
}

START_TEST(each_allocation_of_an_ensemble_may_fail)
{
    Limited l;
    limited_open(&l, &ways[WAYS - 1], plain_of(NUMBER_F64));
    fail_each_allocation(run_limited, &l);
    translate_fixture_close(&l.s);
    translate_fixture_close(&l.other);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(translations_that_are_limited_are_those_of_a_plain_search, WAYS),
        TEST(each_allocation_of_an_ensemble_may_fail),
    };
    return suite_run("nn/choosing", tests, sizeof tests / sizeof *tests, argc, argv);
}
