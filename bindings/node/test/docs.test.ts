// The code blocks of the documents, run as a reader would.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const file = (path: string): string =>
  fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const GGUF = process.env["RUVLLM_TEST_MODEL"] ?? file("models/ruvltra-nano-q8_0.gguf");

for (const page of ["docs/embedding.md", "bindings/node/README.md"]) {
  test(`the code in ${page}`, async () => {
    const text = await readFile(file(page), "utf8");
    const blocks = [...text.matchAll(/^```js\n(.*?)^```/gms)];
    assert.equal(blocks.length, 1);
    // The package finds itself by its name.
    const program = fileURLToPath(new URL(`${page.replace(/\W/g, "_")}.mjs`, import.meta.url));
    const folder = await mkdtemp(join(tmpdir(), "ruvllm-"));
    await writeFile(program, blocks[0]![1]!);
    await symlink(GGUF, join(folder, "model.gguf"));
    const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd: folder });
    await rm(folder, { recursive: true });
    assert.ok(stdout.length > 20, stdout);
  });
}
