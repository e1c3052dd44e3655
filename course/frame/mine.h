/* Operations of the student's own: mine_X has the signature of X in kernels/operations.h, which says what it does.
 *
 *     MINE(softmax_forward);        declares mine_softmax_forward(Stream *s, void *y, const void *x, ...)
 *
 * Numbers are float (f32). The stream is of no use to an operation that runs on one core. */
#ifndef COURSE_FRAME_MINE_H
#define COURSE_FRAME_MINE_H

#include "kernels/attend.h"
#include "kernels/dropout.h"
#include "kernels/kernels.h"

#define MINE(operation) __typeof__(*((Kernels *)0)->operation) mine_##operation

#endif
