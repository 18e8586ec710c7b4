// Ends: of a process, of a worker thread, of objects that nothing refers to.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { ENDLESS, INDEX, MODEL, open, run, until } from "./shared.js";

const fine = { code: 0, out: "", err: "" };
const STREAM = `const model = await load(MODEL, {n_ctx: 128});
  const stream = model.stream("One,", ENDLESS);
  await stream.next();`;

test("a process ends with an answer that is not taken", async () => {
  assert.deepEqual(await run(STREAM), fine);
});

test("process.exit() in a stream", async () => {
  assert.deepEqual(await run(`${STREAM}
    for await (const piece of stream) if (piece.text) process.exit(0);`), fine);
});

test("process.exit() while calls, a server and a load wait", async () => {
  assert.deepEqual(await run(`${STREAM}
    model.generate("One,", ENDLESS); model.embed("a"); load(MODEL); stream.next();
    await Server.start(model);
    setTimeout(() => process.exit(0), 20);`), fine);
});

test("what is asked while a process exits is refused", async () => {
  const done = await run(`${STREAM}
    process.on("exit", () => {
      try { model.stream("a"); } catch (error) { console.log(error.name); }
    });
    process.exit(0);`);
  assert.deepEqual(done, { ...fine, out: "CancelledError\n" });
});

test("an exception that nothing catches ends a process", async () => {
  const done = await run(`${STREAM} stream.next(); throw new Error("of the program");`);
  assert.equal(done.code, 1, done.err);
});

test("a server keeps a process alive until it is closed", async () => {
  const done = await run(`const server = await Server.start(MODEL);
    setTimeout(async () => { await server.close(); console.log("closed"); }, 50).unref();`);
  assert.deepEqual(done, { ...fine, out: "closed\n" });
});

const WORKER = `import { parentPort } from "node:worker_threads";
  import { load } from ${JSON.stringify(INDEX)};
  const ENDLESS = ${JSON.stringify(ENDLESS)};
  const model = await load(${JSON.stringify(MODEL)}, {n_ctx: 128});
  const { text } = await model.generate("One,", {max_tokens: 4, temperature: 0, ignore_eos: true});
  parentPort.postMessage(text);`;
const dataUrl = (code: string): string =>
  `data:text/javascript,${encodeURIComponent(WORKER + code)}`;
const worker = (code: string): Worker => new Worker(new URL(dataUrl(code)));
const message = (from: Worker): Promise<string> => new Promise((resolve, reject) => {
  from.once("message", resolve);
  from.once("error", reject);
});
const exit = (from: Worker): Promise<number> =>
  new Promise((resolve) => from.once("exit", resolve));

test("worker threads have models of their own", { timeout: 120_000 }, async () => {
  const model = await open({ n_ctx: 128 });
  const fields = { max_tokens: 4, temperature: 0, ignore_eos: true };
  const { text } = await model.generate("One,", fields);
  const workers = Array.from({ length: 3 }, () => worker("await model.close();"));
  const codes = workers.map(exit);
  assert.deepEqual(await Promise.all(workers.map(message)), Array(3).fill(text));
  assert.deepEqual(await Promise.all(codes), Array(3).fill(0));
  await model.close();
});

test("a worker thread is terminated in the middle of answers", { timeout: 120_000 }, async () => {
  const model = await open({ n_ctx: 128 });
  for (let i = 0; i < 3; ++i) {
    const one = worker(`model.generate("One,", ENDLESS); load(${JSON.stringify(MODEL)});
      for await (const piece of model.stream("One,", ENDLESS)) parentPort.postMessage("piece");`);
    await message(one);
    await message(one);
    await one.terminate();
  }
  await model.generate("One,", { max_tokens: 4 });
  await model.close();
});

test("a process exits while worker threads compute", async () => {
  const source = JSON.stringify(dataUrl("for await (const _ of model.stream('One,', ENDLESS));"));
  assert.deepEqual(await run(`import { Worker } from "node:worker_threads";
    const one = new Worker(new URL(${source}));
    one.once("message", () => setTimeout(() => process.exit(0), 20));`), fine);
});

test("models that nothing refers to leave memory", { timeout: 120_000 }, async () => {
  const nThreads = (): number => readdirSync("/proc/self/task").length;
  await (await open({ n_ctx: 64 })).close();
  const before = nThreads();
  await Promise.all(Array.from({ length: 8 }, () => open({ n_ctx: 64 })));
  assert.ok(nThreads() > before);
  await until(() => nThreads() <= before + 4);
});
