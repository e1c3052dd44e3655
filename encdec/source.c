/* See source.h. */
#include "encdec/source.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/sha256.h"
#include "core/tensor/sites.h"
#include "core/text/archive.h"
#include "encdec/builtin.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SITE_HELD_OUT = SITE_DATA + 0x100, HELD_OUT_OF = 20, HELD_OUT_MOST = 1000, NAME = 1000 };

static const char *side_name(size_t side) { return side == SOURCE ? "source" : "target"; }

static const char *const packings[] = {"", ".gz", ".bz2", ".xz", ".zst", ".zip"};
enum { PACKINGS = sizeof packings / sizeof *packings };

void sentences_close(Sentences *s)
{
    for (size_t part = 0; part < SPLITS; part++)
        for (size_t side = 0; side < SIDES_USED; side++)
            lines_close(&s->side[part][side]);
    *s = (Sentences){0};
}

static bool read_lines(Lines *l, const char *path, Error *e)
{
    char *text;
    size_t size;
    return text_read(path, &text, &size, e) && lines_of_text(l, path, text, size, e);
}

/* --- a folder or an archive: files by their names --- */

/* The files of a source that are wanted, by their names in it. */
typedef struct Chosen {
    const SourceOptions *options;
    Sentences *s;
    char name[SPLITS][SIDES_USED][NAME];  /* empty: none */
    char rival[SPLITS][SIDES_USED][NAME]; /* another text in as few folders; empty: none */
    bool trees;                           /* there are files of trees */
} Chosen;

/* The length of a name without what says that it is packed. */
static size_t unpacked_length(const char *name) { return strlen(name) - text_packed_ending(name); }

/* The length of STEM in STEM.LANG or STEM.LANG.gz; 0: it is no such name. */
static size_t stem_length(const char *name, const char *language)
{
    size_t length = unpacked_length(name), suffix = strlen(language);
    bool fits = length > suffix + 1 && !memcmp(name + length - suffix, language, suffix);
    return fits && name[length - suffix - 1] == '.' ? length - suffix - 1 : 0;
}

static bool is(const char *name, size_t length, const char *word)
{
    return strlen(word) == length && !memcmp(name, word, length);
}

static Split part_of(const char *stem, size_t length)
{
    if (is(stem, length, "train"))
        return SPLIT_TRAIN;
    if (is(stem, length, "valid") || is(stem, length, "val") || is(stem, length, "dev"))
        return SPLIT_VALID;
    return length >= 4 && !memcmp(stem, "test", 4) ? SPLIT_TEST : SPLITS;
}

/* In how many folders of the source a file is. */
static size_t depth_of(const char *name)
{
    size_t depth = 0;
    for (const char *at = name; *at; at++)
        depth += *at == '/' && !(at == name + 1 && *name == '.');
    return depth;
}

/* Whether two names are those of one text, packed or not. */
static bool same_unpacked(const char *a, const char *b)
{
    const size_t length = unpacked_length(a);
    return length == unpacked_length(b) && !memcmp(a, b, length);
}

/* Of several files of a part the one in the fewest folders: old/train.en is not train.en. Of several in as many the
 * first by name, which of train.en and train.en.gz is the unpacked one, and the last other text is remembered. */
static void consider(Chosen *c, const char *name, size_t side)
{
    const char *base = path_name(name);
    size_t length = stem_length(base, c->options->language[side]);
    Split part = length ? part_of(base, length) : SPLITS;
    if (part == SPLITS || strlen(name) >= NAME || (part == SPLIT_TEST && !c->options->test))
        return;
    char *chosen = c->name[part][side], *rival = c->rival[part][side];
    const size_t depth = depth_of(name), least = *chosen ? depth_of(chosen) : SIZE_MAX;
    if (depth > least || !strcmp(name, chosen))
        return;
    const bool first = depth < least || strcmp(name, chosen) < 0;
    const char *other = depth < least ? "" : first ? chosen : name;
    if (depth < least || !same_unpacked(name, chosen))
        memcpy(rival, other, strlen(other) + 1);
    if (first)
        memcpy(chosen, name, strlen(name) + 1);
}

