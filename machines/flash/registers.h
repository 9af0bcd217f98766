/* Generated from machines/flash/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_FLASH_REGISTERS_H
#define CHASQUI_FLASH_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_FLASH_INTERFACE 0xc25529a9u /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_FLASH_DEVICE 0xcull /* Number by which MPI_Init picks this device. */
#define CHASQUI_FLASH_TRANSFER_DEVICE 0xeull /* Number by which MPI_Init picks the device of long messages by block transfer. */
#define CHASQUI_FLASH_REGION_REGISTERS 0x0ull /* Region of the controllers' registers. */

#define CHASQUI_FLASH_TRANSFER_SOURCE 0x0ull /* Virtual address from which data are taken. A store to TRANSFER_START leaves this and all others as they are at first. */
#define CHASQUI_FLASH_TRANSFER_DESTINATION 0x8ull /* Virtual address to which they go. */
#define CHASQUI_FLASH_TRANSFER_BYTES 0x10ull /* Bytes at each stride point; of a transpose: of an element. */
#define CHASQUI_FLASH_TRANSFER_COUNT 0x18ull /* Stride points; of a transpose: rows of the source. At first 1. */
#define CHASQUI_FLASH_TRANSFER_SOURCE_STRIDE 0x20ull /* From a stride point to the next at the source [bytes]; of a transpose: from a row to the next there. */
#define CHASQUI_FLASH_TRANSFER_DESTINATION_STRIDE 0x28ull /* The same at the destination. */
#define CHASQUI_FLASH_TRANSFER_COLUMNS 0x30ull /* Of a transpose: columns of the source. */
#define CHASQUI_FLASH_TRANSFER_FLAG 0x38ull /* Virtual address of a word of 64 bits, aligned to 8, that is set when all data are at the destination. At first 0: none. */
#define CHASQUI_FLASH_TRANSFER_FLAG_VALUE 0x40ull /* What it is set to. At first 1. */
#define CHASQUI_FLASH_TRANSFER_GROUP 0x48ull /* Of a broadcast: its number, below TRANSFER_GROUPS. */
#define CHASQUI_FLASH_TRANSFER_RIGHT 0x50ull /* Number of the right by which TRANSFER_DESTINATION is another process's address, or which is taken back. At first 0: none. */
#define CHASQUI_FLASH_TRANSFER_START 0x58ull /* Stored: the command begins; the value is one of the kinds below, with options. */
#define CHASQUI_FLASH_TRANSFER_ANSWER 0x60ull /* Loaded: what became of the latest command. Of TRANSFER_GRANT the right's number, 0: no room; with TRANSFER_TRY 1, 0: no. */
#define CHASQUI_FLASH_TRANSFER_REGISTERS 0x68ull /* Length of the registers [bytes]. */
#define CHASQUI_FLASH_TRANSFER_SEND 0x1ull /* A kind: data go from this node to another. */
#define CHASQUI_FLASH_TRANSFER_RECEIVE 0x2ull /* A kind: data come from another node to this one. */
#define CHASQUI_FLASH_TRANSFER_JOIN 0x3ull /* A kind: data of the broadcast TRANSFER_GROUP that come here go to TRANSFER_DESTINATION, and on to the next node. */
#define CHASQUI_FLASH_TRANSFER_GRANT 0x4ull /* A kind: other processes of the job may send into TRANSFER_BYTES bytes from TRANSFER_DESTINATION on, by TRANSFER_ANSWER. */
#define CHASQUI_FLASH_TRANSFER_REVOKE 0x5ull /* A kind: TRANSFER_RIGHT, which this process has given, is taken back; transfers that have begun end. */
#define CHASQUI_FLASH_TRANSFER_KIND 0xfull /* Bits of a kind. */
#define CHASQUI_FLASH_TRANSFER_ADD 0x10ull /* Option: the flag is not set to TRANSFER_FLAG_VALUE, this is added to it. */
#define CHASQUI_FLASH_TRANSFER_TRANSPOSE 0x20ull /* Option: the element in row r and column c of the source goes to row c and column r of the destination. */
#define CHASQUI_FLASH_TRANSFER_ROW 0x40ull /* Option: to all other nodes of the source's row of the mesh. */
#define CHASQUI_FLASH_TRANSFER_COLUMN 0x80ull /* Option: to all other nodes of its column. With TRANSFER_ROW to both. */
#define CHASQUI_FLASH_TRANSFER_TRY 0x100ull /* Option: if the command can't be carried out, that is no fault; nothing is moved, no flag set, and TRANSFER_ANSWER is 0. */
#define CHASQUI_FLASH_TRANSFER_GRANTS 0x40ull /* Rights that a controller has room for. */
#define CHASQUI_FLASH_TRANSFER_RIGHTS 0x1000000ull /* Numbers of rights are from 1 on, below this. */
#define CHASQUI_FLASH_TRANSFER_GROUPS 0x400ull /* Numbers of broadcasts. */

#endif
