/* How others name the weights of encoders like ours. */
#ifndef CLASSIFIER_NAMES_H
#define CLASSIFIER_NAMES_H

#include "core/exchange/naming.h"

typedef enum Names {
    NAMES_BERT,      /* Hugging Face's Bert..., with the prefix "bert." */
    NAMES_DISTILBERT /* DistilBert..., with "distilbert." */
} Names;

/* For a model with this depth and width. */
NamingTable names_table(Names names, size_t blocks, size_t dim);

#endif
