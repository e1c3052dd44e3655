/* JSON: a text that is read, written by our own writer and read again is the same tree. */
#include "core/run/json.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

static void write_value(Buffer *b, const Json *j)
{
    switch (j->kind) {
    case JSON_NULL: buffer_print(b, "null"); return;
    case JSON_BOOL: buffer_print(b, "%s", j->truth ? "true" : "false"); return;
    case JSON_NUMBER: json_add_number(b, j->number); return;
    case JSON_STRING: json_add_bytes(b, j->text, j->size); return;
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    buffer_print(b, j->kind == JSON_ARRAY ? "[" : "{");
    for (size_t i = 0; i < j->count; i++) {
        json_add_key(b, j->items[i].key);
        write_value(b, &j->items[i]);
    }
    buffer_print(b, j->kind == JSON_ARRAY ? "]" : "}");
}

/* A number beyond those there are is infinite, and written as null. */
static bool same_number(const Json *a, const Json *b)
{
    if (!isfinite(a->number))
        return b->kind == JSON_NULL;
    return b->kind == JSON_NUMBER && !(a->number < b->number) && !(a->number > b->number) &&
           !signbit(a->number) == !signbit(b->number);
}

static bool same(const Json *a, const Json *b)
{
    if (!a->key != !b->key || (a->key && strcmp(a->key, b->key)))
        return false;
    if (a->kind == JSON_NUMBER)
        return same_number(a, b);
    if (a->kind != b->kind || a->truth != b->truth || a->size != b->size || a->count != b->count ||
        (a->size && memcmp(a->text, b->text, a->size)))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same(&a->items[i], &b->items[i]))
            return false;
    return true;
}

/* What others ask of a tree. */
static void ask(const Json *j)
{
    int64_t integer;
    if (json_integer(j, &integer))
        DEMAND(j->kind == JSON_NUMBER && fabs(j->number - (double)integer) <= fabs(j->number) * 0x1p-52,
               "an integer is its number");
    DEMAND(!j->text || !j->text[j->size], "a text is closed by a zero byte");
    for (size_t i = 0; i < j->count; i++) {
        ask(&j->items[i]);
        if (j->kind == JSON_OBJECT)
            DEMAND(json_get(j, j->items[i].key) == &j->items[i], "a member is found by its key");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Json *first, *second;
    Buffer text = {0};
    Error e = {{0}};
    fuzz_begin();
    if (json_read(&first, (const char *)data, size, "input", &e)) {
        ask(first);
        write_value(&text, first);
        DEMAND(!text.failed && json_read(&second, text.text, text.size, "output", &e), "what is written is read");
        DEMAND(same(first, second), "what is read again is equal");
        json_free(second);
        json_free(first);
        buffer_free(&text);
    } else {
        DEMAND(!first, "what is refused gives no tree");
        fuzz_refused(&e);
    }
    fuzz_end(size);
    return 0;
}
