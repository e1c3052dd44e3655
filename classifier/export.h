/* The formats of `classifier export`, each a folder. */
#ifndef CLASSIFIER_EXPORT_H
#define CLASSIFIER_EXPORT_H

#include "classifier/classifier.h"
#include "core/program/export.h"

/* A BERT or DistilBERT that Hugging Face's transformers loads; a graph that onnxruntime runs. */
bool classifier_export_hf(const Classifier *c, Export *x, Error *e);
bool classifier_export_onnx(const Classifier *c, Export *x, Error *e);

#endif
