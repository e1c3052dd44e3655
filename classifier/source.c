/* Where texts come from: files in a folder for each class, or tables, from a folder or an archive; and where texts
 * without a label are wanted, files of any kind. */
#include "classifier/builtin.h"
#include "classifier/corpus.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/archive.h"
#include "core/text/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a file is, by its name. Where there are several kinds, the first of them counts. */
typedef enum Kind {
    IN_PART,  /* .../train/CLASS/FILE or .../test/CLASS/FILE */
    TABLE,    /* train.csv, reviews_test.tsv; or the only file of the source */
    IN_CLASS, /* .../CLASS/FILE */
    PLAIN,    /* any file: texts without a label */
    UNSUP,    /* .../unsup/FILE, of the Large Movie Review Dataset: a text without a label, beside any others */
    NOTHING
} Kind;

typedef struct File {
    size_t name, text, size; /* where they begin in Files.bytes */
    Kind kind;
} File;

typedef struct Files {
    const char *path;        /* being read */
    bool labels, unlabelled; /* what is wanted of it */
    bool prefixed, several;  /* whether "x-train" is a part, too; whether there are several tables */
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

/* How long the ending of "reviews.csv" or "reviews.tsv.gz" is; 0: it is not that of a table. */
static size_t table_ending(const char *name)
{
    enum { ENDING = 4 };
    const size_t packed = text_packed_ending(name), length = strlen(name) - packed;
    if (length <= ENDING)
        return 0;
    const char *ending = name + length - ENDING;
    return strncasecmp(ending, ".csv", ENDING) && strncasecmp(ending, ".tsv", ENDING) ? 0 : ENDING + packed;
}

static bool is_table(const char *name) { return table_ending(name) > 0; }

static bool is_alone(const Files *f, const char *name)
{
    return !folder_above(name, 1).length && is(folder_above(f->path, 0), folder_above(name, 0).name);
}

/* What a folder or a table is for, where its name says so. */
typedef enum Part { PART_UNNAMED, PART_TRAIN, PART_TEST, PART_VALID, PARTS } Part;

/* "test" is what "test" and "Test" are called and, where prefixes are allowed, "20news-bydate-test" and "x_test". */
static bool is_called(Folder name, const char *word, bool prefixed)
{
    const size_t size = strlen(word);
    if (name.length < size || strncasecmp(name.name + name.length - size, word, size) != 0)
        return false;
    return name.length == size || (prefixed && strchr("-_.", name.name[name.length - size - 1]));
}

static Part part_of(Folder name, bool prefixed)
{
    static const struct {
        const char *word;
        Part part;
    } words[] = {{"train", PART_TRAIN},      {"test", PART_TEST}, {"valid", PART_VALID},
                 {"validation", PART_VALID}, {"val", PART_VALID}, {"dev", PART_VALID}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_called(name, words[i].word, prefixed))
            return words[i].part;
    return PART_UNNAMED;
}

static size_t digits_at_end(Folder name)
{
    size_t count = 0;
    while (count < name.length && strchr("0123456789", name.name[name.length - count - 1]))
        count++;
    return count;
}

/* "train" of "train-1", "train2" and "train-00000-of-00002": a part may be in several tables. */
static Folder without_number(Folder name)
{
    static const char of[] = "-of-";
    const size_t size = sizeof of - 1, digits = digits_at_end(name);
    if (!digits)
        return name;
    name.length -= digits;
    if (name.length > size && !memcmp(name.name + name.length - size, of, size)) {
        name.length -= size;
        name.length -= digits_at_end(name);
    }
    if (name.length && strchr("-_.", name.name[name.length - 1]))
        name.length--;
    return name;
}

/* A single table is trained on, unless it is called just that: nothing is told apart by its name. */
static Part part_of_table(const Files *f, const char *name)
{
    Folder stem = folder_above(name, 0);
    stem.length -= table_ending(name);
    return part_of(f->several ? without_number(stem) : stem, f->several);
}

static bool is_test_table(const Files *f, const char *name)
{
    return is_table(name) && !is_alone(f, name) && part_of_table(f, name) == PART_TEST;
}

/* Where no labels are wanted. */
static Kind kind_without_label(const Files *f, const char *name)
{
    if (is(folder_above(name, 1), "unsup"))
        return UNSUP;
    return part_of(folder_above(name, 2), f->prefixed) == PART_TEST ||
                   part_of(folder_above(name, 1), f->prefixed) == PART_TEST || is_test_table(f, name)
               ? NOTHING
               : PLAIN;
}

/* A file directly in such a folder has no class. A class may well be called bullet_train. */
static bool is_part(Folder folder)
{
    return (folder.length == 5 && !strncasecmp(folder.name, "train", 5)) ||
           (folder.length == 4 && !strncasecmp(folder.name, "test", 4));
}

static Kind kind_of(const Files *f, const char *name)
{
    const Folder class = folder_above(name, 1);
    const Part part = part_of(folder_above(name, 2), f->prefixed);
    if (!strncmp(name, "__MACOSX/", 9))
        return NOTHING;
    if (!f->labels)
        return kind_without_label(f, name);
    if (is(class, "unsup"))
        return f->unlabelled ? UNSUP : NOTHING;
    if (part == PART_TRAIN || part == PART_TEST)
        return IN_PART;
    if (is_table(name) || (is_alone(f, name) && !f->unlabelled))
        return TABLE;
    if (class.length && !is_part(class))
        return IN_CLASS;
    return f->unlabelled ? PLAIN : NOTHING;
}

static bool wanted(void *context, const char *name)
{
    const Files *f = context;
    return kind_of(f, name) != NOTHING;
}

static bool take(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    Files *f = context;
    if (!memory_grow(&f->files, &f->capacity, f->count + 1, sizeof *f->files, f->path, e))
        return false;
    File *file = &f->files[f->count++];
    *file = (File){.name = f->bytes.size, .text = f->bytes.size + strlen(name) + 1, .size = size};
    file->kind = kind_of(f, name);
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

/* A file of a folder may be anything; a zero byte in one line of a table is replaced like any other
 * that is no text. */
static bool is_text(const Files *f, const File *file, Error *e)
{
    const char *name = f->bytes.text + file->name, *text = f->bytes.text + file->text;
    const bool alone = is_alone(f, name);
    Error why;
    if (!text_in_utf8(alone ? f->path : name, text, file->size, &why))
        return alone ? fail(e, "%s", why.text) : fail(e, "%s: %s", f->path, why.text);
    if (file->kind == TABLE || is_table(name) || !memchr(text, 0, file->size))
        return true;
    return alone ? fail(e, "%s has zero bytes in it, so it is no text: give another file", f->path)
                 : fail(e, "%s: %.200s has zero bytes in it, so it is no text: remove it", f->path, name);
}

static bool add_file(Files *f, const File *file, Error *e)
{
    const char *name = f->bytes.text + file->name;
    Folder class = folder_above(name, 1);
    const char *text = f->bytes.text + file->text;
    size_t mark = utf8_mark(text, file->size);
    return add_text(
        f,
        &(Labelled){.name = name,
                    .text = text + mark,
                    .size = file->size - mark,
                    .label = file->kind == PLAIN || file->kind == UNSUP ? NULL : class.name,
                    .label_size = class.length,
                    .test = file->kind == IN_PART && part_of(folder_above(name, 2), f->prefixed) == PART_TEST},
        e);
}

/* --- tables --- */

/* The columns: of texts and, where there are two, of labels. */
static bool open_table(Csv *csv, const Files *f, const File *file, const char *const *columns, size_t count, Error *e)
{
    Error why;
    if (csv_open(csv, f->bytes.text + file->name, f->bytes.text + file->text, file->size, columns, count, &why))
        return true;
    if (!csv->missing)
        return fail(e, "%s", why.text);
    const char *what = csv->missing == columns[0] ? "text" : "label";
    return fail(e, "%s. If another column holds the %ss, name it with --%s-column", why.text, what, what);
}

/* Without a label where none is there and none is needed. */
static bool add_table(Files *f, const File *file, const CorpusOptions *o, Error *e)
{
    const char *name = f->bytes.text + file->name;
    const char *const columns[] = {o->text_column ? o->text_column : "text",
                                   o->label_column ? o->label_column : "label"};
    bool row, test = is_test_table(f, name);
    Csv csv;
    CsvField field[2] = {{0}};
    size_t found = f->labels && open_table(&csv, f, file, columns, 2, e) ? 2 : f->unlabelled ? 1 : 0;
    if (!found || (found == 1 && !open_table(&csv, f, file, columns, 1, e)))
        return false;
    if (test && found == 1)
        return true; /* what tests is not pretrained on */
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
                                  .label = found == 2 ? field[1].text : NULL,
                                  .label_size = field[1].size,
                                  .test = test},
                      e))
            return false;
    }
}

