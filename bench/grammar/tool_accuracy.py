"""How often a model calls the right tool rightly, with calls held to the tools' schemas and not.

    bench/grammar/tool_accuracy.py --build build/release

Every request is put three times, greedily, to one server, with the same prompt: `free`, calls are
only read; `held`, the answer is text or calls of the tools' schemas (allowed_tools, mode auto);
`required`, it consists of such calls. A request is a conversation up to an answer of the assistant:

 - trained: conversations of the kind that the built-in model was trained on, with words that it
   has not seen (trained/eval/tools.jsonl). A call is right when it is equal.
 - the Berkeley function calling leaderboard, with tools that the model knows nothing of. A call is
   right when each argument is one of the accepted ones; texts are compared without case, spaces and
   the signs ,./-_*^'".

Requests that do not fit into the model's context are left out. Needs the package jsonschema."""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import sys

import jsonschema

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.append(os.path.join(SOURCE, "tests", "e2e"))

from server import Server, find_model  # noqa: E402

# `calls`: a list of calls, each {"name", "arguments"} with the accepted values of each argument;
# empty where the answer should be text.
Case = collections.namedtuple("Case", "name messages tools calls fits")
# `begun`: calls, or what begins as one. `ended`: not cut off. `valid`, `names`, `right`: all calls.
Verdict = collections.namedtuple("Verdict", "called begun ended valid names right prompt_tokens")

MODES = ("free", "held", "required")
MAX_TOKENS = 200
BROKEN = {"malformed_call", "unfinished_call", "unknown_recipient"}
MISSING = object()


# ---- requests ----

def json_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def with_ids(messages):
    """The same messages in the server's form: results name the calls that they answer."""
    made, open_ids = [], []
    for i, message in enumerate(messages):
        message = dict(message)
        if message.get("tool_calls"):
            open_ids = [f"call_{i}_{k}" for k in range(len(message["tool_calls"]))]
            message["tool_calls"] = [{**call, "id": call_id}
                                     for call, call_id in zip(message["tool_calls"], open_ids)]
        elif message["role"] == "tool":
            message["tool_call_id"] = open_ids.pop(0)
        made.append(message)
    return made


def trained_cases(path):
    """One for each answer that a conversation has, the last of which may be apart as `expected`."""
    for line, entry in enumerate(json_lines(path)):
        if not entry.get("tools"):
            continue
        messages = list(entry["messages"])
        if "expected" in entry:
            calls = [{"function": call} for call in entry.get("expected_calls") or []]
            messages.append({"role": "assistant", "tool_calls": calls})
        for end, message in enumerate(messages):
            if message["role"] == "assistant":
                calls = [call["function"] for call in message.get("tool_calls") or []]
                yield Case(f"{line + 1}:{end}", with_ids(messages[:end]), entry["tools"], calls,
                           lambda given, accepted: given == accepted)


TYPES = {"dict": "object", "tuple": "array", "float": "number", "String": "string",
         "Boolean": "boolean"}


def schema_of(given):
    """The leaderboard names types as Python and JavaScript do."""
    made = {}
    for key, value in given.items():
        if key == "type" and value in ("any", ""):
            continue
        if key == "type":
            made[key] = TYPES.get(value, value)
        elif key == "properties":
            made[key] = {name: schema_of(inner) for name, inner in value.items()}
        elif key == "items":
            made[key] = schema_of(value)
        elif key in ("required", "enum", "description"):
            made[key] = value
    if "items" in made and "enum" in made:  # the choices of a list are those of its items
        made["items"]["enum"] = made.pop("enum")
    return made


def api_name(name):
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]


def plain(text):
    return re.sub(r"[ ,./\-_*^'\"]", "", text).lower()


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same_value(given, accepted):
    """Whether a value is the accepted one, whose objects have lists of accepted members."""
    if isinstance(accepted, str) and isinstance(given, str):
        return plain(given) == plain(accepted)
    if isinstance(accepted, list) and isinstance(given, list):
        return len(given) == len(accepted) and all(map(same_value, given, accepted))
    if isinstance(accepted, dict) and isinstance(given, dict):
        return fits_members(given, accepted)
    if is_number(accepted) and is_number(given):
        return given == accepted
    return type(given) is type(accepted) and given == accepted


def fits_members(given, accepted):
    """Whether each member has an accepted value; a text without characters: it may be missing."""
    if not set(given) <= set(accepted):
        return False
    for name, choices in accepted.items():
        value = given.get(name, MISSING)
        if value is MISSING:
            if "" not in choices:
                return False
        elif not any(same_value(value, choice) for choice in choices):
            return False
    return True


def bfcl_cases(folder, category):
    entries = json_lines(os.path.join(folder, f"BFCL_v4_{category}.jsonl"))
    answers = os.path.join(folder, "possible_answer", f"BFCL_v4_{category}.jsonl")
    truth = {}
    if os.path.exists(answers):
        truth = {line["id"]: line["ground_truth"] for line in json_lines(answers)}
    for entry in entries:
        tools = [{"type": "function",
                  "function": {"name": api_name(function["name"]),
                               "description": function["description"],
                               "parameters": schema_of(function["parameters"])}}
                 for function in entry["function"]]
        calls = [{"name": api_name(name), "arguments": arguments}
                 for call in truth.get(entry["id"], []) for name, arguments in call.items()]
        yield Case(entry["id"], entry["question"][0], tools, calls, fits_members)


