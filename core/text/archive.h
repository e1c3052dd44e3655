/* Text as it is published: plain files, or packed as .zip, .tar, .gz, .bz2, .xz or .zst. What a file is, its first
 * bytes say, not its name, also in a folder, in an archive and through a pipe; but what is named as packed and is not
 * is refused: its first bytes are damaged. Packed files need libarchive. */
#ifndef CORE_TEXT_ARCHIVE_H
#define CORE_TEXT_ARCHIVE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The whole text, with a zero byte after it that is not counted; to be freed with memory_free. An archive must hold
 * exactly one file. Half a text is an error, never a text; so is a damaged one, where its packing has a checksum, and
 * one that would fill memory (more than 200 times as large as what it is packed in, and than 64 MiB). */
bool text_read(const char *path, char **bytes, size_t *size, Error *e);

/* What is to be done with the files of a source. `name` is the path of a file in it: "aclImdb/train/pos/0_9.txt". */
typedef struct Entries {
    /* Whether a file is to be read at all; NULL: all are. */
    bool (*wanted)(void *context, const char *name);
    /* Takes one that was read; the bytes, with a zero byte after them, are gone afterwards. */
    bool (*take)(void *context, const char *name, const char *bytes, size_t size, Error *e);
    void *context;
} Entries;

/* Shows all files of an archive, in its order, or of a folder and those in it, by name; a single text, packed or not,
 * is one file of its own name, and so is a pipe. Texts of a folder or an archive may be packed one by one; an archive
 * of several in it is an error. What has a name or is in a folder that begins with a dot is left out, and so is a
 * folder in the one that is read that has config.json and checkpoints in it: a run. Half an archive is an error, though
 * files before the damage have been taken. */
bool entries_read(const char *path, const Entries *entries, Error *e);

/* For what reads a file as it is: whether it is not packed, or it is an error. */
bool text_is_plain(const char *path, Error *e);

/* How long the ending is by which a name says that a file is packed: of train.en.gz 3; 0: there is none. */
size_t text_packed_ending(const char *name);

/* For what reads a text as UTF-8: an error where it begins with the byte order mark of UTF-16. */
bool text_in_utf8(const char *name, const char *bytes, size_t size, Error *e);

/* Whether this build opens packed files. */
bool text_reads_archives(void);

#endif
