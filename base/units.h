/* Quantities as people read them. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

typedef struct Quantity {
    char text[32];
} Quantity;

Quantity real_text(double x);           /* 0.1: the shortest that reads back as x */
Quantity count_text(uint64_t count);    /* 1,234,567 */
Quantity bytes_text(uint64_t bytes);    /* 512 B, 1.2 GiB */
Quantity duration_text(double seconds); /* 0.3s, 45s, 2m05s, 1h02m, 3d04h; "?" below zero and for NaN */

int ascending(const void *a, const void *b); /* for qsort, of doubles */

#endif
