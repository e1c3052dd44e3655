/* GGUF files, version 3: what llama.cpp reads. A header of keys with values, a list of tensors, and their data.
 *
 *     "GGUF" | u32 3 | u64 tensors | u64 keys
 *     each key:     text | u32 type | value         text: u64 bytes | the bytes
 *     each tensor:  text | u32 rank | u64 shape, the last index of ours first | u32 type | u64 offset in the data
 *     zeros up to a multiple of 32 | data, each tensor from a multiple of 32 on
 *
 * All little endian. Tensors are written as 32-bit floats. */
#ifndef CORE_EXCHANGE_GGUF_H
#define CORE_EXCHANGE_GGUF_H

#include "base/buffer.h"
#include "core/exchange/tensors.h"

/* The keys so far. Begins as (GgufKeys){0}. */
typedef struct GgufKeys {
    Buffer bytes;
    uint64_t count;
} GgufKeys;

void gguf_u32(GgufKeys *g, const char *key, uint32_t value);
void gguf_f32(GgufKeys *g, const char *key, float value);
void gguf_bool(GgufKeys *g, const char *key, bool value);
void gguf_text(GgufKeys *g, const char *key, const char *value);

/* An array: begin it, then add its `count` values. */
void gguf_texts(GgufKeys *g, const char *key, size_t count);
void gguf_add_text(GgufKeys *g, const char *value, size_t size);
void gguf_i32s(GgufKeys *g, const char *key, size_t count);
void gguf_add_i32(GgufKeys *g, int32_t value);

/* Writes the file and frees the keys, whatever comes of it. */
bool gguf_write(GgufKeys *g, const char *path, const Tensors *t, Error *e);

#endif
