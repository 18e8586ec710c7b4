#!/usr/bin/env python3
"""Tests of how the program is called: prompts from words and stdin, options that do not exist, where
the key comes from, what is said at start.

Usage: prompt_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "e2e"))
from program import Program, call, call_json, environment
from server import Server

ONE_TOKEN = ("--json", "--temperature", "0", "--max-tokens", "1")


def run_with_stdin(stdin, *arguments):
    return subprocess.run([Program.binary, "run", "--model", Program.model, *arguments],
                          stdin=stdin, capture_output=True, encoding="utf-8", env=environment(),
                          timeout=120, check=False)


class Prompts(unittest.TestCase):
    def ids(self, *arguments, text=""):
        done = call("run", "--model", Program.model, *ONE_TOKEN, *arguments, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["prompt_ids"]

    def test_words_are_joined(self):
        self.assertEqual(self.ids("why", "is", "the", "sky", "blue?"),
                         self.ids("why is the sky blue?"))
        self.assertEqual(self.ids("--", "-a", "--b"), self.ids("--prompt=-a --b"))
        self.assertEqual(self.ids("[a,b]", "-5"), self.ids("--prompt", "[a,b] -5"))

    def test_stdin_comes_before_what_is_said(self):
        together = self.ids("--prompt", "One two.\n\nsummarise this")
        self.assertEqual(self.ids("summarise", "this", text="One two.\n"), together)
        self.assertEqual(self.ids("--prompt", "summarise this", text="One two."), together)
        with tempfile.TemporaryFile("w+") as file:
            file.write("One two.\n")
            file.seek(0)
            done = run_with_stdin(file, *ONE_TOKEN, "summarise this")
            self.assertEqual(json.loads(done.stdout)["prompt_ids"], together, done.stderr)

    def test_stdin_alone_is_a_prompt(self):
        self.assertEqual(self.ids(text="Hello there\n"), self.ids("Hello there"))
        done = call("run", "--model", Program.model)
        self.assertEqual(done.returncode, 2)
        self.assertIn("the prompt is empty", done.stderr)

    def test_what_is_inherited_is_no_prompt(self):
        done = run_with_stdin(subprocess.DEVNULL, *ONE_TOKEN, "Hello there")
        self.assertEqual(json.loads(done.stdout)["prompt_ids"], self.ids("Hello there"))
        done = run_with_stdin(subprocess.DEVNULL)
        self.assertEqual(done.returncode, 2)
        self.assertIn("give a prompt", done.stderr)

    def test_a_read_error_is_one(self):
        folder = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, folder)
        done = run_with_stdin(folder, "--prompt", "-")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("stdin: cannot read", done.stderr)
        line = '"$0" "$@" <&-'
        for arguments in (("run", "--prompt", "-"), ("tokenize", "--jsonl"),
                          ("template", "--messages", "-")):
            with self.subTest(arguments):
                done = subprocess.run(["sh", "-c", line, Program.binary, *arguments, "--model",
                                       Program.model], capture_output=True, env=environment(),
                                      encoding="utf-8", timeout=120, check=False)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertIn("stdin", done.stderr)

    def test_quiet(self):
        done = call("run", "--model", Program.model, "Hi", "-q", "--max-tokens", "2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout)
        server = subprocess.Popen([Program.binary, "serve", "-q", "--port", "0", "--model",
                                   Program.model], stderr=subprocess.PIPE, env=environment(),
                                  encoding="utf-8")
        with server, server.stderr:
            self.assertTrue(server.stderr.readline().startswith("listening on http://"))
            server.terminate()

    def test_verbose(self):
        done = call("run", "--model", Program.model, "Hi", "-v", "--max-tokens", "2")
        self.assertEqual(done.returncode, 0)
        self.assertIn("of weights for", done.stderr)
        self.assertIn("ruvllm run: context 1024 tokens, keys and values in int8", done.stderr)
        done = call("run", "--model", Program.model, "Hi", "-v", "-q")
        self.assertEqual(done.returncode, 2)


class WrongCalls(unittest.TestCase):
    def said(self, *arguments):
        done = call(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr.splitlines()[0]

    def test_unknown_options(self):
        self.assertEqual(self.said("run", "hi", "--modle", "x"),
                         "ruvllm run: there is no option '--modle'; did you mean '--model'?")
        self.assertEqual(self.said("run", "--temp=0.5", "hi"),
                         "ruvllm run: there is no option '--temp'; here it is --temperature")
        self.assertEqual(self.said("run", "-ngl", "99", "hi"),
                         "ruvllm run: there is no option '-ngl'; all layers run on the processor")
        self.assertEqual(self.said("run", "--zzzzzzzz", "hi"),
                         "ruvllm run: there is no option '--zzzzzzzz'")
        self.assertEqual(self.said("info", "a.gguf", "b.gguf"),
                         "ruvllm info: unexpected argument 'b.gguf'")

    def test_unknown_commands(self):
        self.assertIn("no command 'sevre'; did you mean 'serve'?", self.said("sevre"))

    def test_a_value_is_refused_once(self):
        self.assertEqual(self.said("run", "hi", "--seed", "-2").count("seed"), 1)

    def test_types_in_capitals(self):
        self.assertIn("quantize IN OUT TYPE", self.said("quantize", "--type", "Q4_K_M"))
        self.assertIn("'Q9_Z' is not one of", self.said("quantize", "--type", "Q9_Z", "--out", "x"))
        done = call("quantize", "--model", Program.model, "--type", "Q4_K_M", "--out", "/no/x")
        self.assertEqual(done.returncode, 1)
        if "q8_0" in Program.model:
            self.assertIn("--requantize", done.stderr)

    def test_sessions_of_a_folder_that_is_not_there(self):
        done = call("sessions", "list", "--cache-dir", "/no/such/folder")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/no/such/folder: no such folder", done.stderr)

    def test_more_threads_than_cores(self):
        n_cores = len(os.sched_getaffinity(0))
        call_with = ("run", "--model", Program.model, "Hi", "-q", "--max-tokens", "1", "--threads")
        self.assertEqual(call(*call_with, n_cores).stderr, "")
        done = call(*call_with, n_cores + 1)
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"--threads {n_cores + 1} on {n_cores} cores", done.stderr)


class Positions(unittest.TestCase):
    """Calls as other programs have them."""

    def test_quantize(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.gguf")
            planned = call_json("quantize", Program.model, "--type", "Q4_0", "--requantize",
                                "--dry-run", "--json")
            self.assertEqual((planned["written"], os.listdir(folder)), (False, []))
            done = call("quantize", Program.model, out, "Q4_0", "--requantize")
            self.assertEqual(done.returncode, 0, done.stderr)
            size = os.path.getsize(out)
            self.assertTrue(planned["bytes_out"] < size < planned["bytes_out"] + 1_000_000)
            done = call("quantize", out, out, "q8_0", "--requantize", "--force")
            self.assertEqual((done.returncode, os.path.getsize(out)), (1, size))
            self.assertIn(out, done.stderr)

    def test_tokenize(self):
        done = call("tokenize", "--model", Program.model, "Hello")
        self.assertEqual(done.stdout, call("tokenize", "--model", Program.model, "--text",
                                           "Hello").stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        odd = call("tokenize", "--model", Program.model, "\U0001F9FF").stdout
        self.assertNotIn("\ufffd", odd)
        self.assertTrue("<0x" in odd or "\U0001F9FF" in odd, odd)


class Serving(unittest.TestCase):
    def test_a_port_in_use_is_found_before_the_model_is_read(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = call("serve", "--port", port, "--model", "/no/such/model.gguf")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"cannot listen on 127.0.0.1:{port}", done.stderr)
        self.assertNotIn("/no/such/model.gguf", done.stderr)

    def status(self, server, key):
        request = urllib.request.Request(server.url + "/v1/models",
                                         headers={"Authorization": f"Bearer {key}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def test_a_key_that_nobody_sees(self):
        Server.binary, Server.model = Program.binary, Program.model
        with tempfile.NamedTemporaryFile("w", suffix=".key") as file:
            file.write("from-file\n")
            file.flush()
            with Server("--api-key-file", file.name) as server:
                self.assertEqual(self.status(server, "from-file"), 200)
                self.assertEqual(self.status(server, "other"), 401)
                with open(f"/proc/{server.process.pid}/cmdline") as line:
                    self.assertNotIn("from-file", line.read())
                self.assertIn("keys and values in int8\n", "".join(server.said))
        os.environ["RUVLLM_API_KEY"] = "from-environment"
        try:
            with Server() as server:
                self.assertEqual(self.status(server, "from-environment"), 200)
                self.assertEqual(self.status(server, "none"), 401)
        finally:
            del os.environ["RUVLLM_API_KEY"]

    def test_an_empty_key_is_not_no_key(self):
        with tempfile.NamedTemporaryFile("w", suffix=".key") as file:
            file.write("\n")
            file.flush()
            for arguments, env in ((("--api-key", ""), {}), (("--api-key-file", file.name), {}),
                                   ((), {"RUVLLM_API_KEY": ""})):
                done = call("serve", "--port", "0", *arguments, env=env)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("there is no key" if file.name in arguments else "the key is empty",
                              done.stderr)


class NarrowHeads(unittest.TestCase):
    """What keys and values are stored in."""

    def narrow(self):
        return os.path.join(Program.source, "tests", "golden", "models", "llama2", "model.gguf")

    def test_info_and_perplexity_say_it(self):
        self.assertEqual(call_json("info", Program.model, "--json")["needs"]["kv"], "int8")
        self.assertEqual(call_json("info", self.narrow(), "--json")["needs"]["kv"], "f16")
        self.assertIn("keys and values in f16 as heads are narrower than 32",
                      call("info", self.narrow()).stdout)
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write('{"ids": [1, 2, 3, 4]}\n')
            file.flush()
            for model, more, kv in ((Program.model, (), "int8"), (self.narrow(), (), "f16"),
                                    (self.narrow(), ("--kv", "int8"), "int8")):
                out = call_json("perplexity", "--model", model, "--jsonl", file.name, "--json",
                                *more)
                self.assertEqual(out["kv"], kv)


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
