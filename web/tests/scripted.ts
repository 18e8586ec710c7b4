// A server that says what a test wants to hear: the page comes from the real server, with its headers,
// and the API from scripts that the last message names.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Asked {
  messages: { role: string; content: string | null; tool_call_id?: string }[];
  [name: string]: unknown;
}

export interface Scripted {
  url: string;
  asked: Asked[];
  models: string[];
  metrics: string | (() => string);
  sessions: string[] | null; // null: it keeps none
  answers: Record<string, unknown>; // of other endpoints, by path: JSON, or what gives it for a path with its query
  isGone: boolean; // every connection is closed at once
  close: () => Promise<void>;
}

type Delta = { content?: string; reasoning_content?: string; tool_calls?: unknown[] };

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

class Stream {
  isOpen = true;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on("close", () => (this.isOpen = false));
    response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
  }
  raw(text: string): void {
    this.#response.write(text);
  }
  event(value: unknown): void {
    this.raw(`data: ${JSON.stringify(value)}\n\n`);
  }
  delta(delta: Delta, finish: string | null = null, more: object = {}): void {
    this.event({ choices: [{ index: 0, delta, finish_reason: finish, ...more }], usage: null });
  }
  end(nTokens: number, finish = "stop", more: object = {}): void {
    this.delta({}, finish, more);
    this.event({
      choices: [],
      usage: {
        prompt_tokens: 40,
        completion_tokens: nTokens,
        prompt_tokens_details: { cached_tokens: 24, miss: "diverged" },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    });
    this.raw("data: [DONE]\n\n");
    this.#response.end();
  }
  cut(): void {
    this.#response.destroy();
  }
  finish(): void {
    this.#response.end();
  }
}

// What is said by "say …", word by word.
async function speak(stream: Stream, text: string, pause = 0): Promise<number> {
  const words = text.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? [];
  let i = 0;
  while (i < words.length && stream.isOpen) {
    const n = pause > 0 ? 1 : Math.max(1, Math.ceil(words.length / 200));
    stream.delta({ content: words.slice(i, i + n).join("") });
    i += n;
    if (pause > 0) await wait(pause);
  }
  return words.length;
}

function refuse(response: ServerResponse, status: number, message: string, code: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code } }));
}

type Script = (response: ServerResponse, rest: string, asked: Asked) => Promise<void> | void;

const kScripts: Record<string, Script> = {
  async say(response, rest) {
    const stream = new Stream(response);
    stream.end(await speak(stream, rest));
  },
  async slowly(response, rest) {
    const stream = new Stream(response);
    stream.end(await speak(stream, rest, 60));
  },
  async think(response, rest) {
    const stream = new Stream(response);
    for (const word of ["Let ", "me ", "see: ", "<b>two</b> ", "and two."]) stream.delta({ reasoning_content: word });
    stream.end(await speak(stream, rest || "Four."));
  },
  call(response, rest) {
    const stream = new Stream(response);
    const name = rest.split(" ")[0] || "weather";
    stream.delta({ tool_calls: [{ index: 0, id: "call-a", type: "function", function: { name, arguments: "" } }] });
    for (const part of ['{"pla', 'ce": "Os', 'lo"}']) stream.delta({ tool_calls: [{ index: 0, function: { arguments: part } }] });
    stream.end(9, "tool_calls");
  },
  refuse(response, rest) {
    refuse(response, 400, rest || "temperature: 101 is above 100", "invalid_value");
  },
  busy(response) {
    refuse(response, 429, "too many requests wait", "rate_limit_exceeded", { "Retry-After": "7" });
  },
  page(response) {
    response.writeHead(502, { "Content-Type": "text/html" });
    response.end("<html><script>window.hacked=1</script><h1>Bad gateway</h1></html>");
  },
  notstream(response) {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end("{}");
  },
  fail(response, rest) {
    const stream = new Stream(response);
    stream.delta({ content: "It began" });
    stream.event({ error: { message: rest || "the engine stopped", type: "server_error", param: null, code: "internal_error" } });
    stream.finish();
  },
  async cut(response) {
    const stream = new Stream(response);
    stream.delta({ content: "It began well" });
    await wait(150);
    stream.cut();
  },
  nodone(response) {
    const stream = new Stream(response);
    stream.delta({ content: "No end" });
    stream.finish();
  },
  nojson(response) {
    const stream = new Stream(response);
    stream.delta({ content: "Then" });
    stream.raw("data: {oops\n\n");
    stream.finish();
  },
  async split(response) {
    const stream = new Stream(response);
    // Events cut at awkward places, within a character too.
    const bytes = Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"grün ✓"},"finish_reason":null}]}\r\n\r\n: a comment\r\n\r\n');
    for (let i = 0; i < bytes.length; i += 7) {
      response.write(bytes.subarray(i, i + 7));
      await wait(2);
    }
    stream.end(2);
  },
  async flood(response, rest) {
    const stream = new Stream(response);
    const seconds = Number(rest) || 5;
    const began = Date.now();
    let n = 0;
    while (stream.isOpen && Date.now() - began < seconds * 1000) {
      const due = ((Date.now() - began) / 1000) * 200;
      for (; n < due; ++n) stream.delta({ content: n % 40 === 39 ? "word.\n\n" : n % 13 === 5 ? "**bold** " : "word " });
      await wait(5);
    }
    stream.end(n);
  },
  async huge(response) {
    const stream = new Stream(response);
    const line = "A line of text with **some** emphasis and `code` in it, again and again. ";
    for (let i = 0; i < 100 && stream.isOpen; ++i) {
      stream.delta({ content: `${line.repeat(140)}\n\n` });
      await wait(1);
    }
    stream.end(1_000_000);
  },
  async hugeline(response) {
    const stream = new Stream(response);
    for (let i = 0; i < 64 && stream.isOpen; ++i) {
      stream.delta({ content: "[*_`".repeat(4096) });
      await wait(1);
    }
    stream.end(1_000_000);
  },
  async echo(response, _, asked) {
    const stream = new Stream(response);
    stream.end(await speak(stream, `\`\`\`json\n${JSON.stringify(asked, null, 2)}\n\`\`\``));
  },
  warn(response) {
    const stream = new Stream(response);
    stream.delta({ content: "half" });
    stream.end(1, "length", { warnings: [{ type: "unfinished_call", offset: 0 }] });
  },
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

