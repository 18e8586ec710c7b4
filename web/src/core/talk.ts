// What is being talked about: the open conversation, and the answer that is being written.
import * as api from "./api.ts";
import { Cell } from "./cell.ts";
import { baseOf, find, forget, heads, keep, onOtherTab, setBase } from "./keep.ts";
import { merged } from "./merge.ts";
import { kNoSampling, settings } from "./settings.ts";
import type { Settings } from "./settings.ts";
import {
  emptyConversation,
  newId,
  shownPath,
  titleOf,
  wireMessage,
  wireMessages,
  withChanged,
  withChosen,
  withMessage,
  without,
} from "./tree.ts";
import type { AttachedFile, Call, Conversation, Message, Stats } from "./tree.ts";

// The answer as far as it has been written. Its message in the tree is replaced when it has ended, so
// that what arrives renders one message and not the list of them.
export interface Live {
  id: string;
  conversation: string;
  text: string;
  thinking: string;
  calls: Call[];
  nTokens: number;
  firstAt: number; // performance.now(); 0: nothing yet
}

export const open = new Cell<Conversation>(emptyConversation(settings.value.system));
export const live = new Cell<Live | null>(null);
// Whether there is one, which changes less often than what it says.
export const busy = new Cell(false);
live.watch(() => busy.set(live.value !== null));
export const models = new Cell<api.ServedModel[]>([]);
export const props = new Cell<api.Props>({});
export const sessions = new Cell<api.SessionRow[] | null>(null);
export interface Notice {
  text: string;
  isError: boolean;
}
export const notice = new Cell<Notice | null>(null);

export const say = (text: string, isError = false): void => notice.set({ text, isError });
export const sayError = (error: unknown): void => say(api.saying(error), true);

let stopper: AbortController | null = null;
let writer: Promise<void> | null = null;
// The messages that a session of the server is known to have.
const inSession = new Map<string, string[]>();

export const isBusy = (): boolean => live.value !== null;

// Keeps the open one. What another tab has added is shown, on top of what was changed here meanwhile.
async function keepOpen(): Promise<void> {
  const before = open.value;
  const kept = await keep(before);
  if (open.value.id !== kept.id) return;
  open.set(open.value === before ? kept : merged(before, open.value, kept));
}

// A conversation that is not the open one any more is changed where it is kept.
async function update(id: string, by: (conversation: Conversation) => Conversation): Promise<void> {
  if (open.value.id === id) {
    open.set(by(open.value));
    return keepOpen();
  }
  const other = await find(id);
  if (!other) return;
  setBase(other);
  await keep(by(other));
}

// Another tab has kept or deleted it.
onOtherTab((id) => {
  const base = baseOf(id);
  if (open.value.id !== id || !base) return;
  find(id).then((theirs) => {
    if (!theirs || open.value.id !== id || baseOf(id) !== base || theirs.revision === base.revision) return;
    const ours = open.value;
    open.set(ours === base ? theirs : merged(base, ours, theirs));
    setBase(theirs);
  }, sayError);
});

