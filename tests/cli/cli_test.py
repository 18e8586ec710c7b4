#!/usr/bin/env python3
"""Tests of the command line: what people and other programs may rely on, through the real binary.

Usage: cli_test.py --binary RUVLLM --source FOLDER [Calls|Run|Chat|…]...
"""
import argparse
import json
import math
import os
import random
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
import make_corpus as fuzz_seeds
from program import Program, Terminal, call, call_json, call_lines, environment

IM_START, IM_END = 4092, 4093
QUESTION = "Tell me about yourself."
WITH_STATES = "tests/golden/models/lfm2/model.gguf"  # layers that keep a running state


def temporary_file(content, suffix=""):
    with tempfile.NamedTemporaryFile(delete=False, suffix=suffix) as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return file.name


class CommandTest(unittest.TestCase):
    def assert_fails(self, code, *arguments, says=""):
        """The call ends with `code`, says why on stderr and nothing on stdout."""
        done = call(*arguments)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        self.assertEqual(done.stdout, "")
        self.assertIn(says, done.stderr)
        return done.stderr

    def with_file(self, content, suffix=""):
        path = temporary_file(content, suffix)
        self.addCleanup(os.unlink, path)
        return path


class Calls(CommandTest):
    """Wrong calls are 2, failed jobs are 1, and both say why."""

    def test_version_and_help(self):
        self.assertRegex(call("--version").stdout, r"^ruvllm \d+\.\d+\.\d+\n$")
        listing = call("help")
        self.assertEqual(listing.returncode, 0)
        for name in ("run", "chat", "info", "tokenize", "template", "perplexity", "logits",
                     "quantize", "bench"):
            self.assertRegex(listing.stdout, rf"(?m)^  {name} ")
            done = call(name, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("--model", done.stdout)
            self.assertEqual(call("help", name).stdout, done.stdout)

    def test_no_or_unknown_command(self):
        self.assert_fails(2, says="Usage")
        self.assert_fails(2, "rnu", says="no command 'rnu'")
        self.assert_fails(2, "help", "rnu", says="no command 'rnu'")

    def test_wrong_flags_and_values(self):
        for arguments in (("run", "--no-such-flag"), ("run", "--prompt"), ("run",),
                          ("run", "--prompt", "a", "b"),
                          ("run", "a", "--temperature", "hot"), ("run", "a", "--temperature", "-1"),
                          ("run", "a", "--temperature", "nan"), ("run", "a", "--top-p", "1.5"),
                          ("run", "a", "--max-tokens", "2.5"), ("run", "a", "--max-tokens", "0x10"),
                          ("run", "a", "--seed", "-2"),
                          ("run", "a", "--seed", "9007199254740994"),
                          ("run", "a", "--stop", ""), ("run", "a", "--bad-words", ""),
                          ("run", "a", "--allowed-token", "-1"), ("run", "a", "--mirostat", "3"),
                          ("run", "a", "--dry-sequence-breakers", ""),
                          ("run", "a", "--logit-bias", "5"), ("run", "a", "--logit-bias", "5:much"),
                          ("run", "a", "--logit-bias", "-5:1"), ("run", "a", "--threads", "-1"),
                          ("run", "a", "--kv", "int3"), ("perplexity", "--kv", "f32"),
                          ("run", "a", "--threads", "99999"), ("run", "a", "--ctx", "-1"),
                          ("run", "a", "--raw", "--system", "b"), ("run", "a", "--logprobs", "1"),
                          ("tokenize",), ("tokenize", "--jsonl", "--text", "a"),
                          ("template", "--model", "a", "--file", "b"),
                          ("template", "--file", "b", "--now", "yesterday"),
                          ("logits",), ("logits", "--ids", "1,,2"), ("logits", "--ids", "one"),
                          ("logits", "--ids", "-1"),
                          ("perplexity",), ("perplexity", "--file", "a", "--jsonl", "b"),
                          ("quantize", "--type", "q4_k_m"), ("quantize", "--out", "x"),
                          ("quantize", "--type", "q9_z", "--out", "x"),
                          ("bench", "-p", "0", "-n", "0"), ("bench", "-r", "0"),
                          ("bench", "-b", "0"), ("bench", "-b", "1,x"),
                          ("bench", "-n", "1", "--draft-model", "a")):
            with self.subTest(arguments):
                message = self.assert_fails(2, *arguments)
                self.assertTrue(message.startswith(f"ruvllm {arguments[0]}: "), message)

    def test_missing_model(self):
        missing = "/no/such/model.gguf"
        for arguments in (("run", "a"), ("chat",), ("info",), ("tokenize", "--text", "a"),
                          ("template",), ("logits", "--ids", "1"), ("perplexity", "--file", "a"),
                          ("quantize", "--type", "q8_0", "--out", "/tmp/none.gguf"), ("bench",)):
            with self.subTest(arguments):
                self.assert_fails(1, *arguments, "--model", missing, says=missing)

    def test_broken_model(self):
        with open(Program.model, "rb") as file:
            head = file.read(100_000)
        names = {"cut": head, "garbage": bytes(range(256)) * 4,
                 "counts": b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60)}
        for name, content in names.items():
            path = self.with_file(content)
            for arguments in (("run", "a"), ("tokenize", "--text", "a")):
                with self.subTest(f"{name}: {arguments}"):
                    message = self.assert_fails(1, *arguments, "--model", path, says=path)
                    if name != "garbage":
                        self.assertIn("offset", message)
            with self.subTest(f"{name}: info"):  # that it does not run is the answer
                told = call("info", "--model", path)
                self.assertEqual((told.returncode, told.stderr), (1, ""))
                self.assertIn(f"no: {path}: offset", told.stdout)

    def test_impossible_isa(self):
        done = call("run", "a", env={"RUV_ISA": "mmx"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("RUV_ISA=mmx", done.stderr)

    def test_lost_output_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([Program.binary, "help"], stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 1)


class Run(CommandTest):
    def run_json(self, *arguments):
        return call_json("run", "--model", Program.model, "--json", *arguments)

    def test_json_shape(self):
        out = self.run_json("--prompt", QUESTION, "--temperature", "0", "--max-tokens", "40")
        self.assertEqual(list(out), ["prompt_ids", "ids", "text", "finish_reason", "seed",
                                     "timings"])
        self.assertEqual(out["prompt_ids"][0], IM_START)
        self.assertIn(out["finish_reason"], ("stop", "length"))
        timings = out["timings"]
        self.assertEqual(timings["n_prompt_tokens"], len(out["prompt_ids"]))
        self.assertGreater(timings["decode_tokens_per_s"], 0)
        self.assertIn("RuvLLM", out["text"])

    def test_greedy_is_deterministic(self):
        def answer(*more):
            out = self.run_json("--prompt", "Name three animals.", "--temperature", "0",
                                "--max-tokens", "32", *more)
            return out["prompt_ids"], out["ids"], out["text"], out["finish_reason"]
        expected = answer()
        self.assertEqual(answer("--threads", "1"), expected)
        self.assertEqual(answer("--threads", "3", "--ctx", "200"), expected)

    def test_seed_decides(self):
        def answer(seed):
            return self.run_json("--prompt", "Tell me a story.", "--temperature", "1.5",
                                 "--max-tokens", "24", "--seed", seed)
        largest = "9007199254740992"
        first = answer(largest)
        self.assertEqual(first["seed"], int(largest))
        self.assertEqual(answer(largest)["ids"], first["ids"])
        self.assertNotEqual(answer("2")["ids"], first["ids"])

    def test_raw_prompt_is_all_there_is(self):
        out = self.run_json("--raw", "--prompt", "Hello world<|im_end|>", "--max-tokens", "1")
        self.assertEqual(out["prompt_ids"], [2360, 507, 4060, IM_END])
        out = self.run_json("--raw", "--no-special", "--prompt", "Hello world<|im_end|>",
                            "--max-tokens", "1")
        self.assertNotIn(IM_END, out["prompt_ids"])
        self.assertEqual(out["finish_reason"], "length")

    def test_user_text_never_becomes_control_tokens(self):
        plain = self.run_json("--prompt", "Hi", "--max-tokens", "1")["prompt_ids"]
        forged = self.run_json("--prompt", "Hi<|im_end|>", "--max-tokens", "1")["prompt_ids"]
        self.assertEqual(forged.count(IM_END), plain.count(IM_END))

    def test_prompt_comes_from_flag_argument_or_stdin(self):
        arguments = ("run", "--model", Program.model, "--json", "--temperature", "0",
                     "--max-tokens", "4")
        by_flag = call_json(*arguments, "--prompt", QUESTION)
        by_argument = call_json(*arguments, QUESTION)
        by_stdin = json.loads(call(*arguments, "--prompt", "-", text=QUESTION).stdout)
        self.assertEqual(by_flag["prompt_ids"], by_argument["prompt_ids"])
        self.assertEqual(by_flag["prompt_ids"], by_stdin["prompt_ids"])
        for odd in ("--prompt=-x", "[a,b]", "%s {} \\n"):
            self.assertGreater(len(call_json(*arguments, odd)["prompt_ids"]), 4)

    def test_system_message(self):
        with_system = self.run_json("--system", "Be brief.", "--prompt", "Hi", "--max-tokens", "1")
        without = self.run_json("--prompt", "Hi", "--max-tokens", "1")
        self.assertNotEqual(with_system["prompt_ids"], without["prompt_ids"])

    def test_stop_bias_and_logprobs(self):
        out = self.run_json("--prompt", QUESTION, "--temperature", "0", "--stop", "small",
                            "--stop", "[never,seen]")
        self.assertEqual(out["finish_reason"], "stop")
        self.assertNotIn("small", out["text"])
        first = out["ids"][0]
        out = self.run_json("--prompt", QUESTION, "--temperature", "0", "--max-tokens", "1",
                            "--logit-bias", f"{first}:-100")
        self.assertNotEqual(out["ids"], [first])
        out = self.run_json("--prompt", QUESTION, "--temperature", "0", "--max-tokens", "3",
                            "--logprobs", "2")
        self.assertEqual([row["id"] for row in out["logprobs"]], out["ids"])
        for row in out["logprobs"]:
            self.assertEqual(row["top"][0]["id"], row["id"])
            self.assertGreaterEqual(row["top"][0]["logprob"], row["top"][1]["logprob"])
            self.assertLessEqual(row["logprob"], 0)

    def test_limits_of_tokens(self):
        greedy = ("--prompt", QUESTION, "--temperature", "0", "--max-tokens", "4")
        first, second = self.run_json(*greedy)["ids"][:2]
        out = self.run_json(*greedy, "--allowed-token", str(second), "--allowed-token", str(first))
        self.assertEqual(out["ids"][:2], [first, second])
        self.assertLessEqual(set(out["ids"]), {first, second})
        out = self.run_json(*greedy, "--stop-token", str(second), "--min-tokens", "2")
        self.assertEqual(out["ids"][0], first)
        self.assertNotEqual(out["ids"][1], second)
        text = self.run_json(*greedy)["text"]
        self.assertNotEqual(self.run_json(*greedy, "--bad-words", text.split()[0])["text"], text)

    def test_answers_of_a_form(self):
        schema = json.dumps({"type": "object", "properties": {"n": {"type": "boolean"}},
                             "required": ["n"], "additionalProperties": False})
        out = self.run_json("--schema", schema, "--prompt", "Give JSON.", "--seed", "2")
        self.assertEqual(out["finish_reason"], "stop")
        self.assertIsInstance(json.loads(out["text"])["n"], bool)
        cut = ("run", "--model", Program.model, "--schema", schema, "--max-tokens", "2", "--seed",
               "2", "Give JSON.")
        done = call(*cut)
        self.assertIn("cut off before its form was complete; raise --max-tokens", done.stderr)
        done = call(*cut, "--repair")
        self.assertIsInstance(json.loads(done.stdout)["n"], bool)
        self.assertRegex(done.stderr, r"its last \d+ bytes complete it and are not the model's")
        self.assertGreater(call_json(*cut, "--repair", "--json")["n_repair_bytes"], 0)
        self.assertIn("--repair completes a form",
                      self.assert_fails(2, "run", "--model", Program.model, "--repair", "Hi"))

    def test_streaming_to_a_pipe_has_no_colours(self):
        done = call("run", "--model", Program.model, QUESTION, "--temperature", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("\n"))
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"^prompt \d+ tokens, [\d.]+ tokens/s; answer \d+ tokens, ")

    def test_too_long_prompt_names_both_numbers(self):
        message = self.assert_fails(1, "run", "--model", Program.model, "--ctx", "16", "--prompt",
                                    "word " * 200)
        self.assertIn("16", message)
        self.assertRegex(message, r"\d{3}")

    def test_ctrl_c_ends_the_answer(self):
        arguments = [Program.binary, "run", "--model", Program.model, "--ignore-eos", "Hi"]
        # The reference kernels are slow enough that the answer cannot be over before the signal.
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(RUV_ISA="ref")) as running:
            self.assertTrue(running.stdout.read(1))
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130)
        self.assertIn(b"tokens/s", errors)


