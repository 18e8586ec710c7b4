// The cells of Vercel's AI SDK, for each of its providers.
import { Output, generateObject, generateText, stepCountIs, streamObject, streamText, tool }
  from "ai";

import * as cells from "./cells.mjs";
import { Person, Place, Weather, cell, check, checkPerson } from "./cells.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

let modelAt;  // the provider's model of a URL
const ask = (url, prompt, more = {}) => ({
  model: modelAt(url), prompt, temperature: 0, maxOutputTokens: cells.MAX_TOKENS, maxRetries: 0,
  ...more });

const tools = (seen) => ({
  get_weather: tool({ description: "The weather of a city.", inputSchema: Place,
                      execute: seen.get }) });

cell("typed answers", "generateObject", async (url) => {
  checkPerson((await generateObject(ask(url, cells.EXTRACT, { schema: Person }))).object);
});

cell("typed answers", "generateObject array", async (url) => {
  const { object } = await generateObject(
    ask(url, cells.EXTRACT, { output: "array", schema: Person }));
  check(Array.isArray(object), object);
  object.forEach(checkPerson);
});

cell("typed answers", "generateObject enum", async (url) => {
  const { object } = await generateObject(
    ask(url, cells.EXTRACT, { output: "enum", enum: ["child", "adult"] }));
  check(["child", "adult"].includes(object), object);
});

cell("typed answers", "Output.object", async (url) => {
  const done = await generateText(
    ask(url, cells.EXTRACT, { output: Output.object({ schema: Person }) }));
  checkPerson(done.output);
});

cell("tools", "toolChoice required", async (url) => {
  const seen = new Weather();
  const done = await generateText(
    ask(url, cells.TALK, { tools: tools(seen), toolChoice: "required" }));
  seen.checkCalled();
  check(done.finishReason === "tool-calls", done.finishReason);
  check(done.toolResults.length === done.toolCalls.length, done.toolResults);
});

cell("tools", "toolChoice of one", async (url) => {
  const seen = new Weather();
  await generateText(ask(url, cells.TALK, {
    tools: tools(seen), toolChoice: { type: "tool", toolName: "get_weather" } }));
  seen.checkCalled();
});

cell("tools", "auto", async (url) => {
  const seen = new Weather();
  await generateText(ask(url, cells.WEATHER, { tools: tools(seen) }));
  seen.checkCalled();
});

cell("streams", "streamObject", async (url) => {
  const done = streamObject(ask(url, cells.EXTRACT, { schema: Person }));
  let n = 0;
  for await (const _ of done.partialObjectStream) ++n;
  check(n > 0, n);
  checkPerson(await done.object);
});

cell("streams", "streamText", async (url) => {
  const seen = new Weather();
  const done = streamText(
    ask(url, cells.TALK, { tools: tools(seen), toolChoice: "required" }));
  await done.consumeStream();
  seen.checkCalled();
  check((await done.usage).outputTokens > 0, await done.usage);
});

cell("loops", "stopWhen", async (url) => {
  const seen = new Weather();
  const done = await generateText(ask(url, cells.TALK, {
    tools: tools(seen), stopWhen: stepCountIs(3),
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" }) }));
  seen.checkCalled();
  check(done.steps.length === 2, done.steps.length);
});

cell("loops", "tools and Output.object", async (url) => {
  const seen = new Weather();
  const done = await generateText(ask(url, cells.TALK, {
    tools: tools(seen), stopWhen: stepCountIs(3), output: Output.object({ schema: Person }),
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" }) }));
  seen.checkCalled();
  checkPerson(done.output);
});

export async function main(provider) {
  modelAt = provider;
  await cells.main();
}
