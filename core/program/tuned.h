/* Where a machine's choices (kernels/cpu/tuning.h) are kept: $XDG_CACHE_HOME/attend/tuning-KEY, without that
 * $HOME/.cache/attend/..., KEY of the processor, its level and caches, and this version. The file may be removed at any
 * time; one that is damaged, a link, or of something else counts as none. */
#ifndef CORE_PROGRAM_TUNED_H
#define CORE_PROGRAM_TUNED_H

void tuned_keep(void);

#endif
