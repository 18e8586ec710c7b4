// A request that runs: as a whole, or piece by piece.
import { Piece, type Raw } from "./answer.js";
import { native, type CallHandle } from "./native.js";

export interface CallOptions {
  /** Ends the call, which then fails with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Cancels the call when the signal says so, until the result is called. The signal, which may live
    long, does not keep the call. */
function cancelBy(signal: AbortSignal | undefined, call: CallHandle): () => void {
  if (signal === undefined) return () => {};
  const weak = new WeakRef(call);
  const cancel = () => {
    const alive = weak.deref();
    if (alive !== undefined) native.cancel(alive);
  };
  signal.addEventListener("abort", cancel, { once: true });
  return () => signal.removeEventListener("abort", cancel);
}

/** Frees the call without waiting for that. */
function drop(call: CallHandle): void {
  void native.close(call);
}

async function ended<Result>(call: CallHandle, signal: AbortSignal | undefined,
                             result: Promise<Result>): Promise<Result> {
  const done = cancelBy(signal, call);
  try {
    return await result;
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    done();
    drop(call);
  }
}

/** The answer that is not streamed. */
export async function whole(call: CallHandle, signal?: AbortSignal): Promise<unknown> {
  signal?.throwIfAborted();
  const { parts } = await ended(call, signal, native.next(call));
  return JSON.parse(parts[0] ?? "null");
}

/** The vectors of a call that has them, as views of one block. */
export async function vectors(call: CallHandle, signal?: AbortSignal): Promise<Float32Array[]> {
  signal?.throwIfAborted();
  const { buffer, rows, columns } = await ended(call, signal, native.vectors(call));
  const bytes = columns * Float32Array.BYTES_PER_ELEMENT;
  return Array.from({ length: rows }, (_, row) => new Float32Array(buffer, row * bytes, columns));
}

/** An answer as it comes. It is computed whether or not pieces are taken, and ends when a loop over
    it is left, by return(), or as nothing refers to it any more. */
export class AnswerStream implements AsyncIterableIterator<Piece> {
  readonly #call: CallHandle;
  readonly #signal: AbortSignal | undefined;
  readonly #forget: () => void;
  #pieces: Piece[] = [];
  #isEnd = false;
  #isClosed = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(call: CallHandle, signal?: AbortSignal) {
    signal?.throwIfAborted();
    this.#call = call;
    this.#signal = signal;
    this.#forget = cancelBy(signal, call);
    native.begin(call);
  }

  /** Calls may overlap; they are answered in their order. */
  next(): Promise<IteratorResult<Piece, undefined>> {
    const result = this.#last.then(() => this.#take());
    this.#last = result.catch(() => {});
    return result;
  }

  /** Ends the answer; a next() that waits ends too. */
  async return(): Promise<IteratorResult<Piece, undefined>> {
    this.#close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }

  async #take(): Promise<IteratorResult<Piece, undefined>> {
    while (!this.#isClosed) {
      this.#throwIfAborted();
      const piece = this.#pieces.shift();
      if (piece !== undefined) return { done: false, value: piece };
      if (this.#isEnd) this.#close();
      else await this.#fetch();
    }
    return { done: true, value: undefined };
  }

  /** All events that have arrived. */
  async #fetch(): Promise<void> {
    try {
      const { parts, isEnd } = await native.next(this.#call);
      this.#pieces = parts.map((text) => new Piece(JSON.parse(text) as Raw))
                         .filter((piece) => !piece.isEmpty);
      this.#isEnd = isEnd;
    } catch (error) {
      if (this.#isClosed) return;
      this.#throwIfAborted();
      this.#close();
      throw error;
    }
  }

  #throwIfAborted(): void {
    if (this.#signal?.aborted !== true) return;
    this.#close();
    throw this.#signal.reason;
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pieces = [];
    this.#forget();
    drop(this.#call);
  }
}
