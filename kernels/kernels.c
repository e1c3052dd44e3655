/* Which backends this build has. */
#include "kernels/kernels.h"

#include "base/buffer.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/tuning.h"
#include "kernels/cuda/cuda.h"
#include "kernels/mine/mine.h"
#include "kernels/plain/plain.h"

#include <string.h>

/* The types of a backend are side by side. NULL: see table(). */
enum { CPU_F32 = 3, CPU_BF16 };
static const Kernels *const tables[] = {
    &plain_f32,    &plain_bf16,    &plain_f64,     [CPU_F32] = NULL, [CPU_BF16] = NULL,
#ifdef HAVE_CUDA
    &cuda_f32,     &cuda_bf16,     &cuda_tf32,
#endif
#ifdef HAVE_EMULATOR
    &emulated_f32, &emulated_bf16, &emulated_tf32,
#endif
#ifdef HAVE_CHECKED
    &checked_f32,  &checked_bf16,  &checked_tf32,
#endif
};

enum { TABLES = sizeof tables / sizeof *tables };

/* Which of cpu's it is depends on the processor. */
static const Kernels *table(size_t i)
{
    return i == CPU_F32 ? cpu_kernels(NUMBER_F32) : i == CPU_BF16 ? cpu_kernels(NUMBER_BF16) : tables[i];
}

/* What is not of the wanted type passes through memory here, much at once, because a device answers each time again. */
static void download(const Kernels *k, Stream *s, void *to, const void *from, size_t count, bool doubles)
{
    enum { AT_ONCE = 4096 };
    double some[AT_ONCE]; /* or twice as many floats */
    if (doubles == (k->real == sizeof(double))) {
        k->download(s, to, from, count * k->real);
        return;
    }
    for (size_t first = 0, n; first < count; first += n) {
        n = count - first < AT_ONCE ? count - first : AT_ONCE;
        k->download(s, some, (const char *)from + first * k->real, n * k->real);
        for (size_t i = 0; i < n; i++)
            if (doubles)
                ((double *)to)[first + i] = real_at(k, some, i);
            else
                ((float *)to)[first + i] = (float)real_at(k, some, i);
    }
}

void download_doubles(const Kernels *k, Stream *s, double *to, const void *from, size_t count)
{
    download(k, s, to, from, count, true);
}

void download_floats(const Kernels *k, Stream *s, float *to, const void *from, size_t count)
{
    download(k, s, to, from, count, false);
}

const char *number_type_name(NumberType type)
{
    static const char *const names[] = {"f32", "bf16", "f64", "tf32", "int8"};
    return type <= NUMBER_INT8 ? names[type] : "?";
}

static bool is_there(const Kernels *k, Error *e) { return !k->there || k->there(e); }

/* Says what there is instead: the types of the device, or where it is none of ours, the devices. */
static void not_found(const char *device, NumberType type, bool known, Error *e)
{
    Buffer there = {0};
    for (size_t i = 0; i < TABLES; i++) {
        bool first = i == 0 || strcmp(table(i)->backend, table(i - 1)->backend) != 0;
        if ((known ? strcmp(table(i)->backend, device) == 0 : first) && is_there(table(i), NULL))
            buffer_print(&there, "%s%s", there.size ? ", " : "",
                         known ? number_type_name(table(i)->type) : table(i)->backend);
    }
    const char *list = there.size && !there.failed ? there.text : "less";
    if (known)
        fail(e, "device %s does not support %s%s; it supports %s", device, number_type_name(type),
             type == NUMBER_F64 ? " (--device plain does)" : "", list);
    else
        fail(e, "there is no device '%s' in this build; it has %s", device, list);
    buffer_free(&there);
}

bool kernels_complete(Kernels *k, Error *e)
{
    const Kernels *plain = k->type == NUMBER_BF16 ? &plain_bf16 : k->type == NUMBER_F64 ? &plain_f64 : &plain_f32;
    const char *missing = NULL;
#define OPTIONAL_OPERATION(name, arguments, names)
#define OPERATION(name, arguments, names)                                                                              \
    k->name = !k->name && k->on_host ? plain->name : k->name;                                                          \
    missing = k->name ? missing : #name;
#include "kernels/operations.h"
    return !missing || fail(e, "device %s lacks the operation %s, so it cannot run a network", k->backend, missing);
}

static const Kernels *open_table(size_t i, Error *e)
{
    static Kernels whole[TABLES]; /* filled once: others may be reading it */
    Kernels k = *table(i);
    if (!is_there(&k, e) || (!whole[i].backend && !kernels_complete(&k, e)))
        return NULL;
    if (!whole[i].backend)
        whole[i] = k;
    return &whole[i];
}

/* f32 with another linear map. */
static const Kernels *find_int8(const char *device, Error *e)
{
    static Kernels rounding[2]; /* plain's, cpu's */
    const bool mine = strcmp(device, "mine") == 0;
    const Kernels *f32 = mine ? NULL : kernels_find(device, NUMBER_F32, e);
    if (!f32 && !mine)
        return NULL;
    if (!f32 || !f32->linear_int8) {
        fail(e, "device %s does not support int8; plain and cpu do", device);
        return NULL;
    }
    Kernels *k = &rounding[strcmp(device, "cpu") == 0];
    if (!k->backend) {
        *k = *f32;
        k->type = NUMBER_INT8;
        k->linear_forward = k->linear_int8;
        k->linear_backward = NULL;
    }
    return k;
}

const Kernels *kernels_find(const char *device, NumberType type, Error *e)
{
    bool known = false;
    if (type == NUMBER_INT8)
        return find_int8(device, e);
    if (strcmp(device, "mine") == 0)
        return mine_find(type, e);
    if (strcmp(device, "cpu") == 0 && !tuning_ready(e))
        return NULL;
    for (size_t i = 0; i < TABLES; i++) {
        if (strcmp(table(i)->backend, device) != 0)
            continue;
        if (table(i)->type == type)
            return open_table(i, e);
        known = true;
    }
    not_found(device, type, known, e);
    return NULL;
}

bool kernels_one_worker(const char *device)
{
    bool one = false;
    for (size_t i = 0; i < TABLES; i++)
        one = one || (table(i)->one_worker && !strcmp(table(i)->backend, device));
    return one;
}
