/* The thin firmware, for several jobs. */
#ifndef BIP_JOBS_IMAGE_H
#define BIP_JOBS_IMAGE_H

#define SEVERAL_JOBS

#endif
