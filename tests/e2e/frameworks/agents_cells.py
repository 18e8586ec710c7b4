"""OpenAI's Agents SDK with its Chat Completions model."""
from typing import Literal

from agents import (Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, StopAtTools,
                    function_tool, set_tracing_disabled)
from agents.exceptions import MaxTurnsExceeded
from openai import AsyncOpenAI

import cells
from cells import Person, cell, check

set_tracing_disabled(True)


def agent(url, settings=None, **more):
    more = {"instructions": "Be brief.", **more}
    client = AsyncOpenAI(base_url=url, api_key=cells.KEY, max_retries=0)
    return Agent(name="helper",
                 model=OpenAIChatCompletionsModel(cells.MODEL, client),
                 model_settings=ModelSettings(temperature=0, max_tokens=cells.MAX_TOKENS,
                                              **(settings or {})), **more)


def weather_tool(strict=True):
    seen = cells.Weather()

    @function_tool(strict_mode=strict)
    def get_weather(city: str, unit: Literal["celsius", "fahrenheit"]) -> str:
        """The weather of a city."""
        return seen.get(city, unit)

    return seen, get_weather


@cell("typed answers", "output_type")
async def output_type(url):
    done = await Runner.run(agent(url, output_type=Person), cells.EXTRACT, max_turns=2)
    cells.check_person(done.final_output)


@cell("tools", "StopAtTools")
async def stop_at_tools(url):
    seen, tool = weather_tool()
    asked = agent(url, {"tool_choice": "required", "parallel_tool_calls": False}, tools=[tool],
                  tool_use_behavior=StopAtTools(stop_at_tool_names=["get_weather"]))
    done = await Runner.run(asked, cells.TALK, max_turns=2)
    seen.check_called()
    check("18 degrees" in str(done.final_output), done.final_output)


@cell("tools", "auto without strict")
async def not_strict(url):
    seen, tool = weather_tool(strict=False)
    try:
        done = await Runner.run(agent(url, tools=[tool], instructions=None), cells.WEATHER, max_turns=4)
    except MaxTurnsExceeded:
        seen.check_called()
        return "max_turns"
    seen.check_called()
    check(isinstance(done.final_output, str), done.final_output)
    return None


@cell("loops", "required then text")
async def loop(url):
    seen, tool = weather_tool()
    try:
        done = await Runner.run(agent(url, {"tool_choice": "required"}, tools=[tool]),
                                cells.TALK, max_turns=4)
    except MaxTurnsExceeded:
        seen.check_called()
        return "max_turns"
    seen.check_called()
    check(isinstance(done.final_output, str), done.final_output)
    return None


@cell("loops", "required then output_type")
async def loop_typed(url):
    seen, tool = weather_tool()
    try:
        done = await Runner.run(
            agent(url, {"tool_choice": "required"}, tools=[tool], output_type=Person),
            cells.TALK, max_turns=4)
    except MaxTurnsExceeded:
        seen.check_called()
        return "max_turns"
    seen.check_called()
    cells.check_person(done.final_output)
    return None


@cell("loops", "handoff")
async def handoff(url):
    """The call that hands over is a tool, too."""
    clerk = agent(url, output_type=Person)
    clerk.name = "clerk"
    done = await Runner.run(agent(url, {"tool_choice": "required"}, handoffs=[clerk]),
                            cells.EXTRACT, max_turns=3)
    check(done.last_agent.name == "clerk", done.last_agent.name)
    cells.check_person(done.final_output)


@cell("streams", "run_streamed")
async def streamed(url):
    seen, tool = weather_tool()
    asked = agent(url, {"tool_choice": "required", "include_usage": True}, tools=[tool],
                  tool_use_behavior="stop_on_first_tool")
    running = Runner.run_streamed(asked, cells.TALK, max_turns=2)
    kinds = {event.type async for event in running.stream_events()}
    seen.check_called()
    check({"raw_response_event", "run_item_stream_event"} <= kinds, kinds)


@cell("streams", "run_streamed output_type")
async def streamed_typed(url):
    running = Runner.run_streamed(agent(url, output_type=Person), cells.EXTRACT, max_turns=2)
    async for _ in running.stream_events():
        pass
    cells.check_person(running.final_output)


cells.main()
