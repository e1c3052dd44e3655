/* How many processors this process may use: those it may be scheduled on, and no more than a container's quota of time
 * pays for. A quota stands in a control group or in any group above it:
 *
 *     version 2   MOUNT/GROUP/cpu.max                           "QUOTA PERIOD" or "max PERIOD"
 *     version 1   MOUNT/cpu/GROUP/cpu.cfs_{quota,period}_us     a quota of -1 is none */
#define _GNU_SOURCE
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif

static bool read_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    bool done = fgets(line, size, f) != NULL;
    fclose(f);
    return done;
}

/* The quota of one group, in processors; 0: none. */
static double group_quota(const char *folder, bool second)
{
    char path[1100], line[128], *end;
    double period = 0, quota = 0;
    snprintf(path, sizeof path, "%s/%s", folder, second ? "cpu.max" : "cpu.cfs_quota_us");
    if (!read_line(path, line, sizeof line))
        return 0;
    quota = strtod(line, &end); /* "max" and -1 are none */
    if (second)
        period = strtod(end, NULL);
    else {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        if (read_line(path, line, sizeof line))
            period = strtod(line, NULL);
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* The least quota of a group and all above it up to the mount. */
static double least_quota(const char *mount, const char *group, bool second)
{
    char folder[1024];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return 0;
    double least = 0;
    for (;;) {
        double quota = group_quota(folder, second);
        if (quota > 0 && (least <= 0 || quota < least))
            least = quota;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < strlen(mount))
            return least;
        *slash = 0;
    }
}

double processors_quota(const char *groups, const char *mount)
{
    FILE *f = fopen(groups, "r");
    if (!f)
        return 0;
    double least = 0;
    char line[1024], first[512];
    snprintf(first, sizeof first, "%s/cpu", mount);
    while (fgets(line, sizeof line, f)) { /* ID:CONTROLLERS:GROUP */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        bool second = !controllers[1];
        if (!second && strncmp(controllers + 1, "cpu", 3) && !strstr(controllers, ",cpu"))
            continue;
        double quota = least_quota(second ? mount : first, group, second);
        if (quota > 0 && (least <= 0 || quota < least))
            least = quota;
    }
    fclose(f);
    return least;
}

size_t processors_allowed(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    size_t allowed = online > 0 ? (size_t)online : 1;
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 0)
        allowed = (size_t)CPU_COUNT(&set);
#endif
    double quota = processors_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota > 0 && quota < (double)allowed)
        allowed = quota < 1 ? 1 : (size_t)quota; /* rounded down: spinning for a stopped thread is useless */
    return allowed;
}

const char *processor_name(char *name, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    snprintf(name, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!value)
            continue;
        value[strcspn(value, "\n")] = 0;
        snprintf(name, size, "%s", value + 1 + strspn(value + 1, " "));
        break;
    }
    if (file)
        fclose(file);
    return name;
}
