// A server made with MCP's TypeScript SDK, for mcp_test.py: on stdin and stdout, or over HTTP.
// Usage: mcp_sdk_server.mjs FOLDER_OF_MODULES stdio | http PORT
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, transport, port] = process.argv.slice(2);
const require = createRequire(path.join(folder, "x.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = await load("@modelcontextprotocol/sdk/server/stdio.js");
const { StreamableHTTPServerTransport } =
    await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { z } = await load("zod");

function makeServer() {
  const server = new McpServer({ name: "ts-server", version: "1.0" });
  server.registerTool("add", { description: "Adds.", inputSchema: { a: z.number(), b: z.number() } },
      async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
  server.registerTool("grow", { description: "Adds a tool." }, async () => {
    server.registerTool("grown", { description: "New." },
        async () => ({ content: [{ type: "text", text: "new" }] }));
    return { content: [{ type: "text", text: "grown" }] };
  });
  server.registerTool("fail", { description: "Fails." }, async () => { throw new Error("broken"); });
  return server;
}

if (transport === "stdio") {
  await makeServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  http.createServer(async (request, response) => {
    const id = request.headers["mcp-session-id"];
    if (request.url === "/forget") {  // the server loses its sessions
      sessions.clear();
      response.end();
      return;
    }
    let session = sessions.get(id);
    if (id !== undefined && session === undefined) {
      response.writeHead(404).end();
      return;
    }
    if (session === undefined) {
      session = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (made) => sessions.set(made, session),
      });
      await makeServer().connect(session);
    }
    await session.handleRequest(request, response);
  }).listen(Number(port), "127.0.0.1", () => console.error("listening"));
}
