/* The kernel, where processes wait by interrupt. */
#ifndef KERNEL_INTERRUPT_IMAGE_H
#define KERNEL_INTERRUPT_IMAGE_H

#define BY_INTERRUPT

#endif
