/* A network on trial against what a fixture says that PyTorch computed. */
#ifndef TESTS_PARITY_H
#define TESTS_PARITY_H

#include "tests/fixture.h"

/* How far a twin may be from PyTorch. */
typedef struct Tolerance {
    NumberType type;
    double loss, position; /* the mean, relative; and one position's */
    double norm;           /* of the whole gradient, relative; and ||a-b|| of each gradient, relative to that */
    double element;        /* any value of a gradient, relative to its largest */
    double adam;           /* the loss after 20 steps, relative */
} Tolerance;

extern const Tolerance parity_f64, parity_f32, parity_bf16;

/* Step 1: losses, and every gradient. `words` say in messages what is on trial. */
void parity_step(const Fixture *f, Trial *t, const char *words, const Tolerance *by);

/* Twenty steps of Adam, of a trial opened with the training of tests/fixtures/NAME.safetensors. */
Training parity_training(const char *name);
void parity_adam(const Fixture *f, Trial *t, const char *words, const Tolerance *by);

#endif
