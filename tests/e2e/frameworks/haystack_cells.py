"""Haystack with its generators for OpenAI's API, its embedders and its Agent."""
import os
from typing import Annotated, Literal

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when it is imported

from haystack.components.agents import Agent  # noqa: E402
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, Document
from haystack.tools import tool
from haystack.utils import Secret

import cells
from cells import Person, cell, check

SCHEMA = {"type": "json_schema",
          "json_schema": {"name": "person", "strict": True, "schema": Person.model_json_schema()}}


def generator(url, **settings):
    return OpenAIChatGenerator(
        api_key=Secret.from_token(cells.KEY), model=cells.MODEL, api_base_url=url, max_retries=0,
        generation_kwargs={"temperature": 0, "max_completion_tokens": cells.MAX_TOKENS, **settings})


def weather_tool():
    seen = cells.Weather()

    @tool
    def get_weather(city: Annotated[str, "where"],
                    unit: Annotated[Literal["celsius", "fahrenheit"], "of the answer"]) -> str:
        """The weather of a city."""
        return seen.get(city, unit)

    return seen, get_weather


def ask(text):
    return [ChatMessage.from_user(text)]


def call_all(reply, get_weather, seen):
    check(reply.tool_calls, reply)
    for call in reply.tool_calls:
        check(call.tool_name == "get_weather", call)
        get_weather.invoke(**call.arguments)
    seen.check_called()


@cell("typed answers", "response_format=class")
def typed(url):
    done = generator(url, response_format=Person).run(ask(cells.EXTRACT))
    cells.check_person(Person.model_validate_json(done["replies"][0].text))


@cell("typed answers", "response_format=json_schema")
async def typed_by_schema(url):
    done = await generator(url, response_format=SCHEMA).run_async(ask(cells.EXTRACT))
    cells.check_person(Person.model_validate_json(done["replies"][0].text))


@cell("typed answers", "embedders")
def embedders(url):
    more = {"api_key": Secret.from_token(cells.KEY), "model": cells.MODEL, "api_base_url": url}
    one = OpenAITextEmbedder(dimensions=64, **more).run("Hi")["embedding"]
    check(len(one) == 64, one)
    documents = OpenAIDocumentEmbedder(dimensions=64, **more).run(
        [Document(content="Hi"), Document(content="Ho")])["documents"]
    check([len(document.embedding) for document in documents] == [64, 64], documents)


@cell("tools", "tools_strict required")
def strict_tool(url):
    seen, get_weather = weather_tool()
    asked = generator(url, tool_choice="required", parallel_tool_calls=False)
    done = asked.run(ask(cells.TALK), tools=[get_weather], tools_strict=True)
    call_all(done["replies"][0], get_weather, seen)


@cell("tools", "auto")
def auto(url):
    seen, get_weather = weather_tool()
    call_all(generator(url).run(ask(cells.WEATHER), tools=[get_weather])["replies"][0],
             get_weather, seen)


@cell("streams", "streaming_callback")
def streamed(url):
    pieces = []
    done = generator(url, response_format=SCHEMA).run(ask(cells.EXTRACT),
                                                      streaming_callback=pieces.append)
    text = "".join(piece.content for piece in pieces)
    check(text == done["replies"][0].text and len(pieces) > 2, text, done)
    cells.check_person(Person.model_validate_json(text))


@cell("streams", "streaming_callback with tools")
def streamed_call(url):
    seen, get_weather = weather_tool()
    pieces = []
    done = generator(url, tool_choice="required").run(
        ask(cells.TALK), tools=[get_weather], streaming_callback=pieces.append)
    call_all(done["replies"][0], get_weather, seen)
    check(any(piece.tool_calls for piece in pieces), pieces)


@cell("loops", "Agent")
def agent(url):
    seen, get_weather = weather_tool()
    asked = Agent(chat_generator=generator(url, tool_choice="required"), tools=[get_weather],
                  max_agent_steps=2)
    done = asked.run(messages=ask(cells.TALK))
    seen.check_called()
    results = [message for message in done["messages"] if message.tool_call_results]
    check(results and "18 degrees" in str(results[0].tool_call_results[0].result), results)


cells.main()
