/* A text that was made in memory, as a file of a folder. */
#ifndef CORE_EXCHANGE_TEXT_FILE_H
#define CORE_EXCHANGE_TEXT_FILE_H

#include "base/buffer.h"
#include "base/error.h"

/* Frees the text. */
bool text_file(const char *folder, const char *name, Buffer *text, Error *e);

#endif
