/* Lesson 12: a translator. See README.md beside this file; `make lesson-12` runs it.
 *
 *     memory = encoder(source) [S,D]        logits = decoder(target so far, memory) [T,V]
 *
 * One sentence is T exercises at once: after each beginning of the target, what comes next? */
#include "base/memory.h"
#include "course/frame/draw.h"
#include "course/translator/translator.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

/* ---- a pair of sentences, with names for its tokens */

enum { LONGEST = 40, CHOSEN = 3 /* of the validation part */ };

typedef struct Example {
    const int32_t *source, *say;
    int32_t read[LONGEST]; /* what the decoder reads: </s> and all of `say` but its last */
    size_t ns, nt;
    char name[2][LONGEST][32];
    const char *sources[LONGEST], *reads[LONGEST], *says[LONGEST];
} Example;

static void name_of(const Subwords *p, int32_t id, char *name, size_t room)
{
    Buffer text = {0};
    subwords_name(p, TARGET, id, &text);
    snprintf(name, room, "%s", text.text ? text.text : "");
    buffer_free(&text);
}

static void take_pair(Example *pair, const SmallTranslator *s, size_t i)
{
    const SentencePairs *p = &s->bitext.parts[SPLIT_VALID];
    *pair = (Example){.source = p->ids[SOURCE] + p->start[SOURCE][i], .say = p->ids[TARGET] + p->start[TARGET][i]};
    pair->ns = p->start[SOURCE][i + 1] - p->start[SOURCE][i];
    pair->nt = p->start[TARGET][i + 1] - p->start[TARGET][i];
    for (size_t j = 0; j < pair->ns; j++) {
        name_of(s->bitext.subwords, pair->source[j], pair->name[SOURCE][j], sizeof pair->name[SOURCE][j]);
        pair->sources[j] = pair->name[SOURCE][j];
    }
    for (size_t j = 0; j < pair->nt; j++) {
        pair->read[j] = j ? pair->say[j - 1] : END;
        name_of(s->bitext.subwords, pair->say[j], pair->name[TARGET][j], sizeof pair->name[TARGET][j]);
        pair->says[j] = pair->name[TARGET][j];
        pair->reads[j] = j ? pair->says[j - 1] : "</s>";
    }
}

static void print_subwords(const char *title, const char *const *names, size_t n)
{
    printf("  %-18s", title);
    for (size_t i = 0; i < n; i++)
        printf(" %s", names[i]);
    printf("\n");
}

/* ---- 1. a pair as the network gets it */

static void one_pair(const Example *pair)
{
    section("1. A pair of sentences, as the network gets it");
    print_subwords("the encoder reads", pair->sources, pair->ns);
    print_subwords("the decoder reads", pair->reads, pair->nt);
    print_subwords("and is to say", pair->says, pair->nt);
}

/* ---- 2. three attentions */

/* Says how many keys all queries see together. */
static void print_context(const char *title, const char *of, size_t queries, size_t keys, bool causal)
{
    const int32_t query_start[2] = {0, (int32_t)queries}, key_start[2] = {0, (int32_t)keys};
    const Attend how = {.rows = 1,
                        .queries = queries,
                        .longest_query = queries,
                        .keys = keys,
                        .longest_key = keys,
                        .heads = 1,
                        .query_start = query_start,
                        .key_start = key_start,
                        .causal = causal};
    float scores[LONGEST * LONGEST] = {0};
    size_t seen = 0;
    k->mask(NULL, scores, &how);
    for (size_t i = 0; i < queries * keys; i++)
        seen += scores[i] == 0;
    printf("  %-10s %7zu %7zu %7zu of %3zu   %s\n", title, queries, keys, seen, queries * keys, of);
}

static size_t numbers_in(const Model *m, const char *prefix)
{
    size_t sum = 0;
    for (size_t i = 0; i < m->parameters.count; i++)
        if (!strncmp(m->parameters.list[i]->name, prefix, strlen(prefix)))
            sum += m->parameters.list[i]->count;
    return sum;
}

static void three_attentions(const Example *pair, const Model *m)
{
    section("2. Three attentions");
    printf("  %-10s %7s %7s %14s\n", "", "queries", "keys", "scores seen");
    print_context("encoder", "the source sees all of itself", pair->ns, pair->ns, false);
    print_context("decoder", "what was written sees what was written before", pair->nt, pair->nt, true);
    print_context("across", "what was written sees all of the source", pair->nt, pair->ns, false);
    printf("\n  numbers in a block of the encoder %zu, in the attention across %zu, in a block of the decoder %zu\n",
           numbers_in(m, "encoder.0."), numbers_in(m, "decoder.0.cross") + numbers_in(m, "decoder.0.norm_cross"),
           numbers_in(m, "decoder.0."));
    printf("  and in the one table that source, target and logits share: %zu tokens of %zu numbers, %zu\n",
           m->logits.out, m->logits.in, numbers_in(m, "embedding.weight"));
}

