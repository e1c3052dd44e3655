/* A model of llm.c: of what opens, each tensor is read, and none is larger than the file. */
#include "core/exchange/llmc.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

static void read_tensor(Llmc *l, const char *name, size_t rows, size_t columns)
{
    Error e;
    float *values = l->source.read(&l->source, name, rows, columns, &e);
    DEMAND(values, "a tensor of an opened file is read");
    memory_free(values);
}

static void read_all(Llmc *l)
{
    const size_t d = l->dim;
    Error e = {{0}};
    read_tensor(l, "transformer.wte.weight", l->vocabulary, d);
    read_tensor(l, "wpe.weight", l->context, d);
    for (size_t b = 0; b < l->depth && b < 9; b++) {
        char name[64];
        snprintf(name, sizeof name, "transformer.h.%zu.mlp.c_proj.weight", l->depth - 1 - b);
        read_tensor(l, name, d, 4 * d);
    }
    read_tensor(l, "transformer.ln_f.bias", d, 0);
    DEMAND(!l->source.read(&l->source, "transformer.wte.weight", l->padded + 1, d, &e), "no row is made up");
    fuzz_refused(&e);
    DEMAND(!l->source.read(&l->source, "h.4096.ln_1.bias", d, 0, &e), "no block is made up");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Llmc l;
    Error e = {{0}};
    fuzz_begin();
    const char *path = fuzz_file(data, size);
    const bool is = llmc_is(path);
    if (llmc_open(&l, path, &e)) {
        DEMAND(is, "what opens is such a file");
        read_all(&l);
        llmc_close(&l);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
