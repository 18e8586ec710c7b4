"""AutoGen's OpenAIChatCompletionClient."""
import json
from typing import Literal

from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_core.models import CreateResult, UserMessage
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient

import cells
from cells import Person, cell, check

EXTRACT = [UserMessage(content=cells.EXTRACT, source="user")]
WEATHER = [UserMessage(content=cells.WEATHER, source="user")]
TALK = [UserMessage(content=cells.TALK, source="user")]


class Forced(OpenAIChatCompletionClient):
    """Agents leave the choice to the model; with this client it must call as long as it may."""

    async def create(self, messages, *, tools=(), **more):
        if tools:
            more["tool_choice"] = "required"
        return await super().create(messages, tools=tools, **more)


def client_of(url, kind=OpenAIChatCompletionClient):
    info = {"vision": False, "function_calling": True, "json_output": True,
            "structured_output": True, "family": "unknown", "multiple_system_messages": True}
    return kind(model=cells.MODEL, base_url=url, api_key=cells.KEY, model_info=info,
                temperature=0, max_retries=0, max_tokens=cells.MAX_TOKENS)


def weather_tool(strict=True):
    seen = cells.Weather()

    def get_weather(city: str, unit: Literal["celsius", "fahrenheit"]) -> str:
        return seen.get(city, unit)

    return seen, FunctionTool(get_weather, description="The weather of a city.", strict=strict)


async def called(seen, tool, answer):
    check(isinstance(answer.content, list), answer)
    for call in answer.content:
        check(call.name == "get_weather", call)
        await tool.run_json(json.loads(call.arguments), CancellationToken())
    seen.check_called()


@cell("typed answers", "json_output=class")
async def json_output_class(url):
    answer = await client_of(url).create(EXTRACT, json_output=Person)
    cells.check_person(Person.model_validate_json(answer.content))


@cell("typed answers", "json_output=True")
async def json_output(url):
    """Only that the answer is an object is forced."""
    asked = [UserMessage(content=cells.EXTRACT_JSON, source="user")]
    answer = await client_of(url).create(asked, json_output=True)
    check(isinstance(json.loads(answer.content), dict), answer)


@cell("typed answers", "output_content_type")
async def output_content_type(url):
    agent = AssistantAgent("helper", client_of(url), output_content_type=Person,
                           system_message="Be brief.")
    done = await agent.run(task=cells.EXTRACT)
    cells.check_person(done.messages[-1].content)


@cell("tools", "required")
async def required(url):
    seen, tool = weather_tool(strict=False)
    await called(seen, tool, await client_of(url).create(
        TALK, tools=[tool], tool_choice="required"))


@cell("tools", "one strict tool")
async def named(url):
    seen, tool = weather_tool()
    await called(seen, tool, await client_of(url).create(TALK, tools=[tool], tool_choice=tool))


@cell("tools", "auto")
async def auto(url):
    seen, tool = weather_tool(strict=False)
    await called(seen, tool, await client_of(url).create(WEATHER, tools=[tool]))


@cell("tools", "beside json_output")
async def beside_json_output(url):
    seen, tool = weather_tool()
    await called(seen, tool, await client_of(url).create(
        WEATHER, tools=[tool], json_output=Person))
    answer = await client_of(url).create(
        WEATHER, tools=[tool], json_output=Person,
        extra_create_args={"logit_bias": cells.without_calls(url)})
    cells.check_person(Person.model_validate_json(answer.content))


@cell("streams", "create_stream")
async def create_stream(url):
    seen, tool = weather_tool()
    last = None
    async for last in client_of(url).create_stream(
            TALK, tools=[tool], tool_choice="required", include_usage=True):
        pass
    check(isinstance(last, CreateResult) and last.usage.completion_tokens > 0, last)
    await called(seen, tool, last)


@cell("loops", "AssistantAgent")
async def assistant_agent(url):
    seen, tool = weather_tool()
    agent = AssistantAgent("helper", client_of(url, Forced), tools=[tool], max_tool_iterations=2,
                           reflect_on_tool_use=True, system_message="Be brief.")
    done = await agent.run(task=cells.TALK)
    seen.check_called()
    check(done.messages[-1].content, done)


cells.main()
