// Conversations as files: what is exported, and what an import may be. A file is another program's
// text, so that every member is read by its type and nothing else is taken over.
import { finite, isObject, list, text } from "./read.ts";
import { kRoot, newId } from "./tree.ts";
import type { AttachedFile, Call, Conversation, Message, Role, State, Stats } from "./tree.ts";

export const kFormat = "ruvllm-conversations";
const kMostMessages = 100_000;

// Names that are properties of every object are none here.
const isId = (value: unknown): value is string => typeof value === "string" && /^[A-Za-z0-9-]{1,64}$/.test(value) && !(value in {});

export function exported(conversations: Conversation[]): string {
  return `${JSON.stringify({ format: kFormat, version: 1, conversations }, null, 1)}\n`;
}

function readStats(value: unknown): Stats | undefined {
  if (!isObject(value)) return undefined;
  const stats: Stats = {};
  for (const name of ["prompt", "cached", "generated", "reasoning", "firstMs", "perSecond"] as const) {
    const number = finite(value[name]);
    if (number !== undefined) stats[name] = number;
  }
  for (const name of ["miss", "finish"] as const) {
    const word = text(value[name]);
    if (word !== undefined) stats[name] = word;
  }
  const warnings = list(value.warnings).filter((w): w is string => typeof w === "string");
  if (warnings.length > 0) stats.warnings = warnings;
  return stats;
}

function readMessage(value: unknown, place: number): Message {
  if (!isObject(value) || !isId(value.id)) throw new Error(`message ${place} has no id`);
  const roles: Role[] = ["user", "assistant", "tool"];
  const role = roles.find((r) => r === value.role);
  if (!role) throw new Error(`message ${place}: its role is none of ${roles.join(", ")}`);
  const states: State[] = ["done", "stopped", "failed"];
  const message: Message = {
    id: value.id,
    parent: isId(value.parent) ? value.parent : null,
    role,
    text: text(value.text) ?? "",
    // One that was being written when it was exported has stopped.
    state: states.find((s) => s === value.state) ?? (value.state === "streaming" ? "stopped" : "done"),
    created: finite(value.created) ?? 0,
  };
  for (const name of ["thinking", "callId", "model", "error"] as const) {
    const found = text(value[name]);
    if (found !== undefined) message[name] = found;
  }
  const calls: Call[] = list(value.calls).flatMap((call) =>
    isObject(call) && text(call.name) !== undefined
      ? [{ id: text(call.id) ?? "", name: text(call.name)!, arguments: text(call.arguments) ?? "" }]
      : [],
  );
  if (calls.length > 0) message.calls = calls;
  const files: AttachedFile[] = list(value.files).flatMap((file) =>
    isObject(file) && text(file.text) !== undefined ? [{ name: text(file.name) ?? "file", text: text(file.text)! }] : [],
  );
  if (files.length > 0) message.files = files;
  const stats = readStats(value.stats);
  if (stats) message.stats = stats;
  return message;
}

// A message whose parents do not lead to the root would never be shown, and a circle of them never end.
function checkParents(messages: Record<string, Message>): void {
  const good = new Set<string>();
  for (const start of Object.keys(messages)) {
    const passed: string[] = [];
    const now = new Set<string>();
    let at: string | null = start;
    while (at !== null && !good.has(at)) {
      const message: Message | undefined = messages[at];
      if (!message) throw new Error(`message ${start}: its parent is missing`);
      if (now.has(at)) throw new Error(`message ${start} is its own parent`);
      now.add(at);
      passed.push(at);
      at = message.parent;
    }
    for (const id of passed) good.add(id);
  }
}

function readConversation(value: unknown): Conversation {
  if (!isObject(value) || !isObject(value.messages)) throw new Error("a conversation has no messages");
  const entries = Object.values(value.messages);
  if (entries.length > kMostMessages) throw new Error(`a conversation has more than ${kMostMessages} messages`);
  const messages: Record<string, Message> = {};
  entries.forEach((entry, i) => {
    const message = readMessage(entry, i + 1);
    messages[message.id] = message;
  });
  checkParents(messages);
  const chosen: Record<string, string> = {};
  if (isObject(value.chosen)) {
    for (const [parent, id] of Object.entries(value.chosen)) {
      const child = isId(id) ? messages[id] : undefined;
      if (child && (child.parent ?? kRoot) === parent) chosen[parent] = child.id;
    }
  }
  const conversation: Conversation = {
    id: newId(), // so that nothing that is kept here is replaced
    title: text(value.title) ?? "",
    created: finite(value.created) ?? Date.now(),
    updated: finite(value.updated) ?? Date.now(),
    system: text(value.system) ?? "",
    messages,
    chosen,
  };
  return conversation;
}

export function imported(json: string): Conversation[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error("the file is not JSON");
  }
  if (!isObject(value) || value.format !== kFormat || !Array.isArray(value.conversations)) {
    throw new Error("the file has no conversations of this page");
  }
  return value.conversations.map(readConversation);
}
