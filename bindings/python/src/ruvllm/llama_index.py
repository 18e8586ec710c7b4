"""A language model for LlamaIndex: needs llama-index-core."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import (ChatMessage, ChatResponse, ChatResponseGen,
                                              CompletionResponse, CompletionResponseGen,
                                              LLMMetadata)
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.custom import CustomLLM
from pydantic import Field, PrivateAttr

from .model import Model, load


class RuvLLM(CustomLLM):
    """`RuvLLM(model=ruvllm.load("model.gguf"), options={"temperature": 0})`"""

    options: dict[str, Any] = Field(default_factory=dict)
    _model: Model = PrivateAttr()

    def __init__(self, model: Model | None = None, **more: Any) -> None:
        super().__init__(**more)
        self._model = load() if model is None else model

    @property
    def metadata(self) -> LLMMetadata:
        info = self._model.info
        return LLMMetadata(context_window=info["n_ctx"], model_name=info["name"],
                           is_chat_model=info["has_chat_template"])

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        answer = self._model.generate(prompt, **{**self.options, **kwargs})
        return CompletionResponse(text=str(answer), raw=answer.raw)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False,
                        **kwargs: Any) -> CompletionResponseGen:
        text = ""
        for piece in self._model.stream(prompt, **{**self.options, **kwargs}):
            text += piece
            yield CompletionResponse(text=text, delta=str(piece), raw=piece.raw)

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        answer = self._model.chat(_asked(messages), **{**self.options, **kwargs})
        return ChatResponse(message=ChatMessage(role="assistant", content=str(answer)),
                            raw=answer.raw)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        text = ""
        for piece in self._model.chat_stream(_asked(messages), **{**self.options, **kwargs}):
            text += piece
            yield ChatResponse(message=ChatMessage(role="assistant", content=text),
                               delta=str(piece), raw=piece.raw)


def _asked(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    return [{"role": message.role.value, "content": message.content or ""} for message in messages]
