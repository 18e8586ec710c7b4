// The messages of the open conversation.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useCell } from "../core/cell.ts";
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

export function Thread() {
  const open = useCell(talk.open);
  const path = useMemo(() => shownPath(open), [open]);
  const watcher = useMemo(() => new NearWatcher(), []);
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const reached = useRef(0); // where the page itself has scrolled to
  const [isAway, setAway] = useState(false);
  const toEnd = () => {
    const box = scroller.current;
    if (!box) return;
    box.scrollTop = box.scrollHeight;
    reached.current = box.scrollTop;
  };
  useLayoutEffect(() => {
    follows.current = true;
    toEnd();
  }, [open.id]);
  useLayoutEffect(() => {
    if (follows.current) toEnd();
  }, [path]);
  useLayoutEffect(() => watcher.begin(scroller.current!), []);
  useEffect(() => {
    const box = scroller.current;
    const inner = box?.firstElementChild;
    if (!box || !inner) return;
    // Sizes may change before the event of a scroll by the user is heard of.
    const isMoved = () => box.scrollTop < reached.current - 4 && box.scrollHeight - box.scrollTop - box.clientHeight > kNearEnd;
    const observer = new ResizeObserver(() => follows.current && !isMoved() && toEnd());
    observer.observe(inner);
    return () => observer.disconnect();
  }, []);
  const onScroll = () => {
    const box = scroller.current;
    if (!box) return;
    const isNear = box.scrollHeight - box.scrollTop - box.clientHeight < kNearEnd;
    follows.current = isNear;
    setAway(!isNear);
  };
  return (
    <div class="thread-frame">
      <div class="thread" ref={scroller} onScroll={onScroll} tabIndex={0} role="region" aria-label="Messages">
        <div class="column">
          <System />
          {path.length === 0 && <Empty />}
          <Messages path={path} watcher={watcher} />
        </div>
      </div>
      {isAway && (
        <IconButton
          name="down"
          label="To the end"
          class="to-end"
          onClick={() => {
            follows.current = true;
            toEnd();
          }}
        />
      )}
    </div>
  );
}
