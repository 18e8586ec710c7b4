#!/usr/bin/env python3
"""Calls of tools with the verdicts of the Berkeley Function Calling Leaderboard (bfcl_eval).

  draw_call_cases.py --out tests/cases/call_cases.jsonl --count 300 [--seed 1]

Draws functions, right values and calls, most of them slightly wrong, and writes lines {functions,
expected, calls, is_right} for call_check_test. Needs the package bfcl-eval; what it imports of
model providers is not loaded.
"""

import argparse
import collections
import copy
import json
import random
import sys
import types

MODEL = "any"


def load_checker():
    """The leaderboard's own comparison."""
    config = types.ModuleType("bfcl_eval.constants.model_config")
    plain = types.SimpleNamespace(underscore_to_dot=False)
    config.MODEL_CONFIG_MAPPING = collections.defaultdict(lambda: plain)
    sys.modules["bfcl_eval.constants.model_config"] = config
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    def is_right(functions, calls, expected):
        category = "parallel" if len(expected) > 1 else "multiple"
        described = [
            {"name": f["name"], "parameters": {**f["parameters"], "type": "dict"}} for f in functions
        ]
        return ast_checker(described, calls, expected, Language.PYTHON, category, MODEL)["valid"]

    return is_right


TYPES = {"integer": "integer", "float": "number", "string": "string", "boolean": "boolean",
         "array": "array", "dict": "object"}
WORDS = ["Rome", "New York", "red-wine", "it's", "a_b", "Zürich", "x^2", "10", "km/h", ""]


class Drawer:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, kind, items="string"):
        draw = self.random
        if kind == "integer":
            return draw.choice([0, 1, -3, 10, 2000])
        if kind == "float":
            return draw.choice([0.5, 1.0, -2.25, 3, 1e6])
        if kind == "boolean":
            return draw.random() < 0.5
        if kind == "string":
            return draw.choice(WORDS[:-1])
        if kind == "array":
            return [self.value(items) for _ in range(draw.randint(1, 3))]
        return {key: self.value("string") for key in draw.sample(["city", "zone"], draw.randint(1, 2))}

    def function(self, name):
        draw = self.random
        properties = {}
        for key in draw.sample(["base", "city", "unit", "deep", "all", "who"], draw.randint(1, 4)):
            kind = draw.choice(list(TYPES))
            properties[key] = {"type": kind, "description": ""}
            if kind == "array":
                properties[key]["items"] = {"type": draw.choice(["string", "integer", "float"])}
        keys = list(properties)
        required = [key for key in keys if draw.random() < 0.6]
        return {"name": name, "parameters": {"properties": properties, "required": required}}

    def right_values(self, schema, is_required):
        kind, items = schema["type"], schema.get("items", {}).get("type", "string")
        values = [self.value(kind, items) for _ in range(self.random.randint(1, 2))]
        if kind == "dict":
            values = [{key: [one] + ([""] if self.random.random() < 0.3 else [])
                       for key, one in value.items()} for value in values]
        if self.random.random() < 0.1 and kind in ("integer", "float"):
            values.append("variable")
        if not is_required and self.random.random() < 0.6:
            values.append("")
        return values

    def expected(self, function):
        parameters = function["parameters"]
        return {function["name"]: {
            key: self.right_values(schema, key in parameters["required"])
            for key, schema in parameters["properties"].items()}}

    def right_call(self, expected):
        (name, right), arguments = next(iter(expected.items())), {}
        for key, values in right.items():
            value = self.random.choice(values)
            if value == "":
                continue
            if isinstance(value, dict):
                value = {k: v[0] for k, v in value.items()}
            arguments[key] = copy.deepcopy(value)
        return {name: arguments}

    def changed_text(self, text):
        return self.random.choice([text.upper(), text.replace(" ", "-"), text + ".", text + "s", ""])

    def spoil(self, call):
        """Changes one thing, which may or may not matter."""
        draw, (name, arguments) = self.random, next(iter(call.items()))
        if not arguments or draw.random() < 0.1:
            return {draw.choice([name, "other", name + "x"]): {**arguments, "extra": 1}}
        key = draw.choice(list(arguments))
        value = arguments[key]
        way = draw.randint(0, 4)
        if way == 0:
            del arguments[key]
        elif way == 1:
            arguments[key] = draw.choice([1, 1.0, "1", True, [1], {"city": "Rome"}, 2000, "variable"])
        elif isinstance(value, str):
            arguments[key] = self.changed_text(value)
        elif isinstance(value, bool):
            arguments[key] = draw.choice([int(value), not value, str(value)])
        elif isinstance(value, (int, float)):
            arguments[key] = draw.choice([float(value), int(value), value + 1, str(value)])
        elif isinstance(value, list):
            arguments[key] = draw.choice([value[::-1], value + value[:1], [str(x).upper() for x in value],
                                          [x for x in value if x != value[0]]])
        else:
            arguments[key] = draw.choice([{**value, "more": 1}, dict(list(value.items())[1:]),
                                          {k: self.changed_text(v) for k, v in value.items()}])
        return call


def draw_case(drawer, is_right):
    draw = drawer.random
    functions = [drawer.function("f%d" % i) for i in range(draw.randint(1, 3))]
    chosen = [draw.choice(functions) for _ in range(draw.choice([1, 1, 1, 2, 3]))]
    expected = [drawer.expected(function) for function in chosen]
    calls = [drawer.right_call(one) for one in expected]
    for i in range(len(calls)):
        if draw.random() < 0.5:
            calls[i] = drawer.spoil(calls[i])
    draw.shuffle(calls)
    if draw.random() < 0.05:
        calls = calls[1:]
    verdict = is_right(copy.deepcopy(functions), copy.deepcopy(calls), copy.deepcopy(expected))
    for function in functions:
        function["parameters"]["type"] = "object"
        for schema in function["parameters"]["properties"].values():
            schema.pop("description")
            schema["type"] = TYPES[schema["type"]]
            if "items" in schema:
                schema["items"] = {"type": TYPES[schema["items"]["type"]]}
    return {"functions": functions, "expected": expected, "calls": calls, "is_right": verdict}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    is_right, drawer = load_checker(), Drawer(options.seed)
    cases = [draw_case(drawer, is_right) for _ in range(options.count)]
    with open(options.out, "w", encoding="utf-8") as out:
        for case in cases:
            out.write(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n")
    print("%d cases, %d right" % (len(cases), sum(case["is_right"] for case in cases)))


if __name__ == "__main__":
    main()