# ---- answers ----

class TooLong(Exception):
    """The prompt and its answer do not fit into the context."""


def request_of(case, mode):
    body = {"model": "nano", "messages": case.messages, "tools": case.tools, "temperature": 0,
            "max_tokens": MAX_TOKENS}
    if mode != "free":
        names = [{"type": "function", "function": {"name": tool["function"]["name"]}}
                 for tool in case.tools]
        how = "auto" if mode == "held" else "required"
        body["tool_choice"] = {"type": "allowed_tools", "allowed_tools": {"mode": how, "tools": names}}
    return body


def is_valid(call, tools):
    """Whether a tool has that name and the arguments follow its schema."""
    for tool in tools:
        if tool["function"]["name"] == call["name"]:
            checker = jsonschema.Draft202012Validator(tool["function"]["parameters"])
            return isinstance(call["arguments"], dict) and checker.is_valid(call["arguments"])
    return False


def are_right(calls, case):
    """Whether they are the expected calls, in any order."""
    left = list(case.calls)
    for call in calls:
        found = [want for want in left if want["name"] == call["name"] and
                 case.fits(call["arguments"], want["arguments"])]
        if not found:
            return False
        left.remove(found[0])
    return not left


def judge(server, case, mode):
    status, answer = server.post("/v1/chat/completions", request_of(case, mode))
    if status != 200:
        if answer["error"].get("code") == "context_length_exceeded":
            raise TooLong
        raise RuntimeError(f"{case.name}, {mode}: {answer['error']['message']}")
    choice = answer["choices"][0]
    calls = [{"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
             for call in choice["message"].get("tool_calls") or []]
    broken = BROKEN & {warning["type"] for warning in choice.get("warnings", [])}
    names = sorted(call["name"] for call in calls)
    return Verdict(called=bool(calls), begun=bool(calls or broken),
                   ended=choice["finish_reason"] != "length",
                   valid=bool(calls) and not broken and all(is_valid(call, case.tools) for call in calls),
                   names=not broken and names == sorted(call["name"] for call in case.calls),
                   right=not broken and are_right(calls, case),
                   prompt_tokens=answer["usage"]["prompt_tokens"])


def judge_all_modes(server, case):
    """A verdict for each mode; none where the request is too long."""
    try:
        verdicts = {mode: judge(server, case, mode) for mode in MODES}
    except TooLong:
        return None
    if len({verdict.prompt_tokens for verdict in verdicts.values()}) != 1:
        raise RuntimeError(f"{case.name}: the prompts of the modes differ")
    return verdicts


# ---- tables ----

def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def call_rows(name, results):
    """Of requests that want calls."""
    for mode in MODES:
        verdicts = [result[mode] for result in results]
        ended = [verdict for verdict in verdicts if verdict.begun and verdict.ended]
        count = lambda field: share(sum(getattr(one, field) for one in verdicts), len(verdicts))
        row(name, mode, len(verdicts), count("called"), share(sum(one.valid for one in ended), len(ended)),
            sum(not one.ended for one in verdicts), count("names"), count("right"))


def text_row(name, results):
    """Of requests that want text."""
    row(name, len(results), *(share(sum(not result[mode].begun for result in results), len(results))
                              for mode in ("free", "held")))


def sets_of(args):
    data = args.data
    yield "trained", trained_cases(os.path.join(data, "trained", "eval", "tools.jsonl"))
    for path in args.cases:
        yield os.path.basename(path), trained_cases(path)
    bfcl = os.path.join(data, "function_calling", "bfcl_v4")
    for category in ("simple_python", "multiple", "parallel", "live_simple", "irrelevance"):
        yield "BFCL " + category, bfcl_cases(bfcl, category)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--model", default=find_model(SOURCE), help="the built-in one where not given")
    parser.add_argument("--data", default=os.environ.get("RUV_DATA_DIR") or
                        os.path.join(SOURCE, "..", "shared", "data"))
    parser.add_argument("--cases", action="append", default=[],
                        help="more conversations, as those of trained/eval/tools.jsonl")
    parser.add_argument("--limit", type=int, help="requests of a set at most")
    args = parser.parse_args()
    Server.binary = os.path.join(args.build, "apps", "ruvllm", "ruvllm")
    Server.model = args.model
    want_calls, want_text, too_long = {}, {}, 0
    with Server() as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
        for name, cases in sets_of(args):
            cases = list(cases)[:args.limit]
            results = list(pool.map(lambda case: judge_all_modes(server, case), cases))
            too_long += results.count(None)
            for case, result in zip(cases, results):
                if result:
                    (want_calls if case.calls else want_text).setdefault(name, []).append(result)
            print(f"{name}: {len(cases)} requests", file=sys.stderr)
    print("\nRequests that want calls\n")
    row("requests", "calls", "number", "answers with calls", "valid calls", "cut off", "names right",
        "calls right")
    row("---", "---", *["--:"] * 6)
    for name, results in want_calls.items():
        call_rows(name, results)
    print("\nRequests that want text: answers that begin no call\n")
    row("requests", "number", "free", "held")
    row("---", *["--:"] * 3)
    for name, results in want_text.items():
        text_row(name, results)
    print(f"\nToo long: {too_long}")


if __name__ == "__main__":
    main()
