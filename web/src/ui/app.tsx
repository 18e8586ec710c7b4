// The page as a whole.
import { useEffect, useState } from "preact/hooks";
import * as api from "../core/api.ts";
import { useCell } from "../core/cell.ts";
import { keepFault } from "../core/keep.ts";
import { change, settings } from "../core/settings.ts";
import * as talk from "../core/talk.ts";
import { attach, Composer } from "./composer.tsx";
import { Dialog } from "./dialog.tsx";
import { dropping } from "./dropping.ts";
import { IconButton } from "./icons.tsx";
import { useLate, views } from "./late.ts";
import { addressed, go, view } from "./place.ts";
import type { View } from "./place.ts";
import { Sidebar } from "./sidebar.tsx";
import { Thread } from "./thread.tsx";

function keyHint(isNarrow: boolean): string {
  if (isNarrow) return "The key that is used now is not for this. Another one takes its place for the whole page.";
  return api.hasKey() ? "The server does not know the key that it was given." : "It was started with API keys. Yours stays in this browser.";
}

function KeyDialog() {
  const [key, setKey] = useState("");
  const [isKept, setKept] = useState(false);
  return (
    <Dialog title="This server asks for a key" onClose={() => api.keyAsked.set(false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          api.setKey(key.trim(), isKept);
          talk.readServer().catch((error) => api.keyAsked.value || talk.sayError(error));
        }}
      >
        <p>{keyHint(useCell(api.isKeyNarrow))}</p>
        <label class="field">
          <span>Key</span>
          <input type="password" autocomplete="off" value={key} onInput={(e) => setKey(e.currentTarget.value)} />
        </label>
        <label class="switch">
          <input type="checkbox" checked={isKept} onChange={(e) => setKept(e.currentTarget.checked)} />
          <span>Keep it when the browser is closed</span>
        </label>
        <div class="row end">
          <button type="submit" class="primary" disabled={key.trim() === ""}>
            Use this key
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const kShortcuts: [string, string][] = [
  ["Enter", "send (Ctrl and Enter always do)"],
  ["Esc", "stop the answer"],
  ["/", "write a message"],
  ["Alt N", "new conversation"],
  ["Alt K", "search conversations"],
  ["Alt S", "settings of answers"],
  ["Alt M", "metrics, or back"],
  ["Alt O", "memory, or back"],
  ["Alt A", "the audit log, or back"],
  ["Alt R", "regenerate the last answer"],
  ["Alt L", "light, dark, as the system"],
  ["?", "this list"],
];

function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="shortcuts">
        {kShortcuts.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const kThemes = ["system", "light", "dark"] as const;
const kThemeIcons = { system: "screen", light: "sun", dark: "moon" } as const;
const nextTheme = () => change({ theme: kThemes[(kThemes.indexOf(settings.value.theme) + 1) % 3]! });

function ModelChoice() {
  const models = useCell(talk.models);
  const chosen = useCell(settings).model;
  const shown = models.some((m) => m.id === chosen) ? chosen : (models[0]?.id ?? "");
  const pick = (model: string) => {
    change({ model });
    api.props(model).then((found) => talk.props.set(found), () => talk.props.set({}));
  };
  if (models.length === 0) return <span class="model">no model</span>;
  return (
    <select class="model" aria-label="Model" value={shown} onChange={(e) => pick(e.currentTarget.value)}>
      {models.map((model) => (
        <option key={model.id} value={model.id}>
          {model.id}
          {model.status?.value === "loaded" || model.status?.value === undefined ? "" : " (not loaded)"}
        </option>
      ))}
    </select>
  );
}

function Notices() {
  const notice = useCell(talk.notice);
  const fault = useCell(keepFault);
  const [isHidden, setHidden] = useState("");
  useEffect(() => {
    if (!notice || notice.isError) return;
    const timer = setTimeout(() => talk.notice.set(null), 4000);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <div class="notices" aria-live="polite">
      {fault && fault !== isHidden && (
        <div class="notice error">
          <span>{fault}</span>
          <IconButton name="close" label="Hide" onClick={() => setHidden(fault)} />
        </div>
      )}
      {notice && (
        <div class={`notice ${notice.isError ? "error" : ""}`} role={notice.isError ? "alert" : "status"}>
          <span>{notice.text}</span>
          <IconButton name="close" label="Hide" onClick={() => talk.notice.set(null)} />
        </div>
      )}
    </div>
  );
}

const kTitles = { metrics: "Metrics", memory: "Memory", audit: "Audit" };
const titleOf = (place: View): string => (place.name === "chat" ? "" : kTitles[place.name]);

// Files may be dropped anywhere.
function useDrop(): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const on = <K extends "dragenter" | "dragleave" | "dragover" | "drop">(name: K, act: (event: DragEvent) => void) => {
      const handler = (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        act(event);
      };
      window.addEventListener(name, handler);
      return () => window.removeEventListener(name, handler);
    };
    const ends = [
      on("dragenter", () => setOver(++depth > 0)),
      on("dragleave", () => setOver(--depth > 0)),
      on("dragover", () => undefined),
      on("drop", (event) => {
        depth = 0;
        setOver(false);
        const files = [...(event.dataTransfer?.files ?? [])];
        if (dropping.value) dropping.value.take(files);
        else void attach(files);
      }),
    ];
    return () => ends.forEach((end) => end());
  }, []);
  return isOver;
}

const backToChat = () => go(Object.keys(talk.open.value.messages).length > 0 ? `/c/${talk.open.value.id}` : "/");

const goOrBack = (name: keyof typeof kTitles) => (view.value.name === name ? backToChat() : go(`/${name}`));

interface Parts {
  toggleList: () => void;
  togglePanel: () => void;
  showKeys: () => void;
}

function onShortcut(event: KeyboardEvent, parts: Parts): boolean {
  const target = event.target as HTMLElement | null;
  const isWriting = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
  if (document.querySelector("dialog[open]")) return false;
  if (event.altKey && !event.ctrlKey && !event.metaKey) {
    switch (event.code) {
      case "KeyN":
        void talk.startNew().then(() => go("/", true));
        return true;
      case "KeyK":
        parts.toggleList();
        setTimeout(() => document.getElementById("search")?.focus());
        return true;
      case "KeyS":
        parts.togglePanel();
        return true;
      case "KeyM":
        goOrBack("metrics");
        return true;
      case "KeyO":
        goOrBack("memory");
        return true;
      case "KeyA":
        goOrBack("audit");
        return true;
      case "KeyR": {
        const answers = [...document.querySelectorAll<HTMLElement>("article.assistant")];
        const id = answers[answers.length - 1]?.dataset.id;
        if (id) talk.regenerate(id);
        return true;
      }
      case "KeyL":
        nextTheme();
        return true;
      default:
        return false;
    }
  }
  if (event.key === "Escape" && talk.isBusy()) {
    void talk.stop();
    return true;
  }
  if (isWriting || event.ctrlKey || event.metaKey) return false;
  if (event.key === "/") {
    document.getElementById("message")?.focus();
    return true;
  }
  if (event.key === "?") {
    parts.showKeys();
    return true;
  }
  return false;
}

// The address says what is open, and what is open says the address.
function useAddress(): void {
  const place = useCell(view);
  const open = useCell(talk.open);
  const isKept = Object.keys(open.messages).length > 0;
  // Effects may run late, when the address is another one already. That one is followed then.
  useEffect(() => {
    const isWanted = () => {
      const now = addressed();
      return place.name === "chat" && now.name === "chat" && now.id === place.id;
    };
    if (place.name !== "chat" || !isWanted()) return;
    if (place.id !== "" && place.id !== talk.open.value.id) {
      talk.show(place.id, isWanted).then((found) => {
        if (found) return;
        talk.say("This conversation is not in this browser.", true);
        go("/");
      }, talk.sayError);
    } else if (place.id === "" && isKept) {
      void talk.startNew();
    }
  }, [place]);
  useEffect(() => {
    const now = addressed();
    const isLeft = now.name === "chat" && now.id !== "" && place.name === "chat" && now.id !== place.id;
    if (place.name === "chat" && isKept && !isLeft) go(`/c/${open.id}`);
  }, [open.id, isKept]);
  useEffect(() => {
    const title = titleOf(place) || (isKept ? talk.titleOf(open) : "");
    document.title = title ? `${title} · RuvLLM` : "RuvLLM";
  }, [place, open]);
}

function LateView({ place }: { place: View }) {
  const late = useLate(views);
  if (!late) return null;
  if (place.name === "memory") return <late.MemoryView />;
  return place.name === "audit" ? <late.AuditView entry={place.entry} /> : <late.MetricsView />;
}

function LatePanel({ onClose }: { onClose: () => void }) {
  const late = useLate(views);
  return late && <late.Panel onClose={onClose} />;
}

export function App() {
  const place = useCell(view);
  const theme = useCell(settings).theme;
  const isKeyAsked = useCell(api.keyAsked);
  const [hasList, setList] = useState(false); // on a narrow screen
  const [hasPanel, setPanel] = useState(false);
  const [hasKeys, setKeys] = useState(false);
  const isOver = useDrop();
  const drop = useCell(dropping);
  useAddress();
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    const parts: Parts = {
      toggleList: () => setList((on) => !on),
      togglePanel: () => setPanel((on) => !on),
      showKeys: () => setKeys(true),
    };
    const handler = (event: KeyboardEvent) => onShortcut(event, parts) && event.preventDefault();
    window.addEventListener("keydown", handler);
    return () => window.removeEventListener("keydown", handler);
  }, []);
  return (
    <div class={`app ${hasList ? "with-list" : ""} ${hasPanel && place.name === "chat" ? "with-panel" : ""}`}>
      <Sidebar onLeave={() => setList(false)} />
      <button type="button" class="shade" aria-label="Close list" tabIndex={hasList ? 0 : -1} onClick={() => setList(false)} />
      <main>
        <header class="bar">
          <IconButton name="menu" label="Conversations" class="only-narrow" expanded={hasList} onClick={() => setList(!hasList)} />
          <h1 class="off-screen">RuvLLM</h1>
          {place.name === "chat" ? <ModelChoice /> : <span class="model">{titleOf(place)}</span>}
          <span class="space" />
          <IconButton name="help" label="Keyboard shortcuts" class="only-wide" onClick={() => setKeys(true)} />
          <IconButton name={kThemeIcons[theme]} label={`Colours: ${theme}`} onClick={nextTheme} />
          {place.name === "chat" ? (
            <IconButton name="sliders" label="Settings of answers" expanded={hasPanel} onClick={() => setPanel(!hasPanel)} />
          ) : (
            <IconButton name="chat" label="Back to the conversation" onClick={backToChat} />
          )}
        </header>
        <Notices />
        {place.name !== "chat" ? (
          <LateView place={place} />
        ) : (
          <>
            <Thread />
            <Composer />
          </>
        )}
      </main>
      {hasPanel && place.name === "chat" && <LatePanel onClose={() => setPanel(false)} />}
      {isOver && <div class="drop">{drop?.invitation ?? "Drop files here to attach them as text"}</div>}
      {isKeyAsked && <KeyDialog />}
      {hasKeys && <ShortcutsDialog onClose={() => setKeys(false)} />}
    </div>
  );
}
