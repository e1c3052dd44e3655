/* Calls that fail on request, so that error messages can be tested: ATTEND_FAIL=cudaGraphLaunch:2:719 has the second
 * call of cudaGraphLaunch in this process, counted from when the variable was set so, fail with error 719 and do
 * nothing. */
#include "kernels/cuda/emulator/emulator.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    char text[64]; /* what was wanted when calls were counted last */
    uint64_t calls;
    bool met;
} planted = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* text: CALL:WHICH:ERROR, of a call of this name. */
static int count_call(const char *text)
{
    unsigned long long which;
    int error = 0;
    if (strncmp(planted.text, text, sizeof planted.text - 1) != 0) {
        snprintf(planted.text, sizeof planted.text, "%s", text);
        planted.calls = 0;
        planted.met = false;
    }
    if (sscanf(strchr(text, ':'), ":%llu:%d", &which, &error) != 2 || ++planted.calls != which)
        return 0;
    planted.met = true;
    return error;
}

int emulator_planted(const char *call)
{
    static const char before[] = "emulated_"; /* see runtime.h */
    const char *text = getenv("ATTEND_FAIL");
    int error = 0;
    if (!strncmp(call, before, sizeof before - 1))
        call += sizeof before - 1;
    size_t length = strlen(call);
    pthread_mutex_lock(&planted.lock);
    if (!text)
        planted.text[0] = 0;
    else if (!strncmp(text, call, length) && text[length] == ':')
        error = count_call(text);
    pthread_mutex_unlock(&planted.lock);
    return error;
}

bool emulator_planted_met(void)
{
    pthread_mutex_lock(&planted.lock);
    bool met = planted.met;
    pthread_mutex_unlock(&planted.lock);
    return met;
}
