/* Attention as a Case, for the tests of attention, of its parts and of caches: a description of rows from which the
 * tensors and the Attend are made. */
#ifndef TESTS_KERNELS_ATTENDING_H
#define TESTS_KERNELS_ATTENDING_H

#include "tests/kernels/backends.h"

enum { ROWS = 6 };

/* Tensors of an attention case. */
enum {
    Y,
    LSE,
    WEIGHTS,
    Q,
    K,
    V,
    DQ,
    DK,
    DV,
    DY,
    QUERY_START,
    KEY_START,
    KEY_ROW,
    KEY_LENGTH,
    QUERY_OFFSET,
    BLOCK_START,
    BLOCK_INDEX,
    DISTANCE_BIAS, /* these four and their gradients are in the same order */
    RELATIVE,
    CONTENT_BIAS,
    POSITION_BIAS,
    DDISTANCE_BIAS,
    DRELATIVE,
    DCONTENT_BIAS,
    DPOSITION_BIAS,
    OWN /* the first that a test may use for itself */
};

typedef struct Attending Attending;

struct Attending {
    size_t rows, key_rows;                             /* of queries, of keys */
    int32_t queries[ROWS], keys[ROWS];                 /* length of each row */
    size_t spare_queries, spare_keys;                  /* positions of no row */
    size_t heads, key_size, value_size;                /* H, dk, dv */
    size_t kv_heads;                                   /* of keys and values; 0: H */
    bool shared, lengths, offsets;                     /* give key_row, key_length, query_offset: */
    int32_t key_row[ROWS], length[ROWS], offset[ROWS]; /* of rows, of key rows, of rows */
    bool causal, weights;
    size_t window, gap;                         /* gap: more columns that q, k and v are views into */
    bool turn_q, turn_k, turn_v, turn_relative; /* that gradient's `add` is not what the case says */
    double scale;
    Dropout drop;

    size_t sinks;
    double cap;

    size_t block; /* 0: no blocks; else each block of positions sees the blocks of keys that are listed for it, or, with
                   * a stride, those that the rule gives it */
    Pattern rule;
    size_t stride;
    bool (*listed)(const Attending *a, size_t position, size_t key);
    uint32_t pattern; /* for listed_by_chance */

    size_t distances, ahead;
    bool distance_bias, relative, content_bias, position_bias;
};

/* Queries, keys, longest rows. */
size_t sum_of(const int32_t *lengths, size_t rows);
size_t most_of(const int32_t *lengths, size_t rows);

bool listed_by_chance(const Attending *a, size_t position, size_t key);

/* A random one, and one whose scores have more terms than q . k; and the case of one. The call may be attention itself
 * (attending_call) or another on such tensors. Gradients are absent where rows share keys. */
Attending attending_random(uint32_t seed);
Attending attending_distant(uint32_t seed);
Attending attending_grouped(uint32_t seed); /* either, with heads that share keys and values */
Case attending_case(const Attending *a, Call *call, uint32_t seed);
Call attending_call;

/* Few queries, and one alone, which a fast backend computes in other ways than many, over 1 to 100 keys of odd sizes; and
 * a case of the forward pass alone. */
Attending attending_few(uint32_t seed);
Attending attending_one(uint32_t seed);
Case attending_forward(const Attending *a, uint32_t seed);

/* The descriptor, of device pointers. */
Attend attend_of(const Attending *a, void *const *at);

Strided strided_of(const Case *c, void *const *at, size_t index);

/* May query i of row b see key j, and which entry of tables has its distance? Said once more, in words of their own. */
bool sees(const Attending *a, size_t b, size_t i, size_t j);
size_t entry_of(const Attending *a, size_t b, size_t i, size_t j);

size_t keys_of(const Attending *a, size_t b); /* the row of keys that row b reads */
size_t kv_heads_of(const Attending *a);

#endif
