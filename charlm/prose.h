/* The text that charlm carries with it (data/prose.txt), so that it can train before anything was downloaded. */
#ifndef CHARLM_PROSE_H
#define CHARLM_PROSE_H

#include <stddef.h>

extern const unsigned char prose_text[];
extern const size_t prose_size;

#endif
