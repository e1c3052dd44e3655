/* What transformers calls the tensors of a Marian. */
#ifndef ENCDEC_MARIAN_NAMES_H
#define ENCDEC_MARIAN_NAMES_H

#include "core/exchange/naming.h"

typedef enum MarianPart { MARIAN_ALL, MARIAN_ENCODER, MARIAN_DECODER, MARIAN_TOKENS } MarianPart;

/* blocks: of the part; of all, those of the deeper stack. Tokens: their tables, without the bias, which is [1, tokens] there. */
NamingTable marian_names(MarianPart part, size_t blocks, size_t dim);

#endif
