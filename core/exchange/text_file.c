/* See text_file.h. */
#include "core/exchange/text_file.h"

#include "base/file.h"
#include "base/memory.h"

bool text_file(const char *folder, const char *name, Buffer *text, Error *e)
{
    char *path = path_join(folder, name);
    const bool fine = file_write_buffer(path, text, e);
    memory_free(path);
    return fine;
}
