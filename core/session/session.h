/* A network that answers, outside of training: rows of a batch go to a worker's device, the network runs on its tape,
 * and logits come back as doubles or floats, whatever the device computes with. A network that remembers what it read
 * before takes its cache along in `self`. */
#ifndef CORE_SESSION_SESSION_H
#define CORE_SESSION_SESSION_H

#include "core/train/trainer.h"

typedef Tensor *(*SessionNetwork)(void *self, Tape *t, const Rows *rows);

/* All rows of a batch. The answer is there until session_end. */
const Tensor *session_run(Worker *w, const Batch *b, SessionNetwork network, void *self);

/* `count` numbers of the answer from number `first` on. That they are not finite is an error: weights may be finite and
 * too large to compute with, and nothing follows from such an answer. */
bool session_doubles(const Worker *w, const Tensor *answer, size_t first, size_t count, double *to, Error *e);
bool session_floats(const Worker *w, const Tensor *answer, size_t first, size_t count, float *to, Error *e);

void session_end(Worker *w);

#endif
