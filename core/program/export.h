/* export: what a run holds, for programs that write it as files of other formats. */
#ifndef CORE_PROGRAM_EXPORT_H
#define CORE_PROGRAM_EXPORT_H

#include "core/exchange/sayable.h"
#include "core/exchange/tensors.h"
#include "core/program/app.h"

typedef struct Export {
    Tensors weights; /* those of the model, under our names; and its constants, such as sinusoids */
    Json *model;     /* its options, as config.json has them */
    const char *to;  /* --out */
    char *making;    /* the folder beside it in which it is made; NULL: --out is a file */
} Export;

/* Of a run whose model is open: a->run and a->parameters are there, --out was given. folder: what is written is one; it
 * may be there where it is empty. */
bool export_open(Export *x, App *a, bool folder, Error *e);

/* Where everything went well, the folder gets its name; else nothing is left of it. Passes `fine` on. */
bool export_close(Export *x, bool fine, Error *e);

/* Writes tensors into the folder, as model.safetensors. */
bool export_tensors(const Export *x, const Tensors *t, Error *e);

#endif
