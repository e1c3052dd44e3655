/* Fixtures: what PyTorch computed in double; see tests/fixtures. */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include "core/program/shared.h"
#include "core/run/safetensors.h"
#include "tests/trial.h"

enum { FIXTURE_BATCHES = 3 };

typedef struct Fixture {
    Safetensors *file;
    size_t batch_count;
    Batch batch[FIXTURE_BATCHES];
} Fixture;

/* tests/fixtures/NAME.safetensors */
Fixture fixture_open(const char *name, size_t sides);
void fixture_close(Fixture *f);

/* The options of the fixture's network that all programs share */
SharedOptions fixture_options(const Fixture *f);

double fixture_number(const Fixture *f, const char *key);                        /* from the metadata */
const char *fixture_text(const Fixture *f, const char *key);                     /* the same */
int fixture_choice(const Fixture *f, const char *key, const char *const *names); /* which name it is; NULL ends them */
double *fixture_reals(const Fixture *f, const char *name, size_t *count);        /* to be freed with memory_free */

/* The fixture's weights into a trial. Every parameter must be there, in its shape. */
void fixture_weights(const Fixture *f, Trial *t);

/* The gradient of all parameters as a block of the trial's layout. */
double *fixture_gradient(const Fixture *f, const Parameters *p);

#endif
