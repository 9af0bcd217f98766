// Perfetto's trace processor as a server: messages of its protocol (TraceProcessorRpcStream) come in, its replies
// go out, each with its length before it, 4 bytes, the lowest first. The argument is the folder of Perfetto's web
// page, where the engine is a WebAssembly module in a bundle that is meant for a browser's worker.
const fs = require("node:fs");
const path = require("node:path");

const folder = path.resolve(process.argv[2]);

process.chdir(folder); // the module is looked for here
console.log = console.warn = console.error; // standard output is for replies
globalThis.self = {};
require(path.join(folder, "engine_bundle.js"));

let replies = [];
const port = { postMessage: (reply) => replies.push(Buffer.from(reply)) };
self.onmessage({ data: { enginePort: port } });

function read(bytes) {
  const found = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; ) {
    const more = fs.readSync(0, found, at, bytes - at, null);
    if (more === 0) process.exit(0);
    at += more;
  }
  return found;
}

function write(bytes) {
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at);
}

// What the bundle does when its module is there comes first.
setImmediate(() => {
  for (;;) {
    const request = read(read(4).readUInt32LE(0));
    replies = [];
    port.onmessage({ data: new Uint8Array(request) });
    const reply = Buffer.concat(replies);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(reply.length, 0);
    write(Buffer.concat([length, reply]));
  }
});