static bool choose_by_name(void *context, const char *name)
{
    Chosen *c = context;
    const size_t length = strlen(name);
    c->trees |= length > 4 && !strcmp(name + length - 4, ".mrg") && strcmp(name, path_name(c->options->path));
    for (size_t side = 0; side < SIDES_USED; side++)
        consider(context, name, side);
    return false;
}

static bool is_chosen(void *context, const char *name)
{
    const Chosen *c = context;
    for (size_t i = 0; i < SPLITS * SIDES_USED; i++)
        if (!strcmp(c->name[i / SIDES_USED][i % SIDES_USED], name))
            return true;
    return false;
}

static bool take_chosen(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    Chosen *c = context;
    for (size_t i = 0; i < SPLITS * SIDES_USED; i++) {
        Lines *to = &c->s->side[i / SIDES_USED][i % SIDES_USED];
        if (strcmp(c->name[i / SIDES_USED][i % SIDES_USED], name) || to->start)
            continue;
        char *copy = memory_get(size + 1, 1);
        if (!copy)
            return memory_error(e, name, size, 1);
        memcpy(copy, bytes, size);
        if (!lines_of_text(to, name, copy, size, e))
            return false;
    }
    return true;
}

static bool read_chosen(const Chosen *c, Error *e)
{
    if (!folder_exists(c->options->path))
        return entries_read(c->options->path, &(Entries){is_chosen, take_chosen, (void *)c}, e);
    for (size_t i = 0; i < SPLITS * SIDES_USED; i++) {
        const char *name = c->name[i / SIDES_USED][i % SIDES_USED];
        char *path = *name ? path_join(c->options->path, name) : NULL;
        bool done = !*name || ((path || memory_error(e, name, NAME, 1)) &&
                               read_lines(&c->s->side[i / SIDES_USED][i % SIDES_USED], path, e));
        memory_free(path);
        if (!done)
            return false;
    }
    return true;
}

/* A folder may have several sets to test or validate with, and the first is taken; of what is learned from there is
 * one. */
static bool is_clear(const Chosen *c, Split part, size_t side, Error *e)
{
    return part != SPLIT_TRAIN || !*c->rival[part][side] ||
           fail(e, "%s holds %s and %s: say which one is meant with --%s-source and --%s-target", c->options->path,
                c->name[part][side], c->rival[part][side], split_name(part), split_name(part));
}

/* Both sides of a part or none, and of the same name in the same folder. */
static bool sides_match(const Chosen *c, Split part, Error *e)
{
    const char *source = c->name[part][SOURCE], *target = c->name[part][TARGET];
    if (!*source && !*target)
        return true;
    if (!*source || !*target)
        return fail(e, "%s holds %s, but not its counterpart, a file of the same name that ends in .%s",
                    c->options->path, *source ? source : target, c->options->language[*source ? TARGET : SOURCE]);
    if (!is_clear(c, part, SOURCE, e) || !is_clear(c, part, TARGET, e))
        return false;
    const size_t length = stem_length(source, c->options->language[SOURCE]);
    return (length == stem_length(target, c->options->language[TARGET]) && !memcmp(source, target, length)) ||
           fail(e, "%s holds %s and %s, whose names differ; give the files with --%s-source and --%s-target",
                c->options->path, source, target, split_name(part), split_name(part));
}

/* With one language for both sides each file would be its own translation, and a model would learn to copy. */
static bool languages_differ(const SourceOptions *o, Error *e)
{
    return strcmp(o->language[SOURCE], o->language[TARGET]) ||
           fail(e,
                "--source and --target are both %s: each sentence would be its own translation. Name two languages, or "
                "give files with --train-source and --train-target, without --data",
                o->language[SOURCE]);
}

