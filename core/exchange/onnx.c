/* See onnx.h. Numbers of fields are those of onnx.proto. */
#include "core/exchange/onnx.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IR_VERSION = 8, OPERATORS = 17 };
static const uint64_t MOST = INT32_MAX; /* bytes of a message */

/* ---- protocol buffers: a field is its number and kind, then a number, or a length and bytes */

enum { KIND_NUMBER = 0, KIND_BYTES = 2, KIND_32 = 5 };

static void add_varint(Buffer *b, uint64_t value)
{
    do {
        const unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        buffer_add(b, &byte, 1);
        value >>= 7;
    } while (value);
}

static void add_number(Buffer *b, unsigned field, int64_t value)
{
    add_varint(b, field << 3 | KIND_NUMBER);
    add_varint(b, (uint64_t)value);
}

static void add_float(Buffer *b, unsigned field, float value)
{
    add_varint(b, field << 3 | KIND_32);
    buffer_add(b, &value, sizeof value);
}

static void add_length(Buffer *b, unsigned field, uint64_t size)
{
    add_varint(b, field << 3 | KIND_BYTES);
    add_varint(b, size);
}

static void add_text(Buffer *b, unsigned field, const char *text)
{
    add_length(b, field, strlen(text));
    buffer_add(b, text, strlen(text));
}

/* Adds a message as a field of another, and frees it. */
static void add_message(Buffer *b, unsigned field, Buffer *message)
{
    add_length(b, field, message->size);
    buffer_add(b, message->text, message->size);
    b->failed = b->failed || message->failed;
    buffer_free(message);
}

/* ---- values */

static OnnxValue named(const char *name)
{
    OnnxValue v;
    snprintf(v.name, sizeof v.name, "%s", name);
    return v;
}

static OnnxValue next(Onnx *g)
{
    OnnxValue v;
    snprintf(v.name, sizeof v.name, "v%zu", ++g->made);
    return v;
}

static void add_value(Buffer *to, unsigned field, const char *name, OnnxType type, const char *const *dims, size_t rank)
{
    Buffer shape = {0}, tensor = {0}, kind = {0}, value = {0};
    for (size_t i = 0; i < rank; i++) {
        Buffer dim = {0};
        char *end;
        const long size = strtol(dims[i], &end, 10);
        if (*end)
            add_text(&dim, 2, dims[i]);
        else
            add_number(&dim, 1, size);
        add_message(&shape, 1, &dim);
    }
    add_number(&tensor, 1, type);
    add_message(&tensor, 2, &shape);
    add_message(&kind, 1, &tensor);
    add_text(&value, 1, name);
    add_message(&value, 2, &kind);
    add_message(to, field, &value);
}

OnnxValue onnx_input(Onnx *g, const char *name, OnnxType type, const char *const *dims, size_t rank)
{
    add_value(&g->inputs, 11, name, type, dims, rank);
    return named(name);
}

/* data: kept where it is, or copied where own */
static OnnxValue constant(Onnx *g, OnnxValue v, OnnxType type, const void *data, size_t bytes, const size_t *shape,
                          size_t rank, bool own)
{
    Error ignored;
    OnnxConstant c = {.data = data, .bytes = bytes};
    if (!memory_grow(&g->constant, &g->capacity, g->constants + 1, sizeof *g->constant, "constants", &ignored) ||
        (own && !(c.own = memory_get(bytes, 1)))) {
        g->failed = true;
        return v;
    }
    if (own)
        memcpy(c.own, data, bytes), c.data = c.own;
    for (size_t i = 0; i < rank; i++)
        add_number(&c.about, 1, (int64_t)shape[i]);
    add_number(&c.about, 2, type);
    add_text(&c.about, 8, v.name);
    g->failed = g->failed || c.about.failed;
    g->constant[g->constants++] = c;
    return v;
}

OnnxValue onnx_floats(Onnx *g, const char *name, const float *values, const size_t *shape, size_t rank)
{
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= shape[i];
    return constant(g, named(name), ONNX_FLOAT, values, count * sizeof *values, shape, rank, false);
}

OnnxValue onnx_number(Onnx *g, double value)
{
    const float number = (float)value;
    return constant(g, next(g), ONNX_FLOAT, &number, sizeof number, NULL, 0, true);
}

OnnxValue onnx_integers(Onnx *g, const int64_t *values, size_t count)
{
    return constant(g, next(g), ONNX_INT64, values, count * sizeof *values, &count, 1, true);
}

