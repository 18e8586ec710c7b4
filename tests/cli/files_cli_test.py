#!/usr/bin/env python3
"""Tests of what the program does to files: what it writes over, what it reads, and files that change
while it uses them.

Usage: files_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import math
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "e2e"))
from program import Program, call, environment
from server import Server

GOLDEN = "tests/golden/models/llama2"


def content(path):
    with open(path, "rb") as file:
        return file.read()


class FolderTest(unittest.TestCase):
    """Each test has a folder of its own with a small model in it."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.model = self.path("model.gguf")
        shutil.copy(os.path.join(Program.source, GOLDEN, "model.gguf"), self.model)

    def path(self, name):
        return os.path.join(self.folder, name)

    def written(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def assert_fails(self, *arguments, says, code=1):
        done = call(*arguments)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        self.assertIn(says, done.stderr)


class Outputs(FolderTest):
    def quantize(self, out, *more):
        return ("quantize", "--model", self.model, "--type", "q8_0", "--out", out, *more)

    def test_only_regular_files_are_replaced(self):
        os.mkfifo(self.path("pipe"))
        os.symlink("other.gguf", self.path("link"))
        # A device that even root cannot rename over, should this test ever fail.
        terminal = os.openpty()
        for fd in terminal:
            self.addCleanup(os.close, fd)
        for out, kind in ((os.ttyname(terminal[1]), "a device"),
                          (self.path("pipe"), "a named pipe"), (self.folder, "a folder"),
                          (self.path("link"), "a symbolic link")):
            self.assert_fails(*self.quantize(out, "--force"), says=f"{out}: {kind}")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(len(os.listdir(self.folder)), 3)

    def test_an_existing_file_needs_force(self):
        out = self.written("out.gguf", "precious")
        self.assert_fails(*self.quantize(out), says="--force")
        self.assertEqual(content(out), b"precious")
        self.assertEqual(call(*self.quantize(out, "--force")).returncode, 0)
        self.assertEqual(content(out)[:4], b"GGUF")

    def test_the_input_is_never_replaced(self):
        os.link(self.model, self.path("hard.gguf"))
        before = content(self.model)
        for out in (self.model, self.path("hard.gguf"), self.path("./model.gguf")):
            self.assert_fails(*self.quantize(out, "--force"), says="is read here")
        text = self.written("text.jsonl", '{"ids": [1, 2, 3]}\n')
        for out in (self.model, text):
            self.assert_fails("perplexity", "--model", self.model, "--jsonl", text, "--logits", out,
                              "--force", says="is read here")
        text = self.written("text", "a b c " * 2000)
        self.assert_fails("kv-gate", Program.model, "--file", text, "--out", text, "--force",
                          says="is read here")
        self.assertEqual(content(self.model), before)

    def test_a_limit_on_size_is_an_error_and_leaves_nothing(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        out = self.path("out.gguf")
        done = subprocess.run([Program.binary, *self.quantize(out)], capture_output=True,
                              preexec_fn=limited, env=environment(), check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"too large", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["model.gguf"])


class Inputs(FolderTest):
    def test_what_is_no_regular_file_is_refused(self):
        os.mkfifo(self.path("pipe"))
        hugging = self.path("hf")
        os.mkdir(hugging)
        os.mkfifo(os.path.join(hugging, "config.json"))
        for path in (self.path("pipe"), "/dev/zero"):
            for arguments in (("info",), ("run", "Hi", "--model"), ("tokenize", "--file"),
                              ("template", "--file"), ("perplexity", "--file"),
                              ("serve", "--port", "0", "--cache-dir", self.folder, "--cache-key"),
                              ("serve", "--port", "0", "--api-key-file")):
                with self.subTest(arguments=arguments, path=path):
                    self.assert_fails(*arguments, path, says="not a regular file")
        self.assert_fails("info", hugging, says="a named pipe, not a regular file")

    def test_an_adapter_is_called_one(self):
        folder = self.path("lora")
        os.mkdir(folder)
        self.written("lora/adapter_config.json", "{}")
        says = "an adapter (LoRA), not a model"
        self.assert_fails("run", "Hi", "--model", folder, says=says)
        told = call("info", "--model", folder)
        self.assertEqual(told.returncode, 1, told.stderr)
        self.assertIn(says, told.stdout)

    def head(self, name, config):
        """A folder with an EAGLE-3 head of one attention head and zeros."""
        n, n_ff, dim = config["hidden_size"], 8, 16
        config = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama",
                  "intermediate_size": n_ff, "num_hidden_layers": 1, "num_attention_heads": 1,
                  "head_dim": dim, "rms_norm_eps": 1e-5,
                  "eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 1, 2]}, **config}
        shapes = {"fc.weight": [n, 3 * n], "norm.weight": [n]}
        shapes |= {f"midlayer.{part}.weight": [n] for part in (
            "input_layernorm", "hidden_norm", "post_attention_layernorm")}
        shapes |= {f"midlayer.self_attn.{part}_proj.weight": [dim, 2 * n] for part in "qkv"}
        shapes |= {"midlayer.self_attn.o_proj.weight": [n, dim]}
        shapes |= {f"midlayer.mlp.{part}_proj.weight": [n_ff, n] for part in ("gate", "up")}
        shapes |= {"midlayer.mlp.down_proj.weight": [n, n_ff]}
        return self.folder_of_zeros(name, config, shapes)

    def folder_of_zeros(self, name, config, shapes, file="model.safetensors"):
        header, end = {}, 0
        for tensor, shape in shapes.items():
            begin, end = end, end + 4 * math.prod(shape)
            header[tensor] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
        os.mkdir(self.path(name))
        self.written(f"{name}/config.json", json.dumps(config))
        text = json.dumps(header).encode()
        with open(self.path(f"{name}/{file}"), "wb") as weights:
            weights.write(struct.pack("<Q", len(text)) + text + bytes(end))
        return self.path(name)

    def test_a_drafting_head_is_no_model(self):
        told = json.loads(call("info", "--model", Program.model, "--json").stdout)
        numbers, n_vocab = told["numbers"], told["tokenizer"]["n_vocab"]
        self.assertFalse(told["is_draft_head"])
        fitting = self.head("fitting", {"hidden_size": numbers["n_embd"], "vocab_size": n_vocab})
        told = json.loads(call("info", "--model", fitting, "--json").stdout)
        self.assertTrue(told["is_draft_head"])
        self.assertTrue(told["runs"], told["reasons"])
        self.assertIn("beside a model", call("info", "--model", fitting).stdout)
        self.assert_fails("run", "Hi", "--model", fitting, says="--draft-model")
        other = self.head("other", {"hidden_size": numbers["n_embd"] + 16, "vocab_size": n_vocab})
        ask = ("run", "Hi", "--model", Program.model, "--raw", "--temperature", "0",
               "--max-tokens", "40", "--quiet")
        self.assert_fails(*ask, "--draft-model", other, says="for another model: 'hidden_size'")
        plain, drafted = call(*ask), call(*ask, "--draft-model", fitting)
        self.assertEqual(drafted.returncode, 0, drafted.stderr)
        self.assertEqual(drafted.stdout, plain.stdout)
        self.assert_bench_times(fitting, "head")

    def assert_bench_times(self, drafting, source):
        done = call("bench", "--model", Program.model, "--draft-model", drafting, "-p", "0", "-n", "4",
                    "-r", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        draft = json.loads(done.stdout)["draft"]
        self.assertEqual(draft["source"], source)
        self.assertGreater(draft["first_ms"], 0)
        self.assertGreater(draft["next_ms"], 0)

    def test_several_heads_draft_for_a_model(self):
        n = json.loads(call("info", "--model", Program.model, "--json").stdout)["numbers"]["n_embd"]

        def heads(name, width):
            blocks = [f"{i}.0.linear" for i in range(3)]
            shapes = {f"{block}.weight": [width, width] for block in blocks}
            shapes |= {f"{block}.bias": [width] for block in blocks}
            config = {"medusa_num_heads": 3, "medusa_num_layers": 1}
            return self.folder_of_zeros(name, config, shapes, "medusa_lm_head.safetensors")

        fitting, other = heads("fitting", n), heads("other", n + 16)
        told = json.loads(call("info", "--model", fitting, "--json").stdout)
        self.assertTrue(told["is_draft_head"])
        self.assertTrue(told["runs"], told["reasons"])
        shown = call("info", "--model", fitting).stdout
        self.assertIn(f"3 heads of 1 block for models of width {n}, with the model's output", shown)
        self.assertIn("beside a model", shown)
        self.assertNotIn("layers ", shown)
        self.assert_fails("run", "Hi", "--model", fitting, says="--draft-model")
        ask = ("run", "Hi", "--model", Program.model, "--raw", "--temperature", "0",
               "--max-tokens", "40", "--quiet")
        self.assert_fails(*ask, "--draft-model", other, says=f"is {n + 16}, here {n}")
        plain, drafted = call(*ask), call(*ask, "--draft-model", fitting)
        self.assertEqual(drafted.returncode, 0, drafted.stderr)
        self.assertEqual(drafted.stdout, plain.stdout)
        self.assert_bench_times(fitting, "head")
        self.assert_bench_times(Program.model, "model")

    def test_info_says_what_a_model_has(self):
        path = os.path.join(Program.source, "tests/golden/families/mamba.json")
        with open(path, encoding="utf-8") as file:
            case = next(case for case in json.load(file) if "refused_by" not in case)
        folder = self.folder_of_zeros("scans", case["config"],
                                      {name: shape for name, *_, shape, _, _ in case["tensors"]})
        pieces = [["<unk>", 0.0]] + [["▁" + "ab"[:n], -float(n)] for n in (0, 1, 2)]
        self.written("scans/tokenizer.json", json.dumps(
            {"model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
             "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
             "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}}))
        done = call("info", "--model", folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)
        self.assertEqual(lines["tokenizer"], "unigram, 4 tokens")
        self.assertNotIn("heads", lines)
        self.assertNotIn("cache", lines)
        self.assertNotIn("feed-forward", lines["layers"])
        lines = dict(line.split(maxsplit=1) for line in
                     call("info", "--model", Program.model).stdout.splitlines() if " " in line)
        self.assertIn("for keys and values, of width", lines["heads"])
        self.assertIn("feed-forward", lines["layers"])
        self.assertIn("per token", lines["cache"])


class Served(FolderTest):
    """Files that change under a running server."""

    PROMPT = {"model": "nano", "prompt": "Once upon a time", "max_tokens": 24, "seed": 1}

    def serve(self, *arguments):
        model = self.path("served.gguf")
        shutil.copy(Program.model, model)
        Server.binary, Server.model = Program.binary, model
        return Server("--packed-cache", "off", *arguments)

    def test_a_model_cut_while_it_is_served(self):
        with self.serve() as server:
            status, _ = server.post("/v1/completions", self.PROMPT)
            self.assertEqual(status, 200)
            os.truncate(self.path("served.gguf"), 100_000)
            for _ in range(2):
                status, answer = server.post("/v1/completions", self.PROMPT)
                self.assertEqual(status, 500, answer)
                self.assertIn("served.gguf", answer["error"]["message"])
                self.assertNotIn(self.folder, json.dumps(answer))
            with self.assertRaisesRegex(Exception, "503"):
                server.get("/health")
            self.assertIsNone(server.process.poll(), "it is alive")
            self.assertEqual(server.stop(), 0)
        self.assertIn(self.path("served.gguf") + ": was cut", "".join(server.said))

    def test_a_session_that_became_a_pipe(self):
        cache = self.path("cache")
        with self.serve("--cache-dir", cache) as server:
            body = {"model": "nano", "messages": [{"role": "user", "content": "Hi"}],
                    "max_tokens": 4, "session": "s1"}
            self.assertEqual(server.post("/v1/chat/completions", body)[0], 200)
            (path,) = (os.path.join(cache, "sessions", name)
                       for name in os.listdir(os.path.join(cache, "sessions"))
                       if name.endswith(".session"))
            os.unlink(path)
            os.mkfifo(path)
            for _ in range(3):
                with self.assertRaisesRegex(Exception, "500"):
                    server.get("/v1/sessions/s1")
            self.assertEqual(server.get("/health")["status"], "ok")
            self.assertEqual(server.stop(), 0)

    def test_a_process_that_is_sent_the_signal_ends_by_it(self):
        with self.serve() as server:
            self.assertEqual(server.stop(signal.SIGBUS), -signal.SIGBUS)


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
