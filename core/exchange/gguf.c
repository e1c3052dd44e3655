/* See gguf.h. */
#include "core/exchange/gguf.h"

#include "base/file.h"
#include "base/memory.h"

#include <string.h>

enum { VERSION = 3, ALIGNMENT = 32, LONGEST_NAME = 63 };
enum { TYPE_U32 = 4, TYPE_I32 = 5, TYPE_F32 = 6, TYPE_BOOL = 7, TYPE_TEXT = 8, TYPE_ARRAY = 9 };
enum { TENSOR_F32 = 0 };

static void add_u32(Buffer *b, uint32_t value) { buffer_add(b, &value, sizeof value); }
static void add_u64(Buffer *b, uint64_t value) { buffer_add(b, &value, sizeof value); }

static void add_bytes(Buffer *b, const char *bytes, size_t size)
{
    add_u64(b, size);
    buffer_add(b, bytes, size);
}

static void begin(GgufKeys *g, const char *key, uint32_t type)
{
    g->count++;
    add_bytes(&g->bytes, key, strlen(key));
    add_u32(&g->bytes, type);
}

void gguf_u32(GgufKeys *g, const char *key, uint32_t value)
{
    begin(g, key, TYPE_U32);
    add_u32(&g->bytes, value);
}

void gguf_f32(GgufKeys *g, const char *key, float value)
{
    begin(g, key, TYPE_F32);
    buffer_add(&g->bytes, &value, sizeof value);
}

void gguf_bool(GgufKeys *g, const char *key, bool value)
{
    const unsigned char byte = value;
    begin(g, key, TYPE_BOOL);
    buffer_add(&g->bytes, &byte, 1);
}

void gguf_text(GgufKeys *g, const char *key, const char *value)
{
    begin(g, key, TYPE_TEXT);
    add_bytes(&g->bytes, value, strlen(value));
}

static void begin_array(GgufKeys *g, const char *key, uint32_t type, size_t count)
{
    begin(g, key, TYPE_ARRAY);
    add_u32(&g->bytes, type);
    add_u64(&g->bytes, count);
}

void gguf_texts(GgufKeys *g, const char *key, size_t count) { begin_array(g, key, TYPE_TEXT, count); }
void gguf_add_text(GgufKeys *g, const char *value, size_t size) { add_bytes(&g->bytes, value, size); }
void gguf_i32s(GgufKeys *g, const char *key, size_t count) { begin_array(g, key, TYPE_I32, count); }
void gguf_add_i32(GgufKeys *g, int32_t value) { buffer_add(&g->bytes, &value, sizeof value); }

static size_t padding(uint64_t size) { return (size_t)((ALIGNMENT - size % ALIGNMENT) % ALIGNMENT); }
static uint64_t size_of(const SafeTensor *t) { return safe_elements(t) * sizeof(float); }

static bool add_tensors(Buffer *b, const Tensors *t, Error *e)
{
    uint64_t at = 0;
    for (size_t i = 0; i < t->count; i++) {
        const SafeTensor *one = &t->list[i];
        if (strlen(one->name) > LONGEST_NAME)
            return fail(e, "GGUF: the name '%s' is longer than %d bytes", one->name, LONGEST_NAME);
        add_bytes(b, one->name, strlen(one->name));
        add_u32(b, (uint32_t)one->rank);
        for (size_t k = one->rank; k-- > 0;)
            add_u64(b, one->shape[k]);
        add_u32(b, TENSOR_F32);
        add_u64(b, at);
        at += size_of(one);
        at += padding(at);
    }
    return true;
}

static bool write_data(FileWriter *w, const Tensors *t, Error *e)
{
    static const char zeros[ALIGNMENT];
    for (size_t i = 0; i < t->count; i++) {
        const uint64_t size = size_of(&t->list[i]);
        if (!file_add(w, t->list[i].data, (size_t)size, e) || !file_add(w, zeros, padding(size), e))
            return false;
    }
    return file_end(w, e);
}

bool gguf_write(GgufKeys *g, const char *path, const Tensors *t, Error *e)
{
    static const char zeros[ALIGNMENT];
    Buffer header = {0};
    FileWriter w;
    buffer_add(&header, "GGUF", 4);
    add_u32(&header, VERSION);
    add_u64(&header, t->count);
    add_u64(&header, g->count);
    buffer_add(&header, g->bytes.text, g->bytes.size);
    bool fine = add_tensors(&header, t, e);
    buffer_add(&header, zeros, padding(header.size));
    if (fine && (header.failed || g->bytes.failed))
        fine = memory_error(e, "the header of a GGUF file", header.size, 1);
    fine = fine && file_begin_through(&w, path, e) && file_add(&w, header.text, header.size, e) && write_data(&w, t, e);
    buffer_free(&header);
    buffer_free(&g->bytes);
    return fine;
}
