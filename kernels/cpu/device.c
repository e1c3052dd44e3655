/* The device of this backend is this processor, and operations are over when they return. */

static void *device_allocate(size_t bytes) { return memory_get(bytes, 1); }

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
