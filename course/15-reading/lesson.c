/* Lesson 15: reading heads. See README.md beside this file; `make lesson-15` runs it.
 *
 * A small classifier is trained, and then asked in four ways what it looks at and what it lives on. */
#include "base/memory.h"
#include "core/inspect/describe.h"
#include "core/inspect/rollout.h"
#include "course/15-reading/reader.h"
#include "course/frame/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ALL_HEADS = DEPTH * HEADS, PAIRS = WORDS * WORDS, NEW = 1 << 20 /* sentences that were not trained on */ };

static const char *const part_names[PARTS] = {"film",       "its adverb", "its word", "other",
                                              "its adverb", "its word",   "the rest"};

static void names_of(const Sentence *s, const char *names[WORDS])
{
    for (size_t i = 0; i < WORDS; i++)
        names[i] = word(s->ids[i]);
}

/* A sentence that dislikes the film because of a "not", and likes the other thing */
static Sentence an_example(void)
{
    for (uint32_t i = NEW;; i++) {
        const Sentence s = sentence(i);
        if (!s.likes && s.negated && s.part[1] == FILM && s.ids[9] != s.ids[3])
            return s;
    }
}

/* ---- 1. maps */

static void map_of(const Maps *m, size_t layer, size_t head, const char *const *names)
{
    char title[64];
    snprintf(title, sizeof title, "block %d, head %d: who looks (rows) at whom", (int)layer, (int)head);
    print_matrix(title, maps_head(m, layer, head), WORDS, WORDS, names, names);
}

/* All maps of a sentence side by side, a block a picture */
static void picture_of_block(const Maps *m, size_t layer, const char *const *names)
{
    enum { ACROSS = HEADS * (WORDS + 1) - 1 };
    static float all[WORDS * ACROSS];
    const char *across[ACROSS];
    char name[32], title[64];
    for (size_t j = 0; j < ACROSS; j++) {
        across[j] = j % (WORDS + 1) < WORDS ? names[j % (WORDS + 1)] : "";
        for (size_t i = 0; i < WORDS; i++)
            all[i * ACROSS + j] = j % (WORDS + 1) < WORDS
                                      ? maps_head(m, layer, j / (WORDS + 1))[i * WORDS + j % (WORDS + 1)]
                                      : 0;
    }
    snprintf(name, sizeof name, "15-block-%d", (int)layer);
    snprintf(title, sizeof title, "block %d, heads 0 to %d", (int)layer, HEADS - 1);
    draw_matrix(name, title, all, WORDS, ACROSS, names, across);
}

static bool show_maps(Reader *r, Error *e)
{
    const Sentence s = an_example();
    const char *names[WORDS];
    MapRecorder w;
    const Maps *m = reader_inspect(r, &s, &w, e);
    section("1. Maps");
    names_of(&s, names);
    for (size_t layer = 0; m && layer < DEPTH; layer++)
        picture_of_block(m, layer, names);
    if (m)
        map_of(m, 0, 0, names);
    recorder_close(&w);
    return m != NULL;
}

/* ---- 2. what each head does, over many sentences */

static bool label(Labels *t, const Sentence *s, Error *e)
{
    bool fine = true;
    labels_cut(t, 0);
    for (size_t i = 0; fine && i < WORDS; i++)
        fine = labels_add(t, word(s->ids[i]), strlen(word(s->ids[i])), false, e);
    return fine;
}

