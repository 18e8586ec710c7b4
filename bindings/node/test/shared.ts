// What the tests share.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { load, type LoadOptions, type Model } from "ruvllm";

export const MODEL = process.env["RUVLLM_TEST_MODEL"] ?? null;
export const ASKED = [{ role: "user", content: "What is the capital of France?" }];
export const GREEDY = { temperature: 0, max_tokens: 24 };
// Far longer than a test waits, on a model that is small.
export const ENDLESS = { max_tokens: -1, ignore_eos: true, context_shift: true };

/** For modules that are given as text. */
export const INDEX = new URL("../src/index.js", import.meta.url).href;

export const open = (options: LoadOptions = { n_ctx: 512 }): Promise<Model> => load(MODEL, options);

export function cases(name: string): Array<Record<string, any>> {
  return JSON.parse(readFileSync(new URL(`../../../cases/${name}.json`, import.meta.url), "utf8"));
}

setFlagsFromString("--expose-gc");
export const gc = runInNewContext("gc") as () => void;

/** Waits, collecting garbage, until the condition holds; the test's own limit ends it. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!await holds()) {
    gc();
    await setTimeout(5);
  }
}

export async function nRunning(model: Model): Promise<number> {
  const stats = await model.request("GET", "/v1/engine/stats");
  return (stats as { load: { n_running: number } }).load.n_running;
}

/** How a process ended: its exit code or the signal. */
export interface Done {
  code: number | string | null;
  out: string;
  err: string;
}

/** Runs a module that may use load, Server, MODEL and ENDLESS. */
export function run(code: string): Promise<Done> {
  const whole = `import { load, Server } from ${JSON.stringify(INDEX)};
    const MODEL = ${JSON.stringify(MODEL)}, ENDLESS = ${JSON.stringify(ENDLESS)};
    ${code}`;
  return new Promise((resolve) => {
    execFile(process.execPath, ["--input-type=module", "--eval", whole], { timeout: 60_000 },
             (error, out, err) =>
               resolve({ code: error ? error.code ?? error.signal ?? null : 0, out, err }));
  });
}
