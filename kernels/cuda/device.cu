/* The device: its memory, and streams, which are CUDA's. What was asked for of a stream happens in order and later; the
 * first thing that fails is remembered there, with the call and its place, and told by `finish`. */

struct Stream {
    cudaStream_t queue;
    void *scratch; /* memory for what lies between two kernels of one operation; it grows to the most ever needed */
    size_t scratch_bytes;
    bool naive; /* the first version of each kernel runs, where there are several: see open */
    bool failed;
    Error error;
};

static void stream_note(Stream *s, cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess || s->failed)
        return;
    s->failed = true;
    fail(&s->error, "%s: %s (%s:%d)", call, cudaGetErrorString(error), file, line);
}

#define TRY(s, call) stream_note(s, call, #call, __FILE__, __LINE__)

/* ATTEND_KERNELS=naive chooses the version that a file's ladder begins with. */
static bool device_open(Stream **s, size_t team, Error *e)
{
    (void)team;
    Stream *made = (Stream *)memory_get(1, sizeof *made);
    if (!made)
        return memory_error(e, "a stream of operations", 1, sizeof *made);
    cudaError_t error = cudaStreamCreate(&made->queue);
    if (error != cudaSuccess) {
        memory_free(made);
        return fail(e, "the device gives no stream: %s", cudaGetErrorString(error));
    }
    const char *which = getenv("ATTEND_KERNELS");
    made->naive = which && !strcmp(which, "naive");
    *s = made;
    return true;
}

static void device_close(Stream *s)
{
    cudaStreamDestroy(s->queue);
    cudaFree(s->scratch);
    memory_free(s);
}

/* A size of 0 gives a pointer, too, as memory_get does. */
static void *device_allocate(size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes ? bytes : 1) != cudaSuccess)
        return NULL;
    cudaMemset(memory, 0, bytes);
    return memory;
}

static void device_release(void *memory) { cudaFree(memory); }

static void device_upload(Stream *s, void *device, const void *host, size_t bytes)
{
    TRY(s, cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, s->queue));
}

static void device_download(Stream *s, void *host, const void *device, size_t bytes)
{
    TRY(s, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, s->queue));
    TRY(s, cudaStreamSynchronize(s->queue));
}

static void device_copy(Stream *s, void *to, const void *from, size_t bytes)
{
    TRY(s, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s->queue));
}

static void device_zero(Stream *s, void *to, size_t bytes) { TRY(s, cudaMemsetAsync(to, 0, bytes, s->queue)); }

static bool device_finish(Stream *s, Error *e)
{
    TRY(s, cudaStreamSynchronize(s->queue));
    return !s->failed || fail(e, "%s", s->error.text);
}

/* Bytes that are this operation's until its last kernel has run; NULL where there are none, and that is noted. */
static void *scratch(Stream *s, size_t bytes)
{
    if (bytes > s->scratch_bytes) {
        TRY(s, cudaStreamSynchronize(s->queue));
        TRY(s, cudaFree(s->scratch));
        s->scratch = NULL;
        s->scratch_bytes = 0;
        TRY(s, cudaMalloc(&s->scratch, bytes));
        s->scratch_bytes = s->scratch ? bytes : 0;
    }
    return s->scratch;
}

/* ---- sums.h, launched */

template <class Term> static void add_column_sums(Stream *s, float *to, Term term, size_t n, size_t d)
{
    if (d > 0)
        LAUNCH(s, column_sums<Term>, (unsigned)divide_up(d, SUM_COLUMNS), dim3(SUM_COLUMNS, SUM_ROWS), to, term, n, d);
}
