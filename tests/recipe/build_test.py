#!/usr/bin/env python3
"""The recipe of the built-in model from its first step to its last, in its short variant: a build
that is killed again and again makes the bytes of one that is not, the loss falls, and what comes
out loads and answers. Nothing that it learns in so few steps is worth a test.
"""

import argparse
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "recipes/builtin/build.py"
ROLES = ("coder", "researcher", "security", "architect", "reviewer")
MADE = ["ruvltra-nano-q8_0.gguf", "ruvltra-pico-q8_0.gguf", "nano-1.gguf", "pico-2.gguf"]
MADE += ["ruvltra-embed-q8_0.gguf"]
MADE += ["adapter-%s/adapter_model.safetensors" % role for role in ROLES]

BINARY = ""


def start(folder, *more):
    """A build in a process group of its own."""
    command = [sys.executable, BUILD, "--binary", BINARY, "--out", folder, "--short", *more]
    return subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(folder, *more):
    process = start(folder, *more)
    _, said = process.communicate()
    return process.returncode, said


def lines_of(path):
    return path.read_text().count("\n") if path.exists() else 0


def kill_when(process, holds):
    """Kills a build and its programs once holds() is true, or lets it end before."""
    while process.poll() is None and not holds():
        time.sleep(0.02)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


class BuildTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name) / "whole"
        code, said = finish(cls.folder)
        assert code == 0, said

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_model(self, *arguments):
        command = [BINARY, "run", "--quiet", "--temperature", "0", "--max-tokens", "20", *arguments]
        command += ["Once upon a time"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_build_that_is_killed_makes_the_same_bytes(self):
        folder = pathlib.Path(self.temporary.name) / "killed"
        log = folder / "nano-1.csv"
        kill_when(start(folder), lambda: (folder / "data").exists())
        kill_when(start(folder), lambda: lines_of(log) >= 4)
        seen = lines_of(log)
        kill_when(start(folder), lambda: lines_of(log) >= seen + 3)
        kill_when(start(folder), lambda: lines_of(folder / "pico-2.csv") >= 3)
        kill_when(start(folder), lambda: (folder / "adapter-security").exists())
        code, said = finish(folder)
        self.assertEqual(code, 0, said)
        for name in MADE:
            whole, killed = (self.folder / name).read_bytes(), (folder / name).read_bytes()
            self.assertTrue(whole == killed, name)
        self.assertEqual(lines_of(log), lines_of(self.folder / "nano-1.csv"))

    def test_the_loss_falls(self):
        with open(self.folder / "nano-1.csv") as file:
            losses = [float(row["loss"]) for row in csv.DictReader(file)]
        part = len(losses) // 3
        self.assertGreater(part, 3)
        self.assertLess(sum(losses[-part:]), 0.95 * sum(losses[:part]), losses)

    def test_models_and_adapters_answer(self):
        nano, pico = (self.folder / ("ruvltra-%s-q8_0.gguf" % name) for name in ("nano", "pico"))
        alone = self.run_model("--model", nano)
        self.assertTrue(alone)
        self.assertEqual(self.run_model("--model", nano, "--draft-model", pico), alone)
        self.assertTrue(self.run_model("--model", pico))
        for role in ROLES:
            self.run_model("--model", nano, "--lora", self.folder / ("adapter-" + role))

    def test_scores_count_all_tasks(self):
        counts = json.loads((self.folder / "scores.json").read_text())["scores"]
        for task in ("calls exact", "extract exact", "routing agent", "copy exact"):
            self.assertGreater(counts["unseen/free/" + task][1], 0, task)
        adapters = json.loads((self.folder / "adapters.json").read_text())
        self.assertEqual(tuple(adapters), ROLES)
        for counts in adapters.values():
            self.assertGreater(counts["answers"], 0)
        draft = json.loads((self.folder / "draft.json").read_text())
        self.assertEqual(draft["same"], draft["answers"])

    def test_embeddings_are_learned_by_contrast(self):
        counts = json.loads((self.folder / "embeddings.json").read_text())
        self.assertGreaterEqual(counts["ruvltra-embed-q8_0.gguf"]["triplets"], 20)
        with open(self.folder / "embed.csv") as file:
            losses = [float(row["loss"]) for row in csv.DictReader(file)]
        self.assertLess(losses[-1], losses[0])

    def test_its_report_has_all_that_was_measured(self):
        page = pathlib.Path(self.temporary.name) / "page.md"
        page.write_text("<!-- scores: begin --><!-- scores: end -->")
        command = [sys.executable, BUILD.parent / "scores.py", "table", "--of", self.folder]
        command += ["--beside", self.folder / "scores.json", "--write", page]
        subprocess.run(list(map(str, command)), check=True)
        text = page.read_text()
        for part in ("| routing: agent right |", "| coder |", "as draft", "Held-out triplets"):
            self.assertIn(part, text)

    def test_a_folder_of_another_recipe_is_refused(self):
        code, said = finish(self.folder, "--from", "present")
        self.assertNotEqual(code, 0)
        self.assertIn("another recipe", said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    options, rest = parser.parse_known_args()
    BINARY = os.path.abspath(options.binary)
    unittest.main(argv=[sys.argv[0], *rest])
