/* Lazily updated rows of tables, which Adam has on a backend with adam_flush; no other code needs to know of them. */
#ifndef KERNELS_LAZY_ROWS_H
#define KERNELS_LAZY_ROWS_H

#include "kernels/kernels.h"

/* What is known of a row that no step reads; see adam_rows. */
struct LazyRow {
    float reach;      /* a step moves none of its weights by more than rate * reach of that weight */
    uint32_t skipped; /* steps that its moments have yet to fade by */
    bool known;       /* false: reach is out of date, because weights have moved */
};

#endif
