"""How often a model calls the right tool with valid and with right arguments, once as it likes and
once with calls held to the tools' schemas.

    bench/grammar/tool_accuracy.py --model model.gguf --cases tools.jsonl
    bench/grammar/tool_accuracy.py --model model.gguf --cases BFCL_v4_simple_python.jsonl \
        --answers possible_answer/BFCL_v4_simple_python.jsonl

Cases are JSON lines: messages, tools and expected_calls, or those of the Berkeley Function-Calling
Leaderboard. Cases without a call to make, or with several, are left out. Every case is one request
to a server of this machine, at temperature 0. "Free" asks with tool_choice auto; "held" with
required and strict schemas."""
import argparse
import json
import os
import sys

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "e2e"))

from server import Server  # noqa: E402

TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
MODES = ["free", "held"]
COUNTS = ["calls", "valid", "right tool", "right arguments"]


def json_schema(schema):
    """A schema with BFCL's names of types, as a JSON schema."""
    made = {key: value for key, value in schema.items() if key not in ("default", "optional")}
    kind = TYPES.get(schema.get("type"), schema.get("type"))
    made.pop("type", None)
    if kind:
        made["type"] = kind
    if "properties" in made:
        made["properties"] = {name: json_schema(part) for name, part in made["properties"].items()}
    if "items" in made:
        made["items"] = json_schema(made["items"])
    return made


def bfcl_case(row, answers):
    (name, arguments), = answers[row["id"]][0].items()
    tools = [{"type": "function", "function": {
        "name": function["name"].replace(".", "_"), "description": function["description"],
        "parameters": json_schema(function["parameters"])}} for function in row["function"]]
    return {"messages": row["question"][0], "tools": tools, "name": name.replace(".", "_"),
            "one_of": arguments}


def read_cases(path, answers_path):
    rows = [json.loads(line) for line in open(path, encoding="utf-8")]
    if answers_path:
        answers = {}
        for line in open(answers_path, encoding="utf-8"):
            row = json.loads(line)
            answers[row["id"]] = row["ground_truth"]
        return [bfcl_case(row, answers) for row in rows if len(answers.get(row["id"], [])) == 1]
    cases = []
    for row in rows:
        if len(row.get("expected_calls", [])) != 1:
            continue
        call = row["expected_calls"][0]
        cases.append({"messages": openai_messages(row["messages"]), "tools": row["tools"],
                      "name": call["name"],
                      "one_of": {key: [value] for key, value in call["arguments"].items()}})
    return cases


def openai_messages(messages):
    """With the ids that calls and results have there."""
    made, calls = [], []
    for message in map(dict, messages):
        if "tool_calls" in message:
            calls = [{"id": f"call_{len(made)}_{i}", "type": "function", "function": {
                "name": call["function"]["name"],
                "arguments": json.dumps(call["function"]["arguments"])}}
                for i, call in enumerate(message["tool_calls"])]
            message["tool_calls"] = list(calls)
        if message["role"] == "tool":
            message["tool_call_id"] = calls.pop(0)["id"]
        made.append(message)
    return made


def is_right(arguments, one_of):
    """Each argument is one of its right values; "" among those: it may be absent."""
    if not isinstance(arguments, dict) or not set(arguments) <= set(one_of):
        return False
    return all(arguments[key] in values if key in arguments else "" in values
               for key, values in one_of.items())


def judge(message, case):
    """Which of COUNTS an answer reaches. Each needs those before it but "valid"."""
    calls = message.get("tool_calls") or []
    if len(calls) != 1:
        return set()
    found = {"calls"}
    name = calls[0]["function"]["name"]
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in case["tools"]}
    try:
        arguments = json.loads(calls[0]["function"]["arguments"])
        jsonschema.validate(arguments, schemas[name])
        found.add("valid")
    except (ValueError, KeyError, jsonschema.ValidationError):
        arguments = None
    if name == case["name"]:
        found.add("right tool")
        if is_right(arguments, case["one_of"]):
            found.add("right arguments")
    return found


def ask(server, case, mode, max_tokens):
    tools = case["tools"]
    if mode == "held":
        tools = [{"type": "function", "function": {**tool["function"], "strict": True}}
                 for tool in tools]
    return server.post("/v1/chat/completions", {
        "model": "nano", "messages": case["messages"], "tools": tools, "temperature": 0,
        "max_tokens": max_tokens, "tool_choice": "required" if mode == "held" else "auto"})


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/apps/ruvllm/ruvllm")
    parser.add_argument("--model", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--answers", help="the right answers of BFCL's cases")
    parser.add_argument("--max-tokens", type=int, default=200)
    args = parser.parse_args()
    Server.binary, Server.model = args.binary, args.model
    counts = {mode: dict.fromkeys(COUNTS, 0) for mode in MODES}
    n_asked, refused, cut = 0, {}, dict.fromkeys(MODES, 0)
    with Server() as server:
        for case in read_cases(args.cases, args.answers):
            answers = {mode: ask(server, case, mode, args.max_tokens) for mode in MODES}
            problem = next((body["error"]["message"] for status, body in answers.values()
                            if status != 200), None)
            if problem:
                problem = problem.split(":")[0]
                refused[problem] = refused.get(problem, 0) + 1
                continue
            n_asked += 1
            for mode, (_, body) in answers.items():
                choice = body["choices"][0]
                cut[mode] += choice["finish_reason"] == "length"
                for what in judge(choice["message"], case):
                    counts[mode][what] += 1
    print(f"{n_asked} cases; left out: {refused or 'none'}\n")
    print("| | " + " | ".join(COUNTS) + " | cut off |\n| --- |" + " --: |" * (len(COUNTS) + 1))
    for mode in MODES:
        print(f"| {mode} | " + " | ".join(str(counts[mode][what]) for what in COUNTS) +
              f" | {cut[mode]} |")


if __name__ == "__main__":
    main()
