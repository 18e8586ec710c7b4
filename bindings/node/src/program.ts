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

// `ruvllm models …` has words of its own for four commands of the program.
const MODELS: Record<string, { command: string; about: string; named: boolean }> = {
  list: { command: "list", about: "the models that are here", named: false },
  download: { command: "pull", about: "fetches a model: owner/repo or ollama:NAME", named: true },
  status: { command: "cache", about: "what is kept on disk", named: false },
  delete: { command: "rm", about: "removes models that were downloaded", named: true },
};

function usage(): string {
  const line = (name: string) =>
    `  ruvllm models ${`${name}${MODELS[name]!.named ? " NAME" : ""}`.padEnd(14)}  ` +
    `${MODELS[name]!.about}; as ruvllm ${MODELS[name]!.command}`;
  return [...Object.keys(MODELS).map(line), "  --json        Print one JSON object", ""].join("\n");
}

/** The program's arguments; nothing: the call was wrong, which is said. */
function argumentsOfModels(given: string[]): string[] | undefined {
  const [name = "", ...rest] = given;
  const meant = Object.hasOwn(MODELS, name) ? MODELS[name] : undefined;
  if (meant === undefined) {
    process.stderr.write(`${name ? `ruvllm models: no '${name}'` : "ruvllm models"}:\n${usage()}`);
    return undefined;
  }
  // `cache` has an action, which `status` must not become.
  const word = meant.named ? undefined : rest.find((one) => !one.startsWith("-"));
  if (word !== undefined) {
    process.stderr.write(`ruvllm models ${name}: '${word}': it takes no name\n`);
    return undefined;
  }
  return [meant.command, ...rest];
}

const given = process.argv.slice(2);
if (given[0] !== "models") {
  run(given.length > 0 ? given : ["chat"]);
} else if (given[1] === "--help" || given[1] === "-h") {
  process.stdout.write(usage());
} else {
  const meant = argumentsOfModels(given.slice(1));
  if (meant !== undefined) run(meant);
  else process.exitCode = 2;
}
