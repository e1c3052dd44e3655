/* See cache.h. The file: a Header; names of classes, each closed by a zero byte; letters of all words, likewise;
 * labels, lengths of texts, ids; a checksum of all that. Numbers are as this machine has them. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "classifier/cache.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "core/text/archive.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Another number for another way to part texts into words, or to tell parts of a source, too. */
static const char magic[16] = "attend reviews6";
static const uint64_t byte_order = 0x0102030405060708;

typedef struct Header {
    char magic[16];
    uint64_t byte_order;
    uint64_t classes, class_letters, words, letters, count, training, unlabelled, ids;
    char sha256[72]; /* of the corpus */
} Header;

/* --- where it is --- */

static bool no_file_is_read(void *context, const char *name)
{
    const void **c = context;
    const char *folder = c[0];
    Buffer *list = (Buffer *)c[1];
    struct stat s;
    char *path = path_join(folder, name);
    if (!path)
        list->failed = true;
    else if (!stat(path, &s))
        buffer_print(list, "%s %jd %ju %jd.%09ld %jd.%09ld\n", name, (intmax_t)s.st_size, (uintmax_t)s.st_ino,
                     (intmax_t)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, (intmax_t)s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
    memory_free(path);
    return false;
}

/* Files of the same names, lengths and times are others in another folder. */
static void add_place(Buffer *list, const char *folder)
{
    char *real = realpath(folder, NULL);
    buffer_print(list, "%s\n", real ? real : folder);
    free(real);
}

static bool fingerprint(const char *path, Sha256 *sum, Error *e)
{
    if (folder_exists(path)) {
        Buffer list = {0};
        const void *context[] = {path, &list};
        add_place(&list, path);
        bool done = entries_read(path, &(Entries){no_file_is_read, NULL, context}, e) &&
                    (!list.failed || memory_error(e, path, list.size, 1));
        if (done)
            *sum = sha256(list.text, list.size);
        buffer_free(&list);
        return done;
    }
    char *bytes;
    size_t size;
    if (!file_read(path, &bytes, &size, e))
        return false;
    *sum = sha256(bytes, size);
    memory_free(bytes);
    return true;
}

static bool can_be_read_twice(const char *path)
{
    struct stat s;
    return !stat(path, &s) && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode));
}

/* Where the cache of a source is, to be freed with memory_free; *path NULL: it has none. */
static bool cache_path(const CorpusOptions *o, char **path, Error *e)
{
    Buffer b = {0}, key = {0};
    Sha256 source, more;
    *path = NULL;
    folder_of_caches(&b);
    if (!b.size || !o->path || !can_be_read_twice(o->path) || (o->more && !can_be_read_twice(o->more))) {
        buffer_free(&b);
        return true;
    }
    bool done = fingerprint(o->path, &source, e) && (!o->more || fingerprint(o->more, &more, e));
    if (done) {
        buffer_print(&key, "%s\n%s\n%s\n%s\n", magic, source.text, o->text_column ? o->text_column : "text",
                     o->label_column ? o->label_column : "label");
        if (o->rule != WORDS_PLAIN)
            buffer_print(&key, "words of BERT%s\n", o->rule == WORDS_BERT ? "" : ", cased");
        if (o->unlabelled) /* whether such a file is a table, its name says */
            buffer_print(&key, "unlabelled %s\n%s\n%s\n", o->more ? more.text : "", path_name(o->path),
                         o->more ? path_name(o->more) : "");
        buffer_print(&b, "/reviews-%.24s", sha256(key.text, key.size).text);
        *path = b.failed || key.failed ? NULL : memory_string(b.text);
        done = *path || memory_error(e, "the name of a cache", b.size, 1);
    }
    buffer_free(&key);
    buffer_free(&b);
    return done;
}

/* --- writing --- */

/* Goes over a text eight bytes at a time. It is to notice damage, not malice. */
static uint64_t checksum(const char *bytes, size_t size)
{
    uint64_t sum = 0x9e3779b97f4a7c15 ^ size;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        sum = (sum ^ word) * 0xbf58476d1ce4e5b9;
        sum ^= sum >> 32;
    }
    return sum;
}

