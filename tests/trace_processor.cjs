// Perfetto's trace processor as a filter: requests of its protocol (TraceProcessorRpcStream) come in, its
// replies go out. The argument is the folder of Perfetto's web page, where the engine is a WebAssembly
// module in a bundle that is meant for a browser's worker.
const fs = require("node:fs");
const path = require("node:path");

const folder = path.resolve(process.argv[2]);
const requests = new Uint8Array(fs.readFileSync(0));

process.chdir(folder); // the module is looked for here
console.log = console.warn = console.error; // standard output is for replies
globalThis.self = {};
require(path.join(folder, "engine_bundle.js"));

const port = { postMessage: (reply) => fs.writeSync(1, reply) };
self.onmessage({ data: { enginePort: port } });
// What the bundle does when its module is there comes first.
setImmediate(() => port.onmessage({ data: requests }));
