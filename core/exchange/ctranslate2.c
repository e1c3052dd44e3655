/* See ctranslate2.h. */
#include "core/exchange/ctranslate2.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"

#include <string.h>

enum { VERSION = 6, REVISION = 7 };
enum { TYPE_FLOAT = 0, TYPE_INT8 = 1, TYPE_INT16 = 2 };

static void add(Buffer *b, uint32_t value, size_t bytes) { buffer_add(b, &value, bytes); }

static void add_text(Buffer *b, const char *text)
{
    const size_t size = strlen(text) + 1;
    add(b, (uint32_t)size, 2);
    buffer_add(b, text, size);
}

static bool send(FileWriter *w, Buffer *b, Error *e)
{
    const bool fine = b->failed ? memory_error(e, "a variable's name", b->size, 1) : file_add(w, b->text, b->size, e);
    if (b->failed)
        file_abandon(w);
    b->size = 0;
    return fine;
}

static void add_tensor(Buffer *b, const SafeTensor *t)
{
    add_text(b, t->name);
    add(b, (uint32_t)t->rank, 1);
    for (size_t i = 0; i < t->rank; i++)
        add(b, (uint32_t)t->shape[i], 4);
    add(b, TYPE_FLOAT, 1);
    add(b, (uint32_t)(safe_elements(t) * sizeof(float)), 4);
}

static void add_number(Buffer *b, const Ct2Number *n)
{
    const uint32_t bytes = n->wide ? 2 : 1;
    add_text(b, n->name);
    add(b, 0, 1);
    add(b, n->wide ? TYPE_INT16 : TYPE_INT8, 1);
    add(b, bytes, 4);
    add(b, (uint32_t)n->value, bytes);
}

static bool write_all(const Ct2Model *m, FileWriter *w, Buffer *b, Error *e)
{
    add(b, VERSION, 4);
    add_text(b, "TransformerSpec");
    add(b, REVISION, 4);
    add(b, (uint32_t)(m->tensors->count + m->numbers), 4);
    for (size_t i = 0; i < m->tensors->count; i++) {
        const SafeTensor *t = &m->tensors->list[i];
        add_tensor(b, t);
        if (!send(w, b, e) || !file_add(w, t->data, safe_elements(t) * sizeof(float), e))
            return false;
    }
    for (size_t i = 0; i < m->numbers; i++)
        add_number(b, &m->number[i]);
    add(b, (uint32_t)m->aliases, 4);
    for (size_t i = 0; i < m->aliases; i++) {
        add_text(b, m->alias[i].name);
        add_text(b, m->alias[i].of);
    }
    return send(w, b, e) && file_end(w, e);
}

bool ct2_write(const Ct2Model *m, const char *path, Error *e)
{
    FileWriter w;
    Buffer b = {0};
    for (size_t i = 0; i < m->tensors->count; i++)
        if (safe_elements(&m->tensors->list[i]) > UINT32_MAX / sizeof(float))
            return fail(e, "%s: '%s' has more than 4 GiB, which CTranslate2's files cannot hold", path,
                        m->tensors->list[i].name);
    const bool fine = file_begin(&w, path, e) && write_all(m, &w, &b, e);
    buffer_free(&b);
    return fine;
}
