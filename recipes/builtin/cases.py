"""Cases for evaluation: a conversation up to an answer, the answer, and how it is judged."""

import json

import chat_layout
from records import read_records
from values import AGENTS

_ROUTES = {
    "type": "object",
    "properties": {
        "agent": {"enum": list(AGENTS)},
        "complexity": {"enum": ["low", "medium", "high"]},
    },
    "required": ["agent", "complexity"],
    "additionalProperties": False,
}


class Case:
    """`calls`: the calls that are right, or None where the answer is a text. `schema`: what an
    extraction was asked for.
    """

    def __init__(self, category, messages, tools, expected, calls, schema):
        self.category, self.messages, self.tools = category, messages, tools
        self.expected, self.calls, self.schema = expected, calls, schema

    def request(self, held):
        """Members of a chat request; `held`: the answer is held to the form that is asked for."""
        body = {"messages": _as_sent(self.messages), "max_tokens": 200}
        if self.tools:
            body["tools"] = self.tools
        if held:
            body.update(self._form())
        return body

    def can_be_held(self):
        return bool(self._form())

    def _form(self):
        if self.calls:
            return {"tool_choice": "required"}
        if self.category == "routing":
            if self.expected in AGENTS:
                return {"guided_choice": list(AGENTS)}
            return _schema_form(_ROUTES)
        return _schema_form(self.schema) if self.schema else {}


def _schema_form(schema):
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema},
        }
    }


def _as_sent(messages):
    """Messages as OpenAI's API has them: arguments are texts, and calls and results have ids."""
    sent, open_ids = [], []
    for message in messages:
        if message.get("tool_calls"):
            calls = []
            for call in message["tool_calls"]:
                function = dict(call["function"])
                function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
                calls.append(
                    {"id": "call_%d_%d" % (len(sent), len(calls)), "type": "function"}
                    | {"function": function}
                )
            open_ids = [call["id"] for call in calls]
            message = {**message, "content": message["content"] or "", "tool_calls": calls}
        elif message["role"] == "tool":
            message = {**message, "tool_call_id": open_ids.pop(0)}
        sent.append(message)
    return sent


def _schema_in(text):
    """The JSON schema that a request for extraction holds; None: there is none."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            found, _ = decoder.raw_decode(text, at)
            if isinstance(found, dict) and found.get("type") == "object":
                return found
        except ValueError:
            pass
        at = text.find("{", at + 1)
    return None


def _case(record, category, turn):
    messages = record["messages"]
    answer = messages[turn]
    calls = [call["function"] for call in answer.get("tool_calls", [])] or None
    schema = _schema_in(messages[turn - 1]["content"]) if category == "extract" else None
    expected = chat_layout.answer_text(answer)
    return Case(category, messages[:turn], record.get("tools"), expected, calls, schema)


def cases_of_records(path, category, limit, wanted=None):
    """At most one case of each record, of turns for which `wanted(message)` holds."""
    cases = []
    for record in read_records(path):
        turns = [
            i
            for i, message in enumerate(record.get("messages", []))
            if message["role"] == "assistant" and (wanted is None or wanted(message))
        ]
        if turns and len(cases) < limit:
            cases.append(_case(record, category, turns[len(cases) % len(turns)]))
    return cases


def cases_of_eval(path, category, limit, wanted=None):
    """Cases of a file of `eval/`, whose lines end before the answer."""
    cases = []
    for line in read_records(path):
        if not line.get("messages"):
            continue
        calls = line.get("expected_calls") or None
        if wanted is not None and not wanted({"tool_calls": calls}):
            continue
        schema = _schema_in(line["messages"][-1]["content"]) if category == "extract" else None
        expected = line["expected"]
        cases.append(Case(category, line["messages"], line["tools"], expected, calls, schema))
    return cases[:limit]


def spoken_calls(message):
    """The calls of an answer as [{name, arguments}]; None: the arguments are not JSON."""
    calls = []
    for call in message.get("tool_calls") or []:
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            return None
        calls.append({"name": call["function"]["name"], "arguments": arguments})
    return calls


def as_json(text):
    """The value of a JSON text; None where it is not one."""
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return None


def agent_in(text):
    """The agent that an answer to a task names."""
    found = as_json(text)
    return found.get("agent") if isinstance(found, dict) else text.strip()
