/* What the operations of a scene read beside tensors: rows, and lists of integers. Backends that compute on the host
 * read them where they are. */
#ifndef TESTS_HUNT_GROUND_H
#define TESTS_HUNT_GROUND_H

#include "tests/hunt/scene.h"

enum { GROUND_POSITIONS = POSITIONS_MOST + SKETCH_ROWS * LONGER, GROUND_BLOCKS = LENGTH + LONGER + OFFSET + 3 };

/* Where a position of a part stands in the whole sketch; of no row: row is SKETCH_ROWS. */
typedef struct Origin {
    size_t row, position;
} Origin;

typedef struct Lists {
    int32_t index[GROUND_POSITIONS], targets[2][GROUND_POSITIONS];
    int32_t length[SKETCH_ROWS], offset[SKETCH_ROWS];
    int32_t block_start[GROUND_BLOCKS + 1], block_index[GROUND_BLOCKS * GROUND_BLOCKS];
} Lists;

typedef struct Ground {
    const Sketch *s;
    Rows rows[DOMAINS];
    Origin origin[DOMAINS][GROUND_POSITIONS];
    int32_t ids[DOMAINS][GROUND_POSITIONS], position[DOMAINS][GROUND_POSITIONS], start[DOMAINS][SKETCH_ROWS + 1];
    Lists lists[OPS];
    struct {
        int32_t start[SKETCH_ROWS + 1], offset[SKETCH_ROWS], index[GROUND_POSITIONS];
        int32_t position[2 * GROUND_POSITIONS], from_before[2 * GROUND_POSITIONS], from_own[2 * GROUND_POSITIONS];
    } joined; /* rows of SIDE_0 after those of SIDE_1 */
} Ground;

Ground *ground_new(const Sketch *s, const Part *part); /* to be freed with memory_free */

/* Who sees whom in attention k. */
Attend ground_attend(const Ground *g, size_t k);

#endif
