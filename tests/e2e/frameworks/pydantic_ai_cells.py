"""Pydantic AI with its OpenAIChatModel."""
from typing import Literal

from pydantic import BaseModel
from pydantic_ai import (Agent, ModelRequest, NativeOutput, PromptedOutput, ToolOutput,
                         UsageLimits, direct)
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition

import cells
from cells import Person, cell, check


SETTINGS = {"temperature": 0, "max_tokens": cells.MAX_TOKENS}


def agent(url, output_type, settings=None, **more):
    model = OpenAIChatModel(cells.MODEL, provider=OpenAIProvider(base_url=url, api_key=cells.KEY))
    return Agent(model, output_type=output_type, model_settings={**SETTINGS, **(settings or {})},
                 retries=0, **more)


async def person_of(asked):
    done = await asked.run(cells.EXTRACT)
    cells.check_person(done.output)


@cell("typed answers", "output_type")
async def plain(url):
    await person_of(agent(url, Person))


@cell("typed answers", "ToolOutput")
async def tool_output(url):
    await person_of(agent(url, ToolOutput(Person, name="person", strict=True)))


@cell("typed answers", "NativeOutput")
async def native_output(url):
    await person_of(agent(url, NativeOutput(Person, strict=True)))


@cell("typed answers", "PromptedOutput")
async def prompted_output(url):
    """Only that the answer is an object is forced by this output; here the server is told more."""
    form = {"response_format": {"type": "json_object", "schema": Person.model_json_schema()}}
    await person_of(agent(url, PromptedOutput(Person), {"extra_body": form}))


@cell("typed answers", "union")
async def union(url):
    class City(BaseModel):
        place: str

    done = await agent(url, [Person, City]).run(cells.EXTRACT)
    check(isinstance(done.output, (Person, City)), done.output)


def with_weather(asked):
    seen = cells.Weather()

    @asked.tool_plain
    def get_weather(city: str, unit: Literal["celsius", "fahrenheit"]) -> str:
        """The weather of a city."""
        return seen.get(city, unit)

    return seen


async def run_with_tool(asked, kind):
    """A model that only calls reaches the limit, which is an end too once it has called."""
    seen = with_weather(asked)
    try:
        done = await asked.run(cells.WEATHER, usage_limits=UsageLimits(request_limit=4))
    except UsageLimitExceeded:
        seen.check_called()
        return "limit of requests"
    seen.check_called()
    check(isinstance(done.output, kind), done.output)
    return None


@cell("tools", "ToolOrOutput")
async def tool_or_output(url):
    """One tool of several, and the answer's own: tool_choice with a list."""
    choice = ToolOrOutput(function_tools=["get_weather"])
    return await run_with_tool(agent(url, ToolOutput(Person), {"tool_choice": choice}), Person)


@cell("tools", "model_request required")
async def model_request(url):
    asked = agent(url, str)
    parameters = ModelRequestParameters(function_tools=[ToolDefinition(
        name="person", parameters_json_schema=Person.model_json_schema())])
    done = await direct.model_request(
        asked.model, [ModelRequest.user_text_prompt(cells.EXTRACT)],
        model_settings={**SETTINGS, "tool_choice": "required"},
        model_request_parameters=parameters)
    calls = [part for part in done.parts if isinstance(part, ToolCallPart)]
    check(calls, done)
    cells.check_person(Person(**calls[0].args_as_dict()))


@cell("tools", "auto")
async def auto(url):
    return await run_with_tool(agent(url, str), str)


@cell("tools", "beside ToolOutput")
async def beside_tool_output(url):
    return await run_with_tool(agent(url, ToolOutput(Person)), Person)


@cell("tools", "beside NativeOutput")
async def beside_native_output(url):
    end = await run_with_tool(agent(url, NativeOutput(Person)), Person)
    asked = agent(url, NativeOutput(Person), {"logit_bias": cells.without_calls(url)})
    with_weather(asked)
    await person_of(asked)
    return end


@cell("streams", "run_stream")
async def run_stream(url):
    async with agent(url, NativeOutput(Person)).run_stream(cells.EXTRACT) as stream:
        parts = [part async for part in stream.stream_output()]
        person = await stream.get_output()
    check(parts, parts)
    cells.check_person(person)


@cell("streams", "run_stream ToolOutput")
async def run_stream_tool(url):
    async with agent(url, ToolOutput(Person)).run_stream(cells.EXTRACT) as stream:
        person = await stream.get_output()
    cells.check_person(person)


cells.main()