/* Files that the command line names come instead of those of a part: which these are doesn't matter then. */
static bool choose(Chosen *c, bool *chosen, Error *e)
{
    for (size_t part = 0; part < SPLITS; part++) {
        const char *const *named = c->options->file[part];
        *chosen |= *c->name[part][SOURCE] && *c->name[part][TARGET];
        if (named[SOURCE] && named[TARGET])
            *c->name[part][SOURCE] = *c->name[part][TARGET] = 0;
        else if (!sides_match(c, (Split)part, e) || (*c->name[part][SOURCE] && !languages_differ(c->options, e)))
            return false;
    }
    return true;
}

/* --- a table --- */

typedef struct Table {
    Sentences *s;
    const SourceOptions *options;
    size_t found;
} Table;

/* What a table is called in an archive; a file of its own is one whatever it is called. */
static bool may_be_table(void *context, const char *name)
{
    const Table *t = context;
    const char *base = path_name(name);
    size_t length = unpacked_length(base);
    bool by_name = length > 4 &&
                   (!strncasecmp(base + length - 4, ".tsv", 4) || !strncasecmp(base + length - 4, ".csv", 4) ||
                    !strncasecmp(base + length - 4, ".txt", 4));
    return (by_name && *base != '_') || !strcmp(base, path_name(t->options->path));
}

static bool take_table(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    Table *t = context;
    if (t->found++)
        return fail(e, "%s holds several tables, %s among them: unpack the one you mean", t->options->path, name);
    char *copy = memory_get(size + 1,
                            1); /* fields of a table are in its text, which is changed where they are quoted */
    if (!copy)
        return memory_error(e, name, size, 1);
    memcpy(copy, bytes, size);
    bool done = text_in_utf8(t->options->path, copy, size, e) && sentences_of_table(t->s, t->options, copy, size, e);
    memory_free(copy);
    return done;
}

static bool read_table(Sentences *s, const SourceOptions *o, Error *e)
{
    Table t = {s, o, 0};
    if (!entries_read(o->path, &(Entries){may_be_table, take_table, &t}, e))
        return false;
    return t.found || fail(e, "%s holds neither train.%s and train.%s nor a table (.tsv, .csv, .txt) of pairs", o->path,
                           o->language[SOURCE], o->language[TARGET]);
}

/* --- a prefix --- */

/* The file PREFIX.LANG, packed or not; *path NULL: there is none. */
static bool find_file(const char *prefix, const char *language, char **path, Error *e)
{
    *path = NULL;
    for (size_t i = 0; i < PACKINGS; i++) {
        Buffer b = {0};
        buffer_print(&b, "%s.%s%s", prefix, language, packings[i]);
        bool there = !b.failed && file_exists(b.text);
        *path = there ? memory_string(b.text) : NULL;
        bool failed = b.failed || (there && !*path);
        buffer_free(&b);
        if (failed)
            return memory_error(e, "a path", strlen(prefix), 1);
        if (there)
            return true;
    }
    return true;
}

static bool read_prefix(Sentences *s, const SourceOptions *o, Error *e)
{
    for (size_t side = 0; side < SIDES_USED; side++) {
        char *path;
        if (!find_file(o->path, o->language[side], &path, e))
            return false;
        bool done = path ? read_lines(&s->side[SPLIT_TRAIN][side], path, e)
                         : fail(e, "%s is neither a folder nor a file, and there is no %s.%s", o->path, o->path,
                                o->language[side]);
        memory_free(path);
        if (!done)
            return false;
    }
    return true;
}

static bool read_path(Sentences *s, const SourceOptions *o, Error *e)
{
    bool folder = folder_exists(o->path);
    Chosen *c = memory_get(1, sizeof *c);
    if (!c)
        return memory_error(e, "names of files", 1, sizeof *c);
    c->options = o;
    c->s = s;
    bool done = folder || file_exists(o->path), chosen = false;
    if (!done) {
        memory_free(c);
        return read_prefix(s, o, e);
    }
    done = entries_read(o->path, &(Entries){choose_by_name, NULL, c}, e) && choose(c, &chosen, e);
    if (done && chosen)
        done = read_chosen(c, e);
    else if (done && c->trees)
        done = fail(e, "%s holds files of trees (.mrg): they are read with --trees", o->path);
    else if (done && folder)
        done = fail(e, "the folder %s holds no train.%s and train.%s: give the languages with --source and --target",
                    o->path, o->language[SOURCE], o->language[TARGET]);
    else if (done)
        done = read_table(s, o, e);
    memory_free(c);
    return done;
}

