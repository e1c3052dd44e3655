/* Which source token each target token belongs to, as far as attention across the source says: the mean of some heads'
 * weights, and of each row the largest. Heads differ, and a mean is a guess: attention may well look at the end of a
 * sentence while it makes a word of something that it read before. */
#ifndef CORE_PLOT_ALIGN_H
#define CORE_PLOT_ALIGN_H

#include "core/inspect/maps.h"

/* The mean [T,S] over a layer's heads, or one head, or (EVERY) all; to be freed with memory_free. */
bool align_mean(const Maps *m, size_t layer, size_t head, float **mean, Error *e);

/* Adds a line for each target token: it, the source token with the largest weight (the first of several), the weight;
 * tabs between. */
void align_table(Buffer *b, const Maps *m, const float *mean);

/* The same as a member of an object that is being written: "alignment": [{"target": "Mann", "source": "man", "position":
 * 1, "weight": 0.9}, ..]; position: of the source token, from 0. */
void align_json(Buffer *b, const Maps *m, const float *mean);

#endif
