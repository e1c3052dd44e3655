/* safetensors: tensors and texts that are read, written and read again are equal. */
#include "core/run/safetensors.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static bool is_real(SafeType type) { return type == SAFE_F64 || type == SAFE_F32 || type == SAFE_BF16; }

/* Halves are only read. */
static bool reads_as(SafeType type, SafeType as)
{
    return as == type || (is_real(as) && (is_real(type) || type == SAFE_F16));
}

/* The bytes of a tensor, to be freed with memory_free. */
static void *bytes_of(const Safetensors *file, const SafeTensor *t)
{
    Error e;
    size_t n = safe_elements(t);
    void *bytes = memory_get(n, safe_type_size(t->type));
    DEMAND(bytes && n * safe_type_size(t->type) == t->to - t->from, "a shape covers its bytes");
    DEMAND(safetensors_read(file, t, t->type, bytes, n, &e), "a tensor of an opened file is read");
    return bytes;
}

static void read_as_others(const Safetensors *file, const SafeTensor *t)
{
    size_t n = safe_elements(t);
    double *wide = memory_get(n, sizeof *wide);
    Error e = {{0}};
    DEMAND(wide, "there is memory");
    for (SafeType as = 0; as < SAFE_TYPES; as++)
        DEMAND(safetensors_read(file, t, as, wide, n, &e) == reads_as(t->type, as),
               "real types are read as each other, halves as real types, and no others");
    DEMAND(!safetensors_read(file, t, t->type, wide, n + 1, &e), "no more is read than there is");
    fuzz_refused(&e);
    memory_free(wide);
}

static void expect_same(const Safetensors *a, const Safetensors *b)
{
    DEMAND(safetensors_count(a) == safetensors_count(b), "as many tensors are read again");
    for (size_t i = 0; i < safetensors_count(a); i++) {
        const SafeTensor *x = safetensors_at(a, i), *y = safetensors_find(b, x->name);
        DEMAND(y && x->type == y->type && x->rank == y->rank && !memcmp(x->shape, y->shape, x->rank * sizeof *x->shape),
               "a tensor is found again under its name");
        void *first = bytes_of(a, x), *second = bytes_of(b, y);
        DEMAND(!memcmp(first, second, x->to - x->from), "what is read again is equal");
        memory_free(first);
        memory_free(second);
    }
}

/* There is no list of the texts in a file: these are looked for. */
static const char *const keys[] = {"program", "model", "format", "step", ""};
enum { KEYS = sizeof keys / sizeof *keys };

static size_t texts_of(const Safetensors *file, SafeText *texts)
{
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++)
        if ((texts[count].text = safetensors_text(file, keys[i])))
            texts[count++].key = keys[i];
    return count;
}

static void write_again(const Safetensors *file)
{
    size_t count = safetensors_count(file);
    SafeText texts[KEYS], other[KEYS];
    SafeTensor *tensors = memory_get(count, sizeof *tensors);
    Safetensors *again;
    Error e;
    DEMAND(tensors, "there is memory");
    for (size_t i = 0; i < count; i++) {
        tensors[i] = *safetensors_at(file, i);
        tensors[i].data = bytes_of(file, &tensors[i]);
    }
    size_t found = texts_of(file, texts);
    DEMAND(safetensors_write(fuzz_place(), tensors, count, texts, found, &e), "what was read can be written");
    DEMAND(safetensors_open(&again, fuzz_place(), &e), "what is written is read");
    expect_same(file, again);
    if (!safetensors_text(file, "format"))
        texts[found++] = (SafeText){"format", "pt"}; /* it is added */
    DEMAND(texts_of(again, other) == found, "as many texts are read again");
    for (size_t i = 0; i < found; i++)
        DEMAND(!strcmp(safetensors_text(again, texts[i].key), texts[i].text), "a text is read again");
    safetensors_close(again);
    for (size_t i = 0; i < count; i++)
        memory_free((void *)tensors[i].data);
    memory_free(tensors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Safetensors *file;
    Error e = {{0}};
    fuzz_begin();
    if (safetensors_open(&file, fuzz_file(data, size), &e)) {
        for (size_t i = 0; i < safetensors_count(file); i++)
            read_as_others(file, safetensors_at(file, i));
        write_again(file);
        safetensors_close(file);
    } else {
        DEMAND(!file, "what is refused gives no file");
        fuzz_refused(&e);
    }
    fuzz_end(size);
    return 0;
}
