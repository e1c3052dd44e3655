/* See level.h. This file alone of the folder is compiled once, for any processor. */
#include "kernels/cpu/level.h"

#include <stdlib.h>
#include <string.h>

/* What each level needs. (Makefile: LEVEL_v3 and so on; a build for one processor asks elsewhere, core/cli/processor.c.) */
#if defined __x86_64__
#include <cpuid.h>

static const char *first_missing(const char *level)
{
    const int v = strncmp(level, "single", 6) == 0 ? 0 : strcmp(level, "v4_bf16") == 0 ? 5 : level[1] - '0';
#define NEEDED(lowest, feature)                                                                                        \
    if (v >= (lowest) && !__builtin_cpu_supports(feature))                                                             \
        return feature;
    __builtin_cpu_init();
    NEEDED(2, "ssse3")
    NEEDED(2, "sse4.2")
    NEEDED(2, "popcnt")
    NEEDED(3, "avx2")
    NEEDED(3, "fma")
    NEEDED(3, "bmi")
    NEEDED(3, "bmi2")
    NEEDED(4, "avx512f")
    NEEDED(4, "avx512bw")
    NEEDED(4, "avx512cd")
    NEEDED(4, "avx512dq")
    NEEDED(4, "avx512vl")
    NEEDED(5, "avx512vbmi")
    NEEDED(5, "avx512bf16")
    return NULL;
}
#elif defined __aarch64__ && defined __linux__
#include <sys/auxv.h>

static bool has_dotprod(void) { return getauxval(AT_HWCAP) >> 20 & 1; }

static const char *first_missing(const char *level)
{
    if (strcmp(level, "neon_bf16") != 0)
        return NULL;
    return !has_dotprod() ? "dotprod" : !(getauxval(AT_HWCAP2) >> 14 & 1) ? "bf16" : NULL;
}
#else
static const char *first_missing(const char *level)
{
    (void)level;
    return NULL;
}
#endif

#define LEVEL(name)                                                                                                    \
    extern const Kernels cpu_f32_##name, cpu_bf16_##name;                                                              \
    size_t blocked_scratch_##name(const MatmulShape *s);                                                               \
    void blocked_product_##name(const MatmulShape *s, void *c, const void *a, const void *b, const float *bias,        \
                                void *scratch);                                                                        \
    bool limits_measure_##name(Limits *l, size_t cores, Error *e);                                                     \
    double probe_bf16_##name(void);                                                                                    \
    void probe_choices_##name(Tuning *t);
CPU_LEVELS
#undef LEVEL

#define LEVEL(name)                                                                                                    \
    {#name,                                                                                                            \
     &cpu_f32_##name,                                                                                                  \
     &cpu_bf16_##name,                                                                                                 \
     blocked_scratch_##name,                                                                                           \
     blocked_product_##name,                                                                                           \
     limits_measure_##name,                                                                                            \
     probe_bf16_##name,                                                                                                \
     probe_choices_##name},
const CpuLevel cpu_levels[] = {CPU_LEVELS{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}};
#undef LEVEL

const char *cpu_lacks(const CpuLevel *level) { return first_missing(level->name); }

static const CpuLevel *highest(void)
{
    const CpuLevel *l = cpu_levels;
    while (l[1].name && !cpu_lacks(&l[1]))
        l++;
    return l;
}

const CpuLevel *cpu_level(Error *e)
{
    const char *wanted = getenv("ATTEND_CPU"), *lacks;
    const CpuLevel *best = highest(), *l = cpu_levels;
    if (!wanted || !*wanted)
        return best;
    while (l->name && strcmp(l->name, wanted) != 0)
        l++;
    if (!l->name)
        fail(e, "ATTEND_CPU=%s: this build has no such level of instructions; the best of this processor is %s", wanted,
             best->name);
    else if ((lacks = cpu_lacks(l)))
        fail(e, "ATTEND_CPU=%s: this processor lacks %s; its best level is %s", wanted, lacks, best->name);
    else
        return l;
    return NULL;
}

const CpuLevel *cpu_widening(const CpuLevel *level)
{
    static const char *const pairs[] = {"v4_bf16", "neon_bf16", "single"};
    bool has = false;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        has = has || !strcmp(level->name, pairs[i]);
    return has && level > cpu_levels ? level - 1 : NULL;
}

const Kernels *cpu_kernels(NumberType type)
{
    const CpuLevel *found = cpu_level(NULL), *l = found ? found : cpu_levels, *wide = cpu_widening(l);
    return type != NUMBER_BF16 ? l->f32 : tuning_now.widening && wide ? wide->bf16 : l->bf16;
}

bool cpu_adds_four(size_t width)
{
#if defined __x86_64__
    unsigned a = 0, b, c, d;
    if (width == 16)
        return __builtin_cpu_supports("avx512vnni");
    return width == 8 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
#elif defined __aarch64__ && defined __linux__
    return width == 4 && has_dotprod();
#else
    return (void)width, false;
#endif
}

bool cpu_there(Error *e) { return cpu_level(e) != NULL; }
