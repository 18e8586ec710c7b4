// LangChain's ChatOpenAI for JavaScript.
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";

import * as cells from "./cells.mjs";
import { Person, Place, Weather, cell, check, checkPerson } from "./cells.mjs";

const chat = (url, more = {}) =>
  new ChatOpenAI({ model: cells.MODEL, apiKey: cells.KEY, temperature: 0, maxRetries: 0,
                   maxTokens: cells.MAX_TOKENS, configuration: { baseURL: url }, ...more });

const weatherTool = (seen) =>
  tool(seen.get, { name: "get_weather", description: "The weather of a city.", schema: Place });

for (const config of [{ method: "jsonSchema" }, { method: "jsonSchema", strict: true },
                      { method: "functionCalling" }, { method: "functionCalling", strict: true }]) {
  cell("typed answers", config.method + (config.strict ? " strict" : ""), async (url) => {
    checkPerson(await chat(url).withStructuredOutput(Person, config).invoke(cells.EXTRACT));
  });
}

// Only that the answer is an object is forced by this method; here the server is told more.
cell("typed answers", "jsonMode", async (url) => {
  const model = chat(url, { modelKwargs: { guided_json: Person.toJSONSchema(),
                                           response_format: null } });
  checkPerson(await model.withStructuredOutput(Person, { method: "jsonMode" })
    .invoke(cells.EXTRACT));
});

cell("typed answers", "includeRaw", async (url) => {
  const both = await chat(url).withStructuredOutput(Person, { includeRaw: true })
    .invoke(cells.EXTRACT);
  checkPerson(both.parsed);
  check(both.raw, both);
});

cell("tools", "bindTools any", async (url) => {
  const seen = new Weather();
  const message = await chat(url).bindTools([weatherTool(seen)], { tool_choice: "any" })
    .invoke(cells.TALK);
  check(message.tool_calls.length && !message.invalid_tool_calls.length, message);
  await weatherTool(seen).invoke(message.tool_calls[0]);
  seen.checkCalled();
});

cell("tools", "bindTools named", async (url) => {
  const message = await chat(url)
    .bindTools([weatherTool(new Weather())],
               { tool_choice: "get_weather", strict: true, parallel_tool_calls: false })
    .invoke(cells.TALK);
  check(message.tool_calls.length === 1, message);
  Place.parse(message.tool_calls[0].args);
});

cell("tools", "bindTools auto", async (url) => {
  const message = await chat(url).bindTools([weatherTool(new Weather())]).invoke(cells.WEATHER);
  Place.parse(message.tool_calls[0].args);
});

cell("streams", "stream of a schema", async (url) => {
  let last = null;
  const stream = await chat(url).withStructuredOutput(Person).stream(cells.EXTRACT);
  for await (const part of stream) last = part;
  checkPerson(last);
});

cell("streams", "stream of a call", async (url) => {
  let whole = null;
  const model = chat(url).bindTools([weatherTool(new Weather())], { tool_choice: "required" });
  for await (const chunk of await model.stream(cells.TALK)) {
    whole = whole ? whole.concat(chunk) : chunk;
  }
  Place.parse(whole.tool_calls[0].args);
});

cell("loops", "ToolMessage", async (url) => {
  const seen = new Weather();
  const messages = [new HumanMessage(cells.TALK)];
  messages.push(await chat(url).bindTools([weatherTool(seen)], { tool_choice: "any" })
    .invoke(messages));
  for (const call of messages[1].tool_calls) messages.push(await weatherTool(seen).invoke(call));
  seen.checkCalled();
  checkPerson(await chat(url).withStructuredOutput(Person).invoke(messages));
});

await cells.main();
