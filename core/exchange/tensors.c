/* See tensors.h. */
#include "core/exchange/tensors.h"

#include "base/memory.h"

#include <string.h>

float *tensor_values(const char *name, size_t rows, size_t columns, Error *e)
{
    const size_t count = columns && rows > SIZE_MAX / columns ? SIZE_MAX : rows * (columns ? columns : 1);
    float *values = memory_get(count, sizeof *values);
    if (!values)
        memory_error(e, name, count, sizeof *values);
    return values;
}

bool tensors_add(Tensors *t, const char *name, float *values, size_t rows, size_t columns, Error *e)
{
    char *own = values ? memory_string(name) : NULL;
    if (own && memory_grow(&t->list, &t->capacity, t->count + 1, sizeof *t->list, "tensors", e)) {
        t->list[t->count++] = (SafeTensor){
            .name = own, .type = SAFE_F32, .rank = columns ? 2 : 1, .shape = {rows, columns}, .data = values};
        return true;
    }
    if (values && !own)
        memory_error(e, "a name", strlen(name), 1);
    memory_free(own);
    memory_free(values);
    return false;
}

const SafeTensor *tensors_find(const Tensors *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->list[i].name, name))
            return &t->list[i];
    return NULL;
}

void tensors_close(Tensors *t)
{
    for (size_t i = 0; i < t->count; i++) {
        memory_free((char *)(uintptr_t)t->list[i].name);
        memory_free((void *)(uintptr_t)t->list[i].data);
    }
    memory_free(t->list);
    *t = (Tensors){0};
}
