// A loaded model.
import { fileURLToPath } from "node:url";

import { Answer, type Raw } from "./answer.js";
import { AnswerStream, type CallOptions, vectors, whole } from "./call.js";
import { InvalidError } from "./errors.js";
import { toJson } from "./json.js";
import { native, type CallHandle, type ModelHandle } from "./native.js";

/** Options of ruvllm_model_load (include/ruvllm.h); an unknown one is refused by its name. */
export interface LoadOptions {
  n_ctx?: number;
  n_threads?: number;
  kv_type?: "f16" | "int8" | "int4" | "int2";
  max_sequences?: number;
  cache_tokens?: number;
  cache_dir?: string;
  cache_disk_mib?: number;
  cache_key?: string;
  packed_dir?: string;
  draft_model?: string;
  draft_head?: boolean;
  ignore_keys?: string[];
  portable?: boolean;
  name?: string;
  /** Adapters (LoRA) by name, which requests name in `lora` or as their model. */
  adapters?: Record<string, string>;
  adapter_dir?: string;
  adapter_mib?: number;
  [option: string]: unknown;
}

/** Fields of a request, which the library checks (docs/fields.md), and what only Node has. */
export interface Fields extends CallOptions {
  max_tokens?: number;
  temperature?: number;
  top_p?: number;
  seed?: number;
  stop?: string | string[];
  session?: string;
  [field: string]: unknown;
}

export interface Message {
  role: string;
  content?: unknown;
  [field: string]: unknown;
}

/** What ruvllm_model_info says. */
export interface ModelInfo {
  name: string;
  architecture: string;
  n_params: number;
  n_layers: number;
  n_embd: number;
  n_vocab: number;
  n_ctx: number;
  n_ctx_train: number;
  kv_type: string;
  has_chat_template: boolean;
  tools: boolean;
  reasoning: boolean;
  embedding: { dimensions: number; [more: string]: unknown } | null;
  [more: string]: unknown;
}

const ADD_SPECIAL = 1;
const PARSE_SPECIAL = 2;
const WITH_SPECIAL = 4;

const COMPLETIONS = "/v1/completions";
const CHAT = "/v1/chat/completions";

const sessionPath = (name: string): string => `/v1/sessions/${encodeURIComponent(name)}`;

/** Loads a GGUF file or a folder with safetensors; without a path: the built-in model. */
export async function load(path?: string | URL | null, options: LoadOptions = {}): Promise<Model> {
  const file = path instanceof URL ? fileURLToPath(path) : path ?? null;
  return new Model(await native.load(file, toJson(options)));
}

/** Any number of calls may run at the same time; they are computed together. */
export class Model {
  /** Of the addon. */
  readonly #handle: ModelHandle;

  /** load() makes models. */
  constructor(handle: ModelHandle) {
    this.#handle = handle;
  }

  /** For Server. */
  static handleOf(model: Model): ModelHandle {
    return model.#handle;
  }

  get info(): ModelInfo {
    return JSON.parse(native.info(this.#handle)) as ModelInfo;
  }

  /** The answer of the HTTP API's path, which need not be served. */
  async request(method: string, path: string, body?: unknown,
                options: CallOptions = {}): Promise<unknown> {
    return whole(this.#call(method, path, body), options.signal);
  }

  // Texts.

  /** Continues a prompt, or each of several. Fields are those of POST /v1/completions. */
  async generate(prompt: string | string[], fields: Fields = {}): Promise<Answer> {
    const { signal, ...rest } = fields;
    return new Answer(await this.request("POST", COMPLETIONS, { ...rest, prompt },
                                         { signal }) as Raw);
  }

  /** The same as it comes. */
  stream(prompt: string | string[], fields: Fields = {}): AnswerStream {
    const { signal, ...rest } = fields;
    return new AnswerStream(this.#call("POST", COMPLETIONS, { ...rest, prompt, stream: true }),
                            signal);
  }

  /** Answers a conversation. Fields are those of POST /v1/chat/completions: tools,
      response_format, temperature, session, … */
  async chat(messages: Message[], fields: Fields = {}): Promise<Answer> {
    const { signal, ...rest } = fields;
    return new Answer(await this.request("POST", CHAT, { ...rest, messages }, { signal }) as Raw);
  }

  /** The same as it comes, also reasoning and calls of tools. */
  chatStream(messages: Message[], fields: Fields = {}): AnswerStream {
    const { signal, ...rest } = fields;
    return new AnswerStream(this.#call("POST", CHAT, { ...rest, messages, stream: true }), signal);
  }

  // Vectors.

  /** A vector for each text: views of memory of the library, which is freed with the last of them.
      Fields are those of POST /v1/embeddings. */
  async embed(texts: string | string[], fields: Fields = {}): Promise<Float32Array[]> {
    const { signal, ...rest } = fields;
    return vectors(native.embedCall(this.#handle, toJson({ ...rest, input: texts })), signal);
  }

  /** The same as lists of numbers, for JSON. */
  async embedLists(texts: string | string[], fields: Fields = {}): Promise<number[][]> {
    return (await this.embed(texts, fields)).map((row) => Array.from(row));
  }

  // Tokens.

  /** The ids of a text, or of bytes. parseSpecial is not for users' texts. */
  async tokenize(text: string | Uint8Array,
                 { addSpecial = false, parseSpecial = false } = {}): Promise<number[]> {
    const flags = (addSpecial ? ADD_SPECIAL : 0) | (parseSpecial ? PARSE_SPECIAL : 0);
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    return native.tokenize(this.#handle, bytes, flags);
  }

  /** The text of ids. */
  async detokenize(ids: Iterable<number>, { withSpecial = false } = {}): Promise<string> {
    const list = Array.from(ids);
    if (!list.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 31)) {
      throw new InvalidError("an id is outside the vocabulary", "invalid_value", "ids");
    }
    return native.detokenize(this.#handle, Int32Array.from(list), withSpecial ? WITH_SPECIAL : 0);
  }

  // Sessions: kept conversations, where the model was loaded with cache_dir.

  async sessions(): Promise<Array<{ name: string; [more: string]: unknown }>> {
    const listed = await this.request("GET", "/v1/sessions");
    return (listed as { data: Array<{ name: string }> }).data;
  }

  /** One with its messages. chat(messages, {session: name}) continues or begins it. */
  async session(name: string): Promise<{ messages: Message[]; [more: string]: unknown }> {
    return await this.request("GET", sessionPath(name)) as { messages: Message[] };
  }

  async saveSession(name: string, messages: Message[]): Promise<void> {
    await this.request("PUT", sessionPath(name), { messages });
  }

  async deleteSession(name: string): Promise<void> {
    await this.request("DELETE", sessionPath(name));
  }

  /** Later calls fail with CancelledError. Answers that run keep what they need. */
  async close(): Promise<void> {
    await native.close(this.#handle);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #call(method: string, path: string, body: unknown): CallHandle {
    return native.call(this.#handle, method, path, body === undefined ? null : toJson(body));
  }
}
