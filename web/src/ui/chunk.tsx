// Some messages that follow each other. Far from what is visible they are their plain texts, which the
// browser does not lay out, but which its own search, screen readers and copying find.
import { createContext } from "preact";
import { useContext, useRef } from "preact/hooks";
import type { Message } from "../core/tree.ts";
import { memo } from "./memo.ts";
import { kTitles, MessageView } from "./message.tsx";
import { useNear, useTurn } from "./near.ts";

const kMostMessages = 8;
const kMostCharacters = 16_000;
const kPixelsOfMessage = 70;
const kPixelsOfLine = 26;
const kCharactersOfLine = 90;

// A message, with the ids of its alternatives.
export interface Entry {
  message: Message;
  all: string[];
}

export const isSameEntry = (a: Entry | undefined, b: Entry): boolean =>
  a?.message === b.message && (a.all === b.all || a.all.join() === b.all.join());

// Those before a new message are cut as they were.
export function chunked(entries: Entry[]): Entry[][] {
  const chunks: Entry[][] = [];
  let nCharacters = Infinity;
  for (const entry of entries) {
    const last = chunks[chunks.length - 1];
    const length = entry.message.text.length;
    if (!last || last.length === kMostMessages || nCharacters + length > kMostCharacters) {
      chunks.push([entry]);
      nCharacters = length;
    } else {
      last.push(entry);
      nCharacters += length;
    }
  }
  return chunks;
}

function guessedHeight(entries: Entry[]): number {
  let height = 0;
  for (const { message } of entries) height += kPixelsOfMessage + kPixelsOfLine * Math.ceil(message.text.length / kCharactersOfLine);
  return height;
}

// How many messages there are.
export const SetSize = createContext(0);

interface ChunkOf {
  entries: Entry[];
  place: number; // of the first message
  hasLast: boolean;
}

export const Chunk = memo(
  ({ entries, place, hasLast }: ChunkOf) => {
    const ref = useRef<HTMLDivElement>(null);
    const height = useRef(0);
    height.current ||= guessedHeight(entries);
    const isNear = useNear(ref, hasLast);
    const isFilled = useTurn(true, isNear, "late");
    return (
      <div ref={ref} class="chunk" style={{ containIntrinsicSize: `auto ${height.current}px` }}>
        {isNear ? <NearMessages entries={entries} place={place} hasLast={hasLast} /> : isFilled && <FarMessages entries={entries} />}
      </div>
    );
  },
  (a, b) =>
    a.place === b.place &&
    a.hasLast === b.hasLast &&
    a.entries.length === b.entries.length &&
    b.entries.every((entry, i) => isSameEntry(a.entries[i], entry)),
);

function NearMessages({ entries, place, hasLast }: ChunkOf) {
  const total = useContext(SetSize);
  return (
    <>
      {entries.map((entry, i) => (
        <MessageView
          key={entry.message.id}
          entry={entry}
          place={place + i}
          total={total}
          isLast={hasLast && i === entries.length - 1}
        />
      ))}
    </>
  );
}

function FarMessages({ entries }: { entries: Entry[] }) {
  return (
    <>
      {entries.map(({ message }) => (
        <article key={message.id} class={`message ${message.role}`} aria-label={kTitles[message.role]}>
          <div class="far">{message.text}</div>
        </article>
      ))}
    </>
  );
}
