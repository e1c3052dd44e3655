/* See room.h. */
#include "tests/huge/room.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { NEEDED = 16 /* GiB */ };

#if defined __has_feature
#define SANITIZER(name) __has_feature(name)
#else
#define SANITIZER(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __OPTIMIZE__
enum { SLOW = 1 };
#else
enum { SLOW = SANITIZER(address_sanitizer) || SANITIZER(thread_sanitizer) };
#endif

/* KiB that can be had without pushing anybody out, as Linux says; elsewhere those that nobody uses. */
static double free_gib(void)
{
    double kib = 0;
    char line[256];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf", &kib) == 1)
            break;
    if (f)
        fclose(f);
#ifdef _SC_AVPHYS_PAGES
    if (!(kib > 0))
        kib = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1024;
#endif
    return kib / (1 << 20);
}

bool huge_has_room(const char *test)
{
    char why[100];
    if (SLOW) {
        test_skip(test, "this build takes too long for 2^31 numbers");
        return false;
    }
    if (free_gib() >= NEEDED)
        return true;
    snprintf(why, sizeof why, "%.1f GiB of memory are free, not %d", free_gib(), NEEDED);
    test_skip(test, why);
    return false;
}

uint64_t huge_disk(const char *folder)
{
    struct statvfs s;
    return statvfs(folder, &s) ? 0 : (uint64_t)s.f_bavail * s.f_frsize;
}
