#!/usr/bin/env python3
"""What training begins with: first weights that copy, sequences with weights for each token, and
tasks for adapters.
"""

import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "recipes/builtin"
BUILT_IN = ROOT / "models/ruvltra-nano-q8_0.gguf"
sys.path.insert(0, str(RECIPE))

import chat_layout  # noqa: E402
import draws  # noqa: E402
import first_weights  # noqa: E402
import generate  # noqa: E402
import gguf_file  # noqa: E402
import pack  # noqa: E402
import roles  # noqa: E402
import stages  # noqa: E402

BINARY = ""


class FirstWeightsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.model = cls.write("model.gguf", 3)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def write(cls, name, n_layers, seed=1):
        path = cls.folder / name
        first_weights.write_first_weights(path, BUILT_IN, "test", n_layers, seed)
        return path

    def first_loss(self, ids, score):
        """The loss of a sequence before anything is learned."""
        lines, log, out = (self.folder / name for name in ("ids.jsonl", "log.csv", "out.gguf"))
        lines.write_text(json.dumps({"ids": ids, "score": score}) + "\n")
        command = [BINARY, "train", "--model", self.model, "--jsonl", lines, "--steps", "1"]
        command += ["--ctx", "512", "--log", log, "--out", out, "--force"]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        with open(log) as file:
            return float(next(csv.DictReader(file))["loss"])

    def test_a_text_that_comes_again_is_copied(self):
        draw = random.Random(5)
        ids = [draw.randrange(4000) for _ in range(60)]
        self.assertGreater(self.first_loss(ids * 2, [0] + [1] * 59 + [0] * 60), 8)
        self.assertLess(self.first_loss(ids * 2, [0] * 62 + [1] * 58), 5)

    def test_a_seed_gives_the_same_bytes(self):
        again = self.write("again.gguf", 3).read_bytes()
        self.assertTrue(again == self.model.read_bytes())
        self.assertTrue(again != self.write("other.gguf", 3, seed=2).read_bytes())

    def test_tokenizer_and_template_stay(self):
        old, new = gguf_file.read_metadata(BUILT_IN), gguf_file.read_metadata(self.model)
        changed = {key for key in old if old[key] != new[key]}
        self.assertEqual(
            changed, {"general.name", "qwen2.block_count", "general.file_type"} & set(old)
        )
        self.assertIn("tokenizer.chat_template", new)

    def test_metadata_are_changed_and_weights_stay(self):
        path = self.folder / "changed.gguf"
        changes = {"general.name": gguf_file.text("another name that is longer")}
        changes["qwen2.pooling_type"] = gguf_file.uint32(1)
        gguf_file.write_with(path, self.model, changes)
        new = gguf_file.read_metadata(path)
        self.assertEqual(new, gguf_file.read_metadata(self.model) | changes)
        vectors = []
        for model in (self.model, path):
            command = [BINARY, "embed", "--model", model, "--pooling", "mean", "a text"]
            vectors.append(subprocess.run(command, capture_output=True, check=True).stdout)
        self.assertEqual(*vectors)
        info = subprocess.run([BINARY, "info", "--model", path], capture_output=True, text=True)
        self.assertIn("pooling mean", info.stdout)

    def test_the_program_says_what_it_is(self):
        command = [BINARY, "info", "--model", self.model]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertIn("3 of width 256, feed-forward 768", done.stdout)


class PackTest(unittest.TestCase):
    def record(self, category):
        return generate.make_content(draws.Draw("pack/" + category), category)

    def decoded(self, ids):
        line = json.dumps({"ids": ids, "special": True})
        command = [BINARY, "tokenize", "--model", BUILT_IN, "--detokenize", "--jsonl"]
        done = subprocess.run(
            command, input=line + "\n", capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)["text"]

    def test_what_is_said_counts_one_and_prompts_a_tenth(self):
        content = self.record("tools")
        (ids, scores), *_ = pack.sequences_of(BINARY, BUILT_IN, [content])
        parts = chat_layout.segments(content["messages"], content["tools"])
        self.assertEqual(len(ids), len(scores))
        self.assertEqual(self.decoded(ids), "".join(text for text, _ in parts))
        said = [token for token, score in zip(ids, scores) if score == 1]
        spoken = "".join(text for text, role in parts if role == chat_layout.SAID)
        self.assertEqual(self.decoded(said), spoken)
        self.assertEqual(set(scores), {1, 0.1})

    def test_a_text_counts_a_third_or_so(self):
        (ids, scores), *_ = pack.sequences_of(BINARY, BUILT_IN, [{"text": "The sea is wide."}])
        self.assertEqual(set(scores), {0.3})
        self.assertEqual(self.decoded(ids), "The sea is wide.<|endoftext|>")

    def test_lines_fit_the_context_and_drills_repeat(self):
        records = [dict(self.record("routing"), category="routing") for _ in range(5)]
        with tempfile.TemporaryDirectory() as name:
            data, out = (pathlib.Path(name) / file for file in ("data.jsonl", "out.jsonl"))
            data.write_text("".join(json.dumps(record) + "\n" for record in records))
            stage = stages.Stage("test", 1, (), copy_drills=0.6)
            counts = pack.write_stage(BINARY, BUILT_IN, data, out, stage, 300, 1)
            lines = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual(counts["sequences"], len(lines))
        self.assertEqual(counts["tokens"], sum(len(line["ids"]) for line in lines))
        drills = [line for line in lines if 0 in line["score"]]
        self.assertTrue(drills)
        for line in lines:
            self.assertLessEqual(len(line["ids"]), 300)
            for at, score in enumerate(line["score"] if line in drills else []):
                if score:  # the pair of this token and the one before was there
                    pair = line["ids"][at - 1 : at + 1]
                    pairs = [line["ids"][i : i + 2] for i in range(at - 1)]
                    self.assertIn(pair, pairs)


class RolesTest(unittest.TestCase):
    def test_held_out_tasks_are_others(self):
        for role in roles.ROLES:
            trained = dict(roles.tasks(role, 100, 1, False))
            held = dict(roles.tasks(role, 100, 1, True))
            self.assertEqual((len(trained), len(held)), (100, 100))
            self.assertTrue(set(trained).isdisjoint(held), role)
            self.assertGreaterEqual(len(roles.patterns(role)), 8)
            for request, answer in trained.items():
                self.assertNotIn("{n}", request + answer)

    def test_a_seed_gives_the_same_tasks(self):
        self.assertEqual(roles.tasks("coder", 9, 1, True), roles.tasks("coder", 9, 1, True))
        self.assertNotEqual(roles.tasks("coder", 9, 1, True), roles.tasks("coder", 9, 2, True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    options, rest = parser.parse_known_args()
    BINARY = options.binary
    unittest.main(argv=[sys.argv[0], *rest])
