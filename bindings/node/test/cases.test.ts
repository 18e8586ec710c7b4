// The cases that all bindings share (bindings/cases).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Answer, InvalidError, load, type Model, RuvllmError } from "ruvllm";

import { cases, open } from "./shared.js";

let model: Model;
before(async () => { model = await open(); });
after(() => model.close());

const has = (error: unknown, wanted: object): boolean => {
  assert.ok(error instanceof RuvllmError, String(error));
  assert.deepEqual({ ...wanted, ...Object.fromEntries(
    Object.keys(wanted).map((key) => [key, error[key as "code" | "field"]])) }, wanted);
  return true;
};

function checkAnswer(answer: Answer, wanted: Record<string, any>): void {
  if ("contains" in wanted) assert.ok(answer.text.includes(wanted["contains"]), answer.text);
  if ("finish_reason" in wanted) assert.equal(answer.finishReason, wanted["finish_reason"]);
  if ("completion_tokens" in wanted) {
    assert.equal(answer.usage?.completion_tokens, wanted["completion_tokens"]);
  }
  if ("json_keys" in wanted) {
    assert.deepEqual(Object.keys(JSON.parse(answer.text)), wanted["json_keys"]);
  }
}

for (const one of cases("answers")) {
  test(`answers: ${one["name"]}`, async () => {
    const isChat = one["call"] === "chat";
    const asked = one["messages"] ?? one["prompt"], { options, error, expect } = one;
    const ask = () => isChat ? model.chat(asked, options) : model.generate(asked, options);
    const stream = () => isChat ? model.chatStream(asked, options) : model.stream(asked, options);
    if (error !== undefined) {
      await assert.rejects(ask, InvalidError);
      await assert.rejects(ask, (failed) => has(failed, error));
      await assert.rejects(async () => stream().next(), (failed) => has(failed, error));
      return;
    }
    const answer = await ask();
    checkAnswer(answer, expect);
    let text = "";
    for await (const piece of stream()) text += piece;
    assert.equal(text, answer.text);
  });
}

for (const { name, text } of cases("tokens")) {
  test(`tokens: ${name}`, async () => {
    const ids = await model.tokenize(text);
    assert.equal(await model.detokenize(ids), text);
    assert.deepEqual(await model.tokenize(new TextEncoder().encode(text)), ids);
  });
}

for (const one of cases("load")) {
  test(`load: ${one["name"]}`, async () => {
    await assert.rejects(load(one["path"], one["options"]), (error) => has(error, one["error"]));
  });
}
