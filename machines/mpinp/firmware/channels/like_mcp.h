/* The firmware that matches, with more channels than a card has rings, tables and buffers: an image of mcp's files and of this
 * folder's, each behind these lines. */
#ifndef LIKE_MCP_H
#define LIKE_MCP_H

#define PROTOCOL_CACHE
#define PROTOCOL_CHANNELS_ELSEWHERE

#endif
