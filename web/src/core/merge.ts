// One conversation that two tabs have changed: what this tab has made of what it had read, on top of
// what the other has kept since. Values are not changed in place, so that another value is a change.
import { kRoot } from "./tree.ts";
import type { Conversation, Message } from "./tree.ts";

function mergedMessages(base: Conversation, ours: Conversation, theirs: Conversation): Record<string, Message> {
  const messages = { ...theirs.messages };
  for (const [id, message] of Object.entries(ours.messages)) {
    const isTheirs = Object.hasOwn(theirs.messages, id);
    // What they deleted stays deleted, unless it was changed or is new here.
    if (base.messages[id] !== message || (isTheirs && !Object.hasOwn(base.messages, id))) messages[id] = message;
  }
  for (const id of Object.keys(base.messages)) if (!Object.hasOwn(ours.messages, id)) delete messages[id];
  // What a message answers is never deleted without it.
  const waiting = Object.values(messages);
  for (let message = waiting.pop(); message; message = waiting.pop()) {
    const parent = message.parent;
    if (parent === null || Object.hasOwn(messages, parent)) continue;
    const found = theirs.messages[parent] ?? ours.messages[parent] ?? base.messages[parent];
    if (!found) continue;
    messages[parent] = found;
    waiting.push(found);
  }
  return messages;
}

export function merged(base: Conversation, ours: Conversation, theirs: Conversation): Conversation {
  const messages = mergedMessages(base, ours, theirs);
  const chosen = { ...theirs.chosen };
  for (const [parent, id] of Object.entries(ours.chosen)) if (base.chosen[parent] !== id) chosen[parent] = id;
  const last = new Map<string, Message>();
  for (const message of Object.values(messages)) {
    const key = message.parent ?? kRoot;
    const other = last.get(key);
    if (!other || other.created <= message.created) last.set(key, message);
  }
  for (const key of Object.keys(chosen)) if (!last.has(key)) delete chosen[key];
  for (const [key, message] of last) {
    if (!chosen[key] || !Object.hasOwn(messages, chosen[key])) chosen[key] = message.id;
  }
  return {
    ...theirs,
    title: ours.title === base.title ? theirs.title : ours.title,
    system: ours.system === base.system ? theirs.system : ours.system,
    updated: Math.max(ours.updated, theirs.updated),
    messages,
    chosen,
  };
}
