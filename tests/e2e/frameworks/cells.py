"""Registers the cells of one Python framework and runs them against a server.

A cell is one way in which a framework's users ask for a typed answer or a call. It passes when the
framework itself returned the parsed object, or called the function with valid arguments.

Usage of each file of cells: FILE --url http://127.0.0.1:PORT/v1 [CELL]...
It prints one line of JSON for each cell.
"""
import argparse
import asyncio
import inspect
import json
import sys
import time
import traceback
import urllib.request

from pydantic import BaseModel, ConfigDict, Field

MODEL = "nano"
KEY = "none"
EXTRACT = "Jason is 25 years old. Who is it?"
# Where a form lets strings and lists go on, a model this small ends them only if it is asked so.
EXTRACT_JSON = ('Jason is 25 years old.\n\nReturn JSON with this schema: {"type": "object", '
                '"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, '
                '"required": ["name", "age"]}')
# The model calls a function for this by itself ...
WEATHER = "What is the weather in Paris, in Celsius?"
# ... and for this only if it must.
TALK = "Tell me about yourself."
MAX_TOKENS = 300


class Person(BaseModel):
    """A person."""
    # Where other members are allowed, a small model goes on inventing them.
    model_config = ConfigDict(extra="forbid")
    name: str
    age: int = Field(ge=0, le=150)


COLUMNS = ("typed answers", "tools", "streams", "loops")
_cells = []


def cell(column, name):
    """Registers a function that takes the server's URL. It may return a word about its end."""
    assert column in COLUMNS, column

    def register(function):
        _cells.append((column, name, function))
        return function
    return register


def check(condition, *seen):
    """Unlike assert, it stays when Python optimises."""
    if not condition:
        raise AssertionError(" ".join(repr(one) for one in seen)[:600])


def check_person(person):
    """A typed answer: an object of the class, whose fields are as the schema says."""
    check(isinstance(person, Person), person)
    check(isinstance(person.name, str) and person.name, person)
    check(type(person.age) is int and 0 <= person.age <= 150, person)


class Weather:
    """A function for models that remembers how it was called."""

    def __init__(self):
        self.calls = []

    def get(self, city, unit):
        self.calls.append((city, unit))
        return f"18 degrees in {city}"

    def check_called(self):
        check(self.calls, "the function was not called")
        for city, unit in self.calls:
            check(isinstance(city, str) and unit in ("celsius", "fahrenheit"), city, unit)


def without_calls(url):
    """The logit_bias with which the model does not begin a call, where it may also answer."""
    body = json.dumps({"content": "<tool_call>"}).encode()
    request = urllib.request.Request(url.removesuffix("/v1") + "/tokenize", body,
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        tokens = json.load(answer)["tokens"]
    return {str(tokens[0]): -100}


async def _awaited(made):
    return await made


def _run(function, url):
    result = function(url)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    for column, name, function in _cells:
        if arguments.names and name not in arguments.names:
            continue
        line = {"column": column, "cell": name, "ok": True}
        started = time.monotonic()
        try:
            line["end"] = _run(function, arguments.url)
        except Exception as error:  # a framework may raise anything: that is what is tested
            line["ok"] = False
            line["error"] = f"{type(error).__name__}: {error}"[:1500]
            traceback.print_exc()
        line["seconds"] = round(time.monotonic() - started, 2)
        print("CELL " + json.dumps(line), flush=True)
    sys.stdout.flush()
