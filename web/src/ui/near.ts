// What is rendered when: only what is near the visible part, and in turns, so that no task is long.
import { createContext } from "preact";
import { useContext, useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

// Of a frame. What is rendered last may exceed it.
const kMostMs = 6;

interface Turn {
  act: () => void;
  isOver: boolean;
}
// What the user is near, and what may wait until the browser is idle.
const soon: Turn[] = [];
const late: Turn[] = [];
let isRunning = false;

const nextFrame = (): Promise<void> => new Promise((resolve) => requestAnimationFrame(() => resolve()));
const nextIdle = (): Promise<void> =>
  new Promise((resolve) =>
    "requestIdleCallback" in window ? requestIdleCallback(() => resolve(), { timeout: 1000 }) : setTimeout(resolve, 30),
  );

// The newest first: the user has moved there.
function takeNext(): Turn | undefined {
  for (const turns of [soon, late]) {
    for (let turn = turns.pop(); turn; turn = turns.pop()) if (!turn.isOver) return turn;
  }
  return undefined;
}

async function run(): Promise<void> {
  isRunning = true;
  while (soon.length + late.length > 0) {
    await (soon.length > 0 ? nextFrame() : nextIdle());
    const began = performance.now();
    do {
      takeNext()?.act();
      // Preact renders in a microtask.
      await Promise.resolve();
    } while (soon.length + late.length > 0 && performance.now() - began < kMostMs);
  }
  isRunning = false;
}

// Whether it has come to be rendered, after `isWanted`. `atOnce`: without waiting.
export function useTurn(isWanted: boolean, atOnce: boolean, turns: "soon" | "late" = "soon"): boolean {
  const [has, setHas] = useState(atOnce);
  useLayoutEffect(() => {
    if (atOnce || !isWanted) return setHas(atOnce);
    if (has) return;
    const turn: Turn = { act: () => setHas(true), isOver: false };
    (turns === "soon" ? soon : late).push(turn);
    if (!isRunning) void run();
    return () => void (turn.isOver = true);
  }, [isWanted, atOnce]);
  return has;
}

// The elements of a box that scrolls, and whether they are within two of its heights.
export class NearWatcher {
  readonly #told = new Map<Element, (isNear: boolean) => void>();
  #observer: IntersectionObserver | null = null;

  begin(root: Element): () => void {
    const observer = new IntersectionObserver(
      (entries) => entries.forEach((entry) => this.#told.get(entry.target)?.(entry.isIntersecting)),
      { root, rootMargin: "200% 0px" },
    );
    for (const element of this.#told.keys()) observer.observe(element);
    this.#observer = observer;
    return () => observer.disconnect();
  }
  watch(element: Element, tell: (isNear: boolean) => void): () => void {
    this.#told.set(element, tell);
    this.#observer?.observe(element);
    return () => {
      this.#told.delete(element);
      this.#observer?.unobserve(element);
    };
  }
}

export const Near = createContext<NearWatcher | null>(null);

// What the user is at would be lost with its elements.
function isInUse(element: Element): boolean {
  const selection = getSelection();
  const isSelected = selection?.isCollapsed === false && element.contains(selection.anchorNode);
  return isSelected || element.contains(document.activeElement) || element.querySelector("form, details[open]") !== null;
}

// `always`: without asking; afterwards it is near until it is found to be elsewhere.
export function useNear(ref: RefObject<Element | null>, always: boolean): boolean {
  const watcher = useContext(Near);
  const [isNear, setNear] = useState(always);
  useLayoutEffect(() => {
    const element = ref.current;
    if (always || !element || !watcher) return setNear(true);
    return watcher.watch(element, (is) => (is || !isInUse(element)) && setNear(is));
  }, [watcher, always]);
  return isNear;
}
