// The HTTP server of `ruvllm serve`, in threads of this process.
import { toJson } from "./json.js";
import { load, Model } from "./model.js";
import { native, type ServerHandle } from "./native.js";

/** Options of ruvllm_server_start. */
export interface ServerOptions {
  host?: string;
  /** 0: any that is free. */
  port?: number;
  api_key?: string;
  no_key?: boolean;
  allow_hosts?: string[];
  cors_origins?: string[];
  [option: string]: unknown;
}

export class Server {
  readonly #handle: ServerHandle;
  readonly #own: Model | undefined;
  readonly host: string;
  readonly port: number;
  #closing: Promise<void> | undefined;

  private constructor(handle: ServerHandle, host: string, port: number, own: Model | undefined) {
    this.#handle = handle;
    this.host = host;
    this.port = port;
    this.#own = own;
    Server.#open.add(this);
    native.hold();
  }

  /** They run until they are closed, whether or not something refers to them. */
  static readonly #open = new Set<Server>();

  /** Serves a model besides what others ask of it, or one that is loaded for this. The process
      lives until close(). */
  static async start(model?: Model | string | URL | null,
                     options: ServerOptions = {}): Promise<Server> {
    const text = toJson(options);
    const own = model instanceof Model ? undefined : await load(model);
    try {
      const served = model instanceof Model ? model : own!;
      const { server, port } = await native.serve(Model.handleOf(served), text);
      return new Server(server, options.host ?? "127.0.0.1", port, own);
    } catch (error) {
      await own?.close();
      throw error;
    }
  }

  get url(): string {
    return `http://${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /** Answers that are being generated may end within five seconds. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    Server.#open.delete(this);
    native.letGo();
    await native.close(this.#handle);
    await this.#own?.close();
  }
}
