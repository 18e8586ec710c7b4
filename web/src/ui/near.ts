// Whether an element has been near what is visible. Elements become so a few at a time, so that no
// frame has much to render.
import { useEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

// Of a frame: characters of Markdown, and elements.
const kMostCharacters = 5_000;
const kMostElements = 4;

interface Waiting {
  show: () => void;
  weight: number;
}
const waiting = new Map<Element, Waiting>();
const ready: Waiting[] = [];
let isRunning = false;

function run(): void {
  let characters = 0;
  for (let n = 0; n < kMostElements && ready.length > 0; ++n) {
    const last = ready[ready.length - 1]!;
    if (n > 0 && characters + last.weight > kMostCharacters) break;
    characters += last.weight;
    ready.pop();
    last.show();
  }
  isRunning = ready.length > 0;
  if (isRunning) requestAnimationFrame(run);
}

const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const found = waiting.get(entry.target);
      if (!entry.isIntersecting || !found) continue;
      waiting.delete(entry.target);
      observer.unobserve(entry.target);
      ready.push(found);
    }
    if (!isRunning && ready.length > 0) {
      isRunning = true;
      requestAnimationFrame(run);
    }
  },
  { rootMargin: "1200px 0px" },
);

export function useNear(ref: RefObject<Element | null>, atOnce: boolean, weight: number): boolean {
  const [isNear, setNear] = useState(atOnce);
  useEffect(() => {
    const element = ref.current;
    if (isNear || !element) return;
    if (atOnce) return setNear(true);
    waiting.set(element, { show: () => setNear(true), weight });
    observer.observe(element);
    return () => {
      waiting.delete(element);
      observer.unobserve(element);
    };
  }, [isNear, atOnce]);
  return isNear;
}
