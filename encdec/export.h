/* The formats of `encdec export`, each a folder. */
#ifndef ENCDEC_EXPORT_H
#define ENCDEC_EXPORT_H

#include "core/program/export.h"
#include "encdec/encdec.h"

bool encdec_export_ctranslate2(Export *x, const EncDec *c, Error *e);
bool encdec_export_hf(Export *x, const EncDec *c, Error *e);
bool encdec_export_onnx(Export *x, const EncDec *c, Error *e);

/* A token as a text of JSON; all in the order of their ids, as a list of texts. Of two vocabularies there are two lists:
 * "shared_vocabulary.json" and "tokens.json" are then source_ and target_. */
void encdec_export_token(Buffer *b, const Subwords *p, int32_t id);
bool encdec_export_tokens(const Export *x, const Subwords *p, const char *name, Error *e);

#endif
