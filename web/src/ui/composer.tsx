// Where a message is written.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Cell, useCell } from "../core/cell.ts";
import { settings } from "../core/settings.ts";
import * as talk from "../core/talk.ts";
import { readTextFile } from "../core/files.ts";
import type { AttachedFile } from "../core/tree.ts";
import { Icon, IconButton } from "./icons.tsx";

export const attached = new Cell<AttachedFile[]>([]);

// Files are texts for the model: what is not UTF-8 is refused by name.
export async function attach(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    try {
      const text = await readTextFile(file);
      attached.set([...attached.value, { name: file.name, text }]);
    } catch (error) {
      talk.sayError(error);
    }
  }
}

function Attached() {
  const files = useCell(attached);
  if (files.length === 0) return null;
  return (
    <ul class="attached" aria-label="Attached files">
      {files.map((file, i) => (
        <li key={i}>
          <Icon name="file" />
          <span>{file.name}</span>
          <IconButton name="close" label={`Remove ${file.name}`} onClick={() => attached.set(files.filter((_, k) => k !== i))} />
        </li>
      ))}
    </ul>
  );
}

export function Composer() {
  const [text, setText] = useState("");
  const isBusy = useCell(talk.busy);
  const open = useCell(talk.open);
  const files = useCell(attached);
  const of = useCell(settings);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const box = area.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [text]);
  useEffect(() => {
    if (matchMedia("(hover: hover)").matches) area.current?.focus();
  }, [open.id]);
  const isEmpty = text.trim() === "" && files.length === 0;
  const send = () => {
    if (isEmpty || isBusy) return;
    talk.send(text, files);
    setText("");
    attached.set([]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.isComposing) return;
    const withControl = event.ctrlKey || event.metaKey;
    if (withControl || (of.sendOnEnter && !event.shiftKey)) {
      event.preventDefault();
      send();
    }
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Attached />
      <div class="box">
        <IconButton name="clip" label="Attach files" onClick={() => picker.current!.click()} />
        <input
          ref={picker}
          id="attach"
          class="off-screen"
          type="file"
          multiple
          tabIndex={-1}
          aria-label="Files to attach"
          onChange={(event) => {
            const chosen = [...(event.currentTarget.files ?? [])];
            event.currentTarget.value = "";
            void attach(chosen);
          }}
        />
        <textarea
          id="message"
          ref={area}
          rows={1}
          aria-label="Message"
          placeholder="Write a message"
          value={text}
          onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            const pasted = [...(event.clipboardData?.files ?? [])];
            if (pasted.length > 0) {
              event.preventDefault();
              void attach(pasted);
            }
          }}
        />
        {isBusy ? (
          <IconButton name="stop" label="Stop" class="round" onClick={() => void talk.stop()} />
        ) : (
          <button type="submit" class="icon-button round" aria-label="Send" title="Send" disabled={isEmpty}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
