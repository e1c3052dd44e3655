/* See fuzz.h. */
#include "tests/fuzz/fuzz.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST = 1 << 17, /* bytes that any input is worth */
    EACH = 512      /* and this many more for each of its bytes: a tree of JSON is much larger than its text */
};

static char folder[300], input[320], output[320];
static pid_t owner;
static size_t kept;

void fuzz_fail(const char *file, int line, const char *words)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, words);
    abort();
}

void fuzz_refused(const Error *e) { DEMAND(e->text[0] && !strchr(e->text, '\n'), "a refusal says why in one line"); }

static void remove_places(void)
{
    if (getpid() != owner)
        return;
    unlink(input);
    unlink(output);
    rmdir(folder);
}

static void make_places(void)
{
    if (owner == getpid())
        return;
    const char *place = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(folder, sizeof folder, "%s/attend-fuzz-XXXXXX", place);
    DEMAND(mkdtemp(folder), "a folder for the input can be made");
    snprintf(input, sizeof input, "%s/input", folder);
    snprintf(output, sizeof output, "%s/output", folder);
    owner = getpid();
    DEMAND(!atexit(remove_places), "that folder can be removed");
}

const char *fuzz_file(const void *data, size_t size)
{
    make_places();
    FILE *f = fopen(input, "wb");
    DEMAND(f && fwrite(data, 1, size, f) == size, "the input can be written to a file");
    DEMAND(!fclose(f), "the input can be written to a file");
    return input;
}

const char *fuzz_place(void)
{
    make_places();
    return output;
}

void fuzz_begin(void)
{
    memory_peak_reset();
    kept = memory_in_use();
}

void fuzz_end(size_t size)
{
    DEMAND(memory_in_use() == kept, "no memory is kept");
    DEMAND(memory_peak() - kept <= MOST + EACH * size, "a small file asks for little memory");
}
