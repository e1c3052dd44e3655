/* See matmul.h. oneDNN's matmul primitive, in its 2.x and its 3.x interface.
 *
 * Making a primitive takes up to a millisecond, so each shape is prepared once and kept. Every caller has its own
 * engine stream, memory objects and scratch memory; oneDNN itself is held to one thread. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "kernels/cpu/matmul.h"

#include "base/memory.h"
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/tuning.h"

#include <string.h>

/* Scratch memory of at least this many bytes; NULL, and failed, where there is none. */
static void *scratch_of(Matmul *m, size_t bytes)
{
    if (bytes > m->scratch_size) {
        memory_free(m->scratch);
        m->scratch = memory_get(bytes, 1);
        m->scratch_size = m->scratch ? bytes : 0;
        m->failed = m->failed || !m->scratch;
    }
    return m->scratch;
}

static void run_blocked(Matmul *m, const MatmulShape *shape, void *c, const void *a, const void *b, const float *bias)
{
    void *scratch = scratch_of(m, blocked_scratch(shape));
    if (scratch)
        blocked_product(shape, c, a, b, bias, scratch);
}

/* With vectors of 8, oneDNN sums a row otherwise where it is among the last of its call, so a team's share or other rows
 * beside it would change a row's bits. */
#if defined __AVX512F__
enum { ROWS_STAY = true };
#else
enum { ROWS_STAY = false };
#endif

#if defined HAVE_ONEDNN

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

enum { MOST_ENTRIES = 2048 }; /* rows of many different lengths make many shapes */

struct MatmulEntry {
    MatmulShape shape;
    dnnl_primitive_t primitive; /* NULL: oneDNN has none; ours does it */
    bool held;                  /* b is */
    dnnl_memory_t a, b, c, bias, scratch;
    dnnl_memory_t plain; /* NULL, or the layout of a held b that is to be laid out otherwise */
    size_t scratch_size;
};

/* A held operand as some products want it. */
struct MatmulCopy {
    const void *of;
    dnnl_memory_t memory;
    void *bytes;
};

/* What the two interfaces call differently. */
#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t Description;
typedef const_dnnl_memory_desc_t DescriptionOf;
#define MEMORY(description) (description)

static bool describe(Description *d, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides(d, 2, dims, type, strides) == dnnl_success;
}

static bool describe_any(Description *d, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    return dnnl_memory_desc_create_with_tag(d, 2, dims, type, dnnl_format_tag_any) == dnnl_success;
}

static void forget(Description *d)
{
    if (*d)
        dnnl_memory_desc_destroy(*d);
}

static size_t size_of(DescriptionOf d) { return dnnl_memory_desc_get_size(d); }

static bool create(dnnl_primitive_desc_t *p, dnnl_engine_t engine, Description *a, Description *b, Description *bias,
                   Description *c, dnnl_primitive_attr_t attributes)
{
    return dnnl_matmul_primitive_desc_create(p, engine, *a, *b, bias ? *bias : NULL, *c, attributes) == dnnl_success;
}

static bool append_sum(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef) == dnnl_success;
}
#else
typedef dnnl_memory_desc_t Description;
typedef const dnnl_memory_desc_t *DescriptionOf;
#define MEMORY(description) (&(description))

static bool describe(Description *d, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides)
{
    return dnnl_memory_desc_init_by_strides(d, 2, dims, type, strides) == dnnl_success;
}

static bool describe_any(Description *d, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    return dnnl_memory_desc_init_by_tag(d, 2, dims, type, dnnl_format_tag_any) == dnnl_success;
}

static void forget(Description *d) { (void)d; }
static size_t size_of(DescriptionOf d) { return dnnl_memory_desc_get_size(d); }

static bool create(dnnl_primitive_desc_t *p, dnnl_engine_t engine, Description *a, Description *b, Description *bias,
                   Description *c, dnnl_primitive_attr_t attributes)
{
    dnnl_matmul_desc_t d;
    return dnnl_matmul_desc_init(&d, a, b, bias, c) == dnnl_success &&
           dnnl_primitive_desc_create(p, &d, attributes, engine, NULL) == dnnl_success;
}