static bool describe_all(Reader *r, size_t count, Error *e)
{
    static const Measure shown[] = {MEASURE_PREVIOUS,   MEASURE_ITSELF,   MEASURE_NEXT,
                                    MEASURE_SEPARATORS, MEASURE_DISTANCE, MEASURE_ENTROPY};
    double is[ALL_HEADS][MEASURES] = {{0}}, even[MEASURES] = {0};
    Labels labels = {0};
    bool fine = true;
    for (uint32_t i = 0; fine && i < count; i++) {
        const Sentence s = sentence(NEW + i);
        MapRecorder w;
        Maps *m = reader_inspect(r, &s, &w, e);
        fine = m && label(&labels, &s, e);
        for (size_t h = 0; fine && h < ALL_HEADS; h++) {
            m->query = m->key = &labels;
            const HeadNote note = describe_head(m, h / HEADS, h % HEADS);
            for (int n = 0; n < MEASURES; n++)
                is[h][n] += note.is[n] / (double)count, even[n] += note.even[n] / (double)(count * ALL_HEADS);
        }
        recorder_close(&w);
    }
    section("2. What each head does");
    printf("  means over %zu sentences\n  block head", count);
    for (int n = 0; n < 6; n++)
        printf("%12s", measure_name(shown[n]));
    for (size_t h = 0; h <= ALL_HEADS; h++) {
        h < ALL_HEADS ? printf("\n  %5zu %4zu", h / HEADS, h % HEADS) : printf("\n  all alike ");
        for (int n = 0; n < 6; n++)
            printf("%12.2f", h < ALL_HEADS ? is[h][shown[n]] : even[shown[n]]);
    }
    printf("\n\n");
    labels_close(&labels);
    return fine;
}

/* ---- 3. which words decided */

enum { WAYS = 4, MOST_OTHERS = 8 /* words of a kind */ };

static const char *const way_names[WAYS] = {"left out", "replaced", "attention", "rollout"};

/* moved [WORDS]: how much the log odds of the answer fall when a word is not there */
static double leave_out(Reader *r, const Sentence *s, double moved[WORDS])
{
    int32_t without[WORDS * (WORDS - 1)];
    double whole, odds[WORDS];
    for (size_t left = 0; left < WORDS; left++)
        for (size_t i = 0; i + 1 < WORDS; i++)
            without[left * (WORDS - 1) + i] = s->ids[i + (i >= left)];
    reader_ask(r, s->ids, 1, WORDS, &whole);
    reader_ask(r, without, WORDS, WORDS - 1, odds);
    for (size_t i = 0; i < WORDS; i++)
        moved[i] = whole > 0 ? whole - odds[i] : odds[i] - whole;
    return whole;
}

/* moved [WORDS]: the same for the word of its kind that changes most; 0 where there is none */
static void replace(Reader *r, const Sentence *s, double whole, double moved[WORDS])
{
    static int32_t texts[WORDS * MOST_OTHERS * WORDS];
    double odds[WORDS * MOST_OTHERS];
    size_t count = 0, at[WORDS * MOST_OTHERS] = {0};
    for (size_t i = 0; i < WORDS; i++)
        for (size_t n = 0; another_word(s->ids[i], n) >= 0; n++) {
            memcpy(texts + count * WORDS, s->ids, sizeof s->ids);
            texts[count * WORDS + i] = another_word(s->ids[i], n);
            at[count++] = i;
        }
    memset(moved, 0, WORDS * sizeof *moved);
    reader_ask(r, texts, count, WORDS, odds);
    for (size_t n = 0; n < count; n++) {
        const double fall = whole > 0 ? whole - odds[n] : odds[n] - whole;
        moved[at[n]] = fabs(fall) > fabs(moved[at[n]]) ? fall : moved[at[n]];
    }
}

/* given [WORDS]: the share of a word in all maps, and in the rollout of them, in the mean over those who look */
static bool look(Reader *r, const Sentence *s, double attention[WORDS], double rolled[WORDS], Error *e)
{
    MapRecorder w;
    float *flow = NULL;
    const Maps *m = reader_inspect(r, s, &w, e);
    bool fine = m && rollout(m, &flow, e);
    memset(attention, 0, WORDS * sizeof *attention);
    memset(rolled, 0, WORDS * sizeof *rolled);
    for (size_t i = 0; fine && i < ALL_HEADS * PAIRS; i++)
        attention[i % WORDS] += (double)m->weights[i] / (ALL_HEADS * WORDS);
    for (size_t i = 0; fine && i < PAIRS; i++)
        rolled[i % WORDS] += (double)flow[i] / WORDS;
    memory_free(flow);
    recorder_close(&w);
    return fine;
}

