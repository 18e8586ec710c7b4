// Parts of the page that come after its first paint, each in a file of its own. Where one is needed before
// it has come, what needs it shows the plain text, or nothing.
import { useEffect } from "preact/hooks";
import { Cell, useCell } from "../core/cell.ts";
import { say } from "../core/talk.ts";

class LatePart<Module> {
  readonly module = new Cell<Module | null>(null);
  readonly #read: () => Promise<Module>;
  #coming: Promise<void> | null = null;

  constructor(read: () => Promise<Module>) {
    this.#read = read;
  }
  // Fetched once; after a failure again where it is next needed.
  fetch(): void {
    this.#coming ??= this.#read().then(
      (module) => this.module.set(module),
      () => {
        this.#coming = null;
        say("A part of the page could not be loaded. Load the page again when the server can be reached.", true);
      },
    );
  }
}

export const prose = new LatePart(() => import("../markdown/prose.ts"));
export const formulas = new LatePart(async () => (await import("temml")).default);
export const views = new LatePart(() => import("./views.ts"));

// What the part exports; null: it has not come yet.
export function useLate<Module>(part: LatePart<Module>): Module | null {
  const module = useCell(part.module);
  useEffect(() => part.fetch(), []);
  return module;
}

// After the first paint, so that they are there before somebody asks for them.
export function fetchParts(): void {
  const all = () => [prose, formulas, views].forEach((part) => part.fetch());
  requestAnimationFrame(() => ("requestIdleCallback" in window ? requestIdleCallback(all, { timeout: 500 }) : setTimeout(all, 30)));
}
