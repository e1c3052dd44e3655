/* A level is a set of instructions that some processors have. The rest of this folder is compiled once for each level
 * of a build, so that one program runs on all of them and is fast on each: levels.c chooses.
 *
 *     x86-64     v1    every processor          v4        AVX-512
 *                v2    SSE4.2                   v4_bf16   and dot products of bfloat16, VBMI
 *                v3    AVX2, FMA
 *     aarch64    neon  every processor          neon_bf16
 *
 * A build for one processor (make ARCH=native) has one level, `single`, and where that has dot products of bfloat16,
 * `single_widening` without them. Before a level with them comes the one that is the same without. */
#ifndef KERNELS_CPU_LEVEL_H
#define KERNELS_CPU_LEVEL_H

#include "kernels/cpu/limits.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/probe.h"

/* A level, as far as it is called from outside. */
typedef struct CpuLevel {
    const char *name;
    const Kernels *f32, *bf16;
    size_t (*scratch)(const MatmulShape *s); /* blocked_scratch */
    void (*product)(const MatmulShape *s, void *c, const void *a, const void *b, const float *bias, void *scratch);
    bool (*measure)(Limits *l, size_t cores, Error *e); /* limits_measure */
    double (*seconds_of_bf16)(void);                    /* probe_bf16 */
    void (*probe)(Tuning *t);                           /* probe_choices */
} CpuLevel;

/* Those of this build, the lowest first; the last one has no name. */
extern const CpuLevel cpu_levels[];

/* An instruction that a level needs and this processor lacks; NULL: it runs here. */
const char *cpu_lacks(const CpuLevel *level);

/* The highest that runs here; or the one that ATTEND_CPU in the environment names. NULL: that is none, or does not run
 * here. */
const CpuLevel *cpu_level(Error *e);

/* The level that does the same as another, but for pairs of bfloat16, which it makes floats of; NULL: there is none. */
const CpuLevel *cpu_widening(const CpuLevel *level);

/* Whether an instruction of this processor multiplies numbers of 8 bits and adds up four products at once (VNNI; SDOT of
 * aarch64), for `width` sums. */
bool cpu_adds_four(size_t width);

/* The table of that level for a type, of bf16 as tuning_now says; where ATTEND_CPU is wrong, of the lowest level, and its `there` says so. */
const Kernels *cpu_kernels(NumberType type);

bool cpu_there(Error *e);

#endif