static void add_content(Buffer *b, const Corpus *c)
{
    Header h = {.byte_order = byte_order,
                .classes = c->class_count,
                .words = c->words.count,
                .letters = c->words.size,
                .count = c->count,
                .training = c->training,
                .unlabelled = c->unlabelled,
                .ids = c->start[c->count]};
    memcpy(h.magic, magic, sizeof h.magic);
    memcpy(h.sha256, c->sha256, sizeof c->sha256);
    for (size_t i = 0; i < c->class_count; i++)
        h.class_letters += strlen(c->classes[i]) + 1;
    buffer_add(b, &h, sizeof h);
    for (size_t i = 0; i < c->class_count; i++)
        buffer_add(b, c->classes[i], strlen(c->classes[i]) + 1);
    buffer_add(b, c->words.letters, c->words.size);
    buffer_add(b, c->labels, c->count * sizeof *c->labels);
    for (size_t i = 0; i < c->count; i++) {
        uint32_t length = (uint32_t)(c->start[i + 1] - c->start[i]);
        buffer_add(b, &length, sizeof length);
    }
    buffer_add(b, c->ids, c->start[c->count] * sizeof *c->ids);
}

static bool make_folder_of(const char *path, Error *e)
{
    char *folder = memory_string(path);
    if (!folder)
        return memory_error(e, path, strlen(path), 1);
    *strrchr(folder, '/') = 0;
    bool done = folder_make(folder, e);
    memory_free(folder);
    return done;
}

static bool write_cache(const Corpus *c, const char *path)
{
    Buffer b = {0};
    add_content(&b, c);
    uint64_t sum = b.failed ? 0 : checksum(b.text, b.size);
    buffer_add(&b, &sum, sizeof sum);
    bool done = !b.failed && make_folder_of(path, NULL) && file_write(path, b.text, b.size, NULL);
    buffer_free(&b);
    return done;
}

/* --- reading --- */

/* Takes this many things from what is left of a file; NULL: there are fewer. */
static const void *cut_off(const char **at, size_t *left, uint64_t count, size_t size)
{
    const char *from = *at;
    if (count > *left / size)
        return NULL;
    *at += count * size;
    *left -= count * size;
    return from;
}

static bool copy_classes(Corpus *c, const char *names, const Header *h)
{
    const char *end = names + h->class_letters;
    if (h->classes > h->class_letters)
        return false;
    c->classes = memory_get(h->classes + 1, sizeof *c->classes);
    for (; c->classes && c->class_count < h->classes; names += strlen(names) + 1) {
        if (names == end || !(c->classes[c->class_count] = memory_string(names)))
            return false;
        c->class_count++;
    }
    return c->classes && names == end;
}

static bool copy_words(Corpus *c, const char *letters, const Header *h)
{
    const char *end = letters + h->letters;
    if (!vocabulary_open(&c->words, NULL))
        return false;
    for (; letters < end; letters += strlen(letters) + 1)
        if (!vocabulary_add(&c->words, letters, strlen(letters), 0, NULL, NULL))
            return false;
    return c->words.count == h->words;
}

static bool copy_texts(Corpus *c, const int32_t *labels, const uint32_t *lengths, const int32_t *ids, const Header *h)
{
    c->labels = memory_get(h->count, sizeof *c->labels);
    c->start = memory_get(h->count + 1, sizeof *c->start);
    c->ids = memory_get(h->ids, sizeof *c->ids);
    if (!c->labels || !c->start || !c->ids || h->unlabelled > h->count || h->training > h->count - h->unlabelled)
        return false;
    memcpy(c->labels, labels, h->count * sizeof *labels);
    memcpy(c->ids, ids, h->ids * sizeof *ids);
    for (size_t i = 0; i < h->count; i++) {
        uint32_t length;
        memcpy(&length, &lengths[i], sizeof length);
        c->start[i + 1] = c->start[i] + length;
        if (i >= h->count - h->unlabelled ? c->labels[i] != -1
                                          : c->labels[i] < 0 || (size_t)c->labels[i] >= c->class_count)
            return false;
    }
    for (size_t i = 0; i < h->ids; i++) {
        if (c->ids[i] <= UNKNOWN || (size_t)c->ids[i] >= c->words.count)
            return false;
        c->words.counts[c->ids[i]]++;
    }
    c->count = h->count;
    c->training = h->training;
    c->unlabelled = h->unlabelled;
    c->capacity = h->ids;
    memcpy(c->sha256, h->sha256, sizeof c->sha256);
    return c->start[h->count] == h->ids;
}

