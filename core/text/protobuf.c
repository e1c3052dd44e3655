/* See protobuf.h. */
#include "core/text/protobuf.h"

#include <string.h>

/* 7 bits in each byte, the lowest first; a set high bit says that there are more. */
static bool read_varint(Bytes *b, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && b->size; shift += 7) {
        const unsigned char byte = (unsigned char)*b->at++;
        b->size--;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool read_fixed(Bytes *b, size_t size, uint64_t *value)
{
    if (b->size < size)
        return false;
    *value = 0;
    for (size_t i = 0; i < size; i++)
        *value |= (uint64_t)(unsigned char)b->at[i] << 8 * i;
    b->at += size;
    b->size -= size;
    return true;
}

static bool read_piece(Bytes *b, Bytes *piece)
{
    uint64_t size;
    if (!read_varint(b, &size) || size > b->size)
        return false;
    *piece = (Bytes){b->at, (size_t)size};
    b->at += size;
    b->size -= (size_t)size;
    return true;
}

static bool read_value(Bytes *b, Field *f)
{
    switch (f->kind) {
    case FIELD_INTEGER: return read_varint(b, &f->integer);
    case FIELD_8_BYTES: return read_fixed(b, 8, &f->integer);
    case FIELD_4_BYTES: return read_fixed(b, 4, &f->integer);
    case FIELD_BYTES: return read_piece(b, &f->bytes);
    default: return false; /* groups, which proto3 has not */
    }
}

bool protobuf_next(Message *m, Field *f)
{
    uint64_t tag;
    if (m->damaged || !m->rest.size)
        return false;
    *f = (Field){.number = 0};
    m->damaged = !read_varint(&m->rest, &tag);
    if (!m->damaged) {
        f->number = tag >> 3;
        f->kind = (FieldKind)(tag & 7);
        m->damaged = !f->number || !read_value(&m->rest, f);
    }
    return !m->damaged;
}

float field_float(const Field *f)
{
    const uint32_t bits = (uint32_t)f->integer;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
