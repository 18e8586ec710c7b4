// OpenAI's own client for JavaScript.
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";

import * as cells from "./cells.mjs";
import { Person, Place, Weather, cell, check, checkPerson } from "./cells.mjs";

const ASK = { model: cells.MODEL, temperature: 0, max_tokens: cells.MAX_TOKENS };
const PERSON = [{ role: "user", content: cells.EXTRACT }];
const WEATHER = [{ role: "user", content: cells.WEATHER }];
const TALK = [{ role: "user", content: cells.TALK }];
const FORM = zodResponseFormat(Person, "person");
const TOOL = zodFunction({ name: "get_weather", parameters: Place });

const chat = (url) =>
  new OpenAI({ baseURL: url, apiKey: cells.KEY, maxRetries: 0 }).chat.completions;

cell("typed answers", "chat.completions.parse", async (url) => {
  const done = await chat(url).parse({ ...ASK, messages: PERSON, response_format: FORM });
  checkPerson(done.choices[0].message.parsed);
});

cell("tools", "zodFunction", async (url) => {
  const done = await chat(url).parse({
    ...ASK, messages: TALK, tools: [TOOL], tool_choice: "required" });
  Place.parse(done.choices[0].message.tool_calls[0].function.parsed_arguments);
});

cell("tools", "auto", async (url) => {
  const done = await chat(url).parse({ ...ASK, messages: WEATHER, tools: [TOOL] });
  Place.parse(done.choices[0].message.tool_calls[0].function.parsed_arguments);
});

cell("tools", "beside response_format", async (url) => {
  const ask = async (more) => (await chat(url).parse({
    ...ASK, messages: WEATHER, tools: [TOOL], response_format: FORM, ...more })).choices[0].message;
  Place.parse((await ask({})).tool_calls[0].function.parsed_arguments);
  checkPerson((await ask({ logit_bias: await cells.withoutCalls(url) })).parsed);
});

cell("streams", "stream(response_format)", async (url) => {
  const stream = chat(url).stream({
    ...ASK, messages: PERSON, response_format: FORM, stream_options: { include_usage: true } });
  const done = await stream.finalChatCompletion();
  checkPerson(done.choices[0].message.parsed);
  check(done.usage.completion_tokens > 0, done.usage);
});

cell("streams", "stream(tools)", async (url) => {
  const stream = chat(url).stream({
    ...ASK, messages: TALK, tools: [TOOL], tool_choice: "required" });
  const done = await stream.finalChatCompletion();
  Place.parse(done.choices[0].message.tool_calls[0].function.parsed_arguments);
});

function weatherFunction(seen) {
  return zodFunction({ name: "get_weather", parameters: Place, function: seen.get });
}

cell("loops", "runTools", async (url) => {
  const seen = new Weather();
  const runner = chat(url).runTools(
    { ...ASK, messages: TALK, tools: [weatherFunction(seen)], tool_choice: "required" },
    { maxChatCompletions: 2 });
  await runner.done();
  seen.checkCalled();
});

cell("loops", "runTools of one function", async (url) => {
  const seen = new Weather();
  const runner = chat(url).runTools({
    ...ASK, messages: TALK, tools: [weatherFunction(seen)],
    tool_choice: { type: "function", function: { name: "get_weather" } } });
  await runner.done();
  seen.checkCalled();
});

await cells.main();
