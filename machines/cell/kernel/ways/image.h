/* The kernel, where messages may go other ways than by slot and put. */
#ifndef KERNEL_WAYS_IMAGE_H
#define KERNEL_WAYS_IMAGE_H

#define CELL_DEVICE CHASQUI_CELL_WAYS_DEVICE

#endif
