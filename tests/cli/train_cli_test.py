#!/usr/bin/env python3
"""Tests of `ruvllm train` through the real binary: a tiny model for runs of many steps, the built-in
one for texts and conversations.

Usage: train_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from program import Program, Terminal, TIMEOUT_S, call, call_json, environment


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The records of a TFRecord file, whose sums must be right."""
    at, found = 0, []
    while at < len(data):
        n, = struct.unpack_from("<Q", data, at)
        body = data[at + 12:at + 12 + n]
        sums = (*struct.unpack_from("<I", data, at + 8),
                *struct.unpack_from("<I", data, at + 12 + n))
        assert sums == (masked(data[at:at + 8]), masked(body)), f"sums at {at}"
        found.append(body)
        at += 16 + n
    return found


class TrainTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.tiny = os.path.join(Program.source, "tests", "golden", "models", "llama2",
                                 "model.gguf")
        lines = [{"ids": [(7 * i + 3 * k) % 72 for k in range(12)],
                  "score": [0] * 4 + [1] * 8} for i in range(10)]
        self.ids = self.lines("ids.jsonl", lines)

    def path(self, name):
        return os.path.join(self.folder, name)

    def lines(self, name, lines):
        """A file of these lines, texts as they are."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            for line in lines:
                file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        return self.path(name)

    def arguments(self, *more):
        """A call that trains the tiny model, where `more` does not say otherwise."""
        usual = {"--model": self.tiny, "--jsonl": self.ids, "--ctx": 16, "--sequences": 2,
                 "--rate": "1e-2", "--threads": 1}
        given = [x for name in usual if name not in more for x in (name, usual[name])]
        return ["train", *given, "--quiet", *more]

    def nano(self, *more):
        """A call that trains the built-in model."""
        usual = {"--steps": 2, "--sequences": 1, "--ctx": 48}
        given = [x for name in usual if name not in more for x in (name, usual[name])]
        return ["train", "-m", Program.model, *given, "--json", *more]

    def refused(self, code, *arguments):
        """What a call that is refused says."""
        done = call(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr


class Runs(TrainTest):
    def test_a_run_that_is_resumed_gives_the_bytes_of_one_that_is_not(self):
        for kind in ([], ["--rank", 2]):
            for name in ("whole", "parts"):
                if kind:
                    os.mkdir(self.path(name))
            run = [*kind, "--schedule", "constant", "--seed", 5]
            whole = call_json(*self.arguments(*run, "--steps", 5, "--out", self.path("whole"),
                                              "--state", self.path("whole.state"), "--json"))
            self.assertEqual((whole["steps"], whole["complete"]), (5, True))
            state = ["--state", self.path("parts.state")]
            call_json(*self.arguments(*run, "--steps", 2, *state, "--json"))
            parts = call_json(*self.arguments(*run, "--steps", 5, *state, "--resume", "--out",
                                              self.path("parts"), "--threads", 2, "--json"))
            self.assertEqual(parts, whole)
            self.assertEqual(contents(self.path("parts.state")),
                             contents(self.path("whole.state")))
            file = "adapter_model.safetensors" if kind else ""
            self.assertEqual(contents(os.path.join(self.path("parts"), file).rstrip("/")),
                             contents(os.path.join(self.path("whole"), file).rstrip("/")))
            if not kind:
                for name in ("whole", "parts", "whole.state", "parts.state"):
                    os.remove(self.path(name))

    def test_a_run_that_ctrl_c_ended_continues_from_its_state(self):
        run = ["--schedule", "constant", "--json"]
        state = ["--state", self.path("state")]
        arguments = [str(x) for x in self.arguments(*run, *state, "--steps", 100000)
                     if x != "--quiet"]
        with subprocess.Popen([Program.binary, *arguments], env=environment(), encoding="utf-8",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            said = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            result, more = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 130, said + more)
        self.assertFalse(json.loads(result)["complete"])
        n_steps = json.loads(result)["steps"]
        self.assertIn(f"stopped after step {n_steps} of 100000, which {state[1]} holds", more)
        run += ["--steps", n_steps + 2]
        resumed = call_json(*self.arguments(*run, *state, "--resume"))
        whole = call_json(*self.arguments(*run, "--state", self.path("whole")))
        self.assertEqual(resumed, whole)
        self.assertEqual(contents(self.path("state")), contents(self.path("whole")))

    def test_a_run_that_is_killed_continues_from_what_it_saved(self):
        run = ["--schedule", "constant", "--json"]
        state = ["--state", self.path("state")]
        arguments = [str(x) for x in self.arguments(*run, *state, "--steps", 100000, "--save-every",
                                                    3, "--log", self.path("log.csv"))
                     if x != "--quiet"]
        with subprocess.Popen([Program.binary, *arguments], env=environment(), encoding="utf-8",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for line in process.stderr:
                if os.path.exists(state[1]):
                    break
            process.kill()
            process.communicate(timeout=TIMEOUT_S)
        with open(self.path("log.csv"), encoding="utf-8") as file:
            n_logged = len(file.read().splitlines()) - 1
        self.assertGreaterEqual(n_logged, 3)
        n = n_logged + 4
        resumed = call_json(*self.arguments(*run, *state, "--steps", n, "--resume", "--log",
                                            self.path("log.csv")))
        whole = call_json(*self.arguments(*run, "--state", self.path("whole"), "--steps", n,
                                          "--log", self.path("whole.csv")))
        self.assertEqual(resumed, whole)
        self.assertEqual(contents(state[1]), contents(self.path("whole")))
        logs = []
        for name in ("log.csv", "whole.csv"):
            with open(self.path(name), encoding="utf-8") as file:
                logs.append([line.rsplit(",", 1)[0] for line in file])
        self.assertEqual(logs[0], logs[1], "lines after the state are written anew")

    def test_a_run_does_not_continue_with_other_options_or_texts(self):
        state = ["--state", self.path("state"), "--json"]
        call_json(*self.arguments("--steps", 2, *state))
        other = self.lines("other.jsonl", [{"ids": [1, 2, 3]}])
        for more, what in ((["--rate", "1e-3"], "--rate 0.01; this one has 0.001"),
                           (["--sequences", 3], "--sequences 2; this one has 3"),
                           (["--seed", 1], "--seed 0; this one has 1"),
                           (["--decay", "0"], "--decay 0.01; this one has 0"),
                           (["--clip", "0.5"], "--clip 1; this one has 0.5"),
                           (["--schedule", "linear"], "--schedule cosine; this one has linear"),
                           (["--targets", "attn_q"], "--targets ; this one has attn_q"),
                           (["--jsonl", other], "texts with the hash"),
                           (["--held-out", 20], "texts with the hash"),
                           (["--steps", 4], "--steps 2; this one has 4")):
            steps = [] if "--steps" in more else ["--steps", 2]
            said = self.refused(1, *self.arguments(*more, *steps, *state, "--resume"))
            self.assertIn(what, said)
        call_json(*self.arguments("--steps", 2, *state, "--resume", "--threads", 2,
                                  "--checkpoints", 4))

    def test_moments_of_8_bits_are_resumed_and_not_mixed(self):
        texts = self.lines("texts.jsonl", [{"text": "The sea is wide."}])
        run = ["--jsonl", texts, "--targets", "attn_q,attn_norm", "--schedule", "constant"]

        def learn(name, steps, *more):
            return self.nano(*run, "--steps", steps, "--state", self.path(name), *more)

        bits = ["--states", "8bit"]
        call_json(*learn("plain", 3))
        whole = call_json(*learn("whole", 3, *bits, "--threads", 1))
        call_json(*learn("parts", 1, *bits))
        self.assertEqual(call_json(*learn("parts", 3, *bits, "--resume", "--threads", 2)), whole)
        self.assertEqual(contents(self.path("parts")), contents(self.path("whole")))
        sizes = [os.path.getsize(self.path(name)) for name in ("plain", "whole")]
        # 12 bytes for each number, and 6 with two scales for each 256.
        self.assertAlmostEqual(sizes[1] / sizes[0], 6.03125 / 12, delta=0.01)
        self.assertIn("--states 8bit; this one has none",
                      self.refused(1, *learn("whole", 4, "--resume")))
        self.assertIn("a run without --states, which is 8bit here",
                      self.refused(1, *learn("plain", 4, *bits, "--resume")))

    def test_steps_are_told_to_tensorboard(self):
        folder = self.path("events")
        for steps in (3, 5):
            call_json(*self.arguments("--steps", steps, "--schedule", "constant", "--tensorboard",
                                      folder, "--state", self.path("state"), "--json",
                                      *(["--resume"] if steps == 5 else [])))
        files = sorted(os.listdir(folder))
        self.assertEqual(len(files), 2)
        counts = sorted(len(records(contents(os.path.join(folder, name)))) for name in files)
        self.assertEqual(counts, [4, 5], "a version, a start, and the steps")
        body = records(contents(os.path.join(folder, files[0])))[0]
        self.assertIn(b"brain.Event:2", body)
        try:
            from tensorboard.backend.event_processing import event_accumulator
        except ImportError:
            self.skipTest("tensorboard is not installed")
        accumulator = event_accumulator.EventAccumulator(folder)
        accumulator.Reload()
        self.assertEqual([event.step for event in accumulator.Scalars("train/loss")],
                         [1, 2, 3, 4, 5])
        self.assertAlmostEqual(accumulator.Scalars("train/rate")[0].value, 1e-2, places=6)

    def test_a_terminal_shows_the_curve_of_the_loss(self):
        terminal = Terminal(*[x for x in self.arguments("--steps", 40, "--state",
                                                        self.path("state")) if x != "--quiet"])
        terminal.wait_for(b"step 40/40: loss ")
        self.assertEqual(terminal.close(), 0)
        terminal = Terminal(*[x for x in self.arguments("--steps", 40, "--force", "--state",
                                                        self.path("state")) if x != "--quiet"])
        shown = terminal.wait_for(b"40 steps, loss of the last").decode()
        terminal.close()
        last = shown.split("\x1b[9A")[-1]
        self.assertEqual(last.count("\n"), 9, "eight lines of the curve and one of numbers")
        self.assertTrue(any("\u2801" <= c <= "\u28ff" for c in last), last)

    def test_only_targets_are_trained(self):
        out = ["--out", self.path("out"), "--json", "--force"]
        n_all = call_json(*self.arguments("--steps", 1, *out))["parameters"]
        n_some = call_json(*self.arguments("--steps", 1, "--targets", "attn_q,attn_v",
                                           *out))["parameters"]
        self.assertLess(n_some, n_all / 2)
        os.mkdir(self.path("adapter"))
        out = ["--out", self.path("adapter"), "--json", "--rank", 2, "--alpha", "3"]
        call_json(*self.arguments("--steps", 1, "--targets", "attn_q,ffn_down", *out))
        with open(self.path("adapter/adapter_config.json"), encoding="utf-8") as file:
            config = json.load(file)
        self.assertEqual(config["target_modules"], ["down_proj", "q_proj"])
        self.assertEqual(config["lora_alpha"], 3)
        said = self.refused(1, *self.arguments("--targets", "attn_q,q_proj", *out))
        self.assertIn("--targets: 'q_proj' is not a tensor that can be trained", said)

    def test_schedules_and_the_optimiser_have_options(self):
        def rates(*more):
            log = self.path("log.csv")
            call_json(*self.arguments("--steps", 6, "--state", self.path("state"), "--log", log,
                                      "--force", "--json", *more))
            with open(log, encoding="utf-8") as file:
                return [round(float(line.split(",")[3]), 6) for line in list(file)[1:]]

        self.assertEqual(rates("--schedule", "exponential", "--rate-decay", "0.5"),
                         [0.01, 0.005, 0.0025, 0.00125, 0.000625, 0.000313])
        self.assertEqual(rates("--schedule", "step", "--rate-decay", "0.1", "--rate-every", 2),
                         [0.01, 0.01, 0.001, 0.001, 0.0001, 0.0001])
        self.assertEqual(rates("--schedule", "trapezoid", "--warmup", 2, "--rate-fall", "0.5"),
                         [0.005, 0.01, 0.01, 0.01, 0.01, 0.005])
        self.assertEqual(rates("--schedule", "linear", "--min-rate", "0.004"),
                         [0.01, 0.009, 0.008, 0.007, 0.006, 0.005])
        losses = {call_json(*self.arguments("--steps", 4, "--state", self.path("state"), "--force",
                                            "--json", *more))["loss"]
                  for more in ([], ["--decay", "30"], ["--clip", "1e-9"])}
        self.assertEqual(len(losses), 3)

    def test_the_loss_falls_and_is_logged(self):
        done = call_json(*self.arguments("--steps", 30, "--held-out", 20, "--out",
                                         self.path("model.gguf"), "--log", self.path("log.csv"),
                                         "--json"))
        with open(self.path("log.csv"), encoding="utf-8") as file:
            rows = [line.split(",") for line in file.read().splitlines()]
        self.assertEqual(rows[0], ["step", "loss", "gradient_norm", "rate", "tokens", "seconds"])
        self.assertEqual([int(row[0]) for row in rows[1:]], list(range(1, 31)))
        self.assertLess(done["loss"], float(rows[1][1]) - 0.5)
        self.assertIn("held_out", done)
        self.assertIn("held_out_before", done)
        again = call_json(*self.arguments("--steps", 30, "--held-out", 20, "--checkpoints", 8,
                                          "--out", self.path("again.gguf"), "--json"))
        self.assertEqual(again, done)
        self.assertEqual(contents(self.path("again.gguf")), contents(self.path("model.gguf")))


class Weights(TrainTest):
    def run_of(self, lines, *more):
        """The result and the log's rows of two steps of the built-in model."""
        log = self.path("log.csv")
        done = call_json("train", "-m", Program.model, "--jsonl", self.lines("t.jsonl", lines),
                         "--steps", 2, "--sequences", 1, "--ctx", 96, "--json", "--state",
                         self.path("state"), "--log", log, "--force", *more)
        with open(log, encoding="utf-8") as file:
            rows = [line.split(",") for line in file.read().splitlines()[1:]]
        return done, [int(row[4]) for row in rows]

    def test_scores_weigh_the_losses_of_tokens(self):
        ids = [5, 17, 9, 33, 12]
        losses = [self.run_of([{"ids": ids, "score": score}])[0]["loss"]
                  for score in ([0, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0.5, 0.5, 0.5, 0.5],
                                [0, 1, 0.25, 0.25, 0.25])]
        self.assertEqual(losses[0], losses[1])
        self.assertAlmostEqual(losses[0], losses[2], places=6)
        self.assertNotAlmostEqual(losses[0], losses[3], places=3)

    def test_all_answers_of_a_conversation_are_learned(self):
        user = {"role": "user", "content": "Who are you?"}
        again = {"role": "user", "content": "And who am I?"}

        def said(text, **more):
            return {"role": "assistant", "content": text, **more}

        def targets(messages, **more):
            return self.run_of([{"messages": messages, **more}])[1][0]

        first = targets([user], answer="A boat.")
        self.assertEqual(targets([user, said("A boat.")]), first)
        second = targets([user, said("A boat."), again], answer="A sailor.")
        both = [user, said("A boat."), again, said("A sailor.")]
        self.assertEqual(targets(both), first + second)
        self.assertEqual(targets([user, said("A boat.", weight=0), *both[2:]]), second)
        self.assertEqual(targets([user, said("A boat.", weight=0.5), *both[2:]]), first + second)
        calls = said(None, tool_calls=[{"type": "function", "function": {
            "name": "look", "arguments": {"at": "sea"}}}])
        self.assertGreater(targets([user, calls]), 1)

    def test_prompts_may_count(self):
        line = {"prompt": "The sea is", "answer": " wide."}
        alone, n = self.run_of([line])
        weak, n_weak = self.run_of([line], "--prompt-weight", "0.1")
        same, n_same = self.run_of([line], "--prompt-weight", "1")
        self.assertGreater(n_weak[0], n[0])
        self.assertEqual(n_weak, n_same)
        self.assertEqual(len({alone["loss"], weak["loss"], same["loss"]}), 3)


