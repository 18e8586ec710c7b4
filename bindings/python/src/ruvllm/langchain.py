"""A chat model for LangChain: needs langchain-core."""
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Optional

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (AIMessage, AIMessageChunk, BaseMessage,
                                     convert_to_openai_messages)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field

from .answer import Answer, Piece
from .model import Model, load


class ChatRuvLLM(BaseChatModel):
    """`ChatRuvLLM(model=ruvllm.load("model.gguf"), options={"temperature": 0})`"""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    model: Model = Field(default_factory=load)
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return "ruvllm"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _call(self, messages: list[BaseMessage], stop: Optional[list[str]],
              more: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        asked: Any = convert_to_openai_messages(messages)
        options = {**self.options, **more}
        if stop:
            options["stop"] = stop
        return asked, options

    def _generate(self, messages: list[BaseMessage], stop: Optional[list[str]] = None,
                  run_manager: Any = None, **kwargs: Any) -> ChatResult:
        asked, options = self._call(messages, stop, kwargs)
        return _result(self.model.chat(asked, **options))

    async def _agenerate(self, messages: list[BaseMessage], stop: Optional[list[str]] = None,
                         run_manager: Any = None, **kwargs: Any) -> ChatResult:
        asked, options = self._call(messages, stop, kwargs)
        return _result(await self.model.achat(asked, **options))

    def _stream(self, messages: list[BaseMessage], stop: Optional[list[str]] = None,
                run_manager: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        asked, options = self._call(messages, stop, kwargs)
        for piece in self.model.chat_stream(asked, **options):
            yield _chunk(piece)

    async def _astream(self, messages: list[BaseMessage], stop: Optional[list[str]] = None,
                       run_manager: Any = None,
                       **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        asked, options = self._call(messages, stop, kwargs)
        async for piece in self.model.achat_stream(asked, **options):
            yield _chunk(piece)


def _result(answer: Answer) -> ChatResult:
    import json

    calls = []
    for call in answer.tool_calls:
        calls.append({"name": call["function"]["name"], "id": call["id"], "type": "tool_call",
                      "args": json.loads(call["function"]["arguments"] or "{}")})
    n_prompt = answer.usage.get("prompt_tokens", 0)
    n_answer = answer.usage.get("completion_tokens", 0)
    message = AIMessage(content=str(answer), tool_calls=calls,
                        response_metadata={"finish_reason": answer.finish_reason},
                        usage_metadata={"input_tokens": n_prompt, "output_tokens": n_answer,
                                        "total_tokens": n_prompt + n_answer})
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunk(piece: Piece) -> ChatGenerationChunk:
    calls: Any = [{"name": call.get("function", {}).get("name"), "id": call.get("id"),
                   "args": call.get("function", {}).get("arguments"), "index": call.get("index"),
                   "type": "tool_call_chunk"} for call in piece.tool_calls]
    message: Any = AIMessageChunk(content=str(piece), tool_call_chunks=calls)
    return ChatGenerationChunk(message=message)
