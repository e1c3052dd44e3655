/* cuBLAS, as far as products need it (see matmul.cu), opened when the program runs: the program starts where it is
 * missing, and is built without its headers. These functions and numbers are its interface, the same in version 11, 12
 * and 13.
 *
 * Under the emulator there is a stand-in, in matmul.cu, that multiplies by our own kernel what cuBLAS would be given:
 * so whatever is between an operation and cuBLAS is tested. */

/* Matrices as cuBLAS has them, down columns: c [m,n] = alpha a b + beta c, of each of `count` in a batch, a [m,k] or
 * transposed [k,m], b [k,n] or transposed [n,k]; a column of `a` is a_next numbers after the one before, a matrix
 * a_apart after the one before. */
typedef struct Gemm {
    const void *a, *b;
    void *c;
    bool transpose_a, transpose_b;
    bool real_c; /* else it is numbers */
    bool tf32;
    int m, n, k, count;
    int a_next, b_next, c_next;
    long long a_apart, b_apart, c_apart;
    float alpha, beta;
} Gemm;

#ifdef __CUDACC__
#include <dlfcn.h>

#if __has_include(<cublas_api.h>)
#include <cublas_api.h>
#define SAME_AS(ours, theirs) static_assert((int)ours == (int)theirs, "an unknown cuBLAS status")
#else
#define SAME_AS(ours, theirs) static_assert(true, "")
#endif

enum { BLAS_AS_IT_IS, BLAS_TURNED };
enum { BLAS_F32 = 0, BLAS_BF16 = 14 };
enum { BLAS_IN_F32 = 68, BLAS_IN_TF32 = 77 };
enum { BLAS_ANY_WAY = -1, BLAS_SUMS_STAY_F32 = 16, BLAS_WORKSPACE = 32 << 20 };

SAME_AS(BLAS_TURNED, CUBLAS_OP_T);
SAME_AS(BLAS_BF16, CUDA_R_16BF);
SAME_AS(BLAS_F32, CUDA_R_32F);
SAME_AS(BLAS_IN_F32, CUBLAS_COMPUTE_32F);
SAME_AS(BLAS_IN_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME_AS(BLAS_ANY_WAY, CUBLAS_GEMM_DEFAULT);
SAME_AS(BLAS_SUMS_STAY_F32, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

/* Of one stream. The workspace is ours, so that products can be captured, and give the same bits each time. */
typedef struct Blas {
    bool tried;
    void *library, *handle, *workspace;
    int (*destroy)(void *handle);
    int (*gemm)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha, const void *a,
                int a_type, int a_next, long long a_apart, const void *b, int b_type, int b_next, long long b_apart,
                const void *beta, void *c, int c_type, int c_next, long long c_apart, int count, int arithmetic,
                int way);
} Blas;

/* Where the system finds it, or in the toolkit: $CUDA_HOME, or its usual place. */
static void *blas_of_version(int version)
{
    const char *home = getenv("CUDA_HOME"), *toolkits[] = {home && *home ? home : "/usr/local/cuda", "/usr/local/cuda"};
    char path[1024];
    snprintf(path, sizeof path, "libcublas.so.%d", version);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !library && i < 2; i++) {
        snprintf(path, sizeof path, "%s/lib64/libcublas.so.%d", toolkits[i], version);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* The one that belongs to this runtime; else another, because they share the driver's streams and memory. It is never
 * closed: to open it once more takes a tenth of a second, and every stream that multiplies does. */
static void *blas_library()
{
    void *library = blas_of_version(CUDART_VERSION / 1000);
    for (int version = 13; !library && version >= 11; version--)
        library = blas_of_version(version);
    return library;
}

template <class F> static bool blas_function(const Blas *b, F **function, const char *name, Error *e)
{
    *function = (F *)dlsym(b->library, name);
    return *function || fail(e,
                             "cuBLAS was found, but has no %s (%s:%d); install version 11 or newer, or do without it: "
                             "ATTEND_KERNELS=own",
                             name, __FILE__, __LINE__);
}

static bool blas_did(int status, const char *call, const char *file, int line, Error *e)
{
    return status == 0 || fail(e,
                               "cuBLAS was found, but does not start: %s returned %d (%s:%d); is the GPU's memory "
                               "full? ATTEND_KERNELS=own does without it",
                               call, status, file, line);
}

#define BLAS_DID(call) blas_did((int)call, #call, __FILE__, __LINE__, e)

static bool blas_ready(Blas *b, cudaStream_t queue, Error *e)
{
    int (*create)(void **), (*set_stream)(void *, cudaStream_t), (*set_workspace)(void *, void *, size_t);
    int (*set_math)(void *, int);
    return blas_function(b, &create, "cublasCreate_v2", e) && blas_function(b, &b->destroy, "cublasDestroy_v2", e) &&
           blas_function(b, &set_stream, "cublasSetStream_v2", e) &&
           blas_function(b, &set_math, "cublasSetMathMode", e) &&
           blas_function(b, &set_workspace, "cublasSetWorkspace_v2", e) &&
           blas_function(b, &b->gemm, "cublasGemmStridedBatchedEx", e) &&
           BLAS_DID(cudaMalloc(&b->workspace, BLAS_WORKSPACE)) && BLAS_DID(create(&b->handle)) &&
           BLAS_DID(set_stream(b->handle, queue)) && BLAS_DID(set_workspace(b->handle, b->workspace, BLAS_WORKSPACE)) &&
           BLAS_DID(set_math(b->handle, BLAS_SUMS_STAY_F32));
}

static void blas_close(Blas *b)
{
    if (b->handle)
        b->destroy(b->handle);
    cudaFree(b->workspace);
    *b = Blas{true};
}

/* Opened by the first product of a stream, because many streams have none. If it is found and does not start, usually
 * for want of memory, that is an error: our own products would be much slower. */
static bool blas_there(Blas *b, cudaStream_t queue, bool *failed, Error *e)
{
    if (!b->tried) {
        b->tried = true;
        b->library = blas_library();
        Error why;
        if (b->library && !blas_ready(b, queue, &why)) {
            cudaGetLastError(); /* it is told here */
            if (!*failed)
                *e = why;
            *failed = true;
            blas_close(b);
        }
    }
    return b->handle != NULL;
}

/* What cuBLAS returns: 0 is well. */
static int blas_gemm(Blas *b, const Gemm &g)
{
    const int numbers = sizeof(Number) == sizeof(float) ? BLAS_F32 : BLAS_BF16;
    return b->gemm(b->handle, g.transpose_a ? BLAS_TURNED : BLAS_AS_IT_IS, g.transpose_b ? BLAS_TURNED : BLAS_AS_IT_IS,
                   g.m, g.n, g.k, &g.alpha, g.a, numbers, g.a_next, g.a_apart, g.b, numbers, g.b_next, g.b_apart,
                   &g.beta, g.c, g.real_c ? (int)BLAS_F32 : numbers, g.c_next, g.c_apart, g.count,
                   g.tf32 ? BLAS_IN_TF32 : BLAS_IN_F32, BLAS_ANY_WAY);
}

/* A note for users of this device. */
static const char *device_note()
{
    return blas_library() ? NULL
                          : "cuBLAS was not found, so products use attend's own kernels, which are slow; add the "
                            "folder of cuBLAS to LD_LIBRARY_PATH";
}
#else
typedef struct Blas {
    int nothing;
} Blas;

static bool blas_there(Blas *, cudaStream_t, bool *, Error *) { return true; }
static void blas_close(Blas *) {}
static const char *device_note() { return NULL; }
#endif