class Objectives(TrainTest):
    def setUp(self):
        super().setUp()
        prompts = [[(5 * i + k) % 72 for k in range(4)] for i in range(6)]
        self.data = {
            "pairs": [{"ids": p, "chosen": [7, p[1], 11], "rejected": [9, p[2]]} for p in prompts],
            "answers": [{"ids": p, "answers": [[7, p[1]], [9, p[2], 5], [8]],
                         "rewards": [1, 0, 0.5]} for p in prompts],
            "triplets": [{"anchor": p, "positive": p[1:], "negative": p[::-1] + [1]}
                         for p in prompts]}

    def learned(self, objective, kind, *more):
        """The results of 25 steps of an objective, whole and resumed in the middle."""
        path = self.lines(f"{kind}.jsonl", self.data[kind])
        results = []
        for name, parts in (("whole", [25]), ("parts", [9, 25])):
            for steps in parts:
                state = self.path(f"{objective}.{name}.{len(more)}")
                resume = ["--resume"] if os.path.exists(state) else []
                done = call_json(*self.arguments(
                    "--jsonl", path, "--objective", objective, "--steps", steps, "--rate", "3e-3",
                    "--schedule", "constant", "--state", state, "--held-out", 20, "--rows", 256,
                    "--json", *resume, *more))
            results.append((done["loss"], contents(state)))
        self.assertEqual(results[0], results[1], objective)
        first = call_json(*self.arguments("--jsonl", path, "--objective", objective, "--steps", 1,
                                          "--rows", 256, "--state", state, "--force", "--json",
                                          *more))
        return first["loss"], done["loss"]

    def test_each_objective_is_learned_and_resumed_to_the_same_bytes(self):
        for objective, kind in (("dpo", "pairs"), ("reward", "pairs"), ("grpo", "answers"),
                                ("ppo", "answers"), ("infonce", "triplets"),
                                ("triplet", "triplets")):
            more = ["--margin", "1.5"] if objective == "triplet" else []
            before, after = self.learned(objective, kind, *more)
            self.assertLess(after, before, objective)
        self.learned("dpo", "pairs", "--rank", 2)
        self.learned("grpo", "answers", "--rank", 2, "--kl", "0.5")

    def test_an_adapter_is_continued(self):
        answers = self.lines("answers.jsonl", self.data["answers"])
        for name in ("first", "second"):
            os.mkdir(self.path(name))
        run = ["--rank", 2, "--json", "--objective", "grpo", "--jsonl", answers, "--schedule",
               "constant"]
        start = [*run, "--adapter", self.path("first")]
        call_json(*self.arguments(*run, "--steps", 5, "--out", self.path("first")))
        call_json(*self.arguments(*start, "--steps", 1, "--rate", "0", "--kl", "0", "--out",
                                  self.path("second"), "--log", self.path("log.csv")))
        file = "adapter_model.safetensors"
        self.assertEqual(contents(os.path.join(self.path("first"), file)),
                         contents(os.path.join(self.path("second"), file)))
        with open(self.path("log.csv"), encoding="utf-8") as log:
            loss = float(log.read().splitlines()[1].split(",")[1])
        self.assertAlmostEqual(loss, 0, places=6, msg="answers were drawn from the adapter")
        state = ["--steps", 1, "--state", self.path("state")]
        moved = call_json(*self.arguments(*start, *state, "--rate", "0"))["loss"]
        self.assertGreater(moved, 1e-4, "it has left the model without adapter")
        for more, what in ((["--rank", 3], "another size or rank"),
                           (["--alpha", "1"], "is scaled by 2, not by 0.5: give its alpha"),
                           (["--targets", "attn_q"], "matrices, and 2 are to be trained")):
            changed = [x for x in start if x != "--rank" or "--rank" not in more]
            if "--rank" in more:
                changed.remove(2)
            said = self.refused(1, *self.arguments(*changed, *state, "--force", *more))
            self.assertIn(what, said)
        said = self.refused(2, *self.arguments(*state, "--adapter", self.path("first")))
        self.assertIn("--adapter is one to continue", said)

    def test_a_reward_is_a_model_that_scores(self):
        path = self.lines("pairs.jsonl", [
            {"prompt": "The sea is", "chosen": " wide.", "rejected": " a cup."},
            {"messages": [{"role": "user", "content": "Hi"}], "chosen": "Hello!",
             "rejected": "No."}])
        out = self.path("scorer.gguf")
        call_json(*self.nano("--jsonl", path, "--objective", "reward", "--steps", 15,
                             "--sequences", 2, "--rate", "1e-4", "--out", out))
        done = call("rerank", "-m", out, "-q", "The sea is", "--json", " a cup.", " wide.")
        self.assertEqual(done.returncode, 0, done.stderr)
        best = json.loads(done.stdout.splitlines()[0])
        self.assertEqual(best["document"], " wide.")
        self.assertNotEqual(call("rerank", "-m", Program.model, "-q", "a", "b").returncode, 0)

    def test_texts_that_belong_together_are_embedded_alike(self):
        texts = ["The sea is wide.", "Water as far as one sees.", "My shoe is too small."]
        path = self.lines("triplets.jsonl", [
            dict(zip(("anchor", "positive", "negative"), texts)),
            {"anchor": "A red apple.", "positive": "Fruit from a tree.",
             "negatives": ["A grey stone.", "Tuesday."]}])
        out = self.path("embedder.gguf")
        call_json(*self.nano("--jsonl", path, "--objective", "infonce", "--steps", 10,
                             "--sequences", 2, "--rate", "3e-4", "--out", out))

        def gap(model):
            done = call("embed", "-m", model, "--json", *texts)
            self.assertEqual(done.returncode, 0, done.stderr)
            anchor, *others = [json.loads(line)["embedding"] for line in done.stdout.splitlines()]
            return sum(a * (b - c) for a, b, c in zip(anchor, *others))

        self.assertGreater(gap(out), gap(Program.model) + 0.2)

    def test_heads_that_draft_are_learned(self):
        texts = self.lines("texts.jsonl", [{"text": "The sea is wide and the sea is deep."}])
        run = ["--jsonl", texts, "--objective", "draft-heads", "--heads", 2, "--schedule",
               "constant", "--rate", "1e-3"]
        for name in ("heads", "parts"):
            os.mkdir(self.path(name))
        whole = call_json(*self.nano(*run, "--steps", 8, "--out", self.path("heads")))
        self.assertEqual(whole["parameters"] % 2, 0)
        state = ["--state", self.path("state")]
        first = call_json(*self.nano(*run, "--steps", 3, *state))
        self.assertLess(whole["loss"], first["loss"])
        self.assertEqual(call_json(*self.nano(*run, "--steps", 8, *state, "--resume", "--threads",
                                              1, "--out", self.path("parts"))), whole)
        for name in ("config.json", "medusa_lm_head.safetensors"):
            self.assertEqual(contents(os.path.join(self.path("heads"), name)),
                             contents(os.path.join(self.path("parts"), name)))
        ask = ["run", "-m", Program.model, "--quiet", "--max-tokens", 12, "--seed", 3,
               "The sea is"]
        plain = call(*ask)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(call(*ask, "--draft-model", self.path("heads")).stdout, plain.stdout)
        self.assertIn("--heads 2; this one has 3", self.refused(
            1, *self.nano(*run[:-6], "--schedule", "constant", "--rate", "1e-3", *state,
                          "--resume")))
        for option in (["--rank", 2], ["--targets", "attn_q"], ["--type", "f16"],
                       ["--optimiser", "muon"]):
            self.assertIn(option[0], self.refused(2, *self.nano(*run, *state, *option)))
        self.assertIn("is not a folder", self.refused(
            1, *self.nano(*run, "--out", self.path("none"))))

    def test_a_student_learns_from_a_teacher(self):
        teacher = self.path("teacher.gguf")
        call_json(*self.arguments("--steps", 10, "--out", teacher, "--json"))
        distill = ["--objective", "distill", "--state", self.path("s"), "--force", "--json",
                   "--schedule", "constant"]
        losses = [call_json(*self.arguments(*distill, "--steps", steps, "--teacher", teacher,
                                            "--temperature", "2"))["loss"] for steps in (1, 20)]
        self.assertLess(losses[1], losses[0] / 2)
        same = call_json(*self.arguments(*distill, "--steps", 1, "--teacher", self.tiny))
        self.assertAlmostEqual(same["loss"], 0, places=7)
        said = self.refused(1, *self.arguments(*distill, "--teacher", Program.model))
        self.assertIn("a teacher must have the tokens of its student", said)

    def test_lines_of_objectives_are_checked(self):
        for objective, line, what in (
                ("dpo", {"ids": [1], "chosen": [2]}, '"rejected" must be a text or ids'),
                ("dpo", {"ids": [1], "chosen": [2], "rejected": [99]}, '"rejected"[0]: 99 is not'),
                ("dpo", {"ids": [1], "chosen": [2], "rejected": [3], "text": "a"},
                 '"text" is not a member'),
                ("dpo", {"ids": [1], "chosen": [2], "rejected": []}, "has no token to learn"),
                ("dpo", {"ids": [1], "chosen": "a", "rejected": "b"}, "has no tokenizer"),
                ("grpo", {"ids": [1], "answers": [[2], [3]], "rewards": [1]}, "the same length"),
                ("grpo", {"ids": [1], "answers": [[2]], "rewards": [1]}, "one alone"),
                ("grpo", {"ids": [1], "answers": [[2], [3]], "rewards": [1, "a"]},
                 '"rewards"[1] must be a number'),
                ("infonce", {"anchor": [1]}, '"positive" must be a text or ids'),
                ("infonce", {"anchor": [1], "positive": []}, "has no token to learn"),
                ("infonce", {"anchor": [1], "positive": [2], "negatives": 3}, "must be a list"),
                ("infonce", {"anchor": [1], "positive": [2], "negatives": [], "negative": [3]},
                 'give either "negative" or "negatives"')):
            path = self.lines("wrong.jsonl", [line])
            said = self.refused(1, *self.arguments("--jsonl", path, "--objective", objective,
                                                   "--state", self.path("state")))
            self.assertIn(f"{path}: line 1: ", said)
            self.assertIn(what, said)
        path = self.lines("pairs.jsonl", self.data["triplets"])
        said = self.refused(1, *self.arguments("--jsonl", path, "--objective", "infonce",
                                               "--sequences", 6, "--rows", 16, "--state",
                                               self.path("state")))
        self.assertIn("have 19 rows together; a step has at most 16", said)

    def test_options_of_other_objectives_are_refused(self):
        for more, what in ((["--objective", "best"], "--objective 'best'"),
                           (["--beta", "1"], "--beta means nothing with --objective sft"),
                           (["--objective", "dpo", "--kl", "1"], "--kl means nothing with"),
                           (["--objective", "distill"], "distill needs --teacher"),
                           (["--teacher", "a"], "--teacher means nothing with --objective sft"),
                           (["--objective", "infonce", "--pooling", "first"], "--pooling 'first'"),
                           (["--objective", "reward", "--rank", 2], "train without --rank")):
            said = self.refused(2, *self.arguments("--state", self.path("s"), *more))
            self.assertIn(what, said)
        said = self.refused(2, "train", "--file", self.ids, "--objective", "dpo", "--state", "s")
        self.assertIn("--objective dpo learns lines", said)


