#!/usr/bin/env python3
"""Tests of `ruvllm embed` through the real binary.

Usage: embed_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import math
import os
import sys
import tempfile
import unittest

from program import Program, call, call_json

TEXTS = ["A cat sat on the mat.", "Dogs bark.", "ünïcode"]


def embed(*arguments, text=""):
    return call("embed", "--model", Program.model, *arguments, text=text)


def vectors(*arguments, text=""):
    done = embed(*arguments, text=text)
    assert done.returncode == 0, done.stderr
    return [[float(number) for number in line.split()] for line in done.stdout.splitlines()]


class Embed(unittest.TestCase):
    def fails(self, code, *arguments, says):
        done = embed(*arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(says, done.stderr)

    def test_texts_files_and_stdin_give_the_same_vectors(self):
        made = vectors(*TEXTS)
        self.assertEqual(len(made), len(TEXTS))
        for vector in made:
            self.assertAlmostEqual(math.hypot(*vector), 1, places=5)
        lines = "\n".join(TEXTS)
        self.assertEqual(vectors(text=lines), made)
        self.assertEqual(vectors(text=lines.replace("\n", "\r\n") + "\n"), made)
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.write(lines + "\n")
            file.flush()
            self.assertEqual(vectors("--file", file.name), made)
        # What is computed beside a text does not change its vector.
        self.assertEqual(vectors(TEXTS[1], "--parallel", 1, "--threads", 1), [made[1]])

    def test_json(self):
        made = vectors(*TEXTS)
        lines = [json.loads(line) for line in embed("--json", *TEXTS).stdout.splitlines()]
        self.assertEqual([line["embedding"] for line in lines], made)
        for line, text in zip(lines, TEXTS):
            count = call("tokenize", "--model", Program.model, "--text", text, "--bos", "--count")
            self.assertEqual(line["n_tokens"], int(count.stdout))

    def test_tokens_have_vectors_with_pooling_none(self):
        line = json.loads(embed("--json", "--pooling", "none", TEXTS[0]).stdout)
        rows = line["embeddings"]
        self.assertEqual(len(rows), line["n_tokens"])
        self.assertEqual(vectors("--pooling", "none", TEXTS[0]), rows)
        self.assertEqual(vectors("--pooling", "last", TEXTS[0]), rows[-1:])
        self.assertEqual(vectors("--pooling", "cls", TEXTS[0]), rows[:1])

    def test_poolings_are_sums_of_the_tokens(self):
        plain = ("--no-normalise", "--kv", "f16")
        rows = vectors("--pooling", "none", *plain, TEXTS[0])
        for name, weights in (("mean", [1] * len(rows)),
                              ("weighted_mean", range(1, len(rows) + 1))):
            made = vectors("--pooling", name, *plain, TEXTS[0])[0]
            for i, number in enumerate(made):
                mean = sum(w * row[i] for w, row in zip(weights, rows)) / sum(weights)
                self.assertAlmostEqual(number, mean, places=5)

    def test_dimensions(self):
        whole = vectors("--no-normalise", TEXTS[0])[0]
        cut = vectors("--dimensions", 4, TEXTS[0])[0]
        self.assertEqual(len(cut), 4)
        for a, b in zip(cut, whole):
            self.assertAlmostEqual(a, b / math.hypot(*whole[:4]), places=5)
        self.fails(1, "--dimensions", len(whole) + 1, "x",
                   says=f"dimensions: {len(whole) + 1} is not from 1 to the {len(whole)}")

    def test_long_texts_are_refused_or_cut(self):
        self.fails(1, "--ctx", 8, "word " * 20, says="do not fit the context of 8 tokens")
        made = json.loads(embed("--ctx", 8, "--truncate", "--json", "word " * 20).stdout)
        self.assertEqual(made["n_tokens"], 8)

    def test_wrong_calls(self):
        self.fails(2, "--pooling", "max", "x", says="--pooling")
        self.fails(2, "--file", "f", "x", says="not both")
        self.fails(1, "--prompt-name", "query", "x", says="no prompt 'query'; it has none")
        self.fails(1, says="no text is given")
        self.fails(1, "--file", "/none", says="/none")

    def test_info_says_how_vectors_are_made(self):
        said = call_json("info", Program.model, "--json")["embedding"]
        self.assertTrue(said["usable"])
        self.assertEqual((said["pooling"], said["pooling_is_stated"]), ("last", False))
        self.assertEqual(said["n_dims"], len(vectors("x")[0]))
        self.assertIn("pooling last as the file names none", call("info", Program.model).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Program.binary = os.path.abspath(arguments.binary)
    Program.source = arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("skipped: neither the built-in model nor RUV_DATA_DIR/trained/nano is here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *arguments.names], verbosity=2)


if __name__ == "__main__":
    main()
