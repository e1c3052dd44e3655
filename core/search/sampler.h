/* A token drawn at random, from what the likeliest of softmax(logits / temperature) leave. */
#ifndef CORE_SEARCH_SAMPLER_H
#define CORE_SEARCH_SAMPLER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct SamplerOptions {
    double temperature; /* 0: the likeliest of all */
    size_t top_k;       /* only of this many likeliest tokens; 0: of all */
    double top_p;       /* and of these only the likeliest that make up this share of them; 1: all */
} SamplerOptions;

typedef struct Sampler {
    size_t count;   /* tokens */
    double *shares; /* [count] */
    struct SamplerChoice *choices;
} Sampler;

bool sampler_open(Sampler *s, size_t count, Error *e);
void sampler_close(Sampler *s);

/* The token at `point` of (0,1), uniform; of logits [count] not all may be -INFINITY, which is never drawn. */
int32_t sampler_draw(Sampler *s, const SamplerOptions *o, const double *logits, double point);

#endif
