/* What a head does, in numbers and in words.
 *
 * Each number is a mean over the tokens that look, of what one of them gives:
 *
 *     previous, itself, next   the weight on the token before it, on itself, on the one after it (of cross maps: on the
 *                              key at the position before, at its own, at the one after)
 *     first, separators        the weight on the first token; on all that are punctuation, blanks, or ends of sentences
 *     distance                 how many positions away it looks: sum over j of w[j] |i - j|
 *     entropy                  in bits: - sum over j of w[j] log2 w[j]; 2^entropy keys, evenly, have as much
 *
 * In a causal map the first token can see nothing but itself, so it is not counted, unless it is all there is. Beside
 * each number stands what looking evenly at all that can be seen would give: a share says little without it. */
#ifndef CORE_INSPECT_DESCRIBE_H
#define CORE_INSPECT_DESCRIBE_H

#include "core/inspect/maps.h"

typedef enum Measure {
    MEASURE_PREVIOUS,
    MEASURE_ITSELF,
    MEASURE_NEXT,
    MEASURE_FIRST,
    MEASURE_SEPARATORS,
    MEASURE_DISTANCE,
    MEASURE_ENTROPY,
    MEASURES
} Measure;

const char *measure_name(Measure m); /* "previous" ... */

typedef struct HeadNote {
    size_t layer, head;
    double is[MEASURES], even[MEASURES];
    int kind; /* of what it does, as sorting has it: what it looks at most first */
    char words[120];
} HeadNote;

HeadNote describe_head(const Maps *m, size_t layer, size_t head);

/* All heads [layers * heads], to be freed with memory_free; as they are stored. */
bool describe_maps(const Maps *m, HeadNote **notes, Error *e);

/* by: a measure, the largest first; MEASURES: by what they do, the clearest first. */
void describe_sort(HeadNote *notes, size_t count, Measure by);

/* Adds the table that people read; the lines after its first are heads. */
void describe_table(Buffer *b, const Maps *m, const HeadNote *notes, size_t count);

/* The same as a member of an object that is being written: "heads": [{"layer": 0, "head": 0, "previous": 0.7, ..,
 * "says": ".."}, ..] in this order, and "even": {"previous": .., ..}. */
void describe_json(Buffer *b, const HeadNote *notes, size_t count);

/* Adds what plots/describe.gp draws: for each measure a block of layers x heads. notes as they are stored. */
void describe_data(Buffer *b, const Maps *m, const HeadNote *notes);

#endif
