/* The firmware that matches, for several jobs. */
#ifndef MCP_JOBS_IMAGE_H
#define MCP_JOBS_IMAGE_H

#define SEVERAL_JOBS

#endif
