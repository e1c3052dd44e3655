/* See text_file.h. */
#include "core/exchange/text_file.h"

#include "base/file.h"
#include "base/memory.h"

bool text_file(const char *folder, const char *name, Buffer *text, Error *e)
{
    char *path = path_join(folder, name);
    const bool fine = path && !text->failed ? file_write(path, text->text, text->size, e)
                                            : memory_error(e, name, text->size, 1);
    memory_free(path);
    buffer_free(text);
    return fine;
}
