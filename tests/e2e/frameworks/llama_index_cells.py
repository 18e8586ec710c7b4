"""LlamaIndex with OpenAILike."""
from typing import Literal

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import WorkflowRuntimeError
from llama_index.llms.openai_like import OpenAILike

import cells
from cells import Person, cell, check

TEMPLATE = PromptTemplate("{text}")


def model(url, **more):
    return OpenAILike(model=cells.MODEL, api_base=url, api_key=cells.KEY, is_chat_model=True,
                      temperature=0, max_tokens=cells.MAX_TOKENS, max_retries=0,
                      context_window=1024, **more)


def caller(url, **more):
    return model(url, is_function_calling_model=True, **more)


def weather_tool():
    seen = cells.Weather()

    def get_weather(city: str, unit: Literal["celsius", "fahrenheit"]) -> str:
        """The weather of a city."""
        return seen.get(city, unit)

    return seen, FunctionTool.from_defaults(get_weather)


@cell("typed answers", "structured_predict")
def structured_predict(url):
    """By a call of a function."""
    cells.check_person(caller(url).structured_predict(Person, TEMPLATE, text=cells.EXTRACT))


@cell("typed answers", "should_use_structured_outputs")
def structured_outputs(url):
    llm = model(url, should_use_structured_outputs=True)
    cells.check_person(llm.structured_predict(Person, TEMPLATE, text=cells.EXTRACT))


@cell("typed answers", "as_structured_llm")
def as_structured_llm(url):
    llm = caller(url, strict=True).as_structured_llm(Person)
    cells.check_person(llm.chat([ChatMessage(role="user", content=cells.EXTRACT)]).raw)


@cell("tools", "chat_with_tools required")
def chat_with_tools(url):
    seen, tool = weather_tool()
    llm = caller(url)
    answer = llm.chat_with_tools([tool], user_msg=cells.TALK, tool_required=True)
    for call in llm.get_tool_calls_from_response(answer):
        tool.call(**call.tool_kwargs)
    seen.check_called()


@cell("tools", "predict_and_call")
def predict_and_call(url):
    seen, tool = weather_tool()
    done = caller(url, strict=True).predict_and_call(
        [tool], user_msg=cells.TALK, tool_choice="required")
    seen.check_called()
    check("18 degrees" in str(done), done)


@cell("streams", "stream_structured_predict")
def stream_structured(url):
    llm = model(url, should_use_structured_outputs=True)
    parts = list(llm.stream_structured_predict(Person, TEMPLATE, text=cells.EXTRACT))
    cells.check_person(Person(**parts[-1].model_dump()))


@cell("streams", "stream_chat_with_tools")
def stream_tools(url):
    seen, tool = weather_tool()
    llm = caller(url)
    last = None
    for last in llm.stream_chat_with_tools([tool], user_msg=cells.TALK, tool_required=True):
        pass
    for call in llm.get_tool_calls_from_response(last):
        tool.call(**call.tool_kwargs)
    seen.check_called()


@cell("loops", "FunctionAgent")
async def function_agent(url):
    seen, tool = weather_tool()
    agent = FunctionAgent(tools=[tool], llm=caller(url, strict=True), system_prompt="Be brief.",
                          initial_tool_choice="get_weather")
    try:
        done = await agent.run(cells.TALK, max_iterations=3)
    except WorkflowRuntimeError as error:
        check("max iterations" in str(error).lower(), error)
        seen.check_called()
        return "max_iterations"
    seen.check_called()
    check(isinstance(done.response.content, str), done)
    return None


cells.main()
