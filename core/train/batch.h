/* The rows of one step, on the host; and how a worker gets its part of them to its device.
 *
 * A batch is rows packed one after another, on one side (a language model) or on several with as many rows each (source
 * and target). A label for each row is a side whose rows have one position. A micro-batch is a run of consecutive rows
 * of all sides. */
#ifndef CORE_TRAIN_BATCH_H
#define CORE_TRAIN_BATCH_H

#include "base/error.h"
#include "core/tensor/rows.h"
#include "kernels/kernels.h"

typedef struct Side {
    size_t rows, positions;
    int32_t *ids, *slots, *targets, *position; /* [positions]; slots: see used.h */
    int32_t *start;                            /* [rows+1] */
    size_t among; /* 0, or 1 + another side, if ids of this one are positions of that one, counted within the same row
                   * (on the device, within the micro-batch) */
} Side;

/* How large a batch or a part of it can get. */
typedef struct BatchSize {
    size_t sides, rows;
    size_t positions[SIDES];
    size_t round;  /* on the device, positions that belong to no row make a multiple of this; 0: there are none */
    size_t before; /* 1 + the side whose rows come before those of side 0 (see Joined); 0: none */
} BatchSize;

typedef struct Batch {
    BatchSize size;
    Side side[SIDES];
} Batch;

bool batch_open(Batch *b, const BatchSize *size, Error *e);
void batch_close(Batch *b);
void batch_clear(Batch *b);

/* Adds a row of `length` positions to a side and numbers them; the caller fills ids and targets. Returns the row's
 * first position. */
size_t batch_row(Batch *b, size_t side, size_t length);

/* What each row of a side begins with: ids that are learned vectors and no tokens (registers). */
typedef struct Registers {
    int32_t first; /* id; the others follow */
    size_t count;
} Registers;

/* The same for a row that begins with registers, filled in and not scored; `length` positions and the result do not count
 * them. */
size_t batch_row_after(Batch *b, size_t side, Registers registers, size_t length);

/* Positions of a row on the side where it is longest, but no fewer than 1; and of all rows together. */
size_t batch_length(const Batch *b, size_t row);
size_t batch_lengths(const Batch *b);

/* Cuts a batch into parts of about equally many positions: part m < parts is rows cut[m] .. cut[m+1]-1, which may be
 * none. */
void batch_cut(const Batch *b, size_t parts, size_t *cut);

/* Targets that are scored (not negative) on a side. */
size_t batch_targets(const Batch *b, size_t side);

/* Rows in a device's memory, for up to this many rows and positions. A micro-batch is staged on the
 * host and goes there in one copy: at once or, on a device that can copy while it computes, ahead of time to memory of
 * its own. */
typedef struct DeviceRows {
    const Kernels *k;
    BatchSize size;
    Rows rows[SIDES];
    const uint32_t *first_position; /* [SIDES] on the device: for StepState */
    char *memory, *staged;
    char *there;       /* where rows are sent ahead of time; NULL: they cannot be */
    Rows next[SIDES];  /* these rows, once they are fetched */
    size_t next_bytes; /* 0: none were sent */
} DeviceRows;

bool device_rows_open(DeviceRows *d, const Kernels *k, const BatchSize *size, Error *e);
void device_rows_close(DeviceRows *d);

/* Copies rows first .. first+count-1 of all sides to the device. */
void device_rows_upload(DeviceRows *d, Stream *s, const Batch *b, size_t first, size_t count);

/* The same in two parts: sends rows, even while the device computes with others; and puts them in place. False: none
 * were sent. */
void device_rows_send(DeviceRows *d, Stream *s, const Batch *b, size_t first, size_t count);
bool device_rows_fetch(DeviceRows *d, Stream *s);

/* Bytes that such rows take, on each of host and device. */
size_t device_rows_bytes(const BatchSize *size);

#endif
