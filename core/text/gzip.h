/* What is packed by gzip, unpacked by libarchive and compared with its own checksums, which libarchive only skips.
 *
 *     a member     1f 8b 08 .. | its packed bytes | their CRC-32 | how many they are, modulo 2^32
 *
 * A file may be several members one after the other, and libarchive does not say where one ends. But where another
 * may begin in the file, the eight bytes before it are what the member before it should come to: among these marks, one
 * is right when as many bytes as it says have the CRC that it says. */
#ifndef CORE_TEXT_GZIP_H
#define CORE_TEXT_GZIP_H

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

struct archive;
typedef struct Gzip Gzip;

const char *unpacking_failed_because(struct archive *a); /* libarchive's own words, or ours where it has none */

/* A file, or where there are bytes these, which the path is the name of in messages. NULL: an Error. */
FILE *packed_stream(const char *path, const char *bytes, size_t size, Error *e);

bool gzip_open(Gzip **g, const char *path, const char *bytes, size_t size, Error *e); /* the same */
void gzip_close(Gzip *g);                                                             /* NULL is fine */

/* Opens an archive over what comes out of it; libarchive's own status. Where nothing was packed, its format is
 * ARCHIVE_FORMAT_EMPTY, and it has no entry. */
int gzip_archive(Gzip *g, struct archive *a);

/* Whether all of it was what its checksums say; to be asked when the archive has been read. */
bool gzip_end(Gzip *g, Error *e);

#endif
