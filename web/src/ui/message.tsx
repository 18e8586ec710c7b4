// One message, and what can be done with it.
import { useEffect, useRef, useState } from "preact/hooks";
import * as talk from "../core/talk.ts";
import type { Live } from "../core/talk.ts";
import type { Call, Message, Stats } from "../core/tree.ts";
import { plainPieces } from "../markdown/pieces.ts";
import { isSameEntry } from "./chunk.tsx";
import type { Entry } from "./chunk.tsx";
import { copyText } from "./copy.ts";
import { Icon, IconButton } from "./icons.tsx";
import { prose, useLate } from "./late.ts";
import { memo } from "./memo.ts";
import { useTurn } from "./near.ts";

// The answer that is being written, as it is some twelve times a second, and less often where rendering
// takes long: a tenth of the time at most.
function useLive(message: Message): Live | null {
  const isLive = message.state === "streaming";
  const [shown, setShown] = useState(talk.live.value);
  useEffect(() => {
    if (!isLive) return;
    let timer = 0;
    let frame = 0;
    let pause = kLeastPause;
    const show = () => {
      timer = 0;
      frame = requestAnimationFrame(() => {
        frame = 0;
        const began = performance.now();
        setShown(talk.live.value);
        // Preact renders in a microtask after this.
        setTimeout(() => (pause = Math.min(2000, Math.max(kLeastPause, (performance.now() - began) * 10))));
      });
    };
    const stop = talk.live.watch(() => {
      if (timer === 0 && frame === 0) timer = window.setTimeout(show, talk.live.value?.nTokens === 1 ? 0 : pause);
    });
    setShown(talk.live.value);
    return () => {
      stop();
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  }, [message.id, isLive]);
  return isLive && shown?.id === message.id ? shown : null;
}
const kLeastPause = 66; // and the wait for a frame

function Thinking({ text, isOpen }: { text: string; isOpen: boolean }) {
  const words = text.trim().split(/\s+/).length;
  return (
    <details class="thinking" open={isOpen}>
      <summary>
        {isOpen ? "Thinking" : "Thought"} <span class="faint">{words} words</span>
      </summary>
      <div class="thought">{text.trim()}</div>
    </details>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function CallView({ call }: { call: Call }) {
  const late = useLate(prose);
  const code = indented(call.arguments);
  return (
    <div class="call">
      <div class="call-name">
        <Icon name="tool" /> <code>{call.name || "…"}</code>
      </div>
      {late ? <late.CodeBlock code={code} language="json" /> : <pre>{code}</pre>}
    </div>
  );
}

// Where no program runs the calls, the user says what they give.
function Results({ message }: { message: Message }) {
  const calls = message.calls!;
  const [results, setResults] = useState<string[]>(calls.map(() => ""));
  return (
    <form
      class="results"
      onSubmit={(event) => {
        event.preventDefault();
        talk.giveResults(message.id, results);
      }}
    >
      {calls.map((call, i) => (
        <label class="field" key={i}>
          <span>Result of {call.name}</span>
          <textarea
            rows={2}
            value={results[i]}
            onInput={(e) => {
              const text = e.currentTarget.value;
              setResults((before) => before.map((other, k) => (k === i ? text : other)));
            }}
          />
        </label>
      ))}
      <div class="row end">
        <button type="submit" class="primary">
          Give results
        </button>
      </div>
    </form>
  );
}

const kMisses: Record<string, string> = {
  unknown: "nothing like it was cached",
  diverged: "the cached text continues differently",
  evicted: "more was cached, but has left memory",
  too_few: "too few tokens to reuse",
  off: "reuse is switched off",
};

function StatsLine({ stats, model }: { stats: Stats; model: string | undefined }) {
  const parts: { text: string; title?: string }[] = [];
  if (stats.perSecond !== undefined) parts.push({ text: `${stats.perSecond.toFixed(stats.perSecond < 10 ? 1 : 0)} tokens/s` });
  if (stats.generated) parts.push({ text: `${stats.generated} tokens` });
  if (stats.firstMs !== undefined) {
    parts.push({ text: `first after ${stats.firstMs < 1000 ? `${stats.firstMs.toFixed(0)} ms` : `${(stats.firstMs / 1000).toFixed(1)} s`}` });
  }
  if (stats.prompt !== undefined) {
    const title = stats.miss ? kMisses[stats.miss] : undefined;
    parts.push({ text: `${stats.cached ?? 0} of ${stats.prompt} reused from cache`, ...(title ? { title } : {}) });
  }
  if (stats.finish === "length") parts.push({ text: "cut off at the limit" });
  for (const warning of stats.warnings ?? []) parts.push({ text: warning });
  if (model) parts.push({ text: model });
  return (
    <p class="stats">
      {parts.map((part, i) => (
        <span key={i} title={part.title}>
          {part.text}
        </span>
      ))}
    </p>
  );
}

function Editor({ message, onClose }: { message: Message; onClose: () => void }) {
  const [text, setText] = useState(message.text);
  const ref = useRef<HTMLTextAreaElement>(null);
  const isAnswer = message.role !== "user";
  useEffect(() => {
    const area = ref.current!;
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }, []);
  const save = () => {
    if (isAnswer) talk.rewrite(message.id, text);
    else talk.edit(message.id, text);
    onClose();
  };
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        ref={ref}
        aria-label="Edit message"
        rows={Math.min(20, Math.max(3, text.split("\n").length + 1))}
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.stopPropagation();
            onClose();
          } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            save();
          }
        }}
      />
      <div class="row end">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={!isAnswer && text.trim() === "" && !message.files?.length}>
          {isAnswer ? "Keep as an alternative" : "Send as a new branch"}
        </button>
      </div>
    </form>
  );
}

