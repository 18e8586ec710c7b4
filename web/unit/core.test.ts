import assert from "node:assert/strict";
import { test } from "vitest";
import { exported, imported } from "../src/core/exchange.ts";
import { buckets, quantile, readMetrics, since, total } from "../src/core/prometheus.ts";
import { readSettings } from "../src/core/settings.ts";
import { EventReader } from "../src/core/sse.ts";
import { emptyConversation, shownPath, siblings, titleOf, wireMessage, withChosen, without, withMessage } from "../src/core/tree.ts";
import type { Conversation, Message, Role } from "../src/core/tree.ts";

const message = (id: string, parent: string | null, role: Role, text = id, created = 0): Message => ({ id, parent, role, text, state: "done", created });

function grown(): Conversation {
  let tree = emptyConversation();
  tree = withMessage(tree, message("q1", null, "user", "question", 1));
  tree = withMessage(tree, message("a1", "q1", "assistant", "first", 2));
  tree = withMessage(tree, message("q2", "a1", "user", "more", 3));
  return withMessage(tree, message("a2", "q1", "assistant", "second", 4));
}

test("events are the same wherever their bytes are cut", () => {
  const text = 'data: {"a":1}\r\n\r\n: note\ndata: x\ndata: y\n\nevent: z\rdata:last\r\r';
  for (let size = 1; size <= text.length; ++size) {
    const reader = new EventReader();
    const events: string[] = [];
    for (let i = 0; i < text.length; i += size) events.push(...reader.read(text.slice(i, i + size)));
    events.push(...reader.read("\n"));
    assert.deepEqual(events, ['{"a":1}', "x\ny", "last"]);
  }
});

test("an event without end is refused", () => {
  const reader = new EventReader(100);
  assert.throws(() => reader.read(`data: ${"x".repeat(200)}`), /too long/);
});

test("the newest alternative is shown until another is chosen", () => {
  const tree = grown();
  assert.deepEqual(shownPath(tree).map((m) => m.id), ["q1", "a2"]);
  assert.deepEqual(shownPath(withChosen(tree, "a1")).map((m) => m.id), ["q1", "a1", "q2"]);
  assert.deepEqual(siblings(tree).get("q1"), ["a1", "a2"]);
});

test("a deleted message takes what follows with it", () => {
  const tree = without(withChosen(grown(), "a1"), "a1");
  assert.deepEqual(shownPath(tree).map((m) => m.id), ["q1", "a2"]);
  assert.equal("q2" in tree.messages, false);
  assert.deepEqual(shownPath(without(tree, "q1")), []);
});

test("a circle of choices ends", () => {
  const tree = grown();
  tree.chosen.a2 = "q1";
  assert.equal(shownPath(tree).length, 2);
});

test("titles are the beginning of the first question", () => {
  assert.equal(titleOf(grown()), "question");
  assert.equal(titleOf(emptyConversation()), "New conversation");
  assert.ok(titleOf(withMessage(emptyConversation(), message("a", null, "user", "x ".repeat(100)))).length <= 60);
});

test("files have a fence that they do not contain", () => {
  const asked: Message = { ...message("a", null, "user", "why?"), files: [{ name: "f", text: "``` and `````" }] };
  assert.equal(wireMessage(asked).content, "File f:\n``````\n``` and `````\n``````\n\nwhy?");
});

test("what is exported is imported", () => {
  const tree = grown();
  const [back] = imported(exported([tree]));
  assert.notEqual(back!.id, tree.id);
  assert.deepEqual(back!.messages, tree.messages);
  assert.deepEqual(back!.chosen, tree.chosen);
});

test("an import of a long chain takes linear time", () => {
  let parent: string | null = null;
  const messages: Record<string, Message> = {};
  for (let i = 0; i < 50_000; ++i) {
    messages[`m${i}`] = message(`m${i}`, parent, "user", "");
    parent = `m${i}`;
  }
  const [back] = imported(JSON.stringify({ format: "ruvllm-conversations", version: 1, conversations: [{ messages }] }));
  assert.equal(Object.keys(back!.messages).length, 50_000);
});

test("imports that are wrong are refused", () => {
  const wrong = (conversations: unknown) => () => imported(JSON.stringify({ format: "ruvllm-conversations", conversations }));
  assert.throws(() => imported("{"), /not JSON/);
  assert.throws(() => imported("[]"), /no conversations/);
  assert.throws(wrong([{ messages: { a: { id: "a", parent: "b", role: "user" } } }]), /parent is missing/);
  assert.throws(wrong([{ messages: { a: { id: "a", parent: "a", role: "user" } } }]), /its own parent/);
  assert.throws(wrong([{ messages: { a: { id: "toString", role: "user" } } }]), /no id/);
});

test("metrics are read with their labels", () => {
  const metrics = readMetrics('# HELP a x\na 1\nb{x="1,\\"2\\"}",y="\\n"} 2.5 123\nb{x="3"} +Inf\nbroken{x="\nNaNs NaN\n');
  assert.equal(total(metrics, "a"), 1);
  assert.equal(metrics.get("b")![0]!.labels.x, '1,"2"}');
  assert.equal(metrics.get("b")![0]!.labels.y, "\n");
  assert.equal(total(metrics, "b", { x: "3" }), Infinity);
  assert.equal(total(metrics, "none"), undefined);
  assert.equal(metrics.has("broken"), false);
});

test("percentiles are those of Prometheus", () => {
  const metrics = readMetrics('h_bucket{le="1"} 10\nh_bucket{le="2"} 20\nh_bucket{le="+Inf"} 20\n');
  const all = buckets(metrics, "h");
  assert.equal(quantile(all, 0.5), 1);
  assert.equal(quantile(all, 0.75), 1.5);
  assert.equal(quantile(all, 0.25), 0.5);
  assert.equal(quantile({ bounds: [1, Infinity], counts: [0, 5] }, 0.9), 1);
  assert.equal(quantile({ bounds: [1, Infinity], counts: [0, 0] }, 0.9), undefined);
  assert.deepEqual(since(all, { bounds: all.bounds, counts: [4, 10, 10] }).counts, [6, 10, 10]);
  // The server was started again.
  assert.deepEqual(since(all, { bounds: all.bounds, counts: [40, 100, 100] }).counts, all.counts);
});

test("settings of another type are not taken", () => {
  const settings = readSettings('{"theme": "pink", "model": 5, "useTools": true, "sampling": {"top_p": 0.5, "seed": "x"}}');
  assert.equal(settings.theme, "system");
  assert.equal(settings.model, "");
  assert.equal(settings.useTools, true);
  assert.equal(settings.sampling.top_p, 0.5);
  assert.equal(settings.sampling.seed, null);
  assert.equal(readSettings("null").useTools, false);
  assert.equal(readSettings("{").theme, "system");
});
