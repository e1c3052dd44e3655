/* How another format names and lays out what a model of ours holds: one table serves reading and writing.
 *
 *     {"h.#.attn.c_attn.weight", {"blocks.#.attention.query.weight", "... key.weight", ...}, LAYOUT_TRANSPOSED}
 *
 * A # is the number of a block. A tensor of theirs holds one of ours, or several whose rows follow one another. */
#ifndef CORE_EXCHANGE_NAMING_H
#define CORE_EXCHANGE_NAMING_H

#include "core/exchange/tensors.h"
#include "core/tensor/parameters.h"

enum { NAMING_PARTS = 3, NAMING_NAME = 128 };

typedef enum Layout {
    LAYOUT_SAME,       /* [rows of all parts, columns], as a Linear of PyTorch */
    LAYOUT_TRANSPOSED, /* [columns, rows of all parts] */
    LAYOUT_PAIRS /* as SAME, but in each head the numbers i and i + n/2, which rotary positions pair, are neighbours */
} Layout;

typedef struct Naming {
    const char *theirs;
    const char *ours[NAMING_PARTS];
    Layout layout;
    bool
        optional; /* to be written only where there is one here; else a bias that is absent here is 0, and a norm's gain 1 */
} Naming;

/* Rows of a table: in one layout or another; those that may be absent; a weight and its bias, which may be absent. */
#define NAMED_AS(how, may, name, ...)                                                                                  \
    {                                                                                                                  \
        .theirs = (name), .ours = {__VA_ARGS__}, .layout = (how), .optional = (may)                                    \
    }
#define NAMED(name, ...)            NAMED_AS(LAYOUT_SAME, false, name, __VA_ARGS__)
#define NAMED_MAY(name, ...)        NAMED_AS(LAYOUT_SAME, true, name, __VA_ARGS__)
#define NAMED_TRANSPOSED(name, ...) NAMED_AS(LAYOUT_TRANSPOSED, false, name, __VA_ARGS__)
#define NAMED_BOTH(name, ours)      NAMED(name "weight", ours ".weight"), NAMED(name "bias", ours ".bias")
#define NAMED_MAY_BOTH(name, ours)  NAMED(name "weight", ours ".weight"), NAMED_MAY(name "bias", ours ".bias")

typedef struct NamingTable {
    const Naming *rows;
    size_t count;
    bool biases;           /* an optional bias is written in any case: the format has all or none */
    bool never_transposed; /* LAYOUT_TRANSPOSED is SAME */
    size_t blocks;         /* a row with a # stands for this many tensors */
    size_t dim;            /* of the model */
    size_t head_size;      /* of LAYOUT_PAIRS: numbers in a head */
    size_t rotated;        /* and how many of these are rotated */
} NamingTable;

/* Adds their tensors to `theirs`, made of ours. */
bool naming_write(const NamingTable *t, const Tensors *ours, Tensors *theirs, Error *e);

/* Where tensors of theirs come from: `read` gives [rows, columns] (0: a vector) to be freed with memory_free, or NULL and
 * an Error. */
typedef struct Source Source;
struct Source {
    float *(*read)(Source *s, const char *name, size_t rows, size_t columns, Error *e);
    const char *path; /* for messages */
};

/* Adds our tensors to `ours`, made of theirs. What a model has, and in which shapes, `model` says; a row of which it has
 * nothing is not read. */
bool naming_read(const NamingTable *t, Source *theirs, const Parameters *model, Tensors *ours, Error *e);

#endif
