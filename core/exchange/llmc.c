/* See llmc.h. */
#include "core/exchange/llmc.h"

#include "base/bf16.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 256, MAGIC = 20240326, FLOATS = 3, HALVES = 5 };

/* Sizes are limited so that no product of them overflows. */
enum { MOST_CONTEXT = 1 << 20, MOST_TOKENS = 1 << 24, MOST_BLOCKS = 1 << 12, MOST_WIDTH = 1 << 16 };

bool llmc_is(const char *path)
{
    int32_t magic = 0;
    FILE *f = fopen(path, "rb");
    const bool is = f && fread(&magic, sizeof magic, 1, f) == 1 && magic == MAGIC;
    if (f)
        fclose(f);
    return is;
}

/* The tensors in their order: rows and columns in widths of the model, 0 for a vector's columns. */
typedef struct Entry {
    const char *name;
    size_t rows, columns;
    bool each; /* block has one */
} Entry;

enum { ENTRIES = 16 };

static void list(const Llmc *l, Entry entries[ENTRIES])
{
    const size_t d = l->dim;
    const Entry all[ENTRIES] = {{"wte.weight", l->padded, d, false},
                                {"wpe.weight", l->context, d, false},
                                {"h.#.ln_1.weight", d, 0, true},
                                {"h.#.ln_1.bias", d, 0, true},
                                {"h.#.attn.c_attn.weight", 3 * d, d, true},
                                {"h.#.attn.c_attn.bias", 3 * d, 0, true},
                                {"h.#.attn.c_proj.weight", d, d, true},
                                {"h.#.attn.c_proj.bias", d, 0, true},
                                {"h.#.ln_2.weight", d, 0, true},
                                {"h.#.ln_2.bias", d, 0, true},
                                {"h.#.mlp.c_fc.weight", 4 * d, d, true},
                                {"h.#.mlp.c_fc.bias", 4 * d, 0, true},
                                {"h.#.mlp.c_proj.weight", d, 4 * d, true},
                                {"h.#.mlp.c_proj.bias", d, 0, true},
                                {"ln_f.weight", d, 0, false},
                                {"ln_f.bias", d, 0, false}};
    memcpy(entries, all, sizeof all);
}

static uint64_t elements(const Entry *x) { return (uint64_t)x->rows * (x->columns ? x->columns : 1); }

/* Whether a name is that of an entry, and of which block. */
static bool is_of(const Entry *x, const char *name, size_t blocks, size_t *block)
{
    const char *mark = strchr(x->name, '#');
    const size_t before = mark ? (size_t)(mark - x->name) : 0;
    char *end;
    *block = 0;
    if (!mark)
        return strcmp(x->name, name) == 0;
    if (strncmp(x->name, name, before) != 0)
        return false;
    *block = strtoul(name + before, &end, 10);
    return strcmp(mark + 1, end) == 0 && *block < blocks;
}

/* Where a tensor begins, in elements; an empty name: where all end. Whether there is one. */
static bool find(const Llmc *l, const char *name, Entry *entry, uint64_t *at)
{
    Entry entries[ENTRIES];
    list(l, entries);
    *at = 0;
    for (size_t i = 0, block; i < ENTRIES; i++) {
        *entry = entries[i];
        if (is_of(entry, name, l->depth, &block)) {
            *at += block * elements(entry);
            return true;
        }
        *at += (entry->each ? l->depth : 1) * elements(entry);
    }
    return false;
}

static bool read_values(Llmc *l, uint64_t at, float *values, size_t count, Error *e)
{
    FILE *f = l->file;
    Bf16 halves[512];
    if (fseeko(f, (off_t)(HEADER * sizeof(int32_t) + at * l->element), SEEK_SET) != 0)
        return fail(e, "cannot read %s", l->path);
    if (l->element == sizeof *values)
        return fread(values, sizeof *values, count, f) == count || fail(e, "%s: the file is too short", l->path);
    for (size_t done = 0, now; done < count; done += now) {
        now = count - done < 512 ? count - done : 512;
        if (fread(halves, sizeof *halves, now, f) != now)
            return fail(e, "%s: the file is too short", l->path);
        for (size_t i = 0; i < now; i++)
            values[done + i] = bf16_to_float(halves[i]);
    }
    return true;
}

