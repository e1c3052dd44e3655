/* A log as TensorBoard reads it: a file of events in TFRecord frames. Each event is one value, with a step and a time.
 *
 *     frame   length u64, checksum of the length u32, the event, its checksum u32     all little-endian
 *     event   protobuf: 1 time (double), 2 step, 3 "brain.Event:2" (the first), 5 summary { 1 value { 1 tag, 2 float } }
 *
 * A checksum is CRC-32C, rotated right by 15 bits, plus a constant. */
#ifndef CORE_PLOT_EVENTS_H
#define CORE_PLOT_EVENTS_H

#include "core/plot/logs.h"

#include "base/buffer.h"

/* Adds all that the log has, as "train/loss", "validation/loss" and so on. start: when the run began, in seconds. */
void events_add(Buffer *b, const Log *log, double start);

#endif
