// Where the user is, as the address has it after '#'.
import { Cell } from "../core/cell.ts";

export type View =
  | { name: "chat"; id: string }
  | { name: "metrics" }
  | { name: "memory" }
  | { name: "audit"; entry: number }; // 0: the list

function read(): View {
  const hash = location.hash.slice(1);
  if (hash === "/metrics") return { name: "metrics" };
  if (hash === "/memory") return { name: "memory" };
  const entry = /^\/audit(?:\/([1-9][0-9]{0,14}))?$/.exec(hash);
  if (entry) return { name: "audit", entry: Number(entry[1] ?? 0) };
  const found = /^\/c\/([A-Za-z0-9-]{1,64})$/.exec(hash);
  return { name: "chat", id: found?.[1] ?? "" };
}

export const view = new Cell<View>(read());

// What the address says now; `view` follows when the browser tells of a change.
export const addressed = read;

window.addEventListener("hashchange", () => view.set(read()));

// `now`: also where the address is this one already.
export function go(path: string, now = false): void {
  if (location.hash === `#${path}`) {
    if (now) view.set(read());
  } else {
    location.hash = path;
  }
}
