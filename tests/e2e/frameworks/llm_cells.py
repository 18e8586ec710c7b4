"""The program and library `llm`, told of the server by extra-openai-models.yaml."""
import json
import os
import subprocess
import sys
import tempfile

# Read when the library is imported.
_folder = tempfile.TemporaryDirectory()
os.environ["LLM_USER_PATH"] = _folder.name

import llm  # noqa: E402

import cells  # noqa: E402
from cells import Person, cell, check  # noqa: E402

OPTIONS = {"temperature": 0, "max_tokens": cells.MAX_TOKENS}


def model(url, kind="get_model"):
    with open(os.path.join(_folder.name, "extra-openai-models.yaml"), "w") as file:
        json.dump([{"model_id": "local", "model_name": cells.MODEL, "api_base": url,
                    "supports_schema": True, "supports_tools": True}], file)
    return getattr(llm, kind)("local")


def weather_tool():
    seen = cells.Weather()

    def get_weather(city: str, unit: str) -> str:
        """The weather of a city."""
        return seen.get(city, "celsius")

    return seen, get_weather


def command(url, *arguments):
    model(url)
    done = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "llm"), "-m", "local", "-o", "temperature",
         "0", "-o", "max_tokens", str(cells.MAX_TOKENS), *arguments],
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    check(done.returncode == 0, done.stderr)
    return done.stdout


@cell("typed answers", "schema")
def schema(url):
    answer = model(url).prompt(cells.EXTRACT, schema=Person, stream=False, **OPTIONS)
    cells.check_person(Person.model_validate_json(answer.text()))


@cell("typed answers", "llm --schema")
def command_schema(url):
    text = command(url, "--no-stream", "--schema", json.dumps(Person.model_json_schema()),
                   cells.EXTRACT)
    cells.check_person(Person.model_validate_json(text))


@cell("tools", "tools")
def tools(url):
    seen, function = weather_tool()
    answer = model(url).prompt(cells.WEATHER, tools=[function], stream=False, **OPTIONS)
    results = answer.execute_tool_calls()
    seen.check_called()
    check("18 degrees" in results[0].output, results)


@cell("streams", "schema")
def stream_schema(url):
    parts = list(model(url).prompt(cells.EXTRACT, schema=Person, stream=True, **OPTIONS))
    cells.check_person(Person.model_validate_json("".join(parts)))


@cell("streams", "async")
async def stream_async(url):
    answer = model(url, "get_async_model").prompt(cells.EXTRACT, schema=Person, **OPTIONS)
    cells.check_person(Person.model_validate_json(await answer.text()))


@cell("loops", "chain")
def chain(url):
    seen, function = weather_tool()
    try:
        text = model(url).conversation().chain(cells.WEATHER, tools=[function], chain_limit=3,
                                               options=OPTIONS).text()
    except ValueError as error:
        check("Chain limit" in str(error), error)
        seen.check_called()
        return "chain_limit"
    seen.check_called()
    check(text, text)
    return None


cells.main()
