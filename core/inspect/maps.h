/* The weights of attention, all layers and heads of them, while a network reads one row.
 *
 *     MapRecorder w;
 *     recorder_begin(&w, &worker->tape);     from now on each attention that runs leaves its weights
 *     ... the network, once, on a batch of one row ...
 *     recorder_end(&w, e);                   they are in w.maps
 *
 * A network is only read: what it computes stays the same to the bit. Chains are found by the names of parameters:
 * "blocks", or "encoder", "decoder" and (a decoder's attention across its memory) "cross". */
#ifndef CORE_INSPECT_MAPS_H
#define CORE_INSPECT_MAPS_H

#include "core/inspect/labels.h"
#include "core/tensor/tape.h"

enum { MAPS = 3, MAPS_NAME = 16 };

/* Of one chain of blocks. Weight (l, h, i, j): how much of key j query i takes, in head h of layer l. */
typedef struct Maps {
    char name[MAPS_NAME];
    size_t layers, heads, queries, keys; /* L, H, T, S */
    bool causal;                         /* a query sees no key after it */
    Attend *sees;                        /* [L] which keys a query sees; NULL: all, but for `causal` */
    float *weights;                      /* [L,H,T,S] */
    const Labels *query, *key;           /* what stands there; the caller's */
} Maps;

/* The weights of a head [T,S]. */
static inline const float *maps_head(const Maps *m, size_t layer, size_t head)
{
    return m->weights + (layer * m->heads + head) * m->queries * m->keys;
}

/* What one attention left on the device. */
typedef struct Seen {
    char name[MAPS_NAME];
    size_t heads, queries, keys;
    Attend how;
    void *weights; /* reals [H,T,S] */
} Seen;

typedef struct MapRecorder {
    Hook hook; /* first: what a tape hands back is one of these */
    Tape *tape;
    Seen *seen;
    size_t seen_count, capacity;
    Error error;
    bool failed;
    Maps maps[MAPS];
    size_t count;
} MapRecorder;

void recorder_begin(MapRecorder *w, Tape *t);
bool recorder_end(MapRecorder *w, Error *e);
void recorder_close(MapRecorder *w);

/* By name; NULL: the network has none. */
Maps *recorder_maps(MapRecorder *w, const char *name);

/* FILE.npy: the weights, float32 [L,H,T,S]; FILE.labels.json beside it: {"maps": NAME, "causal": .., "axes": ["layer",
 * "head", "query", "key"], "queries": [..], "keys": [..], "shown_queries": [..], "shown_keys": [..]}, tokens as they
 * are (bytes that are no UTF-8 as U+FFFD) and as they are shown. */
bool maps_write(const Maps *m, const char *file, Error *e);

/* Adds "shown_queries" and "shown_keys" to an object that is being written. */
void maps_json(Buffer *b, const Maps *m);

/* FILE with `middle` before its ending: a/b.npy -> a/bMIDDLE.npy; NULL when there is no memory. */
char *path_between(const char *file, const char *middle, const char *ending);

#endif
