#!/usr/bin/env python3
"""Tests of `ruvllm eval` through the real binary.

Usage: eval_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
import unittest

from program import Program, call

CHOICES = [{"context": "Once upon a", "choices": ["time", "moon"], "answer": 0},
           {"context": "The agent that reviews code is the", "choices": ["reviewer", "sea"], "answer": 0}]
CONTINUATIONS = [{"context": "Once upon a", "continuation": " time"}]
ANSWERS = [{"context": "Once upon a", "answer": "time", "max_tokens": 2}]


class EvalTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def task(self, samples):
        path = os.path.join(self.folder, "task.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(sample) + "\n" for sample in samples)
        return path

    def scores(self, samples, *options):
        out = os.path.join(self.folder, "out.json")
        done = call("eval", "--task", self.task(samples), "--out", out, "--force", "--quiet", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, encoding="utf-8") as file:
            return json.load(file)

    def refused(self, samples, *options):
        done = call("eval", "--task", self.task(samples), "--quiet", *options)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_choices_and_continuations_have_likelihoods(self):
        report = self.scores(CHOICES)
        self.assertEqual(report["n_samples"], 2)
        self.assertEqual([sample["chosen"] for sample in report["samples"]][0], 0)
        self.assertEqual(len(report["samples"][0]["likelihoods"]), 2)
        one = self.scores(CONTINUATIONS)["samples"][0]["likelihoods"][0]
        self.assertAlmostEqual(one["log_likelihood"], sum(one["token_logprobs"]))

    def test_exact_scores_are_near_those_of_the_engine_and_the_same_with_any_threads(self):
        engine = self.scores(CHOICES)["samples"]
        exact = self.scores(CHOICES, "--exact", "--threads", "1")["samples"]
        self.assertEqual(exact, self.scores(CHOICES, "--exact", "--threads", "2")["samples"])
        for one, other in zip(engine, exact, strict=True):
            for near, far in zip(one["likelihoods"], other["likelihoods"], strict=True):
                self.assertNotEqual(near["log_likelihood"], far["log_likelihood"])
                self.assertAlmostEqual(near["log_likelihood"], far["log_likelihood"], delta=0.5)

    def test_what_exact_leaves_no_part_to_is_refused(self):
        self.assertIn("--kv means nothing with --exact", self.refused(CHOICES, "--exact", "--kv", "f16"))
        self.assertIn("--exact is for likelihoods", self.refused(ANSWERS, "--exact"))

    def test_published_files_are_read_in_their_form(self):
        done = call("eval", "--quiet", "--json", "--form", "lambada", "--task",
                    self.task([{"text": "Once upon a time"}, {"text": "The end"}]))
        self.assertEqual(json.loads(done.stdout)["n_samples"], 2)
        self.assertIn("acc", json.loads(done.stdout)["metrics"])
        one = [{"question": "How many?", "answer": "Two. #### 2"}]
        done = call("eval", "--quiet", "--json", "--form", "gsm8k", "--task", self.task(one), "--shots", "1",
                    "--shots-from", self.task(one))
        self.assertIn("exact_match,strict-match", json.loads(done.stdout)["metrics"])
        self.assertIn("belong together", self.refused(one, "--form", "gsm8k", "--shots", "1"))
        self.assertIn("give --form", self.refused(CHOICES, "--subject", "sums"))

    def test_programs_are_run_where_that_is_asked_for(self):
        # The model's part ends g and cannot change what the test sees.
        task = [{"prompt": "def f(): return 1\n\ndef g():\n", "entry_point": "f",
                 "test": "def check(f):\n    assert f() == %d\n" % right} for right in (1, 2)]
        self.assertIn("give --run-code", self.refused(task, "--form", "humaneval"))
        self.assertIn("is for --form humaneval", self.refused(ANSWERS, "--run-code"))
        out = os.path.join(self.folder, "out.json")
        done = call("eval", "--quiet", "--json", "--form", "humaneval", "--run-code", "--task", self.task(task),
                    "--out", out)
        if "cannot be run in a sandbox here" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["metrics"]["pass@1"]["value"], 0.5)
        with open(out, encoding="utf-8") as file:
            self.assertEqual([sample["passed"] for sample in json.load(file)["samples"]], [True, False])

    def test_calls_of_tools_are_compared(self):
        function = {"name": "weather.get", "description": "The weather of a city.", "parameters": {
            "type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
        task = [{"id": "a", "question": [[{"role": "user", "content": "What is the weather in Paris?"}]],
                 "function": [function]}]
        answers = os.path.join(self.folder, "answers.jsonl")
        for wanted, expected in (([{"weather.get": {"city": ["paris"]}}], 1), ([{"weather.get": {"city": ["Rome"]}}], 0)):
            with open(answers, "w", encoding="utf-8") as file:
                file.write(json.dumps({"id": "a", "ground_truth": wanted}))
            report = self.scores(task, "--form", "bfcl", "--answers", answers)
            self.assertEqual(report["metrics"]["acc"]["value"], expected, report["samples"])
        self.assertEqual(self.scores(task, "--form", "bfcl")["metrics"]["acc"]["value"], 0)
        self.assertIn("--exact is for likelihoods", self.refused(task, "--form", "bfcl", "--exact"))

    def test_a_line_that_is_no_sample_is_named(self):
        self.assertIn("task.jsonl: line 2", self.refused([CHOICES[0], {"context": "a", "choice": "b"}]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    args, rest = parser.parse_known_args()
    Program.binary, Program.source = args.binary, args.source
    Program.model = Program.find_model()
    if not Program.model:
        print("no model to test with")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
