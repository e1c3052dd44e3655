/* For tests of what is larger than 2^31: whether this build and this machine have room for them.
 *
 * Memory that was asked for and only read is one page of zeros of the system's; so a tensor of gigabytes costs little
 * where only its ends are written. */
#ifndef TESTS_HUGE_ROOM_H
#define TESTS_HUGE_ROOM_H

#include "tests/suite.h"

#include <stdint.h>

/* 16 GiB of memory, of which the tests take up to 9. False, and said aloud, where they are not free, and in builds
 * where each number takes many times as long. */
bool huge_has_room(const char *test);

/* The bytes that can still be written in a folder. */
uint64_t huge_disk(const char *folder);

#endif
