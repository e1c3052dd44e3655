/* A network against a reference that PyTorch computed. */
#ifndef TESTS_PARITY_H
#define TESTS_PARITY_H

#include "tests/reference.h"

/* How far a backend may be from PyTorch. */
typedef struct Tolerance {
    NumberType type;
    double loss, position; /* the mean, relative; and one position's */
    double norm;           /* of the whole gradient, relative; and ||a-b|| of each gradient, relative to that */
    double element, floor; /* any value of a gradient, relative to its largest; and to the norm of the whole gradient */
    double adam;           /* the loss after 20 steps, relative */
} Tolerance;

extern const Tolerance parity_f64, parity_f32, parity_bf16;

/* One network of a reference, on one backend, with one kind of attention. */
typedef struct ParityFixture {
    Reference f;
    TrainerFixture t;
    void *model; /* what its kind made */
    char words[96];
} ParityFixture;

/* Whose networks they are: how one is made as a reference describes it. */
typedef struct ParityKind {
    size_t sides;
    Network (*open)(ParityFixture *s, bool composed); /* makes s->model */
    void (*close)(void *model);
} ParityKind;

void parity_open(ParityFixture *s, const ParityKind *kind, const char *name, const Kernels *k, bool composed,
                 const Training *training);
void parity_close(ParityFixture *s, const ParityKind *kind);

/* Step 1 of what was opened: losses, and every gradient; before it the logits, or as many as the fixture has. */
void parity_step(ParityFixture *s, const Tolerance *by);

/* The same of tests/fixtures/NAME.safetensors on each backend of a type, fused and composed; and twenty steps of Adam. */
void parity_network(const ParityKind *kind, const char *name, const Tolerance *by);
void parity_adam(const ParityKind *kind, const char *name, const Tolerance *by);

/* Insides that are dropped and computed again give the same bits, on each backend. */
void parity_dropped(const ParityKind *kind, const char *name);

/* Each row of the first batch has the same logits in a batch of its own. side: whose positions have logits; classes:
 * how the fixture calls their number. */
void parity_alone(const ParityKind *kind, const char *name, size_t side, const char *classes);

#endif
