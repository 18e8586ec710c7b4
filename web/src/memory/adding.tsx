// Texts and files that are put into memory.
import { useEffect, useRef, useState } from "preact/hooks";
import { useCell } from "../core/cell.ts";
import { readTextFile } from "../core/files.ts";
import { isObject } from "../core/read.ts";
import type { Loose } from "../core/read.ts";
import { Dialog } from "../ui/dialog.tsx";
import { dropping } from "../ui/dropping.ts";
import { bytes, several } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { intake, isOver } from "./intake.ts";
import type { Incoming } from "./intake.ts";

function putFiles(files: File[]): void {
  intake.put(
    files.map((file) => ({
      name: file.name,
      nBytes: file.size,
      read: async () => ({ name: file.name, text: await readTextFile(file), metadata: {} }),
    })),
  );
}

// An object; a text: why it is none.
export function readMetadata(text: string): Loose | string {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : 'metadata is an object, as {"year": 2026}';
  } catch (error) {
    return error instanceof Error ? error.message : "not JSON";
  }
}

function TextDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const [metadata, setMetadata] = useState("");
  const read = readMetadata(metadata);
  const wrong = typeof read === "string" ? read : "";
  const isGood = name.trim() !== "" && text.trim() !== "" && !wrong;
  return (
    <Dialog title="Add a text" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isGood || typeof read === "string") return;
          const document = { name: name.trim(), text, metadata: read };
          intake.put([{ name: document.name, nBytes: new Blob([text]).size, read: async () => document }]);
          onClose();
        }}
      >
        <label class="field">
          <span>Name; a document of this name is replaced</span>
          <input type="text" value={name} placeholder="notes.md" onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Text</span>
          <textarea rows={8} dir="auto" value={text} onInput={(e) => setText(e.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Metadata as JSON, if any</span>
          <textarea
            class="json"
            rows={2}
            spellcheck={false}
            placeholder={'{"year": 2026}'}
            aria-invalid={wrong !== ""}
            aria-describedby={wrong ? "metadata-wrong" : undefined}
            value={metadata}
            onInput={(e) => setMetadata(e.currentTarget.value)}
          />
        </label>
        {wrong && (
          <p class="wrong" id="metadata-wrong">
            {wrong}
          </p>
        )}
        <div class="row end">
          <button type="submit" class="primary" disabled={!isGood}>
            Add
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function stateOf(one: Incoming): string {
  switch (one.state) {
    case "waiting":
      return "waits";
    case "sent":
      return "is cut and embedded …";
    case "kept":
      return `kept in ${several(one.nChunks, "piece")}`;
    case "unchanged":
      return "was there already, unchanged";
    case "cancelled":
      return "cancelled";
    case "failed":
      return one.fault;
  }
}

function Progress() {
  const items = useCell(intake.items);
  if (items.length === 0) return null;
  const nOver = items.filter(isOver).length;
  const isDone = nOver === items.length;
  // By size, and each with something for its own sake.
  const weight = (of: Incoming[]) => of.reduce((sum, one) => sum + one.nBytes + 1000, 0);
  return (
    <div class="incoming">
      <div class="row">
        <span role="status">{isDone ? `${several(nOver, "text")} done` : `${nOver} of ${items.length} done`}</span>
        <span class="space" />
        <button type="button" class="quiet" onClick={() => (isDone ? intake.clear() : intake.cancel())}>
          {isDone ? "Clear" : "Cancel"}
        </button>
      </div>
      {!isDone && <progress aria-label="Adding" max={weight(items)} value={weight(items.filter(isOver))} />}
      <ul aria-label="Added texts">
        {items.slice(-100).map((one) => (
          <li key={one.id} class={one.state === "failed" ? "failed" : undefined}>
            <bdi>{one.name}</bdi> <span class="hint">{bytes(one.nBytes)}</span> <span class={one.state === "failed" ? "wrong" : "hint"}>{stateOf(one)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Adding() {
  const [isWriting, setWriting] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  useEffect(() => {
    dropping.set({ invitation: "Drop files here to keep them in memory", take: putFiles });
    return () => dropping.set(null);
  }, []);
  return (
    <section class="rows">
      <h3>Add</h3>
      <div class="adding">
        <button type="button" onClick={() => picker.current?.click()}>
          <Icon name="file" /> Choose files
        </button>
        <button type="button" onClick={() => setWriting(true)}>
          <Icon name="pencil" /> Write a text
        </button>
        <span class="hint">or drop files on the page: texts in UTF-8 of up to 4 MB, read as Markdown or HTML where the name ends so. A document of the same name is replaced.</span>
        <input
          ref={picker}
          id="memory-files"
          class="off-screen"
          type="file"
          multiple
          tabIndex={-1}
          aria-label="Files to keep in memory"
          onChange={(event) => {
            const files = [...(event.currentTarget.files ?? [])];
            event.currentTarget.value = "";
            if (files.length > 0) putFiles(files);
          }}
        />
      </div>
      <Progress />
      {isWriting && <TextDialog onClose={() => setWriting(false)} />}
    </section>
  );
}
