/* See export.h. */
#include "core/program/export.h"

#include "base/file.h"
#include "base/memory.h"

#include <string.h>

static bool read_weights(Tensors *t, const App *a, Error *e)
{
    const Kernels *k = kernels_find("plain", NUMBER_F32, e);
    Stream *s = NULL;
    Weights w = {0};
    bool fine = k && app_open_weights(a, k, &w, e) && k->open(&s, 1, e);
    for (size_t i = 0; fine && i < a->parameters->count; i++) {
        const Parameter *p = a->parameters->list[i];
        const size_t columns = p->rank == 2 ? p->shape[1] : 0;
        float *values = tensor_values(p->name, p->shape[0], columns, e);
        if (values)
            weights_get(&w, s, p, values);
        fine = tensors_add(t, p->name, values, p->shape[0], columns, e);
    }
    if (s)
        k->close(s);
    if (w.k)
        weights_close(&w);
    return fine;
}

static bool read_options(Json **model, const App *a, Error *e)
{
    Buffer text = {0};
    const bool fine = settings_json(a->command_line, OPTION_MODEL, &text, e) &&
                      json_read(model, text.text, text.size, "the options of the model", e);
    buffer_free(&text);
    return fine;
}

static bool is_free(const char *path, Error *e)
{
    char **names = NULL;
    size_t count = 0;
    if (file_exists(path))
        return fail(e, "--out %s is a file, not a folder", path);
    if (!folder_exists(path))
        return true;
    const bool fine = folder_list(path, &names, &count, e);
    folder_list_free(names, count);
    return fine && (!count || fail(e, "--out %s is not empty; give another folder", path));
}

static bool begin_folder(Export *x, Error *e)
{
    x->making = path_beside(x->to, ".export");
    return (x->making || memory_error(e, "a path", strlen(x->to), 1)) && folder_remove(x->making, e) &&
           folder_make(x->making, e);
}

bool export_open(Export *x, App *a, bool folder, Error *e)
{
    *x = (Export){.to = a->options->out};
    if ((!folder || is_free(x->to, e)) && read_options(&x->model, a, e) && read_weights(&x->weights, a, e) &&
        (!folder || begin_folder(x, e)))
        return true;
    return export_close(x, false, e);
}

bool export_close(Export *x, bool fine, Error *e)
{
    if (x->making && fine)
        fine = folder_replace(x->making, x->to, e);
    if (x->making && !fine)
        folder_remove(x->making, NULL);
    memory_free(x->making);
    json_free(x->model);
    tensors_close(&x->weights);
    *x = (Export){0};
    return fine;
}

bool export_tensors(const Export *x, const Tensors *t, Error *e)
{
    char *path = path_join(x->making, "model.safetensors");
    const bool fine = path ? safetensors_write(path, t->list, t->count, NULL, 0, e) : memory_error(e, "a path", 1, 1);
    memory_free(path);
    return fine;
}
