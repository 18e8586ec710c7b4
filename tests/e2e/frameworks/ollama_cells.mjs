// Ollama's own client, by /api/chat.
import { Ollama } from "ollama";
import { z } from "zod";

import * as cells from "./cells.mjs";
import { Person, Place, Weather, cell, check, checkPerson } from "./cells.mjs";

const client = (url) => new Ollama({ host: url.replace(/\/v1$/, "") });

const ask = (prompt, more = {}) => ({
  model: cells.MODEL, messages: [{ role: "user", content: prompt }],
  options: { temperature: 0, num_predict: cells.MAX_TOKENS }, ...more });

const weather = { type: "function", function: {
  name: "get_weather", description: "The weather of a city.", parameters: z.toJSONSchema(Place) } };

cell("typed answers", "format", async (url) => {
  const done = await client(url).chat(ask(cells.EXTRACT, { format: z.toJSONSchema(Person) }));
  checkPerson(JSON.parse(done.message.content));
});

cell("typed answers", "generate", async (url) => {
  const done = await client(url).generate({
    model: cells.MODEL, prompt: cells.EXTRACT, format: z.toJSONSchema(Person),
    options: { temperature: 0, num_predict: cells.MAX_TOKENS } });
  checkPerson(JSON.parse(done.response));
});

cell("typed answers", "format json", async (url) => {
  const done = await client(url).chat(ask(cells.EXTRACT_JSON, { format: "json" }));
  check(typeof JSON.parse(done.message.content) === "object", done.message.content);
});

cell("tools", "auto", async (url) => {
  const seen = new Weather();
  const done = await client(url).chat(ask(cells.WEATHER, { tools: [weather] }));
  for (const call of done.message.tool_calls) await seen.get(call.function.arguments);
  seen.checkCalled();
});

cell("streams", "chat", async (url) => {
  let text = "";
  let last;
  for await (last of await client(url).chat(ask(cells.TALK, { stream: true }))) {
    text += last.message.content;
  }
  check(last.done && text.length > 0, last);
  const whole = await client(url).chat(ask(cells.TALK));
  check(whole.message.content === text, text, whole.message.content);
});

cell("streams", "format", async (url) => {
  let text = "";
  const stream = await client(url).chat(
    ask(cells.EXTRACT, { format: z.toJSONSchema(Person), stream: true }));
  for await (const part of stream) text += part.message.content;
  checkPerson(JSON.parse(text));
});

cell("loops", "tool messages", async (url) => {
  const seen = new Weather();
  const body = ask(cells.WEATHER, { tools: [weather] });
  const first = await client(url).chat(body);
  body.messages.push(first.message);
  for (const call of first.message.tool_calls) {
    body.messages.push({ role: "tool", tool_name: call.function.name,
                         content: await seen.get(call.function.arguments) });
  }
  delete body.tools;
  const second = await client(url).chat(body);
  check(second.message.content.length > 0, second);
});

await cells.main();
