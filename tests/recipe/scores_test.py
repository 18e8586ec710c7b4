#!/usr/bin/env python3
"""Scores of the built-in model: what counts as right, and a small run through the real server."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "recipes/builtin"
sys.path.insert(0, str(RECIPE))

import cases  # noqa: E402
import scores  # noqa: E402
from generate import EVAL  # noqa: E402

BINARY = ""


def case(category, expected, calls=None):
    return cases.Case(category, [{"role": "user", "content": "?"}], None, expected, calls, None)


def called(name, arguments):
    return {"content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


class JudgeTest(unittest.TestCase):
    def judged(self, group, one, message):
        return scores._judged(group, one, message)

    def test_a_call_needs_its_name_and_all_arguments(self):
        one = case("tools", "", [{"name": "f", "arguments": {"a": 1, "b": "x"}}])
        right = self.judged("calls", one, called("f", '{"b": "x", "a": 1}'))
        self.assertEqual(set(right.values()), {True})
        for arguments in ('{"a": 1}', '{"a": 2, "b": "x"}', '{"a": "1", "b": "x"}'):
            wrong = self.judged("calls", one, called("f", arguments))
            self.assertFalse(wrong["calls exact"], arguments)
            self.assertTrue(wrong["calls names"])
        self.assertFalse(self.judged("calls", one, called("g", "{}"))["calls names"])
        self.assertFalse(self.judged("calls", one, {"content": "f"})["calls valid"])

    def test_json_is_compared_by_value(self):
        one = case("extract", '{"a": 1, "b": null}')
        self.assertTrue(
            self.judged("extract", one, {"content": '{"b":null,"a":1}'})["extract exact"]
        )
        self.assertFalse(self.judged("extract", one, {"content": '{"a": 1}'})["extract exact"])
        self.assertFalse(self.judged("extract", one, {"content": "no"})["extract exact"])

    def test_an_agent_counts_without_the_level(self):
        one = case("routing", '{"agent": "coder", "complexity": "low"}')
        found = self.judged("routing", one, {"content": '{"agent": "coder", "complexity": "high"}'})
        self.assertEqual(found, {"routing agent": True, "routing exact": False})
        name = case("routing", "coder")
        self.assertTrue(self.judged("routing", name, {"content": "coder"})["routing exact"])
        self.assertFalse(self.judged("routing", name, {"content": "tester"})["routing agent"])

    def test_a_call_in_place_of_a_text_is_wrong(self):
        one = case("tools", "", None)
        self.assertFalse(self.judged("tool texts", one, called("f", "{}"))["tool texts exact"])

    def test_forms_fit_what_is_asked(self):
        found = cases.cases_of_eval(EVAL / "extract.jsonl", "extract", 50)
        self.assertEqual(len(found), 50)
        for one in found:
            schema = one.request(True)["response_format"]["json_schema"]["schema"]
            self.assertEqual(list(schema["properties"]), list(json.loads(one.expected)))
        self.assertNotIn("response_format", found[0].request(False))


class RunTest(unittest.TestCase):
    def test_a_run_and_its_table(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run(
                [sys.executable, RECIPE / "generate.py", "--out", folder / "data"]
                + ["--megabytes", "0.1", "--eval-records", "6", "--triplets", "1"],
                check=True,
            )
            out = folder / "scores.json"
            command = [
                sys.executable,
                RECIPE / "scores.py",
                "run",
                "--binary",
                BINARY,
                "--limit",
                "3",
            ]
            command += ["--data", folder / "data", "--out", out]
            command += ["--model", ROOT / "models/ruvltra-nano-q8_0.gguf"]
            subprocess.run(command, check=True, capture_output=True)
            result = json.loads(out.read_text())
            for name in ("first", "known", "unseen"):
                for form in ("free", "held"):
                    self.assertEqual(result["scores"]["%s/%s/calls exact" % (name, form)][1], 3)
            page = folder / "page.md"
            page.write_text("before\n<!-- scores: begin -->\nold\n<!-- scores: end -->\nafter\n")
            table = [sys.executable, RECIPE / "scores.py", "table", "--of", out, "--beside", out]
            subprocess.run(table + ["--write", page], check=True)
            text = page.read_text()
            self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
            self.assertNotIn("old", text)
            self.assertIn("| tool call: whole call equal |", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    options, rest = parser.parse_known_args()
    BINARY = options.binary
    unittest.main(argv=[sys.argv[0], *rest])