async function answerChat(server: Scripted, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = JSON.parse(await bodyOf(request)) as Asked;
  server.asked.push(asked);
  const last = asked.messages[asked.messages.length - 1]!;
  if (last.role === "tool") return kScripts.say!(response, `The tool said: ${last.content}`, asked);
  const [, word = "say", rest = ""] = /^(?:File [\s\S]*\n\n)?(\w+)(?: ([\s\S]*))?$/.exec(last.content ?? "") ?? [];
  return (kScripts[word] ?? kScripts.say)!(response, kScripts[word] ? rest : (last.content ?? ""), asked);
}

const kProps = { n_ctx: 4096, reasoning: true, tools: true, default_generation_settings: { params: { temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05 } } };

function answerOther(server: Scripted, path: string, response: ServerResponse): boolean {
  const json = (value: unknown) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(value));
    return true;
  };
  if (path === "/v1/models") return json({ data: server.models.map((id) => ({ id, object: "model", status: { value: "loaded" } })) });
  if (path.startsWith("/props")) return json(kProps);
  if (path.startsWith("/v1/sessions")) {
    if (server.sessions) return json({ data: server.sessions.map((name) => ({ name })) });
    refuse(response, 400, "this server keeps no sessions", "sessions_off");
    return true;
  }
  const answer = server.answers[path.split("?")[0]!];
  if (answer !== undefined) return json(typeof answer === "function" ? (answer as (path: string) => unknown)(path) : answer);
  if (path === "/metrics") {
    response.writeHead(200, { "Content-Type": "text/plain" });
    response.end(typeof server.metrics === "string" ? server.metrics : server.metrics());
    return true;
  }
  return false;
}

// `page`: the address of the real server.
export async function startScripted(page: string): Promise<Scripted> {
  const server: Scripted = { url: "", asked: [], models: ["scripted", "other"], metrics: "", sessions: null, answers: {}, isGone: false, close: async () => undefined };
  const http = createServer((request, response) => {
    const path = request.url ?? "/";
    if (server.isGone) return void response.destroy();
    if (request.method === "POST" && path === "/v1/chat/completions") {
      return void answerChat(server, request, response).catch(() => response.destroy());
    }
    if (answerOther(server, path, response)) return;
    fetch(page + path, { headers: { Accept: request.headers.accept ?? "*/*" } }).then(
      async (real) => {
        const headers = Object.fromEntries([...real.headers].filter(([name]) => !/^(content-encoding|content-length|connection|transfer-encoding)$/.test(name)));
        response.writeHead(real.status, headers);
        response.end(Buffer.from(await real.arrayBuffer()));
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  server.close = () =>
    new Promise((resolve) => {
      http.closeAllConnections();
      http.close(() => resolve());
    });
  return server;
}