/* ---- 3. learning */

enum { ROUNDS = 5 };

static size_t steps_of_round(void) { return lesson_is_fast() ? 12 : 120; }

/* The decoder alone: all that it can look at across is zeros. */
static Tensor *no_source(const Model *m, Tape *t, const Rows *source, const Rows *target)
{
    static float zeros[2048 * 64];
    AttentionContext context = context_across(target, source);
    return model_logits(t, m, target, tape_outside(t, zeros, source->positions, m->logits.in), &context);
}

static void learn(SmallTranslator *s, float score[ROUNDS])
{
    const Schedule schedule = small_schedule();
    for (size_t r = 0; r < ROUNDS; r++) {
        small_train(s, steps_of_round(), &schedule);
        score[r] = (float)small_score(s);
    }
}

/* ---- 4. one pass or many */

static void one_pass(SmallTranslator *s, const Example *pair)
{
    const size_t subwords = s->model.logits.out;
    float *whole = memory_get(2 * LONGEST * subwords, sizeof *whole), *part = whole + LONGEST * subwords, most = 0;
    size_t positions = 0;
    section("4. One pass or many");
    small_read(s, pair->source, pair->ns, pair->read, pair->nt, whole, NULL);
    for (size_t n = 1; n <= pair->nt; n++) {
        small_read(s, pair->source, pair->ns, pair->read, n, part, NULL);
        for (size_t j = 0; j < subwords; j++)
            most = fmaxf(most, fabsf(part[(n - 1) * subwords + j] - whole[(n - 1) * subwords + j]));
        positions += n;
    }
    printf("  all %zu beginnings of the target in one pass, and each in a pass of its own:\n", pair->nt);
    printf("  the logits differ by less than 1e-4: %s; positions computed: %zu and %zu\n", most < 1e-4f ? "yes" : "no",
           pair->nt, positions);
    memory_free(whole);
}

/* ---- 5. right beginnings, and its own words */

typedef struct Right {
    float forced[LONGEST], own[LONGEST], place[LONGEST];
    size_t subwords, forced_subwords, own_subwords, sentences, whole;
} Right;