/* --- files by name, and the built-in sentences --- */

static bool read_named(Sentences *s, const SourceOptions *o, Error *e)
{
    for (size_t part = 0; part < SPLITS; part++) {
        const char *const *file = o->file[part];
        if (!file[SOURCE] != !file[TARGET])
            return fail(e, "--%s-%s is given, but not --%s-%s: a part needs both sides", split_name((Split)part),
                        side_name(file[SOURCE] ? SOURCE : TARGET), split_name((Split)part),
                        side_name(file[SOURCE] ? TARGET : SOURCE));
        for (size_t side = 0; side < SIDES_USED && file[SOURCE] && (part != SPLIT_TEST || o->test); side++) {
            lines_close(&s->side[part][side]);
            if (!read_lines(&s->side[part][side], file[side], e))
                return false;
        }
    }
    return true;
}

static bool has_names(const SourceOptions *o)
{
    for (size_t i = 0; i < SPLITS * SIDES_USED; i++)
        if (o->file[i / SIDES_USED][i % SIDES_USED])
            return true;
    return false;
}

static bool write_builtin(Sentences *s, const SourceOptions *o, Error *e)
{
    static const size_t counts[SPLITS] = {BUILTIN_TRAINING, BUILTIN_VALID, BUILTIN_TEST};
    size_t english = !strcmp(o->language[SOURCE], "en") ? SOURCE : TARGET, number = 0;
    if (strcmp(o->language[english], "en") || strcmp(o->language[!english], "de"))
        return fail(e, "the built-in sentences are in en and de, not in %s and %s: give yours with --data",
                    o->language[SOURCE], o->language[TARGET]);
    for (size_t part = 0; part < SPLITS; part++)
        for (size_t i = 0; i < counts[part]; i++) {
            Buffer text[SIDES_USED] = {{0}, {0}};
            builtin_pair(&text[english], &text[!english], number++);
            bool done = (!text[0].failed && !text[1].failed) || memory_error(e, "a sentence", text[0].size, 1);
            for (size_t side = 0; done && side < SIDES_USED; side++)
                done = lines_add(&s->side[part][side], text[side].text, text[side].size, e);
            buffer_free(&text[0]);
            buffer_free(&text[1]);
            if (!done)
                return false;
        }
    return true;
}

/* --- what is to be true of all --- */

/* How a side of a part is called in messages. */
static const char *name_of(const SourceOptions *o, Split part, size_t side, char *name)
{
    if (o->file[part][side])
        return o->file[part][side];
    snprintf(name, NAME, "the %s side (%s) of %s", split_name(part), o->language[side],
             o->path ? o->path : "the built-in sentences");
    return name;
}

static bool sides_are_equal(const Sentences *s, const SourceOptions *o, Split part, Error *e)
{
    const Lines *side = s->side[part];
    char name[SIDES_USED][NAME];
    if (side[SOURCE].count == side[TARGET].count)
        return true;
    size_t shorter = side[SOURCE].count < side[TARGET].count ? SOURCE : TARGET;
    return fail(
        e,
        "%s ends after line %zu, but %s has %zu line%s: line i of one must be the translation of line i of the other",
        name_of(o, part, shorter, name[0]), side[shorter].count, name_of(o, part, !shorter, name[1]),
        side[!shorter].count, side[!shorter].count == 1 ? "" : "s");
}