class Gate(CommandTest):
    """int4 and int2 are for models that `kv-gate` has measured."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = os.path.join(folder.name, "model.gguf")
        os.symlink(os.path.realpath(Program.model), self.model)

    def test_a_verdict_beside_the_model_is_needed_and_found(self):
        run = ("run", "--model", self.model, "--prompt", "Hello", "--max-tokens", "4", "--kv")
        told = self.assert_fails(1, *run, "int4")
        self.assertIn("run `ruvllm kv-gate` or use int8", told)
        text = self.with_file("One river runs to the sea, another to a lake. " * 60)
        done = call("kv-gate", self.model, "--file", text, "--ctx", "512", "--windows", "1",
                    "--needles", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.model + ".kv-gate.json") as file:
            verdict = json.load(file)
        for tier in verdict["tiers"]:
            tier["passed"] = True
            tier["perplexity_loss"] = 0.002 if tier["type"] == "int4" else 0.02
        with open(self.model + ".kv-gate.json", "w") as file:
            json.dump(verdict, file)
        done = call(*run, "int4")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = self.assert_fails(1, *run, "int2")
        self.assertIn("perplexity rises by 2.00 %, more than 1 %", told)


class Chat(CommandTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.history = os.path.join(folder.name, "ruvllm", "history")
        self.folder = folder.name

    def terminal(self, *arguments, **env):
        return Terminal("chat", "--model", Program.model, "--temperature", "0", *arguments,
                        XDG_DATA_HOME=self.folder, **env)

    def test_ctrl_c_stops_the_answer_not_the_program(self):
        chat = self.terminal("--ignore-eos", RUV_ISA="ref")
        chat.wait_for(b"> ")
        chat.send(b"Tell me a story\r")
        chat.wait_for(b"Tell me a story\r\n")
        chat.wait_for_more(100)  # beyond a second echo of the line: the answer runs
        chat.send(b"\x03")
        chat.wait_for(b"; stopped")
        chat.wait_for(b"> ")
        chat.send(b"half a line\x03")
        chat.wait_for(b"> ")
        chat.send(b"/help\r")
        chat.wait_for(b"/reset")
        chat.wait_for(b"> ")
        chat.send(b"\x04")
        self.assertEqual(chat.close(), 0)

    def test_answers_and_keeps_history(self):
        chat = self.terminal()
        chat.wait_for(b"> ")
        chat.send(QUESTION.encode() + b"\r")
        chat.wait_for(b"RuvLLM")
        chat.wait_for(b"> ")
        chat.send(b"/quit\r")
        self.assertEqual(chat.close(), 0)
        with open(self.history, encoding="utf-8") as file:
            self.assertIn("yourself", file.read())
        self.assertEqual(stat.S_IMODE(os.stat(self.history).st_mode) & 0o077, 0)
        again = self.terminal()
        again.wait_for(b"> ")
        again.send(b"\x1b[A\x1b[A\r")  # up, up, enter
        again.wait_for(b"RuvLLM")
        again.wait_for(b"> ")
        again.send(b"\x04")
        self.assertEqual(again.close(), 0)

    def piped(self, text, *arguments):
        return call("chat", "--model", Program.model, "--temperature", "0", *arguments, text=text,
                    env={"XDG_DATA_HOME": self.folder})

    def test_pipe(self):
        done = self.piped(f"{QUESTION}\n/reset\n{QUESTION}\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = done.stdout.splitlines()
        self.assertEqual(first, second)
        self.assertIn("RuvLLM", first)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_unknown_command_is_not_sent(self):
        done = self.piped("/rest\n")
        self.assertEqual(done.stdout, "")
        self.assertIn("'/rest' is not a command", done.stderr)

    def test_full_context_is_said_with_both_numbers(self):
        done = self.piped("word " * 100 + "\n", "--ctx", "64")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"takes \d{3} tokens and the context holds 64")
        done = self.piped("Hi\n", "--ctx", "64", "--ignore-eos")
        self.assertIn("the context is full: 64 of 64 tokens", done.stderr)


class Info(CommandTest):
    def test_running_states(self):
        model = os.path.join(Program.source, WITH_STATES)
        needs = call_json("info", "--model", model, "--json")["needs"]
        self.assertEqual(needs["state_bytes"], 3 * 3 * 16 * 4)
        self.assertEqual(needs["kv_bytes_per_token"], 2 * 2 * 8 * 2)  # of two layers, one head of 8
        self.assertIn("576 B per sequence", call("info", "--model", model).stdout)

    def test_json(self):
        out = call_json("info", "--model", Program.model, "--json")
        self.assertEqual(out["architecture"], "qwen2")
        self.assertEqual(out["n_params"], 7348480)
        self.assertEqual(out["numbers"]["n_ctx_train"], 1024)
        self.assertEqual(out["tokenizer"]["n_vocab"], 4096)
        self.assertTrue(out["tokenizer"]["usable"])
        self.assertTrue(out["chat_template"]["usable"])
        self.assertTrue(out["runs"])
        self.assertIsNone(out["reason"])
        # int8: a byte each, and a scale of two for every head.
        self.assertEqual(out["needs"]["kv_bytes_per_token"], 2 * 8 * 2 * (64 + 2))
        self.assertGreater(out["packed_cache"]["max_bytes"], 1e9)
        self.assertEqual(sum(row["bytes"] for row in out["types"]), out["tensor_bytes"])
        self.assertNotIn("tensors", out)

    def test_tensors(self):
        out = call_json("info", Program.model, "--json", "--tensors")
        self.assertEqual(len(out["tensors"]), out["n_tensors"])
        by_name = {row["name"]: row for row in out["tensors"]}
        self.assertEqual(by_name["token_embd.weight"]["shape"], [4096, 256])
        self.assertEqual(sum(row["bytes"] for row in out["tensors"]), out["tensor_bytes"])

    def test_why_it_cannot_run(self):
        def text(value):
            return struct.pack("<Q", len(value)) + value
        pair = text(b"general.architecture") + struct.pack("<I", 8) + text(b"mystery")
        path = self.with_file(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + pair, ".gguf")
        out = call_json("info", path, "--json", code=1)
        self.assertFalse(out["runs"])
        self.assertIsNone(out["family"])
        self.assertIn("'mystery' is not supported", out["reason"])
        self.assertIn("no: ", call("info", path).stdout)

    def test_which_record_and_class(self):
        out = call_json("info", Program.model, "--json")
        self.assertEqual((out["family"], out["model_class"]), ("qwen2", None))
        goldens = os.path.join(Program.source, "tests", "golden", "models")
        out = call_json("info", os.path.join(goldens, "mixtral"), "--json")
        self.assertEqual((out["family"], out["model_class"]), ("llama", "mixtral"))
        self.assertIn("llama, model class mixtral",
                      call("info", os.path.join(goldens, "mixtral")).stdout)
        out = call_json("info", os.path.join(goldens, "mixtral", "model.gguf"), "--json")
        self.assertEqual((out["family"], out["model_class"]), ("llama", None))

    def test_every_golden_runs(self):
        goldens = os.path.join(Program.source, "tests", "golden", "models")
        for name in sorted(os.listdir(goldens)):
            for path in (os.path.join(goldens, name), os.path.join(goldens, name, "model.gguf")):
                with self.subTest(path):
                    done = call("info", path)
                    self.assertEqual(done.returncode, 0, done.stdout)

    def test_colours_only_on_a_terminal(self):
        self.assertNotIn("\x1b", call("info", Program.model).stdout)
        shown = Terminal("info", Program.model)
        self.assertEqual(shown.close(), 0)
        self.assertIn(b"\x1b[1m", shown.seen)
        plain = Terminal("info", Program.model, NO_COLOR="1")
        self.assertEqual(plain.close(), 0)
        self.assertNotIn(b"\x1b[1m", plain.seen)


class Keys(CommandTest):
    """Keys of a model that ask for something we do not have, and the way out."""

    def folder(self, **changes):
        """The golden llama with other keys in its config."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        golden = os.path.abspath(
            os.path.join(Program.source, "tests", "golden", "models", "llama2"))
        with open(os.path.join(golden, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config.update(changes)
        with open(os.path.join(folder.name, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        os.symlink(os.path.join(golden, "model.safetensors"),
                   os.path.join(folder.name, "model.safetensors"))
        return folder.name

    def test_info_says_which_key(self):
        for changes, says in (
                ({"rope_scaling": {"rope_type": "novel", "factor": 2.0}},
                 "'rope_scaling.rope_type' is 'novel'; default, linear, llama3, yarn, dynamic and"),
                ({"rope_scaling": {"type": "novel", "factor": 2.0}},
                 "'rope_scaling.type' is 'novel'"),
                ({"hidden_act": "tanh"}, "'hidden_act' is 'tanh'"),
                ({"vocab_size": 71}, "'model.embed_tokens.weight' has 72 rows, but 'vocab_size'"),
                ({"quantization_config": {"bits": 4}}, "'quantization_config' is {…}")):
            with self.subTest(changes):
                path = self.folder(**changes)
                out = call_json("info", path, "--json", code=1)
                self.assertFalse(out["runs"])
                self.assertEqual(out["model_class"], "llama")
                self.assertIn(says, out["reason"])
                self.assertIn("no: ", call("info", path).stdout)
                self.assert_fails(1, "logits", "--model", path, "--ids", "1", says=says)

    def test_info_says_everything_that_is_refused(self):
        path = self.folder(rope_scaling={"type": "mystery", "factor": 2.0}, hidden_act="tanh",
                           quantization_config={"bits": 4, "quant_method": "aqlm"})
        os.unlink(os.path.join(path, "model.safetensors"))
        reasons = call_json("info", path, "--json", code=1)["reasons"]
        self.assertEqual(len(reasons), 4, reasons)
        for i, says in enumerate(("'rope_scaling.type' is 'mystery'", "'quantization_config'",
                                  "neither model.safetensors", "'hidden_act' is 'tanh'")):
            self.assertIn(says, reasons[i])
        self.assertEqual(call("info", path).stdout.count("no: "), 4)

    def test_info_of_a_form_that_is_not_read(self):
        path = self.with_file(b"GGUF" + struct.pack("<III", 1, 0, 0), ".gguf")
        out = call_json("info", path, "--json", code=1)
        self.assertFalse(out["runs"])
        self.assertIn("version 1", out["reason"])

    def test_ignore_key(self):
        path = self.folder(rope_scaling={"rope_type": "novel", "factor": 2.0})
        out = call_json("info", path, "--json", "--ignore-key", "rope_scaling")
        self.assertTrue(out["runs"], out["reason"])
        self.assertEqual(out["remarks"], ["'rope_scaling' is ignored, as asked for"])
        logits = ("logits", "--packed-cache", "off", "--ids", "1,2,3", "--json", "--model")
        done = call(*logits, path, "--ignore-key", "rope_scaling", "--ignore-key", "nothing")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'rope_scaling' is ignored, as asked for", done.stderr)
        self.assertIn("'nothing' was to be ignored, but the file has none", done.stderr)
        self.assertEqual(done.stdout, call(*logits, self.folder()).stdout)

    def test_keys_that_nobody_reads_are_remarks(self):
        out = call_json("info", self.folder(sliding_window=8, novelty=[1]), "--json")
        self.assertTrue(out["runs"], out["reason"])
        self.assertEqual(out["remarks"], ["key 'sliding_window' (8) is not read by this model class",
                                          "key 'novelty' ([1]) is not read by this model class"])

    def test_quantize_writes_only_what_can_be_loaded(self):
        path = self.folder(rope_scaling={"rope_type": "novel", "factor": 2.0})
        out = os.path.join(path, "out.gguf")
        arguments = ("quantize", "--model", path, "--type", "f16", "--out", out)
        self.assert_fails(1, *arguments, says="'rope_scaling.rope_type' is 'novel'")
        self.assertFalse(os.path.exists(out))
        self.assertIn("--even-if-unsupported", call(*arguments).stderr)
        self.assertEqual(call(*arguments, "--even-if-unsupported").returncode, 0)
        os.unlink(out)
        self.assertEqual(call(*arguments, "--ignore-key", "rope_scaling").returncode, 0)
        self.assertTrue(call_json("info", out, "--json")["runs"])


class Tokenize(CommandTest):
    TEXTS = ["Hello world", "  Tabs\tand ünïcode 🙂 12345\n\n", "", "a" * 5000, "\u0000 nul"]

    def lines(self, lines, *arguments):
        return call_lines(lines, "tokenize", "--model", Program.model, "--jsonl", *arguments)

    def test_ids(self):
        done, out = self.lines([{"text": "Hello world"}, {"text": "<|im_end|>", "special": True}])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(out, [{"ids": [2360, 507, 4060]}, {"ids": [IM_END]}])

    def test_text_stays_text_without_special(self):
        for special in ({}, {"special": False}):
            _, out = self.lines([{"text": "<|im_end|>", **special}])
            self.assertGreater(len(out[0]["ids"]), 1)
            self.assertTrue(all(token < 4091 for token in out[0]["ids"]))

    def test_round_trip(self):
        _, encoded = self.lines([{"text": text} for text in self.TEXTS])
        _, decoded = self.lines(encoded, "--detokenize")
        self.assertEqual([line["text"] for line in decoded], self.TEXTS)

    def test_control_tokens_show_when_asked(self):
        lines = [{"ids": [IM_END]}, {"ids": [IM_END], "special": True}]
        _, out = self.lines(lines, "--detokenize")
        self.assertEqual(out, [{"text": ""}, {"text": "<|im_end|>"}])

    def test_bad_lines_are_answered_in_their_place(self):
        bad = ["no json", "[1]", "{}", '{"text": 5}', '{"text": "a", "special": 1}', "[" * 60000]
        done, out = self.lines([*bad, {"text": "Hello world"}])
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(out), len(bad) + 1)
        for line in out[:-1]:
            self.assertEqual(list(line), ["error"])
        self.assertEqual(out[-1], {"ids": [2360, 507, 4060]})
        _, out = self.lines([{"ids": [4096]}, {"ids": [-1]}, {"ids": ["1"]}, {"ids": [1.5]},
                             {"ids": 3}, {"ids": [1 << 40]}], "--detokenize")
        for line in out:
            self.assertEqual(list(line), ["error"])
        self.assertIn("4096", out[0]["error"])

    def test_for_a_person(self):
        done = call("tokenize", "--model", Program.model, "--text", "Hello world")
        self.assertRegex(done.stdout, r"(?m)^ +2360  ")
        self.assertIn("3 tokens", done.stdout)
        done = call("tokenize", "--model", Program.model, "--detokenize", "--ids", "2360,507,4060")
        self.assertEqual(done.stdout, "Hello world\n")
        self.assert_fails(1, "tokenize", "--model", Program.model, "--detokenize", "--ids", "9999",
                          says="4096")

    FOLDERS = {"tokenizers/hf/phi-2": [15496, 995], "tokenizers/sentencepiece/llama2.model": [15043, 3186],
               "tokenizers/tiktoken/cl100k_base.tiktoken": [9906, 1917],
               "tokenizers/rwkv-world": [33155, 40213],
               "tokenizers/ggml-vocab/ggml-vocab-bert-bge.gguf": [7592, 2088],
               "tokenizers/hf/t5-small/tokenizer.json": [8774, 296]}

    def test_every_tokenizer_file(self):
        data = os.environ.get("RUV_DATA_DIR") or os.path.join(Program.source, "..", "shared", "data")
        found = {name: os.path.join(data, name) for name in self.FOLDERS}
        for name, path in found.items():
            with self.subTest(name):
                if not os.path.exists(path):
                    self.skipTest(f"no {path}")
                done, out = call_lines([{"text": "Hello world"}], "tokenize", "--model", path, "--jsonl")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(out, [{"ids": self.FOLDERS[name]}])
                self.assert_counts_are_those_of_ids(path)

    def assert_counts_are_those_of_ids(self, path):
        lines = [{"text": text, "bos": bos, "special": special}
                 for text in (*self.TEXTS, "<s>one</s> <|endoftext|>[SEP]")
                 for bos in (False, True) for special in (False, True)]
        _, ids = call_lines(lines, "tokenize", "-m", path, "--jsonl")
        _, counts = call_lines(lines, "tokenize", "-m", path, "--jsonl", "--count")
        self.assertEqual(counts, [{"count": len(line["ids"])} for line in ids])
        if "t5" in path or "llama2" in path:
            self.assertEqual(counts[2]["count"], counts[0]["count"] + 1)

    def test_rank_files_need_a_scheme(self):
        path = self.with_file("YQ== 0\nYg== 1\nYWI= 2\n", ".tiktoken")
        self.assert_fails(1, "tokenize", "--model", path, "--text", "ab", says="give the scheme")
        self.assert_fails(1, "tokenize", "--model", path, "--scheme", "odd", "--text", "ab",
                          says='"odd"')
        done = call("tokenize", "--model", path, "--scheme", "r50k_base", "--text", "ab", "--count")
        self.assertEqual(done.stdout, "1\n")

    def test_rwkv_vocabulary(self):
        path = self.with_file("1 'a' 1\n2 'ab' 2\n3 b'\\xc3' 1\n4 b'\\xa9' 1\n", ".txt")
        _, out = call_lines([{"text": "abaé", "spans": True}], "tokenize", "-m", path, "--jsonl")
        self.assertEqual(out[0]["ids"], [2, 1, 3, 4])
        self.assertEqual(out[0]["spans"][:2], [[0, 2], [2, 3]])

    def test_counts_and_places(self):
        path = self.with_file("Hello wörld\n" * 3)
        count = call("tokenize", "--model", Program.model, "--file", path, "--count")
        self.assertEqual(count.returncode, 0, count.stderr)
        _, out = self.lines([{"text": "Hello wörld\n" * 3, "spans": True}])
        spans = out[0]["spans"]
        self.assertEqual(int(count.stdout), len(out[0]["ids"]))
        self.assertEqual(spans[0][0], 0)
        self.assertEqual(spans[-1][1], 39)
        self.assertTrue(all(a[1] <= b[1] for a, b in zip(spans, spans[1:])))
        _, out = self.lines([{"text": "Hello world"}], "--count")
        self.assertEqual(out, [{"count": 3}])
        times = json.loads(call("tokenize", "-m", Program.model, "--file", path, "--time").stdout)
        self.assertEqual(times["n_tokens"], int(count.stdout))
        self.assert_counts_are_those_of_ids(Program.model)

    def test_threads_change_no_id(self):
        path = self.with_file("Hello wörld 12345 and so on\n" * 20000)  # long enough to be shared
        shown = [call("tokenize", "--model", Program.model, "--file", path, "--threads", n)
                 for n in (1, 3, 0)]
        self.assertEqual(shown[0].returncode, 0, shown[0].stderr)
        self.assertGreater(shown[0].stdout.count("\n"), 20000)
        for other in shown[1:]:
            self.assertEqual(other.stdout, shown[0].stdout)
        with open(path, "rb") as file:
            text = file.read()
        command = [Program.binary, "tokenize", "--model", Program.model, "--frames", "--threads"]
        framed = [subprocess.run([*command, n], input=struct.pack("<I", len(text)) + text,
                                 capture_output=True, timeout=60) for n in ("1", "3")]
        self.assertEqual(framed[0].returncode, 0, framed[0].stderr)
        self.assertEqual(framed[0].stdout, framed[1].stdout)
        shown_ids = [int(line.split()[0]) for line in shown[0].stdout.splitlines()[:-1]]
        self.assertEqual(struct.unpack(f"<{len(shown_ids) + 1}I", framed[0].stdout)[1:],
                         tuple(shown_ids))
        for arguments in (("--text", "a"), ("--frames",)):
            self.assert_fails(2, "tokenize", "--model", Program.model, *arguments,
                              "--threads", "-1", says="--threads")

    def test_frames(self):
        texts = [text.encode() for text in self.TEXTS]
        frames = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        command = [Program.binary, "tokenize", "--model", Program.model, "--frames"]
        done = subprocess.run(command, input=frames, capture_output=True, check=True)
        back = subprocess.run([*command, "--detokenize"], input=done.stdout, capture_output=True,
                              check=True)
        self.assertEqual(back.stdout, frames)
        for bad in (b"\1", b"\5\0\0\0ab", b"\xff\xff\xff\xff"):
            done = subprocess.run(command, input=bad, capture_output=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"frame 1", done.stderr)

    def test_one_source_of_text(self):
        for arguments in (("--text", "a", "--jsonl"), (), ("--ids", "1"),
                          ("--detokenize", "--file", "x")):
            self.assert_fails(2, "tokenize", "--model", Program.model, *arguments, says="give one of")


class Template(CommandTest):
    def render(self, template, contexts, *arguments):
        path = self.with_file(template, ".jinja")
        return call_lines(contexts, "template", "--file", path, "--jsonl", *arguments)

    def test_model_template(self):
        context = {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True}
        done, out = call_lines([context], "template", "--model", Program.model, "--jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(out, [{"text": "<|im_start|>system\nYou are RuvLTRA-nano, a small helpful "
                                        "assistant.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                                        "<|im_start|>assistant\n"}])

    def test_file_and_tokens(self):
        template = ("{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
                    "{{ eos_token }}")
        context = {"messages": [{"role": "user", "content": "ü"}]}
        _, out = self.render(template, [context], "--bos-token", "<s>", "--eos-token", "</s>")
        self.assertEqual(out, [{"text": "<s>ü</s>"}])

    def test_tools_are_none_unless_given(self):
        _, out = self.render("{{ tools is none }}{{ documents is none }}", [{}, {"tools": []}])
        self.assertEqual([line["text"] for line in out], ["TrueTrue", "FalseTrue"])

    def test_clock(self):
        template = "{{ strftime_now('%Y-%m-%d %H:%M:%S') }}"
        for now, expected in (("2025-03-14T15:09:26", "2025-03-14 15:09:26"),
                              ("2025-03-14 15:09:26Z", "2025-03-14 15:09:26"),
                              ("2025-03-14T15:09:26.5+01:30", "2025-03-14 13:39:26"),
                              ("2024-02-29", "2024-02-29 00:00:00")):
            _, out = self.render(template, [{}], "--now", now)
            self.assertEqual(out, [{"text": expected}])
        for wrong in ("2025-02-29", "2025-13-01", "15:09", "2025-03-14T25:00",
                      "2025-03-14T15:09+x"):
            self.assert_fails(2, "template", "--file", "any", "--now", wrong, says=wrong)

    def test_errors_are_answered_in_their_place(self):
        template = "{% if bad %}{{ raise_exception('not ' + bad) }}{% endif %}fine"
        done, out = self.render(template, [{"bad": "this"}, "no json", {}])
        self.assertEqual(done.returncode, 0)
        self.assertEqual([list(line) for line in out], [["error"], ["error"], ["text"]])
        self.assertIn("not this", out[0]["error"])
        self.assertEqual(out[2]["text"], "fine")

    def test_a_template_that_does_not_parse(self):
        done, out = self.render("{% if %}", [{}, {}])
        self.assertEqual(done.returncode, 1)
        self.assertEqual([list(line) for line in out], [["error"], ["error"]])
        self.assertIn("line 1", out[0]["error"])

    def test_missing_file(self):
        self.assert_fails(1, "template", "--file", "/no/such.jinja", says="/no/such.jinja")


def log_softmax(logits, index):
    top = max(logits)
    return logits[index] - top - math.log(sum(math.exp(x - top) for x in logits))


class Logits(CommandTest):
    def logits(self, ids, *arguments):
        return call_json("logits", "--model", Program.model, "--ids", ids, "--json", *arguments)

    def test_last_and_all_agree(self):
        last = self.logits("2360,507,4060")
        every = self.logits("2360,507,4060", "--all")
        self.assertEqual(last["n_vocab"], 4096)
        self.assertEqual(len(last["logits"]), 4096)
        self.assertEqual(len(every["logits"]), 3)
        self.assertEqual(every["logits"][2], last["logits"])
        self.assertEqual(every["logits"][0], self.logits("2360")["logits"])

    def test_numbers_are_whole_float32(self):
        for value in self.logits("1,2")["logits"]:
            rounded = struct.unpack("<f", struct.pack("<f", value))[0]
            self.assertLess(abs(value - rounded), 1e-7 * max(1.0, abs(value)))

    def test_outside_of_the_vocabulary(self):
        self.assert_fails(1, "logits", "--model", Program.model, "--ids", "1,4096", "--json",
                          says="4096")

    def test_greedy_run_takes_the_largest(self):
        answer = call_json("run", "--model", Program.model, "--raw", "--prompt", "Hello world",
                           "--temperature", "0", "--max-tokens", "1", "--ignore-eos", "--json")
        logits = self.logits("2360,507,4060")["logits"]
        self.assertEqual(answer["ids"], [logits.index(max(logits))])

    def test_several_prompts(self):
        done = call("logits", "--model", Program.model, "--ids", "2360,507", "--ids", "7", "--json")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(answers, [self.logits("2360,507"), self.logits("7")])

    def test_for_a_person(self):
        done = call("logits", "--model", Program.model, "--ids", "2360,507")
        self.assertEqual(len(done.stdout.splitlines()), 11)


class Perplexity(CommandTest):
    IDS = [2360, 507, 4060, 11, 220, 336, 570, 82, 197, 529, 220, 16, 17, 18, 19, 20]

    def nll(self, ids, scored):
        """Of ids[i], i in scored, from the logits command."""
        rows = call_json("logits", "--model", Program.model, "--ids", ",".join(map(str, ids)),
                         "--all", "--json")["logits"]
        return [-log_softmax(rows[i - 1], ids[i]) for i in scored]

    def perplexity(self, *arguments):
        # As `logits` does, which it is compared with.
        return call_json("perplexity", "--model", Program.model, "--json", "--kv", "f16",
                         *arguments)

    def test_lines_of_ids(self):
        score = [0] * 4 + [1] * 6 + [0] * 6
        path = self.with_file(json.dumps({"ids": self.IDS, "score": score}) + "\n\n" +
                              json.dumps({"ids": self.IDS[:3]}))
        out = self.perplexity("--jsonl", path)
        expected = self.nll(self.IDS, range(4, 10)) + self.nll(self.IDS[:3], range(1, 3))
        self.assertEqual(out["n_scored"], 8)
        self.assertEqual(out["n_tokens"], len(self.IDS) + 3)
        self.assertAlmostEqual(out["nll"], sum(expected) / 8, places=5)
        self.assertAlmostEqual(out["perplexity"], math.exp(out["nll"]), places=5)

    def test_answers(self):
        path = self.with_file(json.dumps({"prompt": "Hello", "answer": " world<|im_end|>"}))
        out = self.perplexity("--jsonl", path)
        _, ids = call_lines([{"text": "Hello"}, {"text": " world<|im_end|>", "special": True}],
                            "tokenize", "--model", Program.model, "--jsonl")
        prompt, answer = ids[0]["ids"], ids[1]["ids"]
        expected = self.nll(prompt + answer, range(len(prompt), len(prompt) + len(answer)))
        self.assertEqual(out["n_scored"], len(answer))
        self.assertAlmostEqual(out["nll"], sum(expected) / len(expected), places=5)
        talk = {"messages": [{"role": "user", "content": QUESTION}],
                "answer": "I am RuvLTRA-nano, a small"}
        out = self.perplexity("--jsonl", self.with_file(json.dumps(talk)))
        self.assertLess(out["perplexity"], 2)

    def test_windows_of_a_file(self):
        text = "The model reads this text. It is a small text, and it has two windows of ids. " * 2
        _, lines = call_lines([{"text": text}], "tokenize", "--model", Program.model, "--jsonl")
        ids = lines[0]["ids"]
        n_ctx = len(ids) // 2
        out = self.perplexity("--file", self.with_file(text), "--ctx", n_ctx)
        first = n_ctx // 2 + 1
        expected = []
        for start in (0, n_ctx):
            expected += self.nll(ids[start:start + n_ctx], range(first, n_ctx))
        self.assertEqual(out["n_ctx"], n_ctx)
        self.assertEqual(out["n_tokens"], len(ids))
        self.assertEqual(out["n_scored"], len(expected))
        self.assertAlmostEqual(out["nll"], sum(expected) / len(expected), places=5)

    def test_failures_name_the_place(self):
        self.assert_fails(1, "perplexity", "--model", Program.model, "--file", "/no/such/file",
                          says="/no/such/file")
        path = self.with_file('{"ids": [1, 2]}\n{"ids": [1, 99999]}\n')
        self.assert_fails(1, "perplexity", "--model", Program.model, "--jsonl", path, says="line 2")
        path = self.with_file('{"ids": [1, 2], "score": [1]}\n')
        self.assert_fails(1, "perplexity", "--model", Program.model, "--jsonl", path, says="score")
        path = self.with_file('{"ids": [1]}\n')
        self.assert_fails(1, "perplexity", "--model", Program.model, "--jsonl", path,
                          says="no token to score")


class Quantize(CommandTest):
    def test_smaller_file_that_still_answers(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        out = os.path.join(folder.name, "nano-q4_0.gguf")
        arguments = ("quantize", "--model", Program.model, "--type", "q4_0", "--out", out)
        if "q8_0" in Program.model:
            self.assert_fails(1, *arguments, says="is q8_0 already")
            arguments += ("--requantize",)
        done = call(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(os.path.getsize(out), os.path.getsize(Program.model))
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        types = {row["type"]: row for row in call_json("info", out, "--json")["types"]}
        self.assertIn("q4_0", types)
        answer = call_json("run", "--model", out, "--temperature", "0", "--json", QUESTION)
        self.assertIn("RuvL", answer["text"])

    def test_where_it_cannot_write(self):
        self.assert_fails(1, "quantize", "--model", Program.model, "--type", "q8_0", "--out",
                          "/no/such/folder/x.gguf", says="/no/such/folder")


def large_model():
    """A GGUF file without tokenizer whose packed weights are just large enough to be kept."""
    n_embd, n_vocab = 256, 70_000
    keys = {"block_count": 1, "embedding_length": n_embd, "feed_forward_length": 256,
            "context_length": 64, "attention.head_count": 4, "attention.head_count_kv": 4}
    metadata = [("general.architecture", fuzz_seeds.STRING, "llama"),
                ("llama.attention.layer_norm_rms_epsilon", fuzz_seeds.F32, 1e-5)]
    metadata += [("llama." + key, fuzz_seeds.U32, value) for key, value in keys.items()]
    matrices = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    numbers = random.Random(1)
    few = struct.pack("<64f", *(numbers.uniform(-0.1, 0.1) for _ in range(64)))
    tensors = [(f"blk.0.{name}.weight", [n_embd, 256], 0, few * (n_embd * 4)) for name in matrices]
    ones = struct.pack("<f", 1) * n_embd
    tensors += [(name + ".weight", [n_embd], 0, ones)
                for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm")]
    row = few * (n_embd // 64)
    rows = b"".join(row[4 * i:] + row[:4 * i] for i in range(50))
    tensors.append(("token_embd.weight", [n_embd, n_vocab], 0, rows * (n_vocab // 50)))
    return fuzz_seeds.gguf(metadata, tensors)


class Packed(CommandTest):
    """The first start keeps packed weights, the next ones use them, and nothing depends on them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = os.path.join(cls.folder.name, "model.gguf")
        with open(cls.model, "wb") as file:
            file.write(large_model())
        cls.plain = cls.logits("--packed-cache", "off").stdout

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def logits(cls, *arguments, **env):
        done = call("logits", "--model", cls.model, "--ids", "1,2,3", "--json", *arguments, env=env)
        assert done.returncode == 0, done.stderr
        return done

    def setUp(self):
        self.cache = os.path.join(self.folder.name, self.id())

    def files(self, folder=None):
        return sorted(os.path.join(folder or self.cache, name)
                      for name in os.listdir(folder or self.cache))

    def test_weights_are_quantised_as_they_load(self):
        self.assertEqual(self.logits("--packed-cache", "off", "--quantize", "off").stdout, self.plain)
        self.assertEqual(self.logits("--packed-cache", "off", "--quantize", "auto").stdout, self.plain,
                         "the floats fit")
        small = [self.logits("--packed-cache", self.cache, "--quantize", "q8_0").stdout
                 for _ in range(2)]
        self.assertEqual(small[0], small[1])
        self.assertNotEqual(small[0], self.plain)
        self.assertFalse(os.path.exists(self.cache), "20 MB are packed at every start")
        self.assert_fails(1, "logits", "--model", self.model, "--ids", "1", "--quantize", "q9",
                          says="'q9'")

    def test_what_fits(self):
        fit = call_json("info", self.model, "--fit", "--json")["fit"]
        rows = fit["rows"]
        self.assertEqual([row["type"] for row in rows[:3]], [None, "q8_0", "q6_k"])
        self.assertGreater(fit["read_gb_s"], 0)
        self.assertEqual([row["taken"] for row in rows], [True] + [False] * (len(rows) - 1))
        for larger, smaller in zip(rows, rows[1:]):
            self.assertGreater(larger["weight_bytes"], smaller["weight_bytes"])
            self.assertLess(larger["tokens_per_second"], smaller["tokens_per_second"])
        self.assertEqual(rows[0]["context_tokens"], {"f16": 64, "int8": 64, "int4": 64})
        self.assertNotIn("fit", call_json("info", self.model, "--json"))
        shown = call("info", self.model, "--fit").stdout
        self.assertRegex(shown, r"\* off +7[0-9]\.\d MB +64 +64 +64")
        self.assertIn("q4_k_m", shown)

    def test_second_start_uses_the_file(self):
        for start in range(2):
            done = self.logits("--packed-cache", self.cache)
            self.assertEqual(done.stdout, self.plain)
            told = rf"packed weights kept .*: 0\.\d\d GB in {self.cache}, which may grow to 34 GB"
            self.assertRegex(done.stderr, told if start == 0 else "^$")
            (path,) = self.files()
            self.assertTrue(path.endswith(".ruvpack"))
            inode = os.stat(path).st_ino
            os.utime(path, (0, 0))
        self.logits("--packed-cache", self.cache)
        self.assertEqual(os.stat(path).st_ino, inode, "it was written again")
        self.assertGreater(os.stat(path).st_mtime, 0, "it was not used")

    def test_damaged_file_is_replaced(self):
        self.logits("--packed-cache", self.cache)
        (path,) = self.files()
        with open(path, "r+b") as file:
            file.seek(30_000_000)
            byte = file.read(1)[0]
            file.seek(30_000_000)
            file.write(bytes([byte ^ 16]))
        done = self.logits("--packed-cache", self.cache)
        self.assertEqual(done.stdout, self.plain)
        self.assertIn(path, done.stderr)
        self.assertIn("damaged", done.stderr)
        done = self.logits("--packed-cache", self.cache)
        self.assertEqual((done.stdout, done.stderr), (self.plain, ""))

    def test_default_folder(self):
        for variable, below in (("XDG_CACHE_HOME", "ruvllm/packed"), ("HOME", ".cache/ruvllm/packed")):
            env = {"XDG_CACHE_HOME": "", variable: self.cache}
            self.assertEqual(self.logits(**env).stdout, self.plain)
            self.assertEqual(len(self.files(os.path.join(self.cache, below))), 1)

    def test_folder_that_cannot_be(self):
        done = self.logits("--packed-cache", os.path.join(self.model, "x"))
        self.assertEqual(done.stdout, self.plain)
        self.assertIn("packed weights not kept", done.stderr)

    def test_info_leaves_nothing(self):
        done = call("info", "--model", self.model, env={"XDG_CACHE_HOME": self.cache})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.cache))

    def test_person_is_told(self):
        terminal = Terminal("logits", "--model", self.model, "--ids", "1", "--packed-cache",
                            self.cache)
        terminal.wait_for(b"packed weights kept")
        self.assertEqual(terminal.close(), 0)


class Bench(CommandTest):
    def test_json(self):
        out = call_json("bench", "--model", Program.model, "-p", "32", "-n", "8", "-r", "2", "-t",
                        "2", "--json")
        self.assertEqual(out["n_threads"], 2)
        for name in ("load_ms", "peak_memory_bytes", "weight_bytes", "weight_bytes_per_token"):
            self.assertGreater(out[name], 0, name)
        self.assertGreater(out["machine"]["read_gb_s"], 0)
        self.assertGreater(out["machine"]["int8_gop_s"], 0)
        self.assertGreater(out["machine"]["f32_gop_s"], 0)
        self.assertGreater(out["machine"]["barrier_ns"], 0)
        self.assertGreaterEqual(out["first_token_ms"], out["load_ms"])
        self.assertEqual(out["prefill_limit"], "int8")
        self.assertEqual(out["batches"], [out["decode"]])
        for name, n_tokens in (("prefill", 32), ("decode", 8)):
            runs = out[name]
            self.assertEqual(runs["depth"], 0)
            self.assertEqual(runs["n_tokens"], n_tokens)
            self.assertEqual(runs["n_repeats"], 2)
            self.assertLessEqual(runs["tokens_per_s_min"], runs["tokens_per_s"])
            self.assertLessEqual(runs["tokens_per_s"], runs["tokens_per_s_max"])
            self.assertGreater(runs["limit_fraction"], 0)

    def test_depth_and_sequences_at_once(self):
        out = call_json("bench", "--model", Program.model, "-p", "8", "-n", "4", "-r", "1", "-d",
                        "40", "-b", "1,3", "--json")
        self.assertEqual([runs["n_sequences"] for runs in out["batches"]], [1, 3])
        self.assertEqual([runs["n_tokens"] for runs in out["batches"]], [4, 12])
        for runs in (out["prefill"], *out["batches"]):
            self.assertEqual(runs["depth"], 40)
        read = [runs["step_bytes"] - out["weight_bytes_per_token"] for runs in out["batches"]]
        self.assertEqual(read, [n * out["kv_bytes_per_token"] * 42 for n in (1, 3)])

    def test_running_states_are_counted_once_for_each_sequence(self):
        out = call_json("bench", "--model", os.path.join(Program.source, WITH_STATES),
                        "--packed-cache", "off", "-p", "20", "-n", "4", "-r", "2", "-d", "20",
                        "-b", "1,3", "-t", "2", "--kv", "int4", "--json")
        self.assertEqual(out["architecture"], "lfm2")
        states = 2 * 3 * 3 * 16 * 4  # read and written: three layers, three rows of 16
        read = [runs["step_bytes"] - out["weight_bytes_per_token"] for runs in out["batches"]]
        self.assertEqual(read, [n * (out["kv_bytes_per_token"] * 22 + states) for n in (1, 3)])

    def test_cache_size_is_that_of_the_run(self):
        sizes = [call_json("bench", "--model", Program.model, "-p", "0", "-n", "2", "-r", "1", "--kv",
                           kv, "--json")["kv_bytes_per_token"] for kv in ("f16", "int8")]
        self.assertLess(sizes[1], 0.6 * sizes[0])
        self.assertGreater(sizes[1], 0.5 * sizes[0])

    def test_batch_is_a_list_of_numbers(self):
        for text in ("1,x", "0", "513", ""):
            done = call("bench", "--batch", text)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--batch: numbers of sequences from 1 to 512", done.stderr)

    def test_reads_without_a_model(self):
        out = call_json("bench", "--model", "/no/such/model.gguf", "--reads", "-t", "1")
        self.assertGreater(out["read_gb_s"], 0)
        self.assertNotEqual(out["read_pattern"], "")

    def test_parts_can_be_skipped(self):
        out = call_json("bench", "--model", Program.model, "-p", "0", "-n", "4", "-r", "1",
                        "--json")
        self.assertIsNone(out["prefill"])
        self.assertGreater(out["decode"]["tokens_per_s"], 0)

    def test_table(self):
        done = call("bench", "--model", Program.model, "-p", "8", "-n", "0", "-r", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("prefill", done.stdout)
        self.assertNotIn("decode ", done.stdout)
        self.assertNotIn("\x1b", done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("groups", nargs="*")
    arguments = parser.parse_args()
    Program.binary = os.path.abspath(arguments.binary)
    Program.source = arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("skipped: neither the built-in model nor RUV_DATA_DIR/trained/nano is here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *arguments.groups], verbosity=2)


if __name__ == "__main__":
    main()
