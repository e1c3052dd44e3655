/* More runs that translate together with the one that was opened: log p of a token is the logarithm of the mean of
 * their probabilities (core/search/next.h). Each may have a network of its own kind, with the same vocabulary. */
#ifndef ENCDEC_ENSEMBLE_H
#define ENCDEC_ENSEMBLE_H

#include "encdec/encdec.h"
#include "encdec/translating.h"

typedef struct Ensemble {
    struct EnsembleRun *run; /* [count] */
    TranslatingModel *other; /* [count] for TranslatingOptions */
    size_t count;
} Ensemble;

/* runs: "RUN,RUN,...", NULL: none. Of each, the weights that --weights names for the first. To be closed in any case. */
bool ensemble_open(Ensemble *n, const EncDec *first, const char *runs, const Kernels *k, Error *e);
void ensemble_close(Ensemble *n);

#endif
