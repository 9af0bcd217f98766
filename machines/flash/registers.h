/* Generated from machines/flash/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_FLASH_REGISTERS_H
#define CHASQUI_FLASH_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_FLASH_INTERFACE 0x8cf28a13u /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_FLASH_DEVICE 0xcull /* Number by which MPI_Init picks this device. */

#endif
