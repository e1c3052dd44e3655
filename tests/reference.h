/* References: what PyTorch computed in double; see tests/fixtures. */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include "core/program/shared.h"
#include "core/run/safetensors.h"
#include "tests/trainer_fixture.h"

enum { REFERENCE_BATCHES = 3 };

typedef struct Reference {
    Safetensors *file;
    size_t batch_count;
    Batch batch[REFERENCE_BATCHES];
} Reference;

/* tests/fixtures/NAME.safetensors */
Reference reference_open(const char *name, size_t sides);
void reference_close(Reference *f);

/* The options of the reference's network that all programs share; composed attention in place of fused, where it can do as
 * much */
SharedOptions reference_options(const Reference *f);
void reference_compose(SharedOptions *o);

double reference_number(const Reference *f, const char *key);    /* from the metadata */
const char *reference_text(const Reference *f, const char *key); /* the same */
int reference_choice(const Reference *f, const char *key,
                     const char *const *names);                               /* which name it is; NULL ends them */
double *reference_reals(const Reference *f, const char *name, size_t *count); /* to be freed with memory_free */

/* A reference's weights into a fixture. Every parameter must be there, in its shape. */
void reference_weights(const Reference *f, TrainerFixture *t);

/* The gradient of all parameters as a block of the fixture's layout. */
double *reference_gradient(const Reference *f, const Parameters *p);

#endif
