/* The student's backend (see course/README.md): plain's table, in which course/mine/libmine.so has put the operations that
 * it holds. The library is opened when the backend is first asked for; f32 alone. */
#ifndef KERNELS_MINE_MINE_H
#define KERNELS_MINE_MINE_H

#include "kernels/kernels.h"

/* NULL: there is no such library in the folder that the process runs in, or it is not of this build, or the type is
 * not f32. To be called before threads use it. */
const Kernels *mine_find(NumberType type, Error *e);

#endif