function Branches({ place, all }: { place: number; all: string[] }) {
  if (all.length < 2) return null;
  return (
    <span class="branches">
      <IconButton name="left" label="Earlier alternative" disabled={place === 0} onClick={() => talk.choose(all[place - 1]!)} />
      <span>
        {place + 1} / {all.length}
      </span>
      <IconButton
        name="right"
        label="Later alternative"
        disabled={place === all.length - 1}
        onClick={() => talk.choose(all[place + 1]!)}
      />
    </span>
  );
}

function Actions({ message, all, onEdit }: { message: Message; all: string[]; onEdit: () => void }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    setCopied(await copyText(message.text));
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div class="actions">
      <Branches place={all.indexOf(message.id)} all={all} />
      <IconButton name={isCopied ? "check" : "copy"} label={isCopied ? "Copied" : "Copy"} onClick={() => void copy()} />
      {message.role === "assistant" && <IconButton name="redo" label="Regenerate" onClick={() => talk.regenerate(message.id)} />}
      {message.role !== "tool" && <IconButton name="pencil" label="Edit" onClick={onEdit} />}
      <IconButton name="trash" label="Delete from here" onClick={() => talk.remove(message.id)} />
    </div>
  );
}

function Files({ message }: { message: Message }) {
  if (!message.files?.length) return null;
  return (
    <ul class="files">
      {message.files.map((file, i) => (
        <li key={i}>
          <details>
            <summary>
              <Icon name="file" /> {file.name} <span class="faint">{file.text.length.toLocaleString("en")} characters</span>
            </summary>
            <pre tabIndex={0}>{file.text.slice(0, 20_000)}</pre>
          </details>
        </li>
      ))}
    </ul>
  );
}

function Waiting({ isHere }: { isHere: boolean }) {
  return (
    <p class="waiting" role="status">
      {isHere ? <span class="off-screen">Waiting for the first token</span> : <span class="note">Being written in another tab</span>}
      <i />
      <i />
      <i />
    </p>
  );
}

function LiveStats({ now }: { now: Live }) {
  const seconds = (performance.now() - now.firstAt) / 1000;
  return (
    <p class="stats">
      <span>{seconds > 0.5 ? `${(now.nTokens / seconds).toFixed(0)} tokens/s` : "…"}</span>
      <span>{now.nTokens} tokens</span>
    </p>
  );
}

function Fault({ message }: { message: Message }) {
  return (
    <div class="fault" role="alert">
      <span>{message.error}</span>
      <button type="button" onClick={() => talk.regenerate(message.id)}>
        Try again
      </button>
    </div>
  );
}

// The same elements while it is written and afterwards.
function Body({ message, isLast }: { message: Message; isLast: boolean }) {
  const live = useLive(message);
  const isBusy = message.state === "streaming";
  if (isBusy && !live?.nTokens) return <Waiting isHere={talk.live.value?.id === message.id} />;
  const { text, thinking, calls } = live ?? message;
  return (
    <>
      {thinking && <Thinking text={thinking} isOpen={isBusy && text === ""} />}
      {message.role === "assistant" ? <Answered text={text} isGrowing={isBusy} /> : <Said text={text} />}
      {calls?.map((call, i) => <CallView key={i} call={call} />)}
      {live && <LiveStats now={live} />}
      {message.calls && isLast && message.state === "done" && <Results message={message} />}
      {message.state === "stopped" && <p class="note">Stopped.</p>}
      {message.state === "failed" && <Fault message={message} />}
    </>
  );
}

function Answered({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const late = useLate(prose);
  return late ? <late.Markdown text={text} isGrowing={isGrowing} /> : <Said text={text} />;
}

// Long texts in parts, of which the browser lays out those that are near.
function Said({ text }: { text: string }) {
  if (text.length <= kLongSaid) return <div class="said">{text}</div>;
  return (
    <div class="said">
      {plainPieces(text).map((piece, i) => (
        <div key={i} class="far part" style={{ containIntrinsicSize: "auto 1200px" }}>
          {piece.text}
        </div>
      ))}
    </div>
  );
}
const kLongSaid = 20_000;

export const kTitles = { user: "You", assistant: "Answer", tool: "Result of a tool" };

interface MessageOf {
  entry: Entry;
  place: number;
  total: number;
  isLast: boolean;
}

// One that is near what is visible, or will be.
export const MessageView = memo(
  ({ entry: { message, all }, place, total, isLast }: MessageOf) => {
    const [isEdited, setEdited] = useState(false);
    const isShown = useTurn(true, isLast);
    const isBusy = message.state === "streaming";
    return (
      <article
        class={`message ${message.role}`}
        aria-label={kTitles[message.role]}
        aria-posinset={place + 1}
        aria-setsize={total}
        data-id={message.id}
      >
        {message.role === "tool" && <h2 class="tool-title">Result</h2>}
        {!isShown ? (
          <div class="far">{message.text}</div>
        ) : isEdited ? (
          <Editor message={message} onClose={() => setEdited(false)} />
        ) : (
          <>
            <Files message={message} />
            <Body message={message} isLast={isLast} />
            {!isBusy && (
              <footer>
                {message.stats && message.role === "assistant" && <StatsLine stats={message.stats} model={message.model} />}
                <Actions message={message} all={all} onEdit={() => setEdited(true)} />
              </footer>
            )}
          </>
        )}
      </article>
    );
  },
  (a, b) => isSameEntry(a.entry, b.entry) && a.isLast === b.isLast && a.place === b.place && a.total === b.total,
);
