// Anthropic's own client, by the Messages API.
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";

import * as cells from "./cells.mjs";
import { Person, Place, Weather, cell, check, checkPerson } from "./cells.mjs";

const client = (url) => new Anthropic({
  baseURL: url.replace(/\/v1$/, ""), apiKey: cells.KEY, maxRetries: 0 });

const ask = (prompt, more = {}) => ({
  model: cells.MODEL, max_tokens: cells.MAX_TOKENS, temperature: 0,
  messages: [{ role: "user", content: prompt }], ...more });

const weather = {
  name: "get_weather", description: "The weather of a city.",
  input_schema: z.toJSONSchema(Place) };

async function checkCall(block, seen) {
  check(block.type === "tool_use" && block.name === "get_weather", block);
  return seen.get(block.input);
}

cell("typed answers", "messages.parse", async (url) => {
  const done = await client(url).messages.parse(
    ask(cells.EXTRACT, { output_config: { format: zodOutputFormat(Person) } }));
  checkPerson(done.parsed_output);
});

cell("tools", "tool_choice any", async (url) => {
  const seen = new Weather();
  const done = await client(url).messages.create(
    ask(cells.TALK, { tools: [weather], tool_choice: { type: "any" } }));
  check(done.stop_reason === "tool_use", done);
  await checkCall(done.content.at(-1), seen);
  seen.checkCalled();
});

cell("tools", "tool_choice tool", async (url) => {
  const done = await client(url).messages.create(ask(cells.TALK, {
    tools: [weather], tool_choice: { type: "tool", name: "get_weather" } }));
  await checkCall(done.content.at(-1), new Weather());
});

cell("tools", "auto", async (url) => {
  const done = await client(url).messages.create(ask(cells.WEATHER, { tools: [weather] }));
  await checkCall(done.content.at(-1), new Weather());
});

cell("streams", "messages.stream", async (url) => {
  const stream = client(url).messages.stream(ask(cells.TALK, { max_tokens: 40 }));
  let text = "";
  stream.on("text", (delta) => { text += delta; });
  const done = await stream.finalMessage();
  check(text.length > 0 && text === done.content.map((block) => block.text ?? "").join(""), text);
});

cell("streams", "messages.stream of a call", async (url) => {
  const stream = client(url).messages.stream(
    ask(cells.TALK, { tools: [weather], tool_choice: { type: "any" } }));
  let json = "";
  stream.on("inputJson", (delta) => { json += delta; });
  const done = await stream.finalMessage();
  await checkCall(done.content.at(-1), new Weather());
  check(JSON.stringify(JSON.parse(json)) === JSON.stringify(done.content.at(-1).input), json);
});

cell("loops", "tool_result", async (url) => {
  const seen = new Weather();
  const first = await client(url).messages.create(
    ask(cells.TALK, { tools: [weather], tool_choice: { type: "any" } }));
  const call = first.content.at(-1);
  const result = await checkCall(call, seen);
  const body = ask(cells.TALK, { tools: [weather], tool_choice: { type: "none" } });
  body.messages.push({ role: "assistant", content: first.content }, {
    role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: result }] });
  const second = await client(url).messages.create(body);
  check(second.content.some((block) => block.type === "text"), second);
});

cell("loops", "toolRunner", async (url) => {
  const seen = new Weather();
  const tool = betaZodTool({
    name: "get_weather", description: "The weather of a city.", inputSchema: Place, run: seen.get });
  const done = await client(url).beta.messages.toolRunner(
    ask(cells.WEATHER, { tools: [tool], max_iterations: 2 }));
  seen.checkCalled();
  check(done.role === "assistant", done);
});

await cells.main();
