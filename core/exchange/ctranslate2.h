/* model.bin as CTranslate2 reads it, version 6: variables under the names of a specification.
 *
 *     u32 6 | text name | u32 revision | u32 variables
 *     each variable:  text name | u8 rank | u32 shape | u8 type | u32 bytes | data
 *     u32 aliases | each: text its name | text whose variable it is
 *
 * A text is u16 its bytes and one | the bytes | 0. All little endian. */
#ifndef CORE_EXCHANGE_CTRANSLATE2_H
#define CORE_EXCHANGE_CTRANSLATE2_H

#include "core/exchange/tensors.h"

/* A variable of one number, of 8 or 16 bits. */
typedef struct Ct2Number {
    const char *name;
    int value;
    bool wide; /* 16 bits */
} Ct2Number;

typedef struct Ct2Alias {
    const char *name, *of;
} Ct2Alias;

typedef struct Ct2Model {
    const Tensors *tensors;
    const Ct2Number *number; /* [numbers] */
    size_t numbers;
    const Ct2Alias *alias; /* [aliases] */
    size_t aliases;
} Ct2Model;

/* Of a TransformerSpec. */
bool ct2_write(const Ct2Model *m, const char *path, Error *e);

#endif
