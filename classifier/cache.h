/* Prepared texts are kept, so that the next start does not unpack and part them into words again.
 *
 * A cache is one file, $XDG_CACHE_HOME/attend/reviews-KEY (without that, $HOME/.cache/attend/...); it may be removed at
 * any time. KEY is made of the source and the names of the columns. A file as source counts by the SHA-256 of its
 * bytes and, where texts without labels are wanted, its name; a folder by where it is and by the names, lengths, inodes
 * and times of the files in it, which are not read for that. What a cache says is believed when its own checksum is
 * right; otherwise it is made again. Texts of less than CACHED_WORDS words have none, as they are read as fast. */
#ifndef CLASSIFIER_CACHE_H
#define CLASSIFIER_CACHE_H

#include "classifier/corpus.h"

enum { CACHED_WORDS = 1 << 17 };

typedef enum CacheUse {
    CACHE_NOT_USED,   /* not wanted, or too few words */
    CACHE_READ,       /* the texts come from it */
    CACHE_WRITTEN,    /* there was none, and there is one now */
    CACHE_REPLACED,   /* the one that was there was damaged */
    CACHE_NOT_WRITTEN /* there is no place for it */
} CacheUse;

/* corpus_read, or what it gave the last time. */
bool corpus_open(Corpus *c, const CorpusOptions *o, bool no_cache, CacheUse *use, Error *e);

#endif
