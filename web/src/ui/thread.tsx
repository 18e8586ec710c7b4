// The messages of the open conversation.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Cell, useCell } from "../core/cell.ts";
import * as talk from "../core/talk.ts";
import { kRoot, shownPath, siblings } from "../core/tree.ts";
import type { Message } from "../core/tree.ts";
import { Chunk, chunked, SetSize } from "./chunk.tsx";
import { IconButton } from "./icons.tsx";
import { Near, NearWatcher } from "./near.ts";

// Nearer to the end than this the page follows what is written.
const kNearEnd = 80;

function System() {
  const open = useCell(talk.open);
  return (
    <details class="system" open={false}>
      <summary>
        System prompt <span class="faint">{open.system.trim() ? open.system.trim().slice(0, 80) : "none"}</span>
      </summary>
      <textarea
        aria-label="System prompt"
        rows={4}
        value={open.system}
        placeholder="How the model should answer"
        onInput={(e) => talk.setSystem(e.currentTarget.value)}
      />
    </details>
  );
}

function Empty() {
  const model = useCell(talk.models)[0]?.id;
  return (
    <div class="empty">
      <h2>What do you want to know?</h2>
      <p>{model ? "Everything stays between this browser and your server." : "Waiting for the server."}</p>
    </div>
  );
}

function Messages({ path, watcher }: { path: Message[]; watcher: NearWatcher }) {
  const chunks = useMemo(() => {
    const byParent = siblings(talk.open.value);
    return chunked(path.map((message) => ({ message, all: byParent.get(message.parent ?? kRoot) ?? [message.id] })));
  }, [path]);
  if (chunks.length === 0) return null;
  let place = 0;
  return (
    <Near.Provider value={watcher}>
      <SetSize.Provider value={path.length}>
        <div role="feed" aria-label="Conversation">
          {chunks.map((entries, i) => {
            const first = place;
            place += entries.length;
            return <Chunk key={entries[0]!.message.id} entries={entries} place={first} hasLast={i === chunks.length - 1} />;
          })}
        </div>
      </SetSize.Provider>
    </Near.Provider>
  );
}

// Keeps the box at the end of what it shows, whatever changes its sizes, until the user moves up: a place
// above the one reached here, as what is written or rendered late only makes the end more distant.
class Follower {
  readonly isAway = new Cell(false);
  #box: HTMLElement | null = null;
  #reached = 0; // where this has scrolled to

  begin(box: HTMLElement): () => void {
    this.#box = box;
    const observer = new ResizeObserver(() => this.follow());
    for (const element of [box, ...box.children]) observer.observe(element);
    return () => observer.disconnect();
  }
  toEnd(): void {
    const box = this.#box;
    if (!box) return;
    box.scrollTop = box.scrollHeight;
    this.#reached = box.scrollTop;
    this.isAway.set(false);
  }
  // Sizes may change before the event of a scroll by the user is heard of.
  follow(): void {
    if (this.isAway.value || !this.#box) return;
    if (this.#isMoved() && this.#left() > kNearEnd) this.isAway.set(true);
    else this.toEnd();
  }
  // Sizes may have changed since the scroll.
  onScroll(): void {
    if (!this.#box) return;
    if (this.#left() <= kAtEnd) this.#reached = this.#box.scrollTop;
    if (this.#left() <= kNearEnd) this.isAway.set(false);
    else this.follow();
  }
  #left(): number {
    const box = this.#box!;
    return box.scrollHeight - box.scrollTop - box.clientHeight;
  }
  #isMoved(): boolean {
    return this.#box!.scrollTop < this.#reached - kAtEnd;
  }
}
const kAtEnd = 4;

export function Thread() {
  const open = useCell(talk.open);
  const path = useMemo(() => shownPath(open), [open]);
  const watcher = useMemo(() => new NearWatcher(), []);
  const follower = useMemo(() => new Follower(), []);
  const scroller = useRef<HTMLDivElement>(null);
  const isAway = useCell(follower.isAway);
  useLayoutEffect(() => follower.begin(scroller.current!), []);
  useLayoutEffect(() => follower.toEnd(), [open.id]);
  useLayoutEffect(() => follower.follow(), [path]);
  useLayoutEffect(() => watcher.begin(scroller.current!), []);
  return (
    <div class="thread-frame">
      <div class={isAway ? "thread" : "thread at-end"} ref={scroller} onScroll={() => follower.onScroll()} tabIndex={0} role="region" aria-label="Messages">
        <div class="column">
          <System />
          {path.length === 0 && <Empty />}
          <Messages path={path} watcher={watcher} />
        </div>
      </div>
      {isAway && <IconButton name="down" label="To the end" class="to-end" onClick={() => follower.toEnd()} />}
    </div>
  );
}
