/* A table of pairs of sentences: the first byte chooses what its first line is, the rest is what follows. What was read
 * has as many lines on both sides, and is the same when it is written with all fields in quotes and read again. */
#include "encdec/source.h"
#include "base/buffer.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { HELD_OUT_OF = 20 }; /* of this many pairs one is held out, and then they are no longer in their order */

/* The last two are no headers, but rows. */
static const char *const heads[] = {"en\tde\n",          "de,id,en\n", "\"en\",\"de\"\r\n",
                                    "id\ten\tde\textra", "a\tb\n",     "a\t"};

static bool read_table(Sentences *s, const char *path, Error *e)
{
    return sentences_read(s, &(SourceOptions){.path = path, .language = {"en", "de"}, .seed = 7}, e);
}

/* With a return that may end it. */
static Line raw_line(const Lines *l, size_t i)
{
    return (Line){l->text + l->start[i], l->start[i + 1] - 1 - l->start[i]};
}

static void add_field(Buffer *b, Line line)
{
    buffer_add(b, "\"", 1);
    for (size_t i = 0; i < line.size; i++) {
        buffer_add(b, line.text + i, 1);
        if (line.text[i] == '"')
            buffer_add(b, line.text + i, 1);
    }
    buffer_add(b, "\"", 1);
}

static void expect_lines(const Lines *one, const Lines *other)
{
    DEMAND(one->count == other->count, "as many lines are read again");
    for (size_t i = 0; i < one->count; i++) {
        Line a = lines_at(one, i), b = lines_at(other, i);
        DEMAND(a.size == b.size && (!a.size || !memcmp(a.text, b.text, a.size)), "what is read again is equal");
    }
}

static void expect_again(const Sentences *s)
{
    const Lines *train = s->side[SPLIT_TRAIN];
    Buffer table = {0};
    Sentences again;
    Error e;
    buffer_print(&table, "\"en\",\"de\"\n");
    for (size_t i = 0; i < train[SOURCE].count; i++)
        for (size_t side = 0; side < SIDES_USED; side++) {
            add_field(&table, raw_line(&train[side], i));
            buffer_add(&table, side == SOURCE ? "," : "\n", 1);
        }
    DEMAND(!table.failed && file_write(fuzz_place(), table.text, table.size, &e), "a table can be written");
    DEMAND(read_table(&again, fuzz_place(), &e), "what is written is read");
    for (size_t side = 0; side < SIDES_USED; side++)
        expect_lines(&train[side], &again.side[SPLIT_TRAIN][side]);
    sentences_close(&again);
    buffer_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *head = heads[size ? data[0] % (sizeof heads / sizeof *heads) : 0];
    Buffer table = {0};
    Sentences s;
    Error e = {{0}};
    fuzz_begin();
    buffer_print(&table, "%s", head);
    if (size > 1)
        buffer_add(&table, data + 1, size - 1);
    if (read_table(&s, fuzz_file(table.text, table.size), &e)) {
        const Lines *train = s.side[SPLIT_TRAIN], *valid = s.side[SPLIT_VALID];
        DEMAND(train[SOURCE].count == train[TARGET].count && valid[SOURCE].count == valid[TARGET].count,
               "both sides have as many lines");
        DEMAND(valid[SOURCE].count == (train[SOURCE].count + valid[SOURCE].count) / HELD_OUT_OF,
               "one in 20 is held out");
        if (!valid[SOURCE].count)
            expect_again(&s);
        sentences_close(&s);
    } else
        fuzz_refused(&e);
    buffer_free(&table);
    fuzz_end(2 * size + 100);
    return 0;
}
