// Asks `ruvllm mcp` by MCP's TypeScript SDK, for mcp_test.py; prints one line of JSON.
// Usage: mcp_sdk_client.mjs FOLDER_OF_MODULES BINARY MODEL
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, binary, model] = process.argv.slice(2);
const require = createRequire(path.join(folder, "x.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");

const client = new Client({ name: "ts-client", version: "1.0" });
const transport = new StdioClientTransport({ command: binary, args: ["mcp", "--model", model] });
await client.connect(transport);
// Counted as they arrive: the SDK drops a report that it reads together with the answer it precedes.
let reports = 0;
const deliver = transport.onmessage;
transport.onmessage = (message, extra) => {
  if (message.method === "notifications/progress") reports += 1;
  deliver(message, extra);
};
const { tools } = await client.listTools();
const answer = await client.callTool(
    { name: "generate", arguments: { prompt: "Once", raw: true, max_tokens: 40, seed: 1 } },
    undefined, { onprogress: () => {} });
const ids = await client.callTool({ name: "tokenize", arguments: { text: "Hello" } });
let refusal = "";
try {
  await client.callTool({ name: "generate", arguments: { prompt: 1 } });
} catch (error) {
  refusal = error.message;
}
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name), server: client.getServerVersion(), answer, ids, refusal,
  reports,
}));
await client.close();
