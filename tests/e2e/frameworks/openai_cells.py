"""OpenAI's own client for Python."""
import json
from typing import Literal, Optional

import openai
from pydantic import BaseModel, Field

import cells
from cells import Person, cell, check


class Team(BaseModel):
    """Nested objects, lists, choices and what may be absent."""
    title: str = Field(max_length=20)
    members: list[Person] = Field(min_length=1, max_length=2)
    kind: Literal["sport", "work"]
    note: Optional[Literal["new", "old"]]


class GetWeather(BaseModel):
    """The weather of a city."""
    city: str
    unit: Literal["celsius", "fahrenheit"]


ASK = {"model": cells.MODEL, "temperature": 0, "max_tokens": cells.MAX_TOKENS}
PERSON = [{"role": "user", "content": cells.EXTRACT}]
WEATHER = [{"role": "user", "content": cells.WEATHER}]
TALK = [{"role": "user", "content": cells.TALK}]


def client_of(url):
    return openai.OpenAI(base_url=url, api_key=cells.KEY, max_retries=0)


def weather_tool():
    return openai.pydantic_function_tool(GetWeather, name="get_weather")


@cell("typed answers", "chat.completions.parse")
def parse(url):
    with client_of(url) as client:
        done = client.chat.completions.parse(messages=PERSON, response_format=Person, **ASK)
    cells.check_person(done.choices[0].message.parsed)


@cell("typed answers", "nested models")
def parse_nested(url):
    with client_of(url) as client:
        done = client.chat.completions.parse(messages=PERSON, response_format=Team, **ASK)
    team = done.choices[0].message.parsed
    check(isinstance(team, Team) and team.members and team.kind in ("sport", "work"), team)


@cell("typed answers", "json_object")
def json_object(url):
    with client_of(url) as client:
        done = client.chat.completions.create(
            messages=[{"role": "user", "content": cells.EXTRACT_JSON}],
            response_format={"type": "json_object"}, **ASK)
    check(isinstance(json.loads(done.choices[0].message.content), dict), done)


@cell("typed answers", "AsyncOpenAI")
async def parse_async(url):
    async with openai.AsyncOpenAI(base_url=url, api_key=cells.KEY, max_retries=0) as client:
        done = await client.chat.completions.parse(messages=PERSON, response_format=Person, **ASK)
    cells.check_person(done.choices[0].message.parsed)


@cell("tools", "pydantic_function_tool")
def strict_tool(url):
    with client_of(url) as client:
        done = client.chat.completions.parse(
            messages=TALK, tools=[weather_tool()], tool_choice="required", **ASK)
    call = done.choices[0].message.tool_calls[0].function
    check(call.name == "get_weather" and isinstance(call.parsed_arguments, GetWeather), call)


@cell("tools", "auto")
def auto_tool(url):
    with client_of(url) as client:
        done = client.chat.completions.parse(
            messages=WEATHER, tools=[weather_tool()], tool_choice="auto", **ASK)
    call = done.choices[0].message.tool_calls[0].function
    check(isinstance(call.parsed_arguments, GetWeather), call)


@cell("tools", "beside response_format")
def tool_and_form(url):
    with client_of(url) as client:
        def ask(**more):
            return client.chat.completions.parse(
                messages=WEATHER, tools=[weather_tool()], response_format=Person, **ASK,
                **more).choices[0].message
        for choice in ("auto", "required"):
            called = ask(tool_choice=choice).tool_calls[0].function.parsed_arguments
            check(isinstance(called, GetWeather), called)
        cells.check_person(ask(logit_bias=cells.without_calls(url)).parsed)


@cell("streams", "stream(response_format)")
def stream_parsed(url):
    with client_of(url) as client:
        with client.chat.completions.stream(
                messages=PERSON, response_format=Person, stream_options={"include_usage": True},
                **ASK) as stream:
            kinds = {event.type for event in stream}
            done = stream.get_final_completion()
    check({"content.delta", "content.done"} <= kinds, kinds)
    check(done.usage.completion_tokens > 0, done.usage)
    cells.check_person(done.choices[0].message.parsed)


@cell("streams", "stream(tools)")
def stream_tools(url):
    arguments = []
    with client_of(url) as client:
        with client.chat.completions.stream(
                messages=TALK, tools=[weather_tool()], tool_choice="required", **ASK) as stream:
            for event in stream:
                if event.type == "tool_calls.function.arguments.done":
                    arguments.append(event.parsed_arguments)
    check(arguments and all(isinstance(one, GetWeather) for one in arguments), arguments)


@cell("loops", "tool messages")
def tool_messages(url):
    weather = cells.Weather()
    messages = list(TALK)
    with client_of(url) as client:
        done = client.chat.completions.parse(
            messages=messages, tools=[weather_tool()], tool_choice="required",
            parallel_tool_calls=False, **ASK)
        messages.append(done.choices[0].message)
        for call in done.choices[0].message.tool_calls:
            text = weather.get(**call.function.parsed_arguments.model_dump())
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        done = client.chat.completions.parse(
            messages=messages, tools=[weather_tool()], response_format=Person,
            tool_choice="none", **ASK)
    weather.check_called()
    cells.check_person(done.choices[0].message.parsed)


@cell("tools", "other fields")
def other_fields(url):
    """What programs send beside: notes of the caller, settings that ask for nothing."""
    with client_of(url) as client:
        done = client.chat.completions.create(
            messages=PERSON, n=1, store=False, metadata={"run": "1"}, user="someone", seed=1,
            parallel_tool_calls=True, tools=[weather_tool()], service_tier="auto", logprobs=True,
            top_logprobs=2, presence_penalty=0, frequency_penalty=0, stop=["\n\n\n"],
            prompt_cache_key="a", safety_identifier="b", modalities=["text"], **ASK)
    check(done.choices[0].finish_reason in ("stop", "length", "tool_calls"), done)


cells.main()
