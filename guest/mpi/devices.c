/* Every device that this library can drive: each is a file of its own, machines/<name>/device.c, or
 * machines/<name>/<policy>/device.c where a machine has several. A
 * build with other devices (the tests on the host have one) defines the list itself. */
#include "mpi/device.h"

#ifndef CHQ_DEVICES
#define CHQ_DEVICES(DEVICE) \
    DEVICE(loggp)           \
    DEVICE(voyager)         \
    DEVICE(netcache)        \
    DEVICE(via)             \
    DEVICE(tcp)             \
    DEVICE(mpinp)           \
    DEVICE(mcp)             \
    DEVICE(tags)            \
    DEVICE(wake)            \
    DEVICE(cell)            \
    DEVICE(flash)           \
    DEVICE(ways)            \
    DEVICE(transfer)
#endif

#define DECLARE(name) extern struct mpi_device mpi_device_##name;
CHQ_DEVICES(DECLARE)

#define LIST(name) &mpi_device_##name,
struct mpi_device *const mpi_devices[] = {CHQ_DEVICES(LIST) 0};
