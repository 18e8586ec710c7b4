#!/usr/bin/env python3
"""Tests of `ruvllm embed` and `ruvllm rerank` through the real binary.

Usage: embed_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import math
import os
import struct
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


class Rerank(unittest.TestCase):
    def test_a_model_that_names_no_pooling_is_refused(self):
        done = call("rerank", "--model", Program.model, "--query", "q", "a")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("they name no pooling", done.stderr)

    def test_the_best_comes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gguf")
            with_pooling(Program.model, path, 1)
            texts = ["A dog barks.", "Once upon a time", "Boats float on water."]
            rank = ("rerank", "--model", path, "--query", "Once upon a time")
            done = call(*rank, "--json", *texts)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(lines[0]["index"], 1)
            self.assertAlmostEqual(lines[0]["relevance_score"], 1, places=6)
            scores = [line["relevance_score"] for line in lines]
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertEqual([line["document"] for line in lines],
                             [texts[line["index"]] for line in lines])
            best = call(*rank, "--top-n", 1, text="\n".join(texts))
            self.assertRegex(best.stdout, r"^ *1\.000000 +1  Once upon a time\n$")
            made = [vectors_of(path, text) for text in (texts[0], "Once upon a time")]
            cosine = sum(a * b for a, b in zip(*made))
            found = next(line for line in lines if line["index"] == 0)
            self.assertAlmostEqual(found["relevance_score"], cosine, places=5)

    def test_wrong_calls(self):
        self.assertEqual(call("rerank", "--model", Program.model, "a").returncode, 2)
        self.assertEqual(call("rerank", "--query", "q", "--file", "f", "a").returncode, 2)


def vectors_of(path, text):
    return json.loads(call("embed", "--model", path, "--json", text).stdout)["embedding"]


def with_pooling(source, target, kind):
    """A copy of a GGUF file that also says how it pools."""
    with open(source, "rb") as file:
        data = file.read()
    magic, version, n_tensors, n_keys = struct.unpack_from("<4sIQQ", data)
    reader = GgufReader(data, 24)
    for _ in range(n_keys):
        reader.key_and_value()
    keys = data[24:reader.at]
    for _ in range(n_tensors):
        reader.tensor()
    name = reader.architecture + ".pooling_type"
    added = struct.pack("<Q", len(name)) + name.encode() + struct.pack("<II", 4, kind)
    tables = data[24 + len(keys):reader.at]
    head = struct.pack("<4sIQQ", magic, version, n_tensors, n_keys + 1) + keys + added + tables
    align = reader.alignment
    body = data[(reader.at + align - 1) // align * align:]
    with open(target, "wb") as file:
        file.write(head + bytes(-len(head) % align) + body)


class GgufReader:
    """Steps over the tables of a GGUF file."""

    SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.architecture, self.alignment = "", 32

    def number(self, form="<Q"):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def text(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            item, n = self.number("<I"), self.number()
            for _ in range(n):
                self.value(item)
            return None
        size = self.SIZES[kind]
        self.at += size
        return int.from_bytes(self.data[self.at - size:self.at], "little")

    def key_and_value(self):
        key = self.text()
        value = self.value(self.number("<I"))
        if key == "general.architecture":
            self.architecture = value
        if key == "general.alignment":
            self.alignment = value

    def tensor(self):
        self.text()
        for _ in range(self.number("<I")):
            self.number()
        self.number("<I")
        self.number()


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
