/* Small film reviews that the program writes itself, so that it trains before anything was downloaded. */
#ifndef CLASSIFIER_BUILTIN_H
#define CLASSIFIER_BUILTIN_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { BUILTIN_TRAINING = 2500, BUILTIN_TEST = 500 }; /* reviews; of the former a fifth is held out */

/* Review number i, positive when i is odd: the same whenever it is asked for. */
void builtin_review(Buffer *b, size_t i);

#endif