static size_t likeliest_of(const float *logits, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

/* Tokens that are the reference's, by position: after its right beginning, and after what was written before */
static void count_right(SmallTranslator *s, Right *r, size_t sentences)
{
    const size_t subwords = s->model.logits.out;
    float *logits = memory_get(LONGEST * subwords, sizeof *logits);
    size_t asked[LONGEST] = {0};
    Lines lines[SIDES_USED] = {{0}, {0}};
    Translating t;
    Error e;
    *r = (Right){.sentences = sentences};
    small_lines(s, sentences, lines);
    small_translating(s, &t, 1, 0);
    must(translating_run(&t, &lines[SOURCE], &e), &e);
    for (size_t i = 0; i < sentences; i++) {
        Example pair;
        take_pair(&pair, s, i);
        small_read(s, pair.source, pair.ns, pair.read, pair.nt, logits, NULL);
        const Translation *found = translating_of(&t, i);
        const Hypothesis *h = found && found->count ? &found->hypothesis[0] : NULL;
        size_t same = 0;
        for (size_t j = 0; j < pair.nt; j++) {
            bool forced = likeliest_of(logits + j * subwords, subwords) == (size_t)pair.say[j];
            bool own = h && (j < h->length ? h->tokens[j] : j == h->length ? END : -1) == pair.say[j];
            r->forced[j] += forced, r->own[j] += own;
            r->forced_subwords += forced, r->own_subwords += own;
            asked[j]++, same += own;
        }
        r->subwords += pair.nt;
        r->whole += same == pair.nt;
    }
    for (size_t j = 0; j < LONGEST; j++) {
        r->place[j] = (float)(j + 1);
        r->forced[j] = asked[j] >= 10 ? r->forced[j] / (float)asked[j] : NAN;
        r->own[j] = asked[j] >= 10 ? r->own[j] / (float)asked[j] : NAN;
    }
    translating_close(&t);
    for (size_t side = 0; side < SIDES_USED; side++)
        lines_close(&lines[side]);
    memory_free(logits);
}

static void print_right(const char *title, const Right *r)
{
    printf("  %-26s %8.1f %% %12.1f %% %14.1f %%\n", title, 100 * (double)r->forced_subwords / (double)r->subwords,
           100 * (double)r->own_subwords / (double)r->subwords, 100 * (double)r->whole / (double)r->sentences);
}

static void own_words(SmallTranslator *right, SmallTranslator *unshifted)
{
    const size_t sentences = lesson_is_fast() ? 60 : 400;
    Right r, u;
    count_right(right, &r, sentences);
    right->options.unshifted = false;
    unshifted->options.unshifted = false; /* nobody can be given what is not written yet */
    count_right(unshifted, &u, sentences);
    section("5. Right beginnings, and its own words");
    printf("  %-26s %10s %14s %16s\n", "tokens that are right", "given all", "its own words", "whole sentences");
    print_right("it reads what was before", &r);
    print_right("it reads what it is to say", &u);
    printf("\n");
    const Curve curves[] = {{"given a right beginning", r.place, r.forced, LONGEST},
                            {"own words before it", r.place, r.own, LONGEST}};
    draw_curves(&(Plot){"12-own", "tokens that are right", "position in the sentence", "share", false, false}, curves,
                2);
}

/* ---- 6. looking across */

static void across(SmallTranslator *s, const Example *pair)
{
    float weights[LONGEST * LONGEST];
    float *logits = memory_get(LONGEST * s->model.logits.out, sizeof *logits);
    section("6. Looking across");
    small_read(s, pair->source, pair->ns, pair->read, pair->nt, logits, weights);
    draw_matrix("12-looking", "what it is about to say (rows), and where it looks: last block, mean of heads", weights,
                pair->nt, pair->ns, pair->says, pair->sources);
    memory_free(logits);
}

static void translate_some(SmallTranslator *s)
{
    enum { SOME = 4 };
    Lines lines[SIDES_USED] = {{0}, {0}};
    Translating t;
    Error e;
    small_lines(s, SOME, lines);
    small_translating(s, &t, 1, 0);
    must(translating_run(&t, &lines[SOURCE], &e), &e);
    for (size_t i = 0; i < SOME; i++) {
        Buffer text = {0};
        const Translation *found = translating_of(&t, i);
        if (found && found->count)
            translating_text(&t, &found->hypothesis[0], &text);
        for (size_t side = 0; side < SIDES_USED; side++)
            printf("  %s %.*s\n", side ? "=" : "\n ", (int)lines_at(&lines[side], i).size,
                   lines_at(&lines[side], i).text);
        printf("  > %.*s\n", (int)text.size, text.text ? text.text : "");
        buffer_free(&text);
    }
    translating_close(&t);
    for (size_t side = 0; side < SIDES_USED; side++)
        lines_close(&lines[side]);
}

int main(void)
{
    enum { RIGHT, ALONE, UNSHIFTED, KINDS };
    static const char *const names[KINDS] = {"encoder and decoder", "the decoder alone", "reads what it is to say"};
    static const TranslatorOptions options[KINDS] = {{.dropout = 0}, {.logits = no_source}, {.unshifted = true}};
    static SmallTranslator s[KINDS];
    float score[KINDS][ROUNDS], step[ROUNDS];
    Curve curves[KINDS];
    Example pair;

    for (size_t i = 0; i < KINDS; i++)
        small_open(&s[i], &options[i]);
    take_pair(&pair, &s[RIGHT], CHOSEN);
    one_pair(&pair);
    three_attentions(&pair, &s[RIGHT].model);

    section("3. Learning");
    printf("  nats a token on sentences that were kept back; even guessing has ln %zu = %.2f\n\n  %-24s",
           s[RIGHT].model.logits.out, log((double)s[RIGHT].model.logits.out), "after steps");
    for (size_t r = 0; r < ROUNDS; r++) {
        step[r] = (float)((r + 1) * steps_of_round());
        printf(" %7.0f", (double)step[r]);
    }
    for (size_t i = 0; i < KINDS; i++) {
        learn(&s[i], score[i]);
        printf("\n  %-24s", names[i]);
        for (size_t r = 0; r < ROUNDS; r++)
            printf(" %7.3f", (double)score[i][r]);
        curves[i] = (Curve){names[i], step, score[i], ROUNDS};
    }
    s[RIGHT].options.other = true;
    printf("\n\n  the first one with the source of another sentence: %.2f\n\n", small_score(&s[RIGHT]));
    s[RIGHT].options.other = false;
    draw_curves(&(Plot){"12-learning", "nats a token, by steps", "step", "nats a token", false, false}, curves, KINDS);

    one_pass(&s[RIGHT], &pair);
    own_words(&s[RIGHT], &s[UNSHIFTED]);
    across(&s[RIGHT], &pair);
    translate_some(&s[RIGHT]);
    for (size_t i = 0; i < KINDS; i++)
        small_close(&s[i]);
    return 0;
}
