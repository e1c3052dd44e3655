/* The device: its memory, and streams, which are CUDA's. What was asked for of a stream happens in order and later; the
 * first thing that fails is remembered there, with the call and its place, and told by `finish`. */

/* Memory for what is between two kernels of one operation. Captured operations continue to use what they were captured
 * with: so where more is needed, what was there stays. */
typedef struct Scratch {
    void *memory;
    size_t bytes;
    struct Scratch *before;
} Scratch;

/* The host's, but pages that stay where they are: so a copy from there to the device is the device's business alone. */
typedef struct Staging {
    void *memory;
    size_t bytes;
    cudaEvent_t read; /* the last copy from here is over */
} Staging;

enum { STAGINGS = 4, STAGING_MOST = 8 << 20 };

struct Stream {
    cudaStream_t queue;
    cudaStream_t ahead;        /* for what is copied meanwhile */
    cudaEvent_t sent, fetched; /* what was copied there is complete; is no longer needed there */
    Staging staging[STAGINGS]; /* used by turns */
    Staging staging_ahead;
    size_t turn;
    Scratch *scratch, *sums, *counters; /* the latest of each, which is the largest */
    Blas blas;
    bool tf32;
    bool naive;  /* the first version of each kernel runs, where there are several: see open */
    bool own;    /* products are ours */
    bool direct; /* nothing is captured */
    bool failed;
    Error error;
};

static void stream_note(Stream *s, cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    cudaGetLastError(); /* it need not be told again: CUDA would, at the next launch of another stream */
    if (s->failed)
        return;
    s->failed = true;
    call_fails(&s->error, error, hint_of(error), call, file, line);
}

#define TRY(s, call) stream_note(s, call, #call, __FILE__, __LINE__)

static void peers_wait(Stream *s); /* see peers.cu */

/* CUDA's word for a driver that is not there is that it is too old. */
static void driver_hint(Error *hint)
{
    int version = 0;
    if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0)
        fail(hint, "no driver is installed; --device cpu needs none");
    else
        fail(hint,
             "the driver is for CUDA %d.%d, this build for %d.%d: a newer driver, or make with an older CUDA "
             "(CUDA_HOME=...)",
             version / 1000, version / 10 % 100, CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
}

/* Of several processes on a host each takes another GPU, unless the launcher has given it one. */
static void take_gpu()
{
    static const char name[] = "CUDA_VISIBLE_DEVICES";
    char own[64];
    if (ranks_count() > 1 && ranks_entry(getenv(name), ranks_before_here(), own, sizeof own))
        setenv(name, own, 1);
}

static bool count_gpus(int *count, Error *e)
{
    Error hint;
    *count = 0;
    cudaError_t error = cudaGetDeviceCount(count);
    if (error == cudaSuccess && *count > 0)
        return true;
    cudaGetLastError(); /* it need not be told again */
    error = error == cudaSuccess ? cudaErrorNoDevice : error;
    fail(&hint, "%s", hint_of(error));
    if (error == cudaErrorInsufficientDriver)
        driver_hint(&hint);
    return call_fails(e, error, hint.text, "cudaGetDeviceCount", __FILE__, __LINE__);
}

/* Of several processes that all see several GPUs each uses another one: an MPI that knows CUDA has asked the driver for
 * them before take_gpu, and the driver reads the variable once. */
static int own_gpu(int count) { return ranks_count() > 1 ? (int)(ranks_before_here() % (size_t)count) : 0; }

#ifdef __CUDACC__
static bool use_gpu(int gpu, Error *e) { return gpu == 0 || DONE(e, cudaSetDevice(gpu)); }
#else
static bool use_gpu(int, Error *) { return true; } /* there is one */
#endif

static bool capability_of_gpu(int gpu, int *major, int *minor, Error *e)
{
    return use_gpu(gpu, e) && DONE(e, cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, gpu)) &&
           DONE(e, cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, gpu));
}

/* The first call that needs the GPU itself, and this build's code for it. */
static __global__ void nothing_kernel() {}
static bool code_there(Error *e)
{
    cudaFuncAttributes attributes;
    return DONE(e, cudaFuncGetAttributes(&attributes, nothing_kernel));
}

/* The first GPU that is visible is ours, or see own_gpu. Arithmetic in bf16 and tf32 begins with
 * capability 8.0. */
static bool gpu_there(NumberType type, Error *e)
{
    int count = 0, major = 0, minor = 0;
    Error why;
    take_gpu();
    if (!count_gpus(&count, &why))
        return fail(e, "device " BACKEND ": there is no GPU here that CUDA can use: %s", why.text);
    if (!capability_of_gpu(own_gpu(count), &major, &minor, &why))
        return fail(e, "device " BACKEND ": %s", why.text);
    if (type != NUMBER_F32 && major < 8)
        return fail(e, "device " BACKEND ": %s needs a GPU of capability 8.0 or newer, this one has %d.%d; f32 works",
                    number_type_name(type), major, minor);
    return code_there(&why) ||
           fail(e, "device " BACKEND ": the GPU, of capability %d.%d, cannot be used: %s", major, minor, why.text);
}