OnnxValue onnx_integer(Onnx *g, int64_t value)
{
    return constant(g, next(g), ONNX_INT64, &value, sizeof value, NULL, 0, true);
}

/* ---- nodes */

enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };

static void end_attribute(Buffer *node, Buffer *attribute, int type)
{
    add_number(attribute, 20, type);
    add_message(node, 5, attribute);
}

static void add_int(Buffer *node, const char *name, int64_t value)
{
    Buffer a = {0};
    add_text(&a, 1, name);
    add_number(&a, 3, value);
    end_attribute(node, &a, ATTRIBUTE_INT);
}

static void add_ints(Buffer *node, const char *name, const int64_t *values, size_t count)
{
    Buffer a = {0};
    add_text(&a, 1, name);
    for (size_t i = 0; i < count; i++)
        add_number(&a, 8, values[i]);
    end_attribute(node, &a, ATTRIBUTE_INTS);
}

static void add_real(Buffer *node, const char *name, double value)
{
    Buffer a = {0};
    add_text(&a, 1, name);
    add_float(&a, 2, (float)value);
    end_attribute(node, &a, ATTRIBUTE_FLOAT);
}

/* A node that makes y of `count` values; attributes are added to it, then it is ended. */
static Buffer begin(const char *operator, const OnnxValue * inputs, size_t count, OnnxValue y)
{
    Buffer node = {0};
    for (size_t i = 0; i < count; i++)
        add_text(&node, 1, inputs[i].name);
    add_text(&node, 2, y.name);
    add_text(&node, 3, y.name);
    add_text(&node, 4, operator);
    return node;
}

static OnnxValue end(Onnx *g, Buffer *node, OnnxValue y)
{
    add_message(&g->nodes, 1, node);
    return y;
}

static OnnxValue plain(Onnx *g, const char *operator, const OnnxValue * inputs, size_t count)
{
    const OnnxValue y = next(g);
    Buffer node = begin(operator, inputs, count, y);
    return end(g, &node, y);
}

OnnxValue onnx_one(Onnx *g, const char *operator, OnnxValue a) { return plain(g, operator, & a, 1); }

OnnxValue onnx_two(Onnx *g, const char *operator, OnnxValue a, OnnxValue b)
{
    return plain(g, operator,(const OnnxValue[]){a, b}, 2);
}

OnnxValue onnx_three(Onnx *g, const char *operator, OnnxValue a, OnnxValue b, OnnxValue c)
{
    return plain(g, operator,(const OnnxValue[]){a, b, c}, 3);
}

OnnxValue onnx_reshape(Onnx *g, OnnxValue x, const int64_t *shape, size_t rank)
{
    return onnx_two(g, "Reshape", x, onnx_integers(g, shape, rank));
}

OnnxValue onnx_transpose(Onnx *g, OnnxValue x, const int64_t *order, size_t rank)
{
    const OnnxValue y = next(g);
    Buffer node = begin("Transpose", &x, 1, y);
    add_ints(&node, "perm", order, rank);
    return end(g, &node, y);
}

OnnxValue onnx_softmax(Onnx *g, OnnxValue x)
{
    const OnnxValue y = next(g);
    Buffer node = begin("Softmax", &x, 1, y);
    add_int(&node, "axis", -1);
    return end(g, &node, y);
}

OnnxValue onnx_mean(Onnx *g, OnnxValue x)
{
    static const int64_t last[] = {-1};
    const OnnxValue y = next(g);
    Buffer node = begin("ReduceMean", &x, 1, y);
    add_ints(&node, "axes", last, 1);
    add_int(&node, "keepdims", 1);
    return end(g, &node, y);
}

OnnxValue onnx_reduce(Onnx *g, const char *operator, OnnxValue x, int64_t axis)
{
    const OnnxValue y = next(g);
    const bool sum = !strcmp(operator, "ReduceSum"); /* whose axes are an input since version 13 */
    const OnnxValue inputs[] = {x, sum ? onnx_integers(g, &axis, 1) : x};
    Buffer node = begin(operator, inputs, sum ? 2 : 1, y);
    if (!sum)
        add_ints(&node, "axes", &axis, 1);
    add_int(&node, "keepdims", 0);
    return end(g, &node, y);
}

