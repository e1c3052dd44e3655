/* Pairs of sentences that the program writes itself, so that it trains before anything was downloaded: English, and a
 * small German. */
#ifndef ENCDEC_BUILTIN_H
#define ENCDEC_BUILTIN_H

#include "base/buffer.h"

enum { BUILTIN_TRAINING = 8000, BUILTIN_VALID = 500, BUILTIN_TEST = 500 }; /* pairs, in this order */

/* Pair number i: the same whenever it is asked for. Words and marks are parted by spaces. */
void builtin_pair(Buffer *english, Buffer *german, size_t i);

#endif
