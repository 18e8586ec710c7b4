// The addon, native/addon.cpp.
import { constants } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";

import { errorOf, type RuvllmError } from "./errors.js";

/** Handles are objects of the addon; nothing else passes for one. */
export type ModelHandle = object & { readonly model: unique symbol };
export type CallHandle = object & { readonly call: unique symbol };
export type ServerHandle = object & { readonly server: unique symbol };

interface Addon {
  readonly version: string;
  setErrorMaker(
    maker: (status: number, message: string, code: string, field: string) => RuvllmError): void;
  load(path: string | null, options: string): Promise<ModelHandle>;
  info(model: ModelHandle): string;
  tokenize(model: ModelHandle, text: Uint8Array, flags: number): Promise<number[]>;
  detokenize(model: ModelHandle, ids: Int32Array, flags: number): Promise<string>;
  call(model: ModelHandle, method: string, path: string, body: string | null): CallHandle;
  embedCall(model: ModelHandle, body: string): CallHandle;
  begin(call: CallHandle): void;
  next(call: CallHandle): Promise<{ parts: string[]; isEnd: boolean }>;
  vectors(call: CallHandle): Promise<{ buffer: ArrayBuffer; rows: number; columns: number }>;
  cancel(call: CallHandle): void;
  serve(model: ModelHandle, options: string): Promise<{ server: ServerHandle; port: number }>;
  close(handle: ModelHandle | CallHandle | ServerHandle): Promise<void>;
  hold(): void;
  letGo(): void;
  shutDown(): void;
}

// Node has an OpenSSL and other libraries in itself. RTLD_DEEPBIND: the addon's libraries call each
// other and not those, whose versions differ.
function open(): Addon {
  const file = process.env["RUVLLM_ADDON"] ??
    fileURLToPath(new URL("../../addon/ruvllm.node", import.meta.url));
  const module = { exports: {} };
  process.dlopen(module, file, constants.dlopen.RTLD_NOW | constants.dlopen.RTLD_DEEPBIND);
  return module.exports as Addon;
}

export const native = open();
native.setErrorMaker(errorOf);
// Engines must not compute while the process takes apart what they use.
process.once("exit", () => native.shutDown());
