/* safetensors files: named tensors after a JSON header. Our weights and states; other tools open them, too.
 *
 *     u64 N | header, N bytes: {"name": {"dtype": "F32", "shape": [..], "data_offsets": [from, to]}, ...,
 *     "__metadata__": {"key": "text"}} | data, little endian
 *
 * Reading trusts nothing in the file. Equal tensors and metadata give equal bytes. */
#ifndef CORE_RUN_SAFETENSORS_H
#define CORE_RUN_SAFETENSORS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SAFE_RANK = 8 };

typedef enum SafeType {
    SAFE_F64,
    SAFE_I64,
    SAFE_F32,
    SAFE_I32,
    SAFE_BF16,
    SAFE_F16, /* is converted where it is read */
    SAFE_I16, /* this and those below can be read as they are, but are not converted */
    SAFE_I8,
    SAFE_U8,
    SAFE_BOOL,
    SAFE_TYPES
} SafeType;

typedef struct SafeTensor {
    const char *name;
    SafeType type;
    size_t rank;
    size_t shape[SAFE_RANK];
    const void *data;  /* to write; NULL in a file that was opened */
    uint64_t from, to; /* bytes after the header; set by opening and writing */
} SafeTensor;

typedef struct SafeText {
    const char *key, *text;
} SafeText;

const char *safe_type_name(SafeType type); /* "F32" */
size_t safe_type_size(SafeType type);      /* bytes of one element */

/* Elements of a tensor: the product of its shape, 1 at rank 0. */
size_t safe_elements(const SafeTensor *t);

/* Writes the tensors (larger types first, else in the order given) and the metadata (NULL, 0: none of the caller's). A
 * text "format" is "pt" unless the caller gives another: what loads weights into PyTorch asks for it. */
bool safetensors_write(const char *path, const SafeTensor *tensors, size_t count, const SafeText *metadata,
                       size_t texts, Error *e);

/* Where data come from that are not all in memory: `size` bytes of a tensor, `from` bytes after its first; data is that
 * tensor's, and means what this function makes of it. */
typedef struct SafeSource {
    bool (*get)(void *self, const void *data, size_t from, void *bytes, size_t size, Error *e);
    void *self;
} SafeSource;

enum { SAFE_PIECE = 1 << 20 }; /* bytes that are asked for at once, at most: whole numbers, in the order of the file */

bool safetensors_write_from(const char *path, const SafeTensor *tensors, size_t count, const SafeText *metadata,
                            size_t texts, const SafeSource *source, Error *e);

typedef struct Safetensors Safetensors;

bool safetensors_open(Safetensors **file, const char *path, Error *e);
void safetensors_close(Safetensors *file); /* NULL is fine */

/* The tensors of a file in the order of their data. */
size_t safetensors_count(const Safetensors *file);
const SafeTensor *safetensors_at(const Safetensors *file, size_t i);

/* NULL when there is none of that name. */
const SafeTensor *safetensors_find(const Safetensors *file, const char *name);

/* Names begin otherwise from now on: of the pairs in map, "OLD=NEW,OLD=NEW", the first whose OLD a name begins with
 * puts NEW in its place. Refused: a pair that fits no name, and two tensors of one name. */
bool safetensors_rename(Safetensors *file, const char *map, Error *e);

/* Whether a text is such a list of pairs. */
bool safetensors_map_reads(const char *map, Error *e);

/* The metadata under a key; NULL when there is none. */
const char *safetensors_text(const Safetensors *file, const char *key);

/* Reads a tensor of this file into out, which has room for `elements` of type `as`: exactly those the tensor has.
 * F64, F32 and BF16 are converted into each other, and F16 into them; any other type must be what it is. */
bool safetensors_read(const Safetensors *file, const SafeTensor *tensor, SafeType as, void *out, size_t elements,
                      Error *e);

/* The first of some numbers, F32 or F64, that is NaN or infinite; count: there is none. */
size_t safe_nonfinite(SafeType type, const void *values, size_t count);

#endif
