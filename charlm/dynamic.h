/* Dynamic evaluation (Krause et al. 2018): the model goes on learning from the text that it is scored on. Of each window,
 * in the text's order,
 *
 *     L = mean of -log p of the tokens that are scored there
 *     w = w - rate dL/dw
 *
 * so each token is scored before anything is learned from it, and bits per byte are those of a code that a reader of the
 * text can follow. A window is a batch, and its step a step of SGD as in training, but without dropout, label smoothing
 * and whatever else is for training alone; its loss is that of the weights before the step. The run stays as it is.
 *
 * One window follows another, so one worker computes. A smaller stride learns more often, from fewer tokens at once. */
#ifndef CHARLM_DYNAMIC_H
#define CHARLM_DYNAMIC_H

#include "charlm/charlm.h"

/* Before the model is made: only what is scored counts, a window at a time. */
void dynamic_prepare(CharlmOptions *v);

/* Scores the task's windows with weights that move. */
bool dynamic_score(Charlm *c, const Watch *watch, MeanLoss *score, Error *e);

#endif
