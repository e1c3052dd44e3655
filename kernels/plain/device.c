/* The device of the plain backend is this processor: its memory is ours, and every operation is over when it returns. */

struct Stream {
    size_t team;
};

static bool device_open(Stream **s, size_t team, Error *e)
{
    *s = memory_get(1, sizeof **s);
    if (!*s)
        return memory_error(e, "a stream of operations", 1, sizeof **s);
    (*s)->team = team;
    return true;
}

static void device_close(Stream *s) { memory_free(s); }

static void *device_allocate(size_t bytes) { return memory_get(bytes, 1); }

static void device_release(void *memory) { memory_free(memory); }

static void copy(Stream *s, void *to, const void *from, size_t bytes)
{
    (void)s;
    if (bytes)
        memcpy(to, from, bytes);
}

static void zero(Stream *s, void *to, size_t bytes)
{
    (void)s;
    if (bytes)
        memset(to, 0, bytes);
}

static bool device_finish(Stream *s, Error *e)
{
    (void)s, (void)e;
    return true;
}
