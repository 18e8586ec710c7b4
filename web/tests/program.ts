// The real server, with the built-in model.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const kBinary = process.env.RUVLLM_BINARY ?? new URL("../../build/release/apps/ruvllm/ruvllm", import.meta.url).pathname;

// Without RUVLLM_*, which are meant for the tests and which the server would take for its options.
const kEnvironment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RUVLLM_")));

export interface Program {
  url: string;
  stop: () => Promise<void>;
}

// `more`: further options, where `folder` is one that goes when the server stops.
export function startProgram(more: (folder: string) => string[] = () => []): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), "ruvllm-page-"));
  const child: ChildProcess = spawn(
    kBinary,
    ["serve", "--port", "0", "--alias", "nano", "--log", "off", "--cache-dir", join(folder, "cache"), ...more(folder)],
    { stdio: ["ignore", "ignore", "pipe"], env: kEnvironment },
  );
  const stop = () =>
    new Promise<void>((resolve) => {
      child.once("exit", () => {
        rmSync(folder, { recursive: true, force: true });
        resolve();
      });
      if (child.exitCode === null) child.kill("SIGTERM");
      else child.emit("exit");
    });
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr!.on("data", (bytes: Buffer) => {
      said += bytes.toString();
      const found = /listening on (\S+)/.exec(said);
      if (found) resolve({ url: found[1]!, stop });
    });
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`the server ended: ${said}`)));
  });
}
