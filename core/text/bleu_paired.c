/* Paired bootstrap resampling: see bleu.h. Defined as sacreBLEU's --paired-bs has it: p is the share of samples whose
 * difference, less the mean of all those differences, is larger than the one that was found, with one added to both
 * counts; differences are without sign. Where no sample differs at all, p is 1: there sacreBLEU has 1 / (samples + 1),
 * which reads as if the difference were sure. Half of an interval is half the way between the samples at 1/40 from each
 * end.
 */
#include "base/memory.h"
#include "base/philox.h"
#include "base/units.h"
#include "core/text/bleu.h"

#include <math.h>
#include <stdlib.h>

enum { SITE_LINES = 0x40000000 }; /* as SITE_WORDS of core/tensor/sites.h, but under seeds of its own */

static double mean_of(const double *scores, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += scores[i];
    return sum / (double)count;
}

/* Sorts the scores. */
static BleuInterval interval(double score, double *scores, size_t count)
{
    qsort(scores, count, sizeof *scores, ascending);
    size_t cut = count / 40;
    return (BleuInterval){score, mean_of(scores, count), (scores[count - 1 - cut] - scores[cut]) / 2};
}

/* The scores of one sample of both systems. */
static void draw(const BleuCounts *first, const BleuCounts *second, size_t lines, uint32_t seed, uint32_t sample,
                 double *a, double *b)
{
    BleuCounts sums[2] = {{0}, {0}};
    for (size_t i = 0; i < lines; i++) {
        size_t line = (size_t)philox_below(lines, seed, sample, i, SITE_LINES);
        bleu_add(&sums[0], &first[line]);
        bleu_add(&sums[1], &second[line]);
    }
    *a = bleu_score(&sums[0]).score;
    *b = bleu_score(&sums[1]).score;
}

static double p_value(const double *a, const double *b, double *differences, size_t samples, double found)
{
    size_t larger = 0;
    for (size_t i = 0; i < samples; i++)
        differences[i] = fabs(a[i] - b[i]);
    double mean = mean_of(differences, samples);
    for (size_t i = 0; i < samples; i++)
        larger += differences[i] - mean > found;
    return mean > 0 ? (double)(larger + 1) / (double)(samples + 1) : 1;
}

/* The differences at 1/40 from each end. */
static void find_bounds(BleuPaired *paired, const double *a, const double *b, double *differences, size_t samples)
{
    for (size_t i = 0; i < samples; i++)
        differences[i] = a[i] - b[i];
    qsort(differences, samples, sizeof *differences, ascending);
    paired->low = differences[samples / 40];
    paired->high = differences[samples - 1 - samples / 40];
}

bool bleu_paired(const BleuCounts *first, const BleuCounts *second, size_t lines, size_t samples, uint32_t seed,
                 BleuPaired *paired, Error *e)
{
    if (!lines || !samples || samples > UINT32_MAX)
        return fail(e, "there must be at least one line to draw from, and at least one sample");
    double *a = memory_get(samples, 3 * sizeof *a);
    if (!a)
        return memory_error(e, "samples of lines", samples, 3 * sizeof *a);
    double *b = a + samples;
    for (size_t i = 0; i < samples; i++)
        draw(first, second, lines, seed, (uint32_t)i, &a[i], &b[i]);
    BleuCounts sums[2] = {bleu_sum(first, lines), bleu_sum(second, lines)};
    double scores[2] = {bleu_score(&sums[0]).score, bleu_score(&sums[1]).score};
    paired->p = p_value(a, b, b + samples, samples, fabs(scores[0] - scores[1]));
    find_bounds(paired, a, b, b + samples, samples);
    paired->first = interval(scores[0], a, samples);
    paired->second = interval(scores[1], b, samples);
    memory_free(a);
    return true;
}
