/* See events.h. */
#include "core/plot/events.h"

#include "base/crc.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const char *const tags[LOG_COLUMNS] = {[LOG_LOSS] = "train/loss",
                                              [LOG_NORM] = "train/gradient_norm",
                                              [LOG_RATE] = "train/learning_rate",
                                              [LOG_SPEED] = "train/tokens_per_second",
                                              [LOG_VALID] = "validation/loss",
                                              [LOG_ACCURACY] = "validation/accuracy",
                                              [LOG_TOKEN] = "validation/perplexity_of_a_token",
                                              [LOG_WORD] = "validation/perplexity_of_a_word",
                                              [LOG_BLEU] = "validation/BLEU",
                                              [LOG_F1] = "validation/F1"};

static void add_fixed(Buffer *b, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        buffer_add(b, &(unsigned char){(unsigned char)(value >> 8 * i)}, 1);
}

static void add_checksum(Buffer *b, const void *bytes, size_t size)
{
    const uint32_t crc = crc_of(CRC_CASTAGNOLI, bytes, size);
    add_fixed(b, (crc >> 15 | crc << 17) + 0xa282ead8, 4);
}

static void add_frame(Buffer *b, const Buffer *event)
{
    Buffer length = {0};
    add_fixed(&length, event->size, 8);
    buffer_add(b, length.text, length.size);
    add_checksum(b, length.text, length.size);
    buffer_add(b, event->text, event->size);
    add_checksum(b, event->text, event->size);
    b->failed = b->failed || length.failed || event->failed;
    buffer_free(&length);
}

/* ---- protobuf: a field's number and kind, then its value */

typedef enum Wire { WIRE_NUMBER = 0, WIRE_DOUBLE = 1, WIRE_BYTES = 2, WIRE_FLOAT = 5 } Wire;

static void add_number(Buffer *b, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        add_fixed(b, (value & 0x7f) | 0x80, 1);
    add_fixed(b, value, 1);
}

static void add_key(Buffer *b, unsigned field, Wire wire) { add_number(b, field << 3 | wire); }

static void add_double(Buffer *b, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_key(b, field, WIRE_DOUBLE);
    add_fixed(b, bits, sizeof bits);
}

static void add_float(Buffer *b, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_key(b, field, WIRE_FLOAT);
    add_fixed(b, bits, sizeof bits);
}

static void add_bytes(Buffer *b, unsigned field, const void *bytes, size_t size)
{
    add_key(b, field, WIRE_BYTES);
    add_number(b, size);
    buffer_add(b, bytes, size);
}

static void add_event(Buffer *b, double time, double step, const char *tag, double value)
{
    Buffer one = {0}, summary = {0}, event = {0};
    add_bytes(&one, 1, tag, strlen(tag));
    add_float(&one, 2, (float)value);
    add_bytes(&summary, 1, one.text, one.size);
    add_double(&event, 1, time);
    add_key(&event, 2, WIRE_NUMBER);
    add_number(&event, (uint64_t)step);
    add_bytes(&event, 5, summary.text, summary.size);
    event.failed = event.failed || one.failed || summary.failed;
    add_frame(b, &event);
    buffer_free(&one);
    buffer_free(&summary);
    buffer_free(&event);
}

void events_add(Buffer *b, const Log *log, double start)
{
    static const char version[] = "brain.Event:2";
    Buffer first = {0};
    add_double(&first, 1, start);
    add_bytes(&first, 3, version, sizeof version - 1);
    add_frame(b, &first);
    buffer_free(&first);
    for (const LogLine *l = log->line; l < log->line + log->count; l++)
        for (int column = 0; column < LOG_COLUMNS; column++)
            if (!isnan(l->value[column]))
                add_event(b, start + l->seconds, l->step, tags[column], l->value[column]);
}
