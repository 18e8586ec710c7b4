"""smolagents with its OpenAIModel (also called OpenAIServerModel)."""
import json

from smolagents import OpenAIServerModel, ToolCallingAgent, tool
from smolagents.agents import EMPTY_PROMPT_TEMPLATES
from smolagents.models import ChatMessage, MessageRole
from smolagents.monitoring import LogLevel

import cells
from cells import Person, cell, check

seen = cells.Weather()


@tool
def get_weather(city: str, unit: str) -> str:
    """The weather of a city.

    Args:
        city: Its name.
        unit: Which degrees to give.
    """
    return seen.get(city, "celsius")


def model(url, **more):
    return OpenAIServerModel(model_id=cells.MODEL, api_base=url, api_key=cells.KEY,
                             temperature=0, max_tokens=cells.MAX_TOKENS,
                             client_kwargs={"max_retries": 0}, **more)


def said(text):
    return [ChatMessage(role=MessageRole.USER, content=[{"type": "text", "text": text}])]


@cell("typed answers", "response_format")
def response_format(url):
    form = {"type": "json_schema", "json_schema": {
        "name": "person", "strict": True, "schema": Person.model_json_schema()}}
    answer = model(url).generate(said(cells.EXTRACT), response_format=form)
    cells.check_person(Person.model_validate_json(answer.content))


@cell("tools", "tools_to_call_from")
def tools_to_call_from(url):
    """The library asks for a call with tool_choice required."""
    answer = model(url).generate(said(cells.TALK), tools_to_call_from=[get_weather])
    check(answer.tool_calls, answer)
    for call in answer.tool_calls:
        arguments = call.function.arguments
        get_weather(**(json.loads(arguments) if isinstance(arguments, str) else arguments))
    seen.check_called()


@cell("streams", "generate_stream")
def generate_stream(url):
    parts = list(model(url).generate_stream(
        said(cells.TALK), tools_to_call_from=[get_weather]))
    names = [call.function.name for part in parts for call in part.tool_calls or []
             if call.function and call.function.name]
    check("get_weather" in names, names)


@cell("loops", "ToolCallingAgent")
def tool_calling_agent(url):
    """Its own tool final_answer ends it, or the number of steps."""
    seen.calls.clear()
    steps = []
    # Its own has more tokens than the model's context.
    templates = {**EMPTY_PROMPT_TEMPLATES, "system_prompt": "Call tools. End with final_answer.",
                 "final_answer": {"pre_messages": "Answer.", "post_messages": "{{task}}"}}
    agent = ToolCallingAgent(tools=[get_weather], model=model(url), max_steps=3,
                             prompt_templates=templates,
                             verbosity_level=LogLevel.OFF, step_callbacks=[steps.append])
    result = agent.run(cells.TALK, return_full_result=True)
    check(result.state in ("success", "max_steps_error"), result.state)
    called = {call.name for step in steps for call in step.tool_calls or []}
    check(called and called <= {"get_weather", "final_answer"}, called)
    check(bool(seen.calls) == ("get_weather" in called), called)
    return result.state


cells.main()
