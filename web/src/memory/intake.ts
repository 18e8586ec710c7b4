// Documents on their way into memory, one after another: the server embeds each before it answers. They
// go on when another view is shown.
import { addDocument } from "../core/memory.ts";
import type { NewDocument } from "../core/memory.ts";
import { saying } from "../core/api.ts";
import { Cell } from "../core/cell.ts";

export interface Incoming {
  id: number;
  name: string;
  nBytes: number;
  state: "waiting" | "sent" | "kept" | "unchanged" | "failed" | "cancelled";
  nChunks: number; // of one that is kept
  fault: string;
}

export const isOver = (one: Incoming): boolean => one.state !== "waiting" && one.state !== "sent";

export type Add = (document: NewDocument, signal: AbortSignal) => Promise<{ nChunks: number; isUnchanged: boolean }>;

export class Intake {
  readonly items = new Cell<Incoming[]>([]);
  // How many have come to their end, whatever it was: one that was cancelled may be kept all the same.
  readonly nOver = new Cell(0);
  readonly #add: Add;
  #reads = new Map<number, () => Promise<NewDocument>>();
  #control: AbortController | null = null;
  #nextId = 1;

  constructor(add: Add = addDocument) {
    this.#add = add;
  }

  // `read` is called when it is its turn, so that few texts are in memory at once. What is over leaves
  // the list when something new comes and nothing is left to do.
  put(entries: { name: string; nBytes: number; read: () => Promise<NewDocument> }[]): void {
    const before = this.items.value.every(isOver) ? [] : this.items.value;
    const added = entries.map(({ name, nBytes, read }): Incoming => {
      const id = this.#nextId++;
      this.#reads.set(id, read);
      return { id, name, nBytes, state: "waiting", nChunks: 0, fault: "" };
    });
    this.items.set([...before, ...added]);
    if (!this.#control) void this.#run();
  }

  cancel(): void {
    this.items.set(this.items.value.map((one) => (one.state === "waiting" ? { ...one, state: "cancelled" } : one)));
    this.#reads.clear();
    this.#control?.abort();
  }

  clear(): void {
    this.items.set(this.items.value.filter((one) => !isOver(one)));
  }

  #change(id: number, change: Partial<Incoming>): void {
    this.items.set(this.items.value.map((one) => (one.id === id ? { ...one, ...change } : one)));
  }

  async #run(): Promise<void> {
    for (;;) {
      const next = this.items.value.find((one) => one.state === "waiting");
      if (!next) break;
      const read = this.#reads.get(next.id)!;
      this.#reads.delete(next.id);
      const control = (this.#control = new AbortController());
      this.#change(next.id, { state: "sent" });
      try {
        const { nChunks, isUnchanged } = await this.#add(await read(), control.signal);
        this.#change(next.id, { state: isUnchanged ? "unchanged" : "kept", nChunks });
      } catch (error) {
        this.#change(next.id, control.signal.aborted ? { state: "cancelled" } : { state: "failed", fault: saying(error) });
      }
      this.nOver.set(this.nOver.value + 1);
    }
    this.#control = null;
  }
}

export const intake = new Intake();
