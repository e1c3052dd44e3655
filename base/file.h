/* Files as a run needs them: read whole, written so that a crash leaves the old one or the new one. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "buffer.h"
#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* The whole file, with a zero byte after it that is not counted; to be freed with memory_free. What is no plain file
 * is refused: a pipe may never end. */
bool file_read(const char *path, char **bytes, size_t *size, Error *e);

/* The same of what a user names, which may be a pipe: it is read until it ends, and given up where it seems not to. */
bool file_read_any(const char *path, char **bytes, size_t *size, Error *e);

/* A line of a file, without its end. ended: false of what follows the last end. */
typedef struct FileLine {
    const char *path;
    char *text;
    size_t size, number; /* from 1 */
    bool ended;
} FileLine;

/* Reads a file and hands over one line after another, until one is refused. */
bool file_lines(const char *path, bool (*take)(void *context, const FileLine *line, Error *e), void *context, Error *e);

/* Written under a temporary name that begins with a dot, synced, renamed. What had the name before is gone: through a
 * link nothing is written. A device is refused. */
bool file_write(const char *path, const void *bytes, size_t size, Error *e);

/* The same of a text, which it frees. A path of NULL is one for which there was no memory. */
bool file_write_buffer(const char *path, Buffer *text, Error *e);

/* The same to where a user says: a link stays a link, and anything but a plain file (a pipe, /dev/stdout) is written
 * straight. */
bool file_write_through(const char *path, const void *bytes, size_t size, Error *e);

/* Both piece by piece: begin, add, ..., end, where a failed begin, add or end has already given everything up.
 * file_abandon removes what was written so far; after an end or a failure it does nothing. */
typedef struct FileWriter {
    void *stream;
    char *path;      /* where it will be */
    char *temporary; /* NULL: written straight */
} FileWriter;

bool file_begin(FileWriter *w, const char *path, Error *e);
bool file_begin_through(FileWriter *w, const char *path, Error *e);
bool file_add(FileWriter *w, const void *bytes, size_t size, Error *e);
bool file_add_at(FileWriter *w, uint64_t offset, const void *bytes, size_t size, Error *e); /* and back to the end */
bool file_end(FileWriter *w, Error *e);
void file_abandon(FileWriter *w);

/* Syncs a file or a folder that is there. */
bool file_sync(const char *path, Error *e);

bool file_exists(const char *path);
bool folder_exists(const char *path);
bool is_link(const char *path);

/* Whether both are there and are one. */
bool is_same_file(const char *path, const char *other);

/* Makes a folder and its parents; one that is there is fine. */
bool folder_make(const char *path, Error *e);

/* The same without its parents. */
bool folder_make_one(const char *path, Error *e);

/* Removes a folder and all in it; one that is not there is fine. Follows no links. */
bool folder_remove(const char *path, Error *e);

/* Calls for each path in a folder, in the order of names, until one call fails. */
bool folder_each(const char *path, bool (*call)(const char *inner, Error *e), Error *e);

/* Names in a folder without "." and "..", sorted; names and the list to be freed with folder_list_free. */
bool folder_list(const char *path, char ***names, size_t *count, Error *e);
void folder_list_free(char **names, size_t count);

/* Adds the folder of this user's caches, or nothing where no place for it is known: $XDG_CACHE_HOME/attend, without
 * that $HOME/.cache/attend. */
void folder_of_caches(Buffer *b);

/* FOLDER/NAME, to be freed with memory_free; NULL when there is no memory. */
char *path_join(const char *folder, const char *name);

/* NAME of FOLDER/NAME, within it. */
const char *path_name(const char *path);

/* Whether a name ends so, as in ".png". */
bool name_ends(const char *name, const char *ending);

/* The name beside PATH that begins with a dot and ends in `ending`: a/b -> a/.b.tmp; NULL when there is no memory. */
char *path_beside(const char *path, const char *ending);

/* Puts a folder under its final name, atomically for readers: the one already there is renamed away first and removed
 * afterwards (a crash between the two renames leaves it as .NAME.old). Both names are in the same parent, which is
 * synced. */
bool folder_replace(const char *temporary, const char *path, Error *e);

#endif
