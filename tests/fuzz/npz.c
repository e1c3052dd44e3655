/* An archive of arrays: what opens lies within the file, each array with as many bytes as its elements take, and with
 * them alone. */
#include "core/exchange/npz.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Npz z;
    Error e = {{0}};
    fuzz_begin();
    if (npz_open(&z, fuzz_file(data, size), &e)) {
        for (size_t i = 0; i < z.count; i++) {
            const NpzArray *a = &z.array[i];
            DEMAND(a->data >= z.file && a->bytes <= z.size && a->data + a->bytes <= z.file + z.size,
                   "it is in the file");
            DEMAND(a->elements * (size_t)(a->type[1] - '0') <= a->bytes, "it has the bytes of its elements");
            DEMAND(npz_find(&z, a->name) == a, "no name is there twice");
            for (const NpzArray *b = z.array; b < a; b++)
                DEMAND(b->data + b->bytes <= a->data || a->data + a->bytes <= b->data, "no byte belongs to two");
        }
        npz_close(&z);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
