/* What this program was built from and for. The Makefile says it in macros, to this file alone, and compiles it for
 * any processor of the family, so that attend_runs_here can still speak where the rest of the program would die. */
#include "core/cli/version.h"

#include <string.h>

const char *attend_version(void) { return ATTEND_VERSION; }

const char *attend_compiler(void)
{
#ifdef __clang__
    return __VERSION__; /* "Debian Clang 14.0.6" */
#else
    return "gcc " __VERSION__;
#endif
}

const char *attend_libraries(void) { return *ATTEND_LIBRARIES ? ATTEND_LIBRARIES : "none"; }

const char *attend_built_for(void)
{
    static const char arch[] = ATTEND_ARCH, native[] = "native (" ATTEND_PROCESSOR ")";
    return strcmp(arch, "native") == 0 ? native : arch;
}

#if defined(__x86_64__) || defined(__i386__)

/* ATTEND_FEATURES: the instruction sets that the rest of the program may use, each between spaces. */
#define MISSING(feature) (strstr(ATTEND_FEATURES, " " feature " ") && !__builtin_cpu_supports(feature))

bool attend_runs_here(Error *e)
{
    __builtin_cpu_init();
    const char *missing = MISSING("avx")          ? "avx"
                          : MISSING("avx2")       ? "avx2"
                          : MISSING("fma")        ? "fma"
                          : MISSING("bmi2")       ? "bmi2"
                          : MISSING("avx512f")    ? "avx512f"
                          : MISSING("avx512bw")   ? "avx512bw"
                          : MISSING("avx512vl")   ? "avx512vl"
                          : MISSING("avx512dq")   ? "avx512dq"
                          : MISSING("avx512vnni") ? "avx512vnni"
                          : MISSING("avx512bf16") ? "avx512bf16"
                                                  : NULL;
    if (missing)
        return fail(e,
                    "built for %s, but this processor has no %s: build it here with make, or with make ARCH=x86-64-v3",
                    attend_built_for(), missing);
    return true;
}

#else

bool attend_runs_here(Error *e)
{
    (void)e;
    return true;
}

#endif
