/* Where labelled texts come from: files in a folder for each class, or tables; from a folder or an archive. */
#include "classifier/builtin.h"
#include "classifier/corpus.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "core/text/archive.h"
#include "core/text/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a file is, by its name. Where there are several kinds, the first of them counts. */
typedef enum Kind {
    IN_PART,  /* .../train/CLASS/FILE or .../test/CLASS/FILE */
    TABLE,    /* train.csv, test.tsv; or the only file of the source */
    IN_CLASS, /* .../CLASS/FILE */
    NOTHING
} Kind;

typedef struct File {
    size_t name, text, size; /* where they begin in Files.bytes */
    Kind kind;
} File;

typedef struct Files {
    const char *path;
    File *files;
    size_t count, capacity;
    Buffer bytes;
    Labelled *texts;
    size_t text_count, text_capacity;
} Files;

/* The folders above a file: level 1 holds it, level 2 holds that. */
typedef struct Folder {
    const char *name;
    size_t length;
} Folder;

static Folder folder_above(const char *name, int level)
{
    const char *end = name + strlen(name);
    for (;; level--) {
        const char *start = end;
        while (start > name && start[-1] != '/')
            start--;
        if (level == 0)
            return (Folder){start, (size_t)(end - start)};
        if (start == name)
            return (Folder){name, 0};
        end = start - 1;
    }
}

static bool is(Folder part, const char *name)
{
    return strlen(name) == part.length && !memcmp(part.name, name, part.length);
}

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), suffix = strlen(ending);
    return length > suffix && !strcasecmp(name + length - suffix, ending);
}

static Kind kind_of(const char *path, const char *name)
{
    Folder file = folder_above(name, 0), class = folder_above(name, 1), part = folder_above(name, 2);
    if (!strncmp(name, "__MACOSX/", 9))
        return NOTHING;
    if (is(part, "train") || is(part, "test"))
        return is(class, "unsup") ? NOTHING : IN_PART;
    if (ends_in(name, ".csv") || ends_in(name, ".tsv") || (!class.length && is(folder_above(path, 0), file.name)))
        return TABLE;
    return !class.length || is(class, "train") || is(class, "test") ? NOTHING : IN_CLASS;
}

static bool wanted(void *context, const char *name)
{
    const Files *f = context;
    return kind_of(f->path, name) != NOTHING;
}

static bool take(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    Files *f = context;
    if (!memory_grow(&f->files, &f->capacity, f->count + 1, sizeof *f->files, f->path, e))
        return false;
    File *file = &f->files[f->count++];
    *file = (File){.name = f->bytes.size, .text = f->bytes.size + strlen(name) + 1, .size = size};
    file->kind = kind_of(f->path, name);
    buffer_add(&f->bytes, name, strlen(name) + 1);
    buffer_add(&f->bytes, bytes, size);
    return !f->bytes.failed || memory_error(e, f->path, f->bytes.size + size, 1);
}

/* --- files to texts --- */

static bool add_text(Files *f, const Labelled *text, Error *e)
{
    if (!memory_grow(&f->texts, &f->text_capacity, f->text_count + 1, sizeof *f->texts, f->path, e))
        return false;
    f->texts[f->text_count++] = *text;
    return true;
}

static bool add_file(Files *f, const File *file, Error *e)
{
    const char *name = f->bytes.text + file->name;
    Folder class = folder_above(name, 1);
    const char *text = f->bytes.text + file->text;
    size_t mark = file->size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
    return add_text(f,
                    &(Labelled){.name = name,
                                .text = text + mark,
                                .size = file->size - mark,
                                .label = class.name,
                                .label_size = class.length,
                                .test = file->kind == IN_PART && is(folder_above(name, 2), "test")},
                    e);
}

static bool add_table(Files *f, const File *file, const CorpusOptions *o, Error *e)
{
    const char *name = f->bytes.text + file->name;
    const char *const columns[] = {o->text_column ? o->text_column : "text",
                                   o->label_column ? o->label_column : "label"};
    bool row, alone = is(folder_above(f->path, 0), name);
    bool test = !alone && !strncmp(folder_above(name, 0).name, "test.", 5);
    Csv csv;
    CsvField field[2];
    if (!csv_open(&csv, name, f->bytes.text + file->text, file->size, columns, 2, e))
        return false;
    for (;;) {
        if (!csv_next(&csv, field, &row, e))
            return false;
        if (!row)
            return true;
        if (!add_text(f,
                      &(Labelled){.name = name,
                                  .line = csv.line,
                                  .text = field[0].text,
                                  .size = field[0].size,
                                  .label = field[1].text,
                                  .label_size = field[1].size,
                                  .test = test},
                      e))
            return false;
    }
}

static bool add_files(Files *f, const CorpusOptions *o, Error *e)
{
    Kind best = NOTHING;
    for (size_t i = 0; i < f->count; i++)
        best = f->files[i].kind < best ? f->files[i].kind : best;
    for (size_t i = 0; i < f->count; i++) {
        if (f->files[i].kind == best &&
            !(best == TABLE ? add_table(f, &f->files[i], o, e) : add_file(f, &f->files[i], e)))
            return false;
    }
    return f->text_count > 0 ||
           fail(e, "%s holds no labelled texts: no train/CLASS/FILE, no CLASS/FILE, and no table with lines in it",
                f->path);
}

static int by_place(const void *a, const void *b)
{
    const Labelled *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    return names ? names : (x->line > y->line) - (x->line < y->line);
}

static bool read_files(Files *f, Corpus *c, const CorpusOptions *o, Error *e)
{
    if (!entries_read(o->path, &(Entries){wanted, take, f}, e) || !add_files(f, o, e))
        return false;
    qsort(f->texts, f->text_count, sizeof *f->texts, by_place); /* an archive may have them in any order */
    return corpus_make(c, o->path, f->texts, f->text_count, o, e);
}

/* --- the built-in reviews --- */

static bool write_builtin(Files *f, Error *e)
{
    for (size_t i = 0; i < BUILTIN_TRAINING + BUILTIN_TEST; i++) {
        Buffer review = {0};
        char name[60];
        builtin_review(&review, i);
        snprintf(name, sizeof name, "%s/%s/%05zu", i < BUILTIN_TRAINING ? "train" : "test", i % 2 ? "pos" : "neg", i);
        bool done = review.failed ? memory_error(e, "built-in reviews", review.size, 1)
                                  : take(f, name, review.text, review.size, e);
        buffer_free(&review);
        if (!done)
            return false;
    }
    return true;
}

static bool read_builtin(Files *f, Corpus *c, const CorpusOptions *o, Error *e)
{
    return write_builtin(f, e) && add_files(f, o, e) && corpus_make(c, f->path, f->texts, f->text_count, o, e);
}

bool corpus_read(Corpus *c, const CorpusOptions *o, Error *e)
{
    Files f = {.path = o->path ? o->path : "the built-in reviews"};
    *c = (Corpus){0};
    bool done = (o->path ? read_files : read_builtin)(&f, c, o, e);
    memory_free(f.files);
    memory_free(f.texts);
    buffer_free(&f.bytes);
    return done;
}