static bool append_sum(dnnl_post_ops_t ops) { return dnnl_post_ops_append_sum(ops, 1) == dnnl_success; }
#endif

/* oneDNN built with OpenMP would start threads of its own beside our workers. The setting is the calling thread's. */
static void one_thread(void)
{
    void (*set_threads)(int);
    void *found = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    memcpy(&set_threads, &found, sizeof found); /* ISO C has no cast from object to function pointers */
    if (found)
        set_threads(1);
}

static dnnl_data_type_t type_of(Element e) { return e == ELEMENT_BF16 ? dnnl_bf16 : dnnl_f32; }

static bool describe_matrix(Description *d, size_t rows, size_t columns, size_t stride, bool transposed, Element e)
{
    dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns}, strides = {(dnnl_dim_t)stride, 1};
    if (transposed)
        strides[0] = 1, strides[1] = (dnnl_dim_t)stride;
    return describe(d, dims, type_of(e), strides);
}

static bool attributes_of(dnnl_primitive_attr_t *attributes, const MatmulShape *s)
{
    dnnl_post_ops_t ops = NULL;
    bool fine = dnnl_primitive_attr_create(attributes) == dnnl_success &&
                dnnl_primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user) == dnnl_success &&
                dnnl_post_ops_create(&ops) == dnnl_success && (!s->add || append_sum(ops)) &&
                dnnl_primitive_attr_set_post_ops(*attributes, ops) == dnnl_success;
    if (ops)
        dnnl_post_ops_destroy(ops);
    return fine;
}

static bool make_memory(dnnl_memory_t *memory, DescriptionOf d, dnnl_engine_t engine)
{
    return dnnl_memory_create(memory, d, engine, DNNL_MEMORY_NONE) == dnnl_success;
}

/* A held b gets the layout that oneDNN prefers. */
static bool describe_b(Description *d, const struct MatmulEntry *e)
{
    const MatmulShape *s = &e->shape;
    dnnl_dims_t dims = {(dnnl_dim_t)s->k, (dnnl_dim_t)s->n};
    return e->held ? describe_any(d, dims, type_of(s->inputs))
                   : describe_matrix(d, s->k, s->n, s->b_stride, s->b_transposed, s->inputs);
}

/* e->b, and e->plain where that is another layout than b has. */
static bool make_b(struct MatmulEntry *e, DescriptionOf b, dnnl_engine_t engine)
{
    const MatmulShape *s = &e->shape;
    Description plain;
    if (!make_memory(&e->b, b, engine) ||
        (e->held && !describe_matrix(&plain, s->k, s->n, s->b_stride, s->b_transposed, s->inputs)))
        return false;
    if (!e->held)
        return true;
    bool fine = dnnl_memory_desc_equal(MEMORY(plain), b) || make_memory(&e->plain, MEMORY(plain), engine);
    forget(&plain);
    return fine;
}

static bool prepare(struct MatmulEntry *e, dnnl_engine_t engine)
{
    const MatmulShape *s = &e->shape;
    Description a = {0}, b = {0}, c = {0}, bias = {0};
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t made = NULL;
    dnnl_dims_t bias_dims = {1, (dnnl_dim_t)s->n}, bias_strides = {(dnnl_dim_t)s->n, 1};
    bool fine = describe_matrix(&a, s->m, s->k, s->a_stride, s->a_transposed, s->inputs) && describe_b(&b, e) &&
                describe_matrix(&c, s->m, s->n, s->c_stride, false, s->output) &&
                describe(&bias, bias_dims, dnnl_f32, bias_strides) && attributes_of(&attributes, s) &&
                create(&made, engine, &a, &b, s->bias ? &bias : NULL, &c, attributes) &&
                dnnl_primitive_create(&e->primitive, made) == dnnl_success;
    if (fine) {
        DescriptionOf scratch = dnnl_primitive_desc_query_md(made, dnnl_query_scratchpad_md, 0);
        e->scratch_size = scratch ? size_of(scratch) : 0;
        fine = make_memory(&e->a, MEMORY(a), engine) &&
               make_b(e, dnnl_primitive_desc_query_md(made, dnnl_query_weights_md, 0), engine) &&
               make_memory(&e->c, MEMORY(c), engine) && (!s->bias || make_memory(&e->bias, MEMORY(bias), engine)) &&
               (!e->scratch_size || make_memory(&e->scratch, scratch, engine));
    }
    if (made)
        dnnl_primitive_desc_destroy(made);
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    forget(&a), forget(&b), forget(&c), forget(&bias);
    return fine;
}

