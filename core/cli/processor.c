/* Ends a program that this processor cannot run with a line that says so, where it would die of an illegal instruction.
 *
 * A program may be built for one kind of processor (ARCH) and use any of its instructions anywhere, so this file is compiled
 * without -march, uses the C library alone, and runs before all constructors of the rest. Every program is linked with
 * it by name; nothing calls it. (Hence the one place outside main.c that prints and exits.) The Makefile says in
 * ATTEND_FEATURES what the compiler may use, each between spaces. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined __x86_64__

#include <cpuid.h>

/* Bit `bit` of a word that cpuid gives: 0 eax, 2 ecx, 3 edx */
static int cpuid_has(unsigned leaf, unsigned subleaf, int word, int bit)
{
    unsigned words[4];
    return __get_cpuid_count(leaf, subleaf, &words[0], &words[1], &words[2], &words[3]) && words[word] >> bit & 1;
}

#define KNOWN(f)                                                                                                       \
    {                                                                                                                  \
        f, __builtin_cpu_supports(f) > 0                                                                               \
    }
#define PROCESSOR_HAS                                                                                                  \
    {"movbe", cpuid_has(1, 0, 2, 22)}, {"lzcnt", cpuid_has(0x80000001, 0, 2, 5)}, KNOWN("sse3"), KNOWN("ssse3"),       \
        KNOWN("sse4.1"), KNOWN("sse4.2"), KNOWN("popcnt"), KNOWN("bmi"), KNOWN("bmi2"), KNOWN("avx"), KNOWN("avx2"),   \
        KNOWN("fma"), KNOWN("fma4"), KNOWN("xop"), KNOWN("avx512f"), KNOWN("avx512cd"), KNOWN("avx512bw"),             \
        KNOWN("avx512vl"), KNOWN("avx512dq"), KNOWN("avx512ifma"), KNOWN("avx512vbmi"), KNOWN("avx512vbmi2"),          \
        KNOWN("avx512vnni"), KNOWN("avx512bitalg"), KNOWN("avx512vpopcntdq"), KNOWN("avx512bf16"),                     \
        {"avxvnni", cpuid_has(7, 1, 0, 4)}, {"apx.f", cpuid_has(7, 1, 3, 21)},

#elif defined __aarch64__ && defined __linux__

#include <sys/auxv.h>

#define PROCESSOR_HAS                                                                                                  \
    {"atomics", getauxval(AT_HWCAP) >> 8 & 1}, {"fp16.vector.arithmetic", getauxval(AT_HWCAP) >> 10 & 1},              \
        {"qrdmx", getauxval(AT_HWCAP) >> 12 & 1}, {"dotprod", getauxval(AT_HWCAP) >> 20 & 1},                          \
        {"sve", getauxval(AT_HWCAP) >> 22 & 1}, {"sve2", getauxval(AT_HWCAP2) >> 1 & 1},                               \
        {"matmul.int8", getauxval(AT_HWCAP2) >> 13 & 1}, {"bf16", getauxval(AT_HWCAP2) >> 14 & 1},

#endif

#ifdef PROCESSOR_HAS

static int processor_has(const char *feature)
{
    const struct {
        const char *name;
        int here;
    } features[] = {PROCESSOR_HAS};
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (!strcmp(features[i].name, feature))
            return features[i].here;
    return 1; /* others a compiler uses only where it is told to */
}

__attribute__((constructor(101))) static void runs_here(void)
{
    char needed[] = ATTEND_FEATURES, *rest = needed;
#ifdef __x86_64__
    __builtin_cpu_init();
#endif
    for (const char *feature; (feature = strtok_r(rest, " ", &rest));)
        if (!processor_has(feature)) {
            fprintf(stderr,
                    "%s: built for %s, but this processor lacks %s: build it with make ARCH=any, for all processors\n",
                    program_invocation_short_name,
                    strcmp(ATTEND_ARCH, "native") ? ATTEND_ARCH : "native (" ATTEND_PROCESSOR ")", feature);
            _exit(1);
        }
}

#else

typedef int Anything; /* other processors: nothing is asked */

#endif
