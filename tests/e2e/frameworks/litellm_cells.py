"""LiteLLM's completion() with a server of its own address."""
import json

import litellm

import cells
from cells import Person, cell, check

TOOL = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city.",
    "parameters": {"type": "object", "additionalProperties": False,
                   "properties": {"city": {"type": "string"},
                                  "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
                   "required": ["city", "unit"]}}}


def ask(url, text, provider="openai", **more):
    return litellm.completion(
        model=f"{provider}/{cells.MODEL}", api_base=url, api_key=cells.KEY, temperature=0,
        max_tokens=cells.MAX_TOKENS, num_retries=0, messages=[{"role": "user", "content": text}],
        **more)


def person_in(answer):
    return Person.model_validate_json(answer.choices[0].message.content)


@cell("typed answers", "response_format=class")
def response_class(url):
    cells.check_person(person_in(ask(url, cells.EXTRACT, response_format=Person)))


@cell("typed answers", "response_format=json_schema")
def response_schema(url):
    form = {"type": "json_schema", "json_schema": {
        "name": "person", "strict": True, "schema": Person.model_json_schema()}}
    cells.check_person(person_in(ask(url, cells.EXTRACT, response_format=form)))


@cell("typed answers", "hosted_vllm")
def vllm(url):
    """The provider for servers with vLLM's fields."""
    cells.check_person(person_in(ask(
        url, cells.EXTRACT, "hosted_vllm", guided_json=Person.model_json_schema())))


@cell("tools", "required")
def required(url):
    seen = cells.Weather()
    message = ask(url, cells.TALK, tools=[TOOL], tool_choice="required").choices[0].message
    for call in message.tool_calls:
        check(call.function.name == "get_weather", call)
        seen.get(**json.loads(call.function.arguments))
    seen.check_called()


@cell("tools", "auto")
def auto(url):
    seen = cells.Weather()
    message = ask(url, cells.WEATHER, tools=[TOOL]).choices[0].message
    seen.get(**json.loads(message.tool_calls[0].function.arguments))
    seen.check_called()


@cell("streams", "stream_chunk_builder")
def stream(url):
    chunks = list(ask(url, cells.TALK, tools=[TOOL], tool_choice="required", stream=True,
                      stream_options={"include_usage": True}))
    whole = litellm.stream_chunk_builder(chunks)
    seen = cells.Weather()
    for call in whole.choices[0].message.tool_calls:
        seen.get(**json.loads(call.function.arguments))
    seen.check_called()
    check(whole.usage.completion_tokens > 0, whole.usage)


@cell("loops", "tool messages")
def tool_messages(url):
    seen = cells.Weather()
    messages = [{"role": "user", "content": cells.TALK}]
    answer = ask(url, cells.TALK, tools=[TOOL], tool_choice="required")
    messages.append(answer.choices[0].message)
    for call in answer.choices[0].message.tool_calls:
        text = seen.get(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text,
                         "name": call.function.name})
    seen.check_called()
    done = litellm.completion(
        model=f"openai/{cells.MODEL}", api_base=url, api_key=cells.KEY, temperature=0,
        max_tokens=cells.MAX_TOKENS, messages=messages, tools=[TOOL], response_format=Person,
        tool_choice="none")
    cells.check_person(person_in(done))


cells.main()