static void release(struct MatmulEntry *e)
{
    dnnl_memory_t memories[] = {e->a, e->b, e->c, e->bias, e->scratch, e->plain};
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i])
            dnnl_memory_destroy(memories[i]);
    if (e->primitive)
        dnnl_primitive_destroy(e->primitive);
    *e = (struct MatmulEntry){.shape = e->shape, .held = e->held};
}

/* oneDNN chooses by the processor it runs on (and ONEDNN_MAX_CPU_ISA), not by what the program was built for. Its
 * instruction sets are bits, a larger set having all of a smaller one's. Where it has no instruction for bfloat16, it
 * has nothing that ours lacks. */
static bool knows(unsigned instructions)
{
    return ROWS_STAY && ((unsigned)dnnl_get_effective_cpu_isa() & instructions) == instructions;
}

bool matmul_open(Matmul *m, Error *e)
{
    dnnl_engine_t engine = NULL;
    dnnl_stream_t stream = NULL;
    *m = (Matmul){0};
#if defined MOST_ISA
    const CpuLevel *level = cpu_level(NULL);
    if (level && !strcmp(level->name, CPU_TEXT(CPU_LEVEL))) /* and not for its bf16 alone */
        (void)dnnl_set_max_cpu_isa(MOST_ISA); /* what a processor of this level computes is computed here, to the bit */
#endif
    const bool started = dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
                         dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
    m->engine = engine;
    m->stream = stream;
    if (!started)
        return fail(e, "oneDNN does not start on this processor; build without it: make ONEDNN=no");
    m->onednn[0] = knows(dnnl_cpu_isa_avx512_core);
    m->onednn[1] = knows(dnnl_cpu_isa_avx512_core_bf16);
    return true;
}

static void forget_entries(Matmul *m)
{
    for (size_t i = 0; i < m->count; i++)
        release(&m->entries[i]);
    m->count = 0;
}

void matmul_close(Matmul *m)
{
    forget_entries(m);
    for (size_t i = 0; i < m->copy_count; i++) {
        dnnl_memory_destroy(m->copies[i].memory);
        memory_free(m->copies[i].bytes);
    }
    memory_free(m->copies);
    memory_free(m->entries);
    memory_free(m->scratch);
    if (m->stream)
        dnnl_stream_destroy(m->stream);
    if (m->engine)
        dnnl_engine_destroy(m->engine);
    *m = (Matmul){0};
}

static bool same_shape(const MatmulShape *a, const MatmulShape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->a_stride == b->a_stride && a->b_stride == b->b_stride &&
           a->c_stride == b->c_stride && a->a_transposed == b->a_transposed && a->b_transposed == b->b_transposed &&
           a->add == b->add && a->bias == b->bias && a->inputs == b->inputs && a->output == b->output;
}

/* The prepared product of a shape; NULL when there is no memory for one. */
static struct MatmulEntry *entry_of(Matmul *m, const MatmulShape *shape, bool held)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->entries[i].held == held && same_shape(&m->entries[i].shape, shape))
            return &m->entries[i];
    if (m->count == MOST_ENTRIES)
        forget_entries(m);
    if (!memory_grow(&m->entries, &m->capacity, m->count + 1, sizeof *m->entries, "", NULL))
        return NULL;
    one_thread();
    struct MatmulEntry *e = &m->entries[m->count++];
    *e = (struct MatmulEntry){.shape = *shape, .held = held};
    if (!prepare(e, m->engine))
        release(e);
    return e;
}

/* --- operands that do not change --- */

