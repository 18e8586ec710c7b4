#!/usr/bin/env node
// `npx ruvllm`: the program that is in the package, with the same arguments; without any it chats.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";

const program = process.env["RUVLLM_PROGRAM"] ??
  fileURLToPath(new URL("../../bin/ruvllm", import.meta.url));

function run(given: string[]): void {
  const child = spawn(program, given, { stdio: "inherit" });
  // A terminal sends these to both, and the program decides what they mean; others send them to this
  // process alone.
  process.on("SIGINT", () => {});
  process.on("SIGQUIT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) => {
    console.error(`ruvllm: ${program}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal!];
  });
}

const given = process.argv.slice(2);
run(given.length > 0 ? given : ["chat"]);
