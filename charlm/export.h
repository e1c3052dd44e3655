/* The formats of `charlm export`. */
#ifndef CHARLM_EXPORT_H
#define CHARLM_EXPORT_H

#include "charlm/away.h"

/* A folder that Hugging Face's transformers loads; a file that llama.cpp loads; a folder with a graph that
 * onnxruntime runs. */
bool charlm_export_hf(const Away *w, Error *e);
bool charlm_export_gguf(const Away *w, Error *e);
bool charlm_export_onnx(const Away *w, Error *e);

#endif