static bool device_there(Error *e) { return gpu_there(TYPE, e); }
#if !defined CUDA_BF16
static bool device_there_tf32(Error *e) { return gpu_there(NUMBER_TF32, e); }
#endif

static void staging_close(Staging *t)
{
    if (t->read)
        cudaEventDestroy(t->read);
    cudaFreeHost(t->memory);
}

static void scratch_close(Scratch *latest)
{
    for (Scratch *one = latest, *before; one; one = before) {
        before = one->before;
        cudaFree(one->memory);
        memory_free(one);
    }
}

static void device_close(Stream *s)
{
    if (s->ahead) /* nothing is to continue reading what is released now */
        cudaStreamSynchronize(s->ahead);
    if (s->queue)
        cudaStreamSynchronize(s->queue);
    blas_close(&s->blas);
    for (size_t i = 0; i < STAGINGS; i++)
        staging_close(&s->staging[i]);
    staging_close(&s->staging_ahead);
    scratch_close(s->scratch);
    scratch_close(s->sums);
    scratch_close(s->counters);
    if (s->sent)
        cudaEventDestroy(s->sent);
    if (s->fetched)
        cudaEventDestroy(s->fetched);
    if (s->ahead)
        cudaStreamDestroy(s->ahead);
    if (s->queue)
        cudaStreamDestroy(s->queue);
    memory_free(s);
}

static void event_open(Stream *s, cudaEvent_t *event)
{
    TRY(s, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
}

/* ATTEND_KERNELS=naive chooses the version that a file's ladder begins with, =own our own products; ATTEND_GRAPHS=no
 * asks for each operation again. */
static bool open_stream(Stream **s, bool tf32, Error *e)
{
    Stream *made = (Stream *)memory_get(1, sizeof *made);
    if (!made)
        return memory_error(e, "a stream of operations", 1, sizeof *made);
    TRY(made, cudaStreamCreateWithFlags(&made->queue, cudaStreamNonBlocking));
    TRY(made, cudaStreamCreateWithFlags(&made->ahead, cudaStreamNonBlocking));
    event_open(made, &made->sent);
    event_open(made, &made->fetched);
    event_open(made, &made->staging_ahead.read);
    for (size_t i = 0; i < STAGINGS; i++)
        event_open(made, &made->staging[i].read);
    if (made->failed) {
        fail(e, "the device cannot create a stream: %s", made->error.text);
        device_close(made);
        return false;
    }
    const char *which = getenv("ATTEND_KERNELS"), *graphs = getenv("ATTEND_GRAPHS");
    made->naive = which && !strcmp(which, "naive");
    made->own = which && !strcmp(which, "own");
    made->direct = graphs && !strcmp(graphs, "no");
    made->tf32 = tf32;
    *s = made;
    return true;
}

static bool device_open(Stream **s, size_t, Error *e) { return open_stream(s, false, e); }
#if !defined CUDA_BF16
static bool device_open_tf32(Stream **s, size_t, Error *e) { return open_stream(s, true, e); }
#endif

/* A size of 0 gives a pointer, too, as memory_get does. Zeros are set on the default stream, for which ours do not wait
 * (else none could be captured while another worker's memory is made): so the host does. */
static void *device_allocate(size_t bytes)
{
    void *memory = NULL;
    Error why;
    if (DONE(&why, cudaMalloc(&memory, bytes ? bytes : 1)) && DONE(&why, cudaMemset(memory, 0, bytes)) &&
        DONE(&why, cudaStreamSynchronize(NULL)))
        return memory;
    cudaFree(memory);
    memory_refused(&why);
    return NULL;
}

static void device_release(void *memory) { cudaFree(memory); }

static bool grow_staging(Stream *s, Staging *t, size_t bytes)
{
    if (bytes <= t->bytes)
        return true;
    TRY(s, cudaFreeHost(t->memory));
    t->memory = NULL;
    t->bytes = 0;
    TRY(s, cudaMallocHost(&t->memory, 2 * bytes));
    t->bytes = t->memory ? 2 * bytes : 0;
    return t->memory != NULL;
}

/* Large copies, which no step has, go directly, and are waited for: a GPU that reads the host's pages itself may do so
 * later. */
static void send_on(Stream *s, cudaStream_t queue, Staging *t, void *device, const void *host, size_t bytes)
{
    const void *from = host;
    if (bytes == 0)
        return;
    if (bytes <= STAGING_MOST) {
        TRY(s, cudaEventSynchronize(t->read));
        if (!grow_staging(s, t, bytes))
            return;
        from = memcpy(t->memory, host, bytes);
    }
    TRY(s, cudaMemcpyAsync(device, from, bytes, cudaMemcpyHostToDevice, queue));
    if (from == host)
        TRY(s, cudaStreamSynchronize(queue));
    else
        TRY(s, cudaEventRecord(t->read, queue));
}

static void device_upload(Stream *s, void *device, const void *host, size_t bytes)
{
    send_on(s, s->queue, &s->staging[s->turn++ % STAGINGS], device, host, bytes);
}

static void device_send(Stream *s, void *there, const void *host, size_t bytes)
{
    TRY(s, cudaStreamWaitEvent(s->ahead, s->fetched, 0));
    send_on(s, s->ahead, &s->staging_ahead, there, host, bytes);
    TRY(s, cudaEventRecord(s->sent, s->ahead));
}

static void device_fetch(Stream *s, void *to, const void *there, size_t bytes)
{
    TRY(s, cudaStreamWaitEvent(s->queue, s->sent, 0));
    TRY(s, cudaMemcpyAsync(to, there, bytes, cudaMemcpyDeviceToDevice, s->queue));
    TRY(s, cudaEventRecord(s->fetched, s->queue));
}

static void device_download(Stream *s, void *host, const void *device, size_t bytes)
{
    peers_wait(s);
    TRY(s, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, s->queue));
    TRY(s, cudaStreamSynchronize(s->queue));
}

