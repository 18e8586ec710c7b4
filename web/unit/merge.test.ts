import assert from "node:assert/strict";
import { test } from "vitest";
import { merged } from "../src/core/merge.ts";
import { emptyConversation, shownPath, withChanged, withMessage, without } from "../src/core/tree.ts";
import type { Conversation, Message } from "../src/core/tree.ts";

const message = (id: string, parent: string | null, text = id): Message => ({ id, parent, role: "user", text, state: "done", created: Number.parseInt(id, 36) });
const base = withMessage(withMessage(emptyConversation(), message("a", null)), message("b", "a"));
const texts = (of: Conversation) => Object.values(of.messages).map((m) => m.text).sort();
const shown = (of: Conversation) => shownPath(of).map((m) => m.id).join("");

test("both tabs' messages stay, and this tab's choice", () => {
  const both = merged(base, withMessage(base, message("c", "b")), withMessage(base, message("d", "b")));
  assert.deepEqual(texts(both), ["a", "b", "c", "d"]);
  assert.equal(shown(both), "abc");
});

test("a message that one tab changed is as it made it", () => {
  const changed = withChanged(base, message("b", "a", "new"));
  assert.deepEqual(texts(merged(base, changed, withMessage(base, message("d", "b")))), ["a", "d", "new"]);
  assert.deepEqual(texts(merged(base, withMessage(base, message("d", "b")), changed)), ["a", "d", "new"]);
});

test("what either deletes is gone, but not below what the other added", () => {
  assert.deepEqual(texts(merged(base, without(base, "b"), base)), ["a"]);
  assert.deepEqual(texts(merged(base, base, without(base, "b"))), ["a"]);
  const added = withMessage(base, message("d", "b"));
  for (const both of [merged(base, without(base, "a"), added), merged(base, added, without(base, "a"))]) {
    assert.deepEqual(texts(both), ["a", "b", "d"]);
    assert.equal(shown(both), "abd");
  }
});

test("titles and system prompts are of the tab that changed them", () => {
  const both = merged(base, { ...base, title: "ours" }, { ...base, title: "theirs", system: "brief" });
  assert.equal(both.title, "ours");
  assert.equal(both.system, "brief");
});
