// The same as cells.py for frameworks in JavaScript.
//
// Usage of each file of cells: node FILE --url http://127.0.0.1:PORT/v1 [CELL]...
import { z } from "zod";

export const MODEL = "nano";
export const KEY = "none";
export const EXTRACT = "Jason is 25 years old. Who is it?";
// Where a form lets strings and lists go on, a model this small ends them only if it is asked so.
export const EXTRACT_JSON = "Jason is 25 years old.\n\nReturn JSON with this schema: " +
  '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, ' +
  '"required": ["name", "age"]}';
// The model calls a function for this by itself ...
export const WEATHER = "What is the weather in Paris, in Celsius?";
// ... and for this only if it must.
export const TALK = "Tell me about yourself.";
export const MAX_TOKENS = 300;

export const Person = z.strictObject({ name: z.string(), age: z.int().min(0).max(150) });
export const Place = z.strictObject({ city: z.string(), unit: z.enum(["celsius", "fahrenheit"]) });

const COLUMNS = ["typed answers", "tools", "streams", "loops"];
const registered = [];

export function check(condition, ...seen) {
  if (!condition) throw new Error(("check: " + JSON.stringify(seen)).slice(0, 600));
}

// Registers a function of the server's URL, which may return a word about its end.
export function cell(column, name, run) {
  check(COLUMNS.includes(column), column);
  registered.push({ column, name, run });
}

export const checkPerson = (person) => Person.parse(person);

// A function for models that remembers how it was called.
export class Weather {
  calls = [];
  get = async (place) => {
    this.calls.push(Place.parse(place));
    return `18 degrees in ${place.city}`;
  };
  checkCalled() {
    check(this.calls.length > 0, "the function was not called");
  }
}

// The logit_bias with which the model does not begin a call, where it may also answer.
export async function withoutCalls(url) {
  const answer = await fetch(url.replace(/\/v1$/, "/tokenize"), {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ content: "<tool_call>" }) });
  return { [(await answer.json()).tokens[0]]: -100 };
}

export async function main() {
  const [flag, url, ...names] = process.argv.slice(2);
  check(flag === "--url" && url, "usage: FILE --url URL [CELL]...");
  for (const { column, name, run } of registered) {
    if (names.length && !names.includes(name)) continue;
    const line = { column, cell: name, ok: true };
    const started = performance.now();
    try {
      line.end = (await run(url)) ?? null;
    } catch (error) {
      line.ok = false;
      line.error = `${error?.name}: ${error?.message}`.slice(0, 1500);
      console.error(error);
    }
    line.seconds = Math.round((performance.now() - started) / 10) / 100;
    console.log("CELL " + JSON.stringify(line));
  }
  process.exit(0);
}
