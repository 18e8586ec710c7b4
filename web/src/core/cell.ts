// A value that components watch.
import { useEffect, useState } from "preact/hooks";

export class Cell<T> {
  #value: T;
  #watchers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }
  get value(): T {
    return this.#value;
  }
  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher();
  }
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

export function useCell<T>(cell: Cell<T>): T {
  const [, rerender] = useState(0);
  const shown = cell.value;
  useEffect(() => {
    const stop = cell.watch(() => rerender((n) => n + 1));
    // It may have changed between the first rendering and now.
    if (!Object.is(shown, cell.value)) rerender((n) => n + 1);
    return stop;
  }, [cell]);
  return shown;
}