/* --- files without labels --- */

static const char *after_line(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    return line_end ? line_end + 1 : end;
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at == end;
}

/* The texts of a file that is all there is: they are parted by empty lines or, where there is none between two texts,
 * each line is one. */
static bool add_parts(Files *f, const File *file, Error *e)
{
    const char *name = f->bytes.text + file->name, *start = f->bytes.text + file->text, *end = start + file->size;
    start += utf8_mark(start, file->size);
    bool parted = false, begun = false, closed = false;
    for (const char *at = start, *next; at < end; at = next) {
        next = after_line(at, end);
        const bool blank = is_blank(at, next);
        parted = parted || (closed && !blank);
        closed = begun && blank;
        begun = begun || !blank;
    }
    const char *from = NULL;
    size_t number = 0, first = 0;
    for (const char *at = start, *next = start; at <= end; at = next) {
        next = at < end ? after_line(at, end) : end + 1;
        const bool blank = at == end || is_blank(at, next);
        if (from && (blank || !parted)) {
            if (!add_text(f, &(Labelled){.name = name, .line = first, .text = from, .size = (size_t)(at - from)}, e))
                return false;
            from = NULL;
        }
        number++;
        if (!from && !blank) {
            from = at;
            first = number;
        }
    }
    return true;
}

static bool add_unlabelled(Files *f, const File *file, const CorpusOptions *o, Error *e)
{
    const char *name = f->bytes.text + file->name;
    if (is_table(name))
        return add_table(f, file, o, e);
    return is_alone(f, name) ? add_parts(f, file, e) : add_file(f, file, e);
}

