"""LangChain's ChatOpenAI for Python."""
from typing import Literal

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

import cells
from cells import Person, cell, check


seen = cells.Weather()


@tool
def get_weather(city: str, unit: Literal["celsius", "fahrenheit"]) -> str:
    """The weather of a city."""
    return seen.get(city, unit)


def chat(url, **more):
    return ChatOpenAI(model=cells.MODEL, base_url=url, api_key=cells.KEY, temperature=0,
                      max_retries=0, max_tokens=cells.MAX_TOKENS, **more)


def structured(url, **how):
    person = chat(url).with_structured_output(Person, **how).invoke(cells.EXTRACT)
    cells.check_person(person)


@cell("typed answers", "json_schema")
def json_schema(url):
    structured(url, method="json_schema")


@cell("typed answers", "json_schema strict")
def json_schema_strict(url):
    structured(url, method="json_schema", strict=True)


@cell("typed answers", "function_calling")
def function_calling(url):
    structured(url, method="function_calling")


@cell("typed answers", "function_calling strict")
def function_calling_strict(url):
    structured(url, method="function_calling", strict=True)


@cell("typed answers", "json_mode")
def json_mode(url):
    """Only that the answer is an object is forced by this method; here the server is told more."""
    model = chat(url, extra_body={"response_format": {"type": "json_object",
                                                      "schema": Person.model_json_schema()}})
    person = model.with_structured_output(Person, method="json_mode").invoke(cells.EXTRACT)
    cells.check_person(person)


@cell("typed answers", "include_raw")
def include_raw(url):
    both = chat(url).with_structured_output(Person, include_raw=True).invoke(cells.EXTRACT)
    check(both["parsing_error"] is None and both["raw"].content, both)
    cells.check_person(both["parsed"])


@cell("typed answers", "schema as dict")
def schema_dict(url):
    made = chat(url).with_structured_output(Person.model_json_schema()).invoke(cells.EXTRACT)
    cells.check_person(Person(**made))


@cell("typed answers", "ainvoke")
async def ainvoke(url):
    person = await chat(url).with_structured_output(Person).ainvoke(cells.EXTRACT)
    cells.check_person(person)


@cell("tools", "bind_tools any")
def bind_tools(url):
    message = chat(url).bind_tools([get_weather], tool_choice="any").invoke(cells.TALK)
    check(message.tool_calls and not message.invalid_tool_calls, message)
    get_weather.invoke(message.tool_calls[0])
    seen.check_called()


@cell("tools", "bind_tools named")
def bind_named(url):
    model = chat(url).bind_tools([get_weather, Person], tool_choice="get_weather", strict=True,
                                 parallel_tool_calls=False)
    message = model.invoke(cells.TALK)
    check([call["name"] for call in message.tool_calls] == ["get_weather"], message)


@cell("tools", "bind_tools auto")
def bind_auto(url):
    message = chat(url).bind_tools([get_weather]).invoke(cells.WEATHER)
    check(message.tool_calls and not message.invalid_tool_calls, message)
    get_weather.invoke(message.tool_calls[0])
    seen.check_called()


@cell("tools", "beside response_format")
def tools_and_form(url):
    model = chat(url).bind_tools([get_weather], response_format=Person, strict=True)
    check(model.invoke(cells.WEATHER).tool_calls)
    message = model.bind(logit_bias=cells.without_calls(url)).invoke(cells.WEATHER)
    cells.check_person(message.additional_kwargs["parsed"])


@cell("streams", "stream of a schema")
def stream_schema(url):
    parts = list(chat(url).with_structured_output(Person).stream(cells.EXTRACT))
    cells.check_person(parts[-1])


@cell("streams", "stream of a call")
def stream_call(url):
    whole = None
    model = chat(url, stream_usage=True).bind_tools([get_weather], tool_choice="required")
    for chunk in model.stream(cells.TALK):
        whole = chunk if whole is None else whole + chunk
    check(whole.tool_calls and whole.tool_calls[0]["name"] == "get_weather", whole)
    check(whole.usage_metadata["output_tokens"] > 0, whole)


@cell("loops", "ToolMessage")
def tool_message(url):
    messages = [HumanMessage(cells.TALK)]
    messages.append(chat(url).bind_tools([get_weather], tool_choice="any").invoke(messages))
    for call in messages[1].tool_calls:
        messages.append(get_weather.invoke(call))
    person = chat(url).with_structured_output(Person).invoke(messages)
    seen.check_called()
    cells.check_person(person)


cells.main()
