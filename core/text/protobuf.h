/* Reading messages of protocol buffers, as far as others' files need it: a message is a list of fields, each with a
 * number and a value that is an integer, 4 bytes, 8 bytes, or a piece of bytes (a text, or a message again).
 *
 *     for (Field f; protobuf_next(&message, &f);)
 *         if (f.number == 1 && f.kind == FIELD_BYTES)
 *             ... f.bytes ...
 *     if (message.damaged) ... */
#ifndef CORE_TEXT_PROTOBUF_H
#define CORE_TEXT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Bytes {
    const char *at;
    size_t size;
} Bytes;

typedef struct Message {
    Bytes rest;   /* what is not read yet */
    bool damaged; /* what was read is no message */
} Message;

typedef enum FieldKind { FIELD_INTEGER = 0, FIELD_8_BYTES = 1, FIELD_BYTES = 2, FIELD_4_BYTES = 5 } FieldKind;

typedef struct Field {
    uint64_t number;
    FieldKind kind;
    uint64_t integer; /* also the bits of 4 and 8 bytes */
    Bytes bytes;
} Field;

/* The next field; false: there is none, or what is there is none. */
bool protobuf_next(Message *m, Field *f);

/* The number that 4 bytes are. */
float field_float(const Field *f);

#endif