/* --- parts --- */

/* What a name says depends on the others: "my-test" is any folder, unless something is called x-train, too. */
static void settle_kinds(Files *f, size_t first, size_t end)
{
    bool there[PARTS] = {false};
    size_t tables = 0;
    for (size_t i = first; i < end; i++) {
        const char *name = f->bytes.text + f->files[i].name;
        tables += is_table(name);
        for (int level = f->labels ? 2 : 1; level <= 2; level++)
            there[part_of(folder_above(name, level), true)] = true;
    }
    f->prefixed = there[PART_TRAIN] && there[PART_TEST];
    f->several = tables > 1;
    for (size_t i = first; i < end; i++)
        f->files[i].kind = kind_of(f, f->bytes.text + f->files[i].name);
}

static Part part_of_file(const Files *f, const File *file)
{
    const char *name = f->bytes.text + file->name;
    return file->kind == TABLE                               ? part_of_table(f, name)
           : file->kind == IN_PART || file->kind == IN_CLASS ? part_of(folder_above(name, 2), true)
                                                             : PART_UNNAMED;
}

static const char *first_of_part(const Files *f, size_t first, size_t end, Kind kind, Part part)
{
    for (size_t i = first; i < end; i++)
        if (f->files[i].kind == kind && part_of_file(f, &f->files[i]) == part)
            return f->bytes.text + f->files[i].name;
    return NULL;
}

/* By what files are called unpacked, and of these the unpacked one first. */
static int by_unpacked_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    const size_t m = strlen(x) - text_packed_ending(x), n = strlen(y) - text_packed_ending(y);
    const int order = memcmp(x, y, m < n ? m : n);
    return order ? order : m != n ? (m > n) - (m < n) : strcmp(x, y);
}

/* A table that is there packed and unpacked would be read twice. */
static bool tables_differ(const Files *f, size_t first, size_t end, Error *e)
{
    const char **names = memory_get(end - first, sizeof *names);
    size_t count = 0;
    if (!names)
        return memory_error(e, f->path, end - first, sizeof *names);
    for (size_t i = first; i < end; i++)
        if (f->files[i].kind == TABLE)
            names[count++] = f->bytes.text + f->files[i].name;
    qsort(names, count, sizeof *names, by_unpacked_name);
    bool differ = true;
    for (size_t i = 1; differ && i < count; i++) {
        const size_t length = strlen(names[i]) - text_packed_ending(names[i]);
        if (strlen(names[i - 1]) - text_packed_ending(names[i - 1]) == length &&
            !memcmp(names[i - 1], names[i], length))
            differ = fail(e, "%s holds both %.200s and %.200s: remove one of them", f->path, names[i - 1], names[i]);
    }
    memory_free(names);
    return differ;
}

