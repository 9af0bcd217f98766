/* The firmware that matches, with more channels than a card has rings, tables and buffers. */
#ifndef CHANNELS_IMAGE_H
#define CHANNELS_IMAGE_H

#define PROTOCOL_CACHE
#define PROTOCOL_CHANNELS_ELSEWHERE

#endif
