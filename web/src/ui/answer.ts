// What a view shows of an answer of the server: the newest value, whether one is awaited, and why the
// last reading failed. It is read again when an input or the key changes.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFailure, keyCount, saying } from "../core/api.ts";
import { useCell } from "../core/cell.ts";

export interface Answer<T> {
  value: T | null;
  fault: ApiFailure | null;
  isBusy: boolean;
  again: () => void;
}

const failure = (error: unknown): ApiFailure => (error instanceof ApiFailure ? error : new ApiFailure(saying(error), 0));

export function useAnswer<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Answer<T> {
  const [state, setState] = useState<Omit<Answer<T>, "again">>({ value: null, fault: null, isBusy: true });
  const [turn, setTurn] = useState(0);
  const key = useCell(keyCount);
  useEffect(() => {
    const control = new AbortController();
    setState((before) => ({ ...before, isBusy: true }));
    load(control.signal).then(
      (value) => control.signal.aborted || setState({ value, fault: null, isBusy: false }),
      (error) => control.signal.aborted || setState({ value: null, fault: failure(error), isBusy: false }),
    );
    return () => control.abort();
  }, [...inputs, turn, key]);
  return { ...state, again: () => setTurn((n) => n + 1) };
}

export interface Page<T> {
  items: T[];
  hasMore: boolean;
}

export interface Pages<T> extends Answer<T[]> {
  hasMore: boolean;
  more: () => void;
}

// A list that is read page by page: `after` is the last item that is there.
export function usePages<T>(load: (after: T | undefined, signal: AbortSignal) => Promise<Page<T>>, inputs: readonly unknown[]): Pages<T> {
  const first = useAnswer((signal) => load(undefined, signal), inputs);
  const [rest, setRest] = useState<{ of: Page<T> | null; items: T[]; hasMore: boolean; fault: ApiFailure | null; isBusy: boolean } | null>(null);
  const newest = useRef(first.value);
  newest.current = first.value;
  const added = rest && rest.of === first.value ? rest : null;
  const items = first.value && [...first.value.items, ...(added?.items ?? [])];
  const more = () => {
    const of = first.value;
    if (!of || !items || added?.isBusy) return;
    const known = added?.items ?? [];
    setRest({ of, items: known, hasMore: true, fault: null, isBusy: true });
    load(items[items.length - 1], new AbortController().signal).then(
      (page) => newest.current === of && setRest({ of, items: [...known, ...page.items], hasMore: page.hasMore, fault: null, isBusy: false }),
      (error) => newest.current === of && setRest({ of, items: known, hasMore: true, fault: failure(error), isBusy: false }),
    );
  };
  return {
    value: items,
    fault: first.fault ?? added?.fault ?? null,
    isBusy: first.isBusy || (added?.isBusy ?? false),
    hasMore: added?.hasMore ?? first.value?.hasMore ?? false,
    again: first.again,
    more,
  };
}