/* One may train on tables of which none is called after a part; but where one is, what are the others? */
static bool tables_are_named(const Files *f, size_t first, size_t end, Error *e)
{
    const char *unnamed = first_of_part(f, first, end, TABLE, PART_UNNAMED);
    const bool named = first_of_part(f, first, end, TABLE, PART_TRAIN) ||
                       first_of_part(f, first, end, TABLE, PART_TEST);
    return !unnamed || !named ||
           fail(e,
                "%s holds several tables, and %.200s is called neither train nor test: call them train.csv and "
                "test.csv (or train-1.csv, train-2.csv: a part may have several), or give one table as --data",
                f->path, unnamed);
}

/* Texts that somebody has set aside are neither to be trained on nor to be ignored, and nobody would notice either. */
static bool parts_suit(const Files *f, size_t first, size_t end, Kind best, Error *e)
{
    const bool tables = best == TABLE && f->several;
    const char *valid = first_of_part(f, first, end, IN_CLASS, PART_VALID);
    valid = valid ? valid : first_of_part(f, first, end, TABLE, PART_VALID);
    if (valid && (tables || first_of_part(f, first, end, IN_PART, PART_TRAIN)))
        return fail(
            e,
            "%s: %.200s is of a validation part, but classifier holds out its own from the training part: leave "
            "that part out, or merge it into train",
            f->path, valid);
    return !tables || (tables_are_named(f, first, end, e) && tables_differ(f, first, end, e));
}

/* Files number `first` to `end` - 1, of one source: those of the best kind, and where they are wanted those without a
 * label. */
static bool add_files(Files *f, size_t first, size_t end, const CorpusOptions *o, Error *e)
{
    Kind best = NOTHING;
    const size_t before = f->text_count;
    settle_kinds(f, first, end);
    for (size_t i = first; i < end; i++)
        best = f->files[i].kind < best ? f->files[i].kind : best;
    if (best == PLAIN) /* the data set's own texts are not among lists of where they came from */
        for (size_t i = first; i < end; i++)
            best = f->files[i].kind == UNSUP ? UNSUP : best;
    if (best <= TABLE && !parts_suit(f, first, end, best, e))
        return false;
    for (size_t i = first; i < end; i++) {
        const File *file = &f->files[i];
        if (file->kind == NOTHING || (file->kind != best && file->kind != UNSUP))
            continue;
        if (!is_text(f, file, e))
            return false;
        if (!(file->kind == TABLE   ? add_table(f, file, o, e)
              : file->kind == PLAIN ? add_unlabelled(f, file, o, e)
                                    : add_file(f, file, e)))
            return false;
    }
    if (f->text_count > before)
        return true;
    return f->unlabelled ? fail(e, "%s holds no texts", f->path)
                         : fail(e,
                                "%s holds no labelled texts: no train/CLASS/FILE, no CLASS/FILE, and no table with "
                                "lines in it%s",
                                f->path, folder_exists(f->path) ? "; give an archive by its own name" : "");
}

static int by_name(const void *a, const void *b)
{
    const Labelled *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    return names ? names : (x->line > y->line) - (x->line < y->line);
}

static void begin_source(Files *f, const char *path, bool labels, const CorpusOptions *o)
{
    f->path = path;
    f->labels = labels;
    f->unlabelled = o->unlabelled;
    f->prefixed = f->several = false;
}

static bool read_source(Files *f, const char *path, bool labels, const CorpusOptions *o, Error *e)
{
    begin_source(f, path, labels, o);
    return entries_read(path, &(Entries){wanted, take, f}, e);
}

/* Texts point into the files, so these are all read before. */
static bool make(Files *f, Corpus *c, const char *path, const CorpusOptions *o, Error *e)
{
    const size_t own = f->count;
    bool done = !o->more || read_source(f, o->more, false, o, e);
    begin_source(f, path, true, o);
    done = done && add_files(f, 0, own, o, e);
    if (done && o->more) {
        begin_source(f, o->more, false, o);
        done = add_files(f, own, f->count, o, e);
    }
    if (done && o->path)
        qsort(f->texts, f->text_count, sizeof *f->texts, by_name); /* an archive may have them in any order */
    return done && corpus_make(c, path, f->texts, f->text_count, o, e);
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

bool corpus_read(Corpus *c, const CorpusOptions *o, Error *e)
{
    const char *path = o->path ? o->path : "the built-in reviews";
    Files f = {0};
    *c = (Corpus){0};
    begin_source(&f, path, true, o);
    bool done = (o->path ? read_source(&f, path, true, o, e) : write_builtin(&f, e)) && make(&f, c, path, o, e);
    memory_free(f.files);
    memory_free(f.texts);
    buffer_free(&f.bytes);
    return done;
}
