#!/usr/bin/env python3
"""Tests of `ruvllm learn` through the real binary: a tiny model for what is kept, the built-in one
for texts and conversations.

Usage: learn_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import Program, call, environment

LOOSE = ["--learn-held-out", "10", "--learn-canary", "100", "--learn-norm", "100",
         "--learn-own", "100"]


def contents(path):
    with open(path, "rb") as file:
        return file.read()


class LearnTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.tiny = os.path.join(Program.source, "tests", "golden", "models", "llama2",
                                 "model.gguf")
        self.texts = self.lines("texts.jsonl", [{"ids": list(range(1, 12))},
                                                {"ids": list(range(20, 30)),
                                                 "score": [0] * 4 + [1] * 6}])

    def path(self, name):
        return os.path.join(self.folder, name)

    def lines(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")
        return self.path(name)

    @staticmethod
    def feedback(i):
        line = {"ids": [(7 * i + 3 * k) % 70 + 1 for k in range(10)], "score": [0] * 3 + [1] * 7}
        return line if i % 3 else {**line, "rating": 1 if i % 2 else -1}

    def arguments(self, folder, *more, divergence="100"):
        return [str(x) for x in ("learn", "-m", self.tiny, "--folder", self.path(folder),
                                 "--learn-ctx", 24, "--learn-texts", self.texts,
                                 *LOOSE, "--learn-divergence", divergence, "--quiet",
                                 "--json", "--learn-no-sync", *more)]

    def learned(self, folder, *more, **limits):
        """The objects that a call printed."""
        done = call(*self.arguments(folder, *more, **limits))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def state(self, folder, generation, name="default"):
        return contents(os.path.join(self.path(folder), name, f"state-{generation}"))


class Kept(LearnTest):
    def test_feedback_is_learned_undone_and_shown(self):
        path = self.lines("f.jsonl", [self.feedback(i) for i in range(1, 5)] +
                          [{**self.feedback(5), "name": "bob"}])
        out = self.learned("a", "--jsonl", path)
        self.assertEqual([line.get("taken") for line in out[:5]], [1, 2, 3, 4, 1])
        bob, default = out[5:]
        self.assertEqual((bob["name"], bob["generation"]), ("bob", 1))
        self.assertEqual((default["generation"], default["accepted"]), (4, 4))
        second = self.state("a", 2)
        self.assertEqual(self.learned("a", "--undo", 2)[1]["generation"], 2)
        self.assertEqual(self.state("a", 2), second)
        entries = [json.loads(line) for line in call(
            "learn", "--folder", self.path("a"), "--journal").stdout.splitlines()]
        self.assertEqual(entries[-1], {"undo": {"generation": 2}})
        self.assertEqual(sum("feedback" in entry for entry in entries), 4)
        # Learned again from there, it has the bytes that it had.
        third = self.state("a", 3) if os.path.exists(self.path("a/default/state-3")) else None
        path = self.lines("third.jsonl", [self.feedback(3)])
        self.assertEqual(self.learned("a", "--jsonl", path)[-1]["generation"], 5)
        if third:
            self.assertEqual(self.state("a", 5), third)

    def test_what_was_taken_outlives_a_kill(self):
        """Killed at random moments; what was acknowledged is learned, to the same bytes."""
        rng = random.Random(5)
        sent = 0
        for round_ in range(Program.kills):
            with subprocess.Popen([Program.binary, *self.arguments("k", "--jsonl", "-")],
                                  env=environment(), encoding="utf-8", stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                n = rng.randrange(1, 6)
                for _ in range(n):
                    process.stdin.write(json.dumps(self.feedback(sent + 1)) + "\n")
                    process.stdin.flush()
                    line = json.loads(process.stdout.readline())
                    sent += 1
                    self.assertEqual(line, {"name": "default", "taken": sent}, round_)
                if rng.random() < 0.5:
                    # A moment that is somewhere in learning and writing.
                    try:
                        process.wait(rng.random() * 0.05)
                    except subprocess.TimeoutExpired:
                        pass
                process.kill()
        killed = self.learned("k")[-1]
        self.assertEqual((killed["feedback"], killed["accepted"], killed["pending"]),
                         (sent, sent, 0))
        path = self.lines("whole.jsonl", [self.feedback(i) for i in range(1, sent + 1)])
        whole = self.learned("w", "--jsonl", path)[-1]
        self.assertEqual(whole["generation"], killed["generation"])
        self.assertEqual(self.state("k", sent), self.state("w", sent))

    def test_a_gate_refuses(self):
        path = self.lines("f.jsonl", [self.feedback(1)])
        done = self.learned("g", "--jsonl", path, divergence="0")[-1]
        self.assertEqual((done["refused"], done["generation"]), (1, 0))
        self.assertIn("divergence", done["last_refusal"])


class Texts(LearnTest):
    def test_a_correction_changes_an_answer(self):
        question = {"messages": [{"role": "user", "content": "What is the capital of France?"}]}
        path = self.lines("c.jsonl", [{**question, "correction": "Ahoy!"}] * 25)
        folder = self.path("n")
        done = call("learn", "-m", Program.model, "--folder", folder, "--jsonl", path, "--json",
                    "--learn-rate", "1e-2", "--learn-divergence", "100", *LOOSE)
        self.assertEqual(done.returncode, 0, done.stderr)
        generation = json.loads(done.stdout.splitlines()[-1])["generation"]
        self.assertEqual(generation, 25)
        run = ["run", "-m", Program.model, "--temperature", 0, "--max-tokens", 8,
               question["messages"][0]["content"]]
        self.assertNotIn("Ahoy", call(*run).stdout)
        adapter = os.path.join(folder, "default", "adapter-25")
        self.assertIn("Ahoy", call(*run[:3], "--lora", adapter, *run[3:]).stdout)

    def test_wrong_lines_and_calls(self):
        for line, what in (({"prompt": "a"}, "'answer' is required"),
                           ({"prompt": "a", "answer": "b"}, "'rating' is required"),
                           ({"prompt": "a", "answer": "b", "rating": 2}, "'rating' must lie"),
                           ({"prompt": "a", "correction": "b", "rating": 1}, "'rating'"),
                           ({"ids": [1, 2]}, "'score' is required"),
                           ({"ids": [1, 2], "score": [1, 1]}, "no token is judged, or the first"),
                           ({"ids": [1, 2], "score": [0, 1], "speed": 1}, "'speed'"),
                           ({"ids": [1, 99999], "score": [0, 1]}, "token 99999"),
                           ({"ids": [1, 2], "score": [0, 1], "name": "../x"}, "the name of an")):
            done = call(*self.arguments("w", "--jsonl", self.lines("w.jsonl", [line])))
            self.assertEqual(done.returncode, 1, line)
            self.assertIn("line 1: ", done.stderr)
            self.assertIn(what, done.stderr)
        for more, what in ((["--learn-rank", 3], "--learn-rank"),
                           (["--undo", 1, "--jsonl", "-"], "do not go together"),
                           (["--journal", "--undo", 1], "--journal shows only")):
            done = call(*self.arguments("w", *more))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(what, done.stderr)
        done = call(*self.arguments("w", "--learn-matrices", "attn_q,nothing"))
        self.assertIn("'nothing' is not a matrix", done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--kills", type=int, default=8,
                        help="how often the program is killed; 1000 is the goal's proof")
    arguments, rest = parser.parse_known_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    Program.kills = arguments.kills
    Program.model = Program.find_model()
    if not Program.model:
        print("no model to test with")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