static bool one_sentence(Reader *r, Error *e)
{
    const Sentence s = an_example();
    double given[WAYS][WORDS];
    const double odds = leave_out(r, &s, given[0]);
    replace(r, &s, odds, given[1]);
    bool fine = look(r, &s, given[2], given[3], e);
    section("3. Which words decided");
    printf("  log odds of \"likes the film\": %.1f\n  %-8s", odds, "");
    for (int way = 0; way < WAYS; way++)
        printf("%12s", way_names[way]);
    printf("\n");
    for (size_t i = 0; fine && i < WORDS; i++)
        printf("  %-8s%12.1f%12.1f%12.2f%12.2f\n", word(s.ids[i]), given[0][i], given[1][i], given[2][i], given[3][i]);
    printf("\n");
    return fine;
}

static size_t largest(const double x[WORDS])
{
    size_t best = 0;
    for (size_t i = 1; i < WORDS; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

static void shares_of(double x[WORDS])
{
    double sum = 0;
    for (size_t i = 0; i < WORDS; i++)
        sum += x[i] = fabs(x[i]);
    for (size_t i = 0; i < WORDS; i++)
        x[i] /= sum;
}

/* By parts of a sentence: the share that each way gives them; how often its first word is one of those that decide; how
 * often the answer stays whatever else stands in its place. */
static bool many_sentences(Reader *r, size_t count, Error *e)
{
    double share[WAYS][PARTS] = {{0}};
    size_t decides[WAYS] = {0}, idle[WAYS] = {0};
    bool fine = true;
    for (uint32_t n = 0; fine && n < count; n++) {
        const Sentence s = sentence(NEW + n);
        double given[WAYS][WORDS], moved[WORDS];
        const double odds = leave_out(r, &s, given[0]);
        replace(r, &s, odds, moved);
        memcpy(given[1], moved, sizeof moved);
        fine = look(r, &s, given[2], given[3], e);
        shares_of(given[0]), shares_of(given[1]);
        for (size_t way = 0; way < WAYS; way++) {
            const size_t first = largest(given[way]);
            for (size_t i = 0; i < WORDS; i++)
                share[way][s.part[i]] += given[way][i] / (double)count;
            decides[way] += s.part[first] == FILM || s.part[first] == FILM_ADVERB || s.part[first] == FILM_WORD;
            idle[way] += moved[first] < fabs(odds);
        }
    }
    printf("  means over %zu sentences: the share of words by the part they play\n  %-12s", count, "");
    for (int p = 0; p < PARTS; p++)
        printf("%11s", part_names[p]);
    for (int way = 0; way < WAYS; way++) {
        printf("\n  %-12s", way_names[way]);
        for (int p = 0; p < PARTS; p++)
            printf("%11.2f", share[way][p]);
    }
    printf("\n\n  the word that comes first    speaks of the film    can be another\n");
    for (int way = 0; way < WAYS; way++)
        printf("  %-12s%32.2f%19.2f\n", way_names[way], (double)decides[way] / (double)count,
               (double)idle[way] / (double)count);
    return fine;
}

/* ---- 4. two maps, one result */

/* The part of x [WORDS] that is at right angles to each of the directions [count,WORDS], which have length 1 */
static void straighten(double *x, double (*directions)[WORDS], size_t count)
{
    for (int twice = 0; twice < 2; twice++) /* once leaves a rest of rounding */
        for (size_t d = 0; d < count; d++) {
            double along = 0;
            for (size_t i = 0; i < WORDS; i++)
                along += x[i] * directions[d][i];
            for (size_t i = 0; i < WORDS; i++)
                x[i] -= along * directions[d][i];
        }
}

/* other [WORDS]: weights as near to looking at `wanted` alone as they come with the same average of values. A step u
 * keeps the average if u^T values = 0, and the sum if u^T 1 = 0: DV + 1 directions that u has to avoid. */
static void other_weights(double *other, const float *w, const float *values, size_t wanted)
{
    double avoid[DV + 1][WORDS], step[WORDS], length = 1;
    for (size_t c = 0; c <= DV; c++) {
        double norm = 0;
        for (size_t i = 0; i < WORDS; i++)
            avoid[c][i] = c < DV ? (double)values[i * DV + c] : 1;
        straighten(avoid[c], avoid, c);
        for (size_t i = 0; i < WORDS; i++)
            norm += avoid[c][i] * avoid[c][i];
        for (size_t i = 0; i < WORDS; i++)
            avoid[c][i] /= sqrt(norm);
    }
    for (size_t i = 0; i < WORDS; i++)
        step[i] = i == wanted;
    straighten(step, avoid, DV + 1);
    length = INFINITY; /* until the first weight is 0 */
    for (size_t i = 0; i < WORDS; i++)
        length = step[i] < 0 ? fmin(length, -(double)w[i] / step[i]) : length;
    for (size_t i = 0; i < WORDS; i++)
        other[i] = (double)w[i] + length * step[i];
}

/* The largest difference of the average of values */
static double apart(const float *w, const double *other, const float *values)
{
    double most = 0;
    for (size_t c = 0; c < DV; c++) {
        double sum = 0;
        for (size_t i = 0; i < WORDS; i++)
            sum += ((double)w[i] - other[i]) * (double)values[i * DV + c];
        most = fmax(most, fabs(sum));
    }
    return most;
}

static bool two_maps(Reader *r, Error *e)
{
    const Sentence s = an_example();
    float values[WORDS * DV], shown[2 * WORDS];
    double best[WORDS] = {0}, most = 0, moved = 0;
    static const char *const rows[2] = {"its map", "another"};
    const char *names[WORDS];
    size_t at = 0, head = 0;
    MapRecorder w;
    const Maps *m = reader_inspect(r, &s, &w, e);
    names_of(&s, names);
    for (size_t h = 0; m && h < HEADS; h++) {
        reader_values(r, &s, h, values);
        for (size_t i = 0; i < WORDS * WORDS; i++) { /* each query, each word that it might look at instead */
            double other[WORDS], far = 0;
            const float *now = maps_head(m, 0, h) + i / WORDS * WORDS;
            other_weights(other, now, values, i % WORDS);
            for (size_t j = 0; j < WORDS; j++)
                far += fabs(other[j] - (double)now[j]) / 2;
            if (far > most) {
                most = far, at = i / WORDS, head = h, moved = apart(now, other, values);
                memcpy(best, other, sizeof other);
            }
        }
    }
    section("4. Two maps, one result");
    for (size_t i = 0; m && i < WORDS; i++)
        shown[i] = maps_head(m, 0, head)[at * WORDS + i], shown[WORDS + i] = (float)best[i];
    if (m) {
        printf("  block 0, head %zu, the query of word %zu, \"%s\"\n", head, at, names[at]);
        print_matrix("weights", shown, 2, WORDS, rows, names);
        printf("  %.0f %% of the attention is elsewhere; the head's result differs by less than 1e-5: %s\n", 100 * most,
               moved < 1e-5 ? "yes" : "no");
    }
    recorder_close(&w);
    return m != NULL;
}

/* ---- 5. cutting heads */

typedef struct Saved {
    float out[DEPTH][D * D];
} Saved;

static void set_heads(Reader *r, const Saved *saved, const bool cut[ALL_HEADS])
{
    for (size_t layer = 0; layer < DEPTH; layer++)
        reader_restore(r, layer, saved->out[layer]);
    for (size_t h = 0; h < ALL_HEADS; h++)
        if (cut[h])
            reader_cut(r, h / HEADS, h % HEADS);
}

/* The head not yet cut without which most is right; *right: how much that is */
static size_t best_to_cut(Reader *r, const Saved *saved, bool cut[ALL_HEADS], size_t count, double *right)
{
    size_t best = 0;
    *right = -1;
    for (size_t h = 0; h < ALL_HEADS; h++) {
        if (cut[h])
            continue;
        cut[h] = true;
        set_heads(r, saved, cut);
        const double score = reader_score(r, count);
        cut[h] = false;
        if (score > *right)
            *right = score, best = h;
    }
    return best;
}

/* Heads ordered by what is right without each of them alone, the most dispensable first */
static void order_once(const double alone[ALL_HEADS], size_t order[ALL_HEADS])
{
    for (size_t i = 0; i < ALL_HEADS; i++) {
        size_t at = i;
        for (; at > 0 && alone[i] > alone[order[at - 1]]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void cut_heads(Reader *r, size_t count)
{
    static Saved saved;
    double alone[ALL_HEADS], right;
    float cuts[ALL_HEADS + 1], step[ALL_HEADS + 1], once[ALL_HEADS + 1];
    size_t order[ALL_HEADS] = {0};
    bool cut[ALL_HEADS] = {false}, measured[ALL_HEADS] = {false};
    section("5. Cutting heads");
    for (size_t layer = 0; layer < DEPTH; layer++)
        reader_save(r, layer, saved.out[layer]);
    cuts[0] = 0, step[0] = once[0] = (float)reader_score(r, count);
    printf("  right with all heads: %.3f\n  right without one\n  block     head 0   head 1   head 2   head 3",
           (double)step[0]);
    for (size_t h = 0; h < ALL_HEADS; h++) {
        cut[h] = true;
        set_heads(r, &saved, cut);
        alone[h] = reader_score(r, count);
        cut[h] = false;
        h % HEADS ? printf("%9.3f", alone[h]) : printf("\n  %5zu  %9.3f", h / HEADS, alone[h]);
    }
    order_once(alone, order);
    printf("\n\n  right with fewer heads; cut: ");
    for (int n = 0; n <= ALL_HEADS; n++)
        printf("%3d%4s", n, "");
    printf("\n");
    for (size_t n = 1; n <= ALL_HEADS; n++) {
        cut[best_to_cut(r, &saved, cut, count, &right)] = true;
        measured[order[n - 1]] = true;
        set_heads(r, &saved, measured);
        cuts[n] = (float)n, step[n] = (float)right, once[n] = (float)reader_score(r, count);
    }
    for (int way = 0; way < 2; way++) {
        printf("  %-24s", way ? "in order of the table" : "chosen at each cut");
        for (size_t n = 0; n <= ALL_HEADS; n++)
            printf("%7.3f", (double)(way ? once : step)[n]);
        printf("\n");
    }
    set_heads(r, &saved, (const bool[ALL_HEADS]){false});
    printf("\n");
    const Curve curves[] = {{"chosen at each cut", cuts, step, ALL_HEADS + 1},
                            {"in order of the table", cuts, once, ALL_HEADS + 1}};
    draw_curves(&(Plot){"15-cut", "heads cut, the most dispensable first", "heads cut", "share right", false, false},
                curves, 2);
}

static bool look_into(Reader *r, Error *e)
{
    const bool fast = lesson_is_fast();
    printf("  %zu parameters, trained on sentences such as\n", r->parameters.numbers);
    for (uint32_t i = 0; i < 3; i++) {
        const Sentence s = sentence(i);
        printf("   ");
        for (size_t w = 0; w < WORDS; w++)
            printf(" %s", word(s.ids[w]));
        printf("  (%s)\n", s.likes ? "likes it" : "dislikes it");
    }
    const double loss = reader_learn(r, fast ? 600 : 1500);
    printf("  loss %.3f; right in %.3f of new sentences\n", loss, reader_score(r, MOST));
    if (!show_maps(r, e) || !describe_all(r, fast ? 50 : 200, e) || !one_sentence(r, e) ||
        !many_sentences(r, fast ? 50 : 200, e) || !two_maps(r, e))
        return false;
    cut_heads(r, fast ? 200 : MOST);
    return true;
}

int main(void)
{
    Reader r;
    Error e = {{0}};
    bool fine = reader_open(&r, lesson_seed(1), &e) && look_into(&r, &e);
    reader_close(&r);
    if (!fine)
        fprintf(stderr, "lesson 15: %s\n", e.text);
    return fine ? 0 : 1;
}
