/* The kernel, where a thread of its own pins further pages of long transfers. */
#ifndef KERNEL_THREAD_IMAGE_H
#define KERNEL_THREAD_IMAGE_H

#define BY_THREAD

#endif
