// A conversation of this many messages, in the browser's storage.
export function madeConversation(nMessages: number, say: (i: number) => string): string {
  const messages: Record<string, object> = {};
  const chosen: Record<string, string> = {};
  let parent: string | null = null;
  for (let i = 0; i < nMessages; ++i) {
    const id = `m${i}`;
    messages[id] = { id, parent, role: i % 2 === 0 ? "user" : "assistant", text: say(i), state: "done", created: 1_700_000_000_000 + i };
    chosen[parent ?? "root"] = id;
    parent = id;
  }
  return JSON.stringify({ format: "ruvllm-conversations", version: 1, conversations: [{ id: "x", title: "Long", created: 1, updated: 1, system: "", messages, chosen }] });
}
