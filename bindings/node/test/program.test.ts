// `npx ruvllm`, with a program in the place of ours that shows what it gets.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../src/program.js", import.meta.url));
let folder: string;
before(async () => { folder = await mkdtemp(join(tmpdir(), "ruvllm-")); });
after(() => rm(folder, { recursive: true }));

interface Ended {
  code: number | null;
  out: string;
}

/** Runs it. The signal is sent once there is output. */
async function run(script: string, given: string[], signal?: NodeJS.Signals): Promise<Ended> {
  const file = join(folder, "program");
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  const child = spawn(process.execPath, [PROGRAM, ...given],
                      { env: { ...process.env, RUVLLM_PROGRAM: file } });
  let out = "";
  child.stdout.on("data", (data) => {
    out += data;
    if (signal !== undefined) child.kill(signal);
  });
  child.stderr.on("data", (data) => { out += data; });
  child.stdin.end("typed");
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, out })));
}
const SHOW = "printf '%s|' \"$@\"; cat";

test("arguments and stdin go to the program", async () => {
  assert.deepEqual(await run(SHOW, ["run", "--top-p", "1", "a b"]),
                   { code: 0, out: "run|--top-p|1|a b|typed" });
});

test("without arguments it chats", async () => {
  assert.deepEqual(await run(SHOW, []), { code: 0, out: "chat|typed" });
});

test("models has words for commands of the program", async () => {
  const meant: Array<[string[], string[]]> = [
    [["list", "--json"], ["list", "--json"]],
    [["download", "owner/repo", "--json"], ["pull", "owner/repo", "--json"]],
    [["status", "--json"], ["cache", "--json"]],
    [["delete", "hf:owner/repo", "--yes"], ["rm", "hf:owner/repo", "--yes"]],
  ];
  for (const [given, wanted] of meant) {
    const out = [...wanted, "typed"].join("|");
    assert.deepEqual(await run(SHOW, ["models", ...given]), { code: 0, out });
  }
  for (const wrong of [[], ["lists"], ["toString"], ["status", "clean"], ["list", "a"]]) {
    const { code, out } = await run(SHOW, ["models", ...wrong]);
    assert.equal(code, 2);
    assert.match(out, /^ruvllm models/);
  }
  assert.match((await run(SHOW, ["models", "--help"])).out, /download NAME/);
});

test("the program's exit code is passed on", async () => {
  assert.equal((await run("exit 3", ["run"])).code, 3);
  assert.equal((await run("kill -KILL $$", ["run"])).code, 128 + 9);
});

test("signals reach the program", { timeout: 60_000 }, async () => {
  const script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done";
  assert.equal((await run(script, ["serve"], "SIGTERM")).code, 7);
});
