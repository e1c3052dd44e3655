/* Writes safetensors: a header whose length makes the data begin at a multiple of 8, then the tensors without gaps,
 * larger types first, so that each is aligned to its own type. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "core/run/json.h"
#include "core/run/safetensors.h"

#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and this processor is not"
#endif

static const struct {
    const char *name;
    size_t size;
} types[SAFE_TYPES] = {
    [SAFE_F64] = {"F64", 8},   [SAFE_I64] = {"I64", 8},   [SAFE_F32] = {"F32", 4}, [SAFE_I32] = {"I32", 4},
    [SAFE_BF16] = {"BF16", 2}, [SAFE_F16] = {"F16", 2},   [SAFE_I16] = {"I16", 2}, [SAFE_I8] = {"I8", 1},
    [SAFE_U8] = {"U8", 1},     [SAFE_BOOL] = {"BOOL", 1},
};

const char *safe_type_name(SafeType type) { return types[type].name; }
size_t safe_type_size(SafeType type) { return types[type].size; }

size_t safe_elements(const SafeTensor *t)
{
    size_t elements = 1;
    for (size_t i = 0; i < t->rank; i++)
        elements *= t->shape[i];
    return elements;
}

/* Copies the list in the order of writing, and says where each tensor will be. */
static void place(SafeTensor *placed, const SafeTensor *tensors, size_t count)
{
    size_t next = 0;
    uint64_t at = 0;
    for (size_t size = 8; size > 0; size /= 2)
        for (size_t i = 0; i < count; i++) {
            if (types[tensors[i].type].size != size)
                continue;
            SafeTensor *t = &placed[next++];
            *t = tensors[i];
            t->from = at;
            t->to = at += safe_elements(t) * size;
        }
}

static void add_tensor(Buffer *b, const SafeTensor *t)
{
    json_add_key(b, t->name);
    buffer_print(b, "{\"dtype\": \"%s\", \"shape\": [", types[t->type].name);
    for (size_t i = 0; i < t->rank; i++)
        buffer_print(b, "%s%zu", i ? ", " : "", t->shape[i]);
    buffer_print(b, "], \"data_offsets\": [%llu, %llu]}", (unsigned long long)t->from, (unsigned long long)t->to);
}

/* What loads weights into PyTorch asks for a format, and refuses a file that names none. */
static void add_metadata(Buffer *b, const SafeText *metadata, size_t texts)
{
    bool said = false;
    for (size_t i = 0; i < texts; i++)
        said = said || !strcmp(metadata[i].key, "format");
    json_add_key(b, "__metadata__");
    buffer_add(b, "{", 1);
    if (!said)
        json_add_text(b, "format", "pt");
    for (size_t i = 0; i < texts; i++) {
        json_add_key(b, metadata[i].key);
        json_add_string(b, metadata[i].text);
    }
    buffer_add(b, "}", 1);
}

static int by_name(const void *a, const void *b)
{
    const SafeTensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Names stand in the file once each; `scratch` is room for the list. */
static bool names_differ(SafeTensor *scratch, const SafeTensor *tensors, size_t count, const char *path, Error *e)
{
    memcpy(scratch, tensors, count * sizeof *scratch);
    qsort(scratch, count, sizeof *scratch, by_name);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(scratch[i].name, "__metadata__") || (i && !strcmp(scratch[i].name, scratch[i - 1].name)))
            return fail(e, "cannot write %s: two tensors are named '%s'", path, scratch[i].name);
    return true;
}

static bool write_header(FileWriter *w, Buffer *b, Error *e)
{
    while (!b->failed && b->size % 8)
        buffer_add(b, " ", 1);
    if (b->failed) {
        file_abandon(w);
        return memory_error(e, "the header of a safetensors file", b->size, 1);
    }
    uint64_t size = b->size;
    return file_add(w, &size, sizeof size, e) && file_add(w, b->text, b->size, e);
}

static bool add_from(FileWriter *w, const SafeTensor *t, const SafeSource *source, void *piece, Error *e)
{
    const size_t all = (size_t)(t->to - t->from);
    for (size_t from = 0, size; from < all; from += size) {
        size = all - from < SAFE_PIECE ? all - from : SAFE_PIECE;
        if (!source->get(source->self, t->data, from, piece, size, e)) {
            file_abandon(w);
            return false;
        }
        if (!file_add(w, piece, size, e))
            return false;
    }
    return true;
}

static bool write_all(const char *path, const SafeTensor *placed, size_t count, Buffer *header,
                      const SafeSource *source, void *piece, Error *e)
{
    FileWriter w;
    if (!file_begin(&w, path, e) || !write_header(&w, header, e))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!(source ? add_from(&w, &placed[i], source, piece, e)
                     : file_add(&w, placed[i].data, (size_t)(placed[i].to - placed[i].from), e)))
            return false;
    return file_end(&w, e);
}

bool safetensors_write_from(const char *path, const SafeTensor *tensors, size_t count, const SafeText *metadata,
                            size_t texts, const SafeSource *source, Error *e)
{
    SafeTensor *placed = memory_get(count, sizeof *placed);
    void *piece = source ? memory_get(SAFE_PIECE, 1) : NULL;
    bool done = (placed && (piece || !source)) || memory_error(e, path, count, sizeof *placed);
    if (done && (!count || names_differ(placed, tensors, count, path, e))) {
        Buffer header = {0};
        place(placed, tensors, count);
        buffer_add(&header, "{", 1);
        add_metadata(&header, metadata, texts);
        for (size_t i = 0; i < count; i++)
            add_tensor(&header, &placed[i]);
        buffer_add(&header, "}", 1);
        done = write_all(path, placed, count, &header, source, piece, e);
        buffer_free(&header);
    } else {
        done = false;
    }
    memory_free(piece);
    memory_free(placed);
    return done;
}

bool safetensors_write(const char *path, const SafeTensor *tensors, size_t count, const SafeText *metadata,
                       size_t texts, Error *e)
{
    return safetensors_write_from(path, tensors, count, metadata, texts, NULL, e);
}
