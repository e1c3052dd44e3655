/* Text as it is published: a plain file, or one packed as .zip, .tar, .gz, .bz2, .xz or .zst. */
#ifndef CORE_TEXT_ARCHIVE_H
#define CORE_TEXT_ARCHIVE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The whole text, with a zero byte behind it that is not counted; to be freed with memory_free. An archive must hold
 * exactly one file. Half a text is an error, never a text. Packed files need libarchive. */
bool text_read(const char *path, char **bytes, size_t *size, Error *e);

/* Whether this build opens packed files. */
bool text_reads_archives(void);

#endif