/* Marks what is held out: of all orders of the pairs one is drawn, as far as that takes (Fisher and Yates). */
static bool draw_held_out(bool *held_out, size_t count, size_t wanted, uint32_t seed, Error *e)
{
    size_t *pair = memory_get(count, sizeof *pair);
    if (!pair)
        return memory_error(e, "pairs to hold out", count, sizeof *pair);
    for (size_t i = 0; i < count; i++)
        pair[i] = i;
    for (size_t i = 0; i < wanted; i++) {
        size_t k = i + (size_t)philox_below(count - i, seed, 0, i, SITE_HELD_OUT), drawn = pair[k];
        pair[k] = pair[i];
        held_out[drawn] = true;
    }
    memory_free(pair);
    return true;
}

/* Moves lines that are held out from one list to another. */
static bool part_lines(Lines *train, Lines *valid, const bool *held_out, Error *e)
{
    Lines kept = {0}, all = *train;
    bool done = true;
    lines_close(valid);
    for (size_t i = 0; done && i < all.count; i++) /* with a \r that may end it: lines_at takes it off, once */
        done = lines_add(held_out[i] ? valid : &kept, all.text + all.start[i], all.start[i + 1] - 1 - all.start[i], e);
    lines_close(&all);
    *train = kept;
    return done;
}

static bool hold_out(Sentences *s, uint32_t seed, Error *e)
{
    size_t count = s->side[SPLIT_TRAIN][SOURCE].count, wanted = count / HELD_OUT_OF;
    bool *held_out = memory_get(count, sizeof *held_out);
    if (!held_out)
        return memory_error(e, "pairs to hold out", count, sizeof *held_out);
    bool done = draw_held_out(held_out, count, wanted < HELD_OUT_MOST ? wanted : HELD_OUT_MOST, seed, e);
    for (size_t side = 0; done && side < SIDES_USED; side++)
        done = part_lines(&s->side[SPLIT_TRAIN][side], &s->side[SPLIT_VALID][side], held_out, e);
    memory_free(held_out);
    s->held_out = true;
    return done;
}

static bool add_checksum(Sentences *s, Error *e)
{
    Buffer sums = {0};
    for (size_t part = 0; part < SPLIT_TEST; part++)
        for (size_t side = 0; side < SIDES_USED; side++) {
            const Lines *l = &s->side[part][side];
            size_t size = l->count ? l->start[l->count] - 1 : 0; /* without the last line's end, which may be missing */
            buffer_print(&sums, "%s %zu %s\n", split_name((Split)part), l->count, sha256(l->text, size).text);
            s->bytes += size;
        }
    bool done = !sums.failed || memory_error(e, "checksums", sums.size, 1);
    if (done)
        memcpy(s->sha256, sha256(sums.text, sums.size).text, sizeof s->sha256);
    buffer_free(&sums);
    return done;
}

static bool read_all(Sentences *s, const SourceOptions *o, Error *e)
{
    const bool named = o->file[SPLIT_TRAIN][SOURCE] && o->file[SPLIT_TRAIN][TARGET];
    if (o->path && !o->treebank && !named && !languages_differ(o, e))
        return false;
    if (o->treebank && has_names(o))
        return fail(e, "--trees reads its parts from --data: leave out --train-source and what is like it");
    if (o->treebank ? !sentences_of_trees(s, o, e)
        : o->path   ? !read_path(s, o, e)
                    : !has_names(o) && !write_builtin(s, o, e))
        return false;
    if (!read_named(s, o, e))
        return false;
    for (size_t part = 0; part < SPLITS; part++)
        if (!sides_are_equal(s, o, (Split)part, e))
            return false;
    return add_checksum(s, e) && (s->side[SPLIT_VALID][SOURCE].count || hold_out(s, o->seed, e)) &&
           (!o->treebank || sentences_recombine(s, o, e));
}

bool sentences_read(Sentences *s, const SourceOptions *o, Error *e)
{
    *s = (Sentences){0};
    bool done = read_all(s, o, e);
    if (!done)
        sentences_close(s);
    return done;
}
