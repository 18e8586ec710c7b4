// What only Node has: iterators, signals, views, the event loop.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import {
  CancelledError, InvalidError, type Model, NotFoundError, Server, UnavailableError, version,
} from "ruvllm";

import { ASKED, ENDLESS, GREEDY, gc, MODEL, nRunning, open, until } from "./shared.js";

let model: Model;
before(async () => { model = await open(); });
after(() => model.close());

test("a loop that is left ends the answer", async () => {
  for await (const piece of model.stream("One,", ENDLESS)) {
    assert.ok(piece.text);
    break;
  }
  await until(async () => await nRunning(model) === 0);
});

test("a stream that nothing refers to ends", async () => {
  for (let i = 0; i < 4; ++i) model.stream("One,", ENDLESS);
  await until(async () => await nRunning(model) === 0);
});

test("many at the same time", async () => {
  const wanted = String(await model.chat(ASKED, GREEDY));
  const found = await Promise.all(Array.from({ length: 12 }, () => model.chat(ASKED, GREEDY)));
  assert.deepEqual(found.map(String), Array(12).fill(wanted));
});

test("the event loop turns while an answer is computed", async () => {
  let isOpen = true, turns = 0;
  const answer = model.generate("One,", { max_tokens: 200, ignore_eos: true })
                      .finally(() => { isOpen = false; });
  while (isOpen) {
    await new Promise(setImmediate);
    ++turns;
  }
  assert.equal((await answer).usage?.completion_tokens, 200);
  assert.ok(turns > 1, `${turns} turns`);
});

test("calls of next() may overlap", async () => {
  // How many pieces a text comes in is left open.
  let wanted = "", nPieces = 0;
  for await (const piece of model.stream("One,", { ...GREEDY, max_tokens: 40 })) {
    wanted += String(piece);
    ++nPieces;
  }
  const stream = model.stream("One,", { ...GREEDY, max_tokens: 40 });
  const found = await Promise.all(Array.from({ length: 40 + nPieces }, () => stream.next()));
  const nFound = found.findIndex(({ done }) => done);
  assert.equal(found.slice(0, nFound).map(({ value }) => String(value)).join(""), wanted);
  assert.deepEqual(found.slice(nFound), Array(found.length - nFound).fill({ done: true, value: undefined }));
});

test("return() ends a next() that waits", async () => {
  const stream = model.stream("One,", ENDLESS);
  const taken = (async () => { for await (const _ of stream); })();
  await stream.next();
  assert.deepEqual(await stream.return(), { done: true, value: undefined });
  await taken;
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
});

test("a signal ends an answer", async () => {
  const control = new AbortController(), reason = new Error("enough");
  const answer = model.generate("One,", { ...ENDLESS, signal: control.signal });
  await until(async () => await nRunning(model) === 1);
  control.abort(reason);
  await assert.rejects(answer, reason);
  await until(async () => await nRunning(model) === 0);
  await assert.rejects(model.chat(ASKED, { signal: control.signal }), reason);
  await assert.rejects(model.embed("a", { signal: control.signal }), reason);
  assert.throws(() => model.stream("One,", { signal: control.signal }), reason);
});

test("a signal ends a stream", async () => {
  const control = new AbortController();
  const loop = async () => {
    for await (const _ of model.stream("One,", { ...ENDLESS, signal: control.signal })) {
      control.abort();
    }
  };
  await assert.rejects(loop, { name: "AbortError" });
});

test("vectors are views of one block", async () => {
  const rows = await model.embed(["A cat", "A dog", "A cat"]);
  assert.deepEqual(rows.map((row) => row.length), Array(3).fill(model.info.n_embd));
  assert.equal(rows[0]!.buffer, rows[2]!.buffer);
  assert.deepEqual(rows[0], rows[2]);
  const kept = rows[1]!;
  rows.length = 0;
  gc();
  assert.deepEqual(kept, (await model.embed("A dog"))[0]);
  assert.deepEqual((await model.embedLists("A dog"))[0], Array.from(kept));
  await assert.rejects(model.embed("a", { dimensions: -1 }),
                       (error) => error instanceof InvalidError && error.field === "dimensions");
});

test("what is not a text is refused", async () => {
  for (const wrong of ["\ud800", NaN, 1n, () => {}, Symbol("a"), [undefined]]) {
    await assert.rejects(model.generate("a", { stop: wrong as string }), InvalidError);
  }
  const round: Record<string, unknown> = {};
  round["round"] = round;
  await assert.rejects(model.generate("a", round), InvalidError);
  for (const wrong of [[2 ** 40], [-1], [0.5], [NaN]]) {
    await assert.rejects(model.detokenize(wrong), InvalidError);
  }
  await assert.rejects(model.generate("word ".repeat(2_000_000)), InvalidError);
  await assert.rejects(model.request("GET", "/v1/\0"), InvalidError);
  await assert.rejects(model.tokenize(1 as unknown as string), TypeError);
});

test("a closed model is refused", async () => {
  const closed = await open({ n_ctx: 64 });
  const stream = closed.stream("One,", ENDLESS);
  await stream.next();
  await closed.close();
  await closed.close();
  await assert.rejects(closed.tokenize("a"), CancelledError);
  assert.throws(() => closed.info, CancelledError);
  assert.equal((await stream.next()).done, false);  // the answer keeps the engine
  await stream.return();
});

test("the usage comes where it is asked for", async () => {
  const fields = { ...GREEDY, stream_options: { include_usage: true } };
  let used: number | undefined;
  for await (const piece of model.stream("One,", fields)) used = piece.usage?.completion_tokens;
  assert.ok(used);
});

test("sessions", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ruvllm-"));
  const kept = await open({ n_ctx: 512, cache_dir: folder });
  await kept.chat(ASKED, { session: "paris", ...GREEDY });
  assert.deepEqual((await kept.sessions()).map(({ name }) => name), ["paris"]);
  assert.equal((await kept.session("paris")).messages.length, 2);
  await kept.saveSession("other", ASKED);
  await kept.deleteSession("paris");
  assert.deepEqual((await kept.sessions()).map(({ name }) => name), ["other"]);
  await assert.rejects(kept.session("paris"), NotFoundError);
  await kept.close();
  await rm(folder, { recursive: true });
});

test("a server", async () => {
  const server = await Server.start(model, { api_key: "secret" });
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer secret", "content-type": "application/json" },
    body: JSON.stringify({ messages: ASKED, ...GREEDY }),
  });
  const answer = await response.json() as { choices: [{ message: { content: string } }] };
  assert.equal(answer.choices[0].message.content, String(await model.chat(ASKED, GREEDY)));
  await assert.rejects(Server.start(model, { port: server.port }), UnavailableError);
  await assert.rejects(Server.start(MODEL, { port: server.port }), UnavailableError);
  await assert.rejects(Server.start(model, { host: "0.0.0.0" }), InvalidError);
  await server.close();
  await server.close();
  await assert.rejects(fetch(server.url));
});

test("the version is the library's", async () => {
  assert.deepEqual(await model.request("GET", "/version"), { version });
});