/* False: it is damaged, or there is no memory; either way the source is read instead. */
static bool parse(Corpus *c, const char *bytes, size_t size)
{
    Header h;
    uint64_t sum;
    if (size < sizeof h + sizeof sum)
        return false;
    size_t left = size - sizeof sum;
    memcpy(&sum, bytes + left, sizeof sum);
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) || h.byte_order != byte_order || sum != checksum(bytes, left))
        return false;
    const char *at = bytes + sizeof h;
    left -= sizeof h;
    const char *classes = cut_off(&at, &left, h.class_letters, 1);
    const char *letters = classes ? cut_off(&at, &left, h.letters, 1) : NULL;
    const void *labels = letters ? cut_off(&at, &left, h.count, sizeof *c->labels) : NULL;
    const void *lengths = labels ? cut_off(&at, &left, h.count, sizeof(uint32_t)) : NULL;
    const void *ids = lengths ? cut_off(&at, &left, h.ids, sizeof *c->ids) : NULL;
    if (!ids || left || (h.class_letters && classes[h.class_letters - 1]) || !h.letters || letters[h.letters - 1])
        return false;
    return copy_classes(c, classes, &h) && copy_words(c, letters, &h) && copy_texts(c, labels, lengths, ids, &h);
}

static bool read_cache(Corpus *c, const char *path)
{
    char *bytes;
    size_t size;
    *c = (Corpus){0};
    if (!file_read(path, &bytes, &size, NULL))
        return false;
    bool done = parse(c, bytes, size);
    memory_free(bytes);
    if (!done)
        corpus_close(c);
    return done;
}

/* --- a source or its cache --- */

/* Labels become those of other classes; false: there is a class that they have not. */
static bool rename_classes(Corpus *c, const CorpusOptions *o)
{
    int32_t *now = memory_get(c->class_count, sizeof *now);
    char **names = memory_get(o->class_count, sizeof *names);
    bool done = now && names;
    for (size_t i = 0; done && i < c->class_count; i++) {
        size_t k = 0;
        while (k < o->class_count && strcmp(c->classes[i], o->classes[k]))
            k++;
        now[i] = (int32_t)k;
        done = k < o->class_count;
    }
    for (size_t i = 0; done && i < o->class_count; i++)
        done = (names[i] = memory_string(o->classes[i])) != NULL;
    for (size_t i = 0; done && i < c->count; i++)
        c->labels[i] = c->labels[i] < 0 ? -1 : now[c->labels[i]];
    memory_free(now);
    char **old = done ? c->classes : names;
    size_t count = done ? c->class_count : o->class_count;
    if (done) {
        c->classes = names;
        c->class_count = o->class_count;
    }
    for (size_t i = 0; old && i < count; i++)
        memory_free(old[i]);
    memory_free(old);
    return done;
}

static bool open_at(Corpus *c, const CorpusOptions *o, const char *path, CacheUse *use, Error *e)
{
    bool there = file_exists(path);
    if (there && read_cache(c, path)) {
        if (!o->classes || rename_classes(c, o)) {
            *use = CACHE_READ;
            return true;
        }
        corpus_close(c);
        return corpus_read(c, o, e); /* which says what is wrong */
    }
    if (!corpus_read(c, o, e))
        return false;
    if (!o->classes && c->start[c->count] >= CACHED_WORDS)
        *use = !write_cache(c, path) ? CACHE_NOT_WRITTEN : there ? CACHE_REPLACED : CACHE_WRITTEN;
    return true;
}

bool corpus_open(Corpus *c, const CorpusOptions *o, bool no_cache, CacheUse *use, Error *e)
{
    char *path = NULL;
    *c = (Corpus){0};
    *use = CACHE_NOT_USED;
    if (!no_cache && !cache_path(o, &path, e))
        return false;
    bool done = path ? open_at(c, o, path, use, e) : corpus_read(c, o, e);
    memory_free(path);
    return done;
}