class Files(TrainTest):
    def test_what_was_learned_answers(self):
        path = self.lines("lines.jsonl", [
            {"text": "Once upon a time there was a boat."},
            {"prompt": "The sea is", "answer": " wide."},
            {"messages": [{"role": "user", "content": "Who are you?"}], "answer": "A boat."}])
        call_json(*self.nano("--jsonl", path, "--type", "f16", "--out", self.path("new.gguf")))
        run = ["run", "-p", "Once upon a time", "--max-tokens", 4, "--temperature", 0]
        done = call(*run, "-m", self.path("new.gguf"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.strip())
        text = self.lines("text.txt", ["The boat and the sea. " * 20])
        os.mkdir(self.path("adapter"))
        call_json(*self.nano("--file", text, "--rank", 2, "--out", self.path("adapter")))
        beside = call(*run, "-m", Program.model, "--lora", self.path("adapter"))
        self.assertEqual(beside.returncode, 0, beside.stderr)
        self.assertTrue(beside.stdout.strip())
        merge = ["lora", "merge", "--into", Program.model, "--out", self.path("merged.gguf")]
        merged = call_json(*merge, "--type", "f32", "--json", self.path("adapter"))
        self.assertGreater(merged["n_rows"], 0)
        done = call(*run, "-m", self.path("merged.gguf"))
        self.assertEqual(done.stdout, beside.stdout)
        self.assertIn("exists already", self.refused(1, *merge, self.path("adapter")))
        self.assertIn("--into takes no --rank",
                      self.refused(2, *merge, "--rank", 3, self.path("adapter")))

    def test_a_folder_of_safetensors_gives_one(self):
        model = os.path.dirname(self.tiny)
        out = self.path("checkpoint")
        os.mkdir(out)
        call_json(*self.arguments("--model", model, "--steps", 3, "--out", out, "--json"))
        self.assertEqual(sorted(os.listdir(out)), ["config.json", "model.safetensors"])
        call_json(*self.arguments("--model", model, "--steps", 3, "--out", self.path("out.gguf"),
                                  "--json"))
        again = [call_json(*self.arguments("--model", trained, "--steps", 1, "--state",
                                           self.path("state"), "--force", "--json"))["loss"]
                 for trained in (out, self.path("out.gguf"))]
        self.assertAlmostEqual(again[0], again[1], places=6)
        said = self.refused(1, *self.arguments("--model", model, "--out", out))
        self.assertIn("model.safetensors", said)
        said = self.refused(1, *self.arguments("--model", out, "--force", "--out", out))
        self.assertIn("is the folder of the model that is read", said)
        said = self.refused(1, *self.arguments("--out", out, "--force"))
        self.assertIn("is not a folder with safetensors", said)

    def test_weights_may_be_drawn_anew(self):
        run = ["--steps", 1, "--state", self.path("state"), "--force", "--json"]
        losses = [call_json(*self.arguments(*run, *more))["loss"]
                  for more in ([], ["--fresh", 1], ["--fresh", 1], ["--fresh", 2])]
        self.assertEqual(losses[1], losses[2])
        self.assertEqual(len(set(losses)), 3)
        self.assertAlmostEqual(losses[1], math.log(72), delta=0.2)

    def test_a_wrong_line_is_named(self):
        for line, what in (
                ('{"text": ', "line 2"),
                ("[1]", "line 2: not a JSON object"),
                ({"id": 1}, 'line 2: a line has "text", "prompt", "messages" or "ids"'),
                ({"text": 5}, 'line 2: "text" must be a text'),
                ({"text": "a", "answer": "b"}, 'line 2: "answer" is not a member'),
                ({"prompt": "a"}, 'line 2: "answer" must be a text'),
                ({"messages": [], "answer": "b"}, "line 2: 'messages' must not be empty"),
                ({"messages": [{"role": "user", "content": "a"}], "answer": "b",
                  "continue_final_message": True}, 'line 2: "continue_final_message" is not'),
                ({"ids": [1, 2], "score": [1]}, 'line 2: "score" has 1 entries for 2 ids'),
                ({"ids": [1, 2], "score": 1}, 'line 2: "score" must be a list'),
                ({"ids": [1, 2], "score": [0, 1.5]}, 'line 2: "score"[1]: 1.5 is not a number'),
                ({"ids": [1, 2], "score": [0, -0.5]}, 'line 2: "score"[1]: -0.5 is not a number'),
                ({"ids": [1, 2], "score": [0, "1"]}, 'line 2: "score"[1]: "1" is not a number'),
                ({"ids": [1, 2, 3], "score": [1, 0, 0]}, "line 2: has no token to learn"),
                ({"messages": [{"role": "user", "content": "a"}]},
                 'line 2: without "answer" the last message must be an assistant'),
                ({"messages": [{"role": "user", "content": "a", "weight": 1},
                               {"role": "assistant", "content": "b"}]},
                 "line 2: messages[0].weight: only an assistant"),
                ({"messages": [{"role": "user", "content": "a"},
                               {"role": "assistant", "content": "b", "weight": 2}]},
                 "line 2: messages[1].weight: 2 is not a number"),
                ({"messages": [{"role": "user", "content": "a"},
                               {"role": "assistant", "content": "b", "weight": 0}]},
                 "line 2: has no token to learn"),
                ({"ids": [1, 1 << 30]}, "line 2: "),
                ({"ids": [1]}, "line 2: has no token to learn"),
                ({"ids": [1] * 49}, "line 2: has 49 tokens, more than the 48 of --ctx")):
            path = self.lines("wrong.jsonl", [{"ids": [1, 2, 3]}, line])
            said = self.refused(1, *self.nano("--jsonl", path, "--out", self.path("out")))
            self.assertIn(f"{path}: {what}", said)
        with open(self.path("latin.txt"), "wb") as file:
            file.write("Gru\u00df an \u00c4pfel".encode("latin-1"))
        said = self.refused(1, *self.nano("--file", file.name, "--out", self.path("out")))
        self.assertIn(f"{file.name}: byte 3 is not UTF-8", said)
        for path in (self.lines("empty.jsonl", ["", " "]), self.lines("empty.txt", [])):
            option = "--jsonl" if path.endswith("l") else "--file"
            said = self.refused(1, *self.nano(option, path, "--out", self.path("out")))
            self.assertIn("nothing to learn", said)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_files_are_tried_before_anything_is_learned(self):
        there = self.lines("there", ["x"])
        state = ["--state", self.path("state")]
        wrong = [["--out", there], ["--out", self.ids, "--force"],
                 ["--out", self.path("none/model.gguf")],
                 ["--rank", 2, "--out", self.path("none")], ["--rank", 2, "--out", there],
                 ["--state", there], [*state, "--log", there], [*state, "--resume"],
                 ["--state", there, "--resume"],
                 ["--out", self.path("a"), "--state", self.ids, "--force"]]
        for more in wrong:
            said = self.refused(1, *self.arguments("--steps", 1, *more))
            self.assertTrue(said.startswith("ruvllm train: "), said)
        self.assertEqual(contents(there), b"x\n")
        tiny = shutil.copy(self.tiny, self.path("tiny.gguf"))
        said = self.refused(1, *self.arguments("--model", tiny, "--out", tiny, "--force"))
        self.assertEqual(contents(tiny), contents(self.tiny))
        self.refused(1, *self.arguments("--out", self.path("a"), "--model", self.path("none.gguf")))
        call_json(*self.arguments("--steps", 2, *state, "--json"))
        for more in (["--steps", 1], ["--steps", 3, "--rank", 2]):
            said = self.refused(1, *self.arguments(*state, "--resume", *more))
            self.assertIn(self.path("state"), said)
        data = bytearray(contents(self.path("state")))
        data[len(data) // 2] ^= 1
        with open(self.path("state"), "wb") as file:
            file.write(data)
        said = self.refused(1, *self.arguments(*state, "--resume", "--steps", 3))
        self.assertIn("not those that were written", said)

    def test_wrong_calls(self):
        out = ["--out", self.path("out")]
        for more, what in (
                ([], "give --out, --state or both"),
                ([*out, "--file", self.ids], "give either --file or --jsonl"),
                ([*out, "--resume"], "--resume needs --state"),
                ([*out, "--state", out[1]], "is the name of two files"),
                ([*out, "--schedule", "square"], "--schedule 'square'"),
                ([*out, "--type", "q8_0"], "--type 'q8_0'"),
                ([*out, "--rank", 2, "--type", "f16"], "--type is of weights"),
                ([*out, "--prompt-weight", "2"], "--prompt-weight '2' is not a number from 0 to 1"),
                ([*out, "--prompt-weight", "x"], "--prompt-weight 'x' is not a number"),
                ([*out, "--rate", "fast"], "--rate 'fast'"),
                ([*out, "--rate", "nan"], "--rate 'nan' is not a number from 0"),
                ([*out, "--rate", "-1"], "--rate '-1' is not a number from 0"),
                ([*out, "--min-rate", "1"], "--min-rate is more than --rate"),
                ([*out, "--schedule", "constant", "--min-rate", "1e-4"],
                 "--min-rate means nothing with --schedule constant"),
                ([*out, "--schedule", "step"], "--schedule step needs --rate-decay"),
                ([*out, "--rate-fall", "0.1"], "--rate-fall means nothing with --schedule cosine"),
                ([*out, "--alpha", "2"], "--alpha is of an adapter"),
                ([*out, "--targets", "a,,b"], "--targets 'a,,b' has an empty name"),
                ([*out, "--fresh", 1, "--rank", 2], "--fresh draws all weights"),
                ([*out, "--fresh", 1, "--targets", "attn_q"], "--fresh draws all weights"),
                ([*out, "--save-every", 2], "--save-every needs --state"),
                ([*out, "--steps", 4, "--warmup", 4], "4 steps, of which 4 are warm-up"),
                ([*out, "--steps", 0], "--steps"),
                ([*out, "--rows", 8], "--rows 8 has no room for the 16 tokens of --ctx"),
                ([*out, "--speed", 1], "--speed")):
            self.assertIn(what, self.refused(2, *self.arguments(*more)))
        self.assertFalse(os.path.exists(out[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    arguments, rest = parser.parse_known_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("no model to test with")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
