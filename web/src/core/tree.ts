// A conversation as a tree: an edited question or another answer is a sibling, and at each place one
// of the siblings is chosen. Values are never changed in place, so that what is shown can be compared.
export type Role = "user" | "assistant" | "tool";
export type State = "done" | "streaming" | "stopped" | "failed";

export interface Call {
  id: string;
  name: string;
  arguments: string;
}

export interface AttachedFile {
  name: string;
  text: string;
}

// What the server and the clock say of an answer.
export interface Stats {
  prompt?: number;
  cached?: number;
  miss?: string;
  generated?: number;
  reasoning?: number;
  firstMs?: number; // from the request to the first token
  perSecond?: number; // tokens, from the first to the last
  finish?: string;
  warnings?: string[];
}

export interface Message {
  id: string;
  parent: string | null;
  role: Role;
  text: string;
  thinking?: string;
  calls?: Call[];
  callId?: string; // of a tool: the call that it answers
  files?: AttachedFile[];
  model?: string;
  state: State;
  error?: string;
  stats?: Stats;
  created: number;
}

export interface Conversation {
  id: string;
  title: string;
  created: number;
  updated: number;
  system: string;
  session?: string; // of the server
  revision?: string; // another one each time that it is kept
  messages: Record<string, Message>;
  chosen: Record<string, string>; // of a parent's id, or kRoot
}

export const kRoot = "root";

export const newId = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
};

export function emptyConversation(system = ""): Conversation {
  const now = Date.now();
  return { id: newId(), title: "", created: now, updated: now, system, messages: {}, chosen: {} };
}

export function shownPath(conversation: Conversation): Message[] {
  const path: Message[] = [];
  const seen = new Set<string>();
  let at = conversation.chosen[kRoot];
  while (at !== undefined && !seen.has(at)) {
    const message = conversation.messages[at];
    if (!message) break;
    seen.add(at);
    path.push(message);
    at = conversation.chosen[at];
  }
  return path;
}

// By parent, in the order in which they were made.
export function siblings(conversation: Conversation): Map<string, string[]> {
  const map = new Map<string, string[]>();
  for (const message of Object.values(conversation.messages)) {
    const key = message.parent ?? kRoot;
    const list = map.get(key);
    if (list) list.push(message.id);
    else map.set(key, [message.id]);
  }
  for (const list of map.values()) {
    list.sort((a, b) => conversation.messages[a]!.created - conversation.messages[b]!.created);
  }
  return map;
}

// Adds it and chooses it.
export function withMessage(conversation: Conversation, message: Message): Conversation {
  return {
    ...conversation,
    updated: Date.now(),
    messages: { ...conversation.messages, [message.id]: message },
    chosen: { ...conversation.chosen, [message.parent ?? kRoot]: message.id },
  };
}

export function withChanged(conversation: Conversation, message: Message): Conversation {
  if (!conversation.messages[message.id]) return conversation;
  return { ...conversation, updated: Date.now(), messages: { ...conversation.messages, [message.id]: message } };
}

export function withChosen(conversation: Conversation, id: string): Conversation {
  const message = conversation.messages[id];
  if (!message) return conversation;
  return { ...conversation, chosen: { ...conversation.chosen, [message.parent ?? kRoot]: id } };
}

// Without it and all that follows it; a sibling is chosen instead.
export function without(conversation: Conversation, id: string): Conversation {
  const gone = conversation.messages[id];
  if (!gone) return conversation;
  const byParent = siblings(conversation);
  const messages = { ...conversation.messages };
  const chosen = { ...conversation.chosen };
  const waiting = [id];
  while (waiting.length > 0) {
    const next = waiting.pop()!;
    waiting.push(...(byParent.get(next) ?? []));
    delete messages[next];
    delete chosen[next];
  }
  const key = gone.parent ?? kRoot;
  const left = (byParent.get(key) ?? []).filter((other) => other !== id);
  if (chosen[key] === id) {
    if (left.length > 0) chosen[key] = left[left.length - 1]!;
    else delete chosen[key];
  }
  return { ...conversation, updated: Date.now(), messages, chosen };
}

// The first words of the first question.
export function titleOf(conversation: Conversation): string {
  if (conversation.title) return conversation.title;
  const first = shownPath(conversation).find((m) => m.role === "user");
  const text = (first?.text || first?.files?.[0]?.name || "").replace(/\s+/g, " ").trim();
  return text.length > 60 ? `${text.slice(0, 57).trimEnd()}…` : text || "New conversation";
}

// A fence that the text does not have.
function fenced(text: string): string {
  let longest = 2;
  for (const run of text.match(/`{3,}/g) ?? []) longest = Math.max(longest, run.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

export interface WireMessage {
  role: string;
  content: string | null;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

// As the server takes it. Files precede what is asked about them.
export function wireMessage(message: Message): WireMessage {
  if (message.role === "tool") return { role: "tool", content: message.text, tool_call_id: message.callId ?? "" };
  if (message.role === "assistant") {
    if (!message.calls?.length) return { role: "assistant", content: message.text };
    return {
      role: "assistant",
      content: message.text || null,
      tool_calls: message.calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.name, arguments: call.arguments || "{}" },
      })),
    };
  }
  const files = (message.files ?? []).map((file) => `File ${file.name}:\n${fenced(file.text)}`);
  return { role: "user", content: [...files, message.text].filter((part) => part !== "").join("\n\n") };
}

// Answers that failed before they said anything are not part of what the model reads.
export function wireMessages(path: Message[]): WireMessage[] {
  return path
    .filter((m) => m.role !== "assistant" || m.text !== "" || (m.calls?.length ?? 0) > 0)
    .map(wireMessage);
}
