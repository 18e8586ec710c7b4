// The list of conversations, and of the server's sessions.
import { useEffect, useRef, useState } from "preact/hooks";
import { exported, imported } from "../core/exchange.ts";
import * as kept from "../core/keep.ts";
import type { Head } from "../core/keep.ts";
import { deleteSession } from "../core/api.ts";
import { useCell } from "../core/cell.ts";
import * as talk from "../core/talk.ts";
import { Dialog } from "./dialog.tsx";
import { download } from "./download.ts";
import { Icon, IconButton } from "./icons.tsx";
import { go, view } from "./place.ts";

function NameDialog({ head, onClose }: { head: Head; onClose: () => void }) {
  const [name, setName] = useState(head.title);
  return (
    <Dialog title="Rename conversation" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void talk.rename(head.id, name).then(onClose);
        }}
      >
        <label class="field">
          <span>Name</span>
          <input type="text" value={name} maxLength={200} onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        <div class="row end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function DeleteDialog({ head, onClose }: { head: Head; onClose: () => void }) {
  return (
    <Dialog title="Delete conversation" onClose={onClose}>
      <p>
        “{head.title}” is removed from this browser.
        {head.session && " The session of the server stays."}
      </p>
      <div class="row end">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => {
            onClose();
            void talk.discard(head.id).then(() => view.value.name === "chat" && go("/"));
          }}
        >
          Delete
        </button>
      </div>
    </Dialog>
  );
}

function Row({ head, isOpen, onLeave }: { head: Head; isOpen: boolean; onLeave: () => void }) {
  const [dialog, setDialog] = useState<"" | "name" | "delete">("");
  const close = () => setDialog("");
  return (
    <li class={isOpen ? "open" : undefined}>
      <a href={`#/c/${head.id}`} aria-current={isOpen ? "page" : undefined} onClick={onLeave} title={head.title}>
        {head.title}
      </a>
      <span class="row-actions">
        <IconButton name="pencil" label={`Rename ${head.title}`} onClick={() => setDialog("name")} />
        <IconButton name="trash" label={`Delete ${head.title}`} onClick={() => setDialog("delete")} />
      </span>
      {dialog === "name" && <NameDialog head={head} onClose={close} />}
      {dialog === "delete" && <DeleteDialog head={head} onClose={close} />}
    </li>
  );
}

function SessionDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const isGood = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);
  return (
    <Dialog title="New session" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isGood) return;
          onClose();
          void talk.startNew(name).then(() => go("/", true));
        }}
      >
        <p>The server keeps a session, with what it has computed: it continues after a restart, from any browser.</p>
        <label class="field">
          <span>Name: letters, digits, dots, dashes</span>
          <input type="text" value={name} maxLength={64} onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        <div class="row end">
          <button type="submit" class="primary" disabled={!isGood}>
            Begin
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Sessions({ onLeave }: { onLeave: () => void }) {
  const sessions = useCell(talk.sessions);
  const open = useCell(talk.open);
  const [isAsking, setAsking] = useState(false);
  if (sessions === null) return null;
  const show = (name: string) => {
    onLeave();
    talk.showSession(name).then(() => go(`/c/${talk.open.value.id}`), talk.sayError);
  };
  const drop = (name: string) => {
    deleteSession(name).then(talk.readSessions, talk.sayError);
  };
  return (
    <section aria-label="Sessions of the server">
      <div class="list-head">
        <h2>On the server</h2>
        <IconButton name="plus" label="New session" onClick={() => setAsking(true)} />
      </div>
      <ul class="list">
        {sessions.map(({ name }) => (
          <li key={name} class={open.session === name ? "open" : undefined}>
            <button type="button" class="as-link" onClick={() => show(name)}>
              {name}
            </button>
            <span class="row-actions">
              <IconButton name="trash" label={`Delete session ${name}`} onClick={() => drop(name)} />
            </span>
          </li>
        ))}
      </ul>
      {isAsking && <SessionDialog onClose={() => setAsking(false)} />}
    </section>
  );
}

// The ids that the words are found in; null: all.
function useSearch(words: string): Set<string> | null {
  const [found, setFound] = useState<Set<string> | null>(null);
  useEffect(() => {
    if (words.trim() === "") return setFound(null);
    let isStale = false;
    const timer = setTimeout(() => {
      kept.search(words, () => isStale).then((ids) => {
        if (!isStale) setFound(ids);
      }, talk.sayError);
    }, 150);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [words]);
  return found;
}

async function importFile(file: File): Promise<void> {
  const conversations = imported(await file.text());
  for (const conversation of conversations) await kept.keep(conversation);
  talk.say(`${conversations.length} ${conversations.length === 1 ? "conversation" : "conversations"} imported`);
}

const kViews = [
  { name: "memory", icon: "book", title: "Memory" },
  { name: "audit", icon: "seal", title: "Audit" },
  { name: "metrics", icon: "chart", title: "Metrics" },
] as const;

export function Sidebar({ onLeave }: { onLeave: () => void }) {
  const heads = useCell(kept.heads);
  const open = useCell(talk.open);
  const place = useCell(view);
  const [words, setWords] = useState("");
  const found = useSearch(words);
  const picker = useRef<HTMLInputElement>(null);
  const shown = found ? heads.filter((head) => found.has(head.id)) : heads;
  const exportAll = async () => download("ruvllm-conversations.json", exported(await kept.all()));
  return (
    <nav class="sidebar" aria-label="Conversations">
      <div class="brand">
        <span class="mark" aria-hidden="true">
          R
        </span>
        <strong>RuvLLM</strong>
      </div>
      <button
        type="button"
        class="new"
        onClick={() => {
          onLeave();
          void talk.startNew().then(() => go("/", true));
        }}
      >
        <Icon name="plus" /> New conversation
      </button>
      <label class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          placeholder="Search"
          aria-label="Search conversations"
          value={words}
          onInput={(e) => setWords(e.currentTarget.value)}
        />
      </label>
      <div class="lists">
        <ul class="list" aria-label="Saved conversations">
          {shown.map((head) => (
            <Row key={head.id} head={head} isOpen={place.name === "chat" && head.id === open.id} onLeave={onLeave} />
          ))}
        </ul>
        {shown.length === 0 && <p class="hint">{found ? "Nothing found." : "Conversations are kept in this browser."}</p>}
        <Sessions onLeave={onLeave} />
      </div>
      <div class="sidebar-foot">
        {kViews.map(({ name, icon, title }) => (
          <a key={name} class="quiet" href={`#/${name}`} aria-current={place.name === name ? "page" : undefined} onClick={onLeave}>
            <Icon name={icon} /> {title}
          </a>
        ))}
        <span class="row">
          <button type="button" class="quiet" onClick={() => void exportAll().catch(talk.sayError)}>
            Export
          </button>
          <button type="button" class="quiet" onClick={() => picker.current?.click()}>
            Import
          </button>
          <input
            ref={picker}
            id="import"
            class="off-screen"
            type="file"
            accept="application/json,.json"
            tabIndex={-1}
            aria-label="File to import"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              event.currentTarget.value = "";
              if (file) importFile(file).catch(talk.sayError);
            }}
          />
        </span>
      </div>
    </nav>
  );
}
