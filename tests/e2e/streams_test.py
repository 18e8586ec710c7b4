#!/usr/bin/env python3
"""Streams of `ruvllm serve`, put together, are the answers that are not streamed: drawn requests of
all APIs, asked both ways at the same time as others.

Usage: streams_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import concurrent.futures
import json
import random
import unittest
import urllib.error
import urllib.request

from server import Server, run_tests

N_CASES = 600
N_AT_ONCE = 6
WORDS = ("once upon a time there was weather in Oslo tell me about yourself please write the letter "
         "caf\u00e9 \U0001f600 12 { } \" \\ # code hello why how many days").split(" ")
TOOL = {"name": "get_weather", "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"},
                                                         "unit": {"enum": ["c", "f"]}},
                       "required": ["city", "unit"], "additionalProperties": False}}
SCHEMA = {"type": "object", "properties": {"sunny": {"type": "boolean"}, "days": {"enum": [1, 2]}},
          "required": ["sunny", "days"], "additionalProperties": False}


def draw_text(draw):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 12)))


def draw_sampling(draw):
    """Fields that the two endpoints of OpenAI's older API share."""
    body = {"seed": draw.randrange(1 << 30), "max_tokens": draw.randint(1, 40)}
    for field, values in (("temperature", (0, 0.7, 1.5)), ("top_k", (0, 1, 40)),
                          ("top_p", (0.5, 1)), ("min_p", (0, 0.1)), ("n", (1, 2, 3)),
                          ("repetition_penalty", (1, 1.3)), ("frequency_penalty", (0, 1)),
                          ("stop", ("e", [" a", "\u00e9", "12"])), ("include_stop", (True,)),
                          ("ignore_eos", (True,)), ("cache_prefix", (False,)),
                          ("speculative", (False,))):
        if draw.random() < 0.3:
            body[field] = draw.choice(values)
    return body


def draw_form(draw):
    return draw.choice(({"response_format": {"type": "json_object"}},
                        {"json_schema": SCHEMA}, {"guided_choice": ["yes", "no", "\u00e9"]},
                        {"guided_regex": "[a-z]{3,9}( [0-9]+)?"},
                        {"json_schema": SCHEMA, "repair": True}))


def draw_chat(draw):
    body = {**draw_sampling(draw), "messages": [{"role": "user", "content": draw_text(draw)}]}
    kind = draw.random()
    if kind < 0.2:
        body.update(draw_form(draw))
    elif kind < 0.4:
        body["tools"] = [{"type": "function", "function": TOOL}]
        body["tool_choice"] = draw.choice(("auto", "required", "none"))
        body["max_tokens"] = 120
    if draw.random() < 0.3:
        body.update(logprobs=True, top_logprobs=draw.randint(0, 3))
    return "/v1/chat/completions", body


def draw_completion(draw):
    body = {**draw_sampling(draw), "prompt": draw_text(draw)}
    if draw.random() < 0.3:
        body["prompt"] = [draw_text(draw) for _ in range(2)]
    if draw.random() < 0.2:
        body.update(draw_form(draw))
    if draw.random() < 0.4:
        body["logprobs"] = draw.randint(0, 3)
    if draw.random() < 0.4:
        body["echo"] = True
    if draw.random() < 0.2 and not ("echo" in body and "logprobs" in body):
        body["token_healing"] = True
    return "/v1/completions", body


def draw_response(draw):
    body = {"input": draw_text(draw), "max_output_tokens": draw.randint(1, 40),
            "temperature": 0, "store": False}
    kind = draw.random()
    if kind < 0.3:
        body["text"] = {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}
    elif kind < 0.6:
        body["tools"] = [{"type": "function", **TOOL}]
        body["tool_choice"] = draw.choice(("auto", "required"))
    return "/v1/responses", body


def draw_message(draw):
    body = {"messages": [{"role": "user", "content": draw_text(draw)}], "temperature": 0,
            "model": "nano", "max_tokens": draw.randint(1, 60)}
    if draw.random() < 0.4:
        body["tools"] = [{"name": TOOL["name"], "input_schema": TOOL["parameters"]}]
        body["tool_choice"] = {"type": draw.choice(("auto", "any"))}
    if draw.random() < 0.4:
        body["stop_sequences"] = ["e"]
    return "/v1/messages", body


def draw_ollama(draw):
    body = {"model": "nano", "messages": [{"role": "user", "content": draw_text(draw)}],
            "options": {"temperature": draw.choice((0, 1)), "seed": draw.randrange(1 << 30),
                        "num_predict": draw.randint(1, 40)}}
    if draw.random() < 0.3:
        body["format"] = SCHEMA
    return "/api/chat", body


def events_of(text):
    """The data of server-sent events."""
    datas = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    return [json.loads(data) for data in datas if data != "[DONE]"]


def plain_usage(usage):
    """Without what depends on requests before and beside this one."""
    return {key: value for key, value in usage.items() if not key.endswith("_details")}


