/* PROGRAM train --find-lr: a ramp of the learning rate, instead of a run. */
#ifndef CORE_PROGRAM_FIND_RATE_H
#define CORE_PROGRAM_FIND_RATE_H

#include "core/program/app.h"

/* Whether the options go together. */
bool find_rate_suits(App *a, Error *e);

/* Trains from the trainer's weights, prints what it found, and draws it where --out says so. */
bool find_rate(const App *a, Trainer *trainer, const Schedule *schedule, Error *e);

#endif
