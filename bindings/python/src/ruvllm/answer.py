"""Answers: texts that know how they came about."""
from __future__ import annotations

from typing import Any


class Answer(str):
    """The text of an answer, with what the API says of it."""

    reasoning: str
    tool_calls: list[dict[str, Any]]
    finish_reason: str
    usage: dict[str, Any]
    raw: dict[str, Any]

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Answer:
        choice: dict[str, Any] = raw["choices"][0]
        message: dict[str, Any] = choice.get("message") or {}
        answer = cls(choice.get("text") or message.get("content") or "")
        answer.reasoning = message.get("reasoning_content") or ""
        answer.tool_calls = message.get("tool_calls") or []
        answer.finish_reason = choice.get("finish_reason") or ""
        answer.usage = raw.get("usage") or {}
        answer.raw = raw
        return answer


class Piece(str):
    """A piece of an answer as it comes; the text may be empty where a piece has something else."""

    reasoning: str
    tool_calls: list[dict[str, Any]]
    finish_reason: str
    raw: dict[str, Any]

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Piece:
        choices: list[dict[str, Any]] = raw.get("choices") or [{}]
        delta: dict[str, Any] = choices[0].get("delta") or {}
        piece = cls(choices[0].get("text") or delta.get("content") or "")
        piece.reasoning = delta.get("reasoning_content") or ""
        piece.tool_calls = delta.get("tool_calls") or []
        piece.finish_reason = choices[0].get("finish_reason") or ""
        piece.raw = raw
        return piece

    def says_nothing(self) -> bool:
        return not (self or self.reasoning or self.tool_calls or self.finish_reason)
