"""Instructor over OpenAI's client, in every mode for compatible servers."""
import json
from typing import Iterable, Literal, Union

import instructor
import openai
from instructor import Mode
from pydantic import BaseModel

import cells
from cells import Person, cell, check

ASK = {"model": cells.MODEL, "temperature": 0, "max_tokens": cells.MAX_TOKENS,
       "max_retries": 0, "messages": [{"role": "user", "content": cells.EXTRACT}]}
# JSON between the marks that the mode MD_JSON asks for, in the dialect of Lark.
FENCED = 'start: "```json\\n" json "\\n```"\njson: %json '


class Weather(BaseModel):
    """The weather of a city."""
    city: str
    unit: Literal["celsius", "fahrenheit"]


def client_of(url, mode, kind=openai.OpenAI):
    return instructor.from_openai(kind(base_url=url, api_key=cells.KEY, max_retries=0), mode=mode)


def ask(url, mode, **more):
    return client_of(url, mode).chat.completions.create(
        **{"response_model": Person, **ASK, **more})


def json_form():
    return {"response_format": {"type": "json_object", "schema": Person.model_json_schema()}}


@cell("typed answers", "TOOLS")
def tools(url):
    cells.check_person(ask(url, Mode.TOOLS))


@cell("typed answers", "TOOLS_STRICT")
def tools_strict(url):
    cells.check_person(ask(url, Mode.TOOLS_STRICT))


@cell("typed answers", "JSON_SCHEMA")
def json_schema(url):
    cells.check_person(ask(url, Mode.JSON_SCHEMA))


@cell("typed answers", "JSON")
def json_mode(url):
    """Only that the answer is an object is forced by this mode; here the server is told more."""
    cells.check_person(ask(url, Mode.JSON, extra_body=json_form()))


@cell("typed answers", "MD_JSON")
def md_json(url):
    """Nothing is forced by this mode; here the server is told what it asks for in words."""
    grammar = FENCED + json.dumps(Person.model_json_schema())
    cells.check_person(ask(url, Mode.MD_JSON, extra_body={"grammar": grammar}))


@cell("typed answers", "async")
async def asynchronous(url):
    client = client_of(url, Mode.TOOLS, openai.AsyncOpenAI)
    cells.check_person(await client.chat.completions.create(response_model=Person, **ASK))


@cell("typed answers", "create_with_completion")
def with_completion(url):
    person, raw = client_of(url, Mode.TOOLS).chat.completions.create_with_completion(
        response_model=Person, **ASK)
    cells.check_person(person)
    check(raw.usage.completion_tokens > 0, raw)


@cell("tools", "PARALLEL_TOOLS")
def parallel_tools(url):
    """The mode leaves the choice to the model; here it must call."""
    calls = list(ask(url, Mode.PARALLEL_TOOLS, response_model=Iterable[Union[Weather, Person]],
                     extra_body={"tool_choice": "required"}))
    check(calls and all(isinstance(call, (Weather, Person)) for call in calls), calls)


@cell("streams", "create_partial")
def partial(url):
    for mode in (Mode.TOOLS, Mode.JSON_SCHEMA):
        parts = list(client_of(url, mode).chat.completions.create_partial(
            response_model=Person, **ASK))
        cells.check_person(Person(**parts[-1].model_dump()))


@cell("streams", "create_iterable")
def iterable(url):
    """The mode sends an open object around the list; here it is closed."""
    tasks = {"type": "array", "items": Person.model_json_schema(), "minItems": 1, "maxItems": 2}
    form = {"type": "json_object",
            "schema": {"type": "object", "properties": {"tasks": tasks}, "required": ["tasks"],
                       "additionalProperties": False}}
    people = list(client_of(url, Mode.JSON_SCHEMA).chat.completions.create_iterable(
        response_model=Person, extra_body={"response_format": form},
        **ASK | {"messages": [{"role": "user", "content": cells.EXTRACT_JSON}]}))
    check(people, people)
    for person in people:
        cells.check_person(person)


cells.main()
