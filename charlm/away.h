/* A model that is given away: what the formats of `charlm export` share. */
#ifndef CHARLM_AWAY_H
#define CHARLM_AWAY_H

#include "charlm/charlm.h"
#include "charlm/names.h"
#include "core/program/export.h"

typedef struct Away {
    Charlm *c;
    Export *x;
    Gpt2 own;           /* bytes as byte pairs without merges; empty for others */
    const Gpt2 *tokens; /* the run's, or own */
    int32_t separator;  /* the token between documents; -1: there is none */
    bool llama;         /* it has the form of Llama: pre-norm, RMS norm, rotary positions, gates; else that of GPT-2 */
    size_t dim, heads, kv_heads, head_size, ff, depth, context;
    double epsilon;                     /* of norms */
    double rotary_base, rotary_stretch; /* angles are divided by the stretch */
} Away;

/* Of a run that was opened; refuses what no one option decides. format: its name; NULL: a graph, which is made of our
 * weights and not of those of an architecture. To be closed in any case. */
bool away_open(Away *w, Charlm *c, Export *x, const char *format, Error *e);
void away_close(Away *w);

/* Their tensors, made of ours, by the names of the architecture that it is. */
bool away_tensors(const Away *w, Names gpt2, Names llama, Tensors *t, Error *e);

#endif
