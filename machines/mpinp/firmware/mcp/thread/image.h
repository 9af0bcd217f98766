/* The firmware that matches, where a thread of the host's kernel pins further pages of long transfers. */
#ifndef THREAD_IMAGE_H
#define THREAD_IMAGE_H

#define BY_THREAD

#endif
