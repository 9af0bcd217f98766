/* The firmware that matches, where a host waits by interrupt. */
#ifndef INTERRUPT_IMAGE_H
#define INTERRUPT_IMAGE_H

#define BY_INTERRUPT

#endif