// JSON that the user wrote; fails with a message for the user.
function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what}: ${error instanceof Error ? error.message : "not JSON"}`);
  }
}

export function requestBody(of: Settings, model: string): Record<string, unknown> {
  const body: Record<string, unknown> = { stream: true, stream_options: { include_usage: true } };
  if (model) body.model = model;
  for (const name of Object.keys(kNoSampling) as (keyof typeof kNoSampling)[]) {
    if (of.sampling[name] !== null) body[name] = of.sampling[name];
  }
  if (of.effort) body.reasoning_effort = of.effort;
  if (of.useTools && of.tools.trim()) {
    const tools = parsed(of.tools, "Tools");
    if (!Array.isArray(tools)) throw new Error("Tools: a list is expected, as [{\"type\": \"function\", …}]");
    body.tools = tools;
  }
  if (of.useSchema && of.schema.trim()) {
    body.response_format = {
      type: "json_schema",
      json_schema: { name: "answer", strict: true, schema: parsed(of.schema, "Schema") },
    };
  }
  return body;
}

// What the server reads: all of it, or what its session does not have yet.
async function contents(conversation: Conversation, path: Message[]): Promise<Record<string, unknown>> {
  const system = conversation.system.trim() ? [{ role: "system", content: conversation.system }] : [];
  if (!conversation.session) return { messages: [...system, ...wireMessages(path)] };
  const said = path.filter((m) => m.role !== "assistant" || m.text !== "");
  const before = said.slice(0, -1);
  const known = inSession.get(conversation.session);
  const ids = before.map((m) => m.id);
  if (known === undefined || known.join() !== ids.join()) {
    if (before.length > 0) await api.writeSession(conversation.session, [...system, ...before.map(wireMessage)]);
    else await api.deleteSession(conversation.session).catch(() => undefined);
  }
  const added = said.slice(-1).map(wireMessage);
  return { session: conversation.session, messages: before.length > 0 ? added : [...system, ...added] };
}

function take(chunk: api.Chunk, stats: Stats, tallies: { first: number; last: number; started: number }): void {
  const now = live.value;
  if (!now) return;
  const choice = chunk.choices?.[0];
  const delta = choice?.delta;
  if (choice?.finish_reason) stats.finish = choice.finish_reason;
  for (const warning of choice?.warnings ?? []) {
    if (typeof warning.type === "string") (stats.warnings ??= []).push(warning.type);
  }
  if (chunk.usage) {
    const usage = chunk.usage;
    if (usage.prompt_tokens !== undefined) stats.prompt = usage.prompt_tokens;
    if (usage.completion_tokens !== undefined) stats.generated = usage.completion_tokens;
    if (usage.prompt_tokens_details?.cached_tokens !== undefined) stats.cached = usage.prompt_tokens_details.cached_tokens;
    if (usage.prompt_tokens_details?.miss) stats.miss = usage.prompt_tokens_details.miss;
    if (usage.completion_tokens_details?.reasoning_tokens) stats.reasoning = usage.completion_tokens_details.reasoning_tokens;
  }
  if (!delta || (!delta.content && !delta.reasoning_content && !delta.tool_calls)) return;
  tallies.last = performance.now();
  if (tallies.first === 0) {
    tallies.first = tallies.last;
    stats.firstMs = tallies.first - tallies.started;
  }
  const calls = delta.tool_calls ? now.calls.map((call) => ({ ...call })) : now.calls;
  for (const part of delta.tool_calls ?? []) {
    const place = Math.min(Math.max(part.index ?? 0, 0), calls.length);
    const call = (calls[place] ??= { id: "", name: "", arguments: "" });
    if (typeof part.id === "string") call.id = part.id;
    if (typeof part.function?.name === "string") call.name += part.function.name;
    if (typeof part.function?.arguments === "string") call.arguments += part.function.arguments;
  }
  live.set({
    ...now,
    text: typeof delta.content === "string" ? now.text + delta.content : now.text,
    thinking: typeof delta.reasoning_content === "string" ? now.thinking + delta.reasoning_content : now.thinking,
    calls,
    nTokens: now.nTokens + 1,
    firstAt: tallies.first,
  });
}

function ending(message: Message, error: unknown, stats: Stats, stopped: boolean): Message {
  const now = live.value!;
  const ended: Message = { ...message, text: now.text, state: "done", stats };
  if (now.thinking) ended.thinking = now.thinking;
  if (now.calls.length > 0) {
    ended.calls = now.calls.map((call, i) => ({ ...call, id: call.id || `call-${i}` }));
  }
  if (stopped) ended.state = "stopped";
  else if (error !== undefined) {
    ended.state = "failed";
    ended.error = error instanceof Error ? error.message : String(error);
    if (error instanceof api.ApiFailure && error.retryAfter !== undefined) ended.error += ` (again in ${error.retryAfter} s)`;
  }
  return ended;
}

// Has the answer to the last message of `path` written.
async function answer(path: Message[]): Promise<void> {
  const id = open.value.id;
  let body: Record<string, unknown>;
  const model = settings.value.model || models.value[0]?.id || "";
  try {
    body = requestBody(settings.value, model);
  } catch (error) {
    return sayError(error);
  }
  const message: Message = {
    id: newId(),
    parent: path[path.length - 1]!.id,
    role: "assistant",
    text: "",
    model,
    state: "streaming",
    created: Date.now(),
  };
  live.set({ id: message.id, conversation: id, text: "", thinking: "", calls: [], nTokens: 0, firstAt: 0 });
  open.set(withMessage(open.value, message));
  const stats: Stats = {};
  const tallies = { first: 0, last: 0, started: performance.now() };
  const control = (stopper = new AbortController());
  let failure: unknown;
  const asked = open.value;
  try {
    await keepOpen();
    Object.assign(body, await contents(asked, path));
    await api.chat(body, control.signal, (chunk) => take(chunk, stats, tallies));
    if (asked.session) inSession.set(asked.session, [...path.filter((m) => m.role !== "assistant" || m.text !== "").map((m) => m.id), message.id]);
  } catch (error) {
    failure = error;
    if (asked.session) inSession.delete(asked.session);
  }
  const nTokens = stats.generated ?? live.value!.nTokens;
  const seconds = (tallies.last - tallies.first) / 1000;
  if (nTokens > 1 && seconds > 0) stats.perSecond = (nTokens - 1) / seconds;
  stats.generated = nTokens;
  const ended = ending(message, failure, stats, control.signal.aborted);
  stopper = null;
  live.set(null);
  await update(id, (conversation) => withChanged(conversation, ended));
}

function startAnswer(path: Message[]): void {
  writer = answer(path).catch(sayError);
}

function userMessage(parent: string | null, text: string, files: AttachedFile[]): Message {
  const message: Message = { id: newId(), parent, role: "user", text, state: "done", created: Date.now() };
  if (files.length > 0) message.files = files;
  return message;
}

export function send(text: string, files: AttachedFile[]): void {
  if (isBusy()) return;
  const path = shownPath(open.value);
  open.set(withMessage(open.value, userMessage(path[path.length - 1]?.id ?? null, text, files)));
  startAnswer(shownPath(open.value));
}

export async function stop(): Promise<void> {
  stopper?.abort();
  await writer;
}

// Another answer beside this one.
export function regenerate(id: string): void {
  const path = shownPath(open.value);
  const at = path.findIndex((m) => m.id === id);
  if (isBusy() || at < 1) return;
  startAnswer(path.slice(0, at));
}

// Another question beside this one.
export function edit(id: string, text: string): void {
  const path = shownPath(open.value);
  const at = path.findIndex((m) => m.id === id);
  if (isBusy() || at < 0) return;
  const before = path[at]!;
  open.set(withMessage(open.value, userMessage(before.parent, text, before.files ?? [])));
  startAnswer(shownPath(open.value));
}

// An answer's text as the user wants it; what follows it stays where it is.
export function rewrite(id: string, text: string): void {
  const before = open.value.messages[id];
  if (isBusy() || !before) return;
  const message: Message = { ...before, id: newId(), text, created: Date.now() };
  delete message.stats;
  open.set(withMessage(open.value, message));
  void keepOpen();
}

// What the user says that the calls gave.
export function giveResults(id: string, results: string[]): void {
  const called = open.value.messages[id];
  if (isBusy() || !called?.calls) return;
  let parent = id;
  let next = open.value;
  called.calls.forEach((call, i) => {
    const message: Message = {
      id: newId(),
      parent,
      role: "tool",
      text: results[i] ?? "",
      callId: call.id,
      state: "done",
      created: Date.now(),
    };
    next = withMessage(next, message);
    parent = message.id;
  });
  open.set(next);
  startAnswer(shownPath(open.value));
}

export function choose(id: string): void {
  if (isBusy()) return;
  open.set(withChosen(open.value, id));
  void keepOpen();
}

export function remove(id: string): void {
  if (isBusy()) return;
  open.set(without(open.value, id));
  void keepOpen();
}

export function setSystem(text: string): void {
  open.set({ ...open.value, system: text });
  if (Object.keys(open.value.messages).length > 0) void keepOpen();
}

export async function startNew(session?: string): Promise<void> {
  await stop();
  const fresh = emptyConversation(settings.value.system);
  if (session) fresh.session = session;
  open.set(fresh);
}

// Opens it if it `isWanted` still when it has been read. False: there is none.
export async function show(id: string, isWanted: () => boolean = () => true): Promise<boolean> {
  if (open.value.id === id) return true;
  const found = await find(id);
  if (!found) return false;
  if (!isWanted()) return true;
  await stop();
  // A page that was closed while it wrote has left its answer as it was; another tab that still writes
  // keeps its own, as this is no change of the user.
  let conversation = found;
  for (const message of Object.values(found.messages)) {
    if (message.state === "streaming") conversation = withChanged(conversation, { ...message, state: "stopped" });
  }
  setBase(conversation);
  open.set(conversation);
  return true;
}

export async function rename(id: string, title: string): Promise<void> {
  await update(id, (conversation) => ({ ...conversation, title: title.trim() }));
}

export async function discard(id: string): Promise<void> {
  if (open.value.id === id) await startNew();
  await forget(id);
}

// The server's session as a conversation of this page, which continues it.
export async function showSession(name: string): Promise<void> {
  const kept = heads.value.find((head) => head.session === name);
  if (kept && (await show(kept.id))) return;
  const messages = await api.session(name);
  await stop();
  let conversation: Conversation = { ...emptyConversation(), session: name, title: name };
  let parent: string | null = null;
  const ids: string[] = [];
  for (const { role, content } of messages) {
    const text = typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
    if (role === "system" || role === "developer") {
      conversation = { ...conversation, system: text };
    } else if (role === "user" || role === "assistant" || role === "tool") {
      const message: Message = { id: newId(), parent, role, text, state: "done", created: Date.now() + ids.length };
      conversation = withMessage(conversation, message);
      parent = message.id;
      ids.push(message.id);
    }
  }
  inSession.set(name, ids);
  open.set(conversation);
  await keep(conversation);
}

export async function readServer(): Promise<void> {
  models.set(await api.models());
  const known = models.value.some((m) => m.id === settings.value.model);
  const model = known ? settings.value.model : (models.value[0]?.id ?? "");
  props.set(await api.props(model).catch(() => ({})));
  sessions.set(await api.sessions().catch(() => null));
}

export async function readSessions(): Promise<void> {
  sessions.set(await api.sessions().catch(() => sessions.value));
}

export { titleOf };