def join_openai(text):
    """The answer of either older endpoint that its stream's chunks tell. A stream cannot take back
    a call that it had begun and that turned out to be none; its text follows as text."""
    joined = {"choices": {}, "usage": None}
    for chunk in events_of(text):
        if chunk.get("usage"):
            joined["usage"] = plain_usage(chunk["usage"])
        for piece in chunk["choices"]:
            choice = joined["choices"].setdefault(piece["index"], {"text": "", "calls": {},
                                                                   "logprobs": {}})
            delta = piece.get("delta", {})
            choice["text"] += piece.get("text") or delta.get("content") or ""
            for call in delta.get("tool_calls", []):
                kept = choice["calls"].setdefault(call["index"], ["", ""])
                kept[0] += call["function"].get("name") or ""
                kept[1] += call["function"].get("arguments") or ""
            for name, rows in (piece.get("logprobs") or {}).items():
                choice["logprobs"].setdefault(name, []).extend(rows or [])
            for name in ("finish_reason", "stop_reason", "warnings"):
                choice[name] = piece.get(name) or choice.get(name)
    for choice in joined["choices"].values():
        choice["logprobs"] = {name: rows for name, rows in choice["logprobs"].items() if rows}
        if any(said["type"] == "unfinished_call" for said in choice["warnings"] or []):
            choice["calls"] = {index: call for index, call in choice["calls"].items()
                               if not choice["text"].endswith(call[1])}
    return joined


def whole_openai(text):
    answer = json.loads(text)
    joined = {"choices": {}, "usage": plain_usage(answer["usage"])}
    for choice in answer["choices"]:
        message = choice.get("message", {})
        calls = [[call["function"]["name"], call["function"]["arguments"]]
                 for call in message.get("tool_calls") or []]
        joined["choices"][choice["index"]] = {
            "text": choice.get("text") or message.get("content") or "",
            "calls": dict(enumerate(calls)),
            "logprobs": {name: rows for name, rows in (choice["logprobs"] or {}).items() if rows},
            "finish_reason": choice["finish_reason"], "stop_reason": choice.get("stop_reason"),
            "warnings": choice.get("warnings")}
    return joined


def nameless(value):
    """Without names and times, which differ between answers."""
    if isinstance(value, list):
        return [nameless(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: nameless(item) for key, item in value.items()
            if key not in ("id", "call_id", "created_at", "completed_at", "usage")}


def text_of(item):
    return item.get("arguments") or "".join(part["text"] for part in item.get("content") or [])


def join_response(text):
    """The last event has the whole answer, and the deltas before it tell its texts. A stream cannot
    take back the call that it had begun, which it calls incomplete."""
    events = events_of(text)
    response = nameless(events[-1]["response"])
    parts = {}
    for event in events:
        if event["type"].endswith(".delta"):
            parts[event["output_index"]] = parts.get(event["output_index"], "") + event["delta"]
    told = [parts.get(index, "") for index in range(len(response["output"]))]
    assert told == [text_of(item) for item in response["output"]], (told, response["output"])
    kept = [item for item in response["output"]
            if (item["type"], item["status"]) != ("function_call", "incomplete")]
    return text_before_calls({**response, "output": kept})


def text_before_calls(response):
    """Whole answers list texts before calls, streams what came first."""
    output = sorted(response["output"], key=lambda item: item["type"] == "function_call")
    return {**response, "output": output}


def whole_response(text):
    return text_before_calls(nameless(json.loads(text)))


def text_first(blocks):
    return sorted(blocks, key=lambda block: block[0] is not None)


def join_message(text):
    blocks, last = {}, {}
    for event in events_of(text):
        if event["type"] == "content_block_start":
            blocks[event["index"]] = [event["content_block"].get("name"), ""]
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            blocks[event["index"]][1] += delta.get("text", delta.get("partial_json", ""))
        elif event["type"] == "message_delta":
            last = {**event["delta"], "output_tokens": event["usage"]["output_tokens"]}
    text = "".join(said for name, said in blocks.values() if not name)
    kept = [[name, json.loads(said) if name else said] for name, said in blocks.values()
            if not name or not text.endswith(said)]
    return text_first(kept), last


def whole_message(text):
    answer = json.loads(text)
    return (text_first([[block.get("name"), block.get("input", block.get("text"))]
                        for block in answer["content"]]),
            {"stop_reason": answer["stop_reason"], "stop_sequence": answer["stop_sequence"],
             "output_tokens": answer["usage"]["output_tokens"]})


def join_ollama(text):
    lines = [json.loads(line) for line in text.splitlines()]
    return ("".join(line["message"]["content"] for line in lines), lines[-1]["done_reason"],
            lines[-1]["eval_count"])


# How to draw a request, put its stream together, and read its whole answer.
APIS = ((draw_chat, join_openai, whole_openai), (draw_completion, join_openai, whole_openai),
        (draw_response, join_response, whole_response),
        (draw_message, join_message, whole_message), (draw_ollama, join_ollama, join_ollama))


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--parallel", N_AT_ONCE)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, path, body):
        request = urllib.request.Request(self.server.url + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.read().decode()

    def compare(self, seed):
        """The request where the two answers differ, or None."""
        draw = random.Random(seed)
        draw_request, join, whole = draw.choices(APIS, (4, 4, 2, 2, 1))[0]
        path, body = draw_request(draw)
        options = {"stream_options": {"include_usage": True}} if join is join_openai else {}
        try:
            streamed = self.ask(path, {**body, "stream": True, **options})
            at_once = self.ask(path, {**body, "stream": False})
            if join(streamed) == whole(at_once):
                return None
        except urllib.error.HTTPError as error:
            with error:
                at_once = error.read().decode()
            streamed = ""
        return f"case {seed}: POST {path} {json.dumps(body)}\nstream: {streamed}\nwhole: {at_once}"

    def test_streams_put_together_are_the_whole_answers(self):
        with concurrent.futures.ThreadPoolExecutor(N_AT_ONCE) as pool:
            differences = [said for said in pool.map(self.compare, range(N_CASES)) if said]
        self.assertEqual(len(differences), 0, "\n".join(differences))


if __name__ == "__main__":
    run_tests()
