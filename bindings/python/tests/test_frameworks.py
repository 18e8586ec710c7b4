"""The classes for LangChain and LlamaIndex, where these are installed."""
import asyncio

import pytest

GREEDY = {"temperature": 0, "max_tokens": 24}
QUESTION = "What is the capital of France?"


def test_langchain(model):
    pytest.importorskip("langchain_core")
    from ruvllm.langchain import ChatRuvLLM

    chat = ChatRuvLLM(model=model, options=GREEDY)
    answer = chat.invoke(QUESTION)
    assert "Paris" in answer.content and answer.usage_metadata["output_tokens"] > 0
    assert "".join(chunk.content for chunk in chat.stream(QUESTION)) == answer.content
    assert asyncio.run(chat.ainvoke(QUESTION)).content == answer.content


def test_llama_index(model):
    pytest.importorskip("llama_index.core")
    from llama_index.core.llms import ChatMessage

    from ruvllm.llama_index import RuvLLM

    llm = RuvLLM(model=model, options=GREEDY)
    answer = llm.chat([ChatMessage(role="user", content=QUESTION)])
    assert "Paris" in answer.message.content
    streamed = list(llm.stream_chat([ChatMessage(role="user", content=QUESTION)]))
    assert streamed[-1].message.content == answer.message.content
    assert llm.complete("One,", max_tokens=3).text
