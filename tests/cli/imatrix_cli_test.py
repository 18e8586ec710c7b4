#!/usr/bin/env python3
"""`ruvllm imatrix`, and `ruvllm quantize` with what it measured, by a text of the source tree and the
built-in model.

Usage: imatrix_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from program import Program, call, call_json, environment

TEXT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "ARCHITECTURE.md"


def dat_entries(path):
    """name: (calls, values) of a file in llama.cpp's older form; and the chunks and the dataset."""
    data = pathlib.Path(path).read_bytes()
    at = 0

    def number():
        nonlocal at
        at += 4
        return struct.unpack_from("<i", data, at - 4)[0]

    def text():
        nonlocal at
        n = number()
        at += n
        return data[at - n:at].decode()

    entries = {}
    for _ in range(number()):
        name, calls, n = text(), number(), number()
        entries[name] = calls, struct.unpack_from(f"<{n}f", data, at)
        at += 4 * n
    chunks, dataset = number(), text()
    assert at == len(data)
    return entries, chunks, dataset


class Imatrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = os.path.join(cls.folder.name, "i.gguf")
        cls.made = call_json("imatrix", "-m", Program.model, "-f", TEXT, "-o", cls.out, "--ctx",
                             "64", "--chunks", "3", "--json")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def measure(self, out, *more):
        return call("imatrix", "-m", Program.model, "-f", TEXT, "-o", out, "--ctx", "64", "--chunks",
                    "3", *more)

    def test_says_what_it_measured(self):
        self.assertEqual((self.made["n_chunks"], self.made["n_tokens"]), (3, 192))
        self.assertEqual(self.made["missing"], [])
        self.assertGreater(self.made["n_tensors"], 7)
        self.assertFalse(os.path.exists(self.out + ".part"))

    def test_older_form_has_the_same_means(self):
        out = self.path("i.dat")
        self.assertEqual(self.measure(out).returncode, 0)
        entries, chunks, dataset = dat_entries(out)
        self.assertEqual((len(entries), chunks, dataset), (self.made["n_tensors"], 3, str(TEXT)))
        self.assertTrue(all(calls == 3 for calls, _ in entries.values()))
        # One matrix's inputs are another's: the keys' are the values'.
        self.assertEqual(entries["blk.0.attn_k.weight"], entries["blk.0.attn_v.weight"])
        self.assertNotEqual(entries["blk.0.attn_k.weight"], entries["blk.1.attn_k.weight"])
        self.assertTrue(all(v >= 0 for _, values in entries.values() for v in values))

    def test_threads_do_not_change_the_bytes(self):
        outs = [self.path(f"t{n}.gguf") for n in (1, 3)]
        for n, out in zip(("1", "3"), outs):
            self.assertEqual(self.measure(out, "--threads", n).returncode, 0)
        first, second = (pathlib.Path(out).read_bytes() for out in outs)
        self.assertEqual(first, second)

    def test_files_that_are_there_stay(self):
        done = self.measure(self.out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--force", done.stderr)
        self.assertEqual(self.measure(self.out, "--force").returncode, 0)

    def test_wrong_calls(self):
        for arguments in ((), ("-f", TEXT), ("-o", "x"), ("-f", TEXT, "--jsonl", TEXT, "-o", "x")):
            self.assertEqual(call("imatrix", "-m", Program.model, *arguments).returncode, 2)

    def test_a_stopped_run_continues(self):
        whole, parts = self.path("whole.gguf"), self.path("parts.gguf")
        arguments = ["imatrix", "-m", Program.model, "-f", TEXT, "--ctx", "16", "--chunks", "80"]
        self.assertEqual(call(*arguments, "-o", whole).returncode, 0)
        running = subprocess.Popen([Program.binary, *map(str, arguments), "-o", parts],
                                   stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   env=environment())
        until = time.monotonic() + 60
        while running.poll() is None and not os.path.exists(parts + ".part"):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
        running.wait()
        if running.returncode == 0:
            self.skipTest("the run ended before it could be stopped")
        # Another text does not continue it.
        other = call(*arguments[:-1], "79", "-o", parts)
        self.assertEqual(other.returncode, 1)
        self.assertIn(".part", other.stderr)
        self.assertEqual(call(*arguments, "-o", parts).returncode, 0)
        self.assertEqual(pathlib.Path(whole).read_bytes(), pathlib.Path(parts).read_bytes())
        self.assertFalse(os.path.exists(parts + ".part"))

    def quantize(self, name, *more):
        out = self.path(name)
        return out, call("quantize", Program.model, out, *more, "--requantize", "--json", "--force")

    def test_quantize_weighs_by_it(self):
        errors = {}
        for name, more in (("plain", ()), ("weighed", ("--imatrix", self.out))):
            _, done = self.quantize(name, "q3_k_s", *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            errors[name] = {t["tensor"]: t for t in json.loads(done.stdout)["tensors"]}
        first = "blk.0.ffn_down.weight"
        # The plain error grows, since another one is made small.
        self.assertGreater(errors["weighed"][first]["error"], errors["plain"][first]["error"])
        self.assertLess(errors["weighed"][first]["weighted_error"],
                        errors["weighed"][first]["error"])

    def test_quantize_to_a_size(self):
        sizes = []
        for bits in ("3.5", "5"):
            out, done = self.quantize("target", "--target-bpw", bits, "--imatrix", self.out)
            self.assertEqual(done.returncode, 0, done.stderr)
            made = json.loads(done.stdout)
            sizes.append(made["bytes_out"])
        self.assertLess(sizes[0], sizes[1])
        out, done = self.quantize("target", "--target-size", "4.6M", "--imatrix", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(4_000_000 < os.path.getsize(out) <= 4_600_000, os.path.getsize(out))
        _, done = self.quantize("target", "--target-size", "1M")
        self.assertEqual(done.returncode, 1)
        _, done = self.quantize("target", "q4_0", "--target-size", "9M")
        self.assertEqual(done.returncode, 2)

    def test_quantize_by_rules(self):
        out, done = self.quantize("rules", "q4_0", "--tensor", "blk.1.ffn_*=q5_0", "--tensor",
                                  "blk.*.ffn_up*=q8_0")
        self.assertEqual(done.returncode, 0, done.stderr)
        types = {t["tensor"]: t["type"] for t in json.loads(done.stdout)["tensors"]}
        self.assertEqual(types["blk.1.ffn_up.weight"], "q5_0")
        self.assertEqual(types["blk.0.ffn_down.weight"], "q4_0")
        for wrong in ("blk.99.*=q8_0", "nothing", "blk.*=q9"):
            _, done = self.quantize("rules", "q4_0", "--tensor", wrong)
            self.assertEqual(done.returncode, 1, wrong)
            self.assertIn(wrong, done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("no model: skipped")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *arguments.names], verbosity=2)


if __name__ == "__main__":
    main()