static bool same_layout(dnnl_memory_t x, dnnl_memory_t y)
{
    DescriptionOf dx, dy;
    return dnnl_memory_get_memory_desc(x, &dx) == dnnl_success && dnnl_memory_get_memory_desc(y, &dy) == dnnl_success &&
           dnnl_memory_desc_equal(dx, dy);
}

static bool lay_out(dnnl_memory_t to, dnnl_memory_t from, const Matmul *m)
{
    DescriptionOf dto, dfrom;
    dnnl_primitive_desc_t made = NULL;
    dnnl_primitive_t reorder = NULL;
    bool fine = dnnl_memory_get_memory_desc(to, &dto) == dnnl_success &&
                dnnl_memory_get_memory_desc(from, &dfrom) == dnnl_success &&
                dnnl_reorder_primitive_desc_create(&made, dfrom, m->engine, dto, m->engine, NULL) == dnnl_success &&
                dnnl_primitive_create(&reorder, made) == dnnl_success;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    fine = fine && dnnl_primitive_execute(reorder, m->stream, 2, args) == dnnl_success;
    if (reorder)
        dnnl_primitive_destroy(reorder);
    if (made)
        dnnl_primitive_desc_destroy(made);
    return fine;
}

static const void *add_copy(Matmul *m, const struct MatmulEntry *e, const void *b)
{
    DescriptionOf wanted;
    struct MatmulCopy copy = {.of = b};
    if (!memory_grow(&m->copies, &m->copy_capacity, m->copy_count + 1, sizeof *m->copies, "", NULL) ||
        dnnl_memory_get_memory_desc(e->b, &wanted) != dnnl_success || !(copy.bytes = memory_get(size_of(wanted), 1)))
        return NULL;
    bool fine = make_memory(&copy.memory, wanted, m->engine) &&
                dnnl_memory_set_data_handle(copy.memory, copy.bytes) == dnnl_success &&
                dnnl_memory_set_data_handle(e->plain, (void *)(uintptr_t)b) == dnnl_success &&
                lay_out(copy.memory, e->plain, m);
    if (fine) {
        m->copies[m->copy_count++] = copy;
        return copy.bytes;
    }
    if (copy.memory)
        dnnl_memory_destroy(copy.memory);
    memory_free(copy.bytes);
    return NULL;
}

/* What a product reads of b: itself, or its copy; NULL where there is no memory for one. */
static const void *laid_out(Matmul *m, const struct MatmulEntry *e, const void *b)
{
    if (!e->plain)
        return b;
    for (size_t i = 0; i < m->copy_count; i++)
        if (m->copies[i].of == b && same_layout(m->copies[i].memory, e->b))
            return m->copies[i].bytes;
    return add_copy(m, e, b);
}

/* What oneDNN makes of a shape. Its ReLU is max(x, 0), which makes 0 of NaN, so that is done afterwards, and in the
 * same pass what comes before it, the bias, where c is not rounded in between. */
static MatmulShape without_relu(const MatmulShape *shape)
{
    MatmulShape s = *shape;
    s.bias = s.bias && !(s.relu && s.output == ELEMENT_F32);
    s.relu = false;
    return s;
}

static void run(Matmul *m, const MatmulShape *shape, void *c, const void *a, const void *b, const float *bias)
{
    const bool held = (const char *)b >= m->held && (const char *)b < m->held_end;
    const MatmulShape product = without_relu(shape);
    struct MatmulEntry *e = entry_of(m, &product, held);
    if (!e) { /* not by our own product: the same run would not give the same bits */
        m->failed = true;
        return;
    }
    if (!e->primitive) {
        run_blocked(m, shape, c, a, b, bias);
        return;
    }
    void *scratch = e->scratch_size ? scratch_of(m, e->scratch_size) : NULL;
    b = laid_out(m, e, b);
    m->failed = m->failed || !b;
    if ((e->scratch_size && !scratch) || !b)
        return;
    /* oneDNN's interface has no const, but only c and the scratch memory are written */
    dnnl_memory_set_data_handle(e->a, (void *)(uintptr_t)a);
    dnnl_memory_set_data_handle(e->b, (void *)(uintptr_t)b);
    dnnl_memory_set_data_handle(e->c, c);
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, e->a}, {DNNL_ARG_WEIGHTS, e->b}, {DNNL_ARG_DST, e->c}};
    int count = 3;
    if (e->bias) {
        dnnl_memory_set_data_handle(e->bias, (void *)(uintptr_t)bias);
        args[count++] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, e->bias};
    }
    if (scratch) {
        dnnl_memory_set_data_handle(e->scratch, scratch);
        args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, e->scratch};
    }
    m->failed = m->failed || dnnl_primitive_execute(e->primitive, m->stream, count, args) != dnnl_success;
    if (shape->relu)
        blocked_relu(shape, c, product.bias ? NULL : bias);
}

