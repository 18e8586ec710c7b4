// The server's API, as far as the page uses it.
import { Cell } from "./cell.ts";
import { EventReader } from "./sse.ts";
import type { WireMessage } from "./tree.ts";

export class ApiFailure extends Error {
  readonly status: number; // 0: the server was not reached
  readonly code: string;
  readonly retryAfter: number | undefined; // seconds

  constructor(message: string, status: number, code = "", retryAfter?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

const kKeyName = "ruvllm.key";

function storages(): Storage[] {
  const found: Storage[] = [];
  for (const name of ["sessionStorage", "localStorage"] as const) {
    try {
      found.push(window[name]);
    } catch {
      // Not allowed here.
    }
  }
  return found;
}

let key = storages().map((s) => s.getItem(kKeyName)).find((k) => k) ?? "";
// The server wants a key, or another one.
export const keyAsked = new Cell(false);
// Changes with the key: what was read with another one is read again.
export const keyCount = new Cell(0);
// That the key is known, and does not cover what was asked for (403).
export const isKeyNarrow = new Cell(false);

export function askForKey(isNarrow: boolean): void {
  isKeyNarrow.set(isNarrow);
  keyAsked.set(true);
}

export function hasKey(): boolean {
  return key !== "";
}

// `keep`: also when the browser is closed.
export function setKey(value: string, keep: boolean): void {
  key = value;
  for (const storage of storages()) storage.removeItem(kKeyName);
  if (value) {
    try {
      (keep ? localStorage : sessionStorage).setItem(kKeyName, value);
    } catch {
      // It holds until the page is closed.
    }
  }
  keyAsked.set(false);
  keyCount.set(keyCount.value + 1);
}

function failureOf(status: number, body: string, headers: Headers): ApiFailure {
  let message = body.slice(0, 1000).trim() || `the server answered with status ${status}`;
  let code = "";
  try {
    const error = (JSON.parse(body) as { error?: { message?: unknown; code?: unknown } | string }).error;
    if (typeof error === "string") message = error;
    else if (typeof error?.message === "string") message = error.message;
    if (typeof error === "object" && typeof error.code === "string") code = error.code;
  } catch {
    // Some proxy's page; its beginning is shown as text.
  }
  const wait = Number(headers.get("Retry-After") ?? NaN);
  return new ApiFailure(message, status, code, Number.isFinite(wait) ? wait : undefined);
}

export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key) headers.set("Authorization", `Bearer ${key}`);
  if (init.body) headers.set("Content-Type", "application/json");
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, cache: "no-store", redirect: "error", credentials: "same-origin" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiFailure("the server cannot be reached", 0);
  }
  if (response.ok) return response;
  const failure = failureOf(response.status, await response.text().catch(() => ""), response.headers);
  if (failure.status === 401) askForKey(false);
  throw failure;
}

export const json = async (path: string, init: RequestInit = {}): Promise<unknown> => (await ask(path, init)).json();

// A failure as the page says it.
export const saying = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export interface ServedModel {
  id: string;
  status?: { value?: string };
}

export async function models(): Promise<ServedModel[]> {
  const found = ((await json("/v1/models")) as { data?: unknown }).data;
  if (!Array.isArray(found)) return [];
  return found.filter((m): m is ServedModel => typeof (m as ServedModel | null)?.id === "string");
}

export interface Props {
  n_ctx?: number;
  reasoning?: boolean;
  tools?: boolean;
  architecture?: string;
  weight_format?: string;
  build_info?: string;
  default_generation_settings?: { params?: Record<string, unknown> };
}

export async function props(model: string): Promise<Props> {
  return (await json(`/props${model ? `?model=${encodeURIComponent(model)}` : ""}`)) as Props;
}

export async function metricsText(signal: AbortSignal): Promise<string> {
  return (await ask("/metrics", { signal })).text();
}

export interface SessionRow {
  name: string;
  n_messages?: number;
}

// null: this server keeps none.
export async function sessions(): Promise<SessionRow[] | null> {
  try {
    const found = ((await json("/v1/sessions?limit=1000")) as { data?: unknown }).data;
    return Array.isArray(found) ? found.filter((s): s is SessionRow => typeof (s as SessionRow | null)?.name === "string") : [];
  } catch (error) {
    if (error instanceof ApiFailure && error.code === "sessions_off") return null;
    throw error;
  }
}

export interface SessionMessage {
  role: string;
  content: string | { text?: string }[];
}

const sessionPath = (name: string): string => `/v1/sessions/${encodeURIComponent(name)}`;

export async function session(name: string): Promise<SessionMessage[]> {
  const found = ((await json(sessionPath(name))) as { messages?: unknown }).messages;
  return Array.isArray(found) ? (found as SessionMessage[]) : [];
}

export async function writeSession(name: string, messages: WireMessage[]): Promise<void> {
  await ask(sessionPath(name), { method: "PUT", body: JSON.stringify({ messages }) });
}

export async function deleteSession(name: string): Promise<void> {
  await ask(sessionPath(name), { method: "DELETE" });
}

// A chunk of a streamed chat, with what is read of it.
export interface Chunk {
  choices?: {
    delta?: {
      content?: string | null;
      reasoning_content?: string | null;
      tool_calls?: { index?: number; id?: string; function?: { name?: string; arguments?: string } }[];
    };
    finish_reason?: string | null;
    warnings?: { type?: string }[];
  }[];
  usage?: {
    prompt_tokens?: number;
    completion_tokens?: number;
    prompt_tokens_details?: { cached_tokens?: number; miss?: string };
    completion_tokens_details?: { reasoning_tokens?: number };
  } | null;
  error?: { message?: string; code?: string };
}

// Calls `take` for each chunk until [DONE]. Throws where the stream says an error or breaks off.
// What arrives is read some twenty times a second: each reading costs more than what it reads. A
// fiftieth of the time that the stream has taken, so that times measured from it stay right.
const kLongestPause = 50;
const kPauseOfTime = 1 / 50;

function pauseAfter(ms: number): Promise<void> | undefined {
  // Browsers let timers of hidden pages wait.
  if (document.hidden || ms * kPauseOfTime < 4) return undefined;
  return new Promise((resolve) => setTimeout(resolve, Math.min(kLongestPause, ms * kPauseOfTime)));
}

export async function chat(body: object, signal: AbortSignal, take: (chunk: Chunk) => void): Promise<void> {
  const response = await ask("/v1/chat/completions", { method: "POST", body: JSON.stringify(body), signal });
  if (!response.body || !(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
    throw new ApiFailure("the answer is not a stream of events", response.status);
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const events = new EventReader();
  let began = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      began ||= performance.now();
      const data = events.read(done ? decoder.decode() + "\n" : decoder.decode(value, { stream: true }));
      for (const event of data) {
        if (event === "[DONE]") return;
        let chunk: Chunk;
        try {
          chunk = JSON.parse(event) as Chunk;
        } catch {
          throw new ApiFailure("the stream has an event that is not JSON", response.status);
        }
        if (chunk.error) throw new ApiFailure(chunk.error.message ?? "the answer failed", response.status, chunk.error.code);
        take(chunk);
      }
      if (done) throw new ApiFailure("the stream broke off before the answer ended", 0);
      await pauseAfter(performance.now() - began);
    }
  } catch (error) {
    if (error instanceof ApiFailure || signal.aborted) throw error;
    if (error instanceof Error && !(error instanceof TypeError)) throw new ApiFailure(error.message, 0);
    throw new ApiFailure("the connection was lost before the answer ended", 0);
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