static float *read(Source *s, const char *name, size_t rows, size_t columns, Error *e)
{
    static const char prefix[] = "transformer.";
    Llmc *l = (Llmc *)s;
    Entry entry;
    uint64_t at;
    const char *shorter = strncmp(name, prefix, sizeof prefix - 1) ? name : name + sizeof prefix - 1;
    const bool there = find(l, shorter, &entry, &at), table = there && !entry.each && entry.rows == l->padded && !at;
    if (!there || entry.columns != columns || (table ? rows > entry.rows : rows != entry.rows)) {
        fail(e, "%s: tensor '%s' is not [%zu%s%.0zu] there", l->path, shorter, rows, columns ? ", " : "", columns);
        return NULL;
    }
    if (table)
        l->left_out = l->padded - rows;
    float *values = tensor_values(name, rows, columns, e);
    if (values && read_values(l, at, values, rows * (columns ? columns : 1), e))
        return values;
    memory_free(values);
    return NULL;
}

static bool take_size(size_t *size, int32_t value, int most, const char *what, const char *path, Error *e)
{
    *size = (size_t)value;
    return (value >= 1 && value <= most) || fail(e, "%s: %s is %d, not from 1 to %d", path, what, (int)value, most);
}

static bool read_header(Llmc *l, const char *path, Error *e)
{
    int32_t h[HEADER];
    FILE *f = l->file;
    if (fread(h, sizeof h, 1, f) != 1 || h[0] != MAGIC)
        return fail(e, "%s is not a model of llm.c, or its header is damaged", path);
    if (h[1] != FLOATS && h[1] != HALVES)
        return fail(e, "%s: version %d of llm.c's files; 3 (32-bit floats) and 5 (bf16) are known", path, (int)h[1]);
    l->element = h[1] == FLOATS ? sizeof(float) : sizeof(Bf16);
    return take_size(&l->context, h[2], MOST_CONTEXT, "the context", path, e) &&
           take_size(&l->vocabulary, h[3], MOST_TOKENS, "the number of tokens", path, e) &&
           take_size(&l->depth, h[4], MOST_BLOCKS, "the number of blocks", path, e) &&
           take_size(&l->heads, h[5], MOST_WIDTH, "the number of heads", path, e) &&
           take_size(&l->dim, h[6], MOST_WIDTH, "the width", path, e) &&
           take_size(&l->padded, h[7], MOST_TOKENS, "the number of rows", path, e) &&
           (l->padded >= l->vocabulary || fail(e, "%s: its table has fewer rows than there are tokens", path));
}

static bool has_its_size(Llmc *l, const char *path, Error *e)
{
    Entry entry;
    uint64_t end;
    FILE *f = l->file;
    find(l, "", &entry, &end);
    const uint64_t wanted = HEADER * sizeof(int32_t) + end * l->element;
    const off_t size = fseeko(f, 0, SEEK_END) ? -1 : ftello(f);
    return (size >= 0 && (uint64_t)size == wanted) ||
           fail(e, "%s has %lld bytes; a model of the size in its header has %llu", path, (long long)size,
                (unsigned long long)wanted);
}

bool llmc_open(Llmc *l, const char *path, Error *e)
{
    *l = (Llmc){.source = {read, path}, .path = memory_string(path), .file = fopen(path, "rb")};
    if (l->path && l->file && read_header(l, path, e) && has_its_size(l, path, e))
        return true;
    if (!l->path)
        memory_error(e, "a path", strlen(path), 1);
    else if (!l->file)
        fail(e, "cannot read %s", path);
    llmc_close(l);
    return false;
}

void llmc_close(Llmc *l)
{
    if (l->file)
        fclose(l->file);
    memory_free(l->path);
    *l = (Llmc){.path = NULL};
}
