/* Cyclic redundancy checks of 32 bits, bits reversed, as zip archives and logs of TensorBoard have them. */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

#define CRC_ZIP        0xedb88320u /* CRC-32 */
#define CRC_CASTAGNOLI 0x82f63b78u /* CRC-32C */

uint32_t crc_of(uint32_t polynomial, const void *bytes, size_t size);

#endif