OnnxValue onnx_layer_norm(Onnx *g, OnnxValue x, OnnxValue gain, OnnxValue bias, double epsilon)
{
    const OnnxValue y = next(g);
    Buffer node = begin("LayerNormalization", (const OnnxValue[]){x, gain, bias}, bias.name[0] ? 3 : 2, y);
    add_int(&node, "axis", -1);
    add_real(&node, "epsilon", epsilon);
    return end(g, &node, y);
}

OnnxValue onnx_cast(Onnx *g, OnnxValue x, OnnxType type)
{
    const OnnxValue y = next(g);
    Buffer node = begin("Cast", &x, 1, y);
    add_int(&node, "to", type);
    return end(g, &node, y);
}

void onnx_output(Onnx *g, OnnxValue x, const char *name, const char *const *dims, size_t rank)
{
    const OnnxValue y = named(name);
    Buffer node = begin("Identity", &x, 1, y);
    end(g, &node, y);
    add_value(&g->outputs, 12, name, ONNX_FLOAT, dims, rank);
}

/* ---- the file */

static const char name_of_graph[] = "attend";

/* All of a constant but its data: the field, its length, and what is before the data. */
static void add_head(OnnxConstant *c)
{
    Buffer raw = {0};
    add_length(&raw, 9, c->bytes);
    add_length(&c->head, 5, c->about.size + raw.size + c->bytes);
    buffer_add(&c->head, c->about.text, c->about.size);
    buffer_add(&c->head, raw.text, raw.size);
    c->head.failed = c->head.failed || raw.failed;
    buffer_free(&raw);
}

static uint64_t size_of_graph(Onnx *g, const Buffer *name)
{
    uint64_t size = g->nodes.size + name->size + g->inputs.size + g->outputs.size;
    for (size_t i = 0; i < g->constants; i++) {
        OnnxConstant *c = &g->constant[i];
        add_head(c);
        size += c->head.size + c->bytes;
        g->failed = g->failed || c->head.failed;
    }
    return size;
}

static bool add_constants(FileWriter *w, const Onnx *g, Error *e)
{
    for (size_t i = 0; i < g->constants; i++) {
        const OnnxConstant *c = &g->constant[i];
        if (!file_add(w, c->head.text, c->head.size, e) || !file_add(w, c->data, c->bytes, e))
            return false;
    }
    return true;
}

static bool write_all(Onnx *g, const char *path, Buffer *first, Buffer *name, Buffer *last, Error *e)
{
    Buffer operators = {0};
    add_text(name, 2, name_of_graph);
    const uint64_t size = size_of_graph(g, name);
    add_number(first, 1, IR_VERSION);
    add_text(first, 2, "attend");
    add_length(first, 7, size);
    add_text(&operators, 1, "");
    add_number(&operators, 2, OPERATORS);
    add_message(last, 8, &operators);
    if (g->failed || g->nodes.failed || g->inputs.failed || g->outputs.failed || first->failed || name->failed ||
        last->failed)
        return memory_error(e, "an ONNX graph", g->nodes.size, 1);
    if (first->size + size + last->size > MOST)
        return fail(e, "%s: %s do not fit into one ONNX file, which holds 2 GiB at most", path, bytes_text(size).text);
    FileWriter w;
    return file_begin_through(&w, path, e) && file_add(&w, first->text, first->size, e) &&
           file_add(&w, g->nodes.text, g->nodes.size, e) && file_add(&w, name->text, name->size, e) &&
           add_constants(&w, g, e) && file_add(&w, g->inputs.text, g->inputs.size, e) &&
           file_add(&w, g->outputs.text, g->outputs.size, e) && file_add(&w, last->text, last->size, e) &&
           file_end(&w, e);
}

bool onnx_write(Onnx *g, const char *path, Error *e)
{
    Buffer first = {0}, name = {0}, last = {0};
    const bool fine = write_all(g, path, &first, &name, &last, e);
    buffer_free(&first);
    buffer_free(&name);
    buffer_free(&last);
    onnx_close(g);
    return fine;
}

void onnx_close(Onnx *g)
{
    for (size_t i = 0; i < g->constants; i++) {
        buffer_free(&g->constant[i].about);
        buffer_free(&g->constant[i].head);
        memory_free(g->constant[i].own);
    }
    memory_free(g->constant);
    buffer_free(&g->nodes);
    buffer_free(&g->inputs);
    buffer_free(&g->outputs);
    *g = (Onnx){0};
}
