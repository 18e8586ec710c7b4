"""The cases that all bindings share (bindings/cases)."""
import json
import pathlib

import pytest

import ruvllm

CASES = pathlib.Path(__file__).parents[2] / "cases"


def cases(name):
    listed = json.loads((CASES / f"{name}.json").read_text())
    return [pytest.param(case, id=case["name"]) for case in listed]


def check_error(error, wanted):
    assert {name: getattr(error, name) for name in wanted} == wanted, error


def check_answer(answer, wanted):
    if "contains" in wanted:
        assert wanted["contains"] in answer
    if "finish_reason" in wanted:
        assert answer.finish_reason == wanted["finish_reason"]
    if "completion_tokens" in wanted:
        assert answer.usage["completion_tokens"] == wanted["completion_tokens"]
    if "json_keys" in wanted:
        assert list(json.loads(answer)) == wanted["json_keys"]


@pytest.mark.parametrize("case", cases("answers"))
def test_answers(model, case):
    ask = getattr(model, case["call"])
    asked = case.get("messages", case.get("prompt"))
    if "error" in case:
        with pytest.raises(ruvllm.InvalidError) as failed:
            ask(asked, **case["options"])
        return check_error(failed.value, case["error"])
    answer = ask(asked, **case["options"])
    check_answer(answer, case["expect"])
    stream = model.chat_stream if case["call"] == "chat" else model.stream
    assert "".join(stream(asked, **case["options"])) == answer


@pytest.mark.parametrize("case", cases("tokens"))
def test_tokens(model, case):
    assert model.detokenize(model.tokenize(case["text"])) == case["text"]


@pytest.mark.parametrize("case", cases("load"))
def test_load(case):
    with pytest.raises(ruvllm.Error) as failed:
        ruvllm.load(case.get("path"), **case["options"])
    check_error(failed.value, case["error"])