/* Nothing is asked for where there is nothing: not every CUDA takes it, above all in a graph. */
static void copy(Stream *s, void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        TRY(s, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s->queue));
}

static void zero(Stream *s, void *to, size_t bytes)
{
    if (bytes > 0)
        TRY(s, cudaMemsetAsync(to, 0, bytes, s->queue));
}

static bool device_finish(Stream *s, Error *e)
{
    peers_wait(s);
    TRY(s, cudaStreamSynchronize(s->queue));
    return !s->failed || fail(e, "%s", s->error.text);
}

/* ---- operations that come again: CUDA's graphs */

static bool device_capture(Stream *s)
{
    if (s->direct || s->failed)
        return false;
    TRY(s, cudaStreamBeginCapture(s->queue, cudaStreamCaptureModeThreadLocal));
    return !s->failed;
}

static Captured *device_captured(Stream *s)
{
    cudaGraph_t noted = NULL;
    cudaGraphExec_t ready = NULL;
    TRY(s, cudaStreamEndCapture(s->queue, &noted));
    if (!noted)
        return NULL;
    TRY(s, cudaGraphInstantiateWithFlags(&ready, noted, 0));
    cudaGraphDestroy(noted);
    return (Captured *)ready;
}

static void device_replay(Stream *s, Captured *operations)
{
    TRY(s, cudaGraphLaunch((cudaGraphExec_t)operations, s->queue));
}

static void device_forget(Captured *operations)
{
    if (operations)
        cudaGraphExecDestroy((cudaGraphExec_t)operations);
}

static void *scratch_of(Stream *s, Scratch **latest, size_t bytes)
{
    Scratch *last = *latest;
    if (last && bytes <= last->bytes)
        return last->memory;
    Scratch *more = (Scratch *)memory_get(1, sizeof *more);
    size_t capacity = last && bytes < 2 * last->bytes ? 2 * last->bytes : bytes;
    if (more)
        TRY(s, cudaMalloc(&more->memory, capacity));
    else
        stream_note(s, cudaErrorMemoryAllocation, "memory_get", __FILE__, __LINE__);
    if (!more || !more->memory) {
        memory_free(more);
        return NULL;
    }
    more->bytes = capacity;
    more->before = last;
    *latest = more;
    return more->memory;
}

/* Bytes that are this operation's until its last kernel has run; NULL where there are none, and that is noted. */
static void *scratch(Stream *s, size_t bytes) { return scratch_of(s, &s->scratch, bytes); }

/* The same beside it, [parts, d], for sums that are taken in parts. */
static float *partial_sums(Stream *s, size_t parts, size_t d)
{
    return (float *)scratch_of(s, &s->sums, parts * d * sizeof(float));
}

/* Numbers that are 0, and that kernels leave so. */
static unsigned *counters(Stream *s, size_t count)
{
    const Scratch *before = s->counters;
    unsigned *memory = (unsigned *)scratch_of(s, &s->counters, count * sizeof *memory);
    if (s->counters != before)
        TRY(s, cudaMemsetAsync(memory, 0, s->counters->bytes, s->queue));
    return memory;
}

/* ---- sums.h, launched */

/* put(j, the sum over all rows i of term(i, j)): see column_sums. */
template <class Term, class Put> static void sum_columns(Stream *s, Put put, Term term, size_t n, size_t d)
{
    size_t parts = parts_of_rows(n), groups = divide_up(d, SUM_COLUMNS);
    float *sums = parts > 1 ? partial_sums(s, parts, d) : NULL;
    unsigned *come = parts > 1 ? counters(s, groups) : NULL;
    if (n > 0 && d > 0 && (parts == 1 || (sums && come)))
        LAUNCH(s, (column_sums<Term, Put>), (unsigned)(groups * parts), dim3(SUM_COLUMNS, SUM_ROWS), put, sums, come,
               term, n, d, parts);
}