#else

bool matmul_open(Matmul *m, Error *e)
{
    (void)e;
    *m = (Matmul){0};
    return true;
}

void matmul_close(Matmul *m)
{
    memory_free(m->scratch);
    *m = (Matmul){0};
}

static void run(Matmul *m, const MatmulShape *shape, void *c, const void *a, const void *b, const float *bias)
{
    run_blocked(m, shape, c, a, b, bias);
}

#endif

void matmul_hold(Matmul *m, const void *from, size_t bytes)
{
    m->held = from;
    m->held_end = m->held + bytes;
}

/* Rows of many lengths would make a new shape with nearly each product, and preparing one may take as long as running
 * it. So positions, which are rows of `a` or what is summed over, are cut after the last whole BLOCK: then there are
 * few shapes. */
enum { BLOCK = 64 };

/* Where a product is cut; 0: nowhere. A sum is cut only where its first part is not rounded. */
static size_t cut_of(const MatmulShape *s)
{
    bool rounded = s->output != ELEMENT_F32 || s->bias || s->relu;
    size_t positions = s->a_transposed ? s->k : s->m;
    return positions % BLOCK && !(s->a_transposed && rounded) ? positions / BLOCK * BLOCK : 0;
}

static void run_cut(Matmul *m, const MatmulShape *shape, void *c, const void *a, const void *b, const float *bias)
{
    const size_t in = shape->inputs == ELEMENT_BF16 ? 2 : 4, out = shape->output == ELEMENT_BF16 ? 2 : 4;
    MatmulShape most = *shape, rest = *shape;
    size_t cut = cut_of(shape);
    const char *rest_a = (const char *)a + cut * shape->a_stride * in, *rest_b = b;
    char *rest_c = c;
    if (!cut) {
        run(m, shape, c, a, b, bias);
        return;
    }
    if (shape->a_transposed) { /* as for gradients of weights: the second part is added to the first */
        most.k = cut, rest.k = shape->k - cut, rest.add = true;
        rest_b += cut * (shape->b_transposed ? 1 : shape->b_stride) * in;
    } else {
        most.m = cut, rest.m = shape->m - cut;
        rest_c += cut * shape->c_stride * out;
    }
    run(m, &most, c, a, b, bias);
    run(m, &rest, rest_c, rest_a, rest_b, bias);
}

/* Our own product needs no preparation. oneDNN has operands that do not change laid out once, and splits long sums. The
 * gradient of a weight counts as short: ours splits it, too. */
bool matmul_is_ours(const Matmul *m, const MatmulShape *s, const void *b)
{
    enum { LONG = 512 }; /* units of 32 bits */
    const bool held = (const char *)b >= m->held && (const char *)b < m->held_end,
               is_long = !s->a_transposed && s->k * (s->inputs == ELEMENT_BF16 ? 2 : 4) > LONG * 4;
    const size_t type = s->inputs == ELEMENT_BF16;
    return !m->onednn[type] || !tuning_now.onednn[type][held ? PRODUCT_HELD : is_long ? PRODUCT_LONG : PRODUCT_SHORT];
}

void matmul_run(Matmul *m, const MatmulShape *shape, void *c, const void *a, const void *b, const float *bias)
{
    if (!shape->m || !shape->n)
        return;
    if (!shape->k || matmul_is_ours(m, shape, b))
        run_blocked(m, shape, c, a, b, bias);
    else
        run_cut(m, shape, c, a, b, bias);
}
